// attach.h - shows a job of a server as if it ran here.
#pragma once

#include "cli/connect.h"
#include "job/file/jobfile.h"

struct attach {
    struct connection *connection;
    const struct jobfile *file;
    const char *path, *folder;  // of the file
    uint32_t job;
    bool json;
    uint64_t sequence;          // of the journal, before the job was submitted
    uint32_t place;
    uint8_t *told;              // by task: 1 + the outcome that was shown
};

enum { ATTACH_STOPPED = 3, ATTACH_LEFT = 130 };  // exit statuses: as rota run; the job continues

// Asks for the present position in the journal. False: an error was printed.
bool attach_begin(struct attach *attach);
// Shows the job until it has finished, or the user leaves. Returns the exit status.
int attach_run(struct attach *attach);
