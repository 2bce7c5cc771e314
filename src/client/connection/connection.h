// connection.h - a connection to a server: requests, and the answers to them.
//
// Both rota_client.h (src/client) and the commands (src/client/files, src/cli) use it. A caller
// encodes messages into link->out and sends them with client_send() or client_answer();
// client_next() decodes what arrives in link->in. All functions wait, but not past `until`, and
// read while they send: a server that cannot write may stop reading.
//
// The client owns its link. The texts of a message are in link->in and are valid until the next
// call that receives. Nothing here ends the program: a call returns a code, and `reason` holds the
// sentence for people.
#pragma once

#include "rota_client.h"

#include "net/link/link.h"
#include "net/wire/wire.h"

// The link is null before the first connect and after a failed one, and closed when the connection
// broke.
struct rota_client {
    struct link *link;
    uint64_t server;        // the id that the server sent
    enum wire_code refusal; // of the last request; 0: the server did not refuse it
    bool is_final;          // the connect failed, and would fail again
    bool was_cut;           // the server closed the connection before it was open
    uint32_t questions;     // sent so far: their numbers
    char *text;             // of the last answer
    uint32_t text_length, text_capacity;
    char reason[500];
    // Of rota_client_connect():
    char *address;
    struct link_keys keys;
    rota_time patience;
    enum rota_client_role role;
    bool follows;
};

// ---- messages.c: one message at a time ---------------------------------------------------------

enum rota_client_code client_say(struct rota_client *client, enum rota_client_code code,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));
int64_t client_until(rota_time timeout);  // ticks; ROTA_NEVER: no limit
bool client_is_open(const struct rota_client *client);
// Waits until the socket is ready, then reads and writes. False: the time has passed.
bool client_wait(struct rota_client *client, int64_t until);
// Sends all of link->out.
enum rota_client_code client_send(struct rota_client *client, int64_t until);
enum rota_client_code client_next(struct rota_client *client, struct wire_message *message,
                                  int64_t until);
// OK: the message does not refuse this request. A refusal without an id is about the connection, so
// about every request.
enum rota_client_code client_refusal(struct rota_client *client, struct request_id request,
                                     const struct wire_message *message);

// ---- open.c: connect, and leave ----------------------------------------------------------------

enum { CLIENT_OPEN_PATIENCE = 10 * 1000000 };
// Connects and sends GREET. `key` may be null for a Unix socket. A reason begins with the address.
enum rota_client_code client_reach(struct rota_client *client, const char *address,
                                   const struct link_key *key, enum wire_role role,
                                   const char *name, int64_t until);
void client_leave(struct rota_client *client);    // closes the link; it may connect again
void client_release(struct rota_client *client);  // and frees what it holds

// ---- request.c: a request and its answer -------------------------------------------------------

// Draws an id that no other request has. False: the system has no random numbers.
bool request_draw(struct request_id *request);
// The same, but an id that is set already stays.
enum rota_client_code request_make(struct rota_client *client, struct request_id *request);
// Sends link->out and waits for the next answer to this request.
enum rota_client_code client_answer(struct rota_client *client, struct request_id request,
                                    int64_t until, struct wire_message *answer);
// Sends a message that begins with a request id, and replaces it by the answer. An id of zeros
// becomes a new one.
enum rota_client_code client_ask(struct rota_client *client, struct request_id request,
                                 int64_t until, struct wire_message *message);
// Waits until the server has accepted the submission in link->out.
enum rota_client_code client_accepted(struct rota_client *client, struct request_id request,
                                      int64_t until, uint32_t *job);
// READ or THROUGH: waits until the object exists. `message` is a FETCH that names its holders.
enum rota_client_code client_locate(struct rota_client *client, enum wire_data_verb verb,
                                    rota_object_id object, int64_t until,
                                    struct wire_message *message);
// KEEP or RELEASE.
enum rota_client_code client_keep(struct rota_client *client, enum wire_data_verb verb,
                                  rota_object_id object, int64_t until);
// A piece of a log: `piece` is LOGGED.
enum rota_client_code client_log(struct rota_client *client, const struct wire_log *log,
                                 int64_t until, struct wire_message *piece);

// ---- question.c: commands that the server runs -------------------------------------------------

// Puts a question into link->out. Its answer is ANSWER messages and one ANSWERED.
struct request_id question_put(struct rota_client *client, const wire_text *words, uint32_t count);
// Asks, and collects the answer in `text`. `status` is the exit status of the command.
enum rota_client_code question_ask(struct rota_client *client, const wire_text *words,
                                   uint32_t count, int64_t until, uint32_t *status);
// Empties `text`, or adds to it. False: no memory.
bool client_text_begin(struct rota_client *client);
bool client_text_add(struct rota_client *client, const char *bytes, uint32_t length);

// ---- listing.c: the outputs of a job ------------------------------------------------------------

struct output_name {
    rota_task_id task;  // task 0: any of the job
    const char *name;   // null: any
};
bool output_name_read(const char *text, struct output_name *name);  // "7/sum", "7.3/sum" or "7"
// The listing becomes `text` of the client. A status other than 0: there is no such job.
enum rota_client_code listing_ask(struct rota_client *client, uint32_t job, int64_t until,
                                  uint32_t *status);
struct output_row {
    rota_object_id object;
    struct rota_client_object view;
    const char *name;  // in the listing
};
// The next row with this name. Cuts the listing into lines, and moves `text` on. False: no more.
bool listing_next(char **text, const struct output_name *name, struct output_row *row);

// ---- handler.c: tasks for external workers -----------------------------------------------------
// A request that is repeated with the same id, also over another connection, gets the same answer.

struct client_query {
    struct request_id request;
    rota_task_id task;      // none: any; task 0: any of that job
    uint32_t flags;         // FETCHED_OK, FAILED_OK
    rota_time lease, wait;  // 0: the server's; 0: do not wait
};
struct client_grant {
    rota_task_id task;
    uint32_t attempt;
    uint64_t token;         // 0: the task was fetched already, and the wish allows it
    rota_time lease;
    struct wire_run run;    // the command; empty if the server has none
    struct wire_in body;    // holds the texts of `run`
};
enum rota_client_code client_fetch(struct rota_client *client, const struct client_query *wish,
                                   int64_t until, struct client_grant *grant);
void client_grant_release(struct client_grant *grant);
// `lease` becomes the new one; it stays as it is if the server names none.
enum rota_client_code client_renew(struct rota_client *client, rota_task_id task, uint64_t token,
                                   int64_t until, rota_time *lease);

struct client_end {
    struct request_id request;
    rota_task_id task;
    uint64_t token;
    uint32_t flags;      // DELIVERED_OK, NOFETCH_OK, GIVEN_BACK
    int32_t status;      // of a failure; 0: 1
    const char *reason;  // null: none
};
enum rota_client_code client_deliver(struct rota_client *client, const struct client_end *end,
                                     int64_t until);
enum rota_client_code client_fail(struct rota_client *client, const struct client_end *end,
                                  int64_t until);
