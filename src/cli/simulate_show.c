// simulate_show.c - `rota simulate`: prints the results.
#include "cli/simulate.h"
#include "os/os.h"
#include "os/json.h"
#include "os/print.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

typedef void write_fn(const struct whatif_job *job, const struct whatif_setting *setting,
                      const struct whatif_course *course, FILE *out);

static void schedule_write(const struct whatif_job *job, const struct whatif_setting *setting,
                           const struct whatif_course *course, FILE *out)
{
    (void)setting;
    whatif_schedule(job, course, out);
}

static bool file_write(const char *path, write_fn *write, const struct simulate_request *request,
                       const struct whatif_job *job, const struct whatif_course *course)
{
    if (!path) return true;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    write(job, &request->setting, course, out);
    fclose(out);
    bool fine = os_file_write(path, text, size);
    if (!fine) fprintf(stderr, "rota simulate: %s: %s\n", path, strerror(errno));
    free(text);
    return fine;
}

static double plan_us(const struct whatif_course *course)
{
    return course->planned ? course->plan_seconds / (double)course->planned * 1e6 : 0;
}

static double cores_of(const struct simulate_request *request)
{
    double cores = 0;
    for (uint32_t i = 0; i < request->setting.cluster.worker_count; i++)
        cores += request->setting.cores[i];
    return cores;
}

static double used_of(const struct whatif_job *job, const struct whatif_course *course)
{
    double used = 0;
    for (uint32_t i = 0; i < job->graph.task_count; i++)
        used += (course->ended[i] - course->began[i]) * job->graph.tasks[i].cores;
    return used;
}

// All workers are paid for the duration of the run.
static double cost_of(const struct simulate_request *request, const struct whatif_course *course)
{
    return cores_of(request) * course->makespan / 3600 * request->price;
}

static const char *policy_of(const struct simulate_request *request)
{
    if (request->recorded) return "recorded";
    if (request->replay) return "replay";
    return request->options.policy == ROTA_POLICY_PLAN ? "plan" : "pull";
}

// Figures of a run, in the order of their keys.
static void figures_put(struct json *json, const struct simulate_request *request,
                        const struct whatif_job *job, const struct whatif_course *course)
{
    static const char *const infos[] = {"exact", "user", "mean"};
    const struct whatif_options *options = &request->options;
    const struct plan_cluster *cluster = &request->setting.cluster;
    double total = course->search_seconds + course->plan_seconds + course->core_seconds;
    double replan = course->replans ? course->replan_seconds / course->replans * 1e6 : 0;
    json_number(json, "tasks", "%u", job->graph.task_count);
    json_number(json, "workers", "%u", cluster->worker_count);
    json_real(json, "bandwidth_mib", "%g", cluster->bandwidth);
    json_string(json, "policy", policy_of(request));
    json_string(json, "info", infos[options->info]);
    json_real(json, "delay", "%g", options->delay);
    json_real(json, "makespan", "%.17g", course->makespan);
    json_real(json, "lower_bound", "%.17g", plan_lower_bound(&job->graph, cluster));
    json_real(json, "predicted", "%.17g", course->predicted);
    json_number(json, "transfers", "%llu", (unsigned long long)course->transfers);
    json_real(json, "mib_moved", "%.17g", course->mib);
    json_real(json, "plan_us_per_task", "%.3f", plan_us(course));
    json_number(json, "plans", "%u", course->plans);
    json_real(json, "search_seconds", "%.6f", course->search_seconds);
    json_number(json, "replans", "%u", course->replans);
    json_real(json, "replan_us", "%.3f", replan);
    json_real(json, "deciding_seconds", "%.6f", total);
    json_real(json, "seconds", "%.6f", course->seconds);
    json_number(json, "events", "%llu", (unsigned long long)course->events);
    json_number(json, "moves", "%llu", (unsigned long long)course->moves);
    json_real(json, "core_seconds", "%.17g", used_of(job, course));
}

static void runs_put(struct json *json, const struct simulate_request *request)
{
    const struct simulate_runs *runs = &request->of_runs;
    json_number(json, "runs", "%u", request->runs);
    json_number(json, "failed_runs", "%u", runs->failed);
    json_real(json, "least", "%.17g", runs->least);
    json_real(json, "median", "%.17g", runs->median);
    json_real(json, "nine_of_ten", "%.17g", runs->most_of_ten);
    json_real(json, "most", "%.17g", runs->most);
}

static void json_write(const struct simulate_request *request, const struct whatif_job *job,
                       const struct whatif_course *course)
{
    struct whatif_stage *stages = plan_take(job->graph.task_count, sizeof *stages);
    uint32_t count = whatif_critical_path(job, course, stages);
    struct json json = {.out = stdout};
    json_open(&json, NULL, '{');
    json_string(&json, "name", job->name);
    figures_put(&json, request, job, course);
    if (request->has_faults) {
        json_number(&json, "crashes", "%llu", (unsigned long long)course->crashes);
        json_number(&json, "failed_attempts", "%llu", (unsigned long long)course->failed);
    }
    if (request->setting.cluster.disk_mib)
        json_number(&json, "no_room", "%llu", (unsigned long long)course->no_room);
    if (request->runs > 1) runs_put(&json, request);
    if (request->price >= 0) json_real(&json, "cost", "%.17g", cost_of(request, course));
    json_open(&json, "critical_path", '[');
    for (uint32_t i = 0; i < count; i++) json_string(&json, NULL, job->names[stages[i].task]);
    json_close(&json, ']');
    json_line(&json);
    free(stages);
}

static void path_write(const struct whatif_job *job, const struct whatif_course *course)
{
    static const char *const waits[] = {"", "", "after a transfer", "when a core was free",
                                        "after a delay", "at the same time, over a stream"};
    enum { SHOWN = 12 };
    struct whatif_stage *stages = plan_take(job->graph.task_count, sizeof *stages);
    uint32_t count = whatif_critical_path(job, course, stages);
    printf("critical path, %u task%s:\n", count, count == 1 ? "" : "s");
    for (uint32_t i = 0; i < count; i++) {
        if (count > SHOWN && i == SHOWN / 2) {
            printf("    ... %u more\n", count - SHOWN);
            i = count - SHOWN / 2;
        }
        uint32_t task = stages[i].task;
        printf("%12.6g s  ", course->began[task]);
        plain_write(stdout, job->names[task], strlen(job->names[task]));
        if (*job->kinds[task] && strcmp(job->kinds[task], job->names[task])) {
            fputs(" ", stdout);
            plain_write(stdout, job->kinds[task], strlen(job->kinds[task]));
        }
        printf(" on worker %u %s\n", course->worker[task], waits[stages[i].waited]);
    }
    free(stages);
}

static void runs_write(const struct simulate_request *request)
{
    const struct simulate_runs *runs = &request->of_runs;
    printf("%u runs: half of them take up to %.6g s, nine of ten up to %.6g s; from %.6g to %.6g s",
           request->runs, runs->median, runs->most_of_ten, runs->least, runs->most);
    if (runs->failed) printf("; %u fail", runs->failed);
    fputs("\nthe median run:\n", stdout);
}

static void text_write(const struct simulate_request *request, const struct whatif_job *job,
                       const struct whatif_course *course)
{
    double bound = plan_lower_bound(&job->graph, &request->setting.cluster);
    if (request->runs > 1) runs_write(request);
    double used = used_of(job, course), there = cores_of(request) * course->makespan;
    uint32_t tasks = job->graph.task_count, workers = request->setting.cluster.worker_count;
    const char *verb = request->recorded ? "took" : tasks == 1 ? "takes" : "take";
    printf("%u task%s on %u worker%s %s %.6g s; no schedule takes less than %.6g s\n", tasks,
           tasks == 1 ? "" : "s", workers, workers == 1 ? "" : "s", verb, course->makespan, bound);
    printf("%.6g core seconds, %.0f%% of the capacity; %llu transfers, %.6g MiB\n", used,
           there > 0 ? 100 * used / there : 0, (unsigned long long)course->transfers, course->mib);
    if (request->price >= 0)
        printf("%.6g core hours of capacity cost %.6g\n", there / 3600,
               cost_of(request, course));
    if (request->has_faults)
        printf("workers crashed %llu times, and %llu attempts failed\n",
               (unsigned long long)course->crashes, (unsigned long long)course->failed);
    if (course->no_room)
        printf("%llu attempts had no room for an input on the disk of their worker\n",
               (unsigned long long)course->no_room);
    if (course->plans)
        printf("%u plan%s tried in %.3f s; %.2f us per task and plan\n", course->plans,
               course->plans == 1 ? " was" : "s were", course->search_seconds, plan_us(course));
    path_write(job, course);
    if (request->gantt) whatif_chart(job, &request->setting, course, stdout);
}


void simulate_show(const struct simulate_request *request, const struct whatif_job *job,
                   const struct whatif_course *course)
{
    if (request->json) json_write(request, job, course);
    else text_write(request, job, course);
}

bool simulate_files(const struct simulate_request *request, const struct whatif_job *job,
                    const struct whatif_course *course)
{
    return file_write(request->svg, whatif_svg, request, job, course)
           && file_write(request->perfetto, whatif_perfetto, request, job, course)
           && file_write(request->workflow, whatif_workflow, request, job, course)
           && file_write(request->schedule, schedule_write, request, job, course);
}
