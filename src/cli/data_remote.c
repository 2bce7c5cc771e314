// data_remote.c - `rota data` with --server: objects of jobs, and the store of the server.
#include "cli/connect.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS_MAX = 64, LISTING_MAX = 64 << 20, NOT_THERE = 1 };

struct remote_data {
    struct reach reach;
    struct client_place place;
    const char *verb;
    char *words[WORDS_MAX];
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
    const struct client *client = &data->reach.client;
    bool is_answer = client->code || client->link;
    return refuse(data, name, client->error, is_answer ? NOT_THERE : REACH_FAILED);
}

// ---- What a job makes --------------------------------------------------------------------------

struct row {
    rota_object_id object;
    bool is_kept;
    char state[16], kind[16], where[600];
    rota_task_id task;
    const char *name;
};

static bool row_read(char *line, struct row *row)
{
    char kept[8];
    int used = 0;
    uint64_t bytes;
    int count = sscanf(line,
                       "%16" SCNx64 "-%16" SCNx64 " %15s %7s %" SCNu64 " %15s %599s %" SCNu32
                       ".%" SCNu32 " %n",
                       &row->object.high, &row->object.low, row->kind, kept, &bytes, row->state,
                       row->where, &row->task.job, &row->task.task, &used);
    row->is_kept = strcmp(kept, "kept") == 0;
    row->name = line + used;
    return count == 9 && used;
}

// The whole listing of a job, to be freed. Null: why was said.
static char *listing_ask(struct remote_data *data, uint32_t job)
{
    char number[16];
    struct client *client = &data->reach.client;
    struct wire_message message = {.kind = WIRE_ASK_MESSAGE};
    snprintf(number, sizeof number, "%" PRIu32, job);
    wire_text words[] = {wire_text_of("data"), wire_text_of("--raw"), wire_text_of("--job"),
                         wire_text_of(number)};
    message.ask.words = (wire_texts){words, 4};
    wire_put(&client->link->out, &message);
    char *text = run_allocate(1, 1);
    size_t size = 0;
    bool fine = client_send(client);
    while (fine && (fine = client_next(client, &message, 0))) {
        if (message.kind == WIRE_REFUSE_MESSAGE) break;
        if (message.kind == WIRE_ANSWERED_MESSAGE && !message.answered.status) return text;
        if (message.kind == WIRE_ANSWERED_MESSAGE) break;
        if (message.kind != WIRE_ANSWER_MESSAGE || size > LISTING_MAX) continue;
        text = realloc(text, size + message.answer.bytes.length + 1);
        if (!text) run_no_memory();
        memcpy(text + size, message.answer.bytes.bytes, message.answer.bytes.length);
        size += message.answer.bytes.length;
        text[size] = 0;
    }
    refuse(data, number, fine ? size ? text : "there is no such job" : client->error, 2);
    free(text);
    return NULL;
}

// "7/sum", "7.3/sum" or "7".
struct wish {
    rota_task_id task;
    const char *name;  // null: all that is kept
};

static bool wish_read(const char *word, struct wish *wish)
{
    int used = 0;
    *wish = (struct wish){.name = NULL};
    if (sscanf(word, "%" SCNu32 "%n", &wish->task.job, &used) != 1) return false;
    int more = 0;
    if (word[used] == '.' && sscanf(word + used, ".%" SCNu32 "%n", &wish->task.task, &more) != 1)
        return false;
    used += more;
    if (word[used] == '/') wish->name = word + used + 1;
    return wish->task.job && (!word[used] || (wish->name && *wish->name));
}

static bool is_wished(const struct wish *wish, const struct row *row)
{
    if (wish->task.task && row->task.task != wish->task.task) return false;
    if (!wish->name) return row->is_kept && strcmp(row->state, "removed") != 0;
    return strcmp(wish->name, row->name) == 0;
}

// ---- What is done with each --------------------------------------------------------------------

typedef bool row_fn(struct remote_data *data, const struct row *row, const char *path);

static bool row_get(struct remote_data *data, const struct row *row, const char *path)
{
    char *place = path_absolute(path ? path : row->name);
    bool fine = place && client_get(&data->reach.client, &data->place, row->object, place);
    free(place);
    return fine;
}

static bool row_release(struct remote_data *data, const struct row *row, const char *path)
{
    (void)path;
    return client_data_change(&data->reach.client, WIRE_DATA_RELEASE, row->object);
}

static bool row_keep(struct remote_data *data, const struct row *row, const char *path)
{
    (void)path;
    return client_data_change(&data->reach.client, WIRE_DATA_KEEP, row->object);
}

static bool row_locate(struct remote_data *data, const struct row *row, const char *path)
{
    (void)path;
    if (data->json) {
        fputs("{\"name\":", stdout);
        json_text(stdout, row->name);
        printf(",\"state\":\"%s\",\"where\":", row->state);
        json_text(stdout, row->where);
        puts("}");
    } else {
        printf("%s %s %s\n", row->name, row->state, row->where);
    }
    return true;
}

static int rows_do(struct remote_data *data, const char *word, const char *path, row_fn *call)
{
    struct wish wish;
    struct row row;
    if (!wish_read(word, &wish))
        return refuse(data, word, "an object is named JOB/NAME, such as 7/sum", 2);
    char *text = listing_ask(data, wish.task.job);
    if (!text) return 2;
    int status = 0;
    uint32_t found = 0;
    for (char *line = text, *next; *line && !status; line = next) {
        next = line + strcspn(line, "\n");
        if (*next) *next++ = 0;
        if (!row_read(line, &row) || !is_wished(&wish, &row)) continue;
        found++;
        if (!call(data, &row, path)) status = client_status(data, row.name);
    }
    if (!found && !status)
        status = refuse(data, word, wish.name ? "no task makes that" : "nothing is kept", 1);
    free(text);
    return status;
}

// ---- The store of the server -------------------------------------------------------------------

static int put(struct remote_data *data, const char *path)
{
    struct client_uploads uploads = {0};
    struct cache_survey survey;
    struct cache_error error = {0};
    struct client_sent sent = {0};
    struct client client = {0};
    char text[CACHE_ENTRY_TEXT];
    cache_init(&uploads.cache);
    bool fine = cache_survey(&uploads.cache, path, &survey, &error);
    int status = fine ? 0 : refuse(data, path, error.text, 2);
    if (fine) {
        struct client_put one = {&survey, cache_entry_object(&survey.entry)};
        cache_entry_write(&survey.entry, text);
        if (!client_put_all(&client, &data->place, &one, 1, &sent))
            status = refuse(data, path, client.error, REACH_FAILED);
        cache_survey_release(&survey);
    }
    cache_close(&uploads.cache);
    if (status) return status;
    if (data->json) {
        fputs("{\"file\":", stdout);
        json_text(stdout, path);
        printf(",\"name\":\"%s\",\"sent\":%" PRIu64 "}\n", text, sent.bytes);
    } else {
        printf("%s\n", text);
    }
    return 0;
}

static int stored_use(struct remote_data *data, const struct cache_entry *entry, const char *name,
                      const char *path)
{
    struct row row = {.object = cache_entry_object(entry)};
    bool fine;
    if (strcmp(data->verb, "get") == 0) {
        if (!path) return refuse(data, name, "to which path?", 2);
        fine = row_get(data, &row, path);
    } else if (strcmp(data->verb, "unkeep") == 0) {
        fine = row_release(data, &row, NULL);
    } else {
        struct client other = {0};
        fine = client_bind(&other, &data->place, entry);
        bool is_answer = other.code && other.code != WIRE_REFUSED_BUSY;
        if (!fine) return refuse(data, name, other.error, is_answer ? NOT_THERE : REACH_FAILED);
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
    if (!data->count) return refuse(data, "a word is missing", "'rota data --help' says more", 2);
    int status = reach_open(&data->reach);
    data->place = (struct client_place){data->reach.server, data->reach.keys.items,
                                       data->reach.name};
    if (status) return status;
    bool is_get = strcmp(data->verb, "get") == 0;
    if (is_get && data->count > 2)
        return refuse(data, data->words[2], "one object at a time, and one path", 2);
    if (is_get) return word_do(data, data->words[0], data->count > 1 ? data->words[1] : NULL);
    for (uint32_t i = 0; i < data->count && !status; i++)
        status = word_do(data, data->words[i], NULL);
    return status;
}

static bool words_read(struct remote_data *data, int count, char **words)
{
    for (int i = 0, taken; i < count; i += taken ? taken : 1) {
        taken = reach_take(&data->reach, count - i, words + i);
        if (taken < 0 || data->count == WORDS_MAX) return false;
        if (taken) continue;
        if (strcmp(words[i], "--json") == 0)
            data->json = true;
        else if (words[i][0] == '-')
            return refuse(data, words[i], "is not an option of it", 2), false;
        else
            data->words[data->count++] = words[i];
    }
    return true;
}

// The verb stands anywhere: `rota data --server A get 7/sum` is as good.
static int verb_find(int count, char **words)
{
    static const char *const verbs[] = {"ls", "locate", "get", "put", "keep", "unkeep"};
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof verbs / sizeof *verbs; k++)
            if (strcmp(words[i], verbs[k]) == 0) return i;
    return -1;
}

int remote_data(int count, char **words)
{
    struct remote_data data = {.verb = "ls"};
    int at = verb_find(count, words);
    if (at >= 0) {
        data.verb = words[at];
        for (int i = at; i + 1 < count; i++) words[i] = words[i + 1];
        count--;
    }
    for (int i = 0; i < count; i++)
        if (strcmp(words[i], "--help") == 0) return command_data(1, words + i);
    bool by_content = false;  // whoever has the index answers that
    for (int i = 0; i < count; i++) by_content |= strcmp(words[i], "--content") == 0;
    by_content &= strcmp(data.verb, "locate") == 0;
    if (by_content || strcmp(data.verb, "ls") == 0) return remote_ask("data", count, words);
    reach_init(&data.reach, "data");
    int status = words_read(&data, count, words) ? words_do(&data) : 2;
    reach_close(&data.reach);
    return status;
}
