// orders.c - what the server tells a worker, done as worker/agent/orders.c and
// worker/agent/reports.c do it.
#include "sim/cluster/internal.h"

#include <errno.h>

// ---- Orders that wait --------------------------------------------------------------------------

void frame_keep(struct wire_in **list, uint32_t *count, uint32_t *capacity,
                const struct wire_message *message)
{
    struct wire_out out = {0};
    wire_put(&out, message);
    world_reserve(list, capacity, *count, sizeof **list);
    struct wire_in *frame = &(*list)[(*count)++];
    *frame = (struct wire_in){0};
    char *room = wire_in_room(frame, out.length);
    if (!room) abort();
    memcpy(room, out.bytes, out.length);
    wire_in_came(frame, out.length);
    wire_out_release(&out);
}

// What is in it stays there, and is the message as long as the frame is not released.
void frame_look(struct wire_in *frame, struct wire_message *message)
{
    struct wire_in copy = *frame;
    if (wire_take(frame, message) != WIRE_GOT) abort();
    copy.arena = frame->arena;
    copy.arena_capacity = frame->arena_capacity;
    *frame = copy;
}

// True: it was there, and is the message now, as long as `frame` is not released.
static bool frame_take(struct wire_in *list, uint32_t *count, const struct attempt *attempt,
                       struct wire_in *frame, struct wire_message *message)
{
    for (uint32_t i = 0; i < *count; i++) {
        frame_look(&list[i], message);
        bool same = message->run.attempt == attempt->number
                    && message->run.task.job == attempt->task.job
                    && message->run.task.task == attempt->task.task;
        if (!same) continue;
        *frame = list[i];
        list[i] = list[--*count];
        return true;
    }
    return false;
}

static bool waiting_take(struct hand *hand, const struct attempt *attempt, struct wire_in *frame,
                         struct wire_message *message)
{
    return frame_take(hand->waiting, &hand->waiting_count, attempt, frame, message);
}

void order_go_on(struct world *world, uint32_t who, rota_task_id task)
{
    struct hand *hand = &world->hands[who];
    struct attempt *attempt = attempts_newest(&hand->decide.attempts, task);
    struct wire_in frame;
    struct wire_message message;
    if (!attempt || attempt->state != ATTEMPT_HELD) return;
    struct decide_answer answer = decide_go_on(&hand->decide, attempt, hand_clock(world, hand));
    if (answer.verdict == DECIDE_IGNORE) return;
    if (!waiting_take(hand, attempt, &frame, &message)) abort();
    if (answer.verdict == DECIDE_REFUSE)
        report_add(world, hand, attempt, WIRE_NOT_STARTED, answer.error);
    else
        shelf_give(world, who, &message);
    wire_in_release(&frame);
}

// ---- Ends --------------------------------------------------------------------------------------

void order_end(struct world *world, struct hand *hand, struct attempt *attempt, int64_t grace)
{
    struct wire_in frame;
    struct wire_message message;
    attempt_stop(&hand->decide.attempts, attempt);
    if (attempt->state == ATTEMPT_HELD) {
        if (waiting_take(hand, attempt, &frame, &message)) wire_in_release(&frame);
        attempt_move(&hand->decide.attempts, attempt, ATTEMPT_ENDED);
        report_add(world, hand, attempt, WIRE_STOPPED, 0);
        return;
    }
    if (frame_take(hand->lacking, &hand->lacking_count, attempt, &frame, &message)) {
        wire_in_release(&frame);
        report_add(world, hand, attempt, WIRE_STOPPED, 0);
        return;
    }
    struct process *process = process_find(hand, attempt->task, attempt->number);
    if (process) process_stop(world, hand, process, grace);
}

static void on_run(struct world *world, uint32_t who, const struct wire_message *message)
{
    struct hand *hand = &world->hands[who];
    struct decide *decide = &hand->decide;
    struct decide_answer answer
        = decide_run(decide, decide->connection, &message->run, hand_clock(world, hand));
    switch (answer.verdict) {
    case DECIDE_IGNORE: break;
    case DECIDE_BREAK: wrong(world, "%s was given nonsense", hand->name); break;
    case DECIDE_GIVE: shelf_give(world, who, message); break;
    case DECIDE_REFUSE:
        see(world, SIGHT_REFUSED_RUN);
        report_add(world, hand, answer.attempt, WIRE_NOT_STARTED, answer.error);
        break;
    case DECIDE_HOLD:
        see(world, SIGHT_HELD_RUN);
        frame_keep(&hand->waiting, &hand->waiting_count, &hand->waiting_capacity, message);
        for (struct attempt *at = answer.attempt; (at = attempts_older(&decide->attempts, at));)
            if (attempt_is_alive(at)) order_end(world, hand, at, 0);
        break;
    }
}

static void on_recorded(struct world *world, struct hand *hand, const struct wire_recorded *told)
{
    uint32_t who = (uint32_t)(hand - world->hands);
    struct attempts *attempts = &hand->decide.attempts;
    struct attempt *attempt = attempts_find(attempts, told->task, told->attempt);
    if (files_forged(world, hand, told)) return;
    if (told->how == WIRE_IS_STALE) see(world, SIGHT_REPORT_STALE);
    if (told->how == WIRE_WAS_RECORDED) see(world, SIGHT_REPORT_AGAIN);
    if (!attempt || attempt->state != ATTEMPT_SPOOLED) return;
    brook_recorded(world, who, told);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < hand->spool_count; i++) {
        const struct wire_finished *finished = &hand->spool[i].finished;
        bool same = finished->task.job == told->task.job && finished->task.task == told->task.task
                    && finished->attempt == told->attempt;
        if (!same) hand->spool[kept++] = hand->spool[i];
    }
    hand->spool_count = kept;
    attempts_remove(attempts, attempt);
}

// ---- Coming ------------------------------------------------------------------------------------

// A server with another database is not told what was done for the first one. What runs goes on.
static bool is_ours(struct world *world, struct hand *hand, uint64_t server)
{
    struct attempts *attempts = &hand->decide.attempts;
    bool unsafe = hand->spool_count && !hand->spool[hand->spool_count - 1].safe;
    if (hand->server && hand->server != server) {
        brooks_give_up(world, (uint32_t)(hand - world->hands));
        if (attempts->alive || unsafe) return false;
        hand->spool_count = 0;
        hand->epoch = 0;
        for (struct attempt *attempt = NULL, *at; (at = attempts_next(attempts, attempt));) {
            attempt = at;
            if (at->state == ATTEMPT_SPOOLED) attempts_remove(attempts, at);
        }
    }
    hand->server = server;
    return true;
}

static bool on_welcome(struct world *world, struct hand *hand, const struct wire_welcome *welcome)
{
    if (hand->welcome || !decide_welcome(&hand->decide, welcome, hand_clock(world, hand))) {
        wrong(world, "%s gets a welcome that makes no sense", hand->name);
        return false;
    }
    if (!is_ours(world, hand, welcome->server)) return false;
    struct wire_message message = {.kind = WIRE_JOIN_MESSAGE};
    struct wire_attempt *items
        = world_allocate(attempts_count(&hand->decide.attempts) + 1, sizeof *items);
    struct wire_out *out = &world->cables[hand->cable]->out[FAR_SIDE];
    message.join.cores = hand->cores;
    message.join.memory_mib = 1000;
    message.join.machine = message.join.limits = message.join.user = wire_text_of("");
    message.join.address = wire_text_of(hand->address);
    message.join.epoch = hand->epoch;
    message.join.opened = hand->opened;
    message.join.attempts = decide_join(&hand->decide, items);
    wire_put(out, &message);
    free(items);
    hand->welcome = true;
    hand->welcomed = hand->boot;
    if (welcome->epoch > hand->epoch) {
        hand->epoch = welcome->epoch;
        hand->opened = welcome->opened;
    }
    shelf_tell(world, hand);
    for (uint32_t i = 0; i < hand->spool_count; i++)
        if (hand->spool[i].safe) report_put(&hand->spool[i], out);
    files_forge(world, hand);
    return true;
}

// Another worker has its name: it ends, and somebody starts it again. False: it tries again.
static bool on_refuse(struct world *world, uint32_t who, const struct wire_refuse *refuse)
{
    bool is_named = refuse->code == WIRE_REFUSED_NAME;
    see(world, is_named ? SIGHT_TWIN_REFUSED : SIGHT_GIVEN_UP);
    if (is_named) hand_crash(world, who, false);
    return is_named;
}

bool order_take(struct world *world, uint32_t who, const struct wire_message *message)
{
    struct hand *hand = &world->hands[who];
    struct decide *decide = &hand->decide;
    switch (message->kind) {
    case WIRE_WELCOME_MESSAGE: return on_welcome(world, hand, &message->welcome);
    case WIRE_REFUSE_MESSAGE: return on_refuse(world, who, &message->refuse);
    case WIRE_BEATEN_MESSAGE:
        decide_beaten(decide, decide->connection, message->beaten.sent, hand_clock(world, hand));
        hand->pause = 0;
        return true;
    case WIRE_PROBE_MESSAGE: hand_beat(world, hand); return true;
    case WIRE_RUN_MESSAGE: on_run(world, who, message); return true;
    case WIRE_FETCH_MESSAGE: shelf_fetch(world, who, &message->fetch); return true;
    case WIRE_FLOW_MESSAGE: brook_meet(world, who, &message->flow); return true;
    case WIRE_SERVE_MESSAGE: return true;  // others may come, as they do here anyway
    case WIRE_DROP_MESSAGE:
        for (uint32_t i = 0; i < message->drop.objects.count; i++)
            shelf_drop(world, hand, &message->drop.objects.items[i]),
                brook_drop(world, who, message->drop.objects.items[i].object);
        return true;
    case WIRE_SHOW_MESSAGE:
        for (uint32_t i = 0; i < message->show.objects.count; i++)
            shelf_show(world, hand, message->show.objects.items[i].object);
        return true;
    case WIRE_STOP_MESSAGE: {
        struct attempt *attempt
            = attempts_find(&decide->attempts, message->stop.task, message->stop.attempt);
        if (attempt && attempt_is_alive(attempt))
            order_end(world, hand, attempt, message->stop.grace);
        files_forge_stopped(world, hand, &message->stop);
        return true;
    }
    case WIRE_RECORDED_MESSAGE: on_recorded(world, hand, &message->recorded); return true;
    case WIRE_QUIT_MESSAGE:
        see(world, SIGHT_DRAINED);
        hand_crash(world, who, false);  // somebody starts it again
        return true;
    default: wrong(world, "%s is told what no worker is told", hand->name); return false;
    }
}
