// submission.h - encodes a job file as messages to the server, which include those for workers.
//
// These functions read no file and never end the program. If memory runs out, `out` is marked as
// failed and may hold a part of the messages.
#pragma once

#include "rota.h"

#include "job/file/jobfile.h"
#include "net/wire/wire.h"

// ---- command.c: the command of a task ------------------------------------------------------

// The upload of a user's file, for workers without access to that file.
struct submit_upload {
    rota_object_id object;
    enum wire_file_kind kind;
};
// Finds the upload of an absolute path; null: none.
typedef const struct submit_upload *submit_upload_fn(const void *context, const char *path);

struct submit_command {
    const struct jobfile *file;
    const char *folder;  // relative paths start here
    // Id of an output.
    rota_object_id (*object)(const void *context, uint32_t task, uint32_t output);
    const void *context;
    // Null: workers access the user's files directly, also to write kept outputs.
    submit_upload_fn *upload;
};
// The path of a file that a job file names; the caller frees it. Null: out of memory.
char *submit_path_in(const char *folder, const char *path);
// Writes a RUN message. Only the attempt and the flags of `numbers` are used.
void submit_command_put(const struct submit_command *command, uint32_t task,
                        const struct wire_run *numbers, struct wire_out *out);
// Writes the details of a task that only commands show, one per line, without a final zero. Returns
// the length; a null `out` only computes it.
size_t submit_details(const struct jobfile_task *task, char *out);

// ---- submission.c: a complete job ---------------------------------------------------------------

struct submit_job {
    const struct jobfile *file;
    const char *folder;          // relative paths start here
    struct request_id request;
    uint32_t flags;  // with WIRE_SUBMIT_WATCH the server reports finished tasks from then on
    submit_upload_fn *upload;    // null: workers access the user's files directly
    const void *context;
    const struct wire_make *uploads;  // every object that `upload` may return
    uint32_t upload_count;
    const rota_object_id *keys;  // content keys by task; null: none
};
// Splits the submission into as many messages as needed.
void submit_put(const struct submit_job *job, struct wire_out *out);
// The id of an output, which no other submission uses.
rota_object_id submit_output(struct request_id request, uint32_t task, uint32_t output);
