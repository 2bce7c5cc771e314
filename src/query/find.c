// find.c - finds tasks, lanes and objects by name.
#include "query/query.h"
#include "base/base.h"
#include "store/line_buffer.h"

#include <stdlib.h>
#include <string.h>

// ---- Tasks ----------------------------------------------------------------------------------

bool ask_id_read(const char *word, rota_task_id *id)
{
    uint64_t job, task;
    bool fine = text_read_number(&word, &job) && text_read_char(&word, '.')
                && text_read_number(&word, &task) && !*word;
    if (!fine || !job || !task || job > UINT32_MAX || task > UINT32_MAX) return false;
    *id = (rota_task_id){(uint32_t)job, (uint32_t)task};
    return true;
}

uint32_t ask_find(const struct ask *ask, const char *word)
{
    rota_task_id id;
    for (uint32_t i = 0; i < ask->task_count; i++)
        if (strcmp(ask->tasks[i].name, word) == 0) return i;
    bool ours = ask_id_read(word, &id) && id.job == ask->job.number && id.task <= ask->task_count;
    return ours ? id.task - 1 : ASK_NONE;
}

// ---- The nearest name -----------------------------------------------------------------------

const char *ask_nearest(const struct ask *ask, const char *word)
{
    struct word_meant meant = {0};
    for (uint32_t i = 0; i < ask->task_count; i++) word_try(&meant, word, ask->tasks[i].name);
    return meant.word;
}

// ---- Lanes and objects ----------------------------------------------------------------------

const char *ask_name(const struct ask *ask, enum catalog_kind kind, uint32_t number)
{
    for (uint32_t i = 0; i < ask->catalog.name_count; i++) {
        const struct catalog_name *name = &ask->catalog.names[i];
        if (name->kind == kind && name->number == number) return name->name;
    }
    return NULL;
}

const char *ask_lane_name(const struct ask *ask, uint32_t lane)
{
    const char *name = ask_name(ask, CATALOG_LANE, lane);
    size_t length = strlen(ask->path);
    if (!name) return "?";
    bool of_file = length && strncmp(name, ask->path, length) == 0 && name[length] == ':';
    return of_file ? name + length + 1 : name;
}

const char *ask_detail(const char *details, const char *word, uint32_t nth, size_t *length)
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
static void object_name(const char *details, uint32_t nth, struct ask_object *object)
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

bool ask_object(const struct ask *ask, uint32_t task, uint32_t nth, struct ask_object *object)
{
    struct rota_output output = {0};
    if (!output_at(ask->tasks[task].outputs, nth, &output)) return false;
    *object = (struct ask_object){.id = output.object, .task = task, .kind = "file", .name = ""};
    object->keep = output.flags & ROTA_OBJECT_KEEP;
    object_name(ask->tasks[task].details, nth, object);
    return true;
}
