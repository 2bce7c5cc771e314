// trace.c - one line for each decision, if the caller wants a trace.
#include "core/core.h"

#include <stdarg.h>
#include <stdio.h>

void trace_say(struct rota *rota, const char *format, ...)
{
    if (!rota->config.trace) return;
    char line[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_add(&rota->memory, &rota->trace, "%lld %s\n", (long long)rota->now, line);
}

void trace_move(struct rota *rota, task_row row, enum rota_task_state from)
{
    assert(IS_TASK(rota, row));
    const struct task *task = &rota->task[row];
    rota_task_id id = task_id(rota, row);
    const char *to = rota_task_state_name((enum rota_task_state)task->state);
    if (task->state == ROTA_TASK_ASSIGNED)
        trace_say(rota, "task %u.%u %s -> %s to worker %u, attempt %u", id.job, id.task,
                  rota_task_state_name(from), to, WORKER(rota, task->worker)->id, task->attempt);
    else
        trace_say(rota, "task %u.%u %s -> %s (unmet %u, dead %u)%s", id.job, id.task,
                  rota_task_state_name(from), to, rota->unmet[row], task->dead,
                  task->flags & TASK_AGAIN ? ", to make a lost result again" : "");
}
