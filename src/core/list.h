// list.h - lists of tasks, linked through the task rows; a task is in one list at a time.
#pragma once

static inline void list_insert(struct rota *rota, task_row row, task_row previous, task_row next,
                               task_row *first, task_row *last)
{
    rota->task[row].next = next;
    rota->task[row].previous = previous;
    if (next)
        rota->task[next].previous = row;
    else
        *last = row;
    if (previous)
        rota->task[previous].next = row;
    else
        *first = row;
}

static inline void list_unlink(struct rota *rota, task_row row, task_row *first, task_row *last)
{
    struct task *task = &rota->task[row];
    if (task->next)
        rota->task[task->next].previous = task->previous;
    else
        *last = task->previous;
    if (task->previous)
        rota->task[task->previous].next = task->next;
    else
        *first = task->next;
    task->next = task->previous = 0;
}
