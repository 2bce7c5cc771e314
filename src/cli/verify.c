// verify.c - `rota verify`: checks every promise about a database file.
#include "cli/cli.h"
#include "store/query.h"

#include <string.h>

static const char usage[]
    = "usage: rota verify FILE\n\n"
      "Prints each promise that is broken. The exit status is 0 when none is,\n"
      "1 when some are, and 2 when the file is no database of rota.\n";

int command_verify(int count, char **words)
{
    if (count == 1 && strcmp(words[0], "--help") == 0) {
        fputs(usage, stdout);
        return 0;
    }
    if (count != 1 || words[0][0] == '-') {
        fputs(usage, stderr);
        return 2;
    }
    struct store_error error;
    uint32_t broken = store_verify(words[0], stdout, &error);
    if (error.fault) {
        fprintf(stderr, "rota verify: %s\n", error.text);
        return store_exit_status(&error);
    }
    printf("%s: %u broken\n", words[0], broken);
    return broken ? 1 : 0;
}
