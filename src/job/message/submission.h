// submission.h - a job file as messages: what a server is told, and what it will tell workers.
//
// Nothing here reads a file or ends the program. Without memory what is written to has failed, and
// has perhaps a part of it.
#pragma once

#include "rota.h"

#include "job/file/jobfile.h"
#include "net/wire/wire.h"

// ---- command.c: what a worker is told to run -----------------------------------------------

// The upload of a file of the user, for workers that do not see the file.
struct submit_upload {
    rota_object_id object;
    enum wire_file_kind kind;
};
// By absolute path; null: none. Of a path that is given along.
typedef const struct submit_upload *submit_upload_fn(const void *context, const char *path);

struct submit_command {
    const struct jobfile *file;
    const char *folder;  // what relative paths are relative to
    rota_object_id (*object)(const void *context, uint32_t task, uint32_t output);  // its name
    const void *context;
    submit_upload_fn *upload;  // null: the workers see the user's files, and put there what is kept
};
// The path of a file that a job file names; to be freed. Null: no memory.
char *submit_path_in(const char *folder, const char *path);
// A RUN for a task; of `numbers` those of the attempt and the flags count.
void submit_command_put(const struct submit_command *command, uint32_t task,
                        const struct wire_run *numbers, struct wire_out *out);
// The details of a task that only commands show, a line each, without a zero. Returns the length;
// without a buffer it only counts.
size_t submit_details(const struct jobfile_task *task, char *out);

// ---- submission.c: the whole job ----------------------------------------------------------------

struct submit_job {
    const struct jobfile *file;
    const char *folder;          // what relative paths are relative to
    struct request_id request;
    uint32_t flags;              // with WIRE_SUBMIT_WATCH what ends is told from then on
    submit_upload_fn *upload;    // null: the workers see the user's files
    const void *context;
    const struct wire_make *uploads;  // all objects that may come of it
    uint32_t upload_count;
    const rota_object_id *keys;  // of contents, by task; null: none
};
// In as many pieces as it takes.
void submit_put(const struct submit_job *job, struct wire_out *out);
// The object of an output has a name that no other submission gives.
rota_object_id submit_output(struct request_id request, uint32_t task, uint32_t output);
