// worker_keys.c - keys that a worker is given through its standard input.
#define _GNU_SOURCE
#include "cli/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEYS_BYTES_MAX = (WORK_PEER_KEYS + 1) * LINK_LINE_MAX };

// Byte by byte, so that nothing is taken that is not ours; there are few.
static bool text_read(char *text, size_t *length)
{
    *length = 0;
    while (*length < KEYS_BYTES_MAX) {
        ssize_t count = read(STDIN_FILENO, text + *length, 1);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        ++*length;
        bool is_empty = text[*length - 1] == '\n' && (*length == 1 || text[*length - 2] == '\n');
        if (is_empty) return true;
    }
    return false;
}

bool work_keys_read(struct link_keys *keys, struct link_error *error)
{
    char text[KEYS_BYTES_MAX];
    size_t length;
    bool fine = text_read(text, &length);
    if (fine)
        fine = link_keys_parse(keys, text, length - 1, "the standard input", error);
    else
        snprintf(error->text, sizeof error->text,
                 "the standard input: no keys with an empty line behind them");
    explicit_bzero(text, sizeof text);
    return fine;
}
