// signal_wall.h - keeps commands from ending each other, by signals or by limits.
#pragma once

#include <stdbool.h>

// a file that is closed on exec; -1: not possible for this system or user
int signal_wall_open(void);
bool signal_wall_enter(int domain);  // for this process and all it starts; false with errno

// rlimit_filter.c: from now on this thread, and all it starts, can change only its own resource
// limits. It needs the same rights as a domain. False with errno.
bool limit_filter_enter(void);
