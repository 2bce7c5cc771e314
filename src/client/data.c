// data.c - objects by the names that people have for them: where they are, and that they stay.
#define _GNU_SOURCE
#include "client/internal.h"
#include "os/os.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- Names ---------------------------------------------------------------------------------

// "7/sum" or "7.3/sum".
struct name {
    rota_task_id task;  // task 0: any of the job
    const char *rest;
};

static bool name_read(const char *text, struct name *name)
{
    int job = 0, task = 0;
    *name = (struct name){.rest = NULL};
    if (sscanf(text, "%" SCNu32 "%n", &name->task.job, &job) != 1) return false;
    const char *at = text + job;
    if (*at == '.') {
        if (sscanf(at, ".%" SCNu32 "%n", &name->task.task, &task) != 1) return false;
        at += task;
        if (!name->task.task) return false;
    }
    name->rest = at + 1;
    return name->task.job && at[0] == '/' && at[1];
}

// A line of `rota data --raw`: object, kind, kept, bytes, state, where, task, name.
static bool row_read(const char *line, size_t length, const struct name *name,
                     struct client_object *object)
{
    struct rota_client_object *view = &object->view;
    char kind[16], kept[8];
    int used = 0;
    int count = sscanf(line,
                       "%16" SCNx64 "-%16" SCNx64 " %15s %7s %" SCNu64 " %15s %599s %" SCNu32
                       ".%" SCNu32 " %n",
                       &object->id.high, &object->id.low, kind, kept, &view->bytes, view->state,
                       view->where, &view->task.job, &view->task.task, &used);
    if (count != 9 || !used || (size_t)used > length) return false;
    view->is_directory = strcmp(kind, "directory") == 0;
    view->is_stream = strcmp(kind, "stream") == 0;
    view->is_kept = strcmp(kept, "kept") == 0;
    bool is_its = !name->task.task || view->task.task == name->task.task;
    return is_its && strlen(name->rest) == length - (size_t)used
           && memcmp(line + used, name->rest, length - (size_t)used) == 0;
}

static enum rota_client_code made_find(struct rota_client *client, const struct name *name,
                                       struct client_object *object)
{
    char job[16];
    const char *words[] = {"data", "--raw", "--job", job, NULL}, *text;
    uint32_t found = 0;
    snprintf(job, sizeof job, "%" PRIu32, name->task.job);
    enum rota_client_code code = rota_client_ask(client, words, &text);
    if (code == ROTA_CLIENT_REFUSED)
        return client_say(client, ROTA_CLIENT_NOT_FOUND, "there is no job %s", job);
    if (code) return code;
    for (size_t length; *text && found < 2; text += length + (text[length] == '\n')) {
        struct client_object row = {.is_content = false};
        length = strcspn(text, "\n");
        if (!row_read(text, length, name, &row)) continue;
        *object = row;
        found++;
    }
    if (found == 1) return ROTA_CLIENT_OK;
    if (!found) return client_say(client, ROTA_CLIENT_NOT_FOUND, "no task makes that");
    return client_say(client, ROTA_CLIENT_WRONG, "several tasks make that: it is JOB.TASK/NAME");
}

enum rota_client_code client_object_find(struct rota_client *client, const char *text,
                                         struct client_object *object)
{
    struct name name;
    enum rota_client_code code = client_ready(client);
    *object = (struct client_object){.is_content = false};
    if (code) return code;
    if (text && wire_entry_read(text, &object->entry)) {
        object->is_content = true;
        object->id = wire_entry_object(&object->entry);
        return ROTA_CLIENT_OK;
    }
    if (text && name_read(text, &name)) return made_find(client, &name, object);
    return client_say(client, ROTA_CLIENT_WRONG, "an object is named JOB/NAME, such as 7/sum");
}

// ---- Where they are, and that they stay ------------------------------------------------------

enum rota_client_code rota_client_locate(struct rota_client *client, const char *name,
                                         struct rota_client_object *object)
{
    struct client_object found;
    enum rota_client_code code = client_object_find(client, name, &found);
    if (!code && found.is_content)
        code = client_say(client, ROTA_CLIENT_WRONG, "a content is in the store, or nowhere");
    *object = found.view;
    return code;
}

static enum rota_client_code change(struct rota_client *client, enum wire_data_verb verb,
                                    const struct client_object *object)
{
    struct wire_message message = {.kind = WIRE_DATA_MESSAGE};
    enum rota_client_code code
        = request_make(client, &message.data.high, &message.data.low);
    message.data.verb = verb;
    message.data.object = object->id;
    return code ? code : client_ask(client, &message, client_until(client->patience), &message);
}

enum rota_client_code rota_client_keep(struct rota_client *client, const char *name)
{
    struct client_object object;
    enum rota_client_code code = client_object_find(client, name, &object);
    if (code) return code;
    if (!object.is_content) return change(client, WIRE_DATA_KEEP, &object);
    struct rota_client peer;
    code = peer_open(client, PEER_HOME, &peer);
    if (!code && (code = content_bind(&peer, &object.entry))) peer_fail(client, &peer, code);
    peer_close(&peer);
    return code;
}

enum rota_client_code rota_client_unkeep(struct rota_client *client, const char *name)
{
    struct client_object object;
    enum rota_client_code code = client_object_find(client, name, &object);
    return code ? code : change(client, WIRE_DATA_RELEASE, &object);
}

// ---- Sums of files -----------------------------------------------------------------------------

enum rota_client_code file_sum_open(struct rota_client *client, struct file_sum *sum)
{
    struct os_digest_error error = {.text = ""};
    *sum = (struct file_sum){os_digest_open(&error), NULL};
    if (!sum->digest) return client_say(client, ROTA_CLIENT_NO_MEMORY, "%s", error.text);
    sum->sum = os_sum_open(sum->digest);
    if (sum->sum) return ROTA_CLIENT_OK;
    return client_say(client, ROTA_CLIENT_NO_MEMORY, "no memory for a sum");
}

void file_sum_close(struct file_sum *sum)
{
    os_sum_close(sum->sum);
    os_digest_close(sum->digest);
}

enum rota_client_code file_sum_add(struct rota_client *client, struct file_sum *sum, int file,
                                   uint64_t bytes)
{
    enum { PIECE = 64 << 10 };
    char piece[PIECE];
    for (uint64_t at = 0; at < bytes;) {
        size_t most = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;
        ssize_t got = pread(file, piece, most, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0)
            return client_say(client, ROTA_CLIENT_FILE, "the file: %s",
                              got ? strerror(errno) : "it has fewer bytes");
        os_sum_add(sum->sum, piece, (size_t)got);
        at += (uint64_t)got;
    }
    return ROTA_CLIENT_OK;
}
