// job_json.c - writes a job file as JSON, with all defaults filled in.
#include "cli/show/job.h"
#include "os/json.h"

#include <inttypes.h>

static void text_put(struct json *json, const char *key, const char *text)
{
    if (text) json_string(json, key, text);
}

static void words_put(struct json *json, const char *key, char *const *words, uint32_t count)
{
    if (!count) return;
    json_open(json, key, '[');
    for (uint32_t i = 0; i < count; i++) json_string(json, NULL, words[i]);
    json_close(json, ']');
}

static void names_put(struct json *json, const char *key, const struct jobfile *file,
                      const uint32_t *tasks, uint32_t count)
{
    if (!count) return;
    json_open(json, key, '[');
    for (uint32_t i = 0; i < count; i++) json_string(json, NULL, file->tasks[tasks[i]].name);
    json_close(json, ']');
}

// In postfix order, as in the core: ["su(a)","fa(b)","|"].
static void clauses_put(struct json *json, const struct jobfile *file,
                        const struct jobfile_task *task)
{
    static const char *const words[] = {
        [ROTA_CLAUSE_SUCCESS] = "su", [ROTA_CLAUSE_FAILED] = "fa", [ROTA_CLAUSE_NOT_RUNNING] = "nr",
        [ROTA_CLAUSE_DONE] = "done",  [ROTA_CLAUSE_AND] = "&",     [ROTA_CLAUSE_OR] = "|"};
    if (!task->clause_count) return;
    json_open(json, "when", '[');
    for (uint32_t i = 0; i < task->clause_count; i++) {
        const struct rota_clause *clause = &task->clauses[i];
        json_open(json, NULL, '[');
        json_string(json, NULL, words[clause->kind]);
        if (clause->task.task) json_string(json, NULL, file->tasks[clause->task.task - 1].name);
        json_close(json, ']');
    }
    json_close(json, ']');
}

static void inputs_put(struct json *json, const struct jobfile *file,
                       const struct jobfile_task *task)
{
    if (!task->input_count) return;
    json_open(json, "in", '[');
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct jobfile_input *input = &task->inputs[i];
        json_open(json, NULL, '{');
        json_string(json, "name", input->name);
        text_put(json, "path", input->path);
        if (input->producer) text_put(json, "from", file->tasks[input->producer - 1].name);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void outputs_put(struct json *json, const struct jobfile_task *task)
{
    static const char *const kinds[] = {"file", "directory", "stream"};
    if (!task->output_count) return;
    json_open(json, "out", '[');
    for (uint32_t i = 0; i < task->output_count; i++) {
        const struct jobfile_output *output = &task->outputs[i];
        if (output->is_again) continue;
        json_open(json, NULL, '{');
        json_string(json, "name", output->name);
        json_string(json, "kind", kinds[output->kind]);
        json_bool(json, "keep", output->keep);
        json_close(json, '}');
    }
    json_close(json, ']');
}

static void retries_put(struct json *json, const struct jobfile_retries *retries)
{
    if (!retries->max) return;
    json_open(json, "retries", '{');
    json_number(json, "max", "%u", retries->max);
    json_number(json, "backoff_us", "%" PRId64, retries->backoff);
    json_number(json, "factor_percent", "%u", retries->factor_percent);
    if (retries->code_count) json_open(json, "codes", '[');
    for (uint32_t i = 0; i < retries->code_count; i++)
        json_number(json, NULL, "%d", retries->codes[i]);
    if (retries->code_count) json_close(json, ']');
    json_close(json, '}');
}

static void lane_put(struct json *json, const struct jobfile *file, const struct jobfile_task *task)
{
    if (!task->lane) return;
    text_put(json, "lane", file->lanes[task->lane - 1].name);
    text_put(json, "group", task->group);
    text_put(json, "access", task->access == ROTA_ACCESS_READ ? "read" : "write");
}

static void command_put(struct json *json, const struct jobfile_task *task)
{
    text_put(json, "command", task->command);
    words_put(json, "argv", task->argv, task->argc);
    json_bool(json, "shell", task->shell);
    words_put(json, "env", task->env, task->env_count);
    text_put(json, "cwd", task->cwd);
    text_put(json, "stdin", task->stdin_path);
    text_put(json, "machine", task->machine);
    json_number(json, "cpus", "%u", task->cores);
    if (task->memory_mib) json_number(json, "mem_mib", "%u", task->memory_mib);
    if (task->timeout) json_number(json, "timeout_us", "%" PRId64, task->timeout);
    if (task->grace >= 0) json_number(json, "grace_us", "%" PRId64, task->grace);
    if (task->priority) json_number(json, "priority", "%d", task->priority);
    if (task->cache) json_bool(json, "cache", true);
    retries_put(json, &task->retries);
}

static void task_put(struct json *json, const struct jobfile *file, const struct jobfile_task *task)
{
    json_open(json, NULL, '{');
    json_string(json, "name", task->name);
    json_number(json, "line", "%u", task->place.line);
    json_number(json, "column", "%u", task->place.column);
    if (task->bundle) text_put(json, "bundle", file->tasks[task->bundle - 1].name);
    if (task->is_bundle) json_bool(json, "is_bundle", true);
    if (!task->is_bundle) command_put(json, task);
    names_put(json, "members", file, task->members, task->member_count);
    names_put(json, "needs", file, task->needs, task->need_count);
    clauses_put(json, file, task);
    lane_put(json, file, task);
    inputs_put(json, file, task);
    outputs_put(json, task);
    json_close(json, '}');
}

static void schedule_put(struct json *json, const struct jobfile_schedule *schedule)
{
    json_open(json, "schedule", '{');
    json_string(json, "overlap", schedule->overlap ? schedule->overlap : "skip");
    text_put(json, "run_days", schedule->run_days);
    text_put(json, "start_times", schedule->start_times);
    text_put(json, "run_window", schedule->run_window);
    text_put(json, "start_mins", schedule->start_mins);
    text_put(json, "cron", schedule->cron);
    text_put(json, "zone", schedule->zone);
    json_close(json, '}');
}

static void lanes_put(struct json *json, const struct jobfile *file)
{
    json_open(json, "lanes", '[');
    for (uint32_t i = 0; i < file->lane_count; i++) {
        const struct jobfile_lane *lane = &file->lanes[i];
        json_open(json, NULL, '{');
        json_string(json, "name", lane->name);
        json_string(json, "order", lane->submit_order ? "submit" : "request");
        json_bool(json, "strict", lane->strict);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void jobfile_json_write(const struct jobfile *file, FILE *out)
{
    static const char *const policies[] = {NULL, "claim", "pull", "plan"};
    static const char *const failures[] = {NULL, "block", "fail_job"};
    const struct jobfile_schedule *schedule = &file->schedule;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_string(&json, "path", file->path);
    text_put(&json, "name", file->name);
    text_put(&json, "policy", policies[file->policy]);
    text_put(&json, "on_failure", failures[file->on_failure]);
    if (schedule->run_days || schedule->start_times || schedule->run_window || schedule->start_mins
        || schedule->cron || schedule->zone || schedule->overlap)
        schedule_put(&json, schedule);
    lanes_put(&json, file);
    json_open(&json, "tasks", '[');
    for (uint32_t i = 0; i < file->task_count; i++) {
        json_newline(&json);
        task_put(&json, file, &file->tasks[i]);
    }
    putc('\n', out);
    json_close(&json, ']');
    json_line(&json);
}
