// remote.c - commands that a server carries out: commands with --server.
#include "cli/connect.h"
#include "cli/query_options.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 64, LOG_PAUSE = 200000, LOG_PATIENCE = 1500 };

struct remote {
    struct connection connection;
    const struct command *command;
    char options[WORDS_MAX][24];  // their names, in full
    const char *words[WORDS_MAX]; // options, values and arguments, without those for the client
    uint32_t count;
    const char *option;           // one of the options in `words`; null: there is none
    const char *out;              // --output; null: not given
    bool is_json;                 // --json is one of the words
};

static bool word_add(struct remote *remote, const char *word)
{
    if (remote->count == WORDS_MAX) return false;
    remote->words[remote->count++] = word;
    return true;
}

static bool option_add(struct remote *remote, const struct option_walk *walk)
{
    const char *name = walk->row->name;
    if (remote->count == WORDS_MAX) return false;
    if (strcmp(name, "server") == 0 || strcmp(name, "key") == 0) {
        *(*name == 's' ? &remote->connection.server : &remote->connection.key) = walk->value;
        return true;
    }
    if (strcmp(name, "output") == 0) return (remote->out = walk->value);
    remote->is_json |= strcmp(name, "json") == 0;
    char *option = remote->options[remote->count];
    snprintf(option, sizeof remote->options[0], "--%s", name);
    remote->option = option;
    return word_add(remote, option) && (!walk->value || word_add(remote, walk->value));
}

// Returns -1, or the exit status.
static int words_read(struct remote *remote, int count, char **words)
{
    struct option_walk walk = {.command = remote->command, .count = count, .words = words};
    enum walk_step step;
    while ((step = option_next(&walk)) != WALK_END) {
        if (step == WALK_WRONG) return 2;
        if (step == WALK_OPTION && walk.row == &option_help)
            return help_print(remote->command, stdout), 0;
        bool fits = step == WALK_OPTION ? option_add(remote, &walk) : word_add(remote, walk.value);
        if (!fits) return command_wrong(remote->command, "too many words: at most %d", WORDS_MAX);
    }
    return -1;
}

static int fail(const struct remote *remote, const char *reason)
{
    return connect_fail(&remote->connection, reason, 2);
}

static void remote_init(struct remote *remote, const struct command *command)
{
    *remote = (struct remote){.command = command};
    connect_init(&remote->connection, command->name);
}

// ---- Queries -----------------------------------------------------------------------------------

static bool is_taken(const struct command *command, const char *name)
{
    const struct option_row *row = command->options;
    while (*row->name && strcmp(row->name, name) != 0) row++;
    return *row->name;
}

// Hints in an answer are commands, which have to name the server.
static void answer_write(const struct remote *remote, wire_text bytes, FILE *out)
{
    const char *at = bytes.bytes, *end = at + bytes.length;
    for (const char *mark; (mark = memchr(at, QUERY_SERVER_MARK, (size_t)(end - at)));) {
        fwrite(at, 1, (size_t)(mark - at), out);
        connect_words_write(&remote->connection, out);
        at = mark + 1;
    }
    fwrite(at, 1, (size_t)(end - at), out);
}

// Prints the answer to `out`.
static int query(struct remote *remote, FILE *out)
{
    struct rota_client *client = &remote->connection.client;
    struct wire_message message;
    wire_text texts[WORDS_MAX + 1] = {wire_text_of(remote->connection.name)};
    for (uint32_t i = 0; i < remote->count; i++) texts[i + 1] = wire_text_of(remote->words[i]);
    struct request_id request = question_put(client, texts, remote->count + 1);
    while (!client_answer(client, request, ROTA_NEVER, &message)) {
        if (message.kind == WIRE_ANSWERED_MESSAGE) return (int)message.answered.status;
        answer_write(remote, message.answer.bytes, out);
    }
    bool is_final = client->refusal && client->refusal != WIRE_REFUSED_BUSY;
    return connect_fail(&remote->connection, client->reason, is_final ? 2 : CONNECT_FAILED);
}

// Writes a file as the command does without a server. An answer that failed is an error message.
static int query_to_file(struct remote *remote)
{
    struct output_file file;
    output_file_open(&file);
    int status = query(remote, file.out);
    if (!status) return output_file_close(&file, remote->command, remote->out, remote->is_json);
    fclose(file.out);
    fwrite(file.bytes, 1, file.size, stderr);
    free(file.bytes);
    return status;
}

int remote_query(const struct command *command, int count, char **words)
{
    struct remote remote;
    remote_init(&remote, command);
    int status = words_read(&remote, count, words);
    if (status >= 0) return status;
    if (is_taken(command, "mark-server") && !word_add(&remote, "--mark-server"))
        return command_wrong(command, "too many words: at most %d", WORDS_MAX);
    status = connect_open(&remote.connection);
    if (!status)
        status = *command->output_name ? query_to_file(&remote) : query(&remote, stdout);
    connect_close(&remote.connection);
    return status;
}

// ---- Logs --------------------------------------------------------------------------------------

struct log_request {
    rota_task_id task;
    uint32_t attempt;
    bool follow, raw;
    bool is_told;  // the user knows that this is the log of another task
};

// Returns -1, or the exit status.
static int wish_read(struct log_request *wish, struct remote *remote, int count, char **words)
{
    const struct command *command = remote->command;
    struct query_options options;
    int status = query_options_open(&options, command, count, words);
    if (status >= 0) return status;
    remote->connection.server = options.server;
    if (options.key) remote->connection.key = options.key;
    *wish = (struct log_request){.follow = options.follow,
                              .raw = options.raw,
                              .attempt = options.attempt};
    if (options.json || options.job || options.db)
        return command_wrong(command, "options --json, --job and --db exclude --server");
    if (options.name_count > 1)
        return command_wrong(command, "unexpected argument '%s'", options.names[1]);
    const char *word = options.file ? options.file : options.names[0];
    return word_id(command, ID_TASK, word, &wish->task);
}

// Whether to try again: the server, or the worker that has the log, may come back.
static bool log_continues(struct remote *remote, const struct log_request *wish, int *patience)
{
    const struct rota_client *client = &remote->connection.client;
    if (!wish->follow || !*patience) return false;
    if (!client_is_open(client)) return connect_reopen(&remote->connection);
    --*patience;
    os_sleep_until(os_now() + LOG_PAUSE);
    return client->refusal == WIRE_REFUSED_STATE;
}

static void log_print(struct plain_log *log, const struct log_request *wish, wire_text bytes)
{
    if (wish->raw)
        fwrite(bytes.bytes, 1, bytes.length, stdout);
    else
        plain_log_add(log, bytes.bytes, bytes.length);
    fflush(stdout);
}

static void maker_say(struct log_request *wish, const struct wire_logged *piece)
{
    bool is_its = SAME_TASK(piece->task, wish->task);
    if (is_its || wish->is_told) return;
    fflush(stdout);
    fprintf(stderr, "rota logs: %u.%u shares the result of %u.%u, whose log follows\n",
            wish->task.job, wish->task.task, piece->task.job, piece->task.task);
    wish->is_told = true;
}

// Prints piece by piece. While the log is incomplete, asks again, after a pause if nothing is new.
static int log_print_all(struct remote *remote, struct log_request *wish)
{
    struct rota_client *client = &remote->connection.client;
    struct wire_message message;
    struct plain_log lines = {.cut_length = 0};
    uint64_t offset = 0;
    int patience = LOG_PATIENCE;
    for (;;) {
        struct wire_log log = {.task = wish->task, .attempt = wish->attempt, .offset = offset};
        if (client_log(client, &log, ROTA_NEVER, &message)) {
            if (log_continues(remote, wish, &patience)) continue;
            return client->refusal ? fail(remote, client->reason)
                                   : connect_lost(&remote->connection);
        }
        const struct wire_logged *piece = &message.logged;
        if (!offset) maker_say(wish, piece);
        log_print(&lines, wish, piece->bytes);
        patience = LOG_PATIENCE;
        offset += piece->bytes.length;
        wish->attempt = piece->attempt;
        bool more = piece->bytes.length || (wish->follow && !piece->whole);
        if (!more) return plain_log_end(&lines), 0;
        if (!piece->bytes.length) os_sleep_until(os_now() + LOG_PAUSE);
    }
}

int remote_logs(const struct command *command, int count, char **words)
{
    struct remote remote;
    struct log_request wish;
    remote_init(&remote, command);
    int status = wish_read(&wish, &remote, count, words);
    if (status >= 0) return status;
    status = connect_open(&remote.connection);
    if (!status) status = log_print_all(&remote, &wish);
    connect_close(&remote.connection);
    return status;
}

// ---- Changes -----------------------------------------------------------------------------------

static enum wire_verb verb_of(const char *name)
{
    static const char *const verbs[WIRE_VERBS]
        = {[WIRE_CANCEL] = "cancel", [WIRE_RETRY] = "retry",  [WIRE_STAGE] = "stage",
           [WIRE_START] = "start",   [WIRE_GREEN] = "green",  [WIRE_RED] = "red",
           [WIRE_RESET] = "reset",   [WIRE_FREEZE] = "freeze", [WIRE_CLOSE] = "close"};
    for (int i = 1; i < WIRE_VERBS; i++)
        if (verbs[i] && strcmp(verbs[i], name) == 0) return (enum wire_verb)i;
    return WIRE_CANCEL;
}

// "job 7: closed", or "7.3: cancelled".
static void change_print(enum wire_verb verb, const char *word)
{
    static const char *const done[WIRE_VERBS]
        = {[WIRE_CANCEL] = "cancelled", [WIRE_RETRY] = "runs again", [WIRE_STAGE] = "staged",
           [WIRE_START] = "started",    [WIRE_GREEN] = "green",      [WIRE_RED] = "red",
           [WIRE_RESET] = "reset",      [WIRE_FREEZE] = "frozen",    [WIRE_CLOSE] = "closed"};
    printf("%s%s: %s\n", strchr(word, '.') ? "" : "job ", word, done[verb]);
}

static int change(struct remote *remote, const char *word, rota_task_id task)
{
    struct rota_client *client = &remote->connection.client;
    struct wire_message message;
    struct wire_change change = {.verb = verb_of(remote->connection.name), .task = task};
    struct request_id request = {0};
    enum rota_client_code code = request_make(client, &request);
    if (code) return connect_lost(&remote->connection);
    do {  // the server carries out a repeated request once
        message = (struct wire_message){.kind = WIRE_CHANGE_MESSAGE, .change = change};
        code = client_ask(client, request, ROTA_NEVER, &message);
    } while (code && !client->refusal && connect_reopen(&remote->connection));
    if (!code) return change_print(change.verb, word), 0;
    return client->refusal ? fail(remote, client->reason) : connect_lost(&remote->connection);
}

// Takes the option out of `rota cancel --job=7`. Returns -1, or the exit status.
static int job_option_take(struct remote *remote)
{
    bool has_job = remote->option && strcmp(remote->option, "--job") == 0;
    if (!has_job || remote->command != &cancel_command) return -1;
    if (remote->count != 2 || remote->words[0] != remote->option)
        return command_wrong(remote->command,
                             "with --server, option --job needs one job, such as --job=7, and no "
                             "other option or argument");
    remote->words[0] = remote->words[1];
    remote->count = 1;
    remote->option = NULL;
    return -1;
}

// Reads all words before the first change, so that a wrong one changes nothing. Returns -1, or the
// exit status.
static int ids_read(struct remote *remote, rota_task_id ids[WORDS_MAX])
{
    const struct command *command = remote->command;
    bool closes = command == &close_command, cancels = command == &cancel_command;
    enum id_kind kind = closes || remote->option ? ID_JOB  // of cancel, or refused below
                        : cancels ? ID_ANY : ID_TASK;
    int status = job_option_take(remote);
    if (status >= 0) return status;
    if (remote->option)
        return command_wrong(command, "option %s cannot be used with --server", remote->option);
    if (!remote->count)
        return command_wrong(command, "missing argument %s", command->argument.name);
    for (uint32_t i = 0; i < remote->count && status < 0; i++)
        status = word_id(command, kind, remote->words[i], &ids[i]);
    return status;
}

int remote_change(const struct command *command, int count, char **words)
{
    struct remote remote;
    rota_task_id ids[WORDS_MAX];
    remote_init(&remote, command);
    int status = words_read(&remote, count, words);
    if (status < 0) status = ids_read(&remote, ids);
    if (status >= 0) return status;
    status = connect_open(&remote.connection);
    for (uint32_t i = 0; i < remote.count && !status; i++)
        status = change(&remote, remote.words[i], ids[i]);
    connect_close(&remote.connection);
    return status;
}

static const struct option_row close_rows[] = {CONNECT_ROWS(struct remote), OPTION_ROWS_END};

const struct command close_command = {
    .name = "close",
    .summary = "remove a job from a server",
    .group = GROUP_CLUSTER,
    .argument = {ARGUMENT_NAME, "JOB", 1, ARGUMENTS_ANY},
    .run = remote_change,
    .options = close_rows,
    .usage = "[OPTION...] JOB...\n",
    .text = "The server stops the tasks of the job that have not ended, and removes their "
            "outputs. The history of the job stays in the database.\n",
    .examples = "rota close 7\tremove job 7 and its outputs\n",
    .exits = "0\tdone\n2\tan option is wrong, or the job does not exist\n"
             "4\tthe server cannot be reached\n",
};
