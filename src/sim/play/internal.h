// internal.h - the state of a play, and the functions that its files share.
#pragma once

#include "sim/play/planned.h"
#include "store/store.h"

// ---- strings.c: words, numbers, lists of strings -------------------------

void *array_resize(void *old, size_t count, size_t size);  // ends the program if there is no memory
// Makes room for one more entry, which is zeroed.
void *array_grow(void *array, uint32_t count, uint32_t *capacity, size_t size);
#define ARRAY_GROW(items, count, capacity)                                                         \
    ((items) = array_grow(items, count, &(capacity), sizeof *(items)))
char *text_copy(const char *text, size_t length);  // the caller frees it

struct strings { char **items; uint32_t count, capacity; };

void strings_add(struct strings *strings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void strings_add_piece(struct strings *strings, const char *text, size_t length);
void strings_split(struct strings *strings, const char *text, char separator);  // omits empty parts
void strings_drop_first(struct strings *strings);
void strings_add_all(struct strings *strings, const struct strings *others);
void strings_release(struct strings *strings);
char *strings_join(const struct strings *strings, const char *separator);  // the caller frees it

struct word {
    char *text;   // a word, or the key of KEY=VALUE
    char *value;  // null: a plain word
    bool used;
};

// Splits the line at `*place` into words and moves to the next line. Returns the error, or null.
const char *words_cut(char **place, struct word **words, uint32_t *count, uint32_t *capacity);

bool number_parse(const char *text, uint64_t max, uint64_t *number);
bool time_parse(const char *text, rota_time *time);
bool size_parse(const char *text, uint64_t *bytes);
void time_text(rota_time time, char *out, size_t size);
void size_text(uint64_t bytes, char *out, size_t size);

// ---- names.c: names and their numbers ---------------------------------

struct names {
    char **texts;
    uint32_t *slots;          // open addressing over the numbers
    uint32_t count, capacity, slot_count;
};

uint32_t names_find(const struct names *names, const char *text);  // 0: not found
uint32_t names_add(struct names *names, const char *text);         // finds it or adds it
const char *names_text(const struct names *names, uint32_t number);
void names_release(struct names *names);

// ---- The state of a play ------------------------------------------------------------------------

struct play_task {
    rota_task_id id;
    uint32_t name, key;           // key: number of its content key
    uint32_t cores, memory_mib;
    enum rota_access access;
    rota_worker_id sent_to;       // the worker that was last told to run it
    uint32_t granted;             // the attempt that a handler last claimed
};

struct play_job {
    rota_job_id id;
    uint32_t name, client;
    uint32_t *tasks;              // rows of its tasks, in order of their numbers
    uint32_t task_count, task_capacity;
};

struct play_run { rota_task_id task; uint32_t attempt; bool started; };

struct play_worker {
    bool known;                   // declared, or seen running something
    bool manual, silent;
    rota_time silent_since;
    uint32_t cores, memory_mib, slots, machine;
    uint32_t picks;               // not yet answered
    rota_task_id picked;          // the task that the last pick got
    struct play_run *runs;        // the tasks it was told to run, in order of arrival
    uint32_t run_count, run_capacity;
};

struct play_object { bool known; uint32_t client, producer; };  // producer: row of a task

struct play_client { struct strings confirms, waits; };  // since the last `expect told`

// A task, bundle or object that is not submitted yet. The strings are part of the play's text.
struct draft {
    bool is_object;
    uint32_t name;                // of a task
    struct rota_task_spec spec;
    const char *after, *inputs, *outputs, *keys, *bundle;  // lists; null: none
    struct rota_clause *clauses;
    char **clause_names;          // null for operators
    struct rota_output upload;    // of an object
    const char *holders;
};

// A submission that is not possible is refused, or an error of the text unless the play expects it.
enum batch_blame { BATCH_BLAMES_PLAY, BATCH_BLAMES_TEXT };

// One submission, from its first word until the core has accepted it.
struct batch {
    bool open;                    // between `begin` and `submit`
    bool sent;                    // the core has not said yet which job it is
    bool opens_job, last;         // it opens a job; it is the last one of its job
    uint32_t job_name, client, grows;  // grows: row of a job that is not the newest; 0: not used
    enum rota_policy policy;
    enum rota_on_failure on_failure;
    struct draft *drafts;
    uint32_t draft_count, draft_capacity, task_count;
    struct strings keeps;
    enum rota_error error;        // it cannot be submitted
    enum batch_blame blame;
    uint32_t error_line;
    char error_reason[200];
    struct rota_task_spec *tasks;
    struct rota_edge *edges;
    struct rota_clause *clauses;
    struct rota_input *inputs;
    struct rota_output *outputs;
    uint32_t edge_count, edge_capacity, clause_count, clause_capacity;
    uint32_t input_count, input_capacity, output_count, output_capacity;
};

enum play_halt { PLAY_CONTINUES, PLAY_SKIPS, PLAY_STOPS };

// A statement that is carried out once, however often its play runs on the same database.
struct request {
    bool open, again;             // in progress; already recorded, so it is only repeated
    bool stored;                  // its answer is written with the turn of its effects
    uint8_t id[16];               // from the name of the play and the line
    uint64_t body;                // hash of the play so far
    rota_time until;              // when it ends; 0: now
    char answer[64], recorded[64];
};

struct play {
    const char *file;
    struct play_options options;
    FILE *out;

    const char *line_text;        // the current line, as written
    uint32_t line, failures;
    struct word *words;
    uint32_t word_count, word_capacity;
    enum play_halt halt;          // the statement, or the play, cannot continue
    bool wrong;                   // the text is wrong

    enum rota_event_kind event;   // of the statement, if its verb names one
    const char *refused;          // the error it expects, or "maybe"; null: no error
    enum rota_error answer;       // the error that the core returned
    bool changed;                 // it was refused, but the core has changed
    char reason[200];

    struct rota_config config;
    bool cached_set, inputs_set;
    struct rota *rota;            // null until the first statement that needs it
    struct store *store;
    struct store *lasting;        // the database, while recorded statements are repeated
    uint64_t on_record;           // number of recorded statements still to come
    struct request request;
    uint64_t body;                // hash of the lines so far
    bool catching_up;             // clients have already received these messages
    bool broken;                  // the disk has failed, or a row is invalid
    const struct rota_job_spec *submitted;  // in this turn; null: nothing
    struct play_bounds bounds;
    struct play_block block;
    rota_time now, plan_took;
    struct rota_action *actions;
    void **kept;
    uint32_t action_capacity, kept_count, kept_capacity;
    struct strings decisions;     // the last decisions of the core

    struct names task_names, worker_names, lane_names, group_names, machine_names;
    struct names job_names, client_names, handler_names, object_names, key_names;
    struct play_task *tasks;      // row 0 is not used
    uint32_t task_count, task_capacity;
    uint32_t *newest, *drafted;   // by name: row of the task; 1 + index in the batch
    uint32_t newest_capacity, drafted_capacity;
    struct play_job *jobs;        // row 0 is not used
    uint32_t job_count, job_capacity;
    struct play_worker *workers;  // by name
    struct play_object *objects;  // by name
    struct play_client *clients;  // by name
    bool *lanes;                  // by name: the core knows it
    uint32_t worker_capacity, object_capacity, client_capacity, lane_capacity;

    struct batch batch;
    struct strings started, dropped;  // dropped: since the last `expect dropped`
    const char *completed;        // answer to the last `complete`
};

// ---- parser.c: the words of a statement, and errors in them ------------------------------------

void play_wrong(struct play *play, const char *format, ...) __attribute__((format(printf, 2, 3)));
void play_fail(struct play *play, const char *expected, const char *actual);
const char *take_name(struct play *play);                   // the next plain word
const char *take_name_if_any(struct play *play);            // null: there is no word left
const char *take_pair(struct play *play, const char *key);  // null: the statement does not have it
bool take_flag(struct play *play, const char *word);
uint32_t take_number(struct play *play, const char *key, uint32_t otherwise);
rota_time take_time(struct play *play, const char *key, rota_time otherwise);
uint64_t take_size(struct play *play, const char *key, uint64_t otherwise);

struct choice { const char *word; int value; };  // a table ends with a null word
int take_choice(struct play *play, const char *key, const struct choice *choices, int otherwise);
void take_end(struct play *play);                           // no word may be left

// ---- lookup.c: names of a play and ids of the core ----------------------------------------------
// An unknown name is an error; where a refusal is expected, the core gets an unknown id.

rota_task_id task_named(struct play *play, const char *name);
rota_task_id task_or_job_named(struct play *play, const char *name);
rota_job_id job_named(struct play *play, const char *name);
uint32_t job_find(const struct play *play, const char *name);  // its row; 0: not found
uint32_t worker_named(struct play *play, const char *name);
rota_object_id object_named(struct play *play, const char *name);  // or the key of that name

uint32_t task_row_find(const struct play *play, rota_task_id id);  // 0: not found
const char *task_text(const struct play *play, rota_task_id id);
const char *worker_text(const struct play *play, rota_worker_id id);
uint32_t lane_named(struct play *play, const char *name);
struct play_worker *play_worker_meet(struct play *play, const char *name, uint32_t *number);
struct play_object *object_meet(struct play *play, const char *name, rota_object_id *id);
rota_object_id key_meet(struct play *play, const char *name);
uint32_t object_client(struct play *play, rota_object_id id);  // the owner of its job
struct play_client *client_meet(struct play *play, uint32_t client);
void play_why(const struct play *play, rota_task_id id, char *text, size_t size);
void play_things_release(struct play *play);

// ---- turn.c: turns of the core ----------------------------------------

bool turn_open(struct play *play);                     // opens the core, if it is not open yet
// Allocates memory that lives until the next effects of the core: events point to it.
void *turn_keep(struct play *play, size_t count, size_t size);
void turn_keep_nothing(struct play *play);
enum rota_error play_turn_step(struct play *play, const struct rota_event *event);
bool turn_send(struct play *play, const struct rota_event *event);  // true: accepted
// The same for the event of a statement, which ends here.
bool statement_send(struct play *play, const struct rota_event *event);
void turn_refuse(struct play *play, enum rota_error error, const char *reason);
void turn_settle(struct play *play);                   // until the core has nothing to do
void turn_advance(struct play *play, rota_time target);
void turn_reopen(struct play *play);                   // from the rows of the store
void turn_restart(struct play *play);

// ---- request.c: statements as requests --------------------------------

void request_read_line(struct play *play);             // adds the line to the hash of the play
void request_begin(struct play *play);
void request_answer(struct play *play);                // writes it in the next commit
void request_end(struct play *play);

// ---- resume.c: resumes a play from its database -------------------------------------------------

enum play_result again_open(struct play *play);
void again_end(struct play *play);                     // no recorded statement may be left
void again_catch_up(struct play *play);                // continues with the core of the database

// ---- sql.c: queries of the tables ---------------------------------------------------------------

// The rows, with | between columns. False: the error says why the query failed.
bool sql_ask(const struct play *play, const char *sql, struct strings *rows,
             struct store_error *error);
void look_sql(struct play *play, struct strings *actual);
// If there is a database, its table must hold these tasks, in order of their ids.
void sql_compare_table(struct play *play, const char *table, const struct strings *tasks);

// ---- actions.c: actions reach clients and workers, and workers react ---------------------------

void perform_action(struct play *play, const struct rota_action *action);
bool workers_start(struct play *play);                 // true: a worker started something
void worker_started(struct play *play, const struct rota_event *report);
void worker_ended(struct play *play, uint32_t worker, rota_task_id task, uint32_t attempt);
void worker_forget(struct play_worker *worker);        // forgets everything it was told to run

// ---- submission.c, submit.c: submissions ------------------------------

void batch_begin(struct play *play);
void batch_refuse(struct play *play, enum batch_blame blame, enum rota_error error,
                  const char *reason);
void batch_submit(struct play *play);
void batch_accepted(struct play *play, rota_job_id job);  // its names are valid from now on
void batch_define(struct play *play);                     // in the turn that accepts it
void batch_release(struct play *play);

// ---- view.c: the values that can be expected ----------------------------------------------------

enum view_shape { VIEW_SET, VIEW_ORDER, VIEW_FIELDS, VIEW_TEXT, VIEW_TIME };

// The current value in the core or at the workers. False: the value or the name is unknown.
bool view_look(struct play *play, const char *what, enum view_shape *shape, struct strings *actual);
