// process_tree_test.c - all processes of a command end with it, even those that try to hide.
#define _GNU_SOURCE
#include "worker/process/served.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#define SECOND 1000000

// A word that only the processes of one test have among their arguments.
struct scene {
    struct served served;
    char word[32];
    char folder_set[96];
};

static struct scene open_scene(enum worker_contain contain, const char *word)
{
    struct scene scene;
    scene.served = served_open((struct worker_options){.cores = 3, .contain = contain});
    snprintf(scene.word, sizeof scene.word, "%s-%d", word, (int)getpid());
    snprintf(scene.folder_set, sizeof scene.folder_set, "FOLDER=%s", scene.served.folder);
    return scene;
}

// The script finds the word in $WORD and the folder in $FOLDER.
static void start(struct scene *scene, uint32_t task, const char *script)
{
    char word_set[64];
    snprintf(word_set, sizeof word_set, "WORD=%s", scene->word);
    wire_text set[] = {wire_text_of(word_set), wire_text_of(scene->folder_set)};
    struct wire_run run = SHELL(task, script);
    run.env = (wire_texts){set, 2};
    served_run(&scene->served, &run);
    served_await(&scene->served, WIRE_STARTED_MESSAGE);
}

// Reports that it runs, then stays. A sleeping shell has the word as its $0.
#define STAY "'trap \"\" TERM HUP; echo 1 >$FOLDER/there; while :; do sleep 1000; done' $WORD"

static void expect_nothing_left_after_end(enum worker_contain contain, const char *script)
{
    struct scene scene = open_scene(contain, "left");
    start(&scene, 1, script);
    struct wire_finished it = served_finished(&scene.served);
    assert_int_equal(it.end, WIRE_EXITED);
    assert_int_equal(it.status, 0);
    assert_int_equal(served_process_with(scene.word), 0);
    served_close(&scene.served);
}

static void expect_nothing_left_after_stop(enum worker_contain contain, const char *script)
{
    struct scene scene = open_scene(contain, "stopped");
    start(&scene, 1, script);
    served_number(&scene.served, "there");
    served_stop(&scene.served, 1, 20000);
    assert_int_equal(served_finished(&scene.served).end, WIRE_STOPPED);
    assert_int_equal(served_process_with(scene.word), 0);
    served_close(&scene.served);
}

#define WAIT_FOR_IT " while ! [ -s $FOLDER/there ]; do sleep 0.01; done"
static const char *const hiders[] = {
    "sh -c " STAY " &",
    "setsid sh -c " STAY " &",
    "(setsid sh -c " STAY " &) &",
    "(env -i FOLDER=$FOLDER WORD=$WORD PATH=$PATH setsid sh -c " STAY " &) &",
};

static void leftover_processes_end_with_their_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hiders / sizeof *hiders; i++) {
        char script[500];
        snprintf(script, sizeof script, "%s %s", hiders[i], WAIT_FOR_IT);
        expect_nothing_left_after_end(WORKER_CONTAIN_BEST, script);
        expect_nothing_left_after_end(WORKER_CONTAIN_TREE, script);
    }
}

static void a_stopped_command_leaves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof hiders / sizeof *hiders; i++) {
        char script[500];
        snprintf(script, sizeof script, "%s %s; sleep 1000", hiders[i], WAIT_FOR_IT);
        expect_nothing_left_after_stop(WORKER_CONTAIN_BEST, script);
        expect_nothing_left_after_stop(WORKER_CONTAIN_TREE, script);
    }
}

static void processes_of_others_are_not_killed(void **state)
{
    (void)state;
    for (int contain = WORKER_CONTAIN_BEST; contain <= WORKER_CONTAIN_TREE; contain++) {
        struct scene scene = open_scene(contain, "others");
        start(&scene, 1, "(setsid sh -c " STAY " &) &" WAIT_FOR_IT "; sleep 1000");
        served_number(&scene.served, "there");
        for (uint32_t task = 2; task < 6; task++) {
            start(&scene, task, "(setsid sleep 1000 &) & true");
            assert_int_equal(served_finished(&scene.served).end, WIRE_EXITED);
            assert_int_not_equal(served_process_with(scene.word), 0);
        }
        served_stop(&scene.served, 1, 0);
        assert_int_equal(served_finished(&scene.served).task.task, 1);
        assert_int_equal(served_process_with(scene.word), 0);
        served_close(&scene.served);
    }
}

static void a_killed_worker_leaves_nothing(void **state)
{
    (void)state;
    struct scene scene = open_scene(WORKER_CONTAIN_BEST, "killed");
    struct wire_message hello = served_await(&scene.served, WIRE_HELLO_MESSAGE);
    if (strncmp(hello.hello.limits.bytes, "PID namespace", 13) != 0) {
        served_close(&scene.served);
        puts("# skipped: this user may not make a PID namespace");
        skip();
    }
    start(&scene, 1, "(setsid sh -c " STAY " &) & sleep 1000");
    served_number(&scene.served, "there");
    kill(scene.served.pid, SIGKILL);
    assert_true(WIFSIGNALED(served_end(&scene.served)));
    served_await_gone(scene.word);
    served_close(&scene.served);
}

// root of a user namespace that has no PID namespace of its own: unshare -r.
static bool become_root_of_a_user_namespace(void)
{
    char map[64];
    int length = snprintf(map, sizeof map, "0 %u 1", (unsigned)geteuid());
    if (unshare(CLONE_NEWUSER) != 0) return false;
    int file = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);
    bool done = file >= 0 && write(file, map, (size_t)length) == length;
    if (file >= 0) close(file);
    return done;
}

static int end_a_worker_and_fork(void)
{
    if (!become_root_of_a_user_namespace()) return 77;
    struct scene scene = open_scene(WORKER_CONTAIN_BEST, "user namespace");
    served_await(&scene.served, WIRE_HELLO_MESSAGE);
    served_end(&scene.served);
    served_close(&scene.served);
    pid_t pid = fork();
    if (pid == 0) _exit(0);
    return pid < 0;
}

static void the_server_can_fork_after_the_worker_has_ended(void **state)
{
    (void)state;
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) _exit(end_a_worker_and_fork());
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) {
        puts("# skipped: this user may not make a user namespace");
        skip();
    }
    assert_int_equal(status, 0);
}

static void no_process_is_left_when_the_server_is_gone(void **state)
{
    (void)state;
    for (int contain = WORKER_CONTAIN_BEST; contain <= WORKER_CONTAIN_TREE; contain++) {
        struct scene scene = open_scene(contain, "gone");
        start(&scene, 1, "(setsid sh -c " STAY " &) & sleep 1000");
        served_number(&scene.served, "there");
        served_end(&scene.served);
        assert_int_equal(served_process_with(scene.word), 0);
        served_close(&scene.served);
    }
}

static void quitting_stops_all_and_reports_all(void **state)
{
    (void)state;
    struct scene scene = open_scene(WORKER_CONTAIN_BEST, "quit");
    for (uint32_t task = 1; task <= 3; task++) start(&scene, task, "exec sleep 1000");
    struct wire_run queued = SHELL(4, "true");
    served_run(&scene.served, &queued);
    served_quit(&scene.served, 10 * SECOND);
    uint32_t seen = 0;
    for (int i = 0; i < 4; i++) {
        struct wire_finished it = served_finished(&scene.served);
        assert_int_equal(it.end, WIRE_STOPPED);
        seen |= 1u << it.task.task;
    }
    assert_int_equal(seen, 0x1e);
    struct wire_message message;
    assert_false(served_next(&scene.served, &message));
    assert_int_equal(served_end(&scene.served), 0);
    served_close(&scene.served);
}

static void a_tree_has_its_time_of_grace(void **state)
{
    (void)state;
    struct scene scene = open_scene(WORKER_CONTAIN_BEST, "grace");
    start(&scene, 1,
          "sh -c 'trap \"echo orderly; exit\" TERM; echo 1 >$FOLDER/there;"
          " while :; do sleep 0.05; done' $WORD & wait");
    served_number(&scene.served, "there");
    served_stop(&scene.served, 1, 100 * SECOND);
    assert_int_equal(served_finished(&scene.served).end, WIRE_STOPPED);
    char *log = served_log(&scene.served, 1, NULL);
    assert_non_null(strstr(log, "orderly\n"));
    free(log);
    served_close(&scene.served);
}

// Its first thread has ended, which makes it look dead; but it still has the lock.
static void a_process_whose_thread_still_runs_is_found(void **state)
{
    (void)state;
    struct scene scene = open_scene(WORKER_CONTAIN_TREE, "thread");
    start(&scene, 1,
          "setsid python3 -c 'import ctypes, fcntl, os, threading, time\n"
          "folder = os.environ[\"FOLDER\"]\n"
          "lock = open(folder + \"/lock\", \"w\")\n"
          "fcntl.flock(lock, fcntl.LOCK_EX)\n"
          "def stay():\n"
          "  while open(\"/proc/self/stat\").read().split()[2] != \"Z\": time.sleep(0.01)\n"
          "  open(folder + \"/there\", \"w\").write(\"1\\n\")\n"
          "  time.sleep(1000)\n"
          "threading.Thread(target=stay).start()\n"
          "ctypes.CDLL(None).syscall(93 if os.uname().machine == \"aarch64\" else 60, 0)' "
          "&" WAIT_FOR_IT);
    assert_int_equal(served_finished(&scene.served).end, WIRE_EXITED);
    char path[100];
    snprintf(path, sizeof path, "%s/lock", scene.served.folder);
    int lock = open(path, O_RDONLY);
    assert_int_equal(flock(lock, LOCK_EX | LOCK_NB), 0);
    close(lock);
    served_close(&scene.served);
}

static void a_fork_bomb_is_stopped(void **state)
{
    (void)state;
    struct scene scene = open_scene(WORKER_CONTAIN_BEST, "bomb");
    struct wire_message hello = served_await(&scene.served, WIRE_HELLO_MESSAGE);
    bool is_walled = strncmp(hello.hello.limits.bytes, "PID namespace", 13) == 0;
    if (is_walled) {
        // Each ends after it has started the next, twenty at any time.
        start(&scene, 1,
              "echo 'sh $0 $1 & exit' >$FOLDER/bomb; i=0; while [ $i -lt 20 ];"
              " do sh $FOLDER/bomb $WORD & i=$((i+1)); done; echo 1 >$FOLDER/there; sleep 1000");
        served_number(&scene.served, "there");
        served_stop(&scene.served, 1, 0);
        assert_int_equal(served_finished(&scene.served).end, WIRE_STOPPED);
        assert_int_equal(served_process_with(scene.word), 0);
    }
    served_close(&scene.served);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leftover_processes_end_with_their_command),
        cmocka_unit_test(a_stopped_command_leaves_nothing),
        cmocka_unit_test(processes_of_others_are_not_killed),
        cmocka_unit_test(a_killed_worker_leaves_nothing),
        cmocka_unit_test(the_server_can_fork_after_the_worker_has_ended),
        cmocka_unit_test(no_process_is_left_when_the_server_is_gone),
        cmocka_unit_test(quitting_stops_all_and_reports_all),
        cmocka_unit_test(a_tree_has_its_time_of_grace),
        cmocka_unit_test(a_process_whose_thread_still_runs_is_found),
        cmocka_unit_test(a_fork_bomb_is_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
