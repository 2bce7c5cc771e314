// socket.c - one request line and one reply line over a local socket.
#define _GNU_SOURCE
#include "os/os.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 16, PATIENCE = 1, ASK_PATIENCE = 5, PAUSE = 10000 };

static bool address_of(const char *path, struct sockaddr_un *address)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address->sun_path) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(address->sun_path, path, length);
    return true;
}

void os_socket_peer(int file, char *text, size_t size)
{
    struct sockaddr_storage address = {.ss_family = AF_UNSPEC};
    socklen_t length = sizeof address;
    struct ucred user;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    *text = 0;
    if (getpeername(file, (struct sockaddr *)&address, &length) != 0) return;
    if (address.ss_family == AF_UNIX) {
        length = sizeof user;
        if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &user, &length) == 0)
            snprintf(text, size, "/%u", (unsigned)user.uid);
        return;
    }
    bool fine = getnameinfo((struct sockaddr *)&address, length, host, sizeof host, port,
                            sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0;
    bool colons = fine && strchr(host, ':');
    if (fine) snprintf(text, size, colons ? "[%s]:%s" : "%s:%s", host, port);
}

int os_socket_listen(const char *path)
{
    struct sockaddr_un address;
    if (!address_of(path, &address)) return -1;
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0) return -1;
    unlink(path);
    mode_t before = umask(0177);
    bool fine = bind(file, (struct sockaddr *)&address, sizeof address) == 0
                && listen(file, BACKLOG) == 0;
    umask(before);
    if (fine) return file;
    close(file);
    return -1;
}

static void patience_set(int file, int seconds)
{
    struct timeval time = {.tv_sec = seconds};
    setsockopt(file, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    setsockopt(file, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

static bool line_read(int file, char *line, size_t size)
{
    size_t length = 0;
    while (length + 1 < size) {
        ssize_t count = recv(file, line + length, size - length - 1, 0);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        length += (size_t)count;
        line[length] = 0;
        if (line[length - 1] == '\n') return true;
    }
    return false;
}

// Only the user who runs rota, and root, may connect.
static bool peer_is_trusted(int file)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &size)) return false;
    return peer.uid == geteuid() || peer.uid == 0;
}

int os_socket_accept(int listening, char *line, size_t size)
{
    int file = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
    if (file < 0) return -1;
    patience_set(file, PATIENCE);
    if (peer_is_trusted(file) && line_read(file, line, size)) return file;
    close(file);
    return -1;
}

void os_socket_reply(int peer, const char *line)
{
    send(peer, line, strlen(line), MSG_NOSIGNAL);
    close(peer);
}

// A server that has just started may not be listening yet.
static bool connect_soon(int file, const struct sockaddr_un *address)
{
    int64_t end = os_ticks() + ASK_PATIENCE * 1000000ll;
    while (connect(file, (const struct sockaddr *)address, sizeof *address) != 0) {
        if ((errno != ENOENT && errno != ECONNREFUSED) || os_ticks() >= end) return false;
        os_sleep_until(os_now() + PAUSE);
    }
    return true;
}

bool os_socket_ask(const char *path, const char *line, char *answer, size_t size)
{
    struct sockaddr_un address;
    if (!address_of(path, &address)) return false;
    int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file < 0) return false;
    patience_set(file, ASK_PATIENCE);
    bool fine = connect_soon(file, &address)
                && send(file, line, strlen(line), MSG_NOSIGNAL) == (ssize_t)strlen(line)
                && line_read(file, answer, size);
    close(file);
    return fine;
}
