// data_scene.c - two caches in two folders, a server of one, a fetcher for the other.
#define _GNU_SOURCE
#include "object/transfer/data_scene.h"
#include "object/cache/bytes.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATIENCE = 60 * 1000000 };

int64_t scene_now(const struct scene *scene)
{
    return os_ticks() + scene->skew;
}

void server_restart(struct scene *scene)
{
    struct link_error error = {""};
    data_server_close(scene->server);
    scene->server = data_server_open(&scene->there, scene->address, &scene->known, &error);
    if (!scene->server) fail_msg("%s", error.text);
    snprintf(scene->address, sizeof scene->address, "%s", data_server_address(scene->server));
}

void here_reopen(struct scene *scene)
{
    data_fetcher_close(scene->fetcher);
    cache_close(&scene->here);
    assert_true(cache_open(&scene->here, scene->here_path, 1ull << 40, &scene->error));
    scene->fetcher = data_fetcher_open(&scene->here, scene->key);
    assert_non_null(scene->fetcher);
}

static int begin(struct scene *scene)
{
    signal(SIGPIPE, SIG_IGN);
    snprintf(scene->path, sizeof scene->path, "/tmp/rota-data-XXXXXX");
    if (!mkdtemp(scene->path)) return -1;
    scene->folder = open(scene->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    snprintf(scene->here_path, sizeof scene->here_path, "%s/here", scene->path);
    snprintf(scene->there_path, sizeof scene->there_path, "%s/there", scene->path);
    snprintf(scene->address, sizeof scene->address, "%s/socket", scene->path);
    snprintf(scene->other, sizeof scene->other, "%s/other", scene->path);
    if (scene->key) snprintf(scene->address, sizeof scene->address, "127.0.0.1:0");
    if (!cache_open(&scene->there, scene->there_path, 1ull << 40, &scene->error)) return -1;
    server_restart(scene);
    here_reopen(scene);
    return 0;
}

int scene_begin(void **state)
{
    struct scene *scene = *state = calloc(1, sizeof *scene);
    return scene ? begin(scene) : -1;
}

int scene_begin_tls(void **state)
{
    struct scene *scene = *state = calloc(1, sizeof *scene);
    if (!scene || !link_key_make(&scene->keys[0], WIRE_PEER)
        || !link_key_make(&scene->keys[1], WIRE_WORKER))
        return -1;
    scene->known = (struct link_keys){scene->keys, 2};
    scene->key = &scene->keys[0];
    return begin(scene);
}

int scene_end(void **state)
{
    struct scene *scene = *state;
    data_server_close(scene->server);
    data_fetcher_close(scene->fetcher);
    cache_close(&scene->here);
    cache_close(&scene->there);
    close(scene->folder);
    bool gone = os_tree_remove(scene->path);
    free(scene);
    return gone ? 0 : -1;
}

// ---- Objects --------------------------------------------------------------------------------

static rota_object_id made(struct scene *scene, uint32_t number, enum cache_kind kind)
{
    struct cache_entry entry;
    rota_object_id object = {7, number};
    if (!cache_add(&scene->there, scene->folder, "made", kind, &entry, &scene->error)
        || !cache_bind(&scene->there, object, &entry, &scene->error))
        fail_msg("%s", scene->error.text);
    os_tree_remove_at(scene->folder, "made");
    return object;
}

rota_object_id file_make(struct scene *scene, uint32_t number, size_t bytes, mode_t mode)
{
    bytes_put(scene->folder, "made", number, bytes, mode);
    return made(scene, number, CACHE_FILE);
}

rota_object_id tree_make(struct scene *scene, uint32_t number, uint32_t files)
{
    char name[64];
    mkdirat(scene->folder, "made", 0755);
    mkdirat(scene->folder, "made/empty", 0755);
    for (uint32_t i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "made/folder%u", i);
        mkdirat(scene->folder, name, 0755);
    }
    for (uint32_t i = 0; i < files; i++) {
        snprintf(name, sizeof name, "made/folder%u/file %u", i % 10, i);
        size_t bytes = i % 100 == 99 ? 300000 + i : i * 37 % 5000;
        bytes_put(scene->folder, name, number * 100000ull + i, bytes, i % 3 ? 0644 : 0755);
    }
    assert_int_equal(symlinkat("folder1", scene->folder, "made/link"), 0);
    return made(scene, number, CACHE_DIRECTORY);
}

// ---- Asking ---------------------------------------------------------------------------------

void serve(struct scene *scene, rota_object_id object, const char *ticket, int64_t valid)
{
    struct wire_serve serve = {.object = object, .ticket = wire_text_of(ticket), .valid = valid};
    assert_true(data_server_serve(scene->server, &serve, scene_now(scene)));
}

void fetch(struct scene *scene, rota_object_id object, const char *ticket, const char *first,
           const char *second)
{
    wire_text addresses[] = {wire_text_of(first), wire_text_of(second)};
    struct cache_entry entry;
    struct wire_fetch fetch = {.object = object, .ticket = wire_text_of(ticket)};
    fetch.addresses = (wire_texts){addresses, second ? 2 : 1};
    if (cache_find(&scene->there, object, &entry)) fetch.bytes = entry.bytes;
    assert_true(data_fetcher_fetch(scene->fetcher, &fetch, scene_now(scene)));
}

static void turn(struct scene *scene, int64_t most)
{
    int64_t due = data_fetcher_due(scene->fetcher), now = scene_now(scene);
    int64_t other = scene->server ? data_server_due(scene->server) : INT64_MAX;
    int64_t left = (other < due ? other : due) - now;
    if (scene->actor || scene->hurry) most = 500;
    struct os_watch watches[] = {
        {.file = data_fetcher_file(scene->fetcher)},
        {.file = scene->server ? data_server_file(scene->server) : -1},
    };
    os_wait(watches, 2, os_ticks() + (left < 0 ? 0 : left < most ? left : most));
    if (scene->actor) scene->actor(scene->context);
    if (scene->server) data_server_work(scene->server, scene_now(scene));
    data_fetcher_work(scene->fetcher, scene_now(scene));
    scene->skew += scene->hurry;
}

void scene_turn(struct scene *scene)
{
    turn(scene, 100000);
}

// Nothing else happens meanwhile, so a missing wake-up is noticed.
struct data_done wait_done(struct scene *scene)
{
    struct data_done done = {0};
    int64_t until = os_ticks() + PATIENCE;
    while (!data_fetcher_next_done(scene->fetcher, &done)) {
        if (os_ticks() > until) fail_msg("the transfer has no result");
        turn(scene, PATIENCE);
    }
    return done;
}

void expect_fetched(struct scene *scene, rota_object_id object)
{
    struct data_done done = wait_done(scene);
    if (done.fault) fail_msg("%s", done.reason);
    assert_int_equal(done.object.low, object.low);
    object_is_same(scene, object);
}

void expect_fault(struct scene *scene, rota_object_id object, enum data_fault fault,
                  const char *reason)
{
    struct cache_entry entry;
    scene->hurry = 20000;
    struct data_done done = wait_done(scene);
    scene->hurry = 0;
    assert_int_equal(done.object.low, object.low);
    assert_int_equal(done.fault, fault);
    if (!strstr(done.reason, reason)) fail_msg("\"%s\" is not \"%s\"", done.reason, reason);
    assert_false(cache_find(&scene->here, object, &entry));
    nothing_is_left(scene);
}

// ---- Looking --------------------------------------------------------------------------------

static uint32_t files_at(int parent, const char *folder)
{
    uint32_t count = 0;
    int fd = openat(parent, folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    for (struct dirent *found; stream && (found = readdir(stream));) {
        if (found->d_name[0] == '.') continue;
        count += found->d_type == DT_DIR ? files_at(fd, found->d_name) : 1;
    }
    if (stream) closedir(stream);
    return count;
}

uint32_t files_in(const struct scene *scene, const char *folder)
{
    return files_at(scene->folder, folder);
}

void nothing_is_left(struct scene *scene)
{
    assert_int_equal(files_in(scene, "here/tmp"), 0);
}

// A cache that has not verified the bytes yet does so when they are taken.
void object_is_same(struct scene *scene, rota_object_id object)
{
    struct cache fresh;
    struct cache_entry here, there;
    assert_true(cache_open(&fresh, scene->here_path, 1ull << 40, &scene->error));
    assert_true(cache_find(&fresh, object, &here));
    assert_true(cache_find(&scene->there, object, &there));
    assert_true(cache_entry_is(&here, &there));
    assert_int_equal(here.bytes, there.bytes);
    if (!cache_take(&fresh, &here, scene->folder, "taken", &scene->error))
        fail_msg("%s", scene->error.text);
    os_tree_remove_at(scene->folder, "taken");
    cache_close(&fresh);
    nothing_is_left(scene);
}
