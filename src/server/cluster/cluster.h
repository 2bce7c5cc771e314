// cluster.h - the server of a cluster: what its peers say becomes events, and what the core asks
// for becomes messages to them.
//
//     hub_begin(hub, now);
//     hub_take(hub, peer, &message);     // any number; an answer may wait in peer->out at once
//     turn = hub_write(hub);             // decided and written; what it asks for is held back
//     ... the disk works ...
//     hub_settled(hub, turn);            // and now it is in the peers' out
//
// At most two turns are out at a time. Nothing here reads a clock, a file or a socket. Without
// memory the program ends: the store has all that was promised.
#pragma once

#include "turn/attempt_end.h"
#include "net/wire/wire.h"
#include "server/cluster/handlers.h"
#include "server/cluster/quota.h"

enum { HUB_LOSSES = ENDS_LOSSES, HUB_GRACE = 5000000 };  // beside the retries; from TERM to KILL

enum { HUB_HOUR = 16 };
struct hub_limits {
    rota_time lease;  // of a worker, from the sending of its heartbeat
    rota_time beat;   // how often it sends one
    // Bytes that nobody can guess. False: there are none.
    bool (*random)(void *bytes, size_t size);
    rota_time (*stopwatch)(void);  // ticks, to tell how long plans take, and no more; null: do not
    uint64_t shares[HUB_SHARE_KINDS];  // of each key; 0: no limit
    uint32_t connections, clients;  // of all peers; of all clients; 0: no limit
    // Whether the key of a worker exists no more, so that its name is free. Null: never.
    bool (*key_is_gone)(void *context, const char *id);
    void (*hour)(rota_time at, char out[HUB_HOUR]);  // "12:03" for people; null: in UTC
    void *context;
    bool restored;  // the database is a backup: what was done since then is not known
};

// ---- peer.c: a connection ----------------------------------------------------------------------

struct hub_peer {
    struct hub_peer *next, *previous;  // of the hub
    uint32_t roles;                    // what its key allows
    enum wire_role role;               // what it said it is; 0: nothing yet
    char id[40];                       // of its key
    char owner[48];                    // "key ID", or a user of this machine
    struct hub_share *share, *key;     // of its role and key; of its key
    enum hub_place place;              // what it counts as
    uint64_t input, output;            // bytes that count for it
    char from[72];                     // its address, or "/" and a user; "": not known
    struct wire_out *out;              // leaves as soon as it can
    struct wire_out held[2];           // by slot of a turn: leaves when that is durable
    struct hub_worker *worker;         // null: none, or not joined
    struct hub_draft *draft;           // a submission that is not whole; null: none
    uint64_t number;
    struct hub_watch *watches;         // waits.h; null: none
    struct hub_follow *follow;         // null: it follows nothing
    uint32_t reads;                    // objects that it waits for
    struct hub_verdict verdict;        // of the message that was taken last
    bool closing;                      // nothing more is read; closed when `out` is empty
};

// `out` is the connection's own and lasts as long as the peer.
struct hub_peer *hub_peer_add(struct hub *hub, uint32_t roles, const char *id,
                              struct wire_out *out);
// In a turn: the connection is gone.
void hub_peer_remove(struct hub *hub, struct hub_peer *peer);
void hub_peer_release(struct hub *hub, struct hub_peer *peer);  // when all ends
// In a turn. False: the connection is to be closed once its `out` is empty.
bool hub_take(struct hub *hub, struct hub_peer *peer, const struct wire_message *message);
void hub_refuse(struct hub_peer *peer, uint64_t high, uint64_t low, enum wire_code code,
                const char *reason);
// The same, when the turn at hand is durable.
void hub_refuse_later(struct hub *hub, struct hub_peer *peer, const struct wire_refuse *refuse);
// The same, and the connection is closed. False.
bool hub_turn_away(struct hub_peer *peer, enum wire_code code, const char *reason);

// ---- cluster.c: turns ---------------------------------------------------------------------------

struct hub {
    struct server *server;
    struct hub_limits limits;
    struct hub_peer *peers;
    struct hub_watch *watching;    // most peers are workers, and do not
    struct hub_share *shares;
    uint32_t places[HUB_PLACES];   // peers that count as this, and by bit: there were too many
    uint32_t transfers, full;      // transfers: connections that the object store has
    struct hub_peer *depot;        // the server's own store, told of like a peer; null: none
    bool depot_is_known;           // it has said all that it holds
    struct map stored_by_hash;     // what lies there: index + 1
    struct hub_stored *stored;
    uint32_t stored_count, stored_capacity;
    struct hub_reader *readers, **readers_end;  // clients that wait for an object, oldest first
    struct hub_doubt *doubts;      // replicas.h
    struct hub_liar *liars;        // object_hashes.c; null: none so far
    rota_time sweep_at;            // ticks
    struct map workers_by_id;      // index + 1
    struct map workers_by_folder;  // the last that came with it: index + 1
    bool has_copies;               // one came with the folder of another that is connected
    struct hub_worker **workers;
    uint32_t worker_count, worker_capacity;
    struct map names[CATALOG_KINDS];  // hash of a name: its number
    uint32_t last_name[CATALOG_KINDS];
    struct catalog_name *tried;    // new ones, neither kept nor forgotten
    uint32_t tried_count, tried_capacity;
    struct map jobs_by_id;         // index + 1
    struct hub_job **jobs;
    uint32_t job_count, job_capacity;
    struct wire_over *over;        // jobs to be forgotten in the next turn
    uint32_t over_count, over_capacity;
    uint64_t id;                   // of the database
    uint64_t draft_bytes;          // of submissions that are not whole
    rota_time drafts_at;           // ticks: when to look at them
    uint64_t opened;               // another one for each life of the server
    uint64_t peers_seen, token;    // token: the last that was given out
    uint64_t token_first;          // all of this life of the server are larger
    uint64_t epoch;                // of tokens: their upper bits
    rota_time quiet_until, check_at;  // ticks: nobody may join before; when to check files
    rota_time lease_believed, lease_until;  // the longest that was told; ticks: it counts so long
    char ahead_of_us[80];          // a worker that knows more than the database; "": none
    struct hub_handlers handlers;
    struct guide *guide;           // planning.h; null: nothing is planned ahead
    uint64_t plans;                // it has made so many,
    rota_time plan_at, plan_took;  // and the last one then and in so long
    uint64_t turn[2];              // by slot: written, not known to be durable; 0: none
    uint32_t slot;                 // of the turn that is being prepared
    uint64_t journal[2];           // by slot: the last row of the journal with it
    rota_time feed_at;             // ticks: who follows is not told more before
    uint64_t durable;              // the last row of the journal that may be told
    rota_time ticks;               // of this turn, on a clock that is never set
    struct hub_reason *reasons;    // why attempts ended in this turn, for those that watch
};

// Takes over what the store has: every worker is silent from now on. False: the server says why.
bool hub_open(struct hub *hub, struct server *server, const struct hub_limits *limits,
              rota_time now, rota_time ticks);
void hub_close(struct hub *hub);

bool hub_can_begin(const struct hub *hub);  // one of the two slots is free
void hub_begin(struct hub *hub, rota_time now, rota_time ticks);
uint64_t hub_write(struct hub *hub);  // 0: stop; the server or the store says why
void hub_settled(struct hub *hub, uint64_t turn);
struct wire_out *hub_later(struct hub *hub, struct hub_peer *peer);  // of the turn at hand
rota_time hub_deadline(const struct hub *hub);  // in ticks; ROTA_NEVER

_Noreturn void hub_no_memory(void);
void *hub_allocate(size_t count, size_t size);  // zeroed
void *hub_keep(struct hub *hub, size_t count, size_t size);  // until the turn is over

// ---- server_identity.c: what a server keeps about itself ----------------------------------------

// How a job ended, for those who ask when it is forgotten.
void hub_over_note(struct hub *hub, const struct wire_over *over);
bool hub_over_find(struct hub *hub, uint32_t job, struct wire_over *over);

// What is kept about the name of a worker. Null: nothing.
const char *hub_worker_row_find(struct hub *hub, rota_worker_id worker);
void hub_worker_row_put(struct hub *hub, rota_worker_id worker, const char *text);

// ---- names.c: what lanes, groups, machines and workers are called ------------------------------

bool hub_names_load(struct hub *hub);
// In a turn: the number of a name, which gets one if it has none.
uint32_t hub_name(struct hub *hub, enum catalog_kind kind, const char *name);
uint32_t hub_name_known(struct hub *hub, enum catalog_kind kind, const char *name);  // 0: none
// The same for names that are kept or forgotten together, within the turn. 0: no memory.
uint32_t hub_name_try(struct hub *hub, enum catalog_kind kind, const char *name);
void hub_names_keep(struct hub *hub);
void hub_names_forget(struct hub *hub);
uint64_t hub_hash(const void *bytes, size_t size);

// ---- run_frames.c: what workers are told --------------------------------------------------------

// Of a job: the frames of its bodies, one behind the other.
struct hub_job {
    rota_job_id id;
    char *frames;
    uint32_t *ends;  // by body, from 0
    uint32_t count, capacity, length, frame_capacity;
    bool loaded;     // the store was asked
    bool closes;     // when all of it has succeeded
    bool makes;      // objects
};

struct hub_job *hub_job_get(struct hub *hub, rota_job_id id);  // makes it
void hub_job_drop(struct hub *hub, rota_job_id id);
void hub_jobs_load(struct hub *hub);  // which of the store's jobs close
// Behind a decision: a job is over. In the next turn: those that may be are forgotten.
void hub_job_over(struct hub *hub, const struct rota_action *action);
void hub_jobs_close(struct hub *hub);
// In a turn: a job is let go; what of it has not ended is stopped.
enum rota_error hub_job_close(struct hub *hub, const struct wire_over *over);
uint32_t hub_body_count(struct hub *hub, rota_job_id id);  // of a job that the core knows
// In a turn: gives it the next number of its job. The frame must last until the commit.
void hub_body_add(struct hub *hub, struct hub_job *job, const char *frame, uint32_t length);
bool hub_body_is_exclusive(struct hub *hub, rota_job_id id, uint32_t number);
// The RUN of a body. Null: there is none.
const char *hub_body_find(struct hub *hub, rota_job_id id, uint32_t number, uint32_t *length);

#include "server/cluster/workers.h"

// ---- worker_reports.c: what workers say ---------------------------------------------------------

bool hub_started(struct hub *hub, struct hub_peer *peer, const struct wire_started *started);
bool hub_finished(struct hub *hub, struct hub_peer *peer, const struct wire_finished *finished);

// ---- object_moves.c: objects move from worker to worker -----------------------------------------

void hub_fetch_put(struct hub *hub, const struct rota_action *action);
void hub_flow_put(struct hub *hub, const struct rota_action *action);
void hub_missed(struct hub *hub, struct hub_peer *peer, const struct wire_missed *missed);
enum { HUB_SOURCES = 8 };
struct hub_ticket {
    char text[33];
    uint64_t client;  // whose share of tickets it counts for; 0: a worker's
};
bool hub_ticket_make(const struct hub *hub, struct hub_ticket *out);  // false: no randomness
void hub_serve_put(struct hub *hub, struct hub_peer *source, rota_object_id object,
                   const struct hub_ticket *ticket);
// Who else than `reader` (null: anybody) can give it, from `first` on; they hear of the ticket.
uint32_t hub_sources(struct hub *hub, rota_object_id object, const struct hub_worker *reader,
                     rota_worker_id first, const struct hub_ticket *ticket,
                     wire_text addresses[HUB_SOURCES + 1]);

// ---- object_store.c: what lies in the server's own store ----------------------------------------

// The upload of a job is known by its id; so is what is named by its content, which stays until it
// is released. All others are copies on their way to a client.
struct hub_stored {
    rota_object_id object;
    uint64_t bytes;
    struct rota_content content;
    rota_time seen;  // ticks: when it was bound, or last read
};

// In a turn: the connection to the depot; what it holds is told on it.
void hub_depot_set(struct hub *hub, struct hub_peer *peer);
struct hub_stored *hub_stored_find(struct hub *hub, rota_object_id object);  // null: not there
bool hub_depot_take(struct hub *hub, const struct wire_message *message);
// In a turn: what nobody needs is dropped, now and then.
void hub_depot_sweep(struct hub *hub);
void hub_depot_drop(struct hub *hub, rota_object_id object);
void hub_depot_close(struct hub *hub);

// ---- object_reads.c: clients that want an object ------------------------------------------------

enum { HUB_READS_MAX = 1024 };

void hub_data(struct hub *hub, struct hub_peer *peer, const struct wire_data *data);
void hub_read_put(struct hub *hub, const struct rota_action *action);
// The depot has it, or (with a reason) will not get it.
void hub_readers_tell(struct hub *hub, rota_object_id object, const char *reason);
void hub_readers_forged(struct hub *hub, rota_object_id object);  // to the depot
void hub_readers_forget(struct hub *hub, const struct hub_peer *peer);  // it is gone; null: all

// ---- log_requests.c: what a command has printed lies with its worker ----------------------------

void hub_log(struct hub *hub, struct hub_peer *peer, const struct wire_log *log);
void hub_logged(struct hub *hub, const struct wire_logged *logged);

// ---- request.c: see request.h for what is done once --------------------------------------------

void hub_change(struct hub *hub, struct hub_peer *peer, const struct wire_change *change);
// For what changes nothing, and may be asked again at any time.
void hub_refuse_error(struct hub *hub, struct hub_peer *peer, uint64_t high, uint64_t low,
                      enum rota_error error);

// ---- waits.c, view.c: who waits for jobs, or asks how they are ----------------------------------

void hub_look(struct hub *hub, struct hub_peer *peer, const struct wire_look *look);
void hub_reason_note(struct hub *hub, const struct wire_finished *finished);  // until the turn ends
void hub_tell_ended(struct hub *hub, const struct rota_action *action);
void hub_tell_over(struct hub *hub, const struct rota_action *action);
struct wire_over hub_over_of(const struct rota_action *action);
// Counts the tasks of a job by how they ended. True: none of the others can go on by itself.
bool hub_job_rests(const struct hub *hub, struct wire_over *over);

// ---- event_feed.c: who follows the journal ------------------------------------------------------

void hub_follow(struct hub *hub, struct hub_peer *peer, const struct wire_follow *follow);
void hub_follow_drop(struct hub_peer *peer);
// Between turns: some of what is durable and not told yet, into `out`. Returns the ticks at which
// to come again; INT64_MAX: not before something settles, or somebody takes what waits for him.
rota_time hub_feed(struct hub *hub, rota_time ticks);

// ---- submission_pieces.c: jobs ------------------------------------------------------------------

void hub_submit(struct hub *hub, struct hub_peer *peer, const struct wire_submit *submit);
void hub_draft_drop(struct hub *hub, struct hub_peer *peer);
void hub_drafts_look(struct hub *hub);  // in a turn: whose rest does not come

// ---- validate.c: what clients may call things, and want to be run -------------------------------

bool hub_is_name(wire_text text);  // up to 255 bytes of UTF-8 without controls
// Why it cannot be taken; null: it can.
const char *hub_piece_fault(const struct wire_submit *submit, uint32_t *index);  // of the task
const char *hub_body_fault(wire_text body, uint32_t *flags);  // enum wire_run_flag of its RUN

// ---- actions.c: what the core asks for ---------------------------------------------------------

void hub_perform(struct hub *hub);  // into `held`
