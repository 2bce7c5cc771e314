// top_json.c - `rota top --json`: a moment as one object.
#include "cli/show/top.h"
#include "job/file/jobfile.h"

#include <inttypes.h>
#include <string.h>

struct member {
    const char *name;
    int place;  // of a number; of a text if it is negative: -1 is the first
};

static const struct {
    const char *name;
    struct member members[9];
} lists[LOOK_LISTS] = {
    [LOOK_WORKERS] = {"workers",
                      {{"worker", 0}, {"name", -1}, {"cores", 1}, {"silent_since", 2},
                       {"given", 3}, {"running", 4}, {"user", -2}}},
    [LOOK_JOBS] = {"jobs",
                   {{"job", 0}, {"state", -1}, {"tasks", 1}, {"succeeded", 2}, {"failed", 3},
                    {"stopped", 4}, {"out", 5}, {"blocked", 6}, {"idle", 7}}},
    [LOOK_OUT] = {"out",
                  {{"job", 0}, {"task", 1}, {"name", -1}, {"state", -2}, {"since", 2},
                   {"worker", -3}}},
    [LOOK_QUEUE] = {"queue",
                    {{"job", 0}, {"task", 1}, {"name", -1}, {"state", -2}, {"priority", 2},
                     {"lane", -3}}},
    [LOOK_LANES] = {"lanes",
                    {{"lane", 0}, {"name", -1}, {"inside", 1}, {"readers", 3}, {"waiting", 2}}},
};

static void row_print(const struct top_row *row, const struct member *members, FILE *out)
{
    for (int i = 0; i < 9 && members[i].name; i++) {
        fprintf(out, "%s\"%s\":", i ? "," : "{", members[i].name);
        if (members[i].place < 0)
            json_text(out, row->texts[-members[i].place - 1]);
        else if (row->numbers[members[i].place] == ROTA_NEVER)
            fputs("null", out);
        else
            fprintf(out, "%" PRId64, row->numbers[members[i].place]);
    }
}

static void planner_print(const struct top_planner *planner, FILE *out)
{
    if (!planner->is_there) {
        fputs(",\"planner\":null", out);
        return;
    }
    fprintf(out, ",\"planner\":{\"plans\":%" PRIu64, planner->plans);
    if (planner->plans)
        fprintf(out, ",\"last\":%" PRId64 ",\"took_us\":%" PRId64 "}", planner->at, planner->took);
    else
        fputs(",\"last\":null,\"took_us\":null}", out);
}

void top_json(const struct top *top, FILE *out)
{
    fprintf(out, "{\"at\":%" PRId64 ",\"ended_10s\":%" PRIu64 ",\"ended_60s\":%" PRIu64, top->now,
            top->fast, top->slow);
    planner_print(&top->planner, out);
    for (int i = 0; i < LOOK_LISTS; i++) {
        if (!lists[i].name) continue;
        fprintf(out, ",\"%s\":[", lists[i].name);
        for (uint32_t j = 0; j < top->lists[i].count; j++) {
            const struct top_row *row = &top->lists[i].rows[j];
            if (j) fputc(',', out);
            row_print(row, lists[i].members, out);
            rota_time left = i == LOOK_JOBS ? top_left(row) : 0;
            if (i == LOOK_JOBS && left < 0) fputs(",\"left_us\":null", out);
            if (i == LOOK_JOBS && left >= 0) fprintf(out, ",\"left_us\":%" PRId64, left);
            fputc('}', out);
        }
        fputc(']', out);
    }
    const struct top_list *counts = &top->lists[LOOK_COUNTS];
    fputs(",\"states\":{", out);
    for (uint32_t i = 0; i < counts->count; i++)
        fprintf(out, "%s\"%s\":%" PRId64, i ? "," : "", counts->rows[i].texts[0],
                counts->rows[i].numbers[1]);
    fputs("}}\n", out);
}
