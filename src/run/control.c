// control.c - commands to a running `rota run`: one line over the socket in .rota, one line back.
#define _GNU_SOURCE
#include "run/loop.h"
#include "os/os.h"

#include <stdio.h>
#include <string.h>

enum { LINE = 4096 };

// By its id, such as 7.3, or by its name.
static bool task_find(const struct run *run, const char *name, uint32_t *at)
{
    unsigned job = 0, task = 0;
    int length = 0;
    bool id = sscanf(name, "%u.%u%n", &job, &task, &length) == 2 && !name[length];
    *at = task - 1;
    if (id && job == run->job.number && task && task <= run->file->task_count) return true;
    for (*at = 0; *at < run->file->task_count; ++*at)
        if (strcmp(run->file->tasks[*at].name, name) == 0) return true;
    return false;
}

static const char *task_step(struct run *run, enum rota_event_kind kind, const char *name)
{
    uint32_t at = 0;
    if (*name && !task_find(run, name, &at)) return "no such task";
    struct rota_event event = {.kind = kind};
    event.task.task = (rota_task_id){run->job.number, *name ? at + 1 : 0};
    return server_step(run->server, &event) ? run->server->reason : NULL;
}

// Carries out a command in its own turn. Returns null, or the reason why it is refused.
static const char *line_do(struct runner *runner, char *line)
{
    char *name = line + strcspn(line, " \n");
    if (*name) *name++ = 0;
    name[strcspn(name, "\n")] = 0;
    if (strcmp(line, "cancel") == 0) return task_step(&runner->run, ROTA_EVENT_CANCEL, name);
    if (strcmp(line, "retry") == 0 && *name) return task_step(&runner->run, ROTA_EVENT_RETRY, name);
    return "unknown command (use cancel [TASK] or retry TASK)";
}

// Without the socket the run continues, but takes no commands.
void control_open(struct runner *runner)
{
    char path[8192];
    snprintf(path, sizeof path, "%s/socket", runner->hidden);
    runner->control = os_socket_listen(path);
    if (runner->control < 0) runner->control = -2;
}

void control_answer(struct runner *runner)
{
    char line[LINE], answer[300] = "ok\n";
    int peer = os_socket_accept(runner->control, line, sizeof line);
    if (peer < 0) return;
    server_begin(runner->run.server, runner_now(runner));
    const char *reason = line_do(runner, line);
    if (reason) snprintf(answer, sizeof answer, "error %s\n", reason);
    bool durable = runner_turn_end(runner) && store_settle(runner->session.store, runner->turn);
    os_socket_reply(peer, durable ? answer : "error cannot write the change to the database\n");
}
