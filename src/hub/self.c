// self.c - what a server keeps about itself: the name of its database, how often it was opened, and
// how jobs ended that it has forgotten.
//
// They are kept as answers to requests that no client can make: hub_request_is_old() refuses ids
// whose upper half is all ones.
#include "base/planted.h"
#include "hub/hub.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum self_row { SELF_NAME = 0xff, SELF_EPOCH = 0x01 };

static struct store_request row_of(enum self_row row)
{
    struct store_request request = {.answer = NULL};
    memset(request.id, 0xff, sizeof request.id);
    memset(request.id + sizeof request.id / 2, row, sizeof request.id / 2);
    return request;
}

// ---- Jobs --------------------------------------------------------------------------------------

static struct store_request row_of_job(uint32_t job)
{
    struct store_request request = row_of(SELF_NAME);
    uint64_t low = job;  // smaller than any of the others
    memcpy(request.id + sizeof request.id / 2, &low, sizeof low);
    return request;
}

void hub_over_note(struct hub *hub, const struct wire_over *over)
{
    enum { SIZE = 64 };
    struct store_request request = row_of_job(over->job);
    char *answer = hub_keep(hub, SIZE, 1);
    snprintf(answer, SIZE, "over %u %u %u %u", over->tasks, over->succeeded, over->failed,
             over->aborted);
    request.answer = answer;
    store_answer(hub->server->store, &request);
}

bool hub_over_find(struct hub *hub, uint32_t job, struct wire_over *over)
{
    struct store_request request = row_of_job(job);
    *over = (struct wire_over){.job = job};
    return store_answer_find(hub->server->store, &request)
           && sscanf(request.answer, "over %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32,
                     &over->tasks, &over->succeeded, &over->failed, &over->aborted)
                  == 4;
}

// ---- The database ------------------------------------------------------------------------------

// False: it was never written.
static bool row_find(struct hub *hub, enum self_row row, uint64_t *value)
{
    struct store_request request = row_of(row);
    if (!store_answer_find(hub->server->store, &request)) return false;
    *value = strtoull(request.answer, NULL, 16);
    return true;
}

static void row_put(struct hub *hub, enum self_row row, uint64_t value)
{
    enum { DIGITS = 20 };
    struct store_request request = row_of(row);
    char *answer = hub_keep(hub, DIGITS, 1);
    snprintf(answer, DIGITS, "%016" PRIx64, value);
    request.answer = answer;
    store_answer(hub->server->store, &request);
}

void hub_self_open(struct hub *hub, rota_time now)
{
    uint64_t epoch;
    if (!row_find(hub, SELF_NAME, &hub->id)) {
        bool made = hub->limits.random && hub->limits.random(&hub->id, sizeof hub->id);
        if (!made) hub->id = (uint64_t)now;
        row_put(hub, SELF_NAME, hub->id);
    }
    // The clock counts once: tokens of before there were epochs were read off it.
    if (!row_find(hub, SELF_EPOCH, &epoch)) epoch = (uint64_t)now >> HUB_TOKENS;
    row_put(hub, SELF_EPOCH, ++epoch);
    hub->token = PLANTED(TOKEN_ANEW) ? 0 : epoch << HUB_TOKENS;
}
