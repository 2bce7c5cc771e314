// stream.c - streams between processes, done as worker/process/stream.c and worker/agent/streams.c
// do it: who reads joins one writing, here or at another worker, and cannot end well before that
// has.
//
// All of them fit into a pipe: a writer need not wait for its reader.
#include "sim/cluster/internal.h"

#include <errno.h>

enum { AWAY = 1000000, NOTICES = 2000, REFUSALS = 5 };

static bool is_same(rota_object_id a, rota_object_id b)
{
    return a.high == b.high && a.low == b.low;
}

static const struct ghost_task *ghost_of(const struct world *world, const struct process *process)
{
    return &world->jobs[process->job]->tasks[process->index - 1];
}

static struct brook *brook_find(const struct brooks *brooks, rota_object_id object)
{
    for (uint32_t i = 0; i < brooks->count; i++)
        if (is_same(brooks->items[i].object, object)) return &brooks->items[i];
    return NULL;
}

static void brook_remove(struct brooks *brooks, struct brook *brook)
{
    *brook = brooks->items[--brooks->count];
}

static void process_due(struct world *world, uint32_t who, struct process *process, int64_t at)
{
    process->at = at;
    agenda_add(&world->agenda, at, DUE_PROCESS, who, process->number);
}

// ---- Reading -----------------------------------------------------------------------------------

void brook_meet(struct world *world, uint32_t who, const struct wire_flow *flow)
{
    struct brooks *brooks = &world->hands[who].brooks;
    unsigned number = 0;
    struct ford *ford = NULL;
    if (sscanf(flow->address.bytes, "worker-%u", &number) != 1) number = 0;
    for (uint32_t i = 0; i < brooks->ford_count && !ford; i++)
        if (is_same(brooks->fords[i].object, flow->object)) ford = &brooks->fords[i];
    if (!ford) {
        world_reserve(&brooks->fords, &brooks->ford_capacity, brooks->ford_count,
                      sizeof *brooks->fords);
        ford = &brooks->fords[brooks->ford_count++];
    }
    *ford = (struct ford){flow->object, number ? number - 1 : NOBODY};
}

static bool ford_take(struct brooks *brooks, rota_object_id object, uint32_t *from)
{
    for (uint32_t i = 0; i < brooks->ford_count; i++) {
        if (!is_same(brooks->fords[i].object, object)) continue;
        *from = brooks->fords[i].from;
        brooks->fords[i] = brooks->fords[--brooks->ford_count];
        return true;
    }
    return false;
}

// What is neither written here, nor said to be elsewhere, nobody will ever write: a worker that has
// started again has lost what it kept of a stream.
bool brooks_are_there(const struct hand *hand, const wire_files *inputs)
{
    const struct brooks *brooks = &hand->brooks;
    for (uint32_t i = 0; i < inputs->count; i++) {
        rota_object_id object = inputs->items[i].object;
        const struct brook *brook = brook_find(brooks, object);
        bool there = brook && !brook->is_taken;
        for (uint32_t k = 0; k < brooks->ford_count && !there; k++)
            there = is_same(brooks->fords[k].object, object);
        if (inputs->items[i].kind == WIRE_STREAM && !there) return false;
    }
    return true;
}

// The server hears of each, and has the stream written again: it cannot be wrong about it for long.
static void judge_refusals(struct world *world, const struct hand *hand,
                           const struct wire_run *run)
{
    struct ghost_job *job = ghost_find(world, run->task.job);
    if (!world->is_clear || !job) return;
    if (++job->tasks[run->task.task - 1].refusals > REFUSALS)
        wrong(world, "%s is to run %u.%u, of which the stream is neither there nor named",
              hand->name, run->task.job, run->task.task);
}

void brook_refuse(struct world *world, struct hand *hand, const struct wire_run *run)
{
    see(world, SIGHT_STREAM_CUT);
    judge_refusals(world, hand, run);
    report_add(world, hand, attempts_find(&hand->decide.attempts, run->task, run->attempt),
               WIRE_STOPPED, ENOLINK);
}

// Its reader must not take that for the end.
static void cut_off(struct world *world, uint32_t who, struct process *process, int64_t at)
{
    see(world, SIGHT_STREAM_CUT);
    process->thirst = THIRST_BROKEN;
    if (process->is_stopped && process->at <= at) return;
    process->is_stopped = true;
    process_due(world, who, process, at);
}

static bool is_apart(const struct world *world, uint32_t one, uint32_t other)
{
    return world->cut[0][one] || world->cut[1][one] || world->cut[0][other]
           || world->cut[1][other] || hands_are_parted(world, one, other);
}

static void drink(struct world *world, struct process *process, uint32_t from, bool near,
                  struct brook *brook)
{
    brook->is_taken = true;
    bool ended = near ? brook->is_good : brook->is_over;
    process->thirst = ended ? THIRST_SATISFIED : THIRST_DRINKS;
    process->has_enough = choose(world, OF_BROOKS, 2);
    process->from = from;
    process->writing = brook->attempt;
    if (ended) brook_remove(&world->hands[from].brooks, brook);
}

static void read_begin(struct world *world, uint32_t who, struct process *process)
{
    rota_object_id object = ghost_object(process->job, ghost_of(world, process)->needs[0]);
    uint32_t from = who;
    bool elsewhere = ford_take(&world->hands[who].brooks, object, &from);
    see(world, elsewhere ? SIGHT_STREAM_AWAY : SIGHT_STREAM_HERE);
    process->thirst = THIRST_WAITS;
    process->from = from;
    bool near = from == who;
    bool reached = near || (from != NOBODY && world->hands[from].up && !is_apart(world, who, from)
                            && world->now >= world->hands[from].stalled_until);
    if (!reached) return cut_off(world, who, process, world->now + AWAY);
    struct brook *brook = brook_find(&world->hands[from].brooks, object);
    if (brook && !brook->is_taken)
        drink(world, process, from, near, brook);
    else if (elsewhere)
        cut_off(world, who, process, world->now + NOTICES);  // it is refused there
}

// ---- Writing -----------------------------------------------------------------------------------

// A FIFO that was used up is made anew; who waits at it is met.
static void write_begin(struct world *world, uint32_t who, const struct process *process)
{
    struct hand *hand = &world->hands[who];
    struct brooks *brooks = &hand->brooks;
    rota_object_id object = ghost_object(process->job, process->index);
    struct brook *brook = brook_find(brooks, object);
    uint32_t elsewhere;
    ford_take(brooks, object, &elsewhere);  // as flows_given() of worker/agent/streams.c does it
    if (!brook) {
        world_reserve(&brooks->items, &brooks->capacity, brooks->count, sizeof *brooks->items);
        brook = &brooks->items[brooks->count++];
    }
    *brook = (struct brook){.object = object, .attempt = process->attempt};
    for (uint32_t i = 0; i < hand->process_count; i++) {
        struct process *other = &hand->processes[i];
        bool waits = other->thirst == THIRST_WAITS && other->from == who
                     && other->job == process->job
                     && ghost_of(world, other)->needs[0] == process->index;
        if (waits) drink(world, other, who, true, brook);
    }
}

void brook_started(struct world *world, uint32_t who, struct process *process)
{
    const struct ghost_task *ghost = ghost_of(world, process);
    if (ghost->flows) write_begin(world, who, process);
    if (ghost->drinks) read_begin(world, who, process);
}

bool brook_may_end(const struct process *process)
{
    bool early = process->is_stopped || process->status || process->state != PROCESS_RUNNING;
    bool enough = process->has_enough && process->thirst == THIRST_DRINKS;
    return early || enough || !process->thirst || process->thirst == THIRST_SATISFIED;
}

// ---- Ending ------------------------------------------------------------------------------------

static void end_comes(struct world *world, uint32_t who, struct process *reader)
{
    int64_t at = world->now + 20 + choose_time(world, OF_BROOKS, NOTICES);
    reader->thirst = THIRST_SATISFIED;
    if (reader->at < at || reader->at == INT64_MAX) process_due(world, who, reader, at);
}

static bool reads(const struct world *world, const struct process *reader, uint32_t from,
                  rota_object_id object, uint32_t attempt)
{
    return reader->thirst == THIRST_DRINKS && reader->from == from && reader->writing == attempt
           && is_same(ghost_object(reader->job, ghost_of(world, reader)->needs[0]), object);
}

// What becomes of the readers of a writing: they get its end, are cut off, or (ENOUGH) have by
// chance had enough just before it failed.
enum news { NEWS_END, NEWS_CUT, NEWS_ENOUGH };

static void reader_hears(struct world *world, uint32_t who, struct process *reader, enum news news)
{
    switch (news) {
    case NEWS_END: return end_comes(world, who, reader);
    case NEWS_CUT: return cut_off(world, who, reader, world->now + AWAY);
    case NEWS_ENOUGH: break;
    }
    int64_t at = world->now + 20 + choose_time(world, OF_BROOKS, NOTICES);
    if (reader->has_enough && !reader->is_stopped) process_due(world, who, reader, at);
}

static void readers_hear(struct world *world, uint32_t who, uint32_t from,
                         const struct brook *brook, enum news news)
{
    struct hand *hand = &world->hands[who];
    for (uint32_t i = 0; i < hand->process_count; i++)
        if (reads(world, &hand->processes[i], from, brook->object, brook->attempt))
            reader_hears(world, who, &hand->processes[i], news);
}

// Where it was written its readers get its end at once: their reports come behind the writer's.
void brook_ended(struct world *world, uint32_t who, const struct process *process)
{
    struct brook *own = NULL;
    if (ghost_of(world, process)->flows)
        own = brook_find(&world->hands[who].brooks, ghost_object(process->job, process->index));
    if (!own || own->attempt != process->attempt) return;
    own->is_ended = true;
    own->is_good = !process->is_stopped && !process->status;
    if (own->is_good) return readers_hear(world, who, who, own, NEWS_END);
    see(world, SIGHT_STREAM_FAILED);
    for (uint32_t h = 0; h < world->swarm.hands; h++) readers_hear(world, h, who, own, NEWS_ENOUGH);
}

// Elsewhere they get it when the server has recorded it.
void brook_recorded(struct world *world, uint32_t who, const struct wire_recorded *told)
{
    struct brooks *brooks = &world->hands[who].brooks;
    uint32_t job = map_find(&world->jobs_by_number, told->task.job);
    struct brook *own = job ? brook_find(brooks, ghost_object(job - 1, told->task.task)) : NULL;
    if (!own || own->attempt != told->attempt || own->is_over) return;
    own->is_over = true;
    if (told->how == WIRE_IS_STALE) own->is_good = false;  // a later one may be elsewhere
    for (uint32_t h = 0; h < world->swarm.hands; h++)
        if (h != who) readers_hear(world, h, who, own, own->is_good ? NEWS_END : NEWS_CUT);
    if (own->is_taken || !own->is_good) brook_remove(brooks, own);
}

// True: a command here reads it, or is about to. It sees the end of a good stream at once.
static bool readers_stop(struct world *world, uint32_t who, const struct brook *brook)
{
    struct hand *hand = &world->hands[who];
    bool is_read = false;
    for (uint32_t i = 0; i < hand->process_count; i++) {
        struct process *reader = &hand->processes[i];
        bool its = reader->job + 1 == brook->object.high && ghost_of(world, reader)->drinks
                   && ghost_of(world, reader)->needs[0] == brook->object.low
                   && (!reader->writing || reader->writing == brook->attempt);
        struct attempt *attempt
            = attempts_find(&hand->decide.attempts, reader->task, reader->attempt);
        is_read |= its;
        if (its && !brook->is_good) order_end(world, hand, attempt, 0);
    }
    return is_read;
}

// As flows_give_up() of worker/agent/streams.c does it.
void brooks_give_up(struct world *world, uint32_t who)
{
    struct brooks *brooks = &world->hands[who].brooks;
    for (uint32_t i = brooks->count; i-- > 0;) {
        struct brook *brook = &brooks->items[i];
        if (!brook->is_ended || brook->is_over) continue;
        bool is_read = readers_stop(world, who, brook);
        for (uint32_t h = 0; h < world->swarm.hands; h++)
            if (h != who) readers_hear(world, h, who, brook, NEWS_CUT);
        if (!is_read || !brook->is_good) brook_remove(brooks, brook);
    }
}

// One writing of one attempt, from its beginning, alone, and to its end.
void judge_read(struct world *world, const struct process *process)
{
    struct ghost_job *job = world->jobs[process->job];
    struct ghost_task *writer = &job->tasks[ghost_of(world, process)->needs[0] - 1];
    see(world, SIGHT_STREAM_READ);
    struct ghost_task *reader = &job->tasks[process->index - 1];
    bool had_enough = process->thirst != THIRST_SATISFIED;
    if (process->attempt >= reader->read_by) {  // an attempt that was given up may end later
        reader->read_by = process->attempt;
        reader->read_writing = process->writing;
        reader->had_enough = had_enough;
    }
    if (had_enough && !process->has_enough)
        wrong(world, "task %u.%u has not read its stream to the end", process->job,
              process->index);
    if (!process->writing || process->writing > writer->given)
        wrong(world, "task %u.%u has read what no attempt has written", process->job,
              process->index);
    if (process->writing == writer->read_attempt)
        wrong(world, "task %u.%u has read what was read before", process->job, process->index);
    if (!had_enough) writer->read_attempt = process->writing;
}

// What a reader makes of a stream counts only if the writing that it read does, or still goes on
// when the reader has had enough.
void judge_read_kept(struct world *world, const struct ghost_job *job,
                     const struct ghost_task *reader, rota_task_id id)
{
    const struct ghost_task *writer = &job->tasks[reader->needs[0] - 1];
    uint32_t writing = reader->read_writing;
    // Both ends may be told at once, and the reader's may have come first.
    bool failed = writing == writer->failed_attempt && writer->failed_in < world->words;
    bool replaced = writing != writer->given && writer->given_in < world->words;
    bool goes_on = reader->had_enough && !replaced && !failed;
    // A worker that was given up may come back with what an earlier attempt wrote well.
    if (!(writer->kept_attempts & attempt_bit(writing)) && !goes_on)
        wrong(world, "task %u.%u has succeeded with what attempt %u wrote, which did not", id.job,
              id.task, writing);
}

// Nobody reads on: who still writes gets SIGPIPE, if it has something left to write.
void brook_drop(struct world *world, uint32_t who, rota_object_id object)
{
    struct hand *hand = &world->hands[who];
    struct brook *brook = brook_find(&hand->brooks, object);
    const struct ghost_task *ghost = ghost_maker(world, object);
    if (!brook || !ghost || !ghost->flows) return;
    uint32_t attempt = brook->attempt;
    if (brook->is_over) return brook_remove(&hand->brooks, brook);
    brook->is_taken = true;
    for (uint32_t i = 0; i < hand->process_count; i++) {
        struct process *process = &hand->processes[i];
        bool writes = process->job + 1 == object.high && process->index == object.low
                      && process->attempt == attempt && process->state == PROCESS_RUNNING;
        if (!writes || process->is_stopped || choose(world, OF_BROOKS, 2)) continue;
        see(world, SIGHT_STREAM_PIPE);
        process->status = 1;
        process_due(world, who, process, world->now + 20 + choose_time(world, OF_BROOKS, NOTICES));
    }
}

void brooks_crash(struct world *world, uint32_t who)
{
    struct brooks *brooks = &world->hands[who].brooks;
    brooks->count = brooks->ford_count = 0;
    for (uint32_t h = 0; h < world->swarm.hands; h++)
        for (uint32_t i = 0; i < world->hands[h].process_count; i++) {
            struct process *reader = &world->hands[h].processes[i];
            if (h != who && reader->thirst == THIRST_DRINKS && reader->from == who)
                cut_off(world, h, reader, world->now + AWAY);
        }
}

void brooks_release(struct brooks *brooks)
{
    free(brooks->items), free(brooks->fords);
}
