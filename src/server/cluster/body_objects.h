// body_objects.h - the objects that commands name, compared with those that their tasks declare.
#pragma once

#include "server/cluster/cluster.h"

struct cluster_declared {
    struct cluster_declared_object {
        uint32_t task;
        rota_object_id object;
    } *items;  // the caller's, with room for all; sorted before they are searched
    uint32_t count;
};

bool cluster_names_object(const struct wire_file *file);
void cluster_declared_add(struct cluster_declared *declared, uint32_t task, rota_object_id object);
void cluster_declared_sort(struct cluster_declared *declared);
// The objects of a command, in the memory of the turn. False: out of memory.
bool cluster_objects_note(struct server *keeper, const struct wire_run *run,
                          struct cluster_body_facts *facts);
// Why the body of a task is refused; null: it names only objects that the task declares. It stops
// at the first other object, so it takes at most one step more than the task declares objects.
const char *cluster_objects_fault(const struct cluster_body_facts *facts, uint32_t task,
                                  const struct cluster_declared *reads,
                                  const struct cluster_declared *makes);
