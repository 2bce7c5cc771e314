// verify.c - `rota verify`: checks every promise about a database file.
#define _GNU_SOURCE
#include "cli/cli.h"
#include "job/file/jobfile.h"
#include "store/sqlite/query.h"

#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "usage: rota verify [--json] FILE\n\n"
      "Prints each promise that is broken, with --json as one object a line. The exit status is 0\n"
      "when none is, 1 when some are, and 2 when the file is no database of rota.\n";

// One object for each line, and one for all of them.
static void objects_print(const char *path, char *text, uint32_t broken)
{
    for (char *line = text, *end; line && (end = strchr(line, '\n')); line = end + 1) {
        *end = 0;
        fputs("{\"broken\":", stdout);
        json_text(stdout, line);
        fputs("}\n", stdout);
    }
    fputs("{\"file\":", stdout);
    json_text(stdout, path);
    printf(",\"count\":%u}\n", broken);
}

static int file_verify(const char *path, bool json)
{
    struct store_error error;
    char *text = NULL;
    size_t size = 0;
    FILE *out = json ? open_memstream(&text, &size) : stdout;
    if (!out) return fputs("rota verify: no memory\n", stderr), 70;
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

int command_verify(int count, char **words)
{
    if (count == 1 && strcmp(words[0], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    bool json = count && strcmp(words[0], "--json") == 0;
    if (count != 1 + json || words[json][0] == '-') {
        fputs(usage, stderr);
        return 2;
    }
    return file_verify(words[json], json);
}
