// signal_wall.h - commands that cannot end each other, by signals or by limits.
#pragma once

#include <stdbool.h>

int apart_open(void);          // a file that is closed on exec; -1: this system or user cannot
bool apart_enter(int domain);  // for this process and all it starts; false with errno

// rlimit_filter.c: from now on this thread, and all it starts, changes only its own resource
// limits. It needs the rights that a domain needs. False with errno.
bool limit_filter_enter(void);
