// shrink.h - makes a failing choice stream small.
#pragma once

#include "history.h"

// Does a history with these bytes end well? Runs in a child, so that a failed assert is seen too.
bool history_is_fine(const uint8_t *bytes, size_t size, uint64_t without);

// Deletes and zeroes bytes as long as the history still fails; at most so many seconds.
size_t history_shrink(uint8_t *bytes, size_t size, uint64_t without, double seconds);
