// running_ends.c - when the tasks that run will end, the next one first.
#include "plan/model_internal.h"

static bool ends_first(const struct end *a, const struct end *b)
{
    return a->at != b->at ? a->at < b->at : a->since < b->since;
}

static void push_end(struct model *model, struct end end)
{
    model_grow((void **)&model->ends, &model->end_capacity, model->end_count, sizeof *model->ends);
    uint32_t place = model->end_count++;
    while (place > 0 && ends_first(&end, &model->ends[(place - 1) / 2])) {
        model->ends[place] = model->ends[(place - 1) / 2];
        place = (place - 1) / 2;
    }
    model->ends[place] = end;
}

void model_end_at(struct model *model, uint32_t task, double at)
{
    model->tasks[task].ends = at;
    model->tasks[task].run = ++model->since;
    push_end(model, (struct end){at, model->since, task});
}

struct end model_end_next(struct model *model)
{
    struct end first = model->ends[0];
    uint32_t place = 0;
    struct end last = model->ends[--model->end_count];
    for (uint32_t child; (child = place * 2 + 1) < model->end_count; place = child) {
        const struct end *ends = model->ends;
        if (child + 1 < model->end_count && ends_first(&ends[child + 1], &ends[child])) child++;
        if (!ends_first(&model->ends[child], &last)) break;
        model->ends[place] = model->ends[child];
    }
    model->ends[place] = last;
    return first;
}
