// cycle.c - finds tasks that wait for each other in a cycle.
#include "job/file/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 150 };

struct search {
    const struct jobfile *file;
    uint32_t *older;  // by task: the one before it in a lane with submit order, plus one
    uint32_t *next;   // by task: 0 not visited, DONE, or where the search resumes
    uint32_t *path;
    uint32_t height;
};
enum { DONE = UINT32_MAX };

uint32_t jobfile_waits(const struct jobfile_task *task, uint32_t at, uint32_t *other)
{
    uint32_t needs = task->need_count, members = needs + task->member_count;
    uint32_t clauses = members + task->clause_count, inputs = clauses + task->input_count;
    for (; at < inputs; at++) {
        uint32_t found = 0;
        if (at < needs)
            found = task->needs[at] + 1;
        else if (at < members)
            found = task->members[at - needs] + 1;
        else if (at < clauses)
            found = task->clauses[at - members].task.task;
        else
            found = task->inputs[at - clauses].producer;
        if (!found) continue;
        *other = found - 1;
        return at + 1;
    }
    return 0;
}

// Such a lane admits tasks in the order of the file, so each one waits for the one before it.
static bool lanes_order(struct search *search)
{
    const struct jobfile *file = search->file;
    uint32_t *last = calloc(file->lane_count + 1, sizeof *last);
    if (!last) return false;
    for (uint32_t i = 0; i < file->task_count; i++) {
        uint32_t lane = file->tasks[i].lane;
        if (!lane || !file->lanes[lane - 1].submit_order) continue;
        search->older[i] = last[lane];
        last[lane] = i + 1;
    }
    free(last);
    return true;
}

// The next task that this one waits for. The lane comes last.
static bool step(struct search *search, uint32_t task, uint32_t *other)
{
    uint32_t at = search->next[task] - 1;
    uint32_t after = at == DONE - 2 ? 0 : jobfile_waits(&search->file->tasks[task], at, other);
    if (!after && at != DONE - 2 && search->older[task]) {
        *other = search->older[task] - 1;
        after = DONE - 2;
    }
    if (after) search->next[task] = after + 1;
    return after != 0;
}

static void cycle_say(struct search *search, uint32_t task)
{
    struct jobfile *file = (struct jobfile *)search->file;
    uint32_t first = search->height;
    while (search->path[--first] != task) continue;
    uint32_t length = search->height - first;
    size_t size = (size_t)(NAMES_MAX + 2) * sizeof(struct quoted), used = 0;
    char *text = jobfile_take(file, size);
    if (!text) return;
    for (uint32_t i = 0; i <= length; i++) {
        const char *name = file->tasks[search->path[first + i % length]].name;
        if (i == NAMES_MAX && length > NAMES_MAX)
            used += (size_t)snprintf(text + used, size - used, ", %u more", length - i);
        if (i >= NAMES_MAX && i < length) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? " waits for " : "",
                                 QUOTED(name));
    }
    refuse_at(file, file->tasks[task].place, "a cycle: %s", text);
}

// Searches depth-first from a task. True: it reached a task that is already on the path.
static bool walk(struct search *search, uint32_t start)
{
    uint32_t other;
    search->height = 0;
    search->path[search->height++] = start;
    search->next[start] = 1;
    while (search->height) {
        uint32_t task = search->path[search->height - 1];
        if (!step(search, task, &other)) {
            search->next[task] = DONE;
            search->height--;
        } else if (!search->next[other]) {
            search->next[other] = 1;
            search->path[search->height++] = other;
        } else if (search->next[other] != DONE) {
            cycle_say(search, other);
            return true;
        }
    }
    return false;
}

void cycle_check(struct reader *reader)
{
    uint32_t count = reader->file->task_count;
    struct search search = {.file = reader->file};
    search.older = calloc(count + 1, sizeof(uint32_t));
    search.next = calloc(count + 1, sizeof(uint32_t));
    search.path = calloc(count + 1, sizeof(uint32_t));
    bool found = !search.older || !search.next || !search.path || !lanes_order(&search);
    if (found) jobfile_no_memory(reader->file);
    for (uint32_t i = 0; i < count && !found; i++)
        if (!search.next[i]) found = walk(&search, i);
    free(search.older);
    free(search.next);
    free(search.path);
}
