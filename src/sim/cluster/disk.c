// disk.c - a store that writes turns first and makes them durable later; a crash may lose the turns
// between.
#include "store/sqlite/definition_rows.h"
#include "sim/cluster/internal.h"

struct written {  // one turn
    struct rota_record *records;
    uint32_t count, capacity;
};

struct answer {
    uint64_t turn;
    uint8_t id[16];
    uint64_t hash;
    uint32_t refusal;
    char text[160];
};

struct body {
    uint64_t turn;
    rota_job_id job;
    uint32_t number, version, length;
    char *bytes;
};

struct given {  // an attempt given to a worker
    uint64_t turn;
    rota_task_id task;
    uint32_t attempt, worker;
};

struct name {
    uint64_t turn;
    enum catalog_kind kind;
    uint32_t number;
    char text[32];
};

struct disk {
    struct store store;
    struct sim *sim;
    struct store *live, *safe;  // as readers see it; as a crash leaves it
    struct written *turns;      // not durable; the last one is in progress
    uint32_t turn_count, turn_capacity;
    uint64_t durable;
    rota_time now;  // of the turn in progress
    struct answer *answers;
    struct body *bodies;
    struct name *names;
    struct given *given;
    struct journal journal;  // turn N has index N - 1
    enum disk_copy why;      // the reason for the copy, if there is one
    struct store *copied;    // its rows
    uint64_t copied_turn;    // the last turn in it
    uint32_t answer_count, answer_capacity, body_count, body_capacity, name_count, name_capacity;
    uint32_t given_count, given_capacity;
};

static struct disk *of(struct store *store)
{
    return (struct disk *)store;
}

// The number of the turn in progress.
static uint64_t making(const struct disk *disk)
{
    return disk->durable + disk->turn_count;
}

static void turn_add(struct disk *disk)
{
    *SIM_NEW(disk->turns, disk->turn_count, disk->turn_capacity) = (struct written){0};
}

static void turn_free(struct written *turn)
{
    for (uint32_t i = 0; i < turn->count; i++)
        if (turn->records[i].kind == ROTA_RECORD_SUBMIT && !turn->records[i].gone)
            store_spec_free(turn->records[i].submit.spec);
    free(turn->records);
}

static void copy(struct store *to, struct store *from)
{
    uint32_t count;
    const struct rota_record *rows = store_rows(from, &count);
    store_put(to, NULL, rows, count);
    store_rows_release(from);
}

// ---- A turn ------------------------------------------------------------------------------------

static void disk_begin(struct store *store, rota_time now)
{
    of(store)->now = now;
}

static void given_note(struct disk *disk, const struct rota_record *record)
{
    if (record->kind != ROTA_RECORD_TASK || record->gone || !record->task.worker.number) return;
    *SIM_NEW(disk->given, disk->given_count, disk->given_capacity)
        = (struct given){.turn = making(disk),
                         .task = record->task.id,
                         .attempt = record->task.attempt,
                         .worker = record->task.worker.number};
}

static rota_worker_id disk_attempt_given(struct store *store, rota_task_id task, uint32_t attempt)
{
    const struct disk *disk = of(store);
    for (uint32_t i = disk->given_count; i--;) {
        const struct given *given = &disk->given[i];
        if (SAME_TASK(given->task, task) && given->attempt == attempt)
            return (rota_worker_id){given->worker};
    }
    return (rota_worker_id){0};
}

static void disk_put(struct store *store, const struct rota *rota,
                     const struct rota_record *records, uint32_t count)
{
    struct disk *disk = of(store);
    struct written *turn = &disk->turns[disk->turn_count - 1];
    store_put(disk->live, rota, records, count);
    for (uint32_t i = 0; i < count; i++) {
        journal_add(&disk->journal, making(disk) - 1, &records[i]);
        given_note(disk, &records[i]);
        struct rota_record *record = SIM_NEW(turn->records, turn->count, turn->capacity);
        *record = records[i];
        if (record->kind == ROTA_RECORD_SUBMIT && !record->gone)
            record->submit.spec = store_spec_copy(record->submit.spec);
    }
}

static void disk_answer(struct store *store, const struct store_request *request)
{
    struct disk *disk = of(store);
    struct answer *answer = SIM_NEW(disk->answers, disk->answer_count, disk->answer_capacity);
    *answer = (struct answer){
        .turn = making(disk), .hash = request->body_hash, .refusal = request->refusal};
    memcpy(answer->id, request->id, sizeof answer->id);
    snprintf(answer->text, sizeof answer->text, "%s", request->answer);
}

static bool disk_answer_find(struct store *store, struct store_request *request)
{
    struct disk *disk = of(store);
    for (uint32_t i = disk->answer_count; i--;) {
        if (memcmp(disk->answers[i].id, request->id, sizeof request->id) != 0) continue;
        request->body_hash = disk->answers[i].hash;
        request->refusal = disk->answers[i].refusal;
        request->answer = disk->answers[i].text;
        return true;
    }
    return false;
}

static void disk_body(struct store *store, const struct store_body *body)
{
    struct disk *disk = of(store);
    char *bytes = sim_allocate(body->length, 1);
    memcpy(bytes, body->bytes, body->length);
    *SIM_NEW(disk->bodies, disk->body_count, disk->body_capacity)
        = (struct body){making(disk), body->job, body->number, body->version, body->length, bytes};
}

static bool disk_bodies(struct store *store, rota_job_id job, store_body_fn *take, void *context)
{
    struct disk *disk = of(store);
    for (uint32_t i = 0; i < disk->body_count; i++) {
        const struct body *body = &disk->bodies[i];
        struct store_body told = {job, body->number, body->bytes, body->length, body->version};
        if (body->job.number == job.number && !take(context, &told)) return false;
    }
    return true;
}

static void disk_name(struct store *store, const struct catalog_name *name)
{
    struct disk *disk = of(store);
    struct name *row = SIM_NEW(disk->names, disk->name_count, disk->name_capacity);
    *row = (struct name){.turn = making(disk), .kind = name->kind, .number = name->number};
    snprintf(row->text, sizeof row->text, "%s", name->name);
}

static bool disk_catalog(struct store *store, struct catalog_rows *rows)
{
    struct disk *disk = of(store);
    for (uint32_t i = 0; i < disk->name_count; i++) {
        const struct name *name = &disk->names[i];
        char *text = sim_allocate(sizeof name->text, 1);
        memcpy(text, name->text, sizeof name->text);
        *SIM_NEW(rows->names, rows->name_count, rows->name_capacity)
            = (struct catalog_name){name->kind, name->number, text};
    }
    return true;
}

static uint64_t disk_commit_write(struct store *store)
{
    struct disk *disk = of(store);
    const struct setting *setting = &disk->sim->setting;
    if (!disk->sim->is_clear && chance(disk->sim, OF_DISK, setting->write_fails)) {
        see(disk->sim, SIGHT_WRITE_FAILED);
        store_fail(&store->error, STORE_BROKEN, "the disk fails");
        return 0;
    }
    journal_written(&disk->journal, making(disk) - 1, disk->now);
    turn_add(disk);
    return making(disk) - 1;
}

void disk_sync(struct store *store, uint64_t turn)
{
    struct disk *disk = of(store);
    uint32_t done = 0;
    for (; disk->durable < turn; disk->durable++, done++) {
        store_put(disk->safe, NULL, disk->turns[done].records, disk->turns[done].count);
        turn_free(&disk->turns[done]);
    }
    disk->turn_count -= done;
    memmove(disk->turns, disk->turns + done, disk->turn_count * sizeof *disk->turns);
}

static bool disk_commit(struct store *store)
{
    uint64_t turn = disk_commit_write(store);
    if (turn) disk_sync(store, turn);
    return turn;
}

static uint64_t disk_settled(struct store *store)
{
    return of(store)->durable;
}

uint64_t disk_written(const struct store *store)
{
    return making((const struct disk *)store) - 1;
}

static bool disk_is_full(const struct store *store)
{
    const struct sim *sim = ((const struct disk *)store)->sim;
    return sim->now < sim->full_until;
}

// ---- Crashes -----------------------------------------------------------------------------------

static void bodies_cut(struct disk *disk, uint64_t last)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < disk->body_count; i++) {
        if (disk->bodies[i].turn <= last)
            disk->bodies[kept++] = disk->bodies[i];
        else
            free(disk->bodies[i].bytes);
    }
    disk->body_count = kept;
}

// Only the durable turns are left.
static void disk_begin_again(struct disk *disk)
{
    while (disk->turn_count) turn_free(&disk->turns[--disk->turn_count]);
    while (disk->answer_count && disk->answers[disk->answer_count - 1].turn > disk->durable)
        disk->answer_count--;
    while (disk->name_count && disk->names[disk->name_count - 1].turn > disk->durable)
        disk->name_count--;
    while (disk->given_count && disk->given[disk->given_count - 1].turn > disk->durable)
        disk->given_count--;
    bodies_cut(disk, disk->durable);
    journal_cut(&disk->journal, disk->durable - 1);
    store_close(disk->live);
    disk->live = store_open_memory();
    copy(disk->live, disk->safe);
    turn_add(disk);
}

void disk_crash(struct store *store)
{
    struct disk *disk = of(store);
    uint32_t written = disk->turn_count - 1;
    uint32_t lost = written ? choose(disk->sim, OF_DISK, written + 1) : 0;
    if (lost) see(disk->sim, SIGHT_SERVER_LOST_TURNS);
    if (written > lost) see(disk->sim, SIGHT_SERVER_KEPT_TURNS);
    disk_sync(store, disk->durable + written - lost);
    disk_begin_again(disk);
    store->error = (struct store_error){0};
}

// ---- Copies ------------------------------------------------------------------------------------

enum disk_copy disk_copy_of(const struct store *store)
{
    return ((const struct disk *)store)->why;
}

void disk_copy_make(struct store *store, enum disk_copy why)
{
    struct disk *disk = of(store);
    disk_copy_drop(store);
    disk->why = why;
    disk->copied = store_open_memory();
    disk->copied_turn = disk->durable;
    copy(disk->copied, disk->safe);
}

void disk_copy_back(struct store *store)
{
    struct disk *disk = of(store);
    store_close(disk->safe);
    disk->safe = store_open_memory();
    copy(disk->safe, disk->copied);
    disk->durable = disk->copied_turn;
    disk_begin_again(disk);
}

void disk_copy_drop(struct store *store)
{
    struct disk *disk = of(store);
    store_close(disk->copied);
    disk->copied = NULL;
    disk->why = COPY_NONE;
}

// A server that notices the deletion saves its data, so nothing is lost.
static bool disk_check(struct store *store)
{
    if (of(store)->why != COPY_LOST) return true;
    disk_copy_drop(store);
    store_fail(&store->error, STORE_BROKEN, "the files were deleted");
    return false;
}

// ---- The store ---------------------------------------------------------------------------------

static const struct rota_record *disk_rows(struct store *store, uint32_t *count)
{
    return store_rows(of(store)->live, count);
}

static void disk_rows_release(struct store *store)
{
    store_rows_release(of(store)->live);
}

static void disk_close(struct store *store)
{
    struct disk *disk = of(store);
    while (disk->turn_count) turn_free(&disk->turns[--disk->turn_count]);
    bodies_cut(disk, 0);
    journal_release(&disk->journal);
    store_close(disk->live);
    store_close(disk->safe);
    store_close(disk->copied);
    free(disk->turns), free(disk->answers), free(disk->bodies), free(disk->names);
    free(disk->given);
    free(disk);
}

struct journal *disk_journal(struct store *store)
{
    return &of(store)->journal;
}

uint64_t disk_journal_durable(struct store *store)
{
    return of(store)->durable - 1;
}

static uint64_t disk_journal_last(const struct store *store)
{
    return making((const struct disk *)store) - 2;
}

static bool disk_journal_tell(struct store *store, uint64_t first, uint64_t last,
                              store_turn_fn *take, void *context)
{
    return journal_tell(&of(store)->journal, first, last, take, context);
}

static const struct store_kind disk_kind = {
    .close = disk_close,
    .begin = disk_begin,
    .answer = disk_answer,
    .body = disk_body,
    .put = disk_put,
    .commit = disk_commit,
    .commit_write = disk_commit_write,
    .settled = disk_settled,
    .is_full = disk_is_full,
    .check = disk_check,
    .rows = disk_rows,
    .rows_release = disk_rows_release,
    .attempt_given = disk_attempt_given,
    .bodies = disk_bodies,
    .answer_find = disk_answer_find,
    .journal_last = disk_journal_last,
    .journal = disk_journal_tell,
    .name = disk_name,
    .catalog = disk_catalog,
};

struct store *disk_open(struct sim *sim)
{
    struct disk *disk = sim_allocate(1, sizeof *disk);
    disk->store.kind = &disk_kind;
    disk->sim = sim;
    disk->live = store_open_memory();
    disk->safe = store_open_memory();
    disk->durable = 1;  // turns are numbered from 1; 0 means failure
    turn_add(disk);
    return &disk->store;
}
