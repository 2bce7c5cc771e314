// cut_test.c - connections that break at any point: the transfer resumes where it stopped.
#define _GNU_SOURCE
#include "object/transfer/data_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PIPES = 8 };

// A proxy that passes a limited number of bytes of each connection from server to fetcher.
struct cutter {
    struct scene *scene;
    int listening;
    struct { int near, far; uint64_t left; } pipes[PIPES];
    uint64_t budget, passed;
    uint32_t connections;
};

static struct sockaddr_un name_of(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};
    memcpy(name.sun_path, path, strlen(path));
    return name;
}

static void pipe_cut(struct cutter *cutter, int i)
{
    close(cutter->pipes[i].near);
    close(cutter->pipes[i].far);
    cutter->pipes[i].near = -1;
}

static void pipe_open(struct cutter *cutter)
{
    struct sockaddr_un name = name_of(cutter->scene->address);
    int i = 0;
    while (i < PIPES && cutter->pipes[i].near >= 0) i++;
    if (i == PIPES) return;
    int near = accept4(cutter->listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (near < 0) return;
    int far = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(far, (struct sockaddr *)&name, sizeof name), 0);
    cutter->pipes[i].near = near;
    cutter->pipes[i].far = far;
    cutter->pipes[i].left = cutter->budget;
    cutter->connections++;
}

// Only as much as the other side reads at once. False: the connection has ended.
static bool pass(int from, int to, uint64_t *left, uint64_t *passed)
{
    char bytes[65536];
    ssize_t peeked = recv(from, bytes, *left < sizeof bytes ? *left : sizeof bytes, MSG_PEEK);
    if (peeked < 0) return errno == EAGAIN;
    if (peeked == 0) return false;
    ssize_t sent = send(to, bytes, (size_t)peeked, MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN;
    assert_int_equal(recv(from, bytes, (size_t)sent, 0), sent);
    *left -= (uint64_t)sent;
    *passed += (uint64_t)sent;
    return *left > 0;
}

static void cutter_work(void *context)
{
    struct cutter *cutter = context;
    uint64_t much = UINT64_MAX / 2, ignored = 0;
    pipe_open(cutter);
    for (int i = 0; i < PIPES; i++) {
        if (cutter->pipes[i].near < 0) continue;
        bool fine = pass(cutter->pipes[i].near, cutter->pipes[i].far, &much, &ignored);
        for (int turn = 0; turn < 16 && fine; turn++)
            fine = pass(cutter->pipes[i].far, cutter->pipes[i].near, &cutter->pipes[i].left,
                        &cutter->passed);
        if (!fine) pipe_cut(cutter, i);
    }
}

static void cutter_begin(struct cutter *cutter, struct scene *scene, uint64_t budget)
{
    struct sockaddr_un name = name_of(scene->other);
    *cutter = (struct cutter){.scene = scene, .budget = budget};
    for (int i = 0; i < PIPES; i++) cutter->pipes[i].near = -1;
    cutter->listening = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    unlink(scene->other);
    assert_int_equal(bind(cutter->listening, (struct sockaddr *)&name, sizeof name), 0);
    assert_int_equal(listen(cutter->listening, 16), 0);
    scene->actor = cutter_work;
    scene->context = cutter;
}

static void cutter_end(struct cutter *cutter)
{
    for (int i = 0; i < PIPES; i++)
        if (cutter->pipes[i].near >= 0) pipe_cut(cutter, i);
    close(cutter->listening);
    cutter->scene->actor = NULL;
}

static void unbound(struct scene *scene, rota_object_id object)
{
    assert_true(cache_unbind(&scene->here, object, &scene->error));
    struct cache other;
    here_reopen(scene);
    assert_true(cache_open(&other, scene->here_path, 1, &scene->error));
    cache_evict(&other);
    cache_close(&other);
    assert_true(files_in(scene, "here/content") <= 1);  // an empty one does not matter
}

static void a_transfer_resumes_where_it_was_cut(void **state)
{
    struct scene *scene = *state;
    struct cutter cutter;
    uint64_t size = SLOW ? 2000000 : 5000000;
    rota_object_id object = file_make(scene, 1, size, 0644);
    for (uint64_t budget = 100000; budget < size; budget = budget * 2 + 12345) {
        cutter_begin(&cutter, scene, budget);
        serve(scene, object, TICKET, 60000000);
        fetch(scene, object, TICKET, scene->other, NULL);
        expect_fetched(scene, object);
        // A few hundred bytes of each connection are protocol; no byte of the file comes twice.
        assert_true(cutter.passed < size + 400 * cutter.connections);
        assert_true(cutter.connections >= size / budget);
        cutter_end(&cutter);
        unbound(scene, object);
    }
}

static void a_tree_resumes_where_it_was_cut(void **state)
{
    struct scene *scene = *state;
    struct cutter cutter;
    rota_object_id object = tree_make(scene, 1, 300);
    struct cache_entry entry;
    assert_true(cache_find(&scene->there, object, &entry));
    for (uint64_t budget = 70000; budget < 2000000; budget = budget * 3 + 777) {
        cutter_begin(&cutter, scene, budget);
        serve(scene, object, TICKET, 60000000);
        fetch(scene, object, TICKET, scene->other, NULL);
        expect_fetched(scene, object);
        // 300 headers and the list are added.
        assert_true(cutter.passed < entry.bytes + 100000 + 400 * cutter.connections);
        cutter_end(&cutter);
        unbound(scene, object);
    }
}

// However early it is cut, the next address sends the rest.
static void the_next_address_resumes_the_transfer(void **state)
{
    struct scene *scene = *state;
    struct cutter cutter;
    rota_object_id file = file_make(scene, 1, 500, 0644), tree = tree_make(scene, 2, 5);
    for (uint64_t budget = 1; budget < 900; budget += SLOW ? 97 : 13) {
        rota_object_id object = budget % 2 ? file : tree;
        cutter_begin(&cutter, scene, budget);
        serve(scene, object, TICKET, 60000000);
        fetch(scene, object, TICKET, scene->other, scene->address);
        expect_fetched(scene, object);
        cutter_end(&cutter);
        unbound(scene, object);
    }
}

static void a_transfer_without_progress_fails(void **state)
{
    struct scene *scene = *state;
    struct cutter cutter;
    rota_object_id object = file_make(scene, 1, 500, 0644);
    cutter_begin(&cutter, scene, 400);
    serve(scene, object, TICKET, 60000000);
    fetch(scene, object, TICKET, scene->other, NULL);
    while (cutter.connections < DATA_ROUNDS) {
        scene_turn(scene);
        scene->skew += 50000;
    }
    struct data_done done = wait_done(scene);
    // Each connection brings some of it; the file is small enough to be complete by then.
    assert_true(done.fault == DATA_FINE || done.fault == DATA_MISSED);
    cutter_end(&cutter);
    cutter_begin(&cutter, scene, 30);
    rota_object_id other = file_make(scene, 2, 500, 0644);
    serve(scene, other, TICKET, 60000000);
    fetch(scene, other, TICKET, scene->other, NULL);
    expect_fault(scene, other, DATA_MISSED, "closed");
    assert_int_equal(cutter.connections, DATA_ROUNDS);
    cutter_end(&cutter);
}

static void only_missing_files_of_a_tree_are_sent(void **state)
{
    struct scene *scene = *state;
    struct cutter cutter;
    struct cache_files files;
    struct cache_entry entry;
    struct cache_reading reading;
    rota_object_id object = tree_make(scene, 1, 300);
    serve(scene, object, TICKET, 60000000);
    fetch(scene, object, TICKET, scene->address, NULL);
    expect_fetched(scene, object);
    assert_true(cache_find(&scene->here, object, &entry));
    assert_true(cache_files_load(&scene->here, &entry, &files, &scene->error));
    assert_true(cache_read(&scene->here, &files.items[17], &reading));
    cache_throw(&scene->here, &files.items[17], &reading);
    close(reading.fd);
    cutter_begin(&cutter, scene, UINT64_MAX / 2);
    fetch(scene, object, TICKET, scene->other, NULL);
    expect_fetched(scene, object);
    assert_int_equal(cutter.connections, 1);
    assert_true(cutter.passed < files.items[17].bytes + 600);
    cutter_end(&cutter);
    cache_files_release(&files);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_transfer_resumes_where_it_was_cut),
        TEST(a_tree_resumes_where_it_was_cut),
        TEST(the_next_address_resumes_the_transfer),
        TEST(a_transfer_without_progress_fails),
        TEST(only_missing_files_of_a_tree_are_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
