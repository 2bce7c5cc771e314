// top.c - `rota top`: what a server, or a run in this folder, does just now.
#include "cli/connect.h"
#include "cli/show/top.h"
#include "os/os.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "usage: rota top [OPTION...]\n\n"
      "    rota top                   the run of this folder, until q is pressed\n"
      "    rota top --server ADDRESS  a server\n\n"
      "    --server ADDRESS  the path of a socket, or HOST:PORT\n"
      "    --key FILE        a key of the server, for HOST:PORT ($ROTA_KEY)\n"
      "    --db FILE         a database (.rota/rota.db)\n"
      "    --interval TIME   seconds between two pictures (1)\n"
      "    --once            one picture, as text; so it is when the output is no terminal\n"
      "    --json            the same as one object; times are microseconds\n\n"
      "Keys: q quit; tab, left, right or 0 to 5 another view; up, down and pages scroll; p pause.\n"
      "Exit status: 0, 2 an option is wrong or there is no such database, 4 the server cannot be\n"
      "reached.\n";

struct top_options {
    struct reach reach;
    bool remote, once, json, framed;
    const char *db;
    int64_t interval;
    struct top_wish wish;
    struct top_planner planner;
};

static int wrong(const char *word)
{
    fprintf(stderr, "rota top: '%s' is not understood here; 'rota top --help' says more\n", word);
    return 2;
}

static bool wish_read(struct top_options *options, const char *text)
{
    unsigned view;
    char rest;
    struct top_wish *wish = &options->wish;
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

static bool value_take(struct top_options *options, const char *word, const char *value)
{
    char *end;
    if (strcmp(word, "--db") == 0) return *(options->db = value) != 0;
    if (strcmp(word, "--frame") == 0) return wish_read(options, value);
    if (strcmp(word, "--planner") == 0) return planner_read(&options->planner, value);
    if (strcmp(word, "--interval") != 0) return false;
    double seconds = strtod(value, &end);
    options->interval = (int64_t)(seconds * 1000000);
    return *value && !*end && seconds >= 0.1 && seconds <= 3600;
}

// -1: go on; else the exit status.
static int words_read(struct top_options *options, int count, char **words)
{
    for (int i = 0, taken; i < count; i += taken ? taken : 1) {
        const char *word = words[i];
        taken = reach_take(&options->reach, count - i, words + i);
        if (taken < 0) return wrong(word);
        options->remote |= taken > 0 && strcmp(word, "--server") == 0;
        if (taken) continue;
        if (strcmp(word, "--help") == 0) return fputs(usage, stdout), 0;
        if (strcmp(word, "--once") == 0) {
            options->once = true;
        } else if (strcmp(word, "--json") == 0) {
            options->json = true;
        } else {
            if (i + 1 == count || !value_take(options, word, words[i + 1])) return wrong(word);
            taken = 2;
        }
    }
    return -1;
}

// Without the bytes that say how it looks.
static void plain_draw(const struct top *top, const struct top_wish *wish)
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

int command_top(int count, char **words)
{
    struct top_options options = {.interval = 1000000};
    reach_init(&options.reach, "top");
    int status = words_read(&options, count, words);
    if (status >= 0) return status;
    bool once = options.once || options.json || options.framed || !os_is_terminal(1)
                || !os_is_terminal(0);
    const char *path = options.db ? options.db : ".rota/rota.db";
    if (options.remote && options.db) return wrong("--db");
    if (options.remote && once) {
        // There it is asked by a process without a terminal.
        char *asked[] = {(char *)(uintptr_t) "--server", (char *)(uintptr_t)options.reach.server,
                         (char *)(uintptr_t) "--key", (char *)(uintptr_t)options.reach.key,
                         (char *)(uintptr_t) "--json"};
        int key = options.reach.key ? 2 : 0;
        asked[2 + key] = asked[4];
        return remote_ask("top", 2 + key + options.json, asked);
    }
    if (once) return look_once(&options, path);
    struct top_source source = {options.remote ? NULL : path, &options.reach};
    struct store_error error;
    struct store *store = options.remote ? NULL : store_look(path, &error);
    if (!options.remote && !store) {
        fprintf(stderr, "rota top: %s\n", error.text);
        return store_exit_status(&error);
    }
    store_close(store);
    if (options.remote) status = reach_open(&options.reach);
    if (!options.remote || !status) status = top_screen(&source, options.interval);
    if (options.remote) reach_close(&options.reach);
    return status;
}
