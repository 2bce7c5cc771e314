// body_objects.c - compares the objects that a command names with those that its task declares.
//
// A worker stores an output under the id that the command names, and gives a command the inputs
// that it names. So a command that could name any object could replace or read those of other jobs.
#include "server/cluster/body_objects.h"
#include "server/cluster/refusal_text.h"

#include <stdlib.h>

bool cluster_names_object(const struct wire_file *file)
{
    return file->kind != WIRE_SOURCE && (file->object.high || file->object.low);
}

static int order_of(uint64_t one, uint64_t other)
{
    return (one > other) - (one < other);
}

static int declared_compare(const void *one, const void *other)
{
    const struct cluster_declared_object *a = one, *b = other;
    if (a->task != b->task) return order_of(a->task, b->task);
    if (a->object.high != b->object.high) return order_of(a->object.high, b->object.high);
    return order_of(a->object.low, b->object.low);
}

void cluster_declared_add(struct cluster_declared *declared, uint32_t task, rota_object_id object)
{
    declared->items[declared->count++] = (struct cluster_declared_object){task, object};
}

void cluster_declared_sort(struct cluster_declared *declared)
{
    bool is_sorted = true;
    for (uint32_t i = 1; i < declared->count; i++)
        is_sorted &= declared_compare(&declared->items[i - 1], &declared->items[i]) <= 0;
    if (!is_sorted)
        qsort(declared->items, declared->count, sizeof *declared->items, declared_compare);
}

static bool are_declared(const wire_files *files, uint32_t task,
                         const struct cluster_declared *declared)
{
    for (uint32_t i = 0; i < files->count; i++) {
        const struct cluster_declared_object wanted = {task, files->items[i].object};
        if (!cluster_names_object(&files->items[i])) continue;
        if (!declared->count
            || !bsearch(&wanted, declared->items, declared->count, sizeof wanted,
                        declared_compare))
            return false;
    }
    return true;
}

const char *cluster_objects_fault(wire_text body, uint32_t task,
                                  const struct cluster_declared *reads,
                                  const struct cluster_declared *makes)
{
    struct wire_in in = {.bytes = (char *)body.bytes, .length = body.length};
    struct wire_message message;
    const char *fault = NULL;
    if (wire_take(&in, &message) != WIRE_GOT)  // it was decoded before
        fault = cluster_no_room;
    else if (!are_declared(&message.run.outputs, task, makes))
        fault = "its command makes an object that is not an output of the task";
    else if (!are_declared(&message.run.inputs, task, reads))
        fault = "its command reads an object that is not an input of the task";
    in.bytes = NULL;  // they belong to the caller
    wire_in_release(&in);
    return fault;
}
