// local_test.c - links over Unix sockets and pairs.
#define _GNU_SOURCE
#include "net/link/pair.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void local_open(struct pair *pair)
{
    pair_listen(pair, pair->path);
    pair_connect(pair, NULL);
    pair_open_up(pair);
}

static void messages_of_all_sizes_go_both_ways(void **state)
{
    struct pair *pair = *state;
    local_open(pair);
    assert_int_equal(pair->there->roles, WIRE_CLIENT | WIRE_WORKER | WIRE_ADMIN);
    assert_int_equal(pair->here->roles, 0);
    assert_string_equal(pair->there->id, "");
    pair_talk(pair, 5000, 100000);
    pair_talk(pair, 40, WIRE_FRAME_MAX - 100);
}

static void a_pair_of_sockets_carries_them_too(void **state)
{
    struct pair *pair = *state;
    int files[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, files), 0);
    pair->here = link_over(files[0]);
    pair->there = link_over(files[1]);
    pair_talk(pair, 3000, 50000);
}

static void bytes_may_come_one_by_one(void **state)
{
    struct pair *pair = *state;
    struct wire_out out = {0};
    struct wire_message message = {.kind = WIRE_STOP_MESSAGE};
    int files[2], heard = 0;
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, files), 0);
    pair->here = link_over(files[0]);
    for (int i = 0; i < 10; i++) wire_put(&out, &message);
    for (uint32_t i = 0; i < out.length; i++) {
        assert_int_equal(write(files[1], out.bytes + i, 1), 1);
        assert_true(link_work(pair->here));
        heard += wire_take(&pair->here->in, &message) == WIRE_GOT;
    }
    assert_int_equal(heard, 10);
    close(files[1]);
    wire_out_release(&out);
}

static void messages_before_the_close_are_received(void **state)
{
    struct pair *pair = *state;
    struct wire_message message = {.kind = WIRE_QUIT_MESSAGE};
    local_open(pair);
    wire_put(&pair->here->out, &message);
    assert_true(link_flush(pair->here));
    link_close(pair->here);
    pair->here = NULL;
    wire_put(&pair->there->out, &message);
    assert_true(wait_while(pair, pair->there, LINK_OPEN));
    assert_int_equal(wire_take(&pair->there->in, &message), WIRE_GOT);
    assert_int_equal(message.kind, WIRE_QUIT_MESSAGE);
    assert_non_null(pair->there->reason);
    assert_false(link_work(pair->there));
    assert_false(link_flush(pair->there));
}

// The program has no handler for SIGPIPE: the signal would end it.
static void a_peer_that_vanishes_raises_no_signal(void **state)
{
    struct pair *pair = *state;
    struct wire_message message = {.kind = WIRE_ANSWER_MESSAGE};
    signal(SIGPIPE, SIG_DFL);
    local_open(pair);
    message.answer.bytes = (wire_text){pair->pattern, 8 << 20};
    wire_put(&pair->there->out, &message);
    assert_true(link_flush(pair->there));
    assert_true(pair->there->wants_write);
    link_close(pair->here);
    pair->here = NULL;
    assert_false(link_flush(pair->there));
    assert_int_equal(pair->there->state, LINK_CLOSED);
}

static void a_slow_reader_bounds_the_receive_buffer(void **state)
{
    struct pair *pair = *state;
    struct wire_message message = {.kind = WIRE_ANSWER_MESSAGE};
    local_open(pair);
    message.answer.bytes = (wire_text){pair->pattern, 1 << 20};
    for (int i = 0; i < 40; i++) wire_put(&pair->here->out, &message);
    for (int i = 0; i < 2000; i++) link_flush(pair->here), link_work(pair->there);
    assert_true(pair->there->in.length < WIRE_FRAME_MAX + (2 << 20));
    int heard = 0;
    for (int i = 0; i < 2000; i++) {
        link_flush(pair->here), link_work(pair->there);
        while (wire_take(&pair->there->in, &message) == WIRE_GOT) heard++;
    }
    assert_int_equal(heard, 40);
}

static void long_messages_leak_no_memory(void **state)
{
    struct pair *pair = *state;
    local_open(pair);
    pair_talk(pair, 40, WIRE_FRAME_MAX - 100);
    link_work(pair->here);
    link_work(pair->there);
    assert_true(pair->here->in.capacity + pair->here->out.capacity < 4 << 20);
    assert_true(pair->there->in.capacity + pair->there->out.capacity < 4 << 20);
    pair_talk(pair, 40, 1000);
}

static void a_message_that_is_too_long_closes_the_link(void **state)
{
    struct pair *pair = *state;
    struct wire_message message = {.kind = WIRE_ANSWER_MESSAGE};
    local_open(pair);
    message.answer.bytes = (wire_text){pair->pattern, WIRE_FRAME_MAX};
    wire_put(&pair->here->out, &message);
    assert_false(link_flush(pair->here));
}

static void the_socket_is_for_its_owner(void **state)
{
    struct pair *pair = *state;
    struct stat status;
    mode_t before = umask(0);
    pair_listen(pair, pair->path);
    umask(before);
    assert_int_equal(stat(pair->path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);
    link_listener_close(&pair->listener);
    assert_int_equal(stat(pair->path, &status), -1);
}

// Only root can be another user.
static void other_users_are_turned_away(void **state)
{
    struct pair *pair = *state;
    if (geteuid() != 0) {
        puts("# skipped: only root can be another user");
        skip();
    }
    pair_listen(pair, pair->path);
    assert_int_equal(chmod(pair->folder, 0755) | chmod(pair->path, 0666), 0);
    pid_t child = fork();
    if (child == 0) {
        struct sockaddr_un name = {.sun_family = AF_UNIX};
        char byte;
        if (setgid(65534) || setuid(65534)) _exit(2);
        snprintf(name.sun_path, sizeof name.sun_path, "%.100s", pair->path);
        int file = socket(AF_UNIX, SOCK_STREAM, 0);
        if (connect(file, (struct sockaddr *)&name, sizeof name)) _exit(3);
        _exit(read(file, &byte, 1) == 0 ? 0 : 4);
    }
    assert_null(wait_accept(pair));
    int status;
    waitpid(child, &status, 0);
    assert_int_equal(status, 0);
}

static void a_socket_path_is_taken_over_only_if_unused(void **state)
{
    struct pair *pair = *state;
    struct link_listener second;
    struct link_error error;
    pair_listen(pair, pair->path);
    assert_false(link_listen(&second, pair->path, NULL, &error));
    assert_non_null(strstr(error.text, "Address already in use (is another rota server"));
    close(pair->listener.file);  // as a killed process does
    pair->listener.file = -1;
    assert_true(link_listen(&second, pair->path, NULL, &error));
    link_listener_close(&pair->listener);  // keeps the path of the second
    assert_int_equal(access(pair->path, F_OK), 0);
    link_listener_close(&second);
    file_make(pair, "socket", "precious", 0600);
    assert_false(link_listen(&second, pair->path, NULL, &error));
    assert_non_null(strstr(error.text, "not a socket"));
    assert_int_equal(access(pair->path, F_OK), 0);
}

static void connecting_without_a_listener_fails(void **state)
{
    struct pair *pair = *state;
    struct link_error error;
    assert_null(link_connect(pair->path, NULL, &error));
    assert_non_null(strstr(error.text, "no server is listening there"));
    assert_non_null(strstr(error.text, pair->path));
    char path[200];
    memset(path, 'x', sizeof path);
    path[0] = '/', path[199] = 0;
    assert_null(link_connect(path, NULL, &error));
    assert_non_null(strstr(error.text, "at most 107 bytes"));
}

static void without_free_descriptors_waiting_peers_are_refused(void **state)
{
    struct pair *pair = *state;
    struct rlimit before, few;
    int full[2000], count = 0;
    pair_listen(pair, pair->path);
    pair_connect(pair, NULL);
    getrlimit(RLIMIT_NOFILE, &before);
    few = before, few.rlim_cur = 100;
    setrlimit(RLIMIT_NOFILE, &few);
    while ((full[count] = dup(0)) >= 0) count++;
    assert_null(wait_accept(pair));
    struct os_watch watch = {.file = pair->listener.file};
    assert_false(os_wait(&watch, 1, os_ticks()));  // no waiting peer keeps the owner busy
    while (count) close(full[--count]);
    setrlimit(RLIMIT_NOFILE, &before);
    assert_true(wait_while(pair, pair->here, LINK_OPEN));
    pair_part(pair);
    pair_connect(pair, NULL);
    pair_open_up(pair);
    pair_talk(pair, 10, 100);
}

static void addresses_are_read_or_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "host", "host:", ":1", "host:65536", "host:1x", "::1:5",
                                      "[::1]", "[]:1", "a b:1", "host:-1", "run/socket"};
    struct link_error error;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(link_connect(bad[i], NULL, &error));
        assert_non_null(strstr(error.text, "invalid address"));
    }
    assert_true(link_address_is_local("/x") && !link_address_is_local("x:1"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, pair_open, pair_close)
    const struct CMUnitTest tests[] = {
        TEST(messages_of_all_sizes_go_both_ways),
        TEST(a_pair_of_sockets_carries_them_too),
        TEST(bytes_may_come_one_by_one),
        TEST(messages_before_the_close_are_received),
        TEST(a_peer_that_vanishes_raises_no_signal),
        TEST(a_slow_reader_bounds_the_receive_buffer),
        TEST(long_messages_leak_no_memory),
        TEST(a_message_that_is_too_long_closes_the_link),
        TEST(the_socket_is_for_its_owner),
        TEST(other_users_are_turned_away),
        TEST(a_socket_path_is_taken_over_only_if_unused),
        TEST(connecting_without_a_listener_fails),
        TEST(without_free_descriptors_waiting_peers_are_refused),
        TEST(addresses_are_read_or_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
