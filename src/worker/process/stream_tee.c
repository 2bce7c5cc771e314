// stream_tee.c - a stream with several readers: data of one writer is copied to all of them.
//
// Each reader has its own stream (stream.c), and the writer has an additional FIFO, the trunk. A
// piece is read from it when all remaining readers have the last one: the slowest reader determines
// the speed.
#define _GNU_SOURCE
#include "worker/process/stream_tee.h"
#include "worker/process/user.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 64 << 10, PIECES_AT_ONCE = 16 };

struct branch {
    int file;  // -1: it is no longer read
    uint32_t done;
    bool is_watched;
};

struct stream_tee {
    struct stream_tee *next;
    const struct attempt *producer;
    struct branch *branches;
    uint32_t branch_count, length;
    int trunk;  // -1: no reader is left, or no more data will come
    bool is_watched;
    char path[PATH_MAX];
    char bytes[PIECE];
};

// ---- Names --------------------------------------------------------------------------------------

static bool is_alike(const struct wire_file *one, const struct wire_file *other)
{
    return one->kind == WIRE_STREAM && other->kind == WIRE_STREAM
           && strcmp(one->name.bytes, other->name.bytes) == 0;
}

bool stream_tee_is_again(const wire_files *outputs, uint32_t at)
{
    for (uint32_t i = 0; i < at; i++)
        if (is_alike(&outputs->items[i], &outputs->items[at])) return true;
    return false;
}

static uint32_t branches_count(const wire_files *outputs, uint32_t at)
{
    uint32_t count = 0;
    for (uint32_t i = at; i < outputs->count; i++)
        count += is_alike(&outputs->items[i], &outputs->items[at]);
    return count;
}

void stream_tee_path(char *out, size_t size, const char *folder, const wire_files *outputs,
                     uint32_t at)
{
    stream_path(out, size, folder, outputs->items[at].object);
    size_t length = strlen(out);
    if (branches_count(outputs, at) > 1) snprintf(out + length, size - length, "-all");
}

// ---- Opening and closing --------------------------------------------------------------------

static void watch(struct worker *worker, int file, uint32_t events, bool *is_watched, bool wanted)
{
    struct epoll_event event = {.events = events};
    if (file < 0 || wanted == *is_watched) return;
    epoll_ctl(worker->tee_loop, wanted ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, file, &event);
    *is_watched = wanted;
}

static void branch_close(struct worker *worker, struct branch *branch)
{
    watch(worker, branch->file, EPOLLOUT, &branch->is_watched, false);
    if (branch->file >= 0) close(branch->file);
    branch->file = -1;
}

// A writer that has not opened it yet would wait for a reader forever.
static void trunk_close(struct worker *worker, struct stream_tee *tee)
{
    if (tee->trunk < 0) return;
    watch(worker, tee->trunk, EPOLLIN, &tee->is_watched, false);
    close(tee->trunk);
    tee->trunk = -1;
    if (unlink(tee->path) != 0 || symlink("/dev/null", tee->path) != 0) return;
}

static void tee_close(struct worker *worker, struct stream_tee *tee)
{
    struct stream_tee **at = &worker->tees;
    while (*at != tee) at = &(*at)->next;
    *at = tee->next;
    for (uint32_t i = 0; i < tee->branch_count; i++)
        branch_close(worker, &tee->branches[i]);
    trunk_close(worker, tee);
    unlink(tee->path);
    free(tee->branches);
    free(tee);
}

static bool trunk_open(const struct worker *worker, struct stream_tee *tee)
{
    unlink(tee->path);
    if (mkfifo(tee->path, 0600) != 0 || !user_give(worker, tee->path)) return false;
    tee->trunk = open(tee->path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    return tee->trunk >= 0;
}

static bool branches_open(struct worker *worker, struct stream_tee *tee, const wire_files *outputs,
                          uint32_t at)
{
    char path[PATH_MAX];
    tee->branches = calloc(branches_count(outputs, at), sizeof *tee->branches);
    if (!tee->branches) return false;
    for (uint32_t i = at; i < outputs->count; i++) {
        if (!is_alike(&outputs->items[i], &outputs->items[at])) continue;
        stream_path(path, sizeof path, worker->folder, outputs->items[i].object);
        int file = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
        if (file < 0) return false;
        tee->branches[tee->branch_count++] = (struct branch){.file = file};
    }
    return true;
}

static bool loop_open(struct worker *worker)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = &worker->tees};
    if (worker->tee_loop >= 0) return true;
    int loop = epoll_create1(EPOLL_CLOEXEC);
    if (loop < 0) return false;
    if (epoll_ctl(worker->epoll, EPOLL_CTL_ADD, loop, &event) != 0) return close(loop), false;
    worker->tee_loop = loop;
    return true;
}

// ---- Copying --------------------------------------------------------------------------------

static void branch_write(struct worker *worker, const struct stream_tee *tee, struct branch *branch)
{
    while (branch->file >= 0 && branch->done < tee->length) {
        ssize_t put
            = write(branch->file, tee->bytes + branch->done, tee->length - branch->done);
        if (put > 0) branch->done += (uint32_t)put;
        if (put < 0 && errno == EAGAIN) return;
        if (put < 0 && errno != EINTR) branch_close(worker, branch);
    }
}

// Readers that have taken all data, and those that have not.
static void branches_write(struct worker *worker, struct stream_tee *tee, uint32_t *ready,
                           uint32_t *slow)
{
    *ready = *slow = 0;
    for (uint32_t i = 0; i < tee->branch_count; i++) {
        struct branch *branch = &tee->branches[i];
        branch_write(worker, tee, branch);
        if (branch->file < 0) continue;
        bool is_slow = branch->done < tee->length;
        watch(worker, branch->file, EPOLLOUT, &branch->is_watched, is_slow);
        ++*(is_slow ? slow : ready);
    }
}

static bool piece_read(struct stream_tee *tee)
{
    ssize_t got = read(tee->trunk, tee->bytes, sizeof tee->bytes);
    tee->length = got > 0 ? (uint32_t)got : 0;
    for (uint32_t i = 0; i < tee->branch_count; i++) tee->branches[i].done = 0;
    return got > 0;
}

// True: nothing is left to be copied now.
static bool tee_work(struct worker *worker, struct stream_tee *tee)
{
    uint32_t ready, slow;
    bool is_empty = tee->trunk < 0;
    for (uint32_t pieces = 0; !is_empty; pieces++) {
        branches_write(worker, tee, &ready, &slow);
        if (!ready && !slow) {
            trunk_close(worker, tee);
            return true;
        }
        watch(worker, tee->trunk, EPOLLIN, &tee->is_watched, !slow);
        if (slow || pieces == PIECES_AT_ONCE) return false;  // so that others get their turn
        is_empty = !piece_read(tee);
    }
    return true;
}

void stream_tees_work(struct worker *worker)
{
    for (struct stream_tee *tee = worker->tees; tee; tee = tee->next)
        tee_work(worker, tee);
}

// ---- The writer -----------------------------------------------------------------------------

bool stream_tees_join(struct worker *worker, const struct attempt *attempt)
{
    const wire_files *outputs = &attempt->command.run.outputs;
    for (uint32_t i = 0; i < outputs->count; i++) {
        bool first = outputs->items[i].kind == WIRE_STREAM && !stream_tee_is_again(outputs, i);
        if (!first || branches_count(outputs, i) < 2) continue;
        struct stream_tee *tee = loop_open(worker) ? calloc(1, sizeof *tee) : NULL;
        if (!tee) return false;
        *tee = (struct stream_tee){.next = worker->tees, .producer = attempt, .trunk = -1};
        worker->tees = tee;
        stream_tee_path(tee->path, sizeof tee->path, worker->folder, outputs, i);
        if (!trunk_open(worker, tee) || !branches_open(worker, tee, outputs, i)) return false;
        tee_work(worker, tee);
    }
    return true;
}

bool stream_tees_are_dry(struct worker *worker, const struct attempt *attempt)
{
    bool dry = true;
    for (struct stream_tee *tee = worker->tees; tee; tee = tee->next)
        if (tee->producer == attempt) dry &= tee_work(worker, tee);
    return dry;
}

void stream_tees_leave(struct worker *worker, const struct attempt *attempt)
{
    for (struct stream_tee *tee = worker->tees, *next; tee; tee = next) {
        next = tee->next;
        if (!attempt || tee->producer == attempt) tee_close(worker, tee);
    }
}
