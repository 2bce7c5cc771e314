// bench.h - shared by all programs of the benchmark: one graph, the clock, the memory in use.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- graph.c: the same graph for all; making it is never timed ------------------------------

// Tasks are numbered from 0 and depend only on earlier ones.
struct graph {
    uint32_t task_count, edge_count;
    uint32_t *first;    // by task, and one more: where its dependencies begin in `before`
    uint32_t *before;
};

// random: three dependencies on any earlier tasks; layers: three in the 1,000 tasks before the own
// 1,000; chain: the previous task; independent: none. Ends the program on another shape.
struct graph graph_open(const char *shape, uint32_t task_count);
void graph_close(struct graph *graph);

// ---- measure.c: time and memory ----------------------------------------------

// Touches this much memory and frees it. A virtual machine gives unused memory back to its host,
// and then the first touch of a page waits for the host: several times the cost of the program, and
// again after every pause. No figure should include that.
void memory_wake(size_t bytes);

double seconds_now(void);
double bytes_now(void);    // resident
double bytes_peak(void);

void *allocate(size_t count, size_t size);  // zeroed; ends the program when there is none
uint32_t number_parse(const char *text);    // at least 1; ends the program otherwise

struct measure { double began, built, walked, bytes_before; };

void measure_begin(struct measure *measure);
void measure_built(struct measure *measure);
void measure_walked(struct measure *measure);

// Prints ns per task in all, then build=, walk= (ns per task) and bytes_per_task=.
void measure_print(const struct measure *measure, uint32_t task_count);
