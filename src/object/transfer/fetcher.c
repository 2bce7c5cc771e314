// fetcher.c - fetches objects: which transfers are active, which wait, and their results.
#include "object/transfer/internal.h"
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { READY_MAX = DATA_ACTIVE_MAX + 1, FORGERIES_MAX = 1024 };

struct data_fetcher *data_fetcher_open(struct cache *cache, const struct link_key *key)
{
    struct data_fetcher *fetcher = calloc(1, sizeof *fetcher);
    if (!fetcher) return NULL;
    *fetcher = (struct data_fetcher){.cache = cache, .key = key, .loop = os_loop_open()};
    fetcher->memory = memory_heap;
    if (fetcher->loop >= 0) return fetcher;
    data_fetcher_close(fetcher);
    return NULL;
}

void data_fetcher_close(struct data_fetcher *fetcher)
{
    struct data_done done;
    if (!fetcher) return;
    for (uint32_t i = 0; i < fetcher->transfer_count; i++) transfer_close(fetcher->transfers[i]);
    fetcher->transfer_count = 0;
    while (data_fetcher_next_done(fetcher, &done)) continue;
    data_fetcher_report_false(fetcher, NULL);
    hasher_close(fetcher->hasher);
    ARRAY_RELEASE(&fetcher->memory, fetcher->transfers, fetcher->transfer_capacity);
    if (fetcher->loop >= 0) close(fetcher->loop);
    free(fetcher->home);
    free(fetcher);
}

bool data_fetcher_home(struct data_fetcher *fetcher, const char *address,
                       const struct link_key *key)
{
    char *copy = strdup(address);
    if (!copy) return false;
    free(fetcher->home);
    fetcher->home = copy;
    fetcher->home_key = key;
    return true;
}

void data_fetcher_rekey(struct data_fetcher *fetcher, const struct link_key *key)
{
    fetcher->key = key;
}

int data_fetcher_file(const struct data_fetcher *fetcher)
{
    return fetcher->loop;
}

// Created when needed: its owner may still want to fork.
static bool hasher_reserve(struct data_fetcher *fetcher)
{
    if (fetcher->hasher) return true;
    fetcher->hasher = hasher_open();
    return fetcher->hasher
           && os_loop_add(fetcher->loop, hasher_file(fetcher->hasher), fetcher);
}

static bool transfers_reserve(struct data_fetcher *fetcher)
{
    return fetcher->transfer_count < DATA_FETCHES_MAX
           && ARRAY_MORE(&fetcher->memory, fetcher->transfers, fetcher->transfer_count,
                         fetcher->transfer_capacity);
}

static struct transfer *transfer_find(const struct data_fetcher *fetcher, rota_object_id object)
{
    for (uint32_t i = 0; i < fetcher->transfer_count; i++)
        if (SAME_ID(fetcher->transfers[i]->object, object)) return fetcher->transfers[i];
    return NULL;
}

static void over_add(struct data_fetcher *fetcher, struct transfer *transfer)
{
    *(fetcher->over_last ? &fetcher->over_last->next : &fetcher->over_first) = transfer;
    fetcher->over_last = transfer;
}

// Removes finished transfers from the list; the others keep their order.
static void over_collect(struct data_fetcher *fetcher)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < fetcher->transfer_count; i++) {
        struct transfer *transfer = fetcher->transfers[i];
        if (transfer->state == TRANSFER_OVER)
            over_add(fetcher, transfer);
        else
            fetcher->transfers[kept++] = transfer;
    }
    fetcher->transfer_count = kept;
}

static bool is_there(const struct data_fetcher *fetcher, const struct wire_fetch *fetch,
                     struct cache_entry *entry)
{
    if (!cache_find(fetcher->cache, fetch->object, entry)) return false;
    if (cache_entry_has(entry, &fetch->content)) return true;
    cache_unbind(fetcher->cache, fetch->object, NULL);
    return false;
}

bool data_fetcher_fetch(struct data_fetcher *fetcher, const struct wire_fetch *fetch, int64_t now)
{
    struct transfer *transfer = transfer_find(fetcher, fetch->object);
    // The object was made again with another content: data of the older one is useless.
    if (transfer && !wire_content_is(&transfer->content, &fetch->content)) {
        data_fetcher_forget(fetcher, fetch->object);
        transfer = NULL;
    }
    if (transfer) return transfer_join(transfer, fetch);
    if (!transfers_reserve(fetcher) || !hasher_reserve(fetcher)) return false;
    transfer = transfer_open(fetcher, fetch);
    if (!transfer) return false;
    transfer->due = now;
    transfer->is_free = true;
    fetcher->transfers[fetcher->transfer_count++] = transfer;
    if (is_there(fetcher, fetch, &transfer->done.entry))
        transfer_end(transfer, DATA_FINE, "");
    else if (transfer->source_count == 0)
        transfer_end(transfer, DATA_MISSED, "no source was given");
    return true;
}

void data_fetcher_forget(struct data_fetcher *fetcher, rota_object_id object)
{
    for (uint32_t i = 0; i < fetcher->transfer_count; i++) {
        if (!SAME_ID(fetcher->transfers[i]->object, object)) continue;
        transfer_close(fetcher->transfers[i]);
        fetcher->transfer_count--;
        for (; i < fetcher->transfer_count; i++)
            fetcher->transfers[i] = fetcher->transfers[i + 1];
        break;
    }
    for (uint32_t i = 0; i < fetcher->transfer_count; i++) fetcher->transfers[i]->is_free = true;
}

// ---- Sources that sent false content --------------------------------------------------------

struct forgery {
    struct forgery *next;
    rota_object_id object;
    char address[256], reason[128];
};

void forgery_note(struct data_fetcher *fetcher, rota_object_id object, const char *address,
              const char *reason)
{
    bool fits = fetcher->forgery_count < FORGERIES_MAX;
    struct forgery *forgery = fits ? calloc(1, sizeof *forgery) : NULL;
    if (!forgery) return;
    fetcher->forgery_count++;
    forgery->object = object;
    snprintf(forgery->address, sizeof forgery->address, "%s", address);
    snprintf(forgery->reason, sizeof forgery->reason, "%s", reason);
    forgery->next = fetcher->forgeries;
    fetcher->forgeries = forgery;
}

void data_fetcher_report_false(struct data_fetcher *fetcher, struct wire_out *out)
{
    struct wire_message message = {.kind = WIRE_FORGED_MESSAGE};
    struct forgery *next;
    for (struct forgery *forgery = fetcher->forgeries; forgery; forgery = next) {
        next = forgery->next;
        message.forged.object = forgery->object;
        message.forged.address = wire_text_of(forgery->address);
        message.forged.reason = wire_text_of(forgery->reason);
        if (out) wire_put(out, &message);
        free(forgery);
    }
    fetcher->forgeries = NULL;
    fetcher->forgery_count = 0;
}

// ---- Event loop -----------------------------------------------------------------------------

int64_t data_fetcher_due(const struct data_fetcher *fetcher)
{
    int64_t due = fetcher->over_first ? 0 : INT64_MAX;
    for (uint32_t i = 0; i < fetcher->transfer_count; i++) {
        const struct transfer *transfer = fetcher->transfers[i];
        // A transfer that waits for others to end has no deadline.
        if (transfer->state == TRANSFER_WAITING && !transfer->is_free) continue;
        int64_t its = transfer->state == TRANSFER_OVER ? 0 : transfer_due(transfer);
        if (its < due) due = its;
    }
    return due;
}

static void transfers_start(struct data_fetcher *fetcher, int64_t now)
{
    for (uint32_t i = 0; i < fetcher->transfer_count; i++) {
        struct transfer *transfer = fetcher->transfers[i];
        if (transfer->state != TRANSFER_WAITING) continue;
        transfer->is_free = fetcher->active < DATA_ACTIVE_MAX;
        if (transfer->is_free && now >= transfer->due)
            transfer->is_free = transfer_start(transfer, now);
    }
}

void data_fetcher_work(struct data_fetcher *fetcher, int64_t now)
{
    struct os_ready ready[READY_MAX];
    uint32_t count = os_loop_wait(fetcher->loop, ready, READY_MAX, 0);
    bool has_hashed = false;
    for (uint32_t i = 0; i < count; i++) {
        if (ready[i].owner == fetcher)
            has_hashed = true;
        else
            transfer_work(ready[i].owner, now);
    }
    if (has_hashed) os_event_clear(hasher_file(fetcher->hasher));
    for (uint32_t i = 0; i < fetcher->transfer_count; i++) {
        transfer_checked(fetcher->transfers[i], now);
        transfer_hurry(fetcher->transfers[i], now);
    }
    over_collect(fetcher);
    transfers_start(fetcher, now);
    over_collect(fetcher);
}

bool data_fetcher_next_done(struct data_fetcher *fetcher, struct data_done *done)
{
    over_collect(fetcher);
    struct transfer *transfer = fetcher->over_first;
    if (!transfer) return false;
    *done = transfer->done;
    done->object = transfer->object;
    fetcher->over_first = transfer->next;
    if (!transfer->next) fetcher->over_last = NULL;
    transfer_close(transfer);
    return true;
}
