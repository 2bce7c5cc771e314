// limit_relay.c - how fast tasks can go through a process at all: a producer, a relay that keeps a
// queue, and workers that send each task back, over loopback TCP, 64 bytes a message.
//
//     limit_relay TASKS WORKERS CREDIT
//
// Prints tasks a second. The relay only counts the tasks of each worker. With one in flight also
// p50= and p99=, microseconds from the relay to a worker and back, and a task more on its way.
#include "bench.h"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGE = 64, WORKERS_MAX = 64, ROOM = 1 << 16 };

static void stop(const char *what)
{
    perror(what);
    exit(1);
}

static int listener(struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int file = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *address = (struct sockaddr_in){.sin_family = AF_INET};
    address->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (bind(file, (void *)address, size) || listen(file, WORKERS_MAX)
        || getsockname(file, (void *)address, &size))
        stop("listen");
    return file;
}

static int no_delay(int file)
{
    int one = 1;
    if (file < 0 || setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one)) stop("socket");
    return file;
}

static int connection(const struct sockaddr_in *address)
{
    int file = no_delay(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(file, (const void *)address, sizeof *address)) stop("connect");
    return file;
}

static void send_all(int file, const char *bytes, size_t count)
{
    while (count) {
        ssize_t sent = write(file, bytes, count);
        if (sent <= 0) exit(0);
        bytes += sent;
        count -= (size_t)sent;
    }
}

// Complete messages; the rest is read with the next call.
static size_t receive(int file, char *room, size_t *left)
{
    ssize_t got = read(file, room + *left, ROOM - *left);
    if (got <= 0) exit(0);
    *left += (size_t)got;
    return *left / MESSAGE;
}

static void work(const struct sockaddr_in *address)
{
    static char room[ROOM];
    int file = connection(address);
    size_t left = 0;
    for (;;) {
        size_t count = receive(file, room, &left);
        send_all(file, room, count * MESSAGE);
        left -= count * MESSAGE;
        memmove(room, room + count * MESSAGE, left);
    }
}

static int wait_compare(const void *one, const void *other)
{
    const double *a = one, *b = other;
    return *a < *b ? -1 : *a > *b;
}

// The queue is a number: all tasks look alike.
static void relay(int listening, uint32_t tasks, uint32_t workers, uint32_t credit)
{
    static char room[WORKERS_MAX][ROOM], out[ROOM];
    struct pollfd peers[WORKERS_MAX];
    uint32_t held[WORKERS_MAX] = {0}, given = 0, done = 0;
    size_t left[WORKERS_MAX] = {0};
    for (uint32_t i = 0; i < workers; i++)
        peers[i] = (struct pollfd){no_delay(accept(listening, NULL, NULL)), POLLIN, 0};
    double *waits = allocate(tasks, sizeof *waits), sent = 0;
    double began = seconds_now();
    while (done < tasks) {
        for (uint32_t i = 0; i < workers; i++) {
            uint32_t more = credit - held[i] < tasks - given ? credit - held[i] : tasks - given;
            if (more > ROOM / MESSAGE) more = ROOM / MESSAGE;
            if (more && credit == 1) sent = seconds_now();
            if (more) send_all(peers[i].fd, out, (size_t)more * MESSAGE);
            held[i] += more;
            given += more;
        }
        if (poll(peers, workers, -1) < 0) stop("poll");
        for (uint32_t i = 0; i < workers; i++) {
            if (!(peers[i].revents & POLLIN)) continue;
            uint32_t count = (uint32_t)receive(peers[i].fd, room[i], &left[i]);
            left[i] -= (size_t)count * MESSAGE;
            memmove(room[i], room[i] + (size_t)count * MESSAGE, left[i]);
            held[i] -= count;
            if (credit == 1) waits[done] = seconds_now() - sent;
            done += count;
        }
    }
    printf("%.1f", tasks / (seconds_now() - began));
    qsort(waits, tasks, sizeof *waits, wait_compare);
    if (workers == 1 && credit == 1)
        printf(" p50=%.1f p99=%.1f", waits[tasks / 2] * 1e6,
               waits[(uint64_t)tasks * 99 / 100] * 1e6);
    putchar('\n');
}

int main(int count, char **words)
{
    struct sockaddr_in address;
    if (count != 4) return 2;
    uint32_t workers = number_parse(words[2]);
    if (workers > WORKERS_MAX) return 2;
    int listening = listener(&address);
    for (uint32_t i = 0; i < workers; i++) {
        pid_t child = fork();
        if (child < 0) stop("fork");
        if (!child) work(&address);
    }
    relay(listening, number_parse(words[1]), workers, number_parse(words[3]));
    return 0;
}
