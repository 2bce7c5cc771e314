// run_frames.c - commands for workers, stored as the frames that will be sent.
#include "base/planted.h"
#include "server/cluster/body_objects.h"
#include "server/cluster/planning.h"
#include "server/cluster/replicas.h"
#include "server/cluster/lost_attempts.h"

#include <stdlib.h>
#include <string.h>

struct cluster_job *cluster_job_get(struct cluster *cluster, rota_job_id id)
{
    uint32_t at = map_find(&cluster->jobs_by_id, id.number);
    if (at) return cluster->jobs[at - 1];
    bool there
        = map_reserve(&memory_heap, &cluster->jobs_by_id, 1)
          && ARRAY_MORE(&memory_heap, cluster->jobs, cluster->job_count, cluster->job_capacity);
    if (!there) cluster_no_memory();
    struct cluster_job *job = cluster_allocate(1, sizeof *job);
    job->id = id;
    cluster->jobs[cluster->job_count++] = job;
    map_put(&cluster->jobs_by_id, id.number, cluster->job_count);
    return job;
}

static uint64_t frame_bytes(const struct cluster_job *job)
{
    return job->frame_capacity + (uint64_t)job->capacity * sizeof *job->ends;
}

static void frames_free(struct cluster *cluster, struct cluster_job *job)
{
    cluster->frame_bytes -= frame_bytes(job);
    ARRAY_RELEASE(&memory_heap, job->frames, job->frame_capacity);
    ARRAY_RELEASE(&memory_heap, job->ends, job->capacity);
    job->count = job->length = 0;
    job->loaded = false;
    if (cluster->frame_bytes <= cluster->limits.commands)
        cluster->frames_next = cluster->limits.commands;
}

void cluster_job_drop(struct cluster *cluster, rota_job_id id)
{
    uint32_t at = map_find(&cluster->jobs_by_id, id.number);
    if (!at) return;
    struct cluster_job *job = cluster->jobs[at - 1], *last = cluster->jobs[--cluster->job_count];
    cluster->jobs[at - 1] = last;
    *map_place(&cluster->jobs_by_id, last->id.number) = at;
    map_remove(&cluster->jobs_by_id, id.number);
    frames_free(cluster, job);
    if (job->share) cluster_share_return(job->share, CLUSTER_SHARE_COMMANDS, job->counted);
    if (job->share) cluster_share_leave(cluster, job->share, CLUSTER_SHARE_COMMANDS);
    free(job);
}

void cluster_commands_count(struct cluster_job *job, const struct cluster_peer *peer,
                            uint64_t bytes)
{
    if (!bytes) return;
    if (!job->share) cluster_share_hold(peer->share, CLUSTER_SHARE_COMMANDS);
    if (!job->share) job->share = peer->share;
    cluster_share_use(job->share, CLUSTER_SHARE_COMMANDS, bytes);
    job->counted += bytes;
}

static void frame_append(struct cluster *cluster, struct cluster_job *job, const char *frame,
                         uint32_t length)
{
    uint64_t before = frame_bytes(job);
    bool there = ARRAY_RESERVE_RAW(&memory_heap, job->frames, job->frame_capacity,
                                   (uint64_t)job->length + length)
                 && ARRAY_MORE_RAW(&memory_heap, job->ends, job->count, job->capacity);
    if (!there) cluster_no_memory();
    cluster->frame_bytes += frame_bytes(job) - before;
    memcpy(job->frames + job->length, frame, length);
    job->length += length;
    job->ends[job->count++] = job->length;
}

struct load {
    struct cluster *cluster;
    struct cluster_job *job;
};

static bool body_take(void *context, const struct store_body *body)
{
    struct load *load = context;
    bool is_next = body->number == load->job->count + 1 && body->version == WIRE_VERSION;
    if (is_next) frame_append(load->cluster, load->job, body->bytes, body->length);
    return true;
}

static void job_load(struct cluster *cluster, struct cluster_job *job)
{
    struct load load = {cluster, job};
    if (!job->loaded && !job->count) {
        store_bodies(cluster->server->store, job->id, body_take, &load);
        job->read_at = cluster->ticks;
    }
    job->loaded = true;
}

// A job that was read again stays for a while: reading it for each of its tasks would take too
// long.
static bool can_free(const struct cluster *cluster, const struct cluster_job *job)
{
    enum { READ_AGAIN = 60000000 };
    return job->count && (!job->read_at || cluster->ticks - job->read_at >= READ_AGAIN)
           && !rota_job_attempts(cluster->server->rota, job->id);
}

// All jobs are looked at only when the memory has grown by a part of the limit since the last time.
void cluster_frames_trim(struct cluster *cluster)
{
    enum { PARTS = 16 };
    uint64_t limit = cluster->limits.commands;
    for (uint32_t i = 0; i < cluster->job_count && cluster->frame_bytes > limit; i++)
        if (can_free(cluster, cluster->jobs[i])) frames_free(cluster, cluster->jobs[i]);
    if (cluster->frame_bytes > limit) cluster->frames_next = cluster->frame_bytes + limit / PARTS;
}

uint32_t cluster_body_count(struct cluster *cluster, rota_job_id id)
{
    struct cluster_job *job = cluster_job_get(cluster, id);
    job_load(cluster, job);
    return job->count;
}

void cluster_body_add(struct cluster *cluster, struct cluster_job *job, const char *frame,
                      uint32_t length)
{
    frame_append(cluster, job, frame, length);
    struct store_body body = {job->id, job->count, frame, length, WIRE_VERSION};
    if (!PLANTED(BODY_NOT_KEPT)) store_put_body(cluster->server->store, &body);
}

// The commands of a closed job were removed when it was closed, and would not be removed again.
static bool is_closed(const struct cluster *cluster, rota_job_id id)
{
    const char *status = rota_job_status(cluster->server->rota, id);
    return !*status || strcmp(status, "CLOSED") == 0;
}

// The complete body: the RUN, and optionally a REPEAT after it.
static const char *body_whole(struct cluster *cluster, rota_job_id id, uint32_t number,
                              uint32_t *length)
{
    uint32_t at = map_find(&cluster->jobs_by_id, id.number);
    if (!at && is_closed(cluster, id)) return NULL;
    struct cluster_job *job = at ? cluster->jobs[at - 1] : cluster_job_get(cluster, id);
    job_load(cluster, job);
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

const char *cluster_body_find(struct cluster *cluster, rota_job_id id, uint32_t number,
                              uint32_t *length)
{
    const char *body = body_whole(cluster, id, number, length);
    if (body) *length = frame_length(body, *length);
    return body;
}

// Positions of the numbers in a RUN frame; cluster_test verifies them.
bool cluster_body_number(char *frame, uint32_t length, const struct wire_run *numbers)
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

// The worker compares the hash of each input, also of a copy that it has already.
static bool contents_fill(struct cluster *cluster, wire_files *inputs)
{
    bool filled = false;
    for (uint32_t i = 0; i < inputs->count; i++) {
        struct wire_file *input = &inputs->items[i];
        struct wire_fetch fetch = {.object = input->object};
        input->content.kind = 0;
        if (input->kind == WIRE_STREAM || !cluster_names_object(input)) continue;
        cluster_content_fill(cluster, &fetch);
        input->content = fetch.content;
        filled = true;
    }
    return filled;
}

void cluster_run_put(struct cluster *cluster, wire_text body, const struct wire_run *numbers,
                     struct wire_out *out)
{
    struct wire_in in = {.bytes = (char *)body.bytes, .length = body.length};
    struct wire_message message;
    uint32_t at = out->length;
    bool is_run = wire_take(&in, &message) == WIRE_GOT && message.kind == WIRE_RUN_MESSAGE;
    if (is_run && contents_fill(cluster, &message.run.inputs)) {
        message.run.task = numbers->task;
        message.run.attempt = numbers->attempt;
        message.run.token = numbers->token;
        message.run.beat = numbers->beat;
        wire_put(out, &message);
    } else {
        wire_out_append(out, body.bytes, body.length);
        if (!out->failed && !cluster_body_number(out->bytes + at, body.length, numbers))
            out->length = at;
    }
    in.bytes = NULL;  // they belong to the job
    wire_in_release(&in);
}

bool cluster_body_is_exclusive(struct cluster *cluster, rota_job_id id, uint32_t number)
{
    uint32_t length;
    struct cluster_body_facts facts;
    const char *body = cluster_body_find(cluster, id, number, &length);
    if (!body || cluster_body_fault(NULL, (wire_text){body, length}, &facts)) return true;
    return facts.flags & WIRE_RUN_EXCLUSIVE;
}

// ---- Inputs ------------------------------------------------------------------------------------

static void inputs_keep(struct cluster *cluster, const wire_files *from, wire_files *to)
{
    to->items = cluster_keep(cluster, from->count, sizeof *to->items);
    for (uint32_t i = 0; i < from->count; i++) {
        const struct wire_file *input = &from->items[i];
        if (input->kind == WIRE_SOURCE || input->kind == WIRE_STREAM) continue;
        to->items[to->count++] = (struct wire_file){.kind = input->kind, .object = input->object};
    }
}

void cluster_inputs_find(struct cluster *cluster, rota_job_id id, uint32_t number,
                         wire_files *inputs)
{
    struct wire_in in = {0};
    struct wire_message message;
    uint32_t length;
    *inputs = (wire_files){0};
    const char *frame = cluster_body_find(cluster, id, number, &length);
    if (!frame) return;
    char *copy = wire_in_room(&in, length);
    if (!copy) cluster_no_memory();
    memcpy(copy, frame, length);
    wire_in_came(&in, length);
    bool is_run = wire_take(&in, &message) == WIRE_GOT && message.kind == WIRE_RUN_MESSAGE;
    if (is_run) inputs_keep(cluster, &message.run.inputs, inputs);
    wire_in_release(&in);
}

// ---- Retry rules ----------------------------------------------------------------------------

static bool repeat_take(struct cluster *cluster, struct wire_in *in, struct attempt_retry *repeat)
{
    struct wire_message message;
    if (wire_take(in, &message) != WIRE_GOT || message.kind != WIRE_REPEAT_MESSAGE) return false;
    const wire_exits *list = &message.repeat.exits;
    int32_t *exits = cluster_keep(cluster, list->count, sizeof *exits);
    for (uint32_t i = 0; i < list->count; i++) exits[i] = list->items[i].status;
    *repeat = (struct attempt_retry){.backoff = message.repeat.rest,
                                     .percent = message.repeat.percent,
                                     .exits = exits,
                                     .exit_count = list->count};
    return true;
}

bool cluster_repeat_find(struct cluster *cluster, rota_job_id id, uint32_t number,
                         struct attempt_retry *repeat)
{
    struct wire_in in = {0};
    uint32_t length, first;
    const char *body = body_whole(cluster, id, number, &length);
    if (!body || (first = frame_length(body, length)) == length) return false;
    char *copy = wire_in_room(&in, length - first);
    if (!copy) return false;
    memcpy(copy, body + first, length - first);
    wire_in_came(&in, length - first);
    bool found = repeat_take(cluster, &in, repeat);
    wire_in_release(&in);
    return found;
}

// ---- The end of a job --------------------------------------------------------------------------

static void over_add(struct cluster *cluster, const struct wire_over *over)
{
    if (!ARRAY_MORE_RAW(&memory_heap, cluster->over, cluster->over_count, cluster->over_capacity))
        return;  // it is kept, and can be closed by a request
    cluster->over[cluster->over_count++] = *over;
}

void cluster_job_over(struct cluster *cluster, const struct rota_action *action)
{
    struct wire_over over = cluster_over_of(action);
    uint32_t at = map_find(&cluster->jobs_by_id, over.job);
    if (!over.failed && !over.aborted && at && cluster->jobs[at - 1]->closes)
        over_add(cluster, &over);
}

static bool is_success(const struct cluster *cluster, uint32_t job)
{
    return strcmp(rota_job_status(cluster->server->rota, (rota_job_id){job}), "SUCCESS") == 0;
}

// An earlier server process may have ended before it closed finished jobs.
void cluster_job_restored(void *context, rota_job_id id)
{
    struct cluster *cluster = context;
    struct wire_over over = {.job = id.number};
    cluster_job_get(cluster, id)->closes = true;
    if (is_success(cluster, id.number) && cluster_job_is_idle(cluster, &over))
        over_add(cluster, &over);
}

enum rota_error cluster_job_close(struct cluster *cluster, const struct wire_over *over)
{
    struct rota_event event = {.kind = ROTA_EVENT_CLOSE, .close = {{over->job}}};
    enum rota_error error = server_step(cluster->server, &event);
    if (error) return error;
    cluster_over_note(cluster, over);
    cluster_ahead_gone(cluster, event.close.job);
    if (!PLANTED(JOB_KEPT)) cluster_job_drop(cluster, event.close.job);
    return ROTA_OK;
}

// A client may have started a task again in the turn in which its job finished. A job whose lost
// result is being made again stays: closing it would abort its blocked tasks, and a bundle of them
// would change from SUCCEEDED to FAILED in its history.
void cluster_jobs_close(struct cluster *cluster)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < cluster->over_count; i++) {
        struct wire_over over = cluster->over[i];
        if (!is_success(cluster, over.job)) continue;
        if (rota_job_attempts(cluster->server->rota, (rota_job_id){over.job}))
            cluster->over[kept++] = over;
        else
            cluster_job_close(cluster, &over);
    }
    cluster->over_count = kept;
}
