// streams.c - streams that commands here read, from this worker or from others.
//
// The server sends FLOW for a stream whose reader and writer run on different workers. The reader's
// agent connects to the writer's, and copies the bytes into the FIFO of its command. A writer's
// stream stays there until the server has recorded its end, so that no reader ends first. If a
// connection breaks, the reader is ended and runs again.
#include "worker/agent/streams_out.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READY_MAX = 16, TELL_EVERY = 1000000, AWAY_PAUSE = 1000000 };

// A stream that a command here reads. Bytes that its FIFO does not take wait in `rest`, and nothing
// more is read meanwhile: so the writer has to wait, too.
struct stream_in {
    struct stream_in *next;
    rota_object_id object;
    rota_task_id task;
    uint32_t attempt;  // 0: its command has not arrived yet
    char *address, *ticket;
    struct link *link;  // null: not started
    int fifo;           // -1: not open
    uint64_t left;      // of a piece
    char *rest;
    uint32_t rest_length, rest_done;
    bool is_read, is_written;  // which of the two is watched
    int64_t end_at;     // ticks: it broke off, and its reader ends then; 0: it did not
    bool is_ending;     // its reader was told to end
    char reason[200];
};

// ---- Streams read here ----------------------------------------------------------------------

static void watch(const struct agent *agent, struct stream_in *flow, bool reads, bool writes)
{
    int loop = agent->streams.loop;
    if (flow->is_read && !reads) os_loop_remove(loop, flow->link->file);
    if (!flow->is_read && reads) os_loop_add(loop, flow->link->file, flow);
    if (reads) os_loop_write(loop, flow->link->file, flow, flow->link->wants_write);
    if (flow->is_written && !writes) os_loop_remove(loop, flow->fifo);
    if (!flow->is_written && writes) {
        os_loop_add(loop, flow->fifo, flow);
        os_loop_write(loop, flow->fifo, flow, true);
    }
    flow->is_read = reads;
    flow->is_written = writes;
}

static void stream_in_remove(struct agent *agent, struct stream_in *flow)
{
    struct stream_in **at = &agent->streams.in;
    while (*at != flow) at = &(*at)->next;
    *at = flow->next;
    if (flow->link) watch(agent, flow, false, false);
    link_close(flow->link);
    if (flow->fifo >= 0) close(flow->fifo);
    if (flow->ticket) explicit_bzero(flow->ticket, strlen(flow->ticket));
    free(flow->address);
    free(flow->ticket);
    free(flow->rest);
    free(flow);
}

// Missing bytes cannot be fetched again: the reader must not take the gap for the end.
static void reader_end(struct agent *agent, struct stream_in *flow, const char *reason)
{
    agent_say(agent, "the stream of %u.%u broke off: %s", flow->task.job, flow->task.task, reason);
    run_orders_end(&agent->orders, flow->task, flow->attempt, 0);
    stream_in_remove(agent, flow);
}

// A writer that cannot be reached may return, or be given up by the server: its reader ends after a
// while, without a try being counted, so that it is not tried again and again meanwhile.
static void stream_in_broken(struct agent *agent, struct stream_in *flow, const char *reason)
{
    if (flow->link) watch(agent, flow, false, false);
    link_close(flow->link);
    flow->link = NULL;
    flow->end_at = os_ticks() + AWAY_PAUSE;
    snprintf(flow->reason, sizeof flow->reason, "%s", reason);
}

bool streams_cut(struct agent *agent, rota_task_id task, uint32_t attempt)
{
    for (const struct stream_in *flow = agent->streams.in; flow; flow = flow->next)
        if (SAME_TASK(flow->task, task) && flow->attempt == attempt && flow->end_at) return true;
    return false;
}

// Streams whose command was refused or has not arrived: the next reader may run here or elsewhere.
static void unbound_remove(struct agent *agent, rota_object_id object)
{
    for (struct stream_in *old = agent->streams.in, *next; old; old = next) {
        next = old->next;
        if (!old->attempt && SAME_ID(old->object, object)) stream_in_remove(agent, old);
    }
}

static struct stream_in *stream_in_add(struct agent *agent, rota_object_id object)
{
    struct stream_in *flow = calloc(1, sizeof *flow);
    if (!flow) return NULL;
    *flow = (struct stream_in){.next = agent->streams.in, .object = object, .fifo = -1};
    agent->streams.in = flow;
    return flow;
}

void streams_meet(struct agent *agent, const struct wire_flow *message)
{
    unbound_remove(agent, message->object);
    struct stream_in *flow = stream_in_add(agent, message->object);
    if (!flow) return;
    flow->address = strdup(message->address.bytes);
    flow->ticket = strdup(message->ticket.bytes);
}

void stream_reader_cut(struct agent *agent, const struct stream_out *flow)
{
    const struct attempt *reader
        = attempts_find(&agent->decide.attempts, flow->reader, flow->reader_attempt);
    if (!reader || !attempt_is_alive(reader)) return;
    struct stream_in *cut = stream_in_add(agent, flow->object);
    if (!cut) return run_orders_end(&agent->orders, flow->reader, flow->reader_attempt, 0);
    cut->task = flow->reader;
    cut->attempt = flow->reader_attempt;
    stream_in_broken(agent, cut, "its writer is an attempt that no longer counts");
}

static struct stream_in *stream_in_find(const struct agent *agent, rota_object_id object)
{
    struct stream_in *flow = agent->streams.in;
    while (flow && (flow->attempt || !SAME_ID(flow->object, object))) flow = flow->next;
    return flow;
}

// A restarted worker has lost its streams, and the server may not know that. Nor does it know what
// an attempt of the writer left here that it gave up, if a later one ran under the same worker name
// on another machine. A command that reads such a stream would wait forever.
static bool inputs_are_there(struct agent *agent, const wire_files *inputs)
{
    for (uint32_t i = 0; i < inputs->count; i++) {
        const struct wire_file *input = &inputs->items[i];
        if (input->kind != WIRE_STREAM || stream_in_find(agent, input->object)) continue;
        const struct stream_out *flow = *stream_out_find(agent, input->object);
        if (!flow || flow->is_taken || (flow->is_ended && !flow->is_good)) return false;
    }
    return true;
}

static void input_join(struct agent *agent, const struct wire_run *run, rota_object_id object)
{
    struct stream_in *flow = stream_in_find(agent, object);
    struct stream_out *here = *stream_out_find(agent, object);
    if (!flow && here) here->reader = run->task, here->reader_attempt = run->attempt;
    if (!flow) return stream_out_take(agent, object);
    flow->task = run->task;
    flow->attempt = run->attempt;
}

bool streams_given(struct agent *agent, const struct wire_run *run)
{
    if (!inputs_are_there(agent, &run->inputs)) return false;
    for (uint32_t i = 0; i < run->inputs.count; i++)
        if (run->inputs.items[i].kind == WIRE_STREAM)
            input_join(agent, run, run->inputs.items[i].object);
    for (uint32_t i = 0; i < run->outputs.count; i++)
        if (run->outputs.items[i].kind == WIRE_STREAM)
            unbound_remove(agent, run->outputs.items[i].object),
                stream_out_add(agent, run, run->outputs.items[i].object);
    return true;
}

static void stream_in_begin(struct agent *agent, struct stream_in *flow)
{
    char path[PATH_MAX];
    struct link_error error = {""};
    const struct link_keys *keys = agent->options->peer_keys;
    stream_path(path, PATH_MAX, agent->options->folder, flow->object);
    flow->fifo = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    if (flow->fifo < 0) return reader_end(agent, flow, strerror(errno));
    if (flow->address && *flow->address && flow->ticket)
        flow->link = link_connect(flow->address, keys ? keys->items : NULL, &error);
    if (!flow->link)
        return stream_in_broken(agent, flow,
                                error.text[0] ? error.text : "the worker cannot be reached");
    data_ask(flow->link, flow->object, flow->ticket);
    watch(agent, flow, true, false);
}

// The FIFO exists when the command runs.
void streams_started(struct agent *agent, rota_task_id task, uint32_t attempt)
{
    for (struct stream_in *flow = agent->streams.in, *next; flow; flow = next) {
        next = flow->next;
        bool is_its = SAME_TASK(flow->task, task) && flow->attempt == attempt;
        if (is_its && !flow->link && !flow->end_at) stream_in_begin(agent, flow);
    }
}

void streams_ended(struct agent *agent, const struct wire_finished *finished)
{
    streams_out_ended(agent, finished);
    for (struct stream_in *flow = agent->streams.in, *next; flow; flow = next) {
        next = flow->next;
        if (SAME_TASK(flow->task, finished->task) && flow->attempt == finished->attempt)
            stream_in_remove(agent, flow);
    }
}

// ---- Bytes -------------------------------------------------------------------------------------

enum fifo_result { FIFO_DONE, FIFO_FULL, FIFO_FAILED };

static enum fifo_result fifo_write(struct stream_in *flow, const char *bytes, uint32_t count,
                                   uint32_t *done)
{
    while (*done < count) {
        ssize_t put = write(flow->fifo, bytes + *done, count - *done);
        if (put > 0) *done += (uint32_t)put;
        if (put < 0 && errno == EAGAIN) return FIFO_FULL;
        if (put < 0 && errno != EINTR) return FIFO_FAILED;
    }
    return FIFO_DONE;
}

static enum fifo_result rest_write(struct stream_in *flow)
{
    enum fifo_result result
        = fifo_write(flow, flow->rest, flow->rest_length, &flow->rest_done);
    if (result == FIFO_DONE) flow->rest_length = flow->rest_done = 0;
    return result;
}

static enum fifo_result bytes_take(struct stream_in *flow)
{
    const char *bytes;
    uint32_t done = 0, count = wire_take_raw(&flow->link->in, flow->left, &bytes);
    flow->left -= count;
    enum fifo_result result = fifo_write(flow, bytes, count, &done);
    if (result != FIFO_FULL) return result;
    char *rest = realloc(flow->rest, count - done);
    if (!rest) return FIFO_FAILED;
    flow->rest = rest;
    flow->rest_length = count - done;
    memcpy(flow->rest, bytes + done, count - done);
    return FIFO_FULL;
}

static bool has_come(const struct stream_in *flow)
{
    return flow->link->in.length > flow->link->in.taken;
}

// False: it has ended or failed, and the flow is freed.
static bool stream_in_continue(struct agent *agent, struct stream_in *flow)
{
    struct wire_message message;
    enum fifo_result result = rest_write(flow);
    while (result == FIFO_DONE) {
        if (flow->left) {
            if (!has_come(flow)) break;
            result = bytes_take(flow);
            continue;
        }
        enum wire_result took = wire_take(&flow->link->in, &message);
        if (took == WIRE_MORE) break;
        bool is_piece = took == WIRE_GOT && message.kind == WIRE_PIECE_MESSAGE;
        if (took == WIRE_GOT && message.kind == WIRE_WELCOME_MESSAGE) continue;
        if (!is_piece) return reader_end(agent, flow, "the worker refused it"), false;
        flow->left = message.piece.bytes;
        if (flow->left) continue;
        stream_other_end_over(agent, flow->object);
        stream_in_remove(agent, flow);
        return false;
    }
    if (result == FIFO_FAILED) return reader_end(agent, flow, strerror(errno)), false;
    return true;
}

static void stream_in_work(struct agent *agent, struct stream_in *flow)
{
    bool is_open = true;
    if (!flow->rest_length) {
        bool was_opening = flow->link->state == LINK_OPENING;
        is_open = link_work(flow->link);
        if (was_opening && flow->is_read) {  // its file may be another one by now
            os_loop_remove(agent->streams.loop, flow->link->file);
            flow->is_read = false;
        }
    }
    if (!stream_in_continue(agent, flow)) return;
    if (!is_open && !flow->rest_length)
        return stream_in_broken(agent, flow, flow->link->reason);
    watch(agent, flow, !flow->rest_length, flow->rest_length > 0);
}

// ---- Event loop -----------------------------------------------------------------------------

bool streams_open(struct agent *agent)
{
    agent->streams.loop = os_loop_open();
    return agent->streams.loop >= 0;
}

void streams_close(struct agent *agent)
{
    while (agent->streams.in) stream_in_remove(agent, agent->streams.in);
    while (agent->streams.out) stream_out_remove(&agent->streams.out);
    if (agent->streams.loop >= 0) close(agent->streams.loop);
    agent->streams.loop = -1;
}

static void progress_tell(struct agent *agent)
{
    struct wire_message message = {.kind = WIRE_STREAMED_MESSAGE};
    struct wire_file file = {.name = wire_text_of(""), .path = wire_text_of("")};
    file.kind = WIRE_STREAM;
    message.streamed.objects = (wire_files){&file, 1};
    const void *at = NULL;
    while ((at = data_server_flow_look(agent->inputs.server, at, &file.object, &file.bytes)))
        if (agent->is_welcome) wire_put(&agent->server->out, &message);
}

int64_t streams_due(const struct agent *agent)
{
    bool tells = agent->streams.out && agent->inputs.server;
    int64_t due = tells ? agent->streams.tell_at : INT64_MAX;
    for (const struct stream_in *flow = agent->streams.in; flow; flow = flow->next)
        if (flow->end_at && !flow->is_ending && flow->end_at < due) due = flow->end_at;
    return due;
}

// The flow stays until the end is reported, because it has the reason.
static void broken_end(struct agent *agent, int64_t ticks)
{
    for (struct stream_in *flow = agent->streams.in; flow; flow = flow->next) {
        if (!flow->end_at || flow->is_ending || ticks < flow->end_at) continue;
        flow->is_ending = true;
        agent_say(agent, "the stream of %u.%u broke off: %s", flow->task.job, flow->task.task,
                  flow->reason);
        run_orders_end(&agent->orders, flow->task, flow->attempt, 0);
    }
}

static void flowed(struct agent *agent, rota_object_id object)
{
    struct stream_out **at = stream_out_find(agent, object);
    if (*at && (*at)->is_over) stream_out_remove(at);
    stream_other_end_over(agent, object);
}

void streams_work(struct agent *agent, int64_t ticks)
{
    struct os_ready ready[READY_MAX];
    rota_object_id object;
    uint32_t count = os_loop_wait(agent->streams.loop, ready, READY_MAX, 0);
    for (uint32_t i = 0; i < count; i++)
        for (struct stream_in *flow = agent->streams.in; flow; flow = flow->next)
            if (flow == ready[i].owner) {
                stream_in_work(agent, flow);
                break;
            }
    broken_end(agent, ticks);
    if (!agent->inputs.server) return;
    while (data_server_next_flowed(agent->inputs.server, &object)) flowed(agent, object);
    if (ticks < agent->streams.tell_at) return;
    agent->streams.tell_at = ticks + TELL_EVERY;
    progress_tell(agent);
}
