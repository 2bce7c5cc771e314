// internal.h - what the files of rota_client.h share, on top of a connection.
#pragma once

#include "rota_client.h"

#include "client/connection/connection.h"
#include "net/wire/wire.h"

// ---- connect.c: a connection of a program ------------------------------------------------------

// Whether this connection is open for the requests of a client, or those of a handler. A server
// closes the connection of a peer that sends requests outside of its role.
enum rota_client_code client_ready(struct rota_client *client);
enum rota_client_code handler_ready(struct rota_client *client);
// A second connection, to a peer that holds objects: the server itself, or a worker's socket. It
// has the patience of the first connection, which takes over its reason.
enum rota_client_code peer_open(struct rota_client *client, const char *address,
                                struct rota_client *peer);
enum rota_client_code peer_fail(struct rota_client *client, const struct rota_client *peer,
                                enum rota_client_code code);
void peer_close(struct rota_client *peer);
#define PEER_HOME "server"

// ---- request.c ---------------------------------------------------------------------------------

// Empties the text that a call returns, if the connection is open.
enum rota_client_code text_begin(struct rota_client *client);

// ---- data.c: names of objects, and their bytes -------------------------------------------------

struct client_object {
    rota_object_id id;
    bool is_content;          // of the server's store; else of a job
    struct wire_entry entry;  // of a content
    struct rota_client_object view;  // of what a job makes
};
enum rota_client_code client_object_find(struct rota_client *client, const char *name,
                                         struct client_object *object);
// SHA-256 of the bytes of a file.
struct file_hash {
    struct os_digest *digest;
    struct os_hash *sum;
};
enum rota_client_code file_hash_open(struct rota_client *client, struct file_hash *sum);
// The first `bytes` of a regular file.
enum rota_client_code file_hash_add(struct rota_client *client, struct file_hash *sum, int file,
                                   uint64_t bytes);
void file_hash_close(struct file_hash *sum);

// ---- put.c -------------------------------------------------------------------------------------

// Keeps a content that the store has, over a connection of peer_open().
enum rota_client_code content_bind(struct rota_client *peer, const struct wire_entry *entry);

// ---- job.c: the tasks of a job ------------------------------------------------------------------

struct names {
    struct map by_hash;  // from 1 on
    uint32_t count;
};

// The encoded pieces of the submission, one for each task.
struct rota_client_job {
    struct wire_out frames;
    struct wire_out body;   // of one task at a time
    struct request_id request;
    char *name;
    enum rota_policy policy;
    enum rota_on_failure on_failure;
    uint32_t task_count;
    struct names lanes, groups, machines;
    struct map outputs;     // by task and name: which of its outputs, from 1 on
    bool has_failed;        // there was no memory for a task
    char reason[300];
};

void job_piece_put(const struct rota_client_job *job, struct wire_out *out,
                   const struct wire_submit *lists, uint32_t flags);
