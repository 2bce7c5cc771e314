// data_scene.h - two caches in two folders, a server of one, a fetcher for the other.
#pragma once

#include "object/transfer/transfer.h"
#include "os/os.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__)
enum { SLOW = 1, LARGE = 10000000 };
#else
enum { SLOW = 0, LARGE = 100000000 };
#endif
#define TICKET "0123456789abcdef0123456789abcdef"

// Another participant: called as often as the two.
typedef void actor_fn(void *context);

struct scene {
    char path[64];
    int folder;
    char here_path[96], there_path[96], address[96], other[96];  // other: a second address
    struct cache here, there;  // the fetcher's, the server's
    struct cache_error error;
    struct link_key keys[2];  // with TLS: of a peer, and of a worker
    struct link_keys known;   // to the server
    const struct link_key *key;  // of the fetcher; null: no TLS
    struct data_server *server;
    struct data_fetcher *fetcher;
    int64_t skew;  // how far the time is ahead of the clock
    int64_t hurry;  // and how much farther with each turn
    actor_fn *actor;
    void *context;
};

int scene_begin(void **state);
int scene_begin_tls(void **state);  // the same over TCP and TLS
int scene_end(void **state);
void server_restart(struct scene *scene);
void here_reopen(struct scene *scene);  // without its verified hashes; with a new fetcher
int64_t scene_now(const struct scene *scene);

// Makes it in the cache of the server, with bytes derived from its number, and binds it.
rota_object_id file_make(struct scene *scene, uint32_t number, size_t bytes, mode_t mode);
rota_object_id tree_make(struct scene *scene, uint32_t number, uint32_t files);

void serve(struct scene *scene, rota_object_id object, const char *ticket, int64_t valid);
// `second` may be null.
void fetch(struct scene *scene, rota_object_id object, const char *ticket, const char *first,
           const char *second);
void scene_turn(struct scene *scene);  // all participants run once
struct data_done wait_done(struct scene *scene);
void expect_fetched(struct scene *scene, rota_object_id object);
void expect_fault(struct scene *scene, rota_object_id object, enum data_fault fault,
                  const char *reason);  // a part of it
// The object is in both caches, the same and undamaged; tmp is empty.
void object_is_same(struct scene *scene, rota_object_id object);
void nothing_is_left(struct scene *scene);
uint32_t files_in(const struct scene *scene, const char *folder);
