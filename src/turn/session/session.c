// session.c - opens a database file together with a core, for commands that change it.
#include "turn/session/session.h"
#include "job/calendar/calendar.h"
#include "store/store.h"
#include "store/sqlite/open.h"
#include "os/os.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// An allocator that polls has the file open only for a moment, so waiting is worth it.
enum { PATIENCE = 5000000, PAUSE = 20000, ZONE_BYTES_MAX = 1 << 20, WAL_PAGES = 256 };
static const char zone_folder[] = "/usr/share/zoneinfo";

static int store_wait(struct session *session, const char *path)
{
    struct store_options options = store_options_default();
    struct store_error error;
    options.wal_pages = WAL_PAGES;  // a command writes little, and starts a new log each time
    rota_time give_up = os_now() + PATIENCE;
    for (;;) {
        session->store = store_open_sqlite(path, &options, &error);
        bool again = !session->store && error.fault == STORE_IN_USE && os_now() < give_up;
        if (!again || !os_sleep_until(os_now() + PAUSE)) break;
    }
    if (session->store) return 0;
    assert(error.fault != STORE_FINE);
    fprintf(stderr, "rota: %s\n", error.text);
    return store_exit_status(&error);
}

int session_open(struct session *session, const char *path, enum session_mode mode)
{
    *session = (struct session){0};
    if (mode == SESSION_THERE && !os_file_is_there(path)) {
        fprintf(stderr, "rota: %s: %s\n", path, strerror(errno));
        return 2;
    }
    int status = store_wait(session, path);
    if (status) return status;
    struct rota_config config = rota_config_default();
    config.plan_submit = config.plan_update = 0;  // one turn must be enough
    if (server_open(&session->server, session->store, &config)) return 0;
    return session_failed(session);
}

void session_close(struct session *session)
{
    if (!session->store) return;
    server_close(&session->server);
    store_close(session->store);
    session->store = NULL;
}

int session_failed(const struct session *session)
{
    assert(session->store);
    const struct store_error *error = store_error(session->store);
    fprintf(stderr, "rota: %s\n", error->fault ? error->text : session->server.reason);
    return server_exit_status(&session->server);
}

struct zone *zone_load(const char *name, const char **reason)
{
    char path[300];
    size_t size;
    *reason = "is not a valid time zone name";
    if (!zone_name_is_safe(name) || strlen(name) > 200) return NULL;
    snprintf(path, sizeof path, "%s/%s", zone_folder, name);
    char *bytes = os_file_read(path, ZONE_BYTES_MAX, &size);
    if (!bytes) {
        *reason = errno == ENOENT ? "is not a time zone in /usr/share/zoneinfo" : "cannot be read";
        return NULL;
    }
    struct zone *zone = zone_parse(bytes, size, reason);
    free(bytes);
    return zone;
}
