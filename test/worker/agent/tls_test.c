// tls_test.c - `rota worker` connected to a server over TLS, with a key.
#define _GNU_SOURCE
#include "net/link/link.h"
#include "os/os.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PATIENCE = 60000000 };

struct scene {
    char folder[64], path[100];
    struct link_keys keys;
    struct link_key key;
    struct link_listener listener;
    struct link *link;
    pid_t worker;
};

static int set_up(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    struct link_error error;
    snprintf(scene->folder, sizeof scene->folder, "/tmp/rota-agent-XXXXXX");
    assert_non_null(mkdtemp(scene->folder));
    snprintf(scene->path, sizeof scene->path, "%s/key", scene->folder);
    assert_true(link_key_make(&scene->key, WIRE_WORKER));
    scene->keys = (struct link_keys){&scene->key, 1};
    assert_true(link_keys_write(&scene->keys, scene->path, LINK_WRITE_NEW, &error));
    assert_true(link_listen(&scene->listener, "127.0.0.1:0", &scene->keys, &error));
    *state = scene;
    return 0;
}

static int tear_down(void **state)
{
    struct scene *scene = *state;
    link_close(scene->link);
    link_listener_close(&scene->listener);
    kill(scene->worker, SIGKILL);
    waitpid(scene->worker, NULL, 0);
    os_tree_remove(scene->folder);
    free(scene);
    return 0;
}

static void worker_start(struct scene *scene)
{
    const char *build = getenv("BUILD");
    char rota[300], state[100];
    snprintf(rota, sizeof rota, "%s/rota", build ? build : "build");
    snprintf(state, sizeof state, "%s/state", scene->folder);
    scene->worker = fork();
    if (scene->worker) return;
    execl(rota, "rota", "worker", "--server", scene->listener.address, "--key", scene->path,
          "--folder", state, "--name", "w1", (char *)NULL);
    _exit(127);
}

// The next message other than BEAT.
static struct wire_message next(struct scene *scene)
{
    struct wire_message message;
    int64_t until = os_ticks() + PATIENCE;
    while (os_ticks() < until) {
        if (!scene->link) scene->link = link_accept(&scene->listener);
        while (scene->link && wire_take(&scene->link->in, &message) == WIRE_GOT)
            if (message.kind != WIRE_BEAT_MESSAGE) return message;
        struct os_watch watch = {.file = scene->listener.file};
        if (scene->link)
            watch = (struct os_watch){scene->link->file, scene->link->wants_write, false, false};
        os_wait(&watch, 1, until);
        if (scene->link) assert_true(link_work(scene->link));
    }
    fail_msg("no message has arrived");
    return message;
}

static void say(struct scene *scene, const struct wire_message *message)
{
    wire_put(&scene->link->out, message);
    assert_true(link_flush(scene->link));
}

static void a_worker_with_a_key_runs_commands(void **state)
{
    struct scene *scene = *state;
    worker_start(scene);
    struct wire_message message = next(scene);
    assert_int_equal(message.kind, WIRE_GREET_MESSAGE);
    assert_int_equal(message.greet.role, WIRE_WORKER);
    assert_int_equal(scene->link->roles, WIRE_WORKER);
    assert_string_equal(scene->link->id, scene->key.id);
    struct wire_message welcome = {.kind = WIRE_WELCOME_MESSAGE};
    welcome.welcome = (struct wire_welcome){WIRE_VERSION, 1, 1, 1, 1, 45000000, 5000000};
    say(scene, &welcome);
    assert_int_equal(next(scene).kind, WIRE_JOIN_MESSAGE);
    wire_text words[] = {wire_text_of("sh"), wire_text_of("-c"), wire_text_of("exit 6")};
    struct wire_message run = {.kind = WIRE_RUN_MESSAGE};
    run.run = (struct wire_run){.task = {1, 1}, .attempt = 1, .token = 9, .argv = {words, 3}};
    say(scene, &run);
    while ((message = next(scene)).kind != WIRE_FINISHED_MESSAGE) continue;
    assert_int_equal(message.finished.status, 6);
    assert_int_equal(message.finished.token, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_worker_with_a_key_runs_commands, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
