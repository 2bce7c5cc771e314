// pause.c - `rota pause`, `rota resume`, `rota worker drain` and `rota worker forget`.
#include "cli/connect.h"

#include <stdio.h>
#include <string.h>

enum { REFUSED = 3 };

struct pause_request {
    struct connection connection;
    struct wire_message message;
    const char *name;
};

// Returns -1, or the exit status.
static int part_read(struct pause_request *request, const struct command *command, const char *word)
{
    static const struct {
        const char *name;
        uint32_t part;
    } parts[] = {{"lane", WIRE_PART_LANE}, {"worker", WIRE_PART_WORKER}, {"job", WIRE_PART_JOB}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(word, parts[i].name) == 0) request->message.rest.part = parts[i].part;
    if (request->message.rest.part) return -1;
    return command_wrong(command, "expected lane, worker or job, not '%s'", word);
}

static void done_print(const struct wire_rest *asked, const char *name)
{
    static const char *const words[]
        = {[WIRE_PAUSE] = "paused", [WIRE_RESUME] = "resumed",
           [WIRE_DRAIN_AND_QUIT] = "draining; it ends after its running tasks",
           [WIRE_FORGET] = "forgotten"};
    const char *part = asked->part == WIRE_PART_LANE  ? "lane "
                       : asked->part == WIRE_PART_JOB ? "job "
                                                      : "";
    printf("%s%s: %s\n", part, name, words[asked->how]);
}

// Whether nothing had to change. The server refuses such a request with one of these reasons; a
// script that pauses or drains twice has made no mistake.
static bool is_so_already(const struct wire_rest *asked, const char *reason)
{
    const char *end = asked->how == WIRE_PAUSE    ? ": already paused"
                      : asked->how == WIRE_RESUME ? ": not paused"
                                                  : NULL;
    size_t length = strlen(reason), size = end ? strlen(end) : 0;
    return end && length > size && strcmp(reason + length - size, end) == 0;
}

static int request_send(struct pause_request *request)
{
    struct rota_client *client = &request->connection.client;
    request->message.rest.name = wire_text_of(request->name);
    struct wire_rest asked = request->message.rest;  // the answer takes its place
    enum rota_client_code code
        = client_ask(client, (struct request_id){0}, ROTA_NEVER, &request->message);
    if (!code) return done_print(&asked, request->name), 0;
    if (!client->refusal) return connect_lost(&request->connection);
    bool is_state = client->refusal == WIRE_REFUSED_STATE;
    if (is_state && is_so_already(&asked, client->reason)) return puts(client->reason), 0;
    return connect_fail(&request->connection, client->reason, is_state ? REFUSED : 2);
}

static enum wire_rest_how how_of(const struct command *command)
{
    if (command == &pause_command) return WIRE_PAUSE;
    if (command == &resume_command) return WIRE_RESUME;
    return command == &worker_drain_command ? WIRE_DRAIN_AND_QUIT : WIRE_FORGET;
}

static int request_run(const struct command *command, int count, char **words)
{
    struct pause_request request = {.message.kind = WIRE_REST_MESSAGE};
    struct arguments arguments;
    bool names_part = command->verbs;
    request.message.rest.how = how_of(command);
    connect_init(&request.connection, command->name);
    int status = options_read(command, &request, NULL, &arguments, count, words);
    if (status >= 0) return status;
    status = part_read(&request, command, names_part ? arguments.items[0] : "worker");
    if (status >= 0) return status;
    if (names_part && arguments.count < 2) return command_wrong(command, "missing argument NAME");
    request.name = arguments.items[names_part];
    rota_task_id id;
    if (request.message.rest.part == WIRE_PART_JOB)
        status = word_id(command, ID_JOB, request.name, &id);
    if (status >= 0) return status;
    if (request.message.rest.part == WIRE_PART_WORKER) request.connection.role = WIRE_ADMIN;
    status = connect_open(&request.connection);
    if (!status) status = request_send(&request);
    connect_close(&request.connection);
    return status;
}

static const struct option_row rows[] = {CONNECT_ROWS(struct pause_request), OPTION_ROWS_END};

static const char verbs[] = "lane worker job";
static const char exits[] = "0\tdone, also if it is in this state already\n"
                            "2\tan option is wrong, or the lane, worker or job does not exist\n"
                            "3\tthe job has ended\n"
                            "4\tthe server cannot be reached\n";

const struct command pause_command = {
    .name = "pause",
    .summary = "pause a lane, a worker or a job of a server",
    .group = GROUP_CLUSTER,
    .argument = {ARGUMENT_VERB, "lane, worker or job", 1, 2},
    .run = request_run,
    .options = rows,
    .verbs = verbs,
    .usage = "[OPTION...] lane|worker NAME\n[OPTION...] job N\n",
    .text = "No new task starts there; running tasks continue. To pause a worker, the key must be "
            "that of an admin.\n",
    .examples = "rota pause lane db\tstart no task in the lane `db`\n"
                "rota pause job 7\tstart no task of job 7\n",
    .exits = exits,
};

const struct command resume_command = {
    .name = "resume",
    .summary = "resume a paused lane, worker or job",
    .group = GROUP_CLUSTER,
    .argument = {ARGUMENT_VERB, "lane, worker or job", 1, 2},
    .run = request_run,
    .options = rows,
    .verbs = verbs,
    .usage = "[OPTION...] lane|worker NAME\n[OPTION...] job N\n",
    .examples = "rota resume lane db\tstart tasks in the lane `db` again\n",
    .exits = exits,
};

const struct command worker_drain_command = {
    .name = "worker drain",
    .summary = "end a worker when its running tasks have ended",
    .group = GROUP_CLUSTER,
    .argument = {ARGUMENT_NAME, "NAME", 1, 1},
    .run = request_run,
    .options = rows,
    .usage = "[OPTION...] NAME\n",
    .text
    = "The server pauses the worker and tells it to end when it is idle. The key must be that "
      "of an admin.\n",
    .examples = "rota worker drain node7\tend the worker `node7`\n",
    .exits = "0\tdone, also if the worker drains already\n"
             "2\tan option is wrong, or the worker does not exist\n"
             "4\tthe server cannot be reached\n",
};

const struct command worker_forget_command = {
    .name = "worker forget",
    .summary = "let another key use the name of a worker",
    .group = GROUP_CLUSTER,
    .argument = {ARGUMENT_NAME, "NAME", 1, 1},
    .run = request_run,
    .options = rows,
    .usage = "[OPTION...] NAME\n",
    .text = "A server binds the name of a worker to its first key. The key of this command must be "
            "that of an admin.\n",
    .examples = "rota worker forget node7\tlet a new key use the name `node7`\n",
    .exits = "0\tdone\n2\tan option is wrong, or the worker does not exist\n"
             "3\tthe name is in use\n4\tthe server cannot be reached\n",
};
