// client.c - a connection that is waited for.
#include "client/files/client.h"
#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { OPEN_PATIENCE = 10000000 };

bool client_fail(struct client *client, const char *reason)
{
    snprintf(client->error, sizeof client->error, "%s", reason);
    return false;
}

void client_request_id(uint64_t *high, uint64_t *low)
{
    uint64_t words[2] = {0, 0};
    if (!os_random(words, sizeof words)) words[0] = (uint64_t)os_now();
    *high = words[0];
    *low = words[1] | 1;
}

// True: something can be read or written by now.
static bool wait(struct client *client, int64_t until)
{
    struct os_watch watch = {.file = client->link->file, .write = client->link->wants_write};
    return os_wait(&watch, 1, until);
}

bool client_send(struct client *client)
{
    while (client->link->out.length) {
        if (!link_flush(client->link)) return client_fail(client, client->link->reason);
        if (client->link->out.length) wait(client, INT64_MAX);
    }
    return true;
}

bool client_next(struct client *client, struct wire_message *message, int64_t patience)
{
    int64_t until = patience ? os_ticks() + patience : INT64_MAX;
    for (;;) {
        enum wire_result result = wire_take(&client->link->in, message);
        if (result == WIRE_GOT) return true;
        if (result != WIRE_MORE) return client_fail(client, "the server sent what is no message");
        if (client->link->state == LINK_CLOSED) return client_fail(client, client->link->reason);
        if (!wait(client, until) && os_ticks() >= until)
            return client_fail(client, "the server does not answer");
        link_work(client->link);
    }
}

static bool greet(struct client *client, enum wire_role role, const char *name, int64_t patience)
{
    struct wire_message message = {.kind = WIRE_GREET_MESSAGE};
    message.greet.version = WIRE_VERSION;
    message.greet.role = role;
    message.greet.name = wire_text_of(name);
    wire_put(&client->link->out, &message);
    link_work(client->link);
    if (!client_next(client, &message, patience)) return false;
    if (message.kind == WIRE_REFUSE_MESSAGE) {
        client->code = (enum wire_code)message.refuse.code;
        bool is_other = client->code == WIRE_REFUSED_FRAME;  // it cannot read GREET
        return client_fail(client, is_other ? WIRE_OTHER_VERSION : message.refuse.reason.bytes);
    }
    if (message.kind != WIRE_WELCOME_MESSAGE)
        return client_fail(client, "this is no server of rota");
    if (message.welcome.version != WIRE_VERSION) return client_fail(client, WIRE_OTHER_VERSION);
    client->welcome = message.welcome;
    return true;
}

bool client_open(struct client *client, const char *address, const struct link_key *key,
                 enum wire_role role, const char *name)
{
    return client_open_within(client, address, key, role, name, OPEN_PATIENCE);
}

bool client_open_within(struct client *client, const char *address, const struct link_key *key,
                        enum wire_role role, const char *name, int64_t patience)
{
    struct link_error error;
    *client = (struct client){0};
    errno = 0;
    client->link = link_connect(address, key, &error);
    client->is_final = !client->link && errno != ENOENT && errno != ECONNREFUSED && errno != EAGAIN;
    if (!client->link) return client_fail(client, error.text);
    int64_t until = os_ticks() + patience;
    while (client->link->state == LINK_OPENING && os_ticks() < until) {
        wait(client, until);
        link_work(client->link);
    }
    const struct link *link = client->link;
    if (link->state == LINK_OPEN && greet(client, role, name, patience)) return true;
    client->is_final = link->is_denied || (client->code && client->code != WIRE_REFUSED_BUSY);
    client->was_cut = link->state == LINK_CLOSED && !link->search && !client->is_final;
    char reason[sizeof client->error];
    const char *said = client->link->reason ? client->link->reason : "nobody answers";
    snprintf(reason, sizeof reason, "%s", client->error[0] ? client->error : said);
    snprintf(client->error, sizeof client->error, "%.99s: %.290s", address, reason);
    return false;
}

void client_close(struct client *client)
{
    link_close(client->link);
    client->link = NULL;
}
