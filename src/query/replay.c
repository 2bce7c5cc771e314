// replay.c - replays the journal, and compares the result with the rows of the database.
#include "query/replay.h"

#include "base/base.h"
#include "store/line_buffer.h"

#include <stdlib.h>
#include <string.h>

enum { DIFFERENT_MAX = 20 };  // further differences are only counted

// The state of a task according to the journal. State 0: submitted, and not changed since.
struct told {
    rota_task_id id;
    uint32_t state, worker, attempt;
    int32_t status;
};

struct playing {
    struct replay *replay;
    FILE *out;
    struct memory memory;
    struct map by_task;  // index + 1
    struct told *told;
    uint32_t count, capacity;
    uint64_t next;       // sequence number of the next turn
    bool stops;
};

static void incomplete(struct playing *playing, const char *format, unsigned long long one,
                       unsigned long long other)
{
    struct replay *replay = playing->replay;
    if (replay->is_incomplete) return;
    replay->is_incomplete = playing->stops = true;
    snprintf(replay->reason, sizeof replay->reason, format, one, other);
}

static uint64_t key_of(rota_task_id id)
{
    return (uint64_t)id.job << 32 | id.task;
}

static struct told *told_find(struct playing *playing, rota_task_id id)
{
    uint32_t at = map_find(&playing->by_task, key_of(id));
    return at ? &playing->told[at - 1] : NULL;
}

static bool told_add(struct playing *playing, rota_task_id id)
{
    bool there = map_reserve(&playing->memory, &playing->by_task, 1)
                 && ARRAY_MORE(&playing->memory, playing->told, playing->count, playing->capacity);
    if (!there) return false;
    playing->told[playing->count++] = (struct told){.id = id};
    map_put(&playing->by_task, key_of(id), playing->count);
    return true;
}

// ---- Lines -------------------------------------------------------------------------------------

// Parses "job 7 gets 3 from 1".
static bool submission_make(struct playing *playing, const char *line)
{
    uint32_t job, count, first;
    if (sscanf(line, "job %u gets %u from %u", &job, &count, &first) != 3) return false;
    playing->replay->jobs += first == 1;
    playing->replay->tasks += count;
    for (uint32_t i = 0; i < count; i++)
        if (!told_add(playing, (rota_task_id){job, first + i}))
            incomplete(playing, "out of memory", 0, 0);
    return true;
}

// Parses the text after the state: " w4 exit 3 attempt 2", each part optional.
static bool rest_read(const char *text, struct told *told)
{
    int length;
    for (; *text && *text != '\n'; text += length) {
        length = 0;
        if (sscanf(text, " w%u%n", &told->worker, &length) == 1 && length) continue;
        if (sscanf(text, " exit %d%n", &told->status, &length) == 1 && length) continue;
        if (sscanf(text, " attempt %u%n", &told->attempt, &length) != 1 || !length) return false;
    }
    return true;
}

// Parses "7.3-9 RUNNING w4".
static bool change_make(struct playing *playing, const char *line, uint64_t sequence)
{
    struct told now = {.attempt = 1};
    uint32_t last;
    int length = 0;
    char state[24];
    if (sscanf(line, "%u.%u%n", &now.id.job, &now.id.task, &length) < 2) return false;
    line += length;
    last = now.id.task;
    if (sscanf(line, "-%u%n", &last, &length) == 1) line += length;
    if (sscanf(line, " %23[A-Z]%n", state, &length) != 1) return false;
    if (!word_find(words_state, state, &now.state) || !rest_read(line + length, &now)) return false;
    for (; now.id.task <= last; now.id.task++) {
        struct told *told = told_find(playing, now.id);
        playing->replay->changes++;
        if (told)
            *told = now;
        else
            incomplete(playing, "turn %llu changes a task of job %llu that was never submitted",
                       sequence, now.id.job);
    }
    return true;
}

static void line_make(struct playing *playing, const char *line, uint64_t sequence)
{
    uint32_t number;
    bool other = sscanf(line, "worker w%u ", &number) == 1;
    bool fine = other || submission_make(playing, line) || sscanf(line, "job %u ", &number) == 1
                || change_make(playing, line, sequence);
    if (!fine) incomplete(playing, "turn %llu has an invalid line", sequence, 0);
}

static bool turn_make(void *context, const struct store_turn *turn)
{
    struct playing *playing = context;
    if (turn->sequence != playing->next)
        incomplete(playing, "turns %llu to %llu are missing in the journal", playing->next,
                   turn->sequence - 1);
    playing->next = turn->sequence + 1;
    playing->replay->turns++;
    for (const char *line = turn->lines; line && *line && !playing->stops;) {
        line_make(playing, line, turn->sequence);
        line = strchr(line, '\n');
        if (line) line++;
    }
    return !playing->stops;
}

// ---- Comparison --------------------------------------------------------------------------------

static void differs(struct playing *playing, rota_task_id id, const char *rows, const char *journal)
{
    if (playing->replay->different++ < DIFFERENT_MAX)
        fprintf(playing->out, "task %u.%u: %s in its row, %s in the journal\n", id.job, id.task,
                rows, journal);
}

static void values_write(char out[80], uint32_t state, uint32_t worker, uint32_t attempt)
{
    const char *word = state ? word_of(words_state, state) : "never changed";
    int length = snprintf(out, 80, "%s, attempt %u", word, attempt);
    if (worker) snprintf(out + length, 80 - (size_t)length, " on w%u", worker);
}

// Sets the row to the state in the journal, and reports a difference.
static void row_replay(struct playing *playing, struct rota_record *row)
{
    const struct told *told = told_find(playing, row->task.id);
    char one[80], other[80];
    if (!told) return differs(playing, row->task.id, "there", "nowhere");
    // The journal omits a first attempt.
    uint32_t attempt = row->task.attempt ? row->task.attempt : 1;
    bool same = row->task.state == told->state && row->task.worker.number == told->worker
                && attempt == told->attempt;
    if (told->state && same && row->task.state == ROTA_TASK_FAILED)
        same = row->task.status == told->status;
    if (!same) {
        values_write(one, row->task.state, row->task.worker.number, attempt);
        values_write(other, told->state, told->worker, told->attempt);
        differs(playing, row->task.id, one, other);
    }
    row->task.state = (uint8_t)told->state;
    row->task.worker.number = told->worker;
    if (row->task.attempt || told->attempt > 1) row->task.attempt = told->attempt;
}

// The digest of a core restored from these rows; 0: the core refuses them.
static uint64_t digest_of(struct playing *playing, const struct rota_record *rows, uint32_t count)
{
    struct rota_config config = rota_config_default();
    struct rota_event event = {.kind = ROTA_EVENT_RESTORE};
    struct rota *rota;
    uint64_t digest = 0;
    event.restore.records = rows;
    event.restore.count = count;
    if (rota_open(&config, &rota)) return 0;
    if (rota_step(rota, &event) == ROTA_OK)
        digest = rota_digest(rota);
    else
        fprintf(playing->out, "the core refuses the rows: %s\n", rota_reason(rota));
    rota_close(rota);
    return digest;
}

static void rows_compare(struct playing *playing, const struct rota_record *rows, uint32_t count)
{
    struct rota_record *made = calloc(count ? count : 1, sizeof *made);
    if (!made) return incomplete(playing, "out of memory", 0, 0);
    if (count) memcpy(made, rows, count * sizeof *made);
    for (uint32_t i = 0; i < count; i++)
        if (made[i].kind == ROTA_RECORD_TASK) row_replay(playing, &made[i]);
    uint64_t stored = digest_of(playing, rows, count);
    bool same = stored && stored == digest_of(playing, made, count);
    if (!same && !playing->replay->different++)
        fputs("the state of the core differs between the rows and the journal\n", playing->out);
    free(made);
}

bool replay_journal(struct store *store, struct replay *replay, FILE *out)
{
    struct playing playing = {.replay = replay, .out = out, .next = 1};
    playing.memory = memory_heap;
    *replay = (struct replay){0};
    bool read = store_journal(store, 1, INT64_MAX, turn_make, &playing);
    if (read && !replay->turns) incomplete(&playing, "the database has no journal", 0, 0);
    if (read && !replay->is_incomplete) {
        uint32_t count;
        const struct rota_record *rows = store_rows(store, &count);
        read = rows || !store_error(store)->fault;
        if (read) rows_compare(&playing, rows, count);
        store_rows_release(store);
    }
    map_release(&playing.memory, &playing.by_task);
    free(playing.told);
    return read;
}
