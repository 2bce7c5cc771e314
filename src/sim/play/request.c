// request.c - statements as requests: each is carried out once, however often its play is run.
//
// The answer is written in the first turn with effects of the statement, and acknowledged when the
// core has nothing more to do. A recorded statement is only repeated, and gives the same answer.
#include "sim/play/internal.h"

#include "base/base.h"

#include <inttypes.h>
#include <string.h>

static uint64_t text_hash(uint64_t hash, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) hash = hash_mix(hash, (unsigned char)text[i]);
    return hash;
}

// The folder does not matter, so that a play can be run from anywhere.
static void id_fill(const struct play *play, uint8_t id[16])
{
    const char *slash = strrchr(play->file, '/'), *name = slash ? slash + 1 : play->file;
    for (uint64_t half = 0; half < 2; half++) {
        uint64_t hash = hash_mix(text_hash(half + 1, name, strlen(name)), play->line);
        memcpy(id + half * 8, &hash, 8);
    }
}

void request_read_line(struct play *play)
{
    play->body = text_hash(play->body, play->line_text, strcspn(play->line_text, "\r\n"));
}

// ---- Recorded statements ------------------------------------------------------------------------

static void rehearse(struct play *play, const struct store_request *found)
{
    struct request *request = &play->request;
    request->again = true;
    snprintf(request->recorded, sizeof request->recorded, "%s", found->answer);
    if (found->body_hash == request->body) return;
    play_wrong(play, "on record is another statement, or other lines before it");
}

void request_begin(struct play *play)
{
    struct request *request = &play->request;
    if (!play->options.database) return;
    *request = (struct request){.open = true, .body = play->body};
    id_fill(play, request->id);
    struct store_request found = {.answer = NULL};
    memcpy(found.id, request->id, sizeof found.id);
    bool known = store_answer_find(play->lasting ? play->lasting : play->store, &found);
    if (known && play->lasting)
        rehearse(play, &found);
    else if (known)
        play_wrong(play, "it is on record, but an earlier statement is not");
    else if (play->lasting)
        play_wrong(play, "the database belongs to another play");
}

// ---- Answers ---------------------------------------------------------------

void request_answer(struct play *play)
{
    struct request *request = &play->request;
    if (!request->open || request->stored) return;
    rota_time over = request->until ? request->until : play->now;
    snprintf(request->answer, sizeof request->answer, "%" PRIu32 " %s %" PRId64, play->line,
             play->answer ? rota_error_name(play->answer) : "ok", over);
    struct store_request answer = {.body_hash = request->body, .answer = request->answer};
    memcpy(answer.id, request->id, sizeof answer.id);
    store_answer(play->store, &answer);
    request->stored = true;
}

void request_end(struct play *play)
{
    struct request *request = &play->request;
    bool done = request->open && request->stored && play->halt != PLAY_STOPS;
    request->open = false;
    if (!done) return;
    if (request->again && strcmp(request->answer, request->recorded) != 0) {
        play_fail(play, request->recorded, request->answer);
    }
    fprintf(play->out, "%s %" PRIu32 "\n", request->again ? "again" : "ok", play->line);
    bool last = request->again && --play->on_record == 0;
    if (!request->again || last) fflush(play->out);
    if (last) again_catch_up(play);
}
