// ready.c - ready tasks of one profile under plan: a pairing heap, highest rank and oldest first.
//
// The links stand in the tasks, so getting ready never needs memory: `child` is the first
// child, `next` the next sibling, `previous` the sibling before or, for a first child, the
// parent. The root is the profile's `first`.
#include "core/core.h"

static bool goes_first(const struct rota *rota, task_row a, task_row b)
{
    uint32_t one = rota->task[a].rank, other = rota->task[b].rank;
    return one != other ? one > other : task_older(rota, a, b);
}

// Joins two heaps; their roots have no siblings.
static task_row join(const struct rota *rota, task_row a, task_row b)
{
    if (!a || !b) return a ? a : b;
    task_row top = goes_first(rota, a, b) ? a : b, low = top == a ? b : a;
    struct task *parent = &rota->task[top], *child = &rota->task[low];
    child->next = parent->child;
    if (parent->child) rota->task[parent->child].previous = low;
    child->previous = top;
    parent->child = low;
    return top;
}

// Joins a list of siblings in pairs from the left, then the pairs from the right.
static task_row join_siblings(const struct rota *rota, task_row first)
{
    task_row pairs = 0;
    while (first) {
        task_row second = rota->task[first].next;
        task_row rest = second ? rota->task[second].next : 0;
        rota->task[first].next = rota->task[first].previous = 0;
        if (second) rota->task[second].next = rota->task[second].previous = 0;
        task_row pair = join(rota, first, second);
        rota->task[pair].next = pairs;  // a list of pairs, last one first
        pairs = pair;
        first = rest;
    }
    task_row heap = 0;
    while (pairs) {
        task_row next = rota->task[pairs].next;
        rota->task[pairs].next = 0;
        heap = join(rota, heap, pairs);
        pairs = next;
    }
    return heap;
}

void ready_push(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    struct profile *profile = PROFILE(rota, task->profile);
    task->next = task->previous = task->child = 0;
    if (!profile->first) profile_list(rota, task->profile);
    profile->first = join(rota, profile->first, row);
    rota->plan_unplaced++;
}

void ready_remove(struct rota *rota, task_row row)
{
    struct task *task = &rota->task[row];
    struct profile *profile = PROFILE(rota, task->profile);
    task_row rest = join_siblings(rota, task->child);
    if (profile->first == row) {
        profile->first = rest;
    } else {
        struct task *before = &rota->task[task->previous];
        if (before->child == row) before->child = task->next;
        else before->next = task->next;
        if (task->next) rota->task[task->next].previous = task->previous;
        profile->first = join(rota, profile->first, rest);
    }
    task->next = task->previous = task->child = 0;
    rota->plan_unplaced--;
    if (!profile->first) profile_unlist(rota, task->profile);
}
