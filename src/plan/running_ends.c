// running_ends.c - a heap of the times at which running tasks end.
#include "plan/model_internal.h"

static bool goes_first(const struct model *model, struct end a, struct end b)
{
    (void)model;
    return a.at != b.at ? a.at < b.at : a.since < b.since;
}

static void put(struct model *model, uint32_t place, struct end end)
{
    model->ends[place] = end;
}

static void push_end(struct model *model, struct end end)
{
    model_grow(&model->ends, &model->end_capacity, model->end_count, sizeof *model->ends);
    uint32_t place = model->end_count++;
    HEAP_UP(model, model->ends, place, end, goes_first, put)
    put(model, place, end);
}

void model_end_at(struct model *model, uint32_t task, double at)
{
    assert(at >= model->now);
    model->tasks[task].ends = at;
    model->tasks[task].run = ++model->since;
    push_end(model, (struct end){at, model->since, task});
}

struct end model_end_next(struct model *model)
{
    assert(model->end_count > 0);
    struct end first = model->ends[0], last = model->ends[--model->end_count];
    uint32_t place = 0;
    HEAP_DOWN(model, model->ends, model->end_count, place, last, goes_first, put)
    put(model, place, last);
    return first;
}
