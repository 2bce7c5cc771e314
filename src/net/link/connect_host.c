// connect_host.c - connects a socket to a host: resolves its name, and tries its addresses in turn.
//
// Resolving a name may take any time, so a thread does it. Until it has finished, the file of the
// link is a pipe, which the thread closes then. Afterwards the file is a socket with the same
// number. The link ends if no address can be reached.
#define _GNU_SOURCE
#include "net/link/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Shared by the thread and the search; the last of them frees it.
struct lookup {
    atomic_int users;
    struct address address;
    struct addrinfo *found;
    int done;  // closing it reports the end
};

struct search {
    struct lookup *lookup;
    struct addrinfo *found, *next;
    bool is_looking;
};

static void lookup_leave(struct lookup *lookup)
{
    if (atomic_fetch_sub(&lookup->users, 1) > 1) return;
    if (lookup->found) freeaddrinfo(lookup->found);
    free(lookup);
}

static struct addrinfo *addresses_of(const struct address *address, int flags)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    return getaddrinfo(address->host, address->port, &hints, &found) == 0 ? found : NULL;
}

static void *lookup_run(void *argument)
{
    struct lookup *lookup = argument;
    int done = lookup->done;
    lookup->found = addresses_of(&lookup->address, AI_ADDRCONFIG);
    lookup_leave(lookup);
    close(done);
    return NULL;
}

// ---- One address after the other ----------------------------------------------------------

// Keeps the number, so that the owner's poll set stays valid.
static bool file_replace(struct link *link, int file)
{
    bool fine = dup3(file, link->file, O_CLOEXEC) >= 0;
    int reason = errno;
    close(file);
    errno = reason;
    return fine;
}

static bool is_begun(struct link *link, const struct addrinfo *to)
{
    int file = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (file < 0 || !file_replace(link, file)) return false;
    file_prepare(link->file);
    return connect(link->file, to->ai_addr, to->ai_addrlen) == 0 || errno == EINPROGRESS;
}

static bool next_try(struct link *link)
{
    struct search *search = link->search;
    for (; search->next; search->next = search->next->ai_next) {
        if (!is_begun(link, search->next)) continue;
        link->wants_write = true;
        return true;
    }
    return link_end(link, strerrordesc_np(errno));
}

static bool on_found(struct link *link)
{
    struct search *search = link->search;
    struct pollfd poll_one = {.fd = link->file, .events = POLLIN};
    if (poll(&poll_one, 1, 0) <= 0) return true;
    assert(atomic_load(&search->lookup->users) == 1);  // the thread has finished
    search->found = search->next = search->lookup->found;
    search->is_looking = false;
    if (!search->found) return link_end(link, "cannot resolve host");
    return next_try(link);
}

bool search_on(struct link *link)
{
    struct search *search = link->search;
    if (search->is_looking) return on_found(link);
    struct pollfd poll_one = {.fd = link->file, .events = POLLOUT};
    if (poll(&poll_one, 1, 0) <= 0) return true;
    int reason = 0;
    socklen_t size = sizeof reason;
    getsockopt(link->file, SOL_SOCKET, SO_ERROR, &reason, &size);
    if (reason) {
        search->next = search->next->ai_next;
        errno = reason;
        return next_try(link);
    }
    search_close(link);
    link->wants_write = false;
    return true;
}

// ---- Beginning and ending -----------------------------------------------------------------

// Blocks all signals: they are for the threads of the program.
static bool thread_begin(struct lookup *lookup)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool fine = pthread_create(&thread, NULL, lookup_run, lookup) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return fine && pthread_detach(thread) == 0;
}

static bool lookup_begin(struct link *link, const struct address *address)
{
    int ends[2];
    struct lookup *lookup = calloc(1, sizeof *lookup);
    if (!lookup || pipe2(ends, O_CLOEXEC | O_NONBLOCK)) {
        free(lookup);
        return false;
    }
    *lookup = (struct lookup){.users = 2, .address = *address, .done = ends[1]};
    link->search->lookup = lookup;
    link->search->is_looking = true;
    link->file = ends[0];
    if (thread_begin(lookup)) return true;
    lookup_leave(lookup);
    close(ends[1]);
    return false;
}

bool search_begin(struct link *link, const struct address *address, struct link_error *error)
{
    struct search *search = link->search = calloc(1, sizeof *search);
    if (!search) return link_fail(error, "%s: out of memory", address->host);
    search->found = search->next = addresses_of(address, AI_NUMERICHOST);
    if (!search->found) {
        if (lookup_begin(link, address)) return true;
        return link_fail(error, "%s: cannot resolve host: no thread", address->host);
    }
    link->file = open("/dev/null", O_RDONLY | O_CLOEXEC);  // reserves a number
    if (link->file < 0 || !next_try(link))
        return link_fail(error, "%s:%s: %s", address->host, address->port, strerror(errno));
    return true;
}

void search_close(struct link *link)
{
    struct search *search = link->search;
    if (!search) return;
    if (search->lookup)
        lookup_leave(search->lookup);
    else if (search->found)
        freeaddrinfo(search->found);
    free(search);
    link->search = NULL;
}
