// timeline.c - the result of a run: where and when each task ran.
#include "sim/whatif/whatif.h"

#include <stdlib.h>

struct whatif_course whatif_course_take(uint32_t task_count)
{
    return (struct whatif_course){.worker = plan_take(task_count, sizeof(uint32_t)),
                               .began = plan_take(task_count, sizeof(double)),
                               .ended = plan_take(task_count, sizeof(double))};
}

void whatif_course_release(struct whatif_course *course)
{
    free(course->worker), free(course->began), free(course->ended);
    *course = (struct whatif_course){0};
}

bool whatif_replay(const struct whatif_job *job, const struct whatif_setting *setting,
                const struct plan_schedule *schedule, struct whatif_course *course)
{
    struct model *model = model_open(&job->graph, &setting->cluster);
    course->makespan = plan_replay(model, &job->graph, schedule, 1e300);
    for (uint32_t i = 0; i < job->graph.task_count; i++) {
        course->worker[i] = schedule->worker[i];
        course->began[i] = model_began(model, i);
        course->ended[i] = model_ends(model, i);
    }
    course->transfers = model_sums(model).transfers;
    course->mib = model_sums(model).mib;
    model_close(model);
    return course->makespan < 1e300;
}
