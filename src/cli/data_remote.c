// data_remote.c - `rota data` with --server: outputs of jobs, and the object store of the server.
#include "cli/connect.h"
#include "cli/query_options.h"
#include "os/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOT_THERE = 1 };

struct remote_data {
    struct connection connection;
    struct client_place place;
    const char *verb;
    char **words;
    uint32_t count;
    bool json;
};

bool data_verb_is_remote(const char *verb)
{
    return strcmp(verb, "put") == 0 || strcmp(verb, "keep") == 0 || strcmp(verb, "unkeep") == 0;
}

char *path_absolute(const char *path)
{
    char *folder = path[0] == '/' ? strdup("") : getcwd(NULL, 0);
    if (!folder) return NULL;
    size_t size = strlen(folder) + strlen(path) + 2;
    char *whole = malloc(size);
    if (whole) snprintf(whole, size, "%s%s%s", folder, path[0] == '/' ? "" : "/", path);
    free(folder);
    return whole;
}

static int refuse(const struct remote_data *data, const char *name, const char *reason, int status)
{
    fprintf(stderr, "rota data %s: %s: %s\n", data->verb, name, reason);
    return status;
}

static int client_status(const struct remote_data *data, const char *name)
{
    const struct rota_client *client = &data->connection.client;
    bool is_answer = client->refusal || client->link;
    return refuse(data, name, client->reason, is_answer ? NOT_THERE : CONNECT_FAILED);
}

// ---- The outputs of a job ----------------------------------------------------------------------

// The list of the outputs of a job, which the caller frees. Null: an error was printed.
static char *listing_get(struct remote_data *data, uint32_t job)
{
    char number[16];
    struct rota_client *client = &data->connection.client;
    uint32_t status = 0;
    snprintf(number, sizeof number, "%" PRIu32, job);
    enum rota_client_code code = listing_ask(client, job, ROTA_NEVER, &status);
    if (!code && !status) {
        char *text = strdup(client->text);
        if (!text) os_out_of_memory();
        return text;
    }
    const char *reason = client->text_length ? client->text : "no such job";
    refuse(data, number, code ? client->reason : reason, 2);
    return NULL;
}

// Without a name, all outputs that the job keeps.
static bool is_wished(const struct output_name *wish, const struct output_row *row)
{
    return wish->name || (row->view.is_kept && strcmp(row->view.state, "removed") != 0);
}

// ---- The verbs --------------------------------------------------------------------

typedef bool row_fn(struct remote_data *data, const struct output_row *row, const char *path);

static bool row_get(struct remote_data *data, const struct output_row *row, const char *path)
{
    char *place = path_absolute(path ? path : row->name);
    bool fine = place && !client_get(&data->connection.client, &data->place, row->object, place);
    free(place);
    return fine;
}

static bool row_release(struct remote_data *data, const struct output_row *row, const char *path)
{
    (void)path;
    return !client_keep(&data->connection.client, WIRE_DATA_RELEASE, row->object, ROTA_NEVER);
}

static bool row_keep(struct remote_data *data, const struct output_row *row, const char *path)
{
    (void)path;
    return !client_keep(&data->connection.client, WIRE_DATA_KEEP, row->object, ROTA_NEVER);
}

static bool row_locate(struct remote_data *data, const struct output_row *row, const char *path)
{
    (void)path;
    struct json json = {.out = stdout};
    if (data->json) {
        json_open(&json, NULL, '{');
        json_string(&json, "name", row->name);
        json_string(&json, "state", row->view.state);
        json_string(&json, "where", row->view.where);
        json_line(&json);
    } else {
        printf("%s %s %s\n", row->name, row->view.state, row->view.where);
    }
    return true;
}

static int rows_do(struct remote_data *data, const char *word, const char *path, row_fn *call)
{
    struct output_name wish;
    struct output_row row;
    if (!output_name_read(word, &wish))
        return refuse(data, word, "an object is given as JOB/NAME, such as 7/sum", 2);
    char *text = listing_get(data, wish.task.job);
    if (!text) return 2;
    int status = 0;
    uint32_t found = 0;
    for (char *rest = text; !status && listing_next(&rest, &wish, &row);) {
        if (!is_wished(&wish, &row)) continue;
        found++;
        if (!call(data, &row, path)) status = client_status(data, row.name);
    }
    if (!found && !status)
        status = refuse(data, word,
                        wish.name ? "no task has this output" : "the job keeps no outputs", 1);
    free(text);
    return status;
}

// ---- The object store of the server ------------------------------------------------------------

static int put(struct remote_data *data, const char *path)
{
    struct client_uploads uploads = {0};
    struct cache_survey survey;
    struct cache_error error = {0};
    struct client_sent sent = {0};
    struct rota_client client = {0};
    char text[CACHE_ENTRY_TEXT];
    cache_init(&uploads.cache);
    bool fine = cache_survey(&uploads.cache, path, &survey, &error);
    int status = fine ? 0 : refuse(data, path, error.text, 2);
    if (fine) {
        struct client_put one = {&survey, cache_entry_object(&survey.entry)};
        cache_entry_write(&survey.entry, text);
        if (client_put_all(&client, &data->place, &one, 1, &sent))
            status = refuse(data, path, client.reason, CONNECT_FAILED);
        cache_survey_release(&survey);
    }
    cache_close(&uploads.cache);
    if (status) return status;
    struct json json = {.out = stdout};
    if (data->json) {
        json_open(&json, NULL, '{');
        json_string(&json, "file", path);
        json_string(&json, "name", text);
        json_number(&json, "sent", "%" PRIu64, sent.bytes);
        json_line(&json);
    } else {
        printf("%s\n", text);
    }
    return 0;
}

static int stored_use(struct remote_data *data, const struct cache_entry *entry, const char *name,
                      const char *path)
{
    struct output_row row = {.object = cache_entry_object(entry)};
    bool fine;
    if (strcmp(data->verb, "get") == 0) {
        if (!path) return refuse(data, name, "missing argument PATH", 2);
        fine = row_get(data, &row, path);
    } else if (strcmp(data->verb, "unkeep") == 0) {
        fine = row_release(data, &row, NULL);
    } else {
        struct rota_client other = {0};
        fine = !client_bind(&other, &data->place, entry);
        bool is_answer = other.refusal && other.refusal != WIRE_REFUSED_BUSY;
        if (!fine) return refuse(data, name, other.reason, is_answer ? NOT_THERE : CONNECT_FAILED);
    }
    return fine ? 0 : client_status(data, name);
}

// ---- The command -------------------------------------------------------------------------------

static int word_do(struct remote_data *data, const char *word, const char *path)
{
    static const struct {
        const char *verb;
        row_fn *call;
    } verbs[] = {{"get", row_get},
                 {"unkeep", row_release},
                 {"keep", row_keep},
                 {"locate", row_locate}};
    struct cache_entry entry;
    if (strcmp(data->verb, "put") == 0) return put(data, word);
    if (cache_entry_read(word, &entry)) return stored_use(data, &entry, word, path);
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(data->verb, verbs[i].verb) == 0)
            return rows_do(data, word, path, verbs[i].call);
    return 2;
}

static int words_do(struct remote_data *data)
{
    int status = connect_open(&data->connection);
    data->place = (struct client_place){data->connection.server, data->connection.keys.items,
                                       data->connection.name};
    if (status) return status;
    bool is_get = strcmp(data->verb, "get") == 0;
    if (is_get) return word_do(data, data->words[0], data->count > 1 ? data->words[1] : NULL);
    for (uint32_t i = 0; i < data->count && !status; i++)
        status = word_do(data, data->words[i], NULL);
    return status;
}

// Returns -1, or the exit status. The first argument is the verb.
static int words_read(struct remote_data *data, const struct command *command, int count,
                      char **words)
{
    struct query_options options = {.command = command};
    struct arguments arguments;
    int status = options_read(command, &options, NULL, &arguments, count, words);
    if (status >= 0) return status;
    if (options.raw || options.content || options.job || options.db)
        return command_wrong(command, "only options --server, --key and --json can be used with %s",
                             arguments.items[0]);
    if (options.server) data->connection.server = options.server;
    if (options.key) data->connection.key = options.key;
    data->json = options.json;
    data->verb = arguments.items[0];
    data->words = arguments.items + 1;
    data->count = arguments.count - 1;
    if (!data->count) return command_wrong(command, "missing argument OBJECT");
    bool is_get = strcmp(data->verb, "get") == 0;
    if (is_get && data->count > 2)
        return command_wrong(command, "unexpected argument '%s'", data->words[2]);
    return -1;
}

static bool verb_is_known(const char *verb)
{
    static const char *const verbs[] = {"locate", "get", "put", "keep", "unkeep"};
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verb, verbs[i]) == 0) return true;
    return false;
}

// The place of the first argument among the words; -1: there is no argument.
static int verb_find(const struct command *command, int count, char **words)
{
    struct option_walk walk
        = {.command = command, .count = count, .words = words, .is_quiet = true};
    enum walk_step step;
    while ((step = option_next(&walk)) != WALK_END && step != WALK_WRONG)
        if (step == WALK_ARGUMENT) return walk.at - 1;
    return -1;
}

int remote_data(const struct command *command, int count, char **words)
{
    struct remote_data data = {.json = false};
    int at = verb_find(command, count, words);
    bool by_content = option_is_given(command, "content", count, words);
    bool is_listing = at < 0 || !verb_is_known(words[at]);
    if (is_listing || (by_content && strcmp(words[at], "locate") == 0)) {
        bool has_verb = at >= 0 && (!is_listing || strcmp(words[at], "ls") == 0);
        for (int i = at; has_verb && i + 1 < count; i++) words[i] = words[i + 1];
        return remote_query(command, count - has_verb, words);
    }
    connect_init(&data.connection, "data");
    int status = words_read(&data, command, count, words);
    if (status < 0) status = words_do(&data);
    connect_close(&data.connection);
    return status;
}
