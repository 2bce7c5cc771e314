// audit.c - `rota server --audit FILE`: a log of all requests and their results.
//
// The log contains each connection with its user and address, each request, and whether it was
// executed or refused, as one JSON object per line. A change is recorded in the database, in the
// transaction that makes the change. The file is a copy: it gets the line when the transaction is
// durable, and before the reply is sent. A refusal changes nothing, and is written only to the
// file, at once.
//
// The file belongs to this module; SIGHUP opens it again under its name, so that it can be rotated.
// A file that cannot be written, for example on a full disk, is reported once on standard error,
// and the server continues without it. Connections that fail authentication are limited to a few
// lines per second; the others are counted.
#define _GNU_SOURCE
#include "server/loop/loop.h"
#include "os/os.h"
#include "os/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { STRANGERS_A_SECOND = 10 };

// ---- The file ----------------------------------------------------------------------------------

static int file_open(const char *path)
{
    struct stat status;
    int flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    int file = open(path, flags, 0600);
    if (file < 0) return -1;
    bool is_file = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    bool is_loose = is_file && status.st_mode & (S_IRWXG | S_IRWXO);
    if (is_file && (!is_loose || fchmod(file, S_IRUSR | S_IWUSR) == 0)) return file;
    int reason = is_file ? errno : EINVAL;
    close(file);
    errno = reason;
    return -1;
}

int serve_audit_open(struct serve *serve)
{
    struct serve_audit *audit = &serve->audit;
    if (!serve->options.audit) return 0;
    audit->file = file_open(serve->options.audit);
    if (audit->file >= 0) return 0;
    fprintf(stderr, "rota server: %s: %s\n", serve->options.audit,
            errno == EINVAL ? "not a file" : strerror(errno));
    return 2;
}

// A renamed file gets no more lines. If the new file cannot be opened, the old one stays in use.
void serve_audit_again(struct serve *serve)
{
    struct serve_audit *audit = &serve->audit;
    if (audit->file < 0) return;
    int file = file_open(serve->options.audit);
    if (file < 0) {
        fprintf(stderr,
                "rota server: cannot reopen the audit log, the old file stays in use: %s: %s\n",
                serve->options.audit, strerror(errno));
        return;
    }
    close(audit->file);
    audit->file = file;
    audit->has_failed = false;
}

void serve_audit_close(struct serve *serve)
{
    if (serve->audit.file >= 0) close(serve->audit.file);
    serve->audit.file = -1;
    for (uint32_t i = 0; i < 2; i++) free(serve->audit.due[i]);
}

// ---- A line ------------------------------------------------------------------------------------

// Written with one call, so that no reader sees half a line. A full disk is reported once; the
// server continues.
static void line_write(struct serve_audit *audit, const char *line, size_t size, const char *path)
{
    ssize_t wrote = line ? write(audit->file, line, size) : -1;
    bool failed = wrote != (ssize_t)size;
    if (failed && !audit->has_failed)
        fprintf(stderr, "rota server: %s: cannot write the audit log: %s\n", path,
                wrote < 0 ? strerror(errno) : "no space left on device");
    audit->has_failed = failed;
}

// Texts of a refused request may be as long as a message.
static void text_put(struct json *json, const char *key, const char *text)
{
    enum { TEXT_MAX = 4096 };
    char cut[TEXT_MAX + 1];
    wire_text part = cluster_reason(wire_text_of(text));
    memcpy(cut, part.bytes, part.length);
    cut[part.length] = 0;
    json_string(json, key, cut);
}

struct line {
    struct json json;
    char *bytes;
    size_t size;
};

static void line_begin(struct line *line)
{
    *line = (struct line){.bytes = NULL};
    line->json.out = open_memstream(&line->bytes, &line->size);
    if (!line->json.out) cluster_no_memory();
    json_open(&line->json, NULL, '{');
    json_number(&line->json, "at", "%" PRId64, os_now());
}

static void line_end(struct line *line)
{
    json_line(&line->json);
    fclose(line->json.out);
    if (!line->bytes) cluster_no_memory();
}

static void identity_put(struct json *json, const struct serve_peer *peer)
{
    bool is_known = peer->peer && peer->peer->role;
    bool handles = is_known && peer->peer->role == WIRE_HANDLER;
    if (is_known)
        json_string(json, "role", handles ? "handler" : link_role_name(peer->peer->role));
    if (peer->peer && *peer->link->id) json_string(json, "key", peer->link->id);
    if (peer->peer && peer->peer->worker) json_string(json, "name", peer->peer->worker->name);
    if (peer->from[0] == '/')
        json_number(json, "uid", "%s", peer->from + 1);
    else
        json_string(json, "address", peer->from);
}

// A change of a connection, without a request. 0: none are unnamed.
static void peer_note(struct serve *serve, const struct serve_peer *peer, const char *verb,
                      const char *outcome, const char *reason, uint32_t unnamed)
{
    struct line line;
    line_begin(&line);
    identity_put(&line.json, peer);
    json_string(&line.json, "verb", verb);
    json_string(&line.json, "outcome", outcome);
    json_string(&line.json, "reason", reason);
    if (unnamed) json_number(&line.json, "unnamed", "%" PRIu32, unnamed);
    line_end(&line);
    line_write(&serve->audit, line.bytes, line.size, serve->options.audit);
    free(line.bytes);
}

static void verb_put(struct json *json, const char *verb, rota_task_id task)
{
    json_string(json, "verb", verb);
    if (task.job) json_number(json, "job", "%" PRIu32, task.job);
    if (task.task) json_number(json, "task", "%" PRIu32, task.task);
}

static void change_put(struct json *json, const struct wire_change *change)
{
    static const char *const words[WIRE_VERBS]
        = {[WIRE_CANCEL] = "cancel", [WIRE_RETRY] = "retry", [WIRE_STAGE] = "stage",
           [WIRE_START] = "start",   [WIRE_GREEN] = "green", [WIRE_RED] = "red",
           [WIRE_RESET] = "reset",   [WIRE_FREEZE] = "freeze", [WIRE_CLOSE] = "close"};
    const char *word = change->verb < WIRE_VERBS ? words[change->verb] : NULL;
    verb_put(json, word ? word : "change", change->task);
}

static void rest_put(struct json *json, const struct wire_rest *rest)
{
    static const char *const hows[] = {[WIRE_PAUSE] = "pause", [WIRE_RESUME] = "resume",
                                       [WIRE_DRAIN_AND_QUIT] = "drain", [WIRE_FORGET] = "forget"};
    static const char *const parts[] = {[WIRE_PART_LANE] = "lane", [WIRE_PART_WORKER] = "worker",
                                        [WIRE_PART_JOB] = "of"};
    bool known = rest->how >= WIRE_PAUSE && rest->how <= WIRE_FORGET;
    bool named = rest->part >= WIRE_PART_LANE && rest->part <= WIRE_PART_JOB;
    json_string(json, "verb", known ? hows[rest->how] : "rest");
    text_put(json, named ? parts[rest->part] : "of", rest->name.bytes);
}

static void object_put(struct json *json, rota_object_id object)
{
    json_plain(json, "object", "%016" PRIx64 "%016" PRIx64, object.high, object.low);
}

static void data_put(struct json *json, const struct wire_data *data)
{
    json_string(json, "verb", data->verb == WIRE_DATA_KEEP ? "keep" : "release");
    object_put(json, data->object);
}

// A receiver refused the data of this source: its hash was not the recorded one.
static void forged_put(struct json *json, const struct wire_forged *forged)
{
    json_string(json, "verb", "refuse_content");
    object_put(json, forged->object);
    text_put(json, "holder", forged->address.bytes);
    text_put(json, "fault", forged->reason.bytes);
}

// A transfer that ended because its key was revoked: nothing was refused.
static bool is_revoked(const struct wire_brought *brought)
{
    return !brought->entry.length && strcmp(brought->reason.bytes, DATA_REVOKED) == 0;
}

static void brought_put(struct json *json, const struct wire_brought *brought)
{
    bool is_bound = brought->object.high || brought->object.low;
    if (is_revoked(brought)) {
        json_string(json, "verb", "disconnect");
        json_string(json, "reason", DATA_REVOKED);
        return;
    }
    json_string(json, "verb", is_bound ? "bind" : "upload");
    if (is_bound) object_put(json, brought->object);
    if (brought->entry.length) text_put(json, "content", brought->entry.bytes);
    if (!brought->contents) return;
    json_number(json, "contents", "%" PRIu32, brought->contents);
    json_number(json, "bytes", "%" PRIu64, brought->bytes);
}

static void submit_put(struct json *json, const struct wire_submit *submit, uint32_t job)
{
    json_string(json, "verb", "submit");
    if (submit->name.length) text_put(json, "name_of_job", submit->name.bytes);
    if (job || submit->job) json_number(json, "job", "%" PRIu32, job ? job : submit->job);
}

// False: the message changes nothing unless it was refused, or is incomplete.
static bool is_change(const struct wire_message *message)
{
    switch (message->kind) {
    case WIRE_SUBMIT_MESSAGE: return !(message->submit.flags & WIRE_SUBMIT_MORE);
    case WIRE_DATA_MESSAGE:
        return message->data.verb == WIRE_DATA_KEEP || message->data.verb == WIRE_DATA_RELEASE;
    case WIRE_CHANGE_MESSAGE: case WIRE_REST_MESSAGE: case WIRE_CLAIM_MESSAGE:
    case WIRE_DELIVER_MESSAGE: case WIRE_FAIL_MESSAGE: case WIRE_JOIN_MESSAGE:
    case WIRE_DRAIN_MESSAGE: case WIRE_FORGED_MESSAGE: case WIRE_BROUGHT_MESSAGE:
        return true;
    default: return false;
    }
}

static void what_put(struct json *json, const struct wire_message *message, uint32_t job)
{
    static const rota_task_id none = {0};
    switch (message->kind) {
    case WIRE_SUBMIT_MESSAGE: submit_put(json, &message->submit, job); return;
    case WIRE_CHANGE_MESSAGE: change_put(json, &message->change); return;
    case WIRE_REST_MESSAGE: rest_put(json, &message->rest); return;
    case WIRE_DATA_MESSAGE: data_put(json, &message->data); return;
    case WIRE_CLAIM_MESSAGE: verb_put(json, "fetch", message->claim.task); return;
    case WIRE_DELIVER_MESSAGE: verb_put(json, "deliver", message->deliver.task); return;
    case WIRE_FAIL_MESSAGE: verb_put(json, "fail", message->fail.task); return;
    case WIRE_FINISHED_MESSAGE: verb_put(json, "report", message->finished.task); return;
    case WIRE_STARTED_MESSAGE: verb_put(json, "report", message->started.task); return;
    case WIRE_FORGED_MESSAGE: forged_put(json, &message->forged); return;
    case WIRE_BROUGHT_MESSAGE: brought_put(json, &message->brought); return;
    case WIRE_JOIN_MESSAGE: verb_put(json, "join", none); return;
    case WIRE_DRAIN_MESSAGE: verb_put(json, "leave", none); return;
    case WIRE_GREET_MESSAGE: verb_put(json, "greet", none); return;
    default: verb_put(json, "other", none); return;
    }
}

// ---- Recording ------------------------------------------------------------------------------

// The line ends with a newline, which the database does not need.
static void done_note(struct serve *serve, char *line, size_t size)
{
    struct serve_audit *audit = &serve->audit;
    uint32_t slot = serve->cluster.slot;
    char *due = realloc(audit->due[slot], audit->due_size[slot] + size);
    if (!due) cluster_no_memory();
    memcpy(due + audit->due_size[slot], line, size);
    audit->due[slot] = due;
    audit->due_size[slot] += size;
    line[size - 1] = 0;
    store_audit(serve->store, line);
}

void serve_audit_settled(struct serve *serve)
{
    struct serve_audit *audit = &serve->audit;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t slot = serve->cluster.slot ^ i;  // the older one first
        if (!audit->due_size[slot] || serve->cluster.turn[slot]) continue;
        line_write(audit, audit->due[slot], audit->due_size[slot], serve->options.audit);
        audit->due_size[slot] = 0;
    }
}

// The object store reports for the clients that uploaded something, and for itself. The text about
// a client is that of serve_audit_identity().
static void object_store_put(struct json *json, const struct wire_message *message)
{
    bool speaks_for = message->kind == WIRE_BROUGHT_MESSAGE && message->brought.who.length;
    if (speaks_for)
        fputs(message->brought.who.bytes, json->out);
    else
        json_string(json, "role", "server");
}

static const char *refusal_of(const struct serve_peer *peer, const struct wire_message *message)
{
    bool is_brought = message->kind == WIRE_BROUGHT_MESSAGE;
    if (is_brought && is_revoked(&message->brought)) return NULL;
    if (is_brought && message->brought.reason.length)
        return message->brought.reason.bytes;
    return peer->peer->verdict.code ? peer->peer->verdict.reason : NULL;
}

void serve_audit_request(struct serve *serve, const struct serve_peer *peer,
                         const struct wire_message *message)
{
    const char *refusal = refusal_of(peer, message);
    bool is_object_store = peer == serve->object_store_peer;
    if (serve->audit.file < 0 || (is_object_store && !is_change(message))) return;
    if (!refusal && !is_change(message)) return;
    struct line line;
    line_begin(&line);
    if (is_object_store)
        object_store_put(&line.json, message);
    else
        identity_put(&line.json, peer);
    what_put(&line.json, message, peer->peer->verdict.job);
    json_string(&line.json, "outcome", refusal ? "refused" : "done");
    if (refusal) text_put(&line.json, "reason", refusal);
    line_end(&line);
    if (refusal)
        line_write(&serve->audit, line.bytes, line.size, serve->options.audit);
    else
        done_note(serve, line.bytes, line.size);
    free(line.bytes);
}

char *serve_audit_identity(struct serve *serve, const struct serve_peer *peer)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = serve->audit.file < 0 ? NULL : open_memstream(&text, &size);
    if (!out) return NULL;
    struct json json = {.out = out, .is_next = true};
    bool is_one = peer->link->roles && !(peer->link->roles & (peer->link->roles - 1));
    if (is_one) json_string(&json, "role", link_role_name((enum wire_role)peer->link->roles));
    identity_put(&json, peer);
    fclose(out);
    return text;
}

void serve_audit_revoked(struct serve *serve, const struct serve_peer *peer)
{
    if (serve->audit.file >= 0) peer_note(serve, peer, "disconnect", "done", DATA_REVOKED, 0);
}

// Strangers can send any number of them, so only some are written, and the others are counted.
void serve_audit_stranger(struct serve *serve, const struct serve_peer *peer)
{
    struct serve_audit *audit = &serve->audit;
    if (audit->file < 0 || peer->peer || !peer->link->reason) return;
    int64_t second = os_ticks() / 1000000;
    if (second != audit->second) audit->strangers = 0;
    audit->second = second;
    if (++audit->strangers > STRANGERS_A_SECOND) {
        audit->unnamed++;
        return;
    }
    peer_note(serve, peer, "connect", "refused", peer->link->reason, audit->unnamed);
    audit->unnamed = 0;
}
