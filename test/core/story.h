// story.h - helpers for tests that tell a story through rota.h: a step, a turn, and its actions.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "rota.h"

enum { STORY_ACTIONS = 512, STORY_ROWS = 512 };

struct story {
    struct rota *rota;
    rota_time now;
    struct rota_action actions[STORY_ACTIONS];  // of the last turn
    uint32_t action_count;
    char text[2048];
};

#define STORY_HELPER __attribute__((unused)) static

// Plans are made at once, as in a play.
STORY_HELPER struct rota_config story_config(void)
{
    struct rota_config config = rota_config_default();
    config.policy = ROTA_POLICY_PLAN;
    config.plan_submit = config.plan_update = config.plan_idle = 0;
    config.lease = 1000;
    return config;
}

STORY_HELPER void story_open_with(struct story *story, const struct rota_config *config)
{
    memset(story, 0, sizeof *story);
    assert_int_equal(rota_open(config, &story->rota), ROTA_OK);
}

STORY_HELPER void story_open(struct story *story)
{
    struct rota_config config = story_config();
    story_open_with(story, &config);
}

STORY_HELPER void story_close(struct story *story)
{
    rota_check(story->rota);
    rota_close(story->rota);
}

// ---- Steps -------------------------------------------------------------------------

STORY_HELPER enum rota_error step(struct story *story, struct rota_event event)
{
    event.now = story->now;
    return rota_step(story->rota, &event);
}

// Ends the turn and keeps its actions.
STORY_HELPER void turn(struct story *story)
{
    do assert_int_equal(step(story, (struct rota_event){.kind = ROTA_EVENT_TIME}), ROTA_OK);
    while (rota_deadline(story->rota) <= story->now);
    struct rota_effects effects = rota_take(story->rota);
    assert_true(effects.action_count <= STORY_ACTIONS);
    story->action_count = effects.action_count;
    if (effects.action_count) {
        memcpy(story->actions, effects.actions, effects.action_count * sizeof *effects.actions);
    }
    rota_check(story->rota);
}

STORY_HELPER void does(struct story *story, struct rota_event event)
{
    enum rota_error error = step(story, event);
    if (error) fail_msg("refused with %s: %s", rota_error_name(error), rota_reason(story->rota));
    turn(story);
}

// The event is refused with a reason, and nothing has changed.
STORY_HELPER void refused(struct story *story, struct rota_event event, enum rota_error expected)
{
    uint64_t digest = rota_digest(story->rota);
    enum rota_error error = step(story, event);
    if (error != expected) {
        fail_msg("%s instead of %s: %s", rota_error_name(error), rota_error_name(expected),
                 rota_reason(story->rota));
    }
    const char *reason = rota_reason(story->rota);
    assert_non_null(reason);
    assert_true(strlen(reason) > 8);
    assert_non_null(strchr(reason, ' '));
    assert_true(rota_digest(story->rota) == digest);
    rota_check(story->rota);
}

STORY_HELPER void worker_joins(struct story *story, uint32_t number, uint32_t cores)
{
    does(story,
         (struct rota_event){.kind = ROTA_EVENT_WORKER_JOINED,
                             .worker = {.id = {number}, .cores = cores, .memory_mib = 1024}});
}

STORY_HELPER void lane_opens(struct story *story, uint32_t lane, uint32_t flags)
{
    does(story,
         (struct rota_event){.kind = ROTA_EVENT_LANE,
                             .lane = {.lane = lane, .flags = flags, .patience = ROTA_NEVER}});
}

STORY_HELPER struct rota_event report(struct story *story, enum rota_event_kind kind,
                                      rota_task_id task, enum rota_outcome outcome)
{
    struct rota_task_view view;
    assert_true(rota_task_look(story->rota, task, &view));
    return (struct rota_event){.kind = kind,
                               .report = {.worker = view.worker,
                                          .task = view.run_as,
                                          .attempt = view.attempt,
                                          .outcome = outcome,
                                          .status = outcome == ROTA_OUTCOME_EXIT ? 3 : 0}};
}

STORY_HELPER void starts(struct story *story, rota_task_id task)
{
    does(story, report(story, ROTA_EVENT_TASK_STARTED, task, ROTA_OUTCOME_NONE));
}

STORY_HELPER void ends(struct story *story, rota_task_id task, enum rota_outcome outcome)
{
    does(story, report(story, ROTA_EVENT_TASK_FINISHED, task, outcome));
}

// ---- Actions of the last turn ---------------------------------------------------------------

STORY_HELPER void action_print(const struct rota_action *action, char *out, size_t size)
{
    static const char *const outcomes[] = {"none", "ok", "exit", "error", "aborted", "lost"};
    switch (action->kind) {
    case ROTA_ACTION_RUN:
        snprintf(out, size, "%u.%u#%u>w%u ", action->run.task.job, action->run.task.task,
                 action->run.attempt, action->run.worker.number);
        return;
    case ROTA_ACTION_STOP:
        snprintf(out, size, "%u.%u#%u>w%u ", action->stop.task.job, action->stop.task.task,
                 action->stop.attempt, action->stop.worker.number);
        return;
    case ROTA_ACTION_CONFIRM:
        snprintf(out, size, "%u.%u:%s ", action->confirm.task.job, action->confirm.task.task,
                 outcomes[action->confirm.outcome]);
        return;
    case ROTA_ACTION_WAIT_OVER:
        snprintf(out, size, "%u.%u:%s ", action->wait_over.task.job, action->wait_over.task.task,
                 outcomes[action->wait_over.outcome]);
        return;
    case ROTA_ACTION_FETCH:
        snprintf(out, size, "o%u>w%u<w%u ", (unsigned)action->fetch.object.low,
                 action->fetch.worker.number, action->fetch.from.number);
        return;
    case ROTA_ACTION_DROP:
        snprintf(out, size, "o%u>w%u ", (unsigned)action->drop.object.low,
                 action->drop.worker.number);
        return;
    case ROTA_ACTION_SHOW:
        snprintf(out, size, "o%u>w%u ", (unsigned)action->show.object.low,
                 action->show.worker.number);
        return;
    case ROTA_ACTION_GRANT:
        snprintf(out, size, "%u.%u#%u>h%u ", action->grant.task.job, action->grant.task.task,
                 action->grant.attempt, (unsigned)action->grant.handler);
        return;
    case ROTA_ACTION_ACCEPT: snprintf(out, size, "%u ", action->accept.job.number); return;
    default: snprintf(out, size, "%d ", (int)action->kind);
    }
}

// All actions of one kind in the last turn, in order, as text: "1.1#1>w1 1.2#1>w1".
STORY_HELPER const char *told(struct story *story, enum rota_action_kind kind)
{
    size_t used = 0;
    story->text[0] = 0;
    for (uint32_t i = 0; i < story->action_count; i++) {
        if (story->actions[i].kind != kind) continue;
        action_print(&story->actions[i], story->text + used, sizeof story->text - used);
        used += strlen(story->text + used);
    }
    if (used) story->text[used - 1] = 0;
    return story->text;
}

// A list as text: "1.1 1.3".
STORY_HELPER const char *listed(struct story *story, enum rota_list list, uint32_t worker)
{
    rota_task_id ids[64];
    uint32_t count = rota_list(story->rota, list, (rota_worker_id){worker}, ids, 64);
    size_t used = 0;
    story->text[0] = 0;
    for (uint32_t i = 0; i < count && i < 64; i++) {
        used += (size_t)snprintf(story->text + used, sizeof story->text - used, "%s%u.%u",
                                 i ? " " : "", ids[i].job, ids[i].task);
    }
    return story->text;
}
