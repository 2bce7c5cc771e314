// sketch.h - graphs of a few tasks, written down as tables, for the tests of the planner.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "plan/model_internal.h"

enum { SKETCH_TASKS = 6, SKETCH_OBJECTS = 8 };

#define READ_BY(task) (1u << (task))

struct sketch_object {
    uint32_t maker;    // objects of one producer are adjacent; PLAN_NONE: none
    double mib;
    uint32_t readers;  // READ_BY(task) | ...
    bool is_stream;
};

struct sketch {
    uint32_t task_count, object_count;
    double seconds[SKETCH_TASKS];
    uint32_t cores[SKETCH_TASKS];       // 0 stands for 1
    uint32_t memory_mib[SKETCH_TASKS];  // all 0: no task wants any
    struct sketch_object objects[SKETCH_OBJECTS];
};

// Builds the graph; returns the result of plan_graph_finish(). The caller releases it in any case.
bool sketch_build(const struct sketch *sketch, struct plan_graph *graph);
struct plan_graph sketch_graph(const struct sketch *sketch);  // of a sketch that is valid

// Workers of one core each: 10 MiB a second, shared, four downloads at a time.
struct plan_cluster sketch_cluster(uint32_t worker_count);

// a (1 s) hands x to b (2 s) and c (3 s), which hand y and z to d (1 s).
enum { A, B, C, D, E, F };
enum { X, Y, Z };
struct plan_graph diamond(double mib);  // x, y and z have `mib` MiB each

void assert_about(double actual, double expected);  // to a millionth
