// shrink.h - makes a failing choice stream small.
#pragma once

#include "history.h"

// Deletes and zeroes bytes as long as the history still fails in the same way, for at most
// `seconds`. Histories run in child processes.
size_t history_shrink(uint8_t *bytes, size_t size, uint64_t without, double seconds);
