// submission_pieces.c - collects the pieces of a submission.
#include "server/cluster/submission_pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TASKS_MAX = 1000000,
    EDGES_MAX = 10000000,
    DRAFTS_MAX = 1 << 30,    // bytes, of all incomplete submissions
    PIECE_WAITS = 60000000,  // for the next one
};

static void frames_release(struct cluster *cluster, struct cluster_peer *peer)
{
    struct wire_out *frames = &peer->draft->frames;
    cluster->draft_bytes -= frames->length;
    cluster_share_return(peer->share, CLUSTER_SHARE_SUBMISSIONS, frames->length);
    wire_out_release(frames);
}

void cluster_draft_drop(struct cluster *cluster, struct cluster_peer *peer)
{
    if (!peer->draft) return;
    frames_release(cluster, peer);
    free(peer->draft);
    peer->draft = NULL;
}

// A client whose incomplete submission is dropped is refused: otherwise further pieces would be
// taken for a new submission.
void cluster_drafts_look(struct cluster *cluster)
{
    if (cluster->ticks < cluster->drafts_at) return;
    cluster->drafts_at = ROTA_NEVER;
    for (struct cluster_peer *peer = cluster->peers; peer; peer = peer->next) {
        const struct cluster_draft *draft = peer->draft;
        if (!draft || draft->is_refused) continue;
        if (draft->until <= cluster->ticks) {
            cluster_turn_away(peer, WIRE_REFUSED_STATE,
                              "the rest of the submission did not arrive in time");
            cluster_draft_drop(cluster, peer);
        } else if (draft->until < cluster->drafts_at) {
            cluster->drafts_at = draft->until;
        }
    }
}

static const char too_many[] = "too many submissions at a time";

static const char busy[] = "busy, try again: other submissions of your key are incomplete";
static const char too_large[]
    = "the submission is larger than your key's share of memory; send less at a time, or start the "
      "server with a higher --key-submissions";

static const char *piece_keep(struct cluster *cluster, struct cluster_peer *peer,
                              const struct wire_submit *submit)
{
    struct cluster_draft *draft = peer->draft;
    struct cluster_share *share = peer->share;
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE, .submit = *submit};
    uint32_t before = draft->frames.length;
    wire_put(&draft->frames, &message);
    cluster->draft_bytes += draft->frames.length - before;
    cluster_share_use(share, CLUSTER_SHARE_SUBMISSIONS, draft->frames.length - before);
    if (draft->frames.failed) return cluster_no_room;
    bool is_alone = share->used[CLUSTER_SHARE_SUBMISSIONS] == draft->frames.length;
    if (!cluster_share_fits(cluster, share, CLUSTER_SHARE_SUBMISSIONS, 0))
        return is_alone ? too_large : busy;
    return cluster->draft_bytes > DRAFTS_MAX ? too_many : NULL;
}

// Tasks are numbered without gaps.
uint32_t cluster_next_task(const struct cluster *cluster, uint32_t job)
{
    uint32_t there = 0, step = 1u << 31;
    for (; step; step /= 2) {
        rota_task_id task = {job, there + step};
        if (rota_task_state(cluster->server->rota, task) != ROTA_TASK_NONE) there += step;
    }
    return there + 1;
}

// Why a piece is refused, and for which task.
struct piece_fault {
    const char *reason;  // null: it is accepted
    uint32_t task;       // 0: no particular task
    struct store_text text;
};

static struct piece_fault task_fault(const struct cluster_draft *draft,
                                     const struct wire_submit *submit)
{
    uint32_t index;
    struct piece_fault fault = {.reason = cluster_piece_fault(submit, &index)};
    if (fault.reason && index < submit->tasks.count) {
        fault.task = draft->first + draft->tasks + index;
        fault.text.name = submit->tasks.items[index].name.bytes;
    }
    return fault;
}

static struct piece_fault counts_add(struct cluster_draft *draft, const struct wire_submit *submit)
{
    uint32_t edges = draft->edges;
    draft->tasks += submit->tasks.count;
    draft->edges += submit->edges.count;
    draft->clauses += submit->clauses.count;
    draft->inputs += submit->inputs.count;
    draft->outputs += submit->outputs.count;
    draft->bodies += submit->bodies.count;
    draft->lanes += submit->lanes.count;
    draft->groups += submit->groups.count;
    draft->machines += submit->machines.count;
    struct piece_fault fault = {.reason = NULL};
    if (draft->tasks > TASKS_MAX) {
        fault.reason = "a submission may have at most 1,000,000 tasks";
        fault.task = draft->first + TASKS_MAX;
    } else if (draft->edges > EDGES_MAX) {
        fault.reason = "a submission may have at most 10,000,000 edges";
        fault.task = submit->edges.items[EDGES_MAX - edges].after;
    }
    return fault;
}

static struct piece_fault draft_add(struct cluster *cluster, struct cluster_peer *peer,
                                    const struct wire_submit *submit)
{
    if (!peer->draft) peer->draft = calloc(1, sizeof *peer->draft);
    struct cluster_draft *draft = peer->draft;
    if (!draft) return (struct piece_fault){.reason = cluster_no_room};
    draft->high = submit->high;
    draft->low = submit->low;
    draft->first = cluster_next_task(cluster, submit->job);
    if (submit->bodies.count != submit->commands.count)
        return (struct piece_fault){.reason = "a body without a command"};
    struct piece_fault fault = task_fault(draft, submit);
    if (!fault.reason) fault = counts_add(draft, submit);
    if (!fault.reason) fault.reason = piece_keep(cluster, peer, submit);
    return fault;
}

// Further pieces of this submission are recognized and ignored.
static void draft_refuse(struct cluster *cluster, struct cluster_peer *peer,
                         const struct wire_submit *submit, const struct piece_fault *fault)
{
    struct cluster_draft *draft = peer->draft;
    struct server *server = cluster->server;
    struct rota_fault told = {.task.task = fault->task};
    snprintf(server->reason, sizeof server->reason, "%s", fault->reason);
    cluster_fault_tell(cluster, &told, &(struct cluster_called){&fault->text, told.task.task, 1});
    enum wire_code code = WIRE_REFUSED_REQUEST;
    if (fault->reason == cluster_no_room) code = WIRE_REFUSED_MEMORY;
    if (fault->reason == too_many || fault->reason == too_large) code = WIRE_REFUSED_FULL;
    if (fault->reason == busy) code = WIRE_REFUSED_BUSY;
    cluster_refuse(peer, submit->high, submit->low, code, server->reason);
    if (!draft) return;
    frames_release(cluster, peer);
    draft->high = submit->high;
    draft->low = submit->low;
    draft->is_refused = true;
}

static void draft_wait(struct cluster *cluster, struct cluster_peer *peer)
{
    if (!peer->draft) return;
    peer->draft->until = cluster->ticks + PIECE_WAITS;
    if (peer->draft->until < cluster->drafts_at) cluster->drafts_at = peer->draft->until;
}

void cluster_submit(struct cluster *cluster, struct cluster_peer *peer,
                    const struct wire_submit *submit)
{
    bool is_another = peer->draft && !SAME_ID(*peer->draft, *submit);
    if (is_another && !peer->draft->is_refused) {
        cluster_turn_away(peer, WIRE_REFUSED_REQUEST, "the previous submission is incomplete");
        cluster_draft_drop(cluster, peer);
        return;
    }
    if (is_another) cluster_draft_drop(cluster, peer);
    bool was_refused = peer->draft && peer->draft->is_refused;
    struct piece_fault fault = {.reason = NULL};
    if (!was_refused) fault = draft_add(cluster, peer, submit);
    if (fault.reason) draft_refuse(cluster, peer, submit, &fault);
    if (submit->flags & WIRE_SUBMIT_MORE) {
        draft_wait(cluster, peer);
        return;
    }
    if (peer->draft && !peer->draft->is_refused) cluster_job_make(cluster, peer, submit);
    cluster_draft_drop(cluster, peer);
}
