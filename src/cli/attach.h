// attach.h - a job of a server that is watched as if it ran here.
#pragma once

#include "cli/connect.h"
#include "job/file/jobfile.h"

struct attach {
    struct reach *reach;
    const struct jobfile *file;
    const char *path, *folder;  // of the file
    uint32_t job;
    bool json;
    uint64_t sequence;          // of the journal, before the job was handed in
    uint32_t place;
    uint8_t *told;              // by task: the outcome that was told, plus one
};

enum { ATTACH_LEFT = 130 };  // exit status: the job goes on without us

// Where the journal is now. False: says why.
bool attach_begin(struct attach *attach);
// Until nothing of the job can go on, or somebody wants to leave. Returns the exit status.
int attach_run(struct attach *attach);
