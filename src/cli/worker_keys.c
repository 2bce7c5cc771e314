// worker_keys.c - reads the keys of a worker from its standard input.
#define _GNU_SOURCE
#include "cli/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEYS_BYTES_MAX = (WORK_PEER_KEYS + 1) * LINK_LINE_MAX };

// Reads byte by byte, so that nothing after the keys is consumed.
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
        fine = link_keys_parse(keys, text, length - 1, "standard input", error);
    else
        snprintf(error->text, sizeof error->text,
                 "standard input: expected keys and an empty line");
    explicit_bzero(text, sizeof text);
    return fine;
}
