// cluster.h - the server of a cluster: turns messages of peers into events, and actions of the core
// into messages.
//
//     cluster_begin(cluster, now);
//     cluster_take(cluster, peer, &message);  // any number; a reply may be in peer->out already
//     turn = cluster_write(cluster);          // decided and written; its actions are held back
//     ... the disk works ...
//     cluster_settled(cluster, turn);         // now they are in the `out` of the peers
//
// At most two turns are written and not yet durable. Nothing here reads a clock, a file or a
// socket. If memory runs out the program ends: the store has all that was acknowledged.
#pragma once

#include "store/sqlite/definition_rows.h"
#include "store/store.h"
#include "turn/attempt_end.h"
#include "net/wire/wire.h"
#include "server/cluster/handlers.h"
#include "server/cluster/quota.h"

enum { CLUSTER_LOSSES = ATTEMPT_LOSSES_MAX };  // in addition to the retries

enum { CLUSTER_HOUR = 16 };
struct cluster_limits {
    rota_time lease;  // of a worker, from the sending of its heartbeat
    rota_time beat;   // how often it sends one
    // Unpredictable bytes. False: none are available.
    bool (*random)(void *bytes, size_t size);
    // ticks, only to measure the duration of plans; null: do not measure
    rota_time (*stopwatch)(void);
    uint64_t shares[CLUSTER_SHARE_KINDS];  // of each key; 0: no limit
    uint64_t commands;  // bytes of memory for commands that the store has, too; 0: no limit
    uint32_t connections, clients;  // of all peers; of all clients; 0: no limit
    // Whether the key of a worker was removed, so that its name is free. Null: never.
    bool (*key_is_gone)(void *context, const char *id);
    void (*hour)(rota_time at, char out[CLUSTER_HOUR]);  // "12:03" for people; null: in UTC
    void *context;
    bool restored;  // the database is a backup: later changes are unknown
};

// ---- peer.c: a connection ----------------------------------------------------------------------

struct cluster_peer {
    struct cluster_peer *next, *previous;  // list of the cluster
    uint32_t roles;                    // what its key allows
    enum wire_role role;               // as it introduced itself; 0: not yet
    char id[40];                       // of its key
    char owner[48];                    // "key ID", or a user of this machine
    struct cluster_share *share, *key;     // of its role and key; of its key
    enum cluster_place place;              // how it counts against the limit of connections
    uint64_t input, output;                // bytes that count against its share
    char from[72];                         // its address, or "/" and a user; "": unknown
    struct wire_out *out;                  // sent as soon as possible
    struct wire_out held[2];               // by slot of a turn: sent when that is durable
    struct cluster_worker *worker;         // null: none, or not joined
    struct cluster_draft *draft;           // an incomplete submission; null: none
    uint64_t number;
    struct cluster_watch *watches;         // job_watchers.h; null: none
    struct cluster_follow *follow;         // null: it does not follow events
    uint32_t reads;                    // objects that it waits for
    struct cluster_asked *asked;       // log_requests.c; null: it has asked for no log
    struct cluster_verdict verdict;    // of the last message taken
    bool closing;                      // nothing more is read; closed when `out` is empty
};

// `out` belongs to the connection and exists as long as the peer.
struct cluster_peer *cluster_peer_add(struct cluster *cluster, uint32_t roles, const char *id,
                              struct wire_out *out);
// In a turn: the connection was closed.
void cluster_peer_remove(struct cluster *cluster, struct cluster_peer *peer);
// at the end of the server
void cluster_peer_release(struct cluster *cluster, struct cluster_peer *peer);
// In a turn. False: the connection is to be closed once its `out` is empty.
bool cluster_take(struct cluster *cluster, struct cluster_peer *peer,
                  const struct wire_message *message);
void cluster_refuse(struct cluster_peer *peer, uint64_t high, uint64_t low, enum wire_code code,
                const char *reason);
// The same, sent when the present turn is durable.
void cluster_refuse_later(struct cluster *cluster, struct cluster_peer *peer,
                          const struct wire_refuse *refuse);
// The same, and closes the connection. Returns false.
bool cluster_turn_away(struct cluster_peer *peer, enum wire_code code, const char *reason);

// ---- cluster.c: turns ---------------------------------------------------------------------------

struct cluster {
    struct server *server;
    struct cluster_limits limits;
    struct cluster_peer *peers;
    struct cluster_watch *watching;  // most peers are workers, which never watch
    struct cluster_share *shares;
    uint32_t places[CLUSTER_PLACES];    // connections by kind, and by bit: some were refused
    uint32_t transfers, full;           // transfers: connections handed to the object store
    struct cluster_peer *object_store;  // the server's own store, treated as a peer; null: none
    bool object_store_is_known;         // it has listed all its objects
    struct map stored_by_hash;          // its objects: index + 1
    struct cluster_stored *stored;
    uint32_t stored_count, stored_capacity;
    struct cluster_reader *readers, **readers_end;  // clients that wait for an object, oldest first
    struct cluster_unverified *doubts;      // replicas.h
    struct cluster_bad_source *bad_sources;        // object_hashes.c; null: none so far
    rota_time sweep_at;            // ticks
    struct map workers_by_id;      // index + 1
    struct map workers_by_folder;  // the last worker with this folder: index + 1
    bool has_copies;               // a worker joined with the folder of another connected one
    struct cluster_worker **workers;
    uint32_t worker_count, worker_capacity;
    struct map names[CATALOG_KINDS];  // hash of a name: its number
    uint32_t last_name[CATALOG_KINDS];
    struct catalog_name *tried;  // new names, neither kept nor dropped yet
    uint32_t tried_count, tried_capacity;
    struct map jobs_by_id;         // index + 1
    struct cluster_job **jobs;
    uint32_t job_count, job_capacity;
    uint64_t frame_bytes;          // of memory for the commands of all jobs
    uint64_t frames_next;          // bytes: when commands are freed again
    struct wire_over *over;  // jobs to be closed in the next turn
    uint32_t over_count, over_capacity;
    uint64_t id;                   // of the database
    uint64_t draft_bytes;          // of incomplete submissions
    rota_time drafts_at;           // ticks: when to check their deadlines
    uint64_t opened;               // different for each start of the server
    uint64_t peers_seen, token;    // token: the last one issued
    uint64_t token_first;          // all tokens of this start of the server are larger
    uint64_t epoch;                // of tokens: their upper bits
    rota_time quiet_until, check_at;  // ticks: no worker may join before; when to check files
    // the longest lease told to a worker; ticks: until when it counts
    rota_time lease_believed, lease_until;
    char ahead_of_us[80];          // a worker that knows more than the database; "": none
    struct cluster_handlers handlers;
    struct live *live;             // planning.h; null: no planning ahead
    uint64_t plans;                // number of plans,
    rota_time plan_at, plan_took;  // and time and duration of the last one
    uint64_t turn[2];              // by slot: written, not known to be durable; 0: none
    uint32_t slot;                 // of the turn that is being prepared
    uint64_t journal[2];           // by slot: the last row of the journal with it
    rota_time feed_at;             // ticks: followers get no events before
    uint64_t durable;              // the last row of the journal that may be sent
    rota_time ticks;               // of this turn, on a monotonic clock
    struct cluster_reason *reasons;  // why attempts ended in this turn, for watching clients
};

// Takes over the state of the store: every worker is silent from now on. False: the server has the
// reason.
bool cluster_open(struct cluster *cluster, struct server *server,
                  const struct cluster_limits *limits, rota_time now, rota_time ticks);
void cluster_close(struct cluster *cluster);

bool cluster_can_begin(const struct cluster *cluster);  // one of the two slots is free
void cluster_begin(struct cluster *cluster, rota_time now, rota_time ticks);
uint64_t cluster_write(struct cluster *cluster);  // 0: stop; the server or the store has the reason
void cluster_settled(struct cluster *cluster, uint64_t turn);
struct wire_out *cluster_later(struct cluster *cluster,
                               struct cluster_peer *peer);  // of the present turn
rota_time cluster_deadline(const struct cluster *cluster);  // in ticks; ROTA_NEVER

_Noreturn void cluster_no_memory(void);
void *cluster_allocate(size_t count, size_t size);  // zeroed
void *cluster_keep(struct cluster *cluster, size_t count, size_t size);  // until the turn ends

// ---- server_identity.c: data of the server about itself -------------------------------------

// How a job ended, for clients that ask after it was removed.
void cluster_over_note(struct cluster *cluster, const struct wire_over *over);
bool cluster_over_find(struct cluster *cluster, uint32_t job, struct wire_over *over);

// The stored row about the name of a worker. Null: none.
const char *cluster_worker_row_find(struct cluster *cluster, rota_worker_id worker);
void cluster_worker_row_put(struct cluster *cluster, rota_worker_id worker, const char *text);

// ---- names.c: names of lanes, groups, machines and workers ----------------------------------

bool cluster_names_load(struct cluster *cluster);
// In a turn: the number of a name; a new name gets a number.
uint32_t cluster_name(struct cluster *cluster, enum catalog_kind kind, const char *name);
uint32_t cluster_name_known(struct cluster *cluster, enum catalog_kind kind,
                            const char *name);  // 0: unknown
// The same for names that are kept or dropped together, within the turn. 0: out of memory.
uint32_t cluster_name_try(struct cluster *cluster, enum catalog_kind kind, const char *name);
void cluster_names_keep(struct cluster *cluster);
void cluster_names_forget(struct cluster *cluster);
uint64_t cluster_hash(const void *bytes, size_t size);

// ---- run_frames.c: commands for workers -----------------------------------------------------

// The commands of a job: one frame after the other.
struct cluster_job {
    rota_job_id id;
    char *frames;
    uint32_t *ends;  // by body, from 0
    uint32_t count, capacity, length, frame_capacity;
    bool loaded;     // the store was asked
    rota_time read_at;  // ticks: when it gave them; 0: never
    struct cluster_share *share;  // that its commands count for; null: none, or of an earlier start
    uint64_t counted;             // bytes, in that share
    bool closes;     // when all of it has succeeded
    bool makes;      // objects
    uint64_t condition_work;  // submission.c; of what was submitted since the server started
};

// creates it if needed
struct cluster_job *cluster_job_get(struct cluster *cluster, rota_job_id id);
void cluster_job_drop(struct cluster *cluster, rota_job_id id);
// Between turns: frees commands above the limit of memory (frames_next), of jobs without attempts.
void cluster_frames_trim(struct cluster *cluster);
// Counts commands for the share of their job, until it is closed.
void cluster_commands_count(struct cluster_job *job, const struct cluster_peer *peer,
                            uint64_t bytes);
store_job_fn cluster_job_restored;  // which jobs of the store close automatically
// After a decision: a job has ended. In the next turn jobs that can be closed are closed.
void cluster_job_over(struct cluster *cluster, const struct rota_action *action);
void cluster_jobs_close(struct cluster *cluster);
// In a turn: closes a job; its unfinished tasks are stopped.
enum rota_error cluster_job_close(struct cluster *cluster, const struct wire_over *over);
uint32_t cluster_body_count(struct cluster *cluster,
                            rota_job_id id);  // of a job that the core has
// In a turn: gives the body the next number of its job. The frame must exist until the commit.
void cluster_body_add(struct cluster *cluster, struct cluster_job *job, const char *frame,
                      uint32_t length);
bool cluster_body_is_exclusive(struct cluster *cluster, rota_job_id id, uint32_t number);
// Returns the RUN message of a body, or null if the job has no such body.
const char *cluster_body_find(struct cluster *cluster, rota_job_id id, uint32_t number,
                              uint32_t *length);

// The same as a message to a worker, with these numbers and the recorded hashes of its inputs.
void cluster_run_put(struct cluster *cluster, wire_text body, const struct wire_run *numbers,
                     struct wire_out *out);

#include "server/cluster/workers.h"

// ---- worker_reports.c: reports of workers ---------------------------------------------------

bool cluster_started(struct cluster *cluster, struct cluster_peer *peer,
                     const struct wire_started *started);
bool cluster_finished(struct cluster *cluster, struct cluster_peer *peer,
                      const struct wire_finished *finished);

// ---- log_requests.c: logs, which are on the workers -----------------------------------------

void cluster_log(struct cluster *cluster, struct cluster_peer *peer, const struct wire_log *log);
void cluster_logged(struct cluster *cluster, const struct cluster_peer *worker,
                    const struct wire_logged *logged);

// ---- request.c: see request.h about requests that are executed once -------------------------

void cluster_change(struct cluster *cluster, struct cluster_peer *peer,
                    const struct wire_change *change);
// For requests that change nothing, and may be repeated at any time.
void cluster_refuse_error(struct cluster *cluster, struct cluster_peer *peer, uint64_t high,
                          uint64_t low, enum rota_error error);

// ---- job_watchers.c, view.c: clients that wait for jobs, or ask for their state ----------------

void cluster_look(struct cluster *cluster, struct cluster_peer *peer, const struct wire_look *look);
void cluster_reason_note(struct cluster *cluster,
                         const struct wire_finished *finished);  // until the turn ends
void cluster_tell_ended(struct cluster *cluster, const struct rota_action *action);
void cluster_tell_over(struct cluster *cluster, const struct rota_action *action);
struct wire_over cluster_over_of(const struct rota_action *action);
// Counts the tasks of a job by result. True: none of the others can progress without a request.
bool cluster_job_is_idle(const struct cluster *cluster, struct wire_over *over);

// ---- event_feed.c: clients that follow the journal ------------------------------------------

void cluster_follow(struct cluster *cluster, struct cluster_peer *peer,
                    const struct wire_follow *follow);
void cluster_follow_drop(struct cluster_peer *peer);
// Between turns: writes some durable events into `out`. Returns the ticks of the next call;
// INT64_MAX: not before a turn settles, or a client reads what waits for it.
rota_time cluster_feed(struct cluster *cluster, rota_time ticks);

// ---- submission_pieces.c: submissions -------------------------------------------------------

void cluster_submit(struct cluster *cluster, struct cluster_peer *peer,
                    const struct wire_submit *submit);
void cluster_draft_drop(struct cluster *cluster, struct cluster_peer *peer);
// in a turn: drops submissions whose rest did not arrive
void cluster_drafts_look(struct cluster *cluster);

// ---- validate.c: checks names and commands of clients ---------------------------------------

bool cluster_is_text(wire_text text);  // UTF-8 without zero bytes
wire_text cluster_reason(wire_text text);  // a reason for people, cut to 4 KiB
bool cluster_is_name(wire_text text);  // up to 255 bytes of UTF-8 without controls
// Why it is refused; null: it is valid.
const char *cluster_piece_fault(const struct wire_submit *submit, uint32_t *index);  // of the task
struct cluster_body_facts {
    uint32_t flags;  // enum wire_run_flag of its RUN
    struct cluster_objects {
        rota_object_id *items;  // sorted, each once
        uint32_t count;
    } reads, makes;
};
// With a server its objects are noted, in the memory of the turn.
const char *cluster_body_fault(struct server *keeper, wire_text body,
                               struct cluster_body_facts *facts);

// ---- actions.c: actions of the core ---------------------------------------------------------

void cluster_perform(struct cluster *cluster);  // into `held`
