// job_json.c - a job file as JSON, with everything filled in and looked up.
#include "job/file/jobfile.h"

#include <inttypes.h>

static void key_write(const char *key, const char *text, FILE *out)
{
    if (!text) return;
    fprintf(out, ",\"%s\":", key);
    json_text(out, text);
}

static void words_write(const char *key, char *const *words, uint32_t count, FILE *out)
{
    if (!count) return;
    fprintf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        if (i) putc(',', out);
        json_text(out, words[i]);
    }
    putc(']', out);
}

static void names_write(const char *key, const struct jobfile *file, const uint32_t *tasks,
                        uint32_t count, FILE *out)
{
    if (!count) return;
    fprintf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        if (i) putc(',', out);
        json_text(out, file->tasks[tasks[i]].name);
    }
    putc(']', out);
}

// Postfix, as the core takes it: ["su(a)","fa(b)","|"].
static void clauses_write(const struct jobfile *file, const struct jobfile_task *task, FILE *out)
{
    static const char *const words[] = {
        [ROTA_CLAUSE_SUCCESS] = "su", [ROTA_CLAUSE_FAILED] = "fa", [ROTA_CLAUSE_NOT_RUNNING] = "nr",
        [ROTA_CLAUSE_DONE] = "done",  [ROTA_CLAUSE_AND] = "&",     [ROTA_CLAUSE_OR] = "|"};
    if (!task->clause_count) return;
    fputs(",\"when\":[", out);
    for (uint32_t i = 0; i < task->clause_count; i++) {
        const struct rota_clause *clause = &task->clauses[i];
        fprintf(out, "%s[\"%s\"", i ? "," : "", words[clause->kind]);
        if (clause->task.task) {
            putc(',', out);
            json_text(out, file->tasks[clause->task.task - 1].name);
        }
        putc(']', out);
    }
    putc(']', out);
}

static void inputs_write(const struct jobfile *file, const struct jobfile_task *task, FILE *out)
{
    if (!task->input_count) return;
    fputs(",\"in\":[", out);
    for (uint32_t i = 0; i < task->input_count; i++) {
        const struct jobfile_input *input = &task->inputs[i];
        fputs(i ? ",{\"name\":" : "{\"name\":", out);
        json_text(out, input->name);
        key_write("path", input->path, out);
        if (input->producer) key_write("from", file->tasks[input->producer - 1].name, out);
        putc('}', out);
    }
    putc(']', out);
}

static void outputs_write(const struct jobfile_task *task, FILE *out)
{
    static const char *const kinds[] = {"file", "directory", "stream"};
    if (!task->output_count) return;
    fputs(",\"out\":[", out);
    for (uint32_t i = 0; i < task->output_count; i++) {
        const struct jobfile_output *output = &task->outputs[i];
        if (output->is_again) continue;
        fputs(i ? ",{\"name\":" : "{\"name\":", out);
        json_text(out, output->name);
        fprintf(out, ",\"kind\":\"%s\",\"keep\":%s}", kinds[output->kind],
                output->keep ? "true" : "false");
    }
    putc(']', out);
}

static void retries_write(const struct jobfile_retries *retries, FILE *out)
{
    if (!retries->max) return;
    fprintf(out, ",\"retries\":{\"max\":%u,\"backoff_us\":%" PRId64 ",\"factor_percent\":%u",
            retries->max, retries->backoff, retries->factor_percent);
    for (uint32_t i = 0; i < retries->code_count; i++)
        fprintf(out, "%s%d", i ? "," : ",\"codes\":[", retries->codes[i]);
    fputs(retries->code_count ? "]}" : "}", out);
}

static void lane_of_write(const struct jobfile *file, const struct jobfile_task *task, FILE *out)
{
    if (!task->lane) return;
    key_write("lane", file->lanes[task->lane - 1].name, out);
    key_write("group", task->group, out);
    key_write("access", task->access == ROTA_ACCESS_READ ? "read" : "write", out);
}

static void command_write(const struct jobfile_task *task, FILE *out)
{
    key_write("command", task->command, out);
    words_write("argv", task->argv, task->argc, out);
    fprintf(out, ",\"shell\":%s", task->shell ? "true" : "false");
    words_write("env", task->env, task->env_count, out);
    key_write("cwd", task->cwd, out);
    key_write("stdin", task->stdin_path, out);
    key_write("machine", task->machine, out);
    fprintf(out, ",\"cpus\":%u", task->cores);
    if (task->memory_mib) fprintf(out, ",\"mem_mib\":%u", task->memory_mib);
    if (task->timeout) fprintf(out, ",\"timeout_us\":%" PRId64, task->timeout);
    if (task->grace >= 0) fprintf(out, ",\"grace_us\":%" PRId64, task->grace);
    if (task->priority) fprintf(out, ",\"priority\":%d", task->priority);
    if (task->cache) fputs(",\"cache\":true", out);
    retries_write(&task->retries, out);
}

static void task_write(const struct jobfile *file, const struct jobfile_task *task, FILE *out)
{
    fputs("{\"name\":", out);
    json_text(out, task->name);
    fprintf(out, ",\"line\":%u,\"column\":%u", task->place.line, task->place.column);
    if (task->bundle) key_write("bundle", file->tasks[task->bundle - 1].name, out);
    if (task->is_bundle) fputs(",\"is_bundle\":true", out);
    if (!task->is_bundle) command_write(task, out);
    names_write("members", file, task->members, task->member_count, out);
    names_write("needs", file, task->needs, task->need_count, out);
    clauses_write(file, task, out);
    lane_of_write(file, task, out);
    inputs_write(file, task, out);
    outputs_write(task, out);
    putc('}', out);
}

static void schedule_write(const struct jobfile_schedule *schedule, FILE *out)
{
    fputs(",\"schedule\":{\"overlap\":", out);
    json_text(out, schedule->overlap ? schedule->overlap : "skip");
    key_write("run_days", schedule->run_days, out);
    key_write("start_times", schedule->start_times, out);
    key_write("run_window", schedule->run_window, out);
    key_write("start_mins", schedule->start_mins, out);
    key_write("cron", schedule->cron, out);
    key_write("zone", schedule->zone, out);
    putc('}', out);
}

static void lanes_write(const struct jobfile *file, FILE *out)
{
    fputs(",\"lanes\":[", out);
    for (uint32_t i = 0; i < file->lane_count; i++) {
        const struct jobfile_lane *lane = &file->lanes[i];
        fputs(i ? ",{\"name\":" : "{\"name\":", out);
        json_text(out, lane->name);
        fprintf(out, ",\"order\":\"%s\",\"strict\":%s}", lane->submit_order ? "submit" : "request",
                lane->strict ? "true" : "false");
    }
    putc(']', out);
}

void jobfile_json_write(const struct jobfile *file, FILE *out)
{
    static const char *const policies[] = {NULL, "claim", "pull", "plan"};
    static const char *const failures[] = {NULL, "block", "fail_job"};
    const struct jobfile_schedule *schedule = &file->schedule;
    fputs("{\"path\":", out);
    json_text(out, file->path);
    key_write("name", file->name, out);
    key_write("policy", policies[file->policy], out);
    key_write("on_failure", failures[file->on_failure], out);
    if (schedule->run_days || schedule->start_times || schedule->run_window || schedule->start_mins
        || schedule->cron || schedule->zone || schedule->overlap)
        schedule_write(schedule, out);
    lanes_write(file, out);
    fputs(",\"tasks\":[\n", out);
    for (uint32_t i = 0; i < file->task_count; i++) {
        task_write(file, &file->tasks[i], out);
        fputs(i + 1 < file->task_count ? ",\n" : "\n", out);
    }
    fputs("]}\n", out);
}
