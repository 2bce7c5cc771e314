// data.c - `rota data`: the objects that tasks make.
#include "cli/asker.h"

#include <inttypes.h>
#include <string.h>

static const char usage[]
    = "    rota data               what the tasks of the last job make, and how large it is\n\n"
      "usage: rota data [ls] [--json] [--job N] [--db DATABASE] [FILE]\n";

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

static void json_print(const struct rota *rota, const struct ask *ask,
                       const struct ask_object *object)
{
    const struct ask_task *task = &ask->tasks[object->task];
    fputs("{\"name\":", stdout);
    json_text_part(stdout, object->name, (size_t)object->length);
    printf(",\"kind\":\"%s\",\"id\":\"%u.%u\",\"task\":", object->kind, task->id.job,
           task->id.task);
    json_text(stdout, task->name);
    printf(",\"bytes\":%" PRIu64 ",\"state\":\"%s\"}\n", rota_object_bytes(rota, object->id),
           state_of(rota, ask, object));
}

static void row_add(const struct rota *rota, const struct ask *ask, struct table *table,
                    const struct ask_object *object)
{
    char text[ASK_TEXT];
    table_addf(table, "%.*s", object->length, object->name);
    table_add(table, object->kind);
    table_add(table, ask->tasks[object->task].name);
    table_add(table, ask_bytes_text(rota_object_bytes(rota, object->id), text));
    table_add(table, state_of(rota, ask, object));
}

static int objects_show(struct asker *asker)
{
    static const char *const heads[] = {"NAME", "KIND", "TASK", "BYTES", "STATE"};
    const struct ask *ask = &asker->ask;
    struct ask_object object;
    struct table table;
    int status;
    struct rota *rota = asker_core(asker, &status);
    if (!rota) return status;
    table_open(&table, 5);
    for (int i = 0; i < 5; i++) table_add(&table, heads[i]);
    for (uint32_t i = 0; i < ask->task_count; i++)
        for (uint32_t k = 0; ask_object(ask, i, k, &object); k++) {
            if (asker->json)
                json_print(rota, ask, &object);
            else
                row_add(rota, ask, &table, &object);
        }
    bool none = table.count == table.columns && !asker->json;
    table_print(&table, stdout);
    if (none) printf("job %u makes no objects\n", ask->job.number);
    return 0;
}

int command_data(int count, char **words)
{
    static const struct asker_use use = {"data", usage, "", ASKER_FILE};
    struct asker asker;
    if (count && strcmp(words[0], "ls") == 0) {
        words[0] = words[-1];  // getopt() calls the word before the others the program
        words++, count--;
    }
    int status = asker_open(&asker, &use, count, words);
    if (status < 0) {
        status = asker_load(&asker);
        if (!status) status = objects_show(&asker);
    }
    asker_close(&asker);
    return status;
}
