// simulate.c - `rota simulate`: predicts how a job runs on other workers.
#include "cli/cli.h"
#include "cli/simulate.h"
#include "os/os.h"

#include <stdlib.h>

static double seconds_now(void)
{
    return (double)os_spent() * 1e-9;
}

static bool fits_somewhere(const struct simulate_request *request, const struct whatif_job *job,
                           uint32_t task)
{
    const struct plan_cluster *cluster = &request->setting.cluster;
    for (uint32_t i = 0; i < cluster->worker_count; i++)
        if (plan_fits(&job->graph, cluster, task, i)) return true;
    return false;
}

static double disk_wanted(const struct whatif_job *job, uint32_t task)
{
    const struct plan_graph *graph = &job->graph;
    const struct plan_task *row = &graph->tasks[task];
    double mib = 0;
    for (uint32_t i = row->input; i < row->input + row->input_count; i++)
        if (!plan_is_stream(graph, graph->inputs[i])) mib += graph->mib[graph->inputs[i]];
    for (uint32_t i = row->output; i < row->output + row->output_count; i++)
        if (!plan_is_stream(graph, i)) mib += graph->mib[i];
    return mib;
}

static bool disks_fit(const struct simulate_request *request, const struct whatif_job *job)
{
    const struct plan_cluster *cluster = &request->setting.cluster;
    double largest = 0;
    for (uint32_t i = 0; cluster->disk_mib && i < cluster->worker_count; i++)
        if (largest < cluster->disk_mib[i]) largest = cluster->disk_mib[i];
    for (uint32_t i = 0; cluster->disk_mib && i < job->graph.task_count; i++) {
        if (disk_wanted(job, i) <= largest) continue;
        fprintf(stderr, "%s: task %s reads and writes %.6g MiB, more than any disk has\n",
                request->file, job->names[i], disk_wanted(job, i));
        return false;
    }
    return true;
}

static bool all_fit(const struct simulate_request *request, const struct whatif_job *job)
{
    for (uint32_t i = 0; i < job->graph.task_count; i++) {
        if (fits_somewhere(request, job, i)) continue;
        fprintf(stderr, "%s: task %s needs %u cores", request->file, job->names[i],
                job->graph.tasks[i].cores);
        if (job->graph.memory_mib && request->setting.cluster.memory_mib)
            fprintf(stderr, " and %u MiB", job->graph.memory_mib[i]);
        fputs(", more than any worker has\n", stderr);
        return false;
    }
    return true;
}

static void never_ran(const struct simulate_request *request, const struct whatif_job *job)
{
    fputs("rota simulate: some tasks never ran", stderr);
    if (request->setting.cluster.disk_mib)
        fputs(": the disks may be too small for their inputs and outputs", stderr);
    else if (job->graph.group_count)
        fputs(": not all tasks that share streams fit on the workers at the same time", stderr);
    fputs("\n", stderr);
}

static int replay(const struct simulate_request *request, const struct whatif_job *job,
                  struct whatif_course *course)
{
    struct plan_schedule schedule = plan_schedule_take(job->graph.task_count);
    bool fine = whatif_read_schedule(&schedule, request->replay, job, &request->setting);
    double before = seconds_now();
    bool done = fine && whatif_replay(job, &request->setting, &schedule, course);
    course->seconds = seconds_now() - before;
    plan_schedule_release(&schedule);
    if (fine && !done) never_ran(request, job);
    return !fine ? 2 : done ? 0 : 1;
}

static int run_once(const struct simulate_request *request, const struct whatif_job *job,
                    struct whatif_course *course)
{
    if (whatif_run(job, &request->setting, &request->options, course)) return 0;
    if (request->has_faults)
        fprintf(stderr, "rota simulate: with these faults the job fails: a task has no retries "
                "left, no worker is left, or outputs are lost again and again%s\n",
                request->setting.cluster.disk_mib ? "; or the disks may be too small" : "");
    else
        never_ran(request, job);
    return 1;
}

struct outcome {
    double makespan;
    uint64_t seed;
};

static int by_makespan(const void *a, const void *b)
{
    const struct outcome *one = a, *other = b;
    if (one->makespan != other->makespan) return one->makespan < other->makespan ? -1 : 1;
    return one->seed < other->seed ? -1 : one->seed > other->seed;
}

// Shows the course of the median run.
static int run_often(struct simulate_request *request, const struct whatif_job *job,
                     struct whatif_course *course)
{
    struct outcome *outcomes = plan_take(request->runs, sizeof *outcomes);
    struct whatif_options options = request->options;
    uint32_t count = 0;
    for (uint32_t i = 0; i < request->runs; i++) {
        struct whatif_course one = whatif_course_take(job->graph.task_count);
        options.seed = request->options.seed + i;
        if (whatif_run(job, &request->setting, &options, &one))
            outcomes[count++] = (struct outcome){one.makespan, options.seed};
        whatif_course_release(&one);
    }
    qsort(outcomes, count, sizeof *outcomes, by_makespan);
    request->of_runs.failed = request->runs - count;
    if (count) {
        request->of_runs.least = outcomes[0].makespan;
        request->of_runs.median = outcomes[(count - 1) / 2].makespan;
        request->of_runs.most_of_ten = outcomes[(count * 9 + 9) / 10 - 1].makespan;
        request->of_runs.most = outcomes[count - 1].makespan;
        options.seed = outcomes[(count - 1) / 2].seed;
        whatif_run(job, &request->setting, &options, course);
    } else {
        fprintf(stderr, "rota simulate: the job fails in all of %u runs\n", request->runs);
    }
    free(outcomes);
    return count ? 0 : 1;
}

// Returns the exit status.
static int course_find(struct simulate_request *request, const struct whatif_job *job,
                       struct whatif_course *course)
{
    if (request->replay) return replay(request, job, course);
    return request->runs > 1 ? run_often(request, job, course) : run_once(request, job, course);
}

static int job_read(struct simulate_request *request, struct whatif_job *job,
                    struct whatif_course *course)
{
    if (request->is_database) return recorded_read(request, job, course);
    return whatif_read(job, request->file, request->seconds_each) ? 0 : 2;
}

static int simulate(const struct command *command, int count, char **words)
{
    struct simulate_request request = {.options.seconds_now = seconds_now};
    struct whatif_job job = {0};
    struct whatif_course course = {0};
    int status = simulate_read(command, &request, count, words);
    if (status < 0) {
        status = job_read(&request, &job, &course);
        if (!status && !request.recorded) {
            course = whatif_course_take(job.graph.task_count);
            bool fits = all_fit(&request, &job) && disks_fit(&request, &job);
            status = fits ? course_find(&request, &job, &course) : 2;
        }
        if (!status) simulate_show(&request, &job, &course);
        if (!status && !simulate_files(&request, &job, &course)) status = 1;
    }
    whatif_course_release(&course);
    whatif_job_release(&job);
    simulate_release(&request);
    return status;
}

const struct command simulate_command = {
    .name = "simulate",
    .summary = "predict how a job runs on other workers (what-if)",
    .group = GROUP_SIMULATION,
    .argument = {ARGUMENT_FILE, "FILE", 0, 1},
    .run = simulate,
    .options = simulate_rows,
    .usage = "[OPTION...] FILE\n[OPTION...] --db DATABASE [--job N] [--recorded]\n",
    .text = "FILE is a job file, a workflow in WfFormat 1.5, a graph in the format tg-1, or a "
            "database. Nothing is executed.\n",
    .examples = "rota simulate build.yaml --workers 8x4\tpredict a run on 8 workers of 4 cores\n"
                "rota simulate --db .rota/rota.db --workers 2x16 --gantt\trun the last job "
                "elsewhere\n"
                "rota simulate --db .rota/rota.db --recorded --svg run.svg\tdraw how it ran\n",
    .exits = "0\tdone\n1\tthe job fails, or a file cannot be written\n"
             "2\tan option or a file is wrong\n",
};
