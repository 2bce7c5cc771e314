// verify.c - `rota verify`: checks the guarantees about a database file.
#define _GNU_SOURCE
#include "cli/cli.h"
#include "store/sqlite/query.h"
#include "os/json.h"

#include <stdlib.h>
#include <string.h>

// An object for each line, and one for all of them.
static void objects_print(const char *path, char *text, uint32_t broken)
{
    struct json json = {.out = stdout};
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        json_open(&json, NULL, '{');
        json_bytes(&json, "broken", line, (size_t)(end - line));
        json_line(&json);
    }
    json_open(&json, NULL, '{');
    json_string(&json, "file", path);
    json_number(&json, "count", "%u", broken);
    json_line(&json);
}

static int file_verify(const char *path, bool json)
{
    struct store_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *out = json ? open_memstream(&text, &size) : stdout;
    if (!out) return fputs("rota verify: out of memory\n", stderr), 70;
    uint32_t broken = store_verify(path, out, &error);
    if (json) fclose(out);
    if (error.fault)
        fprintf(stderr, "rota verify: %s\n", error.text);
    else if (json)
        objects_print(path, text, broken);
    else
        printf("%s: %u broken\n", path, broken);
    free(text);
    return error.fault ? store_exit_status(&error) : broken ? 1 : 0;
}

struct verify_options {
    bool json;
};

static int verify(const struct command *command, int count, char **words)
{
    struct verify_options options = {0};
    struct arguments arguments;
    int status = options_read(command, &options, NULL, &arguments, count, words);
    return status >= 0 ? status : file_verify(arguments.items[0], options.json);
}

static const struct option_row rows[] = {
    {0, "json", "", "print each violation as a JSON object on a line of its own", OPTION_FLAG,
     .at = offsetof(struct verify_options, json)},
    OPTION_ROWS_END};

const struct command verify_command = {
    .name = "verify",
    .summary = "check that a database keeps all guarantees",
    .group = GROUP_DATABASE,
    .argument = {ARGUMENT_DATABASE, "DATABASE", 1, 1},
    .run = verify,
    .options = rows,
    .usage = "[--json] DATABASE\n",
    .text = "Prints each guarantee that does not hold.\n",
    .examples = "rota verify .rota/rota.db\tcheck the database of the last runs\n",
    .exits = "0\tall guarantees hold\n1\tsome do not\n"
             "2\tan option is wrong, or the file is not a rota database\n",
};
