// play_record.c - what the core is told, as a play: written down before the core hears it, so that
// it is there also when the core stops the program.
//
// A server that crashes may lose turns, which the play must not have: each turn begins with a mark,
// and a crash says which of them are left. world_play_settle() takes the others out, and those in
// which nothing happened.
#include "sim/cluster/internal.h"

#include <inttypes.h>

#define TURN_MARK "#turn "
#define BACK_MARK "#back "
#define IDLE_MARK "#idle"
#define SAID_MARK "#said"
#define REFUSED_MARK "#refused"

void story_open(struct story *story, FILE *out, const struct rota_config *config)
{
    bool again = story->out;
    story->out = out;
    story->restarts = again;
    if (!out || again) return;
    fprintf(out,
            "config lease=%" PRId64 "us cache_timeout=%" PRId64 "us deps_timeout=%" PRId64
            "us overbook=%u bound=%u told_is_begun=%d plan_submit=%" PRId64
            "us plan_update=%" PRId64 "us plan_idle=%" PRId64 "us plan_work=%u seed=%" PRIu64 "\n",
            config->lease, config->cached_wait, config->inputs_wait, config->overbook,
            config->bound_max, config->told_is_begun, config->plan_submit, config->plan_update,
            config->plan_idle, config->plan_work, config->seed);
    story->first = INT64_MIN;
}

// The time of a new server may be earlier, if somebody has set its clock back. A play has one time.
static void turn_begin(struct story *story, rota_time now, uint64_t turn)
{
    if (story->first == INT64_MIN) story->first = story->last = now;
    if (now > story->last) story->last = now;
    fprintf(story->out, TURN_MARK "%" PRIu64 "\nturn %" PRId64 "us\n", turn,
            story->last - story->first);
    if (story->restarts) fputs("restart\n", story->out);
    story->is_empty = !story->restarts;
    story->restarts = false;
    story->is_open = true;
}

static void turn_end(struct story *story)
{
    fputs("end\n", story->out);
    story->is_open = false;
}

// The last one was refused, and has changed nothing.
static void refusal_note(struct story *story)
{
    if (story->is_pending) fputs(REFUSED_MARK "\n", story->out);
    story->is_pending = false;
}

void story_comes(struct story *story, const struct rota_event *event, uint64_t turn, uint32_t job)
{
    if (!story->out) return;
    refusal_note(story);
    if (!story->is_open) turn_begin(story, event->now, turn);
    story->is_pending = event->kind != ROTA_EVENT_TIME;
    if (story->is_pending) fputs(SAID_MARK "\n", story->out);
    if (!story->is_pending)
        turn_end(story);
    else if (!story_words(story->out, event, job))
        fprintf(story->out, "# nothing says event %d\n", (int)event->kind);
    fflush(story->out);
}

void story_taken(struct story *story, const struct rota_event *event)
{
    if (!story->out || event->kind == ROTA_EVENT_TIME) return;
    story->is_pending = story->is_empty = false;
    // The names of a submission are known when its turn is over.
    if (event->kind == ROTA_EVENT_SUBMIT) turn_end(story);
}

void story_crash(struct story *story, uint64_t turns)
{
    if (!story->out) return;
    if (story->is_open) turn_end(story);
    story->is_pending = false;
    fprintf(story->out, BACK_MARK "%" PRIu64 "\n", turns);
    fflush(story->out);
}

void story_idle(struct story *story)
{
    if (story->out && story->is_empty) fputs(IDLE_MARK "\n", story->out);
}

// ---- Afterwards ---------------------------------------------------------------------------------

static bool begins_with(const char *line, const char *mark)
{
    return strncmp(line, mark, strlen(mark)) == 0;
}

// Where the first turn behind this one begins.
static char *turn_find(char *text, char *end, uint64_t behind)
{
    for (char *line = text; line < end; line = strchr(line, '\n') + 1) {
        bool later = begins_with(line, TURN_MARK)
                     && strtoull(line + strlen(TURN_MARK), NULL, 10) > behind;
        if (later) return line;
    }
    return end;
}

static char *line_move(char *to, const char *line, const char *next)
{
    memmove(to, line, (size_t)(next - line));
    return to + (next - line);
}

// What did not happen, or changed nothing, is left out.
static void marks_obey(char *text)
{
    char *end = text, *turn = text, *said = text;
    for (char *line = text, *next; (next = strchr(line, '\n')); line = next) {
        next++;  // what has no end was being written
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

void world_play_settle(char *text)
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
    // There is room where the marks were.
    *end = 0;
    if (is_open) memcpy(end, "end\n", sizeof "end\n");
}
