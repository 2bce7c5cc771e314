// body_objects.c - compares the objects that a command names with those that its task declares.
//
// A worker stores an output under the id that the command names, and gives a command the inputs
// that it names. So a command that could name any object could replace or read those of other jobs.
#include "server/cluster/body_objects.h"

#include <stdlib.h>

bool cluster_names_object(const struct wire_file *file)
{
    return file->kind != WIRE_SOURCE && (file->object.high || file->object.low);
}

static int order_of(uint64_t one, uint64_t other)
{
    return (one > other) - (one < other);
}

static int object_compare(const void *one, const void *other)
{
    const rota_object_id *a = one, *b = other;
    return a->high != b->high ? order_of(a->high, b->high) : order_of(a->low, b->low);
}

static int declared_compare(const void *one, const void *other)
{
    const struct cluster_declared_object *a = one, *b = other;
    if (a->task != b->task) return order_of(a->task, b->task);
    return object_compare(&a->object, &b->object);
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

static bool objects_note(struct server *keeper, const wire_files *files,
                         struct cluster_objects *objects)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < files->count; i++) count += cluster_names_object(&files->items[i]);
    if (!count) return true;
    rota_object_id *items = server_keep(keeper, count, sizeof *items);
    if (!items) return false;
    count = 0;
    for (uint32_t i = 0; i < files->count; i++)
        if (cluster_names_object(&files->items[i])) items[count++] = files->items[i].object;
    qsort(items, count, sizeof *items, object_compare);
    *objects = (struct cluster_objects){items, 1};
    for (uint32_t i = 1; i < count; i++)
        if (object_compare(&items[i], &items[i - 1]) != 0) items[objects->count++] = items[i];
    return true;
}

bool cluster_objects_note(struct server *keeper, const struct wire_run *run,
                          struct cluster_body_facts *facts)
{
    return objects_note(keeper, &run->inputs, &facts->reads)
           && objects_note(keeper, &run->outputs, &facts->makes);
}

static bool are_declared(const struct cluster_objects *objects, uint32_t task,
                         const struct cluster_declared *declared)
{
    for (uint32_t i = 0; i < objects->count; i++) {
        const struct cluster_declared_object wanted = {task, objects->items[i]};
        if (!declared->count
            || !bsearch(&wanted, declared->items, declared->count, sizeof wanted,
                        declared_compare))
            return false;
    }
    return true;
}

const char *cluster_objects_fault(const struct cluster_body_facts *facts, uint32_t task,
                                  const struct cluster_declared *reads,
                                  const struct cluster_declared *makes)
{
    if (!are_declared(&facts->makes, task, makes))
        return "its command makes an object that is not an output of the task";
    if (!are_declared(&facts->reads, task, reads))
        return "its command reads an object that is not an input of the task";
    return NULL;
}
