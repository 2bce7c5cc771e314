// data.c - `rota data`: the objects that tasks make.
#include "cli/query_options.h"
#include "os/os.h"
#include "run/run.h"
#include "object/cache/cache.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "    rota data                          what the tasks of the last job make, and how large\n"
      "    rota data locate sum               where it lies\n"
      "    rota data get sum [PATH]           a copy of it, here or at the path\n\n"
      "of a server, with --server ADDRESS [--key FILE] or $ROTA_SERVER:\n\n"
      "    rota data [ls] --server A --job 7  what the tasks of job 7 make\n"
      "    rota data locate --server A 7/sum  where it lies\n"
      "    rota data locate --server A --content KEY  who has a result for that content key;\n"
      "                                       a task, such as 7.1: for the one it has\n"
      "    rota data get --server A 7/sum [PATH]  as soon as it is made; 7 alone: all that is "
      "kept\n"
      "    rota data unkeep --server A 7/sum  is not needed any more; 7 alone: all of it\n"
      "    rota data put --server A FILE      into the server's store, and print its name\n"
      "    rota data get, keep, unkeep NAME   the same for that\n\n"
      "usage: rota data [VERB] [--json] [--raw] [--job N] [--content KEY] [--db DATABASE]"
      " [WORD...]\n\n"
      "    --raw   a line each for programs: object, kind, kept, bytes, state, where, task, name\n"
      "Exit status: 0, 1 it is not there, 2 a word is wrong, 4 the server cannot be reached.\n";

static int refuse(const char *name, const char *reason, int status)
{
    fprintf(stderr, "rota data: %s: %s\n", name, reason);
    return status;
}

// ---- Where it lies -----------------------------------------------------------------------------

struct listing {
    const struct rota *rota;
    const struct ask *ask;
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

// "one,two"; what is there and lies with no worker is the server's.
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

// ---- A line each -------------------------------------------------------------------------------

// A job that was let go has no objects in the core; what its tasks came to is known.
static const char *state_of(const struct rota *rota, const struct ask *ask,
                            const struct ask_object *object)
{
    switch (rota_object_state(rota, object->id)) {
    case ROTA_OBJECT_UNFINISHED: return "not made";
    case ROTA_OBJECT_FINISHED: return "there";
    case ROTA_OBJECT_REMOVED: return "removed";
    default: break;
    }
    bool made = strcmp(ask->tasks[object->task].status, "SUCCESS") == 0;
    return made ? "made" : "not made";
}

static void content_print(const struct rota *rota, rota_task_id task)
{
    struct rota_task_view view;
    if (!rota_task_look(rota, task, &view) || !view.key.high) return;
    printf(",\"content\":\"%016" PRIx64 "-%016" PRIx64 "\"", view.key.high, view.key.low);
}

static void json_print(const struct listing *listing, const struct ask_object *object)
{
    const struct ask_task *task = &listing->ask->tasks[object->task];
    char places[PLACES_TEXT];
    fputs("{\"name\":", stdout);
    json_text_part(stdout, object->name, (size_t)object->length);
    printf(",\"kind\":\"%s\",\"id\":\"%u.%u\",\"task\":", object->kind, task->id.job,
           task->id.task);
    json_text(stdout, task->name);
    printf(",\"bytes\":%" PRIu64 ",\"state\":\"%s\",\"keep\":%s",
           rota_object_bytes(listing->rota, object->id),
           state_of(listing->rota, listing->ask, object), object->keep ? "true" : "false");
    content_print(listing->rota, task->id);
    printf(",\"object\":\"%016" PRIx64 "-%016" PRIx64 "\",\"where\":", object->id.high,
           object->id.low);
    json_text(stdout, places_of(listing, object->id, places));
    puts("}");
}

static void raw_print(const struct listing *listing, const struct ask_object *object)
{
    const struct ask_task *task = &listing->ask->tasks[object->task];
    const char *state = state_of(listing->rota, listing->ask, object);
    char places[PLACES_TEXT];
    printf("%016" PRIx64 "-%016" PRIx64 " %s %s %" PRIu64 " %s %s %u.%u %.*s\n", object->id.high,
           object->id.low, object->kind, object->keep ? "kept" : "-",
           rota_object_bytes(listing->rota, object->id),
           strcmp(state, "not made") == 0 ? "unmade" : state,
           places_of(listing, object->id, places), task->id.job, task->id.task, object->length,
           object->name);
}

static void row_add(const struct listing *listing, struct table *table,
                    const struct ask_object *object)
{
    char text[ASK_TEXT], places[PLACES_TEXT];
    table_addf(table, "%.*s", object->length, object->name);
    table_add(table, object->kind);
    table_add(table, listing->ask->tasks[object->task].name);
    table_add(table, ask_bytes_text(rota_object_bytes(listing->rota, object->id), text));
    table_add(table, state_of(listing->rota, listing->ask, object));
    table_add(table, places_of(listing, object->id, places));
}

static void objects_print(const struct asker *asker, const struct listing *listing)
{
    static const char *const heads[] = {"NAME", "KIND", "TASK", "BYTES", "STATE", "WHERE"};
    const struct ask *ask = listing->ask;
    struct ask_object object;
    struct table table;
    table_open(&table, 6);
    for (int i = 0; i < 6; i++) table_add(&table, heads[i]);
    for (uint32_t i = 0; i < ask->task_count; i++)
        for (uint32_t k = 0; ask_object(ask, i, k, &object); k++) {
            if (asker->json)
                json_print(listing, &object);
            else if (asker->raw)
                raw_print(listing, &object);
            else
                row_add(listing, &table, &object);
        }
    bool none = table.count == table.columns && !asker->json && !asker->raw;
    table_print(&table, stdout);
    if (none) printf("job %u makes no objects\n", ask->job.number);
}

// ---- Results, by content key -------------------------------------------------------------------

static bool key_read(const char *text, rota_object_id *key)
{
    int used = 0;
    int count = sscanf(text, "%16" SCNx64 "-%16" SCNx64 "%n", &key->high, &key->low, &used);
    return count == 2 && !text[used];
}

static int content_show(const struct asker *asker, const struct listing *listing)
{
    const char *text = asker->content;
    rota_object_id key;
    rota_task_id task;
    struct rota_task_view view;
    char places[PLACES_TEXT];
    if (!key_read(text, &key)) {
        if (!ask_id_read(text, &task))
            return asker_wrong(asker, "'%s' is neither a content key nor a task", text);
        if (!rota_task_look(listing->rota, task, &view))
            return refuse(text, "there is no such task, or not any more", 1);
        if (!view.key.high) return refuse(text, "the task has no content key", 1);
        key = view.key;
    }
    const char *where = places_of(listing, key, places);
    printf(asker->json ? "{\"content\":\"%016" PRIx64 "-%016" PRIx64 "\",\"where\":"
                       : "%016" PRIx64 "-%016" PRIx64 " ",
           key.high, key.low);
    if (asker->json)
        json_text(stdout, where);
    else
        fputs(where, stdout);
    puts(asker->json ? "}" : "");
    return strcmp(where, "-") == 0 ? 1 : 0;
}

static int listing_show(struct asker *asker)
{
    struct listing listing = {.ask = &asker->ask};
    int status;
    listing.rota = asker_core(asker, &status);
    if (!listing.rota) return status;
    store_catalog(asker->store, &listing.names);
    if (asker->content)
        status = content_show(asker, &listing);
    else
        objects_print(asker, &listing);
    catalog_rows_release(&listing.names);
    return status;
}

// ---- One of them, of a run on this machine -----------------------------------------------------

static bool object_find(const struct ask *ask, const char *name, struct ask_object *object)
{
    for (uint32_t i = 0; i < ask->task_count; i++)
        for (uint32_t k = 0; ask_object(ask, i, k, object); k++)
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

// In the cache of a run objects have names that outlive its jobs.
static bool entry_find(const struct asker *asker, struct cache *cache,
                       const struct ask_object *object, struct cache_entry *entry)
{
    struct store_text text;
    if (!store_text_find(asker->store, asker->ask.tasks[object->task].id, &text)) return false;
    rota_object_id name = {text.body, run_hash(object->name, (size_t)object->length)};
    return cache_find(cache, name, entry);
}

static int object_use(struct asker *asker, const struct ask_object *object, char **words,
                      uint32_t count, bool is_get)
{
    char folder[PLACE_MAX], text[CACHE_ENTRY_TEXT];
    struct cache cache;
    struct cache_entry entry;
    struct cache_error error = {0};
    snprintf(folder, sizeof folder, "%s/cache", asker->folder);
    if (!os_file_is_there(folder)) return refuse(words[0], "it is not there", 1);
    if (!cache_open(&cache, folder, INT64_MAX, &error)) return refuse(folder, error.text, 1);
    int status = 0;
    if (!entry_find(asker, &cache, object, &entry)) {
        status = refuse(words[0], "it is not there", 1);
    } else if (is_get) {
        status = copy_make(&cache, &entry, count > 1 ? words[1] : words[0]);
    } else {
        cache_entry_write(&entry, text);
        printf("%s in %s\n", text, folder);
    }
    cache_close(&cache);
    return status;
}

// The words of a verb are its own; what is left are options.
static uint32_t words_take(int *count, char **words, char **taken, uint32_t most)
{
    uint32_t found = 0;
    int kept = 0;
    for (int i = 0; i < *count; i++) {
        bool is_option = words[i][0] == '-';
        bool has_value = strcmp(words[i], "--db") == 0 || strcmp(words[i], "--job") == 0
                         || strcmp(words[i], "--content") == 0;
        if (!is_option && found < most) {
            taken[found++] = words[i];
            continue;
        }
        words[kept++] = words[i];
        if (has_value && i + 1 < *count) words[kept++] = words[++i];
    }
    *count = kept;
    return found;
}

enum { WORDS_MAX = 2 };
static const struct asker_use use = {"data", usage, "rc", ASKER_FILE};

static int local(int count, char **words, bool is_get)
{
    struct asker asker;
    struct ask_object object;
    char *names[WORDS_MAX];
    uint32_t name_count = words_take(&count, words, names, is_get ? WORDS_MAX : 1);
    int status = asker_open(&asker, &use, count, words);
    if (status < 0 && asker.content) {
        status = asker_load(&asker);
        if (!status) status = listing_show(&asker);
    }
    if (status < 0 && !name_count) status = refuse(is_get ? "get" : "locate", "which one?", 2);
    if (status < 0) {
        status = asker_load(&asker);
        if (!status && !object_find(&asker.ask, names[0], &object))
            status = refuse(names[0], "no task makes that", 2);
        if (!status) status = object_use(&asker, &object, names, name_count, is_get);
    }
    asker_close(&asker);
    return status;
}

int command_data(int count, char **words)
{
    struct asker asker;
    const char *verb = count ? words[0] : "";
    bool is_get = strcmp(verb, "get") == 0;
    bool is_ls = strcmp(verb, "ls") == 0, is_local = is_get || strcmp(verb, "locate") == 0;
    if (data_verb_is_remote(verb)) return remote_data(count, words);
    if (is_ls || is_local) {
        words[0] = words[-1];  // getopt() calls the word before the others the program
        words++, count--;
    }
    if (is_local) return local(count, words, is_get);
    int status = asker_open(&asker, &use, count, words);
    if (status < 0) {
        status = asker_load(&asker);
        if (!status) status = listing_show(&asker);
    }
    asker_close(&asker);
    return status;
}
