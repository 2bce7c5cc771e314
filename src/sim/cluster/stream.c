// stream.c - streams between processes, as in worker/process/stream.c and worker/agent/streams.c: a
// reader joins the stream of one attempt, on its own worker or another, and cannot succeed before
// that attempt has.
//
// All streams fit into a pipe: a writer does not wait for its reader.
#include "sim/cluster/internal.h"

enum { AWAY = 1000000, NOTICES = 2000, REFUSALS = 5 };

static const struct expected_task *expected_of(const struct sim *sim, const struct process *process)
{
    return &sim->jobs[process->job]->tasks[process->index - 1];
}

static struct kept_stream *stream_find(const struct open_streams *open_streams,
                                       rota_object_id object)
{
    for (uint32_t i = 0; i < open_streams->count; i++)
        if (SAME_ID(open_streams->items[i].object, object)) return &open_streams->items[i];
    return NULL;
}

static void stream_remove(struct open_streams *open_streams, struct kept_stream *stream)
{
    *stream = open_streams->items[--open_streams->count];
}

static void process_due(struct sim *sim, uint32_t who, struct process *process, int64_t at)
{
    process->at = at;
    event_queue_add(&sim->queue, at, DUE_PROCESS, who, process->number);
}

// ---- Reading -----------------------------------------------------------------------------------

void sim_stream_meet(struct sim *sim, uint32_t who, const struct wire_flow *flow)
{
    struct open_streams *open_streams = &sim->nodes[who].open_streams;
    unsigned number = 0;
    struct stream_source *source = NULL;
    if (sscanf(flow->address.bytes, "worker-%u", &number) != 1) number = 0;
    for (uint32_t i = 0; i < open_streams->source_count && !source; i++)
        if (SAME_ID(open_streams->sources[i].object, flow->object))
            source = &open_streams->sources[i];
    if (!source) {
        source = SIM_NEW(open_streams->sources, open_streams->source_count,
                         open_streams->source_capacity);
    }
    *source = (struct stream_source){flow->object, number ? number - 1 : NOBODY};
}

static bool stream_source_take(struct open_streams *open_streams, rota_object_id object,
                               uint32_t *from)
{
    for (uint32_t i = 0; i < open_streams->source_count; i++) {
        if (!SAME_ID(open_streams->sources[i].object, object)) continue;
        *from = open_streams->sources[i].from;
        open_streams->sources[i] = open_streams->sources[--open_streams->source_count];
        return true;
    }
    return false;
}

// If no worker is writing the stream, it will never be written: a worker that has started again has
// lost the streams it kept. Nor is a stream there whose writer has failed.
bool sim_streams_are_there(const struct node *node, const wire_files *inputs)
{
    const struct open_streams *open_streams = &node->open_streams;
    for (uint32_t i = 0; i < inputs->count; i++) {
        rota_object_id object = inputs->items[i].object;
        const struct kept_stream *stream = stream_find(open_streams, object);
        bool there = stream && !stream->is_taken && (!stream->is_ended || stream->is_good);
        for (uint32_t k = 0; k < open_streams->source_count && !there; k++)
            there = SAME_ID(open_streams->sources[k].object, object);
        if (inputs->items[i].kind == WIRE_STREAM && !there) return false;
    }
    return true;
}

// Each refusal is reported to the server, which has the stream written again: the server cannot be
// wrong about it for long.
static void judge_refusals(struct sim *sim, const struct node *node,
                           const struct wire_run *run)
{
    struct expected_job *job = sim_expected_find(sim, run->task.job);
    if (!sim->is_clear || !job) return;
    if (++job->tasks[run->task.task - 1].refusals > REFUSALS)
        wrong(sim, "%s is to run %u.%u, but its stream is neither there nor named",
              node->name, run->task.job, run->task.task);
}

void sim_stream_refused(struct sim *sim, const struct node *node, const struct wire_run *run)
{
    see(sim, SIGHT_STREAM_CUT);
    judge_refusals(sim, node, run);
}

// Its reader must not take this for the end of the stream.
static void cut_off(struct sim *sim, uint32_t who, struct process *process, int64_t at)
{
    see(sim, SIGHT_STREAM_CUT);
    process->reading = READ_BROKEN;
    if (process->is_stopped && process->at <= at) return;
    process->is_stopped = true;
    process_due(sim, who, process, at);
}

static void drink(struct sim *sim, struct process *process, uint32_t from, bool near,
                  struct kept_stream *stream)
{
    stream->is_taken = true;
    bool ended = near ? stream->is_good : stream->is_over;
    process->reading = ended ? READ_DONE : READ_RUNS;
    process->has_enough = choose(sim, OF_STREAMS, 2);
    process->from = from;
    process->writing = stream->attempt;
    if (ended) stream_remove(&sim->nodes[from].open_streams, stream);
}

static void read_begin(struct sim *sim, uint32_t who, struct process *process)
{
    rota_object_id object = sim_expected_object(process->job, expected_of(sim, process)->needs[0]);
    uint32_t from = who;
    bool elsewhere = stream_source_take(&sim->nodes[who].open_streams, object, &from);
    see(sim, elsewhere ? SIGHT_STREAM_AWAY : SIGHT_STREAM_HERE);
    process->reading = READ_WAITS;
    process->from = from;
    bool near = from == who;
    bool reached = near || (from != NOBODY && sim_node_is_reached(sim, who, from));
    if (!reached) return cut_off(sim, who, process, sim->now + AWAY);
    struct kept_stream *stream = stream_find(&sim->nodes[from].open_streams, object);
    if (stream && !stream->is_taken)
        drink(sim, process, from, near, stream);
    else if (elsewhere)
        cut_off(sim, who, process, sim->now + NOTICES);  // the other worker refuses it
}

// ---- Writing -----------------------------------------------------------------------------------

// A used FIFO is replaced by a new one; a reader that waits at it is connected.
static void write_begin(struct sim *sim, uint32_t who, const struct process *process)
{
    struct node *node = &sim->nodes[who];
    struct open_streams *open_streams = &node->open_streams;
    rota_object_id object = sim_expected_object(process->job, process->index);
    struct kept_stream *stream = stream_find(open_streams, object);
    uint32_t elsewhere;
    stream_source_take(open_streams, object,
                       &elsewhere);  // as in worker/agent/streams.c
    if (!stream) {
        stream = SIM_NEW(open_streams->items, open_streams->count, open_streams->capacity);
    }
    *stream = (struct kept_stream){.object = object, .attempt = process->attempt};
    for (uint32_t i = 0; i < node->process_count; i++) {
        struct process *other = &node->processes[i];
        bool waits = other->reading == READ_WAITS && other->from == who
                     && other->job == process->job
                     && expected_of(sim, other)->needs[0] == process->index;
        if (waits) drink(sim, other, who, true, stream);
    }
}

void sim_stream_started(struct sim *sim, uint32_t who, struct process *process)
{
    const struct expected_task *expected = expected_of(sim, process);
    if (expected->writes_stream) write_begin(sim, who, process);
    if (expected->reads_stream) read_begin(sim, who, process);
}

bool sim_stream_may_end(const struct process *process)
{
    bool early = process->is_stopped || process->status || process->state != PROCESS_RUNNING;
    bool enough = process->has_enough && process->reading == READ_RUNS;
    return early || enough || !process->reading || process->reading == READ_DONE;
}

// ---- Ending ------------------------------------------------------------------------------------

static void end_comes(struct sim *sim, uint32_t who, struct process *reader)
{
    int64_t at = sim->now + 20 + choose_time(sim, OF_STREAMS, NOTICES);
    reader->reading = READ_DONE;
    if (reader->at < at || reader->at == INT64_MAX) process_due(sim, who, reader, at);
}

static bool reads(const struct sim *sim, const struct process *reader, uint32_t from,
                  rota_object_id object, uint32_t attempt)
{
    if (reader->reading != READ_RUNS || reader->from != from) return false;
    rota_object_id input = sim_expected_object(reader->job, expected_of(sim, reader)->needs[0]);
    return reader->writing == attempt && SAME_ID(input, object);
}

// The readers of an attempt's stream get its end, are cut off, or (ENOUGH) have stopped reading
// just before the writer failed.
enum news { NEWS_END, NEWS_CUT, NEWS_ENOUGH };

static void reader_hears(struct sim *sim, uint32_t who, struct process *reader, enum news news)
{
    switch (news) {
    case NEWS_END: return end_comes(sim, who, reader);
    case NEWS_CUT: return cut_off(sim, who, reader, sim->now + AWAY);
    case NEWS_ENOUGH: break;
    }
    int64_t at = sim->now + 20 + choose_time(sim, OF_STREAMS, NOTICES);
    if (reader->has_enough && !reader->is_stopped) process_due(sim, who, reader, at);
}

static void readers_hear(struct sim *sim, uint32_t who, uint32_t from,
                         const struct kept_stream *stream, enum news news)
{
    struct node *node = &sim->nodes[who];
    for (uint32_t i = 0; i < node->process_count; i++)
        if (reads(sim, &node->processes[i], from, stream->object, stream->attempt))
            reader_hears(sim, who, &node->processes[i], news);
}

// Readers on the same worker get the end at once: their reports follow the report of the writer.
void sim_stream_ended(struct sim *sim, uint32_t who, const struct process *process)
{
    struct kept_stream *own = NULL;
    if (expected_of(sim, process)->writes_stream)
        own = stream_find(&sim->nodes[who].open_streams,
                          sim_expected_object(process->job, process->index));
    if (!own || own->attempt != process->attempt) return;
    own->is_ended = true;
    own->is_good = !process->is_stopped && !process->status;
    if (own->is_good) return readers_hear(sim, who, who, own, NEWS_END);
    see(sim, SIGHT_STREAM_FAILED);
    for (uint32_t h = 0; h < sim->setting.nodes; h++) readers_hear(sim, h, who, own, NEWS_ENOUGH);
}

// Readers elsewhere get it when the server has recorded it.
void sim_stream_recorded(struct sim *sim, uint32_t who, const struct wire_recorded *told)
{
    struct open_streams *open_streams = &sim->nodes[who].open_streams;
    uint32_t job = map_find(&sim->jobs_by_number, told->task.job);
    struct kept_stream *own
        = job ? stream_find(open_streams, sim_expected_object(job - 1, told->task.task)) : NULL;
    if (!own || own->attempt != told->attempt || own->is_over) return;
    own->is_over = true;
    bool is_stale = told->how == WIRE_IS_STALE;  // a later attempt may be elsewhere
    if (is_stale && !own->is_good) readers_hear(sim, who, who, own, NEWS_CUT);
    if (is_stale) own->is_good = false;
    for (uint32_t h = 0; h < sim->setting.nodes; h++)
        if (h != who) readers_hear(sim, h, who, own, own->is_good ? NEWS_END : NEWS_CUT);
    if (own->is_taken || !own->is_good) stream_remove(open_streams, own);
}

// True: a command here reads it, or is about to. It sees the end of a good stream at once.
static bool readers_stop(struct sim *sim, uint32_t who, const struct kept_stream *stream)
{
    struct node *node = &sim->nodes[who];
    bool is_read = false;
    for (uint32_t i = 0; i < node->process_count; i++) {
        struct process *reader = &node->processes[i];
        bool its = reader->job + 1 == stream->object.high && expected_of(sim, reader)->reads_stream
                   && expected_of(sim, reader)->needs[0] == stream->object.low
                   && (!reader->writing || reader->writing == stream->attempt);
        is_read |= its;
        if (its && !stream->is_good)
            run_orders_end(&node->orders, reader->task, reader->attempt, 0);
    }
    return is_read;
}

// As in worker/agent/streams.c.
void sim_streams_give_up(struct sim *sim, uint32_t who)
{
    struct open_streams *open_streams = &sim->nodes[who].open_streams;
    for (uint32_t i = open_streams->count; i-- > 0;) {
        struct kept_stream *stream = &open_streams->items[i];
        if (!stream->is_ended || stream->is_over) continue;
        bool is_read = readers_stop(sim, who, stream);
        for (uint32_t h = 0; h < sim->setting.nodes; h++)
            if (h != who) readers_hear(sim, h, who, stream, NEWS_CUT);
        if (!is_read || !stream->is_good) stream_remove(open_streams, stream);
    }
}

// A reader reads the stream of one attempt, from its beginning, alone, and to its end.
void judge_read(struct sim *sim, const struct process *process)
{
    struct expected_job *job = sim->jobs[process->job];
    struct expected_task *writer = &job->tasks[expected_of(sim, process)->needs[0] - 1];
    see(sim, SIGHT_STREAM_READ);
    struct expected_task *reader = &job->tasks[process->index - 1];
    bool had_enough = process->reading != READ_DONE;
    if (process->attempt >= reader->read_by) {  // an attempt that was given up may end later
        reader->read_by = process->attempt;
        reader->read_writing = process->writing;
        reader->had_enough = had_enough;
    }
    if (had_enough && !process->has_enough)
        wrong(sim, "task %u.%u has not read its stream to the end", process->job,
              process->index);
    if (!process->writing || process->writing > writer->given)
        wrong(sim, "task %u.%u has read what no attempt has written", process->job,
              process->index);
    if (process->writing == writer->read_attempt)
        wrong(sim, "task %u.%u has read a used stream", process->job, process->index);
    if (!had_enough) writer->read_attempt = process->writing;
}

// The result of a reader counts only if the attempt that it read succeeds, or still runs when the
// reader stops reading.
void judge_read_kept(struct sim *sim, const struct expected_job *job,
                     const struct expected_task *reader, rota_task_id id)
{
    const struct expected_task *writer = &job->tasks[reader->needs[0] - 1];
    uint32_t writing = reader->read_writing;
    // Both ends may be sent at once, and the reader's may come first.
    bool failed = writing == writer->failed_attempt && writer->failed_in < sim->words;
    bool replaced = writing != writer->given && writer->given_in < sim->words;
    bool continues = reader->had_enough && !replaced && !failed;
    // A lost worker may come back with what an earlier attempt wrote successfully.
    if (!(writer->kept_attempts & attempt_bit(writing)) && !continues)
        wrong(sim, "task %u.%u has succeeded with the stream of attempt %u, which did not", id.job,
              id.task, writing);
}

// There is no reader left: a writer gets SIGPIPE if it still has something to write.
void sim_stream_drop(struct sim *sim, uint32_t who, rota_object_id object)
{
    struct node *node = &sim->nodes[who];
    struct kept_stream *stream = stream_find(&node->open_streams, object);
    const struct expected_task *expected = sim_expected_maker(sim, object);
    if (!stream || !expected || !expected->writes_stream) return;
    uint32_t attempt = stream->attempt;
    if (stream->is_over) return stream_remove(&node->open_streams, stream);
    stream->is_taken = true;
    for (uint32_t i = 0; i < node->process_count; i++) {
        struct process *process = &node->processes[i];
        bool writes = process->job + 1 == object.high && process->index == object.low
                      && process->attempt == attempt && process->state == PROCESS_RUNNING;
        if (!writes || process->is_stopped || choose(sim, OF_STREAMS, 2)) continue;
        see(sim, SIGHT_STREAM_PIPE);
        process->status = 1;
        process_due(sim, who, process, sim->now + 20 + choose_time(sim, OF_STREAMS, NOTICES));
    }
}

void sim_streams_crash(struct sim *sim, uint32_t who)
{
    struct open_streams *open_streams = &sim->nodes[who].open_streams;
    open_streams->count = open_streams->source_count = 0;
    for (uint32_t h = 0; h < sim->setting.nodes; h++)
        for (uint32_t i = 0; i < sim->nodes[h].process_count; i++) {
            struct process *reader = &sim->nodes[h].processes[i];
            if (h != who && reader->reading == READ_RUNS && reader->from == who)
                cut_off(sim, h, reader, sim->now + AWAY);
        }
}

void sim_streams_release(struct open_streams *open_streams)
{
    free(open_streams->items), free(open_streams->sources);
}
