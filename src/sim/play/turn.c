// turn.c - turns of the core: step, take, commit, perform, until there is nothing to do.
#include "sim/play/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { DECISIONS_KEPT = 20, ROUNDS_MAX = 10000000 };

// ---- Opening and closing the core ---------------------------------------------------------------

static void refusal_write(enum rota_error error, const char *reason, char *out, size_t size)
{
    snprintf(out, size, "refused: %s: %s", rota_error_name(error), reason);
}

bool turn_open(struct play *play)
{
    if (play->rota) return true;
    enum rota_error error = rota_open(&play->config, &play->rota);
    if (!error) return true;
    char actual[300];
    refusal_write(error, rota_error_text(error), actual, sizeof actual);
    play_fail(play, "a configuration that the core accepts", actual);
    play->halt = PLAY_STOPS;
    return false;
}

// Nothing is sent that is not recorded.
static void store_gives_up(struct play *play, const char *why)
{
    fprintf(play->out, "%s:%u: %s\n", play->file, play->line, why);
    turn_keep_nothing(play);
    play->broken = true;
    play->halt = PLAY_STOPS;
}

void turn_reopen(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_RESTORE };
    event.restore.records = store_rows(play->store, &event.restore.count);
    rota_close(play->rota);
    play->rota = NULL;
    if (store_error(play->store)->fault) {
        store_gives_up(play, store_error(play->store)->text);
        return;
    }
    if (!turn_open(play)) return;
    enum rota_error error = play_turn_step(play, &event);
    if (!error) return;
    if (play->options.database) {
        store_gives_up(play, rota_reason(play->rota));
        return;
    }
    char actual[300];
    refusal_write(error, rota_reason(play->rota), actual, sizeof actual);
    play_fail(play, "a restart from the stored rows", actual);
    play->halt = PLAY_STOPS;
}

void turn_restart(struct play *play)
{
    uint64_t before = rota_digest(play->rota);
    turn_reopen(play);
    if (play->halt) return;
    uint64_t after = rota_digest(play->rota);
    if (before != after) {
        char expected[64], actual[64];
        snprintf(expected, sizeof expected, "digest %016" PRIx64 " as before", before);
        snprintf(actual, sizeof actual, "restart changed the digest: %016" PRIx64, after);
        play_fail(play, expected, actual);
    }
    if (!play->block.open) turn_settle(play);
}

// ---- Steps -----------------------------------------------------------------

void *turn_keep(struct play *play, size_t count, size_t size)
{
    ARRAY_GROW(play->kept, play->kept_count, play->kept_capacity);
    void *memory = array_resize(NULL, count, size);
    memset(memory, 0, count * size);
    play->kept[play->kept_count++] = memory;
    return memory;
}

void turn_keep_nothing(struct play *play)
{
    while (play->kept_count) free(play->kept[--play->kept_count]);
}

enum rota_error play_turn_step(struct play *play, const struct rota_event *event)
{
    struct rota_event *kept = turn_keep(play, 1, sizeof *kept);
    *kept = *event;
    kept->now = play->now;
    enum rota_error error = rota_step(play->rota, kept);
    if (!error && event->kind == ROTA_EVENT_SUBMIT) play->submitted = &kept->submit;
    if (play->options.check) rota_check(play->rota);
    return error;
}

bool turn_send(struct play *play, const struct rota_event *event)
{
    if (play->halt || play->answer) return false;
    bool compare = play->refused || play->options.check;
    uint64_t before = compare ? rota_digest(play->rota) : 0;
    play->answer = play_turn_step(play, event);
    if (!play->answer) return true;
    snprintf(play->reason, sizeof play->reason, "%s", rota_reason(play->rota));
    if (compare && rota_digest(play->rota) != before) play->changed = true;
    return false;
}

bool statement_send(struct play *play, const struct rota_event *event)
{
    take_end(play);
    return turn_send(play, event);
}

void turn_refuse(struct play *play, enum rota_error error, const char *reason)
{
    if (play->halt || play->answer) return;
    play->answer = error;
    snprintf(play->reason, sizeof play->reason, "%s", reason);
}

// ---- Turns -----------------------------------------------------------------

static void decisions_add(struct play *play, const char *trace)
{
    while (*trace) {
        size_t length = strcspn(trace, "\n");
        if (play->options.trace) fprintf(play->out, "%.*s\n", (int)length, trace);
        strings_add_piece(&play->decisions, trace, length);
        if (play->decisions.count > DECISIONS_KEPT) strings_drop_first(&play->decisions);
        trace += length;
        trace += *trace == '\n';
    }
}

// Workers answer while the actions are performed, and effects live only until the next step.
static uint32_t actions_copy(struct play *play, const struct rota_effects *effects)
{
    uint32_t count = effects->action_count;
    if (count > play->action_capacity) {
        play->actions = array_resize(play->actions, count, sizeof *play->actions);
        play->action_capacity = count;
    }
    if (count) memcpy(play->actions, effects->actions, count * sizeof *play->actions);
    return count;
}

// The rows come in pieces; the actions come with the last one.
static struct rota_effects effects_commit(struct play *play)
{
    struct rota_effects effects;
    store_begin(play->store, play->now);
    batch_define(play);
    request_answer(play);
    do {
        effects = rota_take(play->rota);
        store_put(play->store, play->rota, effects.records, effects.record_count);
    } while (effects.more);
    bool committed = store_commit(play->store);
    if (!committed) store_gives_up(play, store_error(play->store)->text);
    return effects;
}

static bool turn_take(struct play *play)
{
    struct rota_event event = { .kind = ROTA_EVENT_TIME, .time = { play->plan_took } };
    play->plan_took = 0;
    enum rota_error error = play_turn_step(play, &event);
    if (error) {
        play_fail(play, "the core to take a turn", rota_reason(play->rota));
        play->halt = PLAY_STOPS;
        return false;
    }
    struct rota_effects effects = effects_commit(play);
    if (play->broken) return false;
    decisions_add(play, effects.trace);
    turn_keep_nothing(play);
    uint32_t count = actions_copy(play, &effects);
    // The tasks get their names before they are used.
    for (uint32_t i = 0; i < count; i++) {
        const struct rota_action *action = &play->actions[i];
        if (action->kind == ROTA_ACTION_ACCEPT) batch_accepted(play, action->accept.job);
    }
    for (uint32_t i = 0; i < count; i++) perform_action(play, &play->actions[i]);
    return count > 0;
}

void turn_settle(struct play *play)
{
    for (uint32_t round = 0; round < ROUNDS_MAX; round++) {
        bool busy = turn_take(play);
        if (play->halt == PLAY_STOPS) return;
        if (workers_start(play)) busy = true;
        if (!busy && rota_deadline(play->rota) > play->now) return;
    }
    play_fail(play, "the core to have nothing to do", "it asks for turn after turn");
    play->halt = PLAY_STOPS;
}

void turn_once(struct play *play)
{
    turn_take(play);
    if (play->halt != PLAY_STOPS && workers_start(play)) turn_settle(play);
}

void turn_advance(struct play *play, rota_time target)
{
    play->request.until = target;
    while (play->halt != PLAY_STOPS && rota_deadline(play->rota) <= target) {
        rota_time due = rota_deadline(play->rota);
        if (due > play->now) play->now = due;
        turn_settle(play);
    }
    if (play->halt) return;
    play->now = target;
    turn_settle(play);
}
