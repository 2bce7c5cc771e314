// top_json.c - `rota top --json`: prints a snapshot as one object.
#include "cli/show/top.h"
#include "os/json.h"

#include <inttypes.h>
#include <string.h>

struct member {
    const char *name;
    int place;  // index of a number; if negative, of a text: -1 is the first
};

static const struct {
    const char *name;
    struct member members[9];
} lists[SNAPSHOT_LISTS] = {
    [SNAPSHOT_WORKERS] = {"workers",
                          {{"worker", 0}, {"name", -1}, {"cores", 1}, {"silent_since", 2},
                           {"assigned", 3}, {"running", 4}, {"user", -2}}},
    [SNAPSHOT_JOBS] = {"jobs",
                       {{"job", 0}, {"state", -1}, {"tasks", 1}, {"succeeded", 2}, {"failed", 3},
                        {"stopped", 4}, {"running", 5}, {"blocked", 6}, {"idle", 7}}},
    [SNAPSHOT_OUT] = {"tasks",
                      {{"job", 0}, {"task", 1}, {"name", -1}, {"state", -2}, {"since", 2},
                       {"worker", -3}}},
    [SNAPSHOT_QUEUE] = {"queue",
                        {{"job", 0}, {"task", 1}, {"name", -1}, {"state", -2}, {"priority", 2},
                         {"lane", -3}}},
    [SNAPSHOT_LANES] = {"lanes",
                        {{"lane", 0}, {"name", -1}, {"inside", 1}, {"readers", 3}, {"waiting", 2}}},
};

static void members_put(struct json *json, const struct top_row *row, const struct member *members)
{
    for (int i = 0; i < 9 && members[i].name; i++) {
        if (members[i].place < 0)
            json_string(json, members[i].name, row->texts[-members[i].place - 1]);
        else if (row->numbers[members[i].place] == ROTA_NEVER)
            json_string(json, members[i].name, NULL);
        else
            json_number(json, members[i].name, "%" PRId64, row->numbers[members[i].place]);
    }
}

static void planner_put(struct json *json, const struct top_planner *planner)
{
    if (!planner->is_there) {
        json_string(json, "planner", NULL);
        return;
    }
    json_open(json, "planner", '{');
    json_number(json, "plans", "%" PRIu64, planner->plans);
    json_number(json, "last", planner->plans ? "%" PRId64 : "null", planner->at);
    json_number(json, "took_us", planner->plans ? "%" PRId64 : "null", planner->took);
    json_close(json, '}');
}

static void list_put(struct json *json, const struct top *top, int list)
{
    json_open(json, lists[list].name, '[');
    for (uint32_t i = 0; i < top->lists[list].count; i++) {
        const struct top_row *row = &top->lists[list].rows[i];
        json_open(json, NULL, '{');
        members_put(json, row, lists[list].members);
        rota_time left = list == SNAPSHOT_JOBS ? top_left(row) : 0;
        if (list == SNAPSHOT_JOBS)
            json_number(json, "left_us", left < 0 ? "null" : "%" PRId64, left);
        json_close(json, '}');
    }
    json_close(json, ']');
}

void top_json(const struct top *top, FILE *out)
{
    const struct top_list *counts = &top->lists[SNAPSHOT_COUNTS];
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_number(&json, "at", "%" PRId64, top->now);
    json_bool(&json, "at_work", top->is_running);
    json_number(&json, "ended_10s", "%" PRIu64, top->fast);
    json_number(&json, "ended_60s", "%" PRIu64, top->slow);
    planner_put(&json, &top->planner);
    for (int i = 0; i < SNAPSHOT_LISTS; i++)
        if (lists[i].name) list_put(&json, top, i);
    json_open(&json, "states", '{');
    for (uint32_t i = 0; i < counts->count; i++)
        json_number(&json, counts->rows[i].texts[0], "%" PRId64, counts->rows[i].numbers[1]);
    json_close(&json, '}');
    json_line(&json);
}
