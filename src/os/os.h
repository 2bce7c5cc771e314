// os.h - what rota asks of the system: the time, sleep, and files.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- clock.c ------------------------------------------------------------------

int64_t os_now(void);  // microseconds since 1970 in UTC

// From here on TERM and INT no longer end the program but the next sleep.
void os_signals_hold(void);
// Sleeps until then. False: somebody wants the program to end.
bool os_sleep_until(int64_t then);

// ---- file.c -------------------------------------------------------------------

bool os_file_is_there(const char *path);  // false, with errno: it cannot be read

// The whole file with a zero behind it, to be freed; "-" is the standard input. Null, with errno:
// it cannot be read, or has more than `max` bytes.
char *os_file_read(const char *path, size_t max, size_t *size);
