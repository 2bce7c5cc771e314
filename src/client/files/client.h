// client.h - somebody who asks a server for something, and waits for the answer.
#pragma once

#include "object/transfer/transfer.h"
#include "job/file/jobfile.h"
#include "net/link/link.h"
#include "run/run.h"

struct client {
    struct link *link;
    struct wire_welcome welcome;
    char error[500];  // why the last call failed
    enum wire_code code;  // of a refusal; 0: it was none
    bool is_final;        // what could not be connected to will not be by trying again
    bool was_cut;         // it was closed while it was opening
};

// ---- client.c: a connection ---------------------------------------------------------------------

// Connects and says who it is. `key` may be null for the path of a socket. False: `error` says why.
bool client_open(struct client *client, const char *address, const struct link_key *key,
                 enum wire_role role, const char *name);
// The same with another patience than 10 s.
bool client_open_within(struct client *client, const char *address, const struct link_key *key,
                        enum wire_role role, const char *name, int64_t patience);
void client_close(struct client *client);
// Sends what was put into link->out, and waits for the next message. False: the connection is
// gone, or so many microseconds are (0: for ever).
bool client_next(struct client *client, struct wire_message *message, int64_t patience);
bool client_send(struct client *client);
bool client_fail(struct client *client, const char *reason);  // false
void client_request_id(uint64_t *high, uint64_t *low);  // one that nobody has had

// ---- upload.c: files of the user's that go with a job -------------------------------------------

struct client_upload {
    char *path;                 // absolute, and each once
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

// All files that tasks read and none makes, hashed. False: `fault` names the task and the file.
bool client_uploads_collect(struct client_uploads *uploads, const struct jobfile *file,
                            const char *folder, uint64_t high, uint64_t low,
                            struct client_fault *fault);
const struct client_upload *client_upload_look(const struct client_uploads *uploads,
                                               const char *path);  // null: none
const struct submit_upload *client_upload_find(const struct client_uploads *uploads,
                                            const char *path);
void client_uploads_release(struct client_uploads *uploads);

// ---- put.c: contents for the store of a server --------------------------------------------------

struct client_place {
    const char *address;
    const struct link_key *key;  // null: a Unix socket
    const char *name;  // of the command, which tells the user when it has to wait
};
struct client_sent {
    uint64_t files, bytes;  // that were not there
};
// What one object is to be.
struct client_put {
    const struct cache_survey *survey;
    rota_object_id object;
};

// Sends what is not there, and names the objects; goes on where it was cut off, several times. It
// waits for 60 s in all until it is served.
// False: `client->error` says why.
bool client_put_all(struct client *client, const struct client_place *place,
                    const struct client_put *puts, uint32_t count, struct client_sent *sent);
// Names a content that is there already.
bool client_bind(struct client *client, const struct client_place *place,
                 const struct cache_entry *entry);

// ---- get.c: objects for the user ----------------------------------------------------------------

// Waits until it is made, and puts it at the path, which is absolute. Over a client that is open.
bool client_get(struct client *client, const struct client_place *place, rota_object_id object,
                const char *path);
// KEEP or RELEASE.
bool client_data_change(struct client *client, enum wire_data_verb verb, rota_object_id object);

// ---- handler.c: tasks that are run by hand ------------------------------------------------------
// False: refused, and `code` says how; or, when that is 0, the connection is gone. The same ids
// once more, over another connection, get the same answer.

struct client_wish {
    uint64_t high, low;
    rota_task_id task;     // none: any; task 0: any of that job
    uint32_t flags;        // FETCHED_OK, FAILED_OK
    rota_time lease, wait; // 0: the server's; 0: not at all
};
struct client_grant {
    rota_task_id task;
    uint32_t attempt;
    uint64_t token;        // 0: it was fetched already, and that is fine
    rota_time lease;
    struct wire_run run;   // what it is; without words if the server has none
    struct wire_in body;
};
bool client_fetch(struct client *client, const struct client_wish *wish,
                  struct client_grant *grant);
void client_grant_release(struct client_grant *grant);
bool client_renew(struct client *client, rota_task_id task, uint64_t token, rota_time *lease,
                  int64_t patience);

struct client_end {
    uint64_t high, low;
    rota_task_id task;
    uint64_t token;
    uint32_t flags;      // DELIVERED_OK, NOFETCH_OK, GIVEN_BACK
    int32_t status;      // of a failure; 0: 1
    const char *reason;  // null: none
};
bool client_deliver(struct client *client, const struct client_end *end);
bool client_fail_task(struct client *client, const struct client_end *end);

// ---- submit.c: a job file as a submission ------------------------------------------------------

struct client_submission {
    const struct jobfile *file;
    const char *folder;  // what relative paths are relative to
    const struct client_uploads *uploads;  // null: the workers see the user's files
    uint64_t high, low;  // the id of the request
    uint32_t flags;      // with WIRE_SUBMIT_WATCH what ends is told from then on
};
// content_key.c: by task, to be freed; none: nobody else may have made the same.
rota_object_id *client_keys(const struct client_submission *submission);
// In as many pieces as it takes, into link->out.
void client_submit_put(struct client *client, const struct client_submission *submission);
// The object of an output.
rota_object_id client_output(const struct client_submission *submission, uint32_t task,
                             uint32_t output);
// Waits for the answer. 0: refused, or the connection is gone.
uint32_t client_accepted(struct client *client, uint64_t high, uint64_t low);
