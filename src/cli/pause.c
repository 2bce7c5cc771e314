// pause.c - `rota pause`, `rota resume`, `rota worker drain`: nothing new starts there; and
// `rota worker forget`: a name may be used with another key.
#include "cli/connect.h"

#include <string.h>

static const char usage[]
    = "usage: rota pause lane|worker NAME       what runs goes on, nothing new starts there\n"
      "       rota pause job N                  nor of that job\n"
      "       rota resume lane|worker|job NAME  and now it does again\n"
      "       rota worker drain NAME            paused, and told to end when nothing runs there\n"
      "       rota worker forget NAME           another key may use this name from now on\n\n"
      "    --server ADDRESS  the path of a socket, or HOST:PORT ($ROTA_SERVER)\n"
      "    --key FILE        a key of the server, for HOST:PORT ($ROTA_KEY); an admin's for "
      "workers\n\n"
      "Exit status: 0 done, 2 there is no such lane, worker or job, 3 it is so already, or a\n"
      "name to forget is in use, 4 the server cannot be reached.\n";

enum { ALREADY = 3 };

struct rest {
    struct reach reach;
    struct wire_message message;
    const char *name;
};

static bool word_take(struct rest *rest, const char *word)
{
    uint32_t *part = &rest->message.rest.part;
    if (!*part) {
        *part = strcmp(word, "lane") == 0     ? WIRE_PART_LANE
                : strcmp(word, "worker") == 0 ? WIRE_PART_WORKER
                : strcmp(word, "job") == 0    ? WIRE_PART_JOB
                                              : 0;
        return *part;
    }
    if (rest->name || word[0] == '-') return false;
    rest->name = word;
    return true;
}

// -1: go on; else the exit status.
static int words_read(struct rest *rest, int count, char **words)
{
    for (int i = 0, taken; i < count; i += taken) {
        if (strcmp(words[i], "--help") == 0) return fputs(usage, stdout), 0;
        taken = reach_take(&rest->reach, count - i, words + i);
        if (!taken) taken = word_take(rest, words[i]);
        if (taken > 0) continue;
        fprintf(stderr, "rota %s: '%s' is not understood here\n%s", rest->reach.name, words[i],
                usage);
        return 2;
    }
    if (rest->name) return -1;
    fputs(usage, stderr);
    return 2;
}

static int rest_tell(struct rest *rest)
{
    struct client *client = &rest->reach.client;
    struct wire_message message = rest->message;
    message.rest.name = wire_text_of(rest->name);
    client_request_id(&message.rest.high, &message.rest.low);
    wire_put(&client->link->out, &message);
    bool open = client_send(client);
    while (open && (open = client_next(client, &message, 0))) {
        if (message.kind == WIRE_DONE_MESSAGE) return printf("%s: done\n", rest->name), 0;
        if (message.kind == WIRE_REFUSE_MESSAGE)
            return reach_fail(&rest->reach, message.refuse.reason.bytes,
                              message.refuse.code == WIRE_REFUSED_STATE ? ALREADY : 2);
    }
    return reach_lost(&rest->reach);
}

static int rest_run(struct rest *rest, enum wire_rest_how how, int count, char **words)
{
    rest->message.kind = WIRE_REST_MESSAGE;
    rest->message.rest.how = how;
    int status = words_read(rest, count, words);
    if (status >= 0) return status;
    if (rest->message.rest.part == WIRE_PART_WORKER) rest->reach.role = WIRE_ADMIN;
    status = reach_open(&rest->reach);
    if (!status) status = rest_tell(rest);
    reach_close(&rest->reach);
    return status;
}

int command_pause(int count, char **words)
{
    struct rest rest = {.name = NULL};
    reach_init(&rest.reach, "pause");
    return rest_run(&rest, WIRE_PAUSE, count, words);
}

int command_resume(int count, char **words)
{
    struct rest rest = {.name = NULL};
    reach_init(&rest.reach, "resume");
    return rest_run(&rest, WIRE_RESUME, count, words);
}

int worker_drain(int count, char **words)
{
    struct rest rest = {.name = NULL};
    reach_init(&rest.reach, "worker drain");
    rest.message.rest.part = WIRE_PART_WORKER;
    return rest_run(&rest, WIRE_DRAIN_AND_QUIT, count, words);
}

int worker_name_forget(int count, char **words)
{
    struct rest rest = {.name = NULL};
    reach_init(&rest.reach, "worker forget");
    rest.message.rest.part = WIRE_PART_WORKER;
    return rest_run(&rest, WIRE_FORGET, count, words);
}
