// journal.c - what turns changed, one line each, for clients that follow the events; and judges of
// what those clients are sent.
#include "sim/cluster/internal.h"

enum { LINE_MAX = 80 };

// ---- Writing ------------------------------------------------------------------------------------

static struct journal_turn *turn_get(struct journal *journal, uint64_t sequence)
{
    while (journal->count < sequence) {
        *SIM_NEW(journal->turns, journal->count, journal->capacity) = (struct journal_turn){0};
    }
    return &journal->turns[sequence - 1];
}

void journal_add(struct journal *journal, uint64_t sequence, const struct rota_record *record)
{
    struct journal_turn *turn = turn_get(journal, sequence);
    if (record->kind != ROTA_RECORD_TASK || record->gone) return;
    while (turn->capacity < turn->length + LINE_MAX)
        sim_reserve(&turn->text, &turn->capacity, turn->capacity, 1);
    turn->length += (uint32_t)snprintf(turn->text + turn->length, LINE_MAX, "%u.%u %s\n",
                                       record->task.id.job, record->task.id.task,
                                       rota_task_state_name(record->task.state));
}

void journal_written(struct journal *journal, uint64_t sequence, rota_time at)
{
    turn_get(journal, sequence)->at = at;
}

void journal_cut(struct journal *journal, uint64_t last)
{
    while (journal->count > last) free(journal->turns[--journal->count].text);
}

bool journal_tell(struct journal *journal, uint64_t first, uint64_t last, store_turn_fn *take,
                  void *context)
{
    for (uint64_t i = first; i <= last; i++) {
        const struct journal_turn *turn = turn_get(journal, i);
        struct store_turn told
            = {.sequence = i, .at = turn->at, .lines = turn->text ? turn->text : ""};
        if (!take(context, &told)) break;
    }
    return true;
}

void journal_release(struct journal *journal)
{
    journal_cut(journal, 0);
    free(journal->turns);
}

// ---- Judging ------------------------------------------------------------------------------------

// The line with that number, from 0. Null: there are fewer.
static const char *line_find(const struct journal_turn *turn, uint32_t number)
{
    const char *line = turn->text;
    for (; line && *line && number; number--) line = strchr(line, '\n') + 1;
    return line && *line ? line : NULL;
}

// The line after the last one that was sent. Null: there is no more.
static const char *next_find(const struct journal *journal, struct journal_place *place)
{
    for (uint64_t i = place->sequence ? place->sequence : 1; i <= journal->count; i++) {
        if (i != place->sequence) *place = (struct journal_place){i, 0};
        const char *line = line_find(&journal->turns[i - 1], place->line);
        if (!line) continue;
        place->line++;
        return line;
    }
    return NULL;
}

// Each event in order, none omitted, none repeated, also across connections and servers.
void judge_followed(struct sim *sim, struct journal_place *last, const struct wire_event *event)
{
    if (event->kind == WIRE_EVENT_BEGIN) return;
    char told[LINE_MAX];
    const char *line = next_find(disk_journal(sim->daemon.store), last);
    snprintf(told, sizeof told, "%u.%u %s\n", event->task.job, event->task.task,
             event->state.bytes);
    bool same = event->kind == WIRE_EVENT_TASK && line && strncmp(line, told, strlen(told)) == 0
                && event->sequence == last->sequence && event->place == last->line;
    see(sim, SIGHT_EVENT);
    if (!same)
        wrong(sim, "a client that follows gets event %llu.%u, and %llu.%u is next",
              (unsigned long long)event->sequence, event->place,
              (unsigned long long)last->sequence, last->line);
}

void judge_event(struct sim *sim, const struct wire_event *event)
{
    if (event->sequence > disk_journal_durable(sim->daemon.store))
        wrong(sim, "a client that follows gets turn %llu, which is not durable",
              (unsigned long long)event->sequence);
}
