// top.c - `rota top`: shows what a run or a server is doing now.
#include "cli/top_screen.h"
#include "cli/query_options.h"
#include "cli/show/top.h"
#include "os/os.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct top_options {
    struct connection connection;
    bool once, json, framed;
    const char *db;
    rota_time interval;
    struct top_request wish;
    struct top_planner planner;
};

static bool wish_read(struct top_options *options, const char *text)
{
    unsigned view;
    char rest;
    struct top_request *wish = &options->wish;
    options->framed = true;
    int count = sscanf(text, "%u,%u,%u,%u%c", &wish->columns, &wish->rows, &view, &wish->skip,
                       &rest);
    wish->view = (enum top_view)view;
    return count == 4 && view < TOP_VIEWS;
}

static bool planner_read(struct top_planner *planner, const char *text)
{
    int count = sscanf(text, "%" SCNu64 ",%" SCNd64 ",%" SCNd64, &planner->plans, &planner->at,
                       &planner->took);
    return planner->is_there = count == 3;
}

enum { TOP_FRAME, TOP_PLANNER, TOP_INTERVAL };

static bool value_take(void *values, uint32_t number, const char *value)
{
    struct top_options *options = values;
    rota_time least = 100000, most = 3600000000;
    if (number == TOP_FRAME) return wish_read(options, value);
    if (number == TOP_PLANNER) return planner_read(&options->planner, value);
    return seconds_read(value, &options->interval) && options->interval >= least
           && options->interval <= most;
}

// Prints without the bytes that set the appearance.
static void plain_draw(const struct top *top, const struct top_request *wish)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) return;
    top_draw(top, wish, out);
    fclose(out);
    for (char *at = text, *next; at < text + size; at = next + 1) {
        next = strchr(at, '\n');
        plain_write(stdout, at + 1, (size_t)(next - at) - 1);
        putchar('\n');
    }
    free(text);
}

static int look_once(const struct top_options *options, const char *path)
{
    struct top top;
    struct store_error error;
    if (!options->db && !os_file_is_there(path)) return query_database_missing(path);
    bool fine = top_load(&top, path, &error);
    top.planner = options->planner;
    if (!fine)
        fprintf(stderr, "rota top: %s\n", error.text);
    else if (options->json)
        top_json(&top, stdout);
    else if (options->framed)
        top_draw(&top, &options->wish, stdout);
    else
        plain_draw(&top, &options->wish);
    top_release(&top);
    return fine ? 0 : store_exit_status(&error);
}

// A server answers with a process that has no terminal.
static int remote_once(const struct command *command, const struct top_options *options)
{
    char server[] = "--server", key[] = "--key", json[] = "--json";
    char *words[5] = {server, (char *)(uintptr_t)options->connection.server};
    int count = 2;
    if (options->connection.key) {
        words[count++] = key;
        words[count++] = (char *)(uintptr_t)options->connection.key;
    }
    if (options->json) words[count++] = json;
    return remote_query(command, count, words);
}

static int screen_show(struct top_options *options, const char *path, bool is_remote)
{
    struct top_source source = {is_remote ? NULL : path, &options->connection};
    struct store_error error;
    if (!is_remote && !options->db && !os_file_is_there(path)) return query_database_missing(path);
    struct store *store = is_remote ? NULL : snapshot_open(path, &error);
    if (!is_remote && !store) {
        fprintf(stderr, "rota top: %s\n", error.text);
        return store_exit_status(&error);
    }
    store_close(store);
    int status = is_remote ? connect_open(&options->connection) : 0;
    if (!status) status = top_screen(&source, options->interval);
    if (is_remote) connect_close(&options->connection);
    return status;
}

static int top(const struct command *command, int count, char **words)
{
    struct top_options options = {.interval = 1000000};
    struct arguments arguments;
    bool is_remote = option_is_given(command, "server", count, words);
    connect_init(&options.connection, "top");
    int status = options_read(command, &options, value_take, &arguments, count, words);
    if (status >= 0) return status;
    if (is_remote && options.db)
        return command_wrong(command, "options --db and --server exclude each other");
    bool once = options.once || options.json || options.framed || !os_is_terminal(1)
                || !os_is_terminal(0);
    const char *path = options.db ? options.db : ".rota/rota.db";
    if (!once) return screen_show(&options, path, is_remote);
    return is_remote ? remote_once(command, &options) : look_once(&options, path);
}

static const struct option_row rows[] = {
    {0, "interval", "SECONDS", "time between two updates", OPTION_OTHER, .at = TOP_INTERVAL,
     .preset = "1", .needs = "a number of seconds from 0.1 to 3600", .in_query = true},
    {0, "once", "", "print the state once, as text; the default unless the output is a terminal",
     OPTION_FLAG, .at = offsetof(struct top_options, once), .in_query = true},
    {0, "json", "", "print the state once, as a JSON object; times are microseconds", OPTION_FLAG,
     .at = offsetof(struct top_options, json), .in_query = true},
    {0, "db", "FILE", "the database of a run", OPTION_PATH, .at = offsetof(struct top_options, db),
     .preset = ".rota/rota.db"},
    {0, "server", "ADDRESS", "show a server: a Unix socket or HOST:PORT", OPTION_PATH,
     .at = offsetof(struct top_options, connection.server), .needs = NEEDS_ADDRESS},
    {0, "key", "FILE", "a key file for a server at HOST:PORT", OPTION_PATH,
     .at = offsetof(struct top_options, connection.key), .preset = "$ROTA_KEY"},
    // A client adds the size of its screen to its query, and the server the state of its planner.
    {0, "frame", "W,H,VIEW,SKIP", "", OPTION_OTHER, .at = TOP_FRAME,
     .needs = "columns, rows, view and skipped rows", .in_query = true, .is_hidden = true},
    {0, "planner", "COUNT,AT,TIME", "", OPTION_OTHER, .at = TOP_PLANNER, .needs = "three numbers",
     .is_hidden = true},
    OPTION_ROWS_END};

const struct command top_command = {
    .name = "top",
    .summary = "watch a run or a server on one screen",
    .group = GROUP_INSPECT,
    .query = QUERY_PLAIN,
    .run = top,
    .options = rows,
    .usage = "[OPTION...]\n",
    .text = "Keys: q quits; Tab, Left, Right and 0 to 5 select a view; Up, Down and Page keys "
            "scroll; p pauses.\n",
    .examples = "rota top\twatch the run of this folder\n"
                "rota top --server host:7450 --key client.key\twatch a server\n"
                "rota top --once\tprint the state once\n",
    .exits = "0\tdone\n2\tan option is wrong, or the database does not exist\n"
             "4\tthe server cannot be reached\n",
};
