// event_kind.h - the kinds of events by which a client may filter.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// False: there is no such kind, and `fault` says so.
bool event_kind_check(const char *word, char *fault, size_t size);
