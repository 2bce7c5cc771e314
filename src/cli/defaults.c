// defaults.c - the default address and database of a server, and addresses that users write.
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *default_address(char path[OS_PATH_BYTES])
{
    const char *said = getenv("ROTA_SERVER"), *runtime = getenv("XDG_RUNTIME_DIR");
    if (said && *said) return said;
    if (runtime && *runtime)
        snprintf(path, OS_PATH_BYTES, "%s/rota/server.sock", runtime);
    else
        snprintf(path, OS_PATH_BYTES, "/tmp/rota-%u/server.sock", (unsigned)getuid());
    return path;
}

const char *default_database(char path[OS_PATH_BYTES])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    if (state && *state)
        snprintf(path, OS_PATH_BYTES, "%s/rota/server.db", state);
    else
        snprintf(path, OS_PATH_BYTES, "%s/.local/state/rota/server.db", home && *home ? home : "");
    return path;
}

bool address_is_relative(const char *address)
{
    size_t length = strlen(address);
    bool is_path = strchr(address, '/') || (length > 5 && !strcmp(address + length - 5, ".sock"));
    return is_path && address[0] != '/';
}
