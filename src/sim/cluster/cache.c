// cache.c - objects on the disks of workers, done as worker/agent/inputs.c does it: what a command
// reads is fetched from others before it starts, and the server hears of what comes, or does not.
#include "base/planted.h"
#include "sim/cluster/internal.h"

#include <errno.h>
#include <string.h>

enum { HAUL = 20000, BYTES = 1000 };

static bool is_same(rota_object_id a, rota_object_id b)
{
    return a.high == b.high && a.low == b.low;
}

// ---- What lies there ----------------------------------------------------------------------------

static struct copy *copy_find(const struct hand *hand, rota_object_id object)
{
    for (uint32_t i = 0; i < hand->shelf_count; i++)
        if (is_same(hand->shelf[i].object, object)) return &hand->shelf[i];
    return NULL;
}

bool shelf_has(const struct hand *hand, rota_object_id object)
{
    const struct copy *copy = copy_find(hand, object);
    return copy && !copy->is_gone;
}

void shelf_add(struct hand *hand, const struct copy *added)
{
    struct copy *copy = copy_find(hand, added->object);
    if (!copy) {
        world_reserve(&hand->shelf, &hand->shelf_capacity, hand->shelf_count, sizeof *hand->shelf);
        copy = &hand->shelf[hand->shelf_count++];
    }
    *copy = *added;
}

static wire_content word_of(const char *word, uint32_t number)
{
    wire_content content = {.kind = 'f'};
    snprintf((char *)content.hash, sizeof content.hash, "%s%u", word, number);
    return content;
}

// Some that are made again are as before.
wire_content shelf_content(uint32_t attempt)
{
    return word_of("c", attempt / 2);
}

static void shelf_remove(struct hand *hand, rota_object_id object)
{
    struct copy *copy = copy_find(hand, object);
    if (copy) *copy = hand->shelf[--hand->shelf_count];
}

// Whoever made it may have to do so again.
static void loss_note(struct world *world, struct hand *hand, rota_object_id object)
{
    struct ghost_task *ghost = ghost_maker(world, object);
    if (ghost) ghost->was_lost = true;
    world_reserve(&hand->losses, &hand->loss_capacity, hand->loss_count, sizeof *hand->losses);
    hand->losses[hand->loss_count++] = object;
}

// Its file is gone, and its worker finds out when it is needed, or when it starts again.
void shelf_lose(struct world *world, uint32_t who, bool all)
{
    struct hand *hand = &world->hands[who];
    if (!hand->shelf_count) return;
    uint32_t first = all ? 0 : choose(world, OF_DATA, hand->shelf_count);
    see(world, all ? SIGHT_DISK_LOST : SIGHT_COPY_LOST);
    for (uint32_t i = first; i < (all ? hand->shelf_count : first + 1); i++) {
        hand->shelf[i].is_gone = true;
        loss_note(world, hand, hand->shelf[i].object);
    }
    world_say(world, "%s loses %s", hand->name, all ? "all its objects" : "an object");
}

// A worker that begins looks at what is there; the rest of this life is forgotten.
void shelf_begin(struct hand *hand)
{
    for (uint32_t i = hand->shelf_count; i-- > 0;)
        if (hand->shelf[i].is_gone) hand->shelf[i] = hand->shelf[--hand->shelf_count];
}

void shelf_bury(struct world *world, struct hand *hand)
{
    for (uint32_t i = 0; i < hand->shelf_count; i++)
        loss_note(world, hand, hand->shelf[i].object);
    hand->shelf_count = 0;
}

void shelf_crash(struct hand *hand)
{
    hand->haul_count = 0;
    while (hand->lacking_count) wire_in_release(&hand->lacking[--hand->lacking_count]);
}

// ---- What is said of it -------------------------------------------------------------------------

static void objects_put(struct world *world, struct hand *hand, enum wire_kind kind,
                        rota_object_id object)
{
    struct wire_message message = {.kind = kind};
    struct wire_file file = {.kind = WIRE_FILE,
                             .name = wire_text_of(""),
                             .path = wire_text_of(""),
                             .object = object,
                             .bytes = BYTES};
    const struct copy *copy = copy_find(hand, object);
    if (copy) file.content = copy->content;
    if (!hand->welcome) return;
    if (kind == WIRE_MISSED_MESSAGE) {
        message.missed.object = object;
        message.missed.reason = wire_text_of("");
    } else if (kind == WIRE_LOST_MESSAGE) {
        message.lost.objects = (wire_files){&file, 1};
    } else {
        message.held.objects = (wire_files){&file, 1};
    }
    wire_put(&world->cables[hand->cable]->out[FAR_SIDE], &message);
}

void shelf_tell(struct world *world, struct hand *hand)
{
    for (uint32_t i = 0; i < hand->shelf_count; i++)
        objects_put(world, hand, WIRE_HELD_MESSAGE, hand->shelf[i].object);
}

static void lost_note(struct world *world, struct hand *hand, rota_object_id object)
{
    loss_note(world, hand, object);
    shelf_remove(hand, object);
}

// It was thought to be here, and is not.
static void lost_tell(struct world *world, struct hand *hand, rota_object_id object)
{
    lost_note(world, hand, object);
    objects_put(world, hand, WIRE_LOST_MESSAGE, object);
}

// As worker/agent/holdings.c does: one or the other, after a look.
void shelf_show(struct world *world, struct hand *hand, rota_object_id object)
{
    see(world, SIGHT_SHOW);
    if (shelf_has(hand, object))
        objects_put(world, hand, WIRE_HELD_MESSAGE, object);
    else
        lost_tell(world, hand, object);
}

// One that names a content is about a copy of that one only.
void shelf_drop(struct world *world, struct hand *hand, const struct wire_file *file)
{
    rota_object_id object = file->object;
    const struct copy *copy = copy_find(hand, object);
    see(world, SIGHT_DROP);
    if (file->content.kind) {
        if (copy && wire_content_is(&copy->content, &file->content)) lost_note(world, hand, object);
        return;
    }
    shelf_remove(hand, object);
    for (uint32_t i = hand->haul_count; i-- > 0;)
        if (is_same(hand->hauls[i].object, object))
            hand->hauls[i] = hand->hauls[--hand->haul_count];
}

// ---- Commands that wait for it ------------------------------------------------------------------

static bool is_coming(const struct hand *hand, rota_object_id object)
{
    for (uint32_t i = 0; i < hand->haul_count; i++)
        if (is_same(hand->hauls[i].object, object)) return true;
    return false;
}

enum lack { LACKS_NOTHING, LACKS_SOME, LACKS_FOR_EVER };

static enum lack inputs_look(const struct hand *hand, const wire_files *inputs)
{
    enum lack lack = LACKS_NOTHING;
    for (uint32_t i = 0; i < inputs->count; i++) {
        rota_object_id object = inputs->items[i].object;
        if (inputs->items[i].kind == WIRE_STREAM || shelf_has(hand, object)) continue;
        if (!is_coming(hand, object)) return LACKS_FOR_EVER;
        lack = LACKS_SOME;
    }
    return lack;
}

static void refuse(struct world *world, struct hand *hand, const struct wire_run *run)
{
    struct attempt *attempt = attempts_find(&hand->decide.attempts, run->task, run->attempt);
    see(world, SIGHT_BAD_INPUT);
    report_add(world, hand, attempt, WIRE_BAD_INPUT, hand->haul_error ? hand->haul_error : ENODATA);
}

void shelf_give(struct world *world, uint32_t who, const struct wire_message *message)
{
    struct hand *hand = &world->hands[who];
    const struct wire_run *run = &message->run;
    for (uint32_t i = 0; i < run->outputs.count; i++)
        if (ghost_maker(world, run->outputs.items[i].object))
            ghost_maker(world, run->outputs.items[i].object)->given_to |= 1u << who;
    if (!brooks_are_there(hand, &run->inputs)) return brook_refuse(world, hand, run);
    switch (inputs_look(hand, &run->inputs)) {
    case LACKS_NOTHING: process_begin(world, who, run); return;
    case LACKS_SOME:
        see(world, SIGHT_LACKING);
        frame_keep(&hand->lacking, &hand->lacking_count, &hand->lacking_capacity, message);
        return;
    case LACKS_FOR_EVER:
        for (uint32_t i = 0; i < run->inputs.count; i++) {
            rota_object_id object = run->inputs.items[i].object;
            if (shelf_has(hand, object) || is_coming(hand, object)) continue;
            judge_lack(world, hand, run, object);
            lost_tell(world, hand, object);
        }
        refuse(world, hand, run);
    }
}

bool shelf_inputs_are_there(struct world *world, struct hand *hand, uint32_t job, uint32_t index)
{
    const struct ghost_task *ghost = &world->jobs[job]->tasks[index - 1];
    bool there = true;
    for (uint32_t i = 0; i < ghost->need_count; i++) {
        rota_object_id object = ghost_object(job, ghost->needs[i]);
        if (!(ghost->reads >> i & 1)) continue;
        if (shelf_has(hand, object)) {
            judge_input(world, hand->name, (rota_task_id){world->jobs[job]->number, index},
                        copy_find(hand, object));
            continue;
        }
        lost_tell(world, hand, object);
        there = false;
    }
    return there;
}

static void lacking_look(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    for (uint32_t i = hand->lacking_count; i-- > 0;) {
        struct wire_in frame;
        struct wire_message message;
        frame_look(&hand->lacking[i], &message);
        enum lack lack = inputs_look(hand, &message.run.inputs);
        if (lack == LACKS_SOME) continue;
        frame = hand->lacking[i];
        hand->lacking[i] = hand->lacking[--hand->lacking_count];
        if (lack == LACKS_NOTHING)
            process_begin(world, who, &message.run);
        else
            refuse(world, hand, &message.run);
        wire_in_release(&frame);
    }
}

// ---- Fetching -----------------------------------------------------------------------------------

static void haul_note(struct world *world, uint32_t who, struct haul *haul)
{
    int64_t took = 50 + choose_time(world, OF_DATA, HAUL);
    if (!world->is_clear && chance(world, OF_DATA, world->swarm.haul_slow)) {
        see(world, SIGHT_HAUL_SLOW);
        took += choose_time(world, OF_DATA, world->swarm.lease * 2);
    }
    haul->number = ++world->hands[who].numbers;
    agenda_add(&world->agenda, world->now + took, DUE_HAUL, who, haul->number);
}

static void haul_forget(struct hand *hand, const struct wire_fetch *fetch)
{
    for (uint32_t i = hand->haul_count; i-- > 0;)
        if (is_same(hand->hauls[i].object, fetch->object)
            && !wire_content_is(&hand->hauls[i].content, &fetch->content))
            hand->hauls[i] = hand->hauls[--hand->haul_count];
}

void shelf_fetch(struct world *world, uint32_t who, const struct wire_fetch *fetch)
{
    struct hand *hand = &world->hands[who];
    const struct copy *copy = copy_find(hand, fetch->object);
    see(world, SIGHT_FETCH);
    // A copy of an older content is of no use.
    if (copy && fetch->content.kind && !wire_content_is(&copy->content, &fetch->content))
        lost_note(world, hand, fetch->object);
    if (shelf_has(hand, fetch->object))
        return objects_put(world, hand, WIRE_HELD_MESSAGE, fetch->object);
    haul_forget(hand, fetch);
    if (is_coming(hand, fetch->object)) return;
    world_reserve(&hand->hauls, &hand->haul_capacity, hand->haul_count, sizeof *hand->hauls);
    struct haul *haul = &hand->hauls[hand->haul_count++];
    *haul = (struct haul){.object = fetch->object, .content = fetch->content};
    for (uint32_t i = 0; i < fetch->addresses.count && i < HAUL_SOURCES; i++) {
        unsigned number = 0;
        bool known = sscanf(fetch->addresses.items[i].bytes, "worker-%u", &number) == 1;
        if (!known || !number || number > world->swarm.hands)
            wrong(world, "%s is to fetch from nobody", hand->name);
        else
            haul->sources[haul->source_count++] = number - 1;
    }
    haul_note(world, who, haul);
}

// As object/transfer/receive.c does it: against the content that is wanted, then its bytes against
// that.
static bool is_taken(struct world *world, uint32_t who, const struct haul *haul, uint32_t from)
{
    struct hand *hand = &world->hands[who];
    const struct copy *copy = copy_find(&world->hands[from], haul->object);
    bool is_wanted = !haul->content.kind || wire_content_is(&copy->content, &haul->content);
    if (PLANTED(CONTENT_TRUSTED) || (is_wanted && !copy->is_false)) return true;
    struct wire_message message = {.kind = WIRE_FORGED_MESSAGE};
    message.forged.object = haul->object;
    message.forged.address = wire_text_of(world->hands[from].address);
    message.forged.reason = wire_text_of("");
    see(world, SIGHT_FORGED);
    loss_note(world, hand, haul->object);
    loss_note(world, &world->hands[from], haul->object);
    if (hand->welcome) wire_put(&world->cables[hand->cable]->out[FAR_SIDE], &message);
    return false;
}

// From the source whose turn it is. False: not from there.
static bool haul_arrives(struct world *world, uint32_t who, const struct haul *haul)
{
    if (haul->at >= haul->source_count) return false;
    uint32_t from = haul->sources[haul->at];
    struct hand *source = &world->hands[from];
    bool apart = world->cut[0][from] || world->cut[1][from] || world->cut[0][who]
                 || world->cut[1][who] || hands_are_parted(world, from, who)
                 || world->now < source->stalled_until;
    if (!source->up || apart) return false;
    if (!world->is_clear && chance(world, OF_DATA, world->swarm.haul_cut)) {
        see(world, SIGHT_HAUL_CUT);
        return false;
    }
    if (!shelf_has(source, haul->object)) {
        if (copy_find(source, haul->object)) {
            lost_tell(world, source, haul->object);
            hand_flush(world, from);
        }
        return false;
    }
    if (ghost_maker(world, haul->object)->is_unfetchable) {
        see(world, SIGHT_UNFETCHABLE);
        return false;
    }
    if (!world->is_clear && chance(world, OF_DATA, world->swarm.haul_rots)) {
        see(world, SIGHT_HAUL_ROT);  // the hash is not as it should be
        return false;
    }
    return is_taken(world, who, haul, from);
}

static void haul_missed(struct world *world, struct hand *hand, rota_object_id object)
{
    see(world, SIGHT_MISSED);
    hand->haul_error = ENODATA;
    loss_note(world, hand, object);  // the server may come to believe that all are lost
    objects_put(world, hand, WIRE_MISSED_MESSAGE, object);
}

void shelf_haul(struct world *world, uint32_t who, uint32_t number)
{
    struct hand *hand = &world->hands[who];
    struct haul *haul = NULL;
    for (uint32_t i = 0; hand->up && i < hand->haul_count && !haul; i++)
        if (hand->hauls[i].number == number) haul = &hand->hauls[i];
    if (!haul) return;
    bool there = haul_arrives(world, who, haul);
    if (!there && ++haul->at < haul->source_count) return haul_note(world, who, haul);
    rota_object_id object = haul->object;
    struct copy copy = {.object = object};
    if (there) copy = *copy_find(&world->hands[haul->sources[haul->at]], object);
    copy.is_lie = false;
    *haul = hand->hauls[--hand->haul_count];
    bool full = there && !world->is_clear && chance(world, OF_DATA, world->swarm.shelf_full);
    if (full) {
        see(world, SIGHT_SHELF_FULL);
        hand->haul_error = ENOSPC;
        loss_note(world, hand, object);
    } else if (there) {
        see(world, SIGHT_HAUL);
        shelf_add(hand, &copy);
        objects_put(world, hand, WIRE_HELD_MESSAGE, object);
    } else {
        haul_missed(world, hand, object);
    }
    lacking_look(world, who);
    hand_flush(world, who);
    hand_schedule(world, who);
}

// ---- Lies ---------------------------------------------------------------------------------------

// An object that somebody made and may still read, of the newest jobs. False: there is none.
static bool target_find(struct world *world, const struct hand *hand, struct copy *copy)
{
    enum { JOBS = 6 };
    uint32_t first = world->job_count > JOBS ? world->job_count - JOBS : 0, found = 0;
    for (uint32_t i = first; i < world->job_count; i++)
        for (uint32_t index = 1; index <= world->jobs[i]->count; index++) {
            rota_object_id object = ghost_object(i, index);
            wire_content content;
            bool known = rota_object_content(world->seat.server.rota, object, &content)
                         && rota_object_state(world->seat.server.rota, object)
                                == ROTA_OBJECT_FINISHED;
            if (!known || copy_find(hand, object) || choose(world, OF_LIES, ++found)) continue;
            *copy = (struct copy){.object = object, .content = content, .is_lie = true};
        }
    return found;
}

// It says that it holds what others make. Whoever asks is sent something else: with the right name,
// with another one than it says to the server, or it says that other one there, too.
void shelf_lie(struct world *world, uint32_t who)
{
    struct hand *hand = &world->hands[who];
    struct copy copy;
    if (!hand->up || !hand->welcome || !world->seat.up) return;
    if (!target_find(world, hand, &copy)) return;
    uint32_t how = choose(world, OF_LIES, 3);
    see(world, SIGHT_LIE);
    copy.is_false = how == 0;
    if (how == 2) copy.content = word_of("lie", who);
    shelf_add(hand, &copy);
    objects_put(world, hand, WIRE_HELD_MESSAGE, copy.object);
    if (how == 1) copy_find(hand, copy.object)->content = word_of("lie", who);
    hand_flush(world, who);
}
