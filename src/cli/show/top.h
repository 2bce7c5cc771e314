// top.h - shared by the files of `rota top`, which shows a database on one screen.
#pragma once

#include "store/sqlite/snapshot.h"
#include "store/store.h"

#include <stdio.h>

// ---- top_snapshot.c: reading the database -------------------------------------------------------

struct top_row {
    int64_t numbers[SNAPSHOT_NUMBERS];
    char *texts[SNAPSHOT_TEXTS];
    uint32_t fast, slow;  // of a job: attempts that finished in the last 10 s and 60 s
};

struct top {
    rota_time now;
    struct top_list {
        struct top_row *rows;
        uint32_t count, capacity;
    } lists[SNAPSHOT_LISTS];
    uint64_t fast, slow;  // of all jobs
    bool is_running;      // a rota run or a server has the database open
    struct top_planner {  // as the server reported it
        bool is_there;
        uint64_t plans;
        rota_time at, took;  // of the last plan
    } planner;
};

// False: see `error`. Release it in either case.
bool top_load(struct top *top, const char *path, struct store_error *error);
void top_release(struct top *top);
uint64_t top_count(const struct top *top, const char *status);
// Estimated microseconds until a job finishes, by the rate of the last minute; -1: unknown.
rota_time top_left(const struct top_row *job);
uint64_t top_over(const struct top_row *job);  // finished tasks

// ---- top_draw.c, top_json.c --------------------------------------------------------------------

enum top_view { TOP_ALL, TOP_JOBS, TOP_WORKERS, TOP_TASKS, TOP_QUEUE, TOP_LANES, TOP_VIEWS };

struct top_request {
    uint32_t columns, rows;  // rows 0: as many as needed
    enum top_view view;
    uint32_t skip;           // rows of the list that are above the screen
};

// Lines without escape sequences: a byte of enum top_style sets the style of the text after it.
enum top_style { TOP_PLAIN = 1, TOP_HEAD, TOP_GOOD, TOP_BAD, TOP_DIM };
void top_draw(const struct top *top, const struct top_request *wish, FILE *out);
void top_json(const struct top *top, FILE *out);
