// defaults.c - where a server is found and keeps its things, if nobody says otherwise.
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char *default_address(char path[PLACE_MAX])
{
    const char *said = getenv("ROTA_SERVER"), *runtime = getenv("XDG_RUNTIME_DIR");
    if (said && *said) return said;
    if (runtime && *runtime)
        snprintf(path, PLACE_MAX, "%s/rota/server.sock", runtime);
    else
        snprintf(path, PLACE_MAX, "/tmp/rota-%u/server.sock", (unsigned)getuid());
    return path;
}

const char *default_database(char path[PLACE_MAX])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state)
        snprintf(path, PLACE_MAX, "%s/rota/server.db", state);
    else
        snprintf(path, PLACE_MAX, "%s/.local/state/rota/server.db", home && *home ? home : "");
    return path;
}
