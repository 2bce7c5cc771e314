// allocator.c - stages tasks that are due: queries each calendar, and stores its answer with the
// staging.
#include "server/definitions/definitions.h"
#include "job/calendar/calendar.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ENDS_MAX = 4096 };
static const rota_time minute = 60000000;

// ---- Calendars -----------------------------------------------------------------------

static bool no_memory(struct allocator *allocator)
{
    snprintf(allocator->server->reason, sizeof allocator->server->reason,
             "out of memory for the calendars");
    return false;
}

// A time zone that existed when the definition was made may be missing now: then the task does not
// run, and the caller is told.
static bool zone_find(struct allocator *allocator, struct schedule *schedule)
{
    const char *name = schedule->entry->what.schedule.zone, *reason = "";
    if (!name || !*name) return true;
    schedule->zone = allocator->zone_read(name, &reason);
    schedule->calendar.zone = schedule->zone;
    if (schedule->zone) return true;
    snprintf(allocator->server->reason, sizeof allocator->server->reason, "%.60s: zone %.60s %s",
             schedule->entry->what.name, name, reason);
    return false;
}

static bool schedule_add(struct allocator *allocator, struct entry *entry)
{
    struct schedule schedule = {.entry = entry, .look_at = INT64_MIN, .ended = CALENDAR_NONE};
    struct calendar_error error;
    bool parsed = calendar_parse(&entry->what.schedule, &schedule.calendar, &error);
    if (!parsed || schedule.calendar.kind == CALENDAR_MANUAL) return true;
    schedule.rules.overlap = (enum calendar_overlap)entry->what.overlap;
    schedule.rules.catch_up = (enum calendar_catch_up)entry->what.catch_up;
    if (!zone_find(allocator, &schedule)) return false;
    allocator->schedules[allocator->count++] = schedule;
    return true;
}

static bool belongs_to(const struct entry *member, const struct entry *bundle)
{
    return member->what.parent && strcmp(member->what.parent, bundle->what.name) == 0;
}

// A bundle ends with its members.
static void task_ended(struct allocator *allocator, rota_task_id task, rota_time ended)
{
    const struct entry *entry = catalog_find_task(&allocator->catalog, task);
    for (uint32_t i = 0; i < allocator->count && entry; i++) {
        struct schedule *schedule = &allocator->schedules[i];
        bool it = schedule->entry == entry || belongs_to(entry, schedule->entry);
        if (it && ended > schedule->ended) schedule->ended = ended;
    }
}

// A task that ended in this minute is not staged in it again, even if it ended before a restart.
static bool ends_read(struct allocator *allocator, rota_time now)
{
    struct catalog_end *ends = malloc(ENDS_MAX * sizeof *ends);
    if (!ends) return no_memory(allocator);
    uint32_t count = store_ends(allocator->server->store, now - minute, ends, ENDS_MAX);
    for (uint32_t i = 0; i < count; i++) task_ended(allocator, ends[i].task, ends[i].ended);
    free(ends);
    return true;
}

bool allocator_open(struct allocator *allocator, struct server *server, rota_time now,
                    zone_read_fn *zone_read)
{
    *allocator = (struct allocator){.server = server, .zone_read = zone_read};
    if (!catalog_open(&allocator->catalog, server)) return false;
    uint32_t count = allocator->catalog.count;
    allocator->schedules = calloc((size_t)count + 1, sizeof *allocator->schedules);
    if (!allocator->schedules) return no_memory(allocator);
    for (uint32_t i = 0; i < count; i++)
        if (!schedule_add(allocator, &allocator->catalog.entries[i])) return false;
    for (uint32_t i = 0; i < count; i++) {
        struct entry *entry = &allocator->catalog.entries[i];
        entry->active = task_is_active(server, entry->task);
    }
    return ends_read(allocator, now);
}

void allocator_close(struct allocator *allocator)
{
    for (uint32_t i = 0; i < allocator->count; i++) zone_close(allocator->schedules[i].zone);
    free(allocator->schedules);
    catalog_close(&allocator->catalog);
    *allocator = (struct allocator){0};
}

// ---- Staging -------------------------------------------------------------------------

static bool state_differs(const struct calendar_state *left, const struct calendar_state *right)
{
    return left->settled != right->settled || left->remembered != right->remembered;
}

static void task_stage(struct allocator *allocator, struct schedule *schedule, rota_time firing)
{
    struct server *server = allocator->server;
    struct rota_event event = {.kind = ROTA_EVENT_STAGE};
    event.task.task = schedule->entry->task;
    // The core refuses a frozen definition: the run is skipped, as for a task that does not exist.
    schedule->fired = server_step(server, &event) == ROTA_OK;
    if (!schedule->fired) return;
    schedule->entry->active = true;
    store_fired(server->store, schedule->entry->task, firing);
}

static void schedule_look(struct allocator *allocator, struct schedule *schedule)
{
    struct server *server = allocator->server;
    struct entry *entry = schedule->entry;
    struct calendar_situation situation = {.now = server->now,
                                           .ended = schedule->ended,
                                           .active = task_is_active(server, entry->task)};
    struct calendar_decision decision
        = calendar_decide(&schedule->calendar, &entry->state, &schedule->rules, &situation);
    schedule->look_at = decision.look_at;
    if (decision.verdict == CALENDAR_STAGE) {
        if (store_is_full(server->store)) {  // nothing was stored: the run was missed
            schedule->look_at = server->now + minute;
            return;
        }
        task_stage(allocator, schedule, decision.firing);
    }
    if (state_differs(&entry->state, &decision.state))
        store_put_calendar(server->store, entry->task, &decision.state);
    entry->state = decision.state;
}

void allocator_stage(struct allocator *allocator)
{
    for (uint32_t i = 0; i < allocator->count; i++) {
        struct schedule *schedule = &allocator->schedules[i];
        bool waits = schedule->entry->state.remembered != CALENDAR_NONE;
        schedule->fired = false;
        if (waits || schedule->look_at <= allocator->server->now)
            schedule_look(allocator, schedule);
    }
}

void allocator_note_ends(struct allocator *allocator)
{
    const struct server *server = allocator->server;
    for (uint32_t i = 0; i < allocator->catalog.count; i++) {
        struct entry *entry = &allocator->catalog.entries[i];
        bool bundle = entry->what.type == DEFINITION_BUNDLE;
        bool active = task_is_active(server, entry->task);
        entry->ended = bundle && entry->active && !active;  // a bundle has no confirmation
        entry->active = active;
    }
    for (uint32_t i = 0; i < server->action_count; i++) {
        const struct rota_action *action = &server->actions[i];
        if (action->kind != ROTA_ACTION_CONFIRM) continue;
        struct entry *entry = catalog_find_task(&allocator->catalog, action->confirm.task);
        if (entry) entry->ended = true;
        task_ended(allocator, action->confirm.task, server->now);
    }
}

rota_time allocator_look_at(const struct allocator *allocator)
{
    rota_time soonest = ROTA_NEVER;
    for (uint32_t i = 0; i < allocator->count; i++)
        if (allocator->schedules[i].look_at < soonest) soonest = allocator->schedules[i].look_at;
    return soonest;
}
