// files.h - uploads, results and content keys, for a client with folders.
//
// Only the commands use it, so a lack of memory ends the program.
#pragma once

#include "client/connection/connection.h"
#include "job/file/jobfile.h"
#include "job/message/submission.h"
#include "object/cache/cache.h"
#include "object/transfer/transfer.h"
#include "os/os.h"

// ---- upload.c: the user's files that a job reads ------------------------------------------------

struct client_upload {
    char *path;                 // absolute; no two are the same
    const struct jobfile_task *task;  // the first that reads it
    struct cache_survey survey;
    struct submit_upload become;
};

struct client_fault {
    struct jobfile_place place;
    char text[600];
};

struct client_uploads {
    struct client_upload *items;  // by path
    uint32_t count;
    struct cache cache;           // for hashes
};

char *client_path_in(const char *folder, const char *path);  // submit_path_in(), never null
// Finds and hashes the files that tasks read and no task produces. False: `fault` names the task.
bool client_uploads_collect(struct client_uploads *uploads, const struct jobfile *file,
                            const char *folder, struct request_id request,
                            struct client_fault *fault);
const struct client_upload *client_upload_look(const struct client_uploads *uploads,
                                               const char *path);  // null: none
const struct submit_upload *client_upload_find(const struct client_uploads *uploads,
                                            const char *path);
void client_uploads_release(struct client_uploads *uploads);

// ---- put.c: uploads to the object store of a server ---------------------------------------------

struct client_place {
    const char *address;
    const struct link_key *key;  // null: a Unix socket
    const char *name;  // of the command, for messages to the user
};
struct client_sent {
    uint64_t files, bytes;  // that the server lacked
};
// An object, and its content.
struct client_put {
    const struct cache_survey *survey;
    rota_object_id object;
};

// Sends the contents that the server lacks, and binds the objects to them. It resumes after a lost
// connection, several times, and waits at most 60 s in all for a server that is busy or gone.
enum rota_client_code client_put_all(struct rota_client *client, const struct client_place *place,
                                     const struct client_put *puts, uint32_t count,
                                     struct client_sent *sent);
// Binds an object to a content that the server holds already.
enum rota_client_code client_bind(struct rota_client *client, const struct client_place *place,
                                  const struct cache_entry *entry);

// ---- get.c: results -----------------------------------------------------------------------------

// Waits until the object exists, and puts it at the path, which is absolute.
enum rota_client_code client_get(struct rota_client *client, const struct client_place *place,
                                 rota_object_id object, const char *path);

// ---- submit.c: a job file as a submission ------------------------------------------------------

struct client_submission {
    const struct jobfile *file;
    const char *folder;  // of the job file; relative paths start there
    const struct client_uploads *uploads;  // null: the workers see the user's files
    struct request_id request;
    uint32_t flags;      // WIRE_SUBMIT_WATCH: report tasks that end
};
// content_key.c: the keys by task, to be freed; none: the result is not shared.
rota_object_id *client_keys(const struct client_submission *submission);
// Sends the job, and waits until the server has accepted it.
enum rota_client_code client_submit(struct rota_client *client,
                                    const struct client_submission *submission, uint32_t *job);
// The object of an output.
rota_object_id client_output(const struct client_submission *submission, uint32_t task,
                             uint32_t output);
