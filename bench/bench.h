// bench.h - what all programs of the benchmark share: one graph, the clock, the memory in use.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- graph.c: the same graph for everybody; making it is never timed ---------

// Tasks are numbered from 0 and need only earlier ones.
struct graph {
    uint32_t task_count, edge_count;
    uint32_t *first;    // by task, and one more: where its prerequisites begin in `before`
    uint32_t *before;
};

// random: three prerequisites anywhere before; layers: three in the 1,000 tasks before the
// own 1,000; chain: the one before; independent: none. Ends the program on another shape.
struct graph graph_open(const char *shape, uint32_t task_count);
void graph_close(struct graph *graph);

// ---- measure.c: time and memory ----------------------------------------------

// Touches so much memory and lets it go. A virtual machine gives memory back that nobody uses,
// and then the first touch of a page waits for the machine below: several times what a program
// costs that touches it, and anew after every rest. No figure should have that in it.
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
