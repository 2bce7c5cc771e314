// resume.c - resumes an interrupted play from its database.
//
// Recorded statements are first repeated with a separate core, so that the play knows again what
// its clients and workers know; those survive the end of the program. Then the core is built from
// the rows in the database. Messages may have been lost: workers are told again what they should
// run, and the last statement is completed. The result must equal that of the repeated statements.
#include "base/base.h"
#include "store/sqlite/open.h"
#include "sim/play/internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- Opening ---------------------------------------------------------------

static bool number_ask(const struct play *play, const char *sql, uint64_t *number)
{
    struct strings rows = {0};
    struct store_error error;
    bool answered = sql_ask(play, sql, &rows, &error);
    answered = answered && rows.count == 1 && number_parse(rows.items[0], INT64_MAX, number);
    strings_release(&rows);
    return answered;
}

static struct store *file_open(struct play *play, struct store_error *error)
{
    struct store_options options = store_options_default();
    options.ballast_bytes = 0;  // a play ends when its disk is full
    if (play->options.log_pages) options.wal_pages = play->options.log_pages;
    return store_open_sqlite(play->options.database, &options, error);
}

// Rows without a request were not made by a play.
static bool is_foreign(struct play *play)
{
    uint32_t count = 0;
    store_rows(play->lasting, &count);
    store_rows_release(play->lasting);
    return count > 0 && !play->on_record;
}

enum play_result again_open(struct play *play)
{
    struct store_error error;
    if (!play->options.database) return PLAY_PASSED;
    play->lasting = file_open(play, &error);
    if (!play->lasting) {
        fprintf(play->out, "%s\n", error.text);
        return (enum play_result)store_exit_status(&error);
    }
    if (!number_ask(play, "SELECT count(*) FROM sched_request", &play->on_record)
        || is_foreign(play)) {
        fprintf(play->out, "%s: the database was not made by a play (name a new file)\n",
                play->options.database);
        return PLAY_WRONG;
    }
    if (play->on_record) return PLAY_PASSED;
    store_close(play->store);
    play->store = play->lasting;
    play->lasting = NULL;
    return PLAY_PASSED;
}

void again_end(struct play *play)
{
    if (play->lasting) play_wrong(play, "the database has more on record than this play says");
}

// ---- Workers are told again ------------------------------------------------

struct current {
    uint32_t worker;
    struct play_run run;
};

static uint32_t currents_list(const struct play *play, struct current **list)
{
    uint32_t count = rota_list(play->rota, ROTA_LIST_EXEC, (rota_worker_id){0}, NULL, 0);
    rota_task_id *tasks = array_resize(NULL, count, sizeof *tasks);
    *list = array_resize(NULL, count, sizeof **list);
    count = rota_list(play->rota, ROTA_LIST_EXEC, (rota_worker_id){0}, tasks, count);
    for (uint32_t i = 0; i < count; i++) {
        struct rota_task_view view;
        rota_task_look(play->rota, tasks[i], &view);
        (*list)[i] = (struct current){
            .worker = view.worker.number,
            .run = {.task = view.run_as.task ? view.run_as : tasks[i],
                    .attempt = view.attempt,
                    .started = view.state == ROTA_TASK_RUNNING},
        };
    }
    free(tasks);
    return count;
}

static bool is_same_run(const struct play_run *left, const struct play_run *right)
{
    return SAME_TASK(left->task, right->task) && left->attempt == right->attempt;
}

static const struct play_run *current_find(const struct current *list, uint32_t count,
                                           uint32_t worker, const struct play_run *run)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i].worker == worker && is_same_run(&list[i].run, run)) return &list[i].run;
    }
    return NULL;
}

// It keeps the tasks that the core knows, in its own order. A silent worker hears nothing, and
// keeps running tasks that were taken from it.
static void runs_keep(struct play_worker *worker, uint32_t number, const struct current *list,
                      uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < worker->run_count; i++) {
        struct play_run run = worker->runs[i];
        const struct play_run *known = current_find(list, count, number, &run);
        if (known) run.started = known->started;
        if (known || worker->silent) worker->runs[kept++] = run;
    }
    worker->run_count = kept;
}

static void run_add(struct play_worker *worker, const struct play_run *run)
{
    for (uint32_t i = 0; i < worker->run_count; i++) {
        if (is_same_run(&worker->runs[i], run)) return;
    }
    ARRAY_GROW(worker->runs, worker->run_count, worker->run_capacity);
    worker->runs[worker->run_count++] = *run;
}

static void workers_tell_again(struct play *play)
{
    struct current *list;
    uint32_t count = currents_list(play, &list);
    for (uint32_t number = 1; number < play->worker_capacity; number++) {
        runs_keep(&play->workers[number], number, list, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        uint32_t number = list[i].worker;
        if (number && number < play->worker_capacity) {
            run_add(&play->workers[number], &list[i].run);
        }
    }
    free(list);
}

// ---- Comparing the results ----------------------------------------------------------------------

static void task_write(const struct play *play, const struct rota *rota, rota_task_id id, char *out,
                       size_t size)
{
    struct rota_task_view view = {0};
    rota_task_look(rota, id, &view);
    snprintf(out, size,
             "%s: %s outcome %d status %d attempt %u tries %u worker %u as %u.%u leader %u.%u"
             " handler %" PRIu64 "%s%s%s",
             task_text(play, id), rota_task_state_name(view.state), (int)view.outcome, view.status,
             view.attempt, view.tries, view.worker.number, view.run_as.job, view.run_as.task,
             view.leader.job, view.leader.task, view.handler, view.stopping ? " stopping" : "",
             view.regenerating ? " regenerating" : "", view.unschedulable ? " unschedulable" : "");
}

static void worker_write(const struct play *play, const struct rota *rota, uint32_t number,
                         char *out, size_t size)
{
    struct rota_worker_view view = {0};
    rota_worker_look(rota, (rota_worker_id){number}, &view);
    snprintf(out, size, "%s: cores %u memory %u free %u %u tasks %u asks %u%s",
             worker_text(play, (rota_worker_id){number}), view.cores, view.memory_mib,
             view.cores_free, view.memory_mib_free, view.tasks, view.asks,
             view.silent ? " silent" : "");
}

static void judge(struct play *play, const char *rehearsed, const char *restored)
{
    if (strcmp(rehearsed, restored) != 0) play_fail(play, rehearsed, restored);
}

static void compare(struct play *play, const struct rota *rehearsed)
{
    char expected[400], actual[400];
    for (uint32_t row = 1; row <= play->task_count; row++) {
        task_write(play, rehearsed, play->tasks[row].id, expected, sizeof expected);
        task_write(play, play->rota, play->tasks[row].id, actual, sizeof actual);
        judge(play, expected, actual);
    }
    for (uint32_t row = 1; row <= play->job_count; row++) {
        rota_job_id id = play->jobs[row].id;
        judge(play, rota_job_status(rehearsed, id), rota_job_status(play->rota, id));
    }
    for (uint32_t number = 1; number < play->worker_capacity; number++) {
        worker_write(play, rehearsed, number, expected, sizeof expected);
        worker_write(play, play->rota, number, actual, sizeof actual);
        judge(play, expected, actual);
    }
    time_text(rota_deadline(rehearsed), expected, sizeof expected);
    time_text(rota_deadline(play->rota), actual, sizeof actual);
    judge(play, expected, actual);
}

// ---- Resuming -----------------------------------------------------------------------------------

// The time of the last turn, which may have been on the way to a later time.
static rota_time last_moment(const struct play *play)
{
    uint64_t at = 0;
    number_ask(play, "SELECT at FROM sched_event ORDER BY sequence DESC LIMIT 1", &at);
    return (rota_time)at < play->now ? (rota_time)at : play->now;
}

void again_catch_up(struct play *play)
{
    struct rota *rehearsed = play->rota;
    rota_time until = play->now;
    store_close(play->store);
    play->store = play->lasting;
    play->lasting = NULL;
    play->rota = NULL;
    play->now = last_moment(play);
    turn_reopen(play);
    if (!play->halt) {
        workers_tell_again(play);
        play->catching_up = true;
        turn_advance(play, until);
        play->catching_up = false;
    }
    if (!play->halt) compare(play, rehearsed);
    rota_close(rehearsed);
}
