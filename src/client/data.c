// data.c - finds objects by name, keeps and releases them.
//
// An output of a task is "7/sum" or "7.3/sum"; the server's listing (`rota data --raw`) translates
// the name into an id. A content in the server's object store is named by its hash.
#define _GNU_SOURCE
#include "client/internal.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

// ---- Names ---------------------------------------------------------------------------------

static enum rota_client_code output_find(struct rota_client *client,
                                         const struct output_name *name,
                                         struct client_object *object)
{
    struct output_row row;
    uint32_t found = 0, status;
    enum rota_client_code code
        = listing_ask(client, name->task.job, client_until(client->patience), &status);
    if (!code && status)
        code = client_say(client, ROTA_CLIENT_NOT_FOUND, "no such job: %u", name->task.job);
    if (code) return code;
    for (char *text = client->text; found < 2 && listing_next(&text, name, &row); found++) {
        object->id = row.object;
        object->view = row.view;
    }
    if (found == 1) return ROTA_CLIENT_OK;
    if (!found) return client_say(client, ROTA_CLIENT_NOT_FOUND, "no task has this output");
    return client_say(client, ROTA_CLIENT_WRONG, "several tasks produce it: use JOB.TASK/NAME");
}

enum rota_client_code client_object_find(struct rota_client *client, const char *text,
                                         struct client_object *object)
{
    struct output_name name;
    enum rota_client_code code = client_ready(client);
    *object = (struct client_object){.is_content = false};
    if (code) return code;
    if (text && wire_entry_read(text, &object->entry)) {
        object->is_content = true;
        object->id = wire_entry_object(&object->entry);
        return ROTA_CLIENT_OK;
    }
    if (text && output_name_read(text, &name) && name.name)
        return output_find(client, &name, object);
    return client_say(client, ROTA_CLIENT_WRONG, "an object is named JOB/NAME, such as 7/sum");
}

// ---- Locate, keep, release ---------------------------------------------------------------

enum rota_client_code rota_client_locate(struct rota_client *client, const char *name,
                                         struct rota_client_object *object)
{
    struct client_object found;
    enum rota_client_code code = client_object_find(client, name, &found);
    if (!code && found.is_content)
        code = client_say(client, ROTA_CLIENT_WRONG, "only the output of a task can be located");
    *object = found.view;
    return code;
}

static enum rota_client_code change(struct rota_client *client, enum wire_data_verb verb,
                                    const struct client_object *object)
{
    return client_keep(client, verb, object->id, client_until(client->patience));
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

// ---- Hashes of files ---------------------------------------------------------------------------

enum rota_client_code file_hash_open(struct rota_client *client, struct file_hash *sum)
{
    struct os_digest_error error = {.text = ""};
    *sum = (struct file_hash){os_digest_open(&error), NULL};
    if (!sum->digest) return client_say(client, ROTA_CLIENT_NO_MEMORY, "%s", error.text);
    sum->sum = os_hash_open(sum->digest);
    if (sum->sum) return ROTA_CLIENT_OK;
    return client_say(client, ROTA_CLIENT_NO_MEMORY, "out of memory for a hash");
}

void file_hash_close(struct file_hash *sum)
{
    os_hash_close(sum->sum);
    os_digest_close(sum->digest);
}

enum rota_client_code file_hash_add(struct rota_client *client, struct file_hash *sum, int file,
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
                              got ? strerror(errno) : "it became shorter");
        os_hash_add(sum->sum, piece, (size_t)got);
        at += (uint64_t)got;
    }
    return ROTA_CLIENT_OK;
}
