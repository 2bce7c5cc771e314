// streams_out.c - streams that commands here write: until they are read, dropped, or their end is
// recorded. streams.c reads streams of other workers.
#include "worker/agent/streams_out.h"
#include "os/os.h"

#include <limits.h>
#include <stdlib.h>

void stream_other_end_over(struct agent *agent, rota_object_id object)
{
    struct wire_file file = {.object = object, .name = wire_text_of(""), .path = wire_text_of("")};
    struct wire_message message = {.kind = WIRE_DROP_MESSAGE};
    message.drop.objects = (wire_files){&file, 1};
    if (agent->worker) wire_put(&agent->worker->out, &message);
}

struct stream_out **stream_out_find(struct agent *agent, rota_object_id object)
{
    struct stream_out **at = &agent->streams.out;
    while (*at && !SAME_ID((*at)->object, object)) at = &(*at)->next;
    return at;
}

void stream_out_remove(struct stream_out **at)
{
    struct stream_out *flow = *at;
    *at = flow->next;
    free(flow);
}

void stream_out_add(struct agent *agent, const struct wire_run *run, rota_object_id object)
{
    char path[PATH_MAX];
    struct stream_out **old = stream_out_find(agent, object);
    if (*old) stream_out_remove(old);
    struct stream_out *flow = calloc(1, sizeof *flow);
    if (!flow) return;  // a reader is refused
    stream_path(path, PATH_MAX, agent->options->folder, object);
    if (agent->inputs.server) data_server_flow(agent->inputs.server, object, path);
    *flow = (struct stream_out){.next = agent->streams.out,
                                .object = object,
                                .task = run->task,
                                .attempt = run->attempt};
    agent->streams.out = flow;
}

void streams_out_ended(struct agent *agent, const struct wire_finished *finished)
{
    for (struct stream_out *flow = agent->streams.out; flow; flow = flow->next) {
        if (!SAME_TASK(flow->task, finished->task) || flow->attempt != finished->attempt) continue;
        flow->is_ended = true;
        flow->is_good = finished->end == WIRE_EXITED && finished->status == 0;
    }
}

// True: it is no longer needed.
static bool stream_out_over(struct agent *agent, struct stream_out *flow)
{
    flow->is_ended = false;
    flow->is_over = true;
    if (flow->is_good) {
        if (agent->inputs.server)
            data_server_flow_over(agent->inputs.server, flow->object, os_ticks());
        return flow->is_taken;
    }
    if (agent->inputs.server) data_server_flow_forget(agent->inputs.server, flow->object);
    stream_other_end_over(agent, flow->object);
    return true;
}

// The server counts another attempt of the writer, so it does not stop a reader of this one.
static void stream_out_stale(struct agent *agent, struct stream_out *flow)
{
    if (!flow->is_good) stream_reader_cut(agent, flow);
    flow->is_good = false;
}

// A remote reader sees the end only now: so its own end cannot be recorded before that of its
// writer. If the writer has not succeeded, or was given up before, the server knows that none of
// its readers counts; and a later attempt may have written the same stream on another worker.
void streams_recorded(struct agent *agent, const struct wire_recorded *recorded)
{
    for (struct stream_out **at = &agent->streams.out; *at;) {
        struct stream_out *flow = *at;
        bool is_its = flow->is_ended && SAME_TASK(flow->task, recorded->task)
                      && flow->attempt == recorded->attempt;
        if (is_its && recorded->how == WIRE_IS_STALE) stream_out_stale(agent, flow);
        if (is_its && stream_out_over(agent, flow))
            stream_out_remove(at);
        else
            at = &flow->next;
    }
}

// A local reader sees the end of a good stream at once, and that of a failed one never.
static void stream_out_give_up(struct agent *agent, struct stream_out *flow)
{
    if (!flow->is_good) run_orders_end(&agent->orders, flow->reader, flow->reader_attempt, 0);
    flow->is_good &= flow->is_taken;
    stream_out_over(agent, flow);
}

// A server with another database records the end of no writer that ran for the last one. Readers
// that wait for it, here or elsewhere, would block their workers for that server.
void streams_abandon(struct agent *agent)
{
    for (struct stream_out **at = &agent->streams.out, *flow; (flow = *at);)
        if (flow->is_ended)
            stream_out_give_up(agent, flow), stream_out_remove(at);
        else
            at = &flow->next;
}

// A task may name the same stream twice: then it is already taken, and perhaps gone.
void stream_out_take(struct agent *agent, rota_object_id object)
{
    struct stream_out **at = stream_out_find(agent, object);
    if (!*at) return;
    (*at)->is_taken = true;
    if ((*at)->is_over) stream_out_remove(at);
}

void streams_forget(struct agent *agent, rota_object_id object)
{
    stream_out_take(agent, object);
    if (agent->inputs.server) data_server_flow_forget(agent->inputs.server, object);
}
