// served.c - a worker in a separate process, as a server sees it.
#define _GNU_SOURCE
#include "worker/process/served.h"
#include "os/os.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void send_now(struct served *served)
{
    while (served->out.sent < served->out.length) {
        ssize_t count = send(served->socket, served->out.bytes + served->out.sent,
                             served->out.length - served->out.sent, MSG_NOSIGNAL);
        assert(count > 0);
        wire_out_sent(&served->out, (uint32_t)count);
    }
}

struct served served_open(struct worker_options options)
{
    struct served served = {.folder = "/tmp/rota-worker-XXXXXX"};
    char *made = mkdtemp(served.folder);
    assert(made);
    served_again(&served, options);
    return served;
}

void served_again(struct served *served, struct worker_options options)
{
    options.folder = served->folder;
    if (!options.name) options.name = "test";
    served->pid = worker_fork(&options, &served->socket);
    assert(served->pid > 0);
}

int served_end(struct served *served)
{
    if (served->socket >= 0) close(served->socket);
    served->socket = -1;
    int status = 0;
    while (waitpid(served->pid, &status, 0) < 0 && errno == EINTR) continue;
    return status;
}

void served_close(struct served *served)
{
    if (served->socket >= 0) served_end(served);
    wire_in_release(&served->in);
    wire_out_release(&served->out);
    bool removed = os_tree_remove(served->folder);
    assert(removed);
}

int served_set_up(void **state)
{
    static struct served served;
    served = served_open((struct worker_options){.cores = 2});
    *state = &served;
    return 0;
}

int served_tear_down(void **state)
{
    served_close(*state);
    return 0;
}

struct wire_run served_command(uint32_t task, const char *const *words)
{
    struct wire_run run = {.task = {7, task}, .attempt = 1, .token = 40 + task, .grace = 100000};
    uint32_t count = 0;
    while (words[count]) count++;
    run.argv.items = calloc(count, sizeof *run.argv.items);
    run.argv.count = count;
    for (uint32_t i = 0; i < count; i++) run.argv.items[i] = wire_text_of(words[i]);
    run.name = wire_text_of("a task");
    run.cwd = wire_text_of("/tmp");
    run.stdin_path = wire_text_of("");
    return run;
}

void served_run(struct served *served, const struct wire_run *run)
{
    struct wire_message message = {.kind = WIRE_RUN_MESSAGE, .run = *run};
    wire_put(&served->out, &message);
    free(run->argv.items);
    send_now(served);
}

void served_stop(struct served *served, uint32_t task, int64_t grace)
{
    struct wire_message message = {.kind = WIRE_STOP_MESSAGE};
    message.stop = (struct wire_stop){{7, task}, 1, grace};
    wire_put(&served->out, &message);
    send_now(served);
}

void served_quit(struct served *served, int64_t grace)
{
    struct wire_message message = {.kind = WIRE_QUIT_MESSAGE, .quit = {grace}};
    wire_put(&served->out, &message);
    send_now(served);
}

void served_send(struct served *served, const struct wire_message *message)
{
    wire_put(&served->out, message);
    send_now(served);
}

bool served_next(struct served *served, struct wire_message *message)
{
    for (;;) {
        enum wire_result result = wire_take(&served->in, message);
        assert(result == WIRE_GOT || result == WIRE_MORE);
        if (result == WIRE_GOT) return true;
        ssize_t count = recv(served->socket, wire_in_room(&served->in, 65536), 65536, 0);
        if (count <= 0) return false;
        wire_in_came(&served->in, (uint32_t)count);
    }
}

struct wire_message served_await(struct served *served, enum wire_kind kind)
{
    struct wire_message message = {.kind = WIRE_NONE};
    while (message.kind != kind) {
        bool is_there = served_next(served, &message);
        assert(is_there);
    }
    return message;
}

struct wire_finished served_finished(struct served *served)
{
    return served_await(served, WIRE_FINISHED_MESSAGE).finished;
}

struct wire_finished served_do(struct served *served, struct wire_run run)
{
    served_run(served, &run);
    return served_finished(served);
}

struct gathered {
    char *bytes;
    size_t size;
};

static bool gather(void *context, const char *bytes, size_t count)
{
    struct gathered *gathered = context;
    gathered->bytes = realloc(gathered->bytes, gathered->size + count + 1);
    memcpy(gathered->bytes + gathered->size, bytes, count);
    gathered->size += count;
    gathered->bytes[gathered->size] = 0;
    return true;
}

char *served_log(struct served *served, uint32_t task, size_t *size)
{
    char path[256];
    struct gathered gathered = {0};
    log_path(path, sizeof path, served->folder, (rota_task_id){7, task}, 1);
    bool is_read = log_read(path, gather, &gathered);
    if (size) *size = gathered.size;
    if (!is_read) free(gathered.bytes);
    return is_read ? gathered.bytes : NULL;
}

static void wait_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
}

long served_number(struct served *served, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", served->folder, name);
    for (;; wait_a_little()) {
        size_t size;
        char *text = os_file_read(path, 100, &size);
        long number = text && strchr(text, '\n') ? strtol(text, NULL, 10) : 0;
        free(text);
        if (number) return number;
    }
}

static bool has_word(const char *pid, const char *word)
{
    char path[300], text[4096];
    snprintf(path, sizeof path, "/proc/%s/cmdline", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, sizeof text) : 0;
    if (file >= 0) close(file);
    return length > 0 && memmem(text, (size_t)length, word, strlen(word));
}

pid_t served_process_with(const char *word)
{
    DIR *directory = opendir("/proc");
    pid_t found = 0;
    for (struct dirent *entry; !found && (entry = readdir(directory));) {
        long pid = strtol(entry->d_name, NULL, 10);
        if (pid > 0 && pid != getpid() && has_word(entry->d_name, word)) found = (pid_t)pid;
    }
    closedir(directory);
    return found;
}

void served_await_gone(const char *word)
{
    while (served_process_with(word)) wait_a_little();
}
