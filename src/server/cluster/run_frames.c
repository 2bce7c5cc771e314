// run_frames.c - what workers are told for the tasks of a job, kept as the frames that will be
// sent.
#include "base/planted.h"
#include "server/cluster/planning.h"
#include "server/cluster/lost_attempts.h"
#include "server/cluster/retry_rule.h"

#include <stdlib.h>
#include <string.h>

static const struct memory heap = {memory_resize_heap, NULL};

struct hub_job *hub_job_get(struct hub *hub, rota_job_id id)
{
    uint32_t at = map_find(&hub->jobs_by_id, id.number);
    if (at) return hub->jobs[at - 1];
    void *items = hub->jobs;
    bool there = map_reserve(&heap, &hub->jobs_by_id, 1)
                 && memory_reserve(&heap, &items, &hub->job_capacity, (uint64_t)hub->job_count + 1,
                                   sizeof *hub->jobs);
    hub->jobs = items;
    if (!there) hub_no_memory();
    struct hub_job *job = hub_allocate(1, sizeof *job);
    job->id = id;
    hub->jobs[hub->job_count++] = job;
    map_put(&hub->jobs_by_id, id.number, hub->job_count);
    return job;
}

void hub_job_drop(struct hub *hub, rota_job_id id)
{
    uint32_t at = map_find(&hub->jobs_by_id, id.number);
    if (!at) return;
    struct hub_job *job = hub->jobs[at - 1], *last = hub->jobs[--hub->job_count];
    hub->jobs[at - 1] = last;
    *map_place(&hub->jobs_by_id, last->id.number) = at;
    map_remove(&hub->jobs_by_id, id.number);
    free(job->frames);
    free(job->ends);
    free(job);
}

static void frame_append(struct hub_job *job, const char *frame, uint32_t length)
{
    void *frames = job->frames, *ends = job->ends;
    bool there = memory_reserve_raw(&heap, &frames, &job->frame_capacity,
                                    (uint64_t)job->length + length, 1)
                 && memory_reserve_raw(&heap, &ends, &job->capacity, (uint64_t)job->count + 1,
                                       sizeof *job->ends);
    job->frames = frames;
    job->ends = ends;
    if (!there) hub_no_memory();
    memcpy(job->frames + job->length, frame, length);
    job->length += length;
    job->ends[job->count++] = job->length;
}

// Bytes that an older rota has recorded, as this one writes them. False: that is not what they are.
static bool body_renew(const struct store_body *body, struct wire_out *out)
{
    struct wire_in in = {.version = body->version};
    struct wire_message message;
    enum wire_result result;
    char *room = wire_in_room(&in, body->length);
    if (!room) hub_no_memory();
    memcpy(room, body->bytes, body->length);
    wire_in_came(&in, body->length);
    while ((result = wire_take(&in, &message)) == WIRE_GOT) wire_put(out, &message);
    bool is_whole = in.taken == in.length && !out->failed;
    wire_in_release(&in);
    if (result == WIRE_NO_MEMORY) hub_no_memory();
    return is_whole;
}

static bool body_take(void *context, const struct store_body *body)
{
    struct hub_job *job = context;
    struct wire_out out = {0};
    if (body->number != job->count + 1) return true;
    if (body->version != WIRE_VERSION && body_renew(body, &out))
        frame_append(job, out.bytes, out.length);
    else
        frame_append(job, body->bytes, body->length);
    wire_out_release(&out);
    return true;
}

static void job_load(struct hub *hub, struct hub_job *job)
{
    if (!job->loaded && !job->count) store_bodies(hub->server->store, job->id, body_take, job);
    job->loaded = true;
}

uint32_t hub_body_count(struct hub *hub, rota_job_id id)
{
    struct hub_job *job = hub_job_get(hub, id);
    job_load(hub, job);
    return job->count;
}

void hub_body_add(struct hub *hub, struct hub_job *job, const char *frame, uint32_t length)
{
    frame_append(job, frame, length);
    struct store_body body = {job->id, job->count, frame, length, WIRE_VERSION};
    if (!PLANTED(BODY_NOT_KEPT)) store_put_body(hub->server->store, &body);
}

// The commands of a closed job were dropped with the close, and nothing would drop them once more.
static bool is_dropped(const struct hub *hub, rota_job_id id)
{
    if (map_find(&hub->jobs_by_id, id.number)) return false;
    const char *status = rota_job_status(hub->server->rota, id);
    return !*status || strcmp(status, "CLOSED") == 0;
}

// All of it: the RUN, and maybe a REPEAT behind it.
static const char *body_whole(struct hub *hub, rota_job_id id, uint32_t number, uint32_t *length)
{
    if (is_dropped(hub, id)) return NULL;
    struct hub_job *job = hub_job_get(hub, id);
    job_load(hub, job);
    if (!number || number > job->count) return NULL;
    uint32_t first = number > 1 ? job->ends[number - 2] : 0;
    *length = job->ends[number - 1] - first;
    return job->frames + first;
}

static uint32_t frame_length(const char *body, uint32_t most)
{
    uint32_t length;
    if (most < WIRE_HEAD) return most;
    memcpy(&length, body, sizeof length);
    return length < most - WIRE_HEAD ? WIRE_HEAD + length : most;
}

const char *hub_body_find(struct hub *hub, rota_job_id id, uint32_t number, uint32_t *length)
{
    const char *body = body_whole(hub, id, number, length);
    if (body) *length = frame_length(body, *length);
    return body;
}

// Where they lie in the frame of a RUN; hub_test reads them back.
bool hub_body_number(char *frame, uint32_t length, const struct wire_run *numbers)
{
    enum {
        AT_TASK = WIRE_HEAD + 1,
        AT_ATTEMPT = AT_TASK + 8,
        AT_TOKEN = AT_ATTEMPT + 4,
        AT_BEAT = AT_TOKEN + 8,
        AT_END = AT_BEAT + 8
    };
    if (length < AT_END) return false;
    memcpy(frame + AT_TASK, &numbers->task, sizeof numbers->task);
    memcpy(frame + AT_ATTEMPT, &numbers->attempt, sizeof numbers->attempt);
    memcpy(frame + AT_TOKEN, &numbers->token, sizeof numbers->token);
    memcpy(frame + AT_BEAT, &numbers->beat, sizeof numbers->beat);
    return true;
}

bool hub_body_is_exclusive(struct hub *hub, rota_job_id id, uint32_t number)
{
    uint32_t length, flags = 0;
    const char *body = hub_body_find(hub, id, number, &length);
    if (!body || hub_body_fault((wire_text){body, length}, &flags)) return true;
    return flags & WIRE_RUN_EXCLUSIVE;
}

// ---- Inputs ------------------------------------------------------------------------------------

static void inputs_keep(struct hub *hub, const wire_files *from, wire_files *to)
{
    to->items = hub_keep(hub, from->count, sizeof *to->items);
    for (uint32_t i = 0; i < from->count; i++) {
        const struct wire_file *input = &from->items[i];
        if (input->kind == WIRE_SOURCE || input->kind == WIRE_STREAM) continue;
        to->items[to->count++] = (struct wire_file){.kind = input->kind, .object = input->object};
    }
}

void hub_inputs_find(struct hub *hub, rota_job_id id, uint32_t number, wire_files *inputs)
{
    struct wire_in in = {0};
    struct wire_message message;
    uint32_t length;
    *inputs = (wire_files){0};
    const char *frame = hub_body_find(hub, id, number, &length);
    if (!frame) return;
    char *copy = wire_in_room(&in, length);
    if (!copy) hub_no_memory();
    memcpy(copy, frame, length);
    wire_in_came(&in, length);
    bool is_run = wire_take(&in, &message) == WIRE_GOT && message.kind == WIRE_RUN_MESSAGE;
    if (is_run) inputs_keep(hub, &message.run.inputs, inputs);
    wire_in_release(&in);
}

// ---- Repetitions -------------------------------------------------------------------------------

static bool repeat_take(struct hub *hub, struct wire_in *in, struct ends_repeat *repeat)
{
    struct wire_message message;
    if (wire_take(in, &message) != WIRE_GOT || message.kind != WIRE_REPEAT_MESSAGE) return false;
    const wire_exits *list = &message.repeat.exits;
    int32_t *exits = hub_keep(hub, list->count, sizeof *exits);
    for (uint32_t i = 0; i < list->count; i++) exits[i] = list->items[i].status;
    *repeat = (struct ends_repeat){.rest = message.repeat.rest,
                                   .percent = message.repeat.percent,
                                   .exits = exits,
                                   .exit_count = list->count};
    return true;
}

bool hub_repeat_find(struct hub *hub, rota_job_id id, uint32_t number, struct ends_repeat *repeat)
{
    struct wire_in in = {0};
    uint32_t length, first;
    const char *body = body_whole(hub, id, number, &length);
    if (!body || (first = frame_length(body, length)) == length) return false;
    char *copy = wire_in_room(&in, length - first);
    if (!copy) return false;
    memcpy(copy, body + first, length - first);
    wire_in_came(&in, length - first);
    bool found = repeat_take(hub, &in, repeat);
    wire_in_release(&in);
    return found;
}

// ---- The end of a job --------------------------------------------------------------------------

static void over_add(struct hub *hub, const struct wire_over *over)
{
    void *items = hub->over;
    bool there = memory_reserve_raw(&heap, &items, &hub->over_capacity,
                                    (uint64_t)hub->over_count + 1, sizeof *hub->over);
    hub->over = items;
    if (!there) return;  // it is kept, and can be closed by hand
    hub->over[hub->over_count++] = *over;
}

void hub_job_over(struct hub *hub, const struct rota_action *action)
{
    struct wire_over over = hub_over_of(action);
    uint32_t at = map_find(&hub->jobs_by_id, over.job);
    if (!over.failed && !over.aborted && at && hub->jobs[at - 1]->closes) over_add(hub, &over);
}

static bool is_success(const struct hub *hub, uint32_t job)
{
    return strcmp(rota_job_status(hub->server->rota, (rota_job_id){job}), "SUCCESS") == 0;
}

// An earlier life may have ended before it closed what was over.
static void job_restored(void *context, rota_job_id id)
{
    struct hub *hub = context;
    struct wire_over over = {.job = id.number};
    hub_job_get(hub, id)->closes = true;
    if (is_success(hub, id.number) && hub_job_rests(hub, &over)) over_add(hub, &over);
}

void hub_jobs_load(struct hub *hub)
{
    store_jobs_plain(hub->server->store, job_restored, hub);
}

enum rota_error hub_job_close(struct hub *hub, const struct wire_over *over)
{
    struct rota_event event = {.kind = ROTA_EVENT_CLOSE, .close = {{over->job}}};
    enum rota_error error = server_step(hub->server, &event);
    if (error) return error;
    hub_over_note(hub, over);
    hub_ahead_gone(hub, event.close.job);
    if (!PLANTED(JOB_KEPT)) hub_job_drop(hub, event.close.job);
    return ROTA_OK;
}

// A client may have started a task again in the turn in which its job was over.
void hub_jobs_close(struct hub *hub)
{
    for (uint32_t i = 0; i < hub->over_count; i++)
        if (is_success(hub, hub->over[i].job)) hub_job_close(hub, &hub->over[i]);
    hub->over_count = 0;
}
