// data.c - `rota data`: the outputs of tasks.
#include "cli/query_options.h"
#include "cli/show/table.h"
#include "os/os.h"
#include "run/run.h"
#include "object/cache/cache.h"
#include "os/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int refuse(const char *name, const char *reason, int status)
{
    fprintf(stderr, "rota data: %s: %s\n", name, reason);
    return status;
}

// ---- Where an object is ------------------------------------------------------------------------

struct listing {
    const struct rota *rota;
    const struct query *query;
    struct catalog_rows names;
};

static const char *worker_name(const struct listing *listing, rota_worker_id id, char text[16])
{
    for (uint32_t i = 0; i < listing->names.name_count; i++) {
        const struct catalog_name *name = &listing->names.names[i];
        if (name->kind == CATALOG_WORKER && name->number == id.number) return name->name;
    }
    snprintf(text, 16, "w%" PRIu32, id.number);
    return text;
}

enum { PLACES_MAX = 8, PLACES_TEXT = 600 };

// Writes "one,two"; an object that exists on no worker is in the server's object store.
static const char *places_of(const struct listing *listing, rota_object_id object,
                             char text[PLACES_TEXT])
{
    rota_worker_id workers[PLACES_MAX];
    char name[16];
    uint32_t count
        = rota_object_workers(listing->rota, object, ROTA_SET_LOCATED, workers, PLACES_MAX);
    size_t used = 0;
    text[0] = 0;
    for (uint32_t i = 0; i < count && i < PLACES_MAX; i++)
        used += (size_t)snprintf(text + used, PLACES_TEXT - used, "%s%.60s", i ? "," : "",
                                 worker_name(listing, workers[i], name));
    bool is_there = rota_object_state(listing->rota, object) == ROTA_OBJECT_FINISHED;
    return count ? text : is_there ? "server" : "-";
}

// ---- One line for each object ------------------------------------------------------------------

// The core has no objects of a job that was removed, but the states of its tasks are known.
static const char *state_of(const struct rota *rota, const struct query *query,
                            const struct query_object *object)
{
    switch (rota_object_state(rota, object->id)) {
    case ROTA_OBJECT_UNFINISHED: return "not made";
    case ROTA_OBJECT_FINISHED: return "there";
    case ROTA_OBJECT_REMOVED: return "removed";
    default: break;
    }
    bool made = strcmp(query->tasks[object->task].status, "SUCCESS") == 0;
    return made ? "made" : "not made";
}

static void id_put(struct json *json, const char *key, rota_object_id id)
{
    json_plain(json, key, "%016" PRIx64 "-%016" PRIx64, id.high, id.low);
}

static void json_print(const struct listing *listing, const struct query_object *object)
{
    const struct query_task *task = &listing->query->tasks[object->task];
    struct rota_task_view view;
    struct json json = {.out = stdout};
    char places[PLACES_TEXT];
    json_open(&json, NULL, '{');
    json_bytes(&json, "name", object->name, (size_t)object->length);
    json_string(&json, "kind", object->kind);
    json_plain(&json, "id", "%u.%u", task->id.job, task->id.task);
    json_string(&json, "task", task->name);
    json_number(&json, "bytes", "%" PRIu64, rota_object_bytes(listing->rota, object->id));
    json_string(&json, "state", state_of(listing->rota, listing->query, object));
    json_bool(&json, "keep", object->keep);
    if (rota_task_look(listing->rota, task->id, &view) && view.key.high)
        id_put(&json, "content", view.key);
    id_put(&json, "object", object->id);
    json_string(&json, "where", places_of(listing, object->id, places));
    json_line(&json);
}

static void raw_print(const struct listing *listing, const struct query_object *object)
{
    const struct query_task *task = &listing->query->tasks[object->task];
    const char *state = state_of(listing->rota, listing->query, object);
    char places[PLACES_TEXT];
    printf("%016" PRIx64 "-%016" PRIx64 " %s %s %" PRIu64 " %s %s %u.%u %.*s\n", object->id.high,
           object->id.low, object->kind, object->keep ? "kept" : "-",
           rota_object_bytes(listing->rota, object->id),
           strcmp(state, "not made") == 0 ? "unmade" : state,
           places_of(listing, object->id, places), task->id.job, task->id.task, object->length,
           object->name);
}

static void row_add(const struct listing *listing, struct table *table,
                    const struct query_object *object)
{
    char text[QUERY_TEXT], places[PLACES_TEXT];
    table_addf(table, "%.*s", object->length, object->name);
    table_add(table, object->kind);
    table_add(table, listing->query->tasks[object->task].name);
    table_add(table, query_bytes_text(rota_object_bytes(listing->rota, object->id), text));
    table_add(table, state_of(listing->rota, listing->query, object));
    table_add(table, places_of(listing, object->id, places));
}

static void objects_print(const struct query_options *options, const struct listing *listing)
{
    static const char *const headings[] = {"NAME", "KIND", "TASK", "BYTES", "STATE", "WHERE"};
    const struct query *query = listing->query;
    struct query_object object;
    struct table table;
    table_open(&table, 6);
    for (int i = 0; i < 6; i++) table_add(&table, headings[i]);
    for (uint32_t i = 0; i < query->task_count; i++)
        for (uint32_t k = 0; query_object(query, i, k, &object); k++) {
            if (options->json)
                json_print(listing, &object);
            else if (options->raw)
                raw_print(listing, &object);
            else
                row_add(listing, &table, &object);
        }
    bool none = table.count == table.columns && !options->json && !options->raw;
    table_print(&table, stdout);
    if (none) printf("job %u has no outputs\n", query->job.number);
}

// ---- Results, by content key -------------------------------------------------------------------

static bool key_read(const char *text, rota_object_id *key)
{
    int used = 0;
    int count = sscanf(text, "%16" SCNx64 "-%16" SCNx64 "%n", &key->high, &key->low, &used);
    return count == 2 && !text[used];
}

static int content_show(const struct query_options *options, const struct listing *listing)
{
    const char *text = options->content;
    rota_object_id key;
    rota_task_id task;
    struct rota_task_view view;
    char places[PLACES_TEXT];
    if (!key_read(text, &key)) {
        if (!query_id_read(text, &task))
            return command_wrong(options->command,
                                 "option --content needs a content key or a task, not '%s'", text);
        if (!rota_task_look(listing->rota, task, &view))
            return refuse(text, "no such task, or its job was removed", 1);
        if (!view.key.high) return refuse(text, "the task has no content key", 1);
        key = view.key;
    }
    const char *where = places_of(listing, key, places);
    struct json json = {.out = stdout};
    if (options->json) {
        json_open(&json, NULL, '{');
        id_put(&json, "content", key);
        json_string(&json, "where", where);
        json_line(&json);
    } else {
        printf("%016" PRIx64 "-%016" PRIx64 " %s\n", key.high, key.low, where);
    }
    return strcmp(where, "-") == 0 ? 1 : 0;
}

static int listing_show(struct query_options *options)
{
    struct listing listing = {.query = &options->query};
    int status;
    listing.rota = query_options_core(options, &status);
    if (!listing.rota) return status;
    store_catalog(options->store, &listing.names);
    if (options->content)
        status = content_show(options, &listing);
    else
        objects_print(options, &listing);
    catalog_rows_release(&listing.names);
    return status;
}

// ---- One object of a run on this machine -----------------------------------------------------

static bool object_find(const struct query *query, const char *name, struct query_object *object)
{
    for (uint32_t i = 0; i < query->task_count; i++)
        for (uint32_t k = 0; query_object(query, i, k, object); k++)
            if (strlen(name) == (size_t)object->length
                && strncmp(name, object->name, (size_t)object->length) == 0)
                return true;
    return false;
}

static int copy_make(struct cache *cache, const struct cache_entry *entry, const char *path)
{
    struct cache_error error = {0};
    char *place = path_absolute(path);
    bool fine = place && cache_deliver(cache, entry, place, &error);
    free(place);
    return fine ? 0 : refuse(path, error.text, 1);
}

// In the cache of a run, objects have names that stay the same from job to job.
static bool entry_find(const struct query_options *options, struct cache *cache,
                       const struct query_object *object, struct cache_entry *entry)
{
    struct store_text text;
    if (!store_text_find(options->store, options->query.tasks[object->task].id, &text))
        return false;
    rota_object_id name = {text.body, run_hash(object->name, (size_t)object->length)};
    return cache_find(cache, name, entry);
}

static int object_use(struct query_options *options, const struct query_object *object,
                      char **words, uint32_t count, bool is_get)
{
    char folder[OS_PATH_BYTES], text[CACHE_ENTRY_TEXT];
    struct cache cache;
    struct cache_entry entry;
    struct cache_error error = {0};
    snprintf(folder, sizeof folder, "%s/cache", options->folder);
    if (!os_file_is_there(folder)) return refuse(words[0], "the object is not available", 1);
    if (!cache_open(&cache, folder, INT64_MAX, &error)) return refuse(folder, error.text, 1);
    int status = 0;
    if (!entry_find(options, &cache, object, &entry)) {
        status = refuse(words[0], "the object is not available", 1);
    } else if (is_get) {
        status = copy_make(&cache, &entry, count > 1 ? words[1] : words[0]);
    } else {
        cache_entry_write(&entry, text);
        printf("%s in %s\n", text, folder);
    }
    cache_close(&cache);
    return status;
}

// Returns the exit status.
static int object_run(struct query_options *options, char **names, uint32_t count, bool is_get)
{
    struct query_object object;
    int status = query_options_load(options);
    if (status) return status;
    if (!object_find(&options->query, names[0], &object))
        return refuse(names[0], "no task has this output", 2);
    return object_use(options, &object, names, count, is_get);
}

// A verb takes its own arguments, never a job file.
static int verb_run(struct query_options *options, const struct arguments *arguments)
{
    char **names = arguments->items + 1;
    uint32_t count = arguments->count - 1;
    bool is_get = strcmp(arguments->items[0], "get") == 0;
    if (options->content) {
        int status = query_options_load(options);
        return status ? status : listing_show(options);
    }
    if (!count) return command_wrong(options->command, "missing argument OBJECT");
    if (count > (is_get ? 2 : 1))
        return command_wrong(options->command, "unexpected argument '%s'", names[is_get ? 2 : 1]);
    return object_run(options, names, count, is_get);
}

static int list(struct query_options *options, const struct arguments *arguments, uint32_t first)
{
    if (arguments->count > first + 1)
        return command_wrong(options->command, "unexpected argument '%s'",
                             arguments->items[first + 1]);
    if (arguments->count > first) options->file = arguments->items[first];
    int status = query_options_load(options);
    return status ? status : listing_show(options);
}

static bool verb_is(const struct arguments *arguments, const char *verb)
{
    return arguments->count && strcmp(arguments->items[0], verb) == 0;
}

static const char *verb_given(const struct command *command, int count, char **words)
{
    struct option_walk walk
        = {.command = command, .count = count, .words = words, .is_quiet = true};
    enum walk_step step;
    while ((step = option_next(&walk)) != WALK_END && step != WALK_WRONG)
        if (step == WALK_ARGUMENT) return walk.value;
    return "";
}

static int data(const struct command *command, int count, char **words)
{
    struct query_options options = {.command = command};
    struct arguments arguments;
    if (data_verb_is_remote(verb_given(command, count, words)))
        return remote_data(command, count, words);
    int status = options_read(command, &options, NULL, &arguments, count, words);
    if (status >= 0) return status;
    if (options.key) return command_wrong(command, "option --key needs --server");
    if (verb_is(&arguments, "get") || verb_is(&arguments, "locate"))
        status = verb_run(&options, &arguments);
    else
        status = list(&options, &arguments, verb_is(&arguments, "ls"));
    query_options_close(&options);
    return status;
}

static const struct option_row rows[] = {
    {0, "raw", "", "print a line for programs: object, kind, kept, bytes, state, place, task, name",
     OPTION_FLAG, .at = offsetof(struct query_options, raw), .in_query = true},
    {0, "content", "KEY", "locate the result with this content key, or with that of a task such as "
     "7.1", OPTION_TEXT, .at = offsetof(struct query_options, content), .in_query = true},
    QUERY_OPTION_ROWS,
    OPTION_ROWS_END};

const struct command data_command = {
    .name = "data",
    .summary = "list, locate and copy the outputs of tasks",
    .group = GROUP_INSPECT,
    .query = QUERY_PLAIN,
    .argument = {ARGUMENT_VERB, "OBJECT", 0, ARGUMENTS_ANY},
    .run = data,
    .remote = remote_data,
    .options = rows,
    .verbs = "ls locate get put keep unkeep",
    .usage = "[ls] [OPTION...] [FILE]\n"
             "locate [OPTION...] OBJECT\n"
             "get [OPTION...] OBJECT [PATH]\n"
             "put|keep|unkeep [--server ADDRESS] [--key FILE] [--json] WORD...\n",
    .text = "On this machine, an object is the name of an output. With --server it is JOB/NAME, "
            "such as 7/sum, or JOB for all outputs that the job keeps, or the name that put "
            "printed.\n"
            "put sends files to the object store of a server and prints their names; keep holds an "
            "object there, and unkeep releases it. These three use $ROTA_SERVER if there is no "
            "--server.\n",
    .examples = "rota data\tlist the outputs of the last job\n"
                "rota data locate sum\tprint where the output `sum` is\n"
                "rota data get sum copy\tcopy it to the file `copy`\n"
                "rota data get --server host:7450 7/sum\tcopy an output of job 7, once it exists\n"
                "rota data put --server host:7450 input.csv\tsend a file to the object store\n",
    .exits = "0\tdone\n1\tthe object is not available\n2\tan option or argument is wrong\n"
             "4\tthe server cannot be reached\n",
};
