// simulate.c - `rota simulate`: what a job would come to on workers that are not there.
#include "cli/cli.h"
#include "cli/simulate.h"
#include "os/os.h"

#include <stdlib.h>

static double seconds_now(void)
{
    return (double)os_spent() * 1e-9;
}

static bool all_fit(const struct simulate_request *request, const struct lab_job *job)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < request->setting.cluster.worker_count; i++)
        if (most < request->setting.cores[i]) most = request->setting.cores[i];
    for (uint32_t i = 0; i < job->graph.task_count; i++) {
        if (job->graph.tasks[i].cores <= most) continue;
        fprintf(stderr, "%s: task %s needs %u cores, and no worker has more than %u\n",
                request->file, job->names[i], job->graph.tasks[i].cores, most);
        return false;
    }
    return true;
}

// Returns the exit status.
static int course_find(struct simulate_request *request, const struct lab_job *job,
                       struct lab_course *course)
{
    if (!request->replay) {
        if (lab_run(job, &request->setting, &request->options, course)) return 0;
        fputs("rota simulate: some tasks never ran\n", stderr);
        return 1;
    }
    struct plan_schedule schedule = plan_schedule_take(job->graph.task_count);
    bool fine = lab_read_schedule(&schedule, request->replay, job, &request->setting);
    double before = seconds_now();
    if (fine) lab_replay(job, &request->setting, &schedule, course);
    course->seconds = seconds_now() - before;
    plan_schedule_release(&schedule);
    return fine ? 0 : 2;
}

static int job_read(struct simulate_request *request, struct lab_job *job,
                    struct lab_course *course)
{
    if (request->is_database) return recorded_read(request, job, course);
    return lab_read(job, request->file, request->seconds_each) ? 0 : 2;
}

int command_simulate(int count, char **words)
{
    if (swarm_is_meant(count, words)) return command_swarm(count, words);
    struct simulate_request request = {.options.seconds_now = seconds_now};
    struct lab_job job = {0};
    struct lab_course course = {0};
    int status = simulate_words(&request, count, words);
    if (status < 0) {
        status = job_read(&request, &job, &course);
        if (!status && !request.recorded) {
            course = lab_course_take(job.graph.task_count);
            status = all_fit(&request, &job) ? course_find(&request, &job, &course) : 2;
        }
        if (!status) simulate_show(&request, &job, &course);
        if (!status && !simulate_files(&request, &job, &course)) status = 1;
    }
    lab_course_release(&course);
    lab_job_release(&job);
    simulate_release(&request);
    return status;
}
