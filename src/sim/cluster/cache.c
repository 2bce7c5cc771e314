// cache.c - objects on the disks of workers, as in worker/agent/inputs.c: a worker fetches objects
// from other workers, and reports to the server what it received or could not get. Commands that
// wait for their inputs are in worker/agent/run_orders.c.
#include "base/planted.h"
#include "sim/cluster/internal.h"

#include <errno.h>
#include <string.h>

enum { TRANSFER = 20000, BYTES = 1000 };

// ---- The cached objects -------------------------------------------------------------------------

static struct copy *copy_find(const struct node *node, rota_object_id object)
{
    for (uint32_t i = 0; i < node->cache_count; i++)
        if (SAME_ID(node->cache[i].object, object)) return &node->cache[i];
    return NULL;
}

bool sim_cache_has(const struct node *node, rota_object_id object)
{
    const struct copy *copy = copy_find(node, object);
    return copy && !copy->is_gone;
}

void sim_cache_add(struct node *node, const struct copy *added)
{
    struct copy *copy = copy_find(node, added->object);
    if (!copy) {
        copy = SIM_NEW(node->cache, node->cache_count, node->cache_capacity);
    }
    *copy = *added;
}

static wire_content word_of(const char *word, uint32_t number)
{
    wire_content content = {.kind = 'f'};
    snprintf((char *)content.hash, sizeof content.hash, "%s%u", word, number);
    return content;
}

// Some objects have the same content when they are made again.
wire_content sim_cache_content(uint32_t attempt)
{
    return word_of("c", attempt / 2);
}

static void cache_remove(struct node *node, rota_object_id object)
{
    struct copy *copy = copy_find(node, object);
    if (copy) *copy = node->cache[--node->cache_count];
}

// The task that made the object may have to run again.
static void loss_note(struct sim *sim, struct node *node, rota_object_id object)
{
    struct expected_task *expected = sim_expected_maker(sim, object);
    if (expected) expected->was_lost = true;
    *SIM_NEW(node->losses, node->loss_count, node->loss_capacity) = object;
}

// The file is lost. The worker notices when it needs the file, or when it starts again.
void sim_cache_lose(struct sim *sim, uint32_t who, bool all)
{
    struct node *node = &sim->nodes[who];
    if (!node->cache_count) return;
    uint32_t first = all ? 0 : choose(sim, OF_DATA, node->cache_count);
    see(sim, all ? SIGHT_DISK_LOST : SIGHT_COPY_LOST);
    for (uint32_t i = first; i < (all ? node->cache_count : first + 1); i++) {
        node->cache[i].is_gone = true;
        loss_note(sim, node, node->cache[i].object);
    }
    sim_say(sim, "%s loses %s", node->name, all ? "all its objects" : "an object");
}

// A worker that starts lists its files, and forgets everything else of its previous life.
void sim_cache_begin(struct node *node)
{
    for (uint32_t i = node->cache_count; i-- > 0;)
        if (node->cache[i].is_gone) node->cache[i] = node->cache[--node->cache_count];
}

void sim_cache_end(struct sim *sim, struct node *node)
{
    for (uint32_t i = 0; i < node->cache_count; i++)
        loss_note(sim, node, node->cache[i].object);
    node->cache_count = 0;
}

void sim_cache_crash(struct node *node)
{
    node->transfer_count = 0;
}

// ---- Reports about objects ----------------------------------------------------------------------

static void objects_put(struct sim *sim, struct node *node, enum wire_kind kind,
                        rota_object_id object)
{
    struct wire_message message = {.kind = kind};
    struct wire_file file = {.kind = WIRE_FILE,
                             .name = wire_text_of(""),
                             .path = wire_text_of(""),
                             .object = object,
                             .bytes = BYTES};
    const struct copy *copy = copy_find(node, object);
    if (copy) file.content = copy->content;
    if (!node->welcome) return;
    if (kind == WIRE_MISSED_MESSAGE) {
        message.missed.object = object;
        message.missed.reason = wire_text_of("");
    } else if (kind == WIRE_LOST_MESSAGE) {
        message.lost.objects = (wire_files){&file, 1};
    } else {
        message.held.objects = (wire_files){&file, 1};
    }
    wire_put(&sim->links[node->link]->out[FAR_SIDE], &message);
}

void sim_cache_tell(struct sim *sim, struct node *node)
{
    for (uint32_t i = 0; i < node->cache_count; i++)
        objects_put(sim, node, WIRE_HELD_MESSAGE, node->cache[i].object);
}

static void lost_note(struct sim *sim, struct node *node, rota_object_id object)
{
    loss_note(sim, node, object);
    cache_remove(node, object);
}

// The server believes that it is here, but it is not.
void sim_cache_lost(struct sim *sim, struct node *node, rota_object_id object)
{
    lost_note(sim, node, object);
    objects_put(sim, node, WIRE_LOST_MESSAGE, object);
}

// As in worker/agent/holdings.c: reports that it has the object or not, after a check.
void sim_cache_show(struct sim *sim, struct node *node, rota_object_id object)
{
    see(sim, SIGHT_SHOW);
    if (sim_cache_has(node, object))
        objects_put(sim, node, WIRE_HELD_MESSAGE, object);
    else
        sim_cache_lost(sim, node, object);
}

// A message that names a content is about a copy with that content only.
void sim_cache_drop(struct sim *sim, struct node *node, const struct wire_file *file)
{
    rota_object_id object = file->object;
    const struct copy *copy = copy_find(node, object);
    see(sim, SIGHT_DROP);
    if (file->content.kind) {
        if (copy && wire_content_is(&copy->content, &file->content)) lost_note(sim, node, object);
        return;
    }
    cache_remove(node, object);
    for (uint32_t i = node->transfer_count; i-- > 0;)
        if (SAME_ID(node->transfers[i].object, object))
            node->transfers[i] = node->transfers[--node->transfer_count];
}

// ---- Inputs of commands -------------------------------------------------------------

bool sim_cache_is_coming(const struct node *node, rota_object_id object)
{
    for (uint32_t i = 0; i < node->transfer_count; i++)
        if (SAME_ID(node->transfers[i].object, object)) return true;
    return false;
}

bool sim_cache_inputs_are_there(struct sim *sim, struct node *node, uint32_t job, uint32_t index)
{
    const struct expected_task *expected = &sim->jobs[job]->tasks[index - 1];
    bool there = true;
    for (uint32_t i = 0; i < expected->need_count; i++) {
        rota_object_id object = sim_expected_object(job, expected->needs[i]);
        if (!(expected->reads >> i & 1)) continue;
        if (sim_cache_has(node, object)) {
            judge_input(sim, node->name, (rota_task_id){sim->jobs[job]->number, index},
                        copy_find(node, object));
            continue;
        }
        sim_cache_lost(sim, node, object);
        there = false;
    }
    return there;
}

// ---- Transfers ----------------------------------------------------------------------------------

static void transfer_note(struct sim *sim, uint32_t who, struct transfer *transfer)
{
    int64_t took = 50 + choose_time(sim, OF_DATA, TRANSFER);
    if (!sim->is_clear && chance(sim, OF_DATA, sim->setting.transfer_slow)) {
        see(sim, SIGHT_TRANSFER_SLOW);
        took += choose_time(sim, OF_DATA, sim->setting.lease * 2);
    }
    transfer->number = ++sim->nodes[who].numbers;
    event_queue_add(&sim->queue, sim->now + took, DUE_TRANSFER, who, transfer->number);
}

static void transfer_forget(struct node *node, const struct wire_fetch *fetch)
{
    for (uint32_t i = node->transfer_count; i-- > 0;)
        if (SAME_ID(node->transfers[i].object, fetch->object)
            && !wire_content_is(&node->transfers[i].content, &fetch->content))
            node->transfers[i] = node->transfers[--node->transfer_count];
}

void sim_cache_fetch(struct sim *sim, uint32_t who, const struct wire_fetch *fetch)
{
    struct node *node = &sim->nodes[who];
    const struct copy *copy = copy_find(node, fetch->object);
    see(sim, SIGHT_FETCH);
    // A copy of an older content is of no use.
    if (copy && fetch->content.kind && !wire_content_is(&copy->content, &fetch->content))
        lost_note(sim, node, fetch->object);
    if (sim_cache_has(node, fetch->object))
        return objects_put(sim, node, WIRE_HELD_MESSAGE, fetch->object);
    transfer_forget(node, fetch);
    if (sim_cache_is_coming(node, fetch->object)) return;
    struct transfer *transfer
        = SIM_NEW(node->transfers, node->transfer_count, node->transfer_capacity);
    *transfer = (struct transfer){.object = fetch->object, .content = fetch->content};
    for (uint32_t i = 0; i < fetch->addresses.count && i < TRANSFER_SOURCES; i++) {
        unsigned number = 0;
        bool known = sscanf(fetch->addresses.items[i].bytes, "worker-%u", &number) == 1;
        if (!known || !number || number > sim->setting.nodes)
            wrong(sim, "%s is to fetch an object without a source", node->name);
        else
            transfer->sources[transfer->source_count++] = number - 1;
    }
    transfer_note(sim, who, transfer);
}

// As in object/transfer/receive.c: compares the content that the source names with the wanted one,
// then the bytes with the content.
static bool is_taken(struct sim *sim, uint32_t who, const struct transfer *transfer, uint32_t from)
{
    struct node *node = &sim->nodes[who];
    const struct copy *copy = copy_find(&sim->nodes[from], transfer->object);
    bool is_wanted = !transfer->content.kind || wire_content_is(&copy->content, &transfer->content);
    if (PLANTED(CONTENT_TRUSTED) || (is_wanted && !copy->is_false)) return true;
    struct wire_message message = {.kind = WIRE_FORGED_MESSAGE};
    message.forged.object = transfer->object;
    message.forged.address = wire_text_of(sim->nodes[from].address);
    message.forged.reason = wire_text_of("");
    see(sim, SIGHT_FORGED);
    loss_note(sim, node, transfer->object);
    loss_note(sim, &sim->nodes[from], transfer->object);
    if (node->welcome) wire_put(&sim->links[node->link]->out[FAR_SIDE], &message);
    return false;
}

// Tries the next source. False: it cannot be fetched from there.
static bool transfer_arrives(struct sim *sim, uint32_t who, const struct transfer *transfer)
{
    if (transfer->at >= transfer->source_count) return false;
    uint32_t from = transfer->sources[transfer->at];
    struct node *source = &sim->nodes[from];
    if (!sim_node_is_reached(sim, who, from)) return false;
    if (!sim->is_clear && chance(sim, OF_DATA, sim->setting.transfer_cut)) {
        see(sim, SIGHT_TRANSFER_CUT);
        return false;
    }
    if (!sim_cache_has(source, transfer->object)) {
        if (copy_find(source, transfer->object)) {
            sim_cache_lost(sim, source, transfer->object);
            sim_node_flush(sim, from);
        }
        return false;
    }
    if (sim_expected_maker(sim, transfer->object)->is_unfetchable) {
        see(sim, SIGHT_UNFETCHABLE);
        return false;
    }
    if (!sim->is_clear && chance(sim, OF_DATA, sim->setting.transfer_corrupts)) {
        see(sim, SIGHT_TRANSFER_CORRUPT);  // the hash differs
        return false;
    }
    return is_taken(sim, who, transfer, from);
}

static void transfer_missed(struct sim *sim, struct node *node, rota_object_id object)
{
    see(sim, SIGHT_MISSED);
    node->transfer_error = ENODATA;
    loss_note(sim, node, object);  // the server may believe that all copies are lost
    objects_put(sim, node, WIRE_MISSED_MESSAGE, object);
}

void sim_cache_transfer(struct sim *sim, uint32_t who, uint32_t number)
{
    struct node *node = &sim->nodes[who];
    struct transfer *transfer = NULL;
    for (uint32_t i = 0; node->up && i < node->transfer_count && !transfer; i++)
        if (node->transfers[i].number == number) transfer = &node->transfers[i];
    if (!transfer) return;
    bool there = transfer_arrives(sim, who, transfer);
    if (!there && ++transfer->at < transfer->source_count) return transfer_note(sim, who, transfer);
    rota_object_id object = transfer->object;
    struct copy copy = {.object = object};
    if (there) copy = *copy_find(&sim->nodes[transfer->sources[transfer->at]], object);
    copy.is_pretended = false;
    *transfer = node->transfers[--node->transfer_count];
    bool full = there && !sim->is_clear && chance(sim, OF_DATA, sim->setting.cache_full);
    if (full) {
        see(sim, SIGHT_CACHE_FULL);
        node->transfer_error = ENOSPC;
        loss_note(sim, node, object);
    } else if (there) {
        see(sim, SIGHT_TRANSFER);
        sim_cache_add(node, &copy);
        objects_put(sim, node, WIRE_HELD_MESSAGE, object);
    } else {
        transfer_missed(sim, node, object);
    }
    run_orders_inputs(&sim->nodes[who].orders);
    sim_node_flush(sim, who);
    sim_node_schedule(sim, who);
}

// ---- False claims -------------------------------------------------------------------------------

// Chooses an object of the newest jobs that may still be read. False: there is no such object.
static bool target_find(struct sim *sim, const struct node *node, struct copy *copy)
{
    enum { JOBS = 6 };
    uint32_t first = sim->job_count > JOBS ? sim->job_count - JOBS : 0, found = 0;
    for (uint32_t i = first; i < sim->job_count; i++)
        for (uint32_t index = 1; index <= sim->jobs[i]->count; index++) {
            rota_object_id object = sim_expected_object(i, index);
            wire_content content;
            bool known = rota_object_content(sim->daemon.server.rota, object, &content)
                         && rota_object_state(sim->daemon.server.rota, object)
                                == ROTA_OBJECT_FINISHED;
            if (!known || copy_find(node, object) || choose(sim, OF_PRETENDED, ++found)) continue;
            *copy = (struct copy){.object = object, .content = content, .is_pretended = true};
        }
    return found;
}

// A worker claims to hold objects that others make, and sends other bytes: under the right content,
// under another content than it reported, or under one that it reports to the server, too.
void sim_cache_pretend(struct sim *sim, uint32_t who)
{
    struct node *node = &sim->nodes[who];
    struct copy copy;
    if (!node->up || !node->welcome || !sim->daemon.up) return;
    if (!target_find(sim, node, &copy)) return;
    uint32_t how = choose(sim, OF_PRETENDED, 3);
    see(sim, SIGHT_PRETENDED);
    copy.is_false = how == 0;
    if (how == 2) copy.content = word_of("lie", who);
    sim_cache_add(node, &copy);
    objects_put(sim, node, WIRE_HELD_MESSAGE, copy.object);
    if (how == 1) copy_find(node, copy.object)->content = word_of("lie", who);
    sim_node_flush(sim, who);
}
