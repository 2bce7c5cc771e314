// client.c - statements for clients and handlers.
#include "sim/play/internal.h"

#include <string.h>

// ---- Handlers --------------------------------------------------------------

void verb_of_handler(struct play *play)
{
    static const struct { const char *word; uint32_t flag; } flags[] = {
        { "fetched_ok", ROTA_FETCHED_OK }, { "failed_ok", ROTA_FAILED_OK },
        { "delivered_ok", ROTA_DELIVERED_OK }, { "nofetch_ok", ROTA_NOFETCH_OK },
        { "given_back", ROTA_GIVEN_BACK },
    };
    struct rota_event event = { .kind = play->event };
    const char *name = take_name(play), *handler = take_pair(play, "by");
    // Claims the best task that is offered.
    if (strcmp(name, "-") != 0) event.claim.task = task_named(play, name);
    const char *job = event.kind == ROTA_EVENT_CLAIM ? take_pair(play, "of") : NULL;
    if (job) event.claim.task.job = job_named(play, job).number;
    if (handler) event.claim.handler = names_add(&play->handler_names, handler);
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (take_flag(play, flags[i].word)) event.claim.flags |= flags[i].flag;
    }
    statement_send(play, &event);
}

// ---- Tasks and jobs --------------------------------------------------------

void verb_of_task(struct play *play)
{
    struct rota_event event = { .kind = play->event };
    event.task.task = task_named(play, take_name(play));
    statement_send(play, &event);
}

void verb_cancel(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_CANCEL };
    event.task.task = task_or_job_named(play, take_name(play));
    statement_send(play, &event);
}

void verb_close(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_CLOSE };
    event.close.job = job_named(play, take_name(play));
    statement_send(play, &event);
}

void verb_gone(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_CLIENT_LEFT };
    event.client_left.client = names_add(&play->client_names, take_name(play));
    statement_send(play, &event);
}

void verb_manual(struct play *play)
{
    static const struct choice actions[] = {
        { "start", ROTA_MANUAL_START }, { "green", ROTA_MANUAL_GREEN },
        { "red", ROTA_MANUAL_RED },     { "reset", ROTA_MANUAL_RESET },
        { "freeze", ROTA_MANUAL_FREEZE }, { NULL, 0 },
    };
    const char *word = take_name(play);
    if (strcmp(word, "abort") == 0) {
        play->event = ROTA_EVENT_CANCEL;
        return verb_of_task(play);
    }
    const struct choice *action = actions;
    while (action->word && strcmp(action->word, word) != 0) action++;
    if (!action->word) play_wrong(play, "manual %s: unknown action", word);
    struct rota_event event = { .kind = ROTA_EVENT_MANUAL };
    event.manual.action = (enum rota_manual)action->value;
    event.manual.task = task_named(play, take_name(play));
    statement_send(play, &event);
}

// ---- Objects ---------------------------------------------------------------

// The client is the owner of the job that made the object.
void verb_of_object(struct play *play)
{
    struct rota_event event = { .kind = play->event };
    event.object.object = object_named(play, take_name(play));
    event.object.client = object_client(play, event.object.object);
    statement_send(play, &event);
}

void verb_keep(struct play *play)
{
    // An object can be marked before its submission.
    if (play->batch.open && !play->refused) {
        strings_add(&play->batch.keeps, "%s", take_name(play));
        take_end(play);
        return;
    }
    verb_of_object(play);
}

// ---- Waiting ---------------------------------------------------------------

static void wait_sends(struct play *play, enum rota_wait_mode mode)
{
    struct rota_event event = { .kind = ROTA_EVENT_WAIT };
    const char *text;
    struct strings names = { 0 };
    event.wait.client = names_add(&play->client_names, take_name(play));
    event.wait.mode = mode;
    while ((text = take_name_if_any(play))) strings_split(&names, text, ',');
    take_end(play);
    rota_task_id *tasks = turn_keep(play, names.count, sizeof *tasks);
    for (uint32_t i = 0; i < names.count; i++) tasks[i] = task_or_job_named(play, names.items[i]);
    event.wait.tasks = tasks;
    event.wait.count = names.count;
    strings_release(&names);
    turn_send(play, &event);
}

void verb_wait(struct play *play)
{
    wait_sends(play, ROTA_WAIT_ALL);
}

void verb_waitsome(struct play *play)
{
    wait_sends(play, ROTA_WAIT_SOME);
}
