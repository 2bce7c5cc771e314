// find.c - finds tasks, lanes and objects by name.
#include "query/query.h"
#include "base/base.h"
#include "store/line_buffer.h"

#include <stdlib.h>
#include <string.h>

// ---- Tasks ----------------------------------------------------------------------------------

bool query_id_read(const char *word, rota_task_id *id)
{
    size_t length = task_id_read(word, &id->job, &id->task);
    return length && !word[length] && id->task;
}

uint32_t query_find(const struct query *query, const char *word)
{
    rota_task_id id;
    for (uint32_t i = 0; i < query->task_count; i++)
        if (strcmp(query->tasks[i].name, word) == 0) return i;
    bool ours
        = query_id_read(word, &id) && id.job == query->job.number && id.task <= query->task_count;
    return ours ? id.task - 1 : QUERY_NOT_FOUND;
}

// ---- The nearest name -----------------------------------------------------------------------

const char *query_nearest(const struct query *query, const char *word)
{
    struct word_meant meant = {0};
    for (uint32_t i = 0; i < query->task_count; i++) word_try(&meant, word, query->tasks[i].name);
    return meant.word;
}

// ---- Lanes and objects ----------------------------------------------------------------------

const char *query_name(const struct query *query, enum catalog_kind kind, uint32_t number)
{
    for (uint32_t i = 0; i < query->catalog.name_count; i++) {
        const struct catalog_name *name = &query->catalog.names[i];
        if (name->kind == kind && name->number == number) return name->name;
    }
    return NULL;
}

const char *query_lane_name(const struct query *query, uint32_t lane)
{
    const char *name = query_name(query, CATALOG_LANE, lane);
    size_t length = strlen(query->path);
    if (!name) return "?";
    bool of_file = length && strncmp(name, query->path, length) == 0 && name[length] == ':';
    return of_file ? name + length + 1 : name;
}

const char *query_detail(const char *details, const char *word, uint32_t nth, size_t *length)
{
    size_t size = strlen(word);
    while (*details) {
        size_t end = strcspn(details, "\n");
        bool found = strncmp(details, word, size) == 0 && details[size] == ' ';
        if (found && !nth--) {
            *length = end - size - 1;
            return details + size + 1;
        }
        details += end + (details[end] == '\n');
    }
    return NULL;
}

static bool output_at(const char *text, uint32_t nth, struct rota_output *output)
{
    while (*text && output_read(&text, output)) {
        if (!nth--) return true;
        text_read_char(&text, ' ');
    }
    return false;
}

// The nth output in the details, of any kind.
static void object_name(const char *details, uint32_t nth, struct query_object *object)
{
    static const struct {
        const char *word, *kind;
    } kinds[] = {{"out ", "file"}, {"out-directory ", "directory"}, {"out-stream ", "stream"}};
    for (; *details; details += strcspn(details, "\n"), details += *details == '\n') {
        size_t kind = 0;
        while (kind < 3 && strncmp(details, kinds[kind].word, strlen(kinds[kind].word)) != 0)
            kind++;
        if (kind == 3 || nth--) continue;
        object->kind = kinds[kind].kind;
        object->name = details + strlen(kinds[kind].word);
        object->length = (int)strcspn(object->name, "\n");
        return;
    }
}

bool query_object(const struct query *query, uint32_t task, uint32_t nth,
                  struct query_object *object)
{
    struct rota_output output = {0};
    if (!output_at(query->tasks[task].outputs, nth, &output)) return false;
    *object = (struct query_object){.id = output.object, .task = task, .kind = "file", .name = ""};
    object->keep = output.flags & ROTA_OBJECT_KEEP;
    object_name(query->tasks[task].details, nth, object);
    return true;
}
