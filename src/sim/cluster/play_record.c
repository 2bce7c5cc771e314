// play_record.c - the events that the core is given, as a play: each is written before the core
// gets it, so that it is there even if an assertion of the core fails.
//
// A server that crashes may lose turns, which the play must not contain: each turn begins with a
// mark, and a crash writes how many of them are left. sim_play_settle() removes the others, and the
// turns without events.
#include "sim/cluster/internal.h"

#include <inttypes.h>

#define TURN_MARK "#turn "
#define BACK_MARK "#back "
#define IDLE_MARK "#idle"
#define SAID_MARK "#said"
#define REFUSED_MARK "#refused"

void play_record_open(struct play_record *record, FILE *out, const struct rota_config *config)
{
    bool again = record->out;
    record->out = out;
    record->restarts = again;
    if (!out || again) return;
    fprintf(out,
            "config lease=%" PRId64 "us cache_timeout=%" PRId64 "us deps_timeout=%" PRId64
            "us overbook=%u bound=%u told_is_begun=%d plan_submit=%" PRId64
            "us plan_update=%" PRId64 "us plan_idle=%" PRId64 "us plan_work=%u seed=%" PRIu64 "\n",
            config->lease, config->cached_wait, config->inputs_wait, config->overbook,
            config->bound_max, config->told_is_begun, config->plan_submit, config->plan_update,
            config->plan_idle, config->plan_work, config->seed);
    record->first = INT64_MIN;
}

// The time of a new server may be earlier if its clock was set back. A play has one clock.
static void turn_begin(struct play_record *record, rota_time now, uint64_t turn)
{
    if (record->first == INT64_MIN) record->first = record->last = now;
    if (now > record->last) record->last = now;
    fprintf(record->out, TURN_MARK "%" PRIu64 "\nturn %" PRId64 "us\n", turn,
            record->last - record->first);
    if (record->restarts) fputs("restart\n", record->out);
    record->is_empty = !record->restarts;
    record->restarts = false;
    record->is_open = true;
}

static void turn_end(struct play_record *record)
{
    fputs("end\n", record->out);
    record->is_open = false;
}

// The last event was refused, and has changed nothing.
static void refusal_note(struct play_record *record)
{
    if (record->is_pending) fputs(REFUSED_MARK "\n", record->out);
    record->is_pending = false;
}

void play_record_comes(struct play_record *record, const struct rota_event *event, uint64_t turn,
                       uint32_t job)
{
    if (!record->out) return;
    refusal_note(record);
    if (!record->is_open) turn_begin(record, event->now, turn);
    record->is_pending = event->kind != ROTA_EVENT_TIME;
    if (record->is_pending) fputs(SAID_MARK "\n", record->out);
    if (!record->is_pending)
        turn_end(record);
    else if (!play_record_text(record->out, event, job))
        fprintf(record->out, "# no statement for event %d\n", (int)event->kind);
    fflush(record->out);
}

void play_record_taken(struct play_record *record, const struct rota_event *event)
{
    if (!record->out || event->kind == ROTA_EVENT_TIME) return;
    record->is_pending = record->is_empty = false;
    // The names of a submission are known at the end of its turn.
    if (event->kind == ROTA_EVENT_SUBMIT) turn_end(record);
}

void play_record_crash(struct play_record *record, uint64_t turns)
{
    if (!record->out) return;
    if (record->is_open) turn_end(record);
    record->is_pending = false;
    fprintf(record->out, BACK_MARK "%" PRIu64 "\n", turns);
    fflush(record->out);
}

void play_record_idle(struct play_record *record)
{
    if (record->out && record->is_empty) fputs(IDLE_MARK "\n", record->out);
}

// ---- Afterwards ---------------------------------------------------------------------------------

static bool begins_with(const char *line, const char *mark)
{
    return strncmp(line, mark, strlen(mark)) == 0;
}

// The beginning of the next turn.
static char *turn_find(char *text, char *end, uint64_t after)
{
    for (char *line = text; line < end; line = strchr(line, '\n') + 1) {
        bool later = begins_with(line, TURN_MARK)
                     && strtoull(line + strlen(TURN_MARK), NULL, 10) > after;
        if (later) return line;
    }
    return end;
}

static char *line_move(char *to, const char *line, const char *next)
{
    memmove(to, line, (size_t)(next - line));
    return to + (next - line);
}

// Removes events that did not happen or changed nothing.
static void marks_obey(char *text)
{
    char *end = text, *turn = text, *said = text;
    for (char *line = text, *next; (next = strchr(line, '\n')); line = next) {
        next++;  // a turn without an end was being written
        if (begins_with(line, TURN_MARK)) turn = end;
        if (begins_with(line, SAID_MARK)) said = end;
        if (begins_with(line, IDLE_MARK)) end = turn;
        else if (begins_with(line, REFUSED_MARK)) end = said;
        else if (begins_with(line, BACK_MARK))
            end = turn_find(text, end, strtoull(line + strlen(BACK_MARK), NULL, 10));
        else end = line_move(end, line, next);
    }
    *end = 0;
}

void sim_play_settle(char *text)
{
    char *end = text;
    bool is_open = false;
    marks_obey(text);
    for (char *line = text, *next; *line; line = next) {
        next = strchr(line, '\n') + 1;
        if (*line == '#') continue;
        is_open = begins_with(line, "turn ") || (is_open && !begins_with(line, "end"));
        end = line_move(end, line, next);
    }
    // There is room in place of the marks.
    *end = 0;
    if (is_open) memcpy(end, "end\n", sizeof "end\n");
}
