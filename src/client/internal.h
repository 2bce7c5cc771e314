// internal.h - what the files behind rota_client.h share: a connection, and waiting for answers.
#pragma once

#include "rota_client.h"

#include "net/link/link.h"

// The link is null before the first connect, and closed when the connection is gone.
struct rota_client {
    struct link *link;
    char *address;
    struct link_keys keys;  // of it
    uint64_t server;    // as it called itself
    rota_time patience;
    uint32_t questions; // asked so far: their numbers
    enum rota_client_role role;
    bool follows;
    char *text;         // of the last answer
    uint32_t text_length, text_capacity;
    char reason[500];
};

struct request { uint64_t high, low; };

// ---- connection.c: messages, one at a time ------------------------------------------------------

enum rota_client_code client_say(struct rota_client *client, enum rota_client_code code,
                                 const char *format, ...) __attribute__((format(printf, 3, 4)));
// Ticks; ROTA_NEVER stays.
int64_t client_until(rota_time timeout);
// Whether this one can ask at all, as a client or as a handler. A server closes the connection of
// who asks for what is not his.
enum rota_client_code client_ready(struct rota_client *client);
enum rota_client_code handler_ready(struct rota_client *client);
// Waits until something has come or gone, and takes it in. False: the ticks are over.
bool client_wait(struct rota_client *client, int64_t until);
// All that was put into link->out.
enum rota_client_code client_send(struct rota_client *client, int64_t until);
enum rota_client_code client_next(struct rota_client *client, struct wire_message *message,
                                  int64_t until);
// OK: it is no refusal, or one of something else.
enum rota_client_code client_refusal(struct rota_client *client, struct request request,
                                     const struct wire_message *message);

// ---- connect.c: the way to a server ---------------------------------------------------------

// Connects and greets. Says why not with the address before it.
enum rota_client_code client_reach(struct rota_client *client, const char *address,
                                   const struct link_key *key, enum wire_role role,
                                   const char *name);
// A second connection, to one who has objects: the server itself, or a worker's socket. It has the
// patience of the first; its reason becomes that of the first, too.
enum rota_client_code peer_open(struct rota_client *client, const char *address,
                                struct rota_client *peer);
enum rota_client_code peer_fail(struct rota_client *client, const struct rota_client *peer,
                                enum rota_client_code code);
void peer_close(struct rota_client *peer);
#define PEER_HOME "server"

// ---- request.c: a request and its answer --------------------------------------------------------

// An id that nobody has had; one that is there already stays.
enum rota_client_code request_make(struct rota_client *client, uint64_t *high, uint64_t *low);
// Sends, and waits for the message that begins with the same id.
enum rota_client_code client_ask(struct rota_client *client, const struct wire_message *question,
                                 int64_t until, struct wire_message *answer);
enum rota_client_code client_answer(struct rota_client *client, struct request request,
                                    int64_t until, struct wire_message *answer);
// The text that a call leaves behind: empty, for who is ready to ask; then longer and longer.
// False: no memory.
enum rota_client_code client_text_begin(struct rota_client *client);
bool client_text_add(struct rota_client *client, const char *bytes, uint32_t length);

// ---- data.c: names of objects, and their bytes ----------------------------------------------

struct client_object {
    rota_object_id id;
    bool is_content;          // of the server's store; else of a job
    struct wire_entry entry;  // of a content
    struct rota_client_object view;  // of what a job makes
};
enum rota_client_code client_object_find(struct rota_client *client, const char *name,
                                         struct client_object *object);
// SHA-256 of what a file has.
struct file_sum {
    struct os_digest *digest;
    struct os_sum *sum;
};
enum rota_client_code file_sum_open(struct rota_client *client, struct file_sum *sum);
// The first `bytes` of a regular file.
enum rota_client_code file_sum_add(struct rota_client *client, struct file_sum *sum, int file,
                                   uint64_t bytes);
void file_sum_close(struct file_sum *sum);

// ---- put.c ----------------------------------------------------------------------------------

// A content that the store has is kept there. Over a connection of peer_open().
enum rota_client_code content_bind(struct rota_client *peer, const struct wire_entry *entry);

// ---- job.c: tasks that will be one job -----------------------------------------------------

struct names {
    struct map by_hash;  // from 1 on
    uint32_t count;
};

// The frames of all its tasks as they will be sent, each a piece of the submission.
struct rota_client_job {
    struct wire_out frames;
    struct wire_out body;   // of one task at a time
    struct request request;
    char *name;
    enum rota_policy policy;
    enum rota_on_failure on_failure;
    uint32_t task_count;
    struct names lanes, groups, machines;
    struct map outputs;     // by task and name: which of its outputs, from 1 on
    bool has_failed;        // there was no memory for a part of it
    char reason[300];
};

void job_piece_put(const struct rota_client_job *job, struct wire_out *out,
                   const struct wire_submit *lists, uint32_t flags);
