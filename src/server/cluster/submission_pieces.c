// submission_pieces.c - the pieces of a submission come together.
#include "server/cluster/submission_pieces.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TASKS_MAX = 1000000,
    EDGES_MAX = 10000000,
    DRAFTS_MAX = 1 << 30,    // bytes, of all submissions that are not whole
    PIECE_WAITS = 60000000,  // for the next one
};

static void frames_release(struct hub *hub, struct hub_peer *peer)
{
    struct wire_out *frames = &peer->draft->frames;
    hub->draft_bytes -= frames->length;
    hub_share_return(peer->share, HUB_SHARE_SUBMISSIONS, frames->length);
    wire_out_release(frames);
}

void hub_draft_drop(struct hub *hub, struct hub_peer *peer)
{
    if (!peer->draft) return;
    frames_release(hub, peer);
    free(peer->draft);
    peer->draft = NULL;
}

// Who has one in its hands that was forgotten would take what still comes for the whole of it.
void hub_drafts_look(struct hub *hub)
{
    if (hub->ticks < hub->drafts_at) return;
    hub->drafts_at = ROTA_NEVER;
    for (struct hub_peer *peer = hub->peers; peer; peer = peer->next) {
        const struct hub_draft *draft = peer->draft;
        if (!draft || draft->is_refused) continue;
        if (draft->until <= hub->ticks) {
            hub_turn_away(peer, WIRE_REFUSED_STATE, "the rest of the submission did not come");
            hub_draft_drop(hub, peer);
        } else if (draft->until < hub->drafts_at) {
            hub->drafts_at = draft->until;
        }
    }
}

static const char too_many[] = "too many submissions come at a time";

static const char busy[] = "busy, try again: other submissions of your key are not complete";
static const char too_large[]
    = "the submission is larger than your key's share of memory; send less at a time, or start the "
      "server with a higher --key-submissions";

static const char *piece_keep(struct hub *hub, struct hub_peer *peer,
                              const struct wire_submit *submit)
{
    struct hub_draft *draft = peer->draft;
    struct hub_share *share = peer->share;
    struct wire_message message = {.kind = WIRE_SUBMIT_MESSAGE, .submit = *submit};
    uint32_t before = draft->frames.length;
    wire_put(&draft->frames, &message);
    hub->draft_bytes += draft->frames.length - before;
    hub_share_use(share, HUB_SHARE_SUBMISSIONS, draft->frames.length - before);
    if (draft->frames.failed) return hub_no_room;
    bool is_alone = share->used[HUB_SHARE_SUBMISSIONS] == draft->frames.length;
    if (!hub_share_fits(hub, share, HUB_SHARE_SUBMISSIONS, 0)) return is_alone ? too_large : busy;
    return hub->draft_bytes > DRAFTS_MAX ? too_many : NULL;
}

static bool is_of(const struct hub_draft *draft, const struct wire_submit *submit)
{
    return draft->high == submit->high && draft->low == submit->low;
}

// Tasks are numbered without gaps.
uint32_t hub_next_task(const struct hub *hub, uint32_t job)
{
    uint32_t there = 0, step = 1u << 31;
    for (; step; step /= 2) {
        rota_task_id task = {job, there + step};
        if (rota_task_state(hub->server->rota, task) != ROTA_TASK_NONE) there += step;
    }
    return there + 1;
}

// Why a piece is not taken, and for which task.
struct piece_fault {
    const char *reason;  // null: it is taken
    uint32_t task;       // 0: none in particular
    struct store_text text;
};

static struct piece_fault task_fault(const struct hub_draft *draft,
                                     const struct wire_submit *submit)
{
    uint32_t index;
    struct piece_fault fault = {.reason = hub_piece_fault(submit, &index)};
    if (fault.reason && index < submit->tasks.count) {
        fault.task = draft->first + draft->tasks + index;
        fault.text.name = submit->tasks.items[index].name.bytes;
    }
    return fault;
}

static struct piece_fault counts_add(struct hub_draft *draft, const struct wire_submit *submit)
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
        fault.reason = "a submission has at most 1,000,000 tasks";
        fault.task = draft->first + TASKS_MAX;
    } else if (draft->edges > EDGES_MAX) {
        fault.reason = "a submission has at most 10,000,000 edges";
        fault.task = submit->edges.items[EDGES_MAX - edges].after;
    }
    return fault;
}

static struct piece_fault draft_add(struct hub *hub, struct hub_peer *peer,
                                    const struct wire_submit *submit)
{
    if (!peer->draft) peer->draft = calloc(1, sizeof *peer->draft);
    struct hub_draft *draft = peer->draft;
    if (!draft) return (struct piece_fault){.reason = hub_no_room};
    draft->high = submit->high;
    draft->low = submit->low;
    draft->first = hub_next_task(hub, submit->job);
    if (submit->bodies.count != submit->commands.count)
        return (struct piece_fault){.reason = "each body has a command"};
    struct piece_fault fault = task_fault(draft, submit);
    if (!fault.reason) fault = counts_add(draft, submit);
    if (!fault.reason) fault.reason = piece_keep(hub, peer, submit);
    return fault;
}

// Of the pieces that still come nothing is kept but that they are of this one.
static void draft_refuse(struct hub *hub, struct hub_peer *peer, const struct wire_submit *submit,
                         const struct piece_fault *fault)
{
    struct hub_draft *draft = peer->draft;
    struct server *server = hub->server;
    struct rota_fault told = {.task.task = fault->task};
    snprintf(server->reason, sizeof server->reason, "%s", fault->reason);
    hub_fault_tell(hub, &told, &(struct hub_called){&fault->text, told.task.task, 1});
    enum wire_code code = WIRE_REFUSED_REQUEST;
    if (fault->reason == hub_no_room) code = WIRE_REFUSED_MEMORY;
    if (fault->reason == too_many || fault->reason == too_large) code = WIRE_REFUSED_FULL;
    if (fault->reason == busy) code = WIRE_REFUSED_BUSY;
    hub_refuse(peer, submit->high, submit->low, code, server->reason);
    if (!draft) return;
    frames_release(hub, peer);
    draft->high = submit->high;
    draft->low = submit->low;
    draft->is_refused = true;
}

static void draft_wait(struct hub *hub, struct hub_peer *peer)
{
    if (!peer->draft) return;
    peer->draft->until = hub->ticks + PIECE_WAITS;
    if (peer->draft->until < hub->drafts_at) hub->drafts_at = peer->draft->until;
}

void hub_submit(struct hub *hub, struct hub_peer *peer, const struct wire_submit *submit)
{
    bool is_another = peer->draft && !is_of(peer->draft, submit);
    if (is_another && !peer->draft->is_refused) {
        hub_turn_away(peer, WIRE_REFUSED_REQUEST, "the submission before it is not whole");
        hub_draft_drop(hub, peer);
        return;
    }
    if (is_another) hub_draft_drop(hub, peer);
    bool was_refused = peer->draft && peer->draft->is_refused;
    struct piece_fault fault = {.reason = NULL};
    if (!was_refused) fault = draft_add(hub, peer, submit);
    if (fault.reason) draft_refuse(hub, peer, submit, &fault);
    if (submit->flags & WIRE_SUBMIT_MORE) {
        draft_wait(hub, peer);
        return;
    }
    if (peer->draft && !peer->draft->is_refused) hub_job_make(hub, peer, submit);
    hub_draft_drop(hub, peer);
}
