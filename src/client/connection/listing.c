// listing.c - the outputs of a job, as the server lists them for `rota data --raw --job N`.
#include "base/base.h"
#include "client/connection/connection.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool output_name_read(const char *text, struct output_name *name)
{
    *name = (struct output_name){.name = NULL};
    size_t used = task_id_read(text, &name->task.job, &name->task.task);
    if (text[used] == '/') name->name = text + used + 1;
    return used && (!text[used] || (name->name && *name->name));
}

enum rota_client_code listing_ask(struct rota_client *client, uint32_t job, int64_t until,
                                  uint32_t *status)
{
    char number[16];
    snprintf(number, sizeof number, "%" PRIu32, job);
    wire_text words[] = {wire_text_of("data"), wire_text_of("--raw"), wire_text_of("--job"),
                         wire_text_of(number)};
    return question_ask(client, words, 4, until, status);
}

// A line has: object, kind, kept, bytes, state, where, task, name.
static bool row_read(const char *line, struct output_row *row)
{
    struct rota_client_object *view = &row->view;
    char kind[16], kept[8];
    int used = 0;
    int count = sscanf(line,
                       "%16" SCNx64 "-%16" SCNx64 " %15s %7s %" SCNu64 " %15s %599s %" SCNu32
                       ".%" SCNu32 " %n",
                       &row->object.high, &row->object.low, kind, kept, &view->bytes, view->state,
                       view->where, &view->task.job, &view->task.task, &used);
    if (count != 9 || !used) return false;
    view->is_directory = strcmp(kind, "directory") == 0;
    view->is_stream = strcmp(kind, "stream") == 0;
    view->is_kept = strcmp(kept, "kept") == 0;
    row->name = line + used;
    return true;
}

bool listing_next(char **text, const struct output_name *name, struct output_row *row)
{
    while (**text) {
        const char *line = *text;
        *text += strcspn(*text, "\n");
        if (**text) *(*text)++ = 0;
        if (!row_read(line, row)) continue;
        bool is_its = !name->task.task || row->view.task.task == name->task.task;
        if (is_its && (!name->name || strcmp(name->name, row->name) == 0)) return true;
    }
    return false;
}
