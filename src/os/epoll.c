// epoll.c - waits for many files at once.
#include "os/os.h"

#include <sys/epoll.h>

enum { EVENTS = 256 };

int os_loop_open(void)
{
    return epoll_create1(EPOLL_CLOEXEC);
}

bool os_loop_add(int loop, int file, void *owner)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = owner};
    return epoll_ctl(loop, EPOLL_CTL_ADD, file, &event) == 0;
}

void os_loop_write(int loop, int file, void *owner, bool also)
{
    struct epoll_event event = {.events = EPOLLIN | (also ? EPOLLOUT : 0u), .data.ptr = owner};
    epoll_ctl(loop, EPOLL_CTL_MOD, file, &event);
}

void os_loop_watch(int loop, int file, void *owner, bool reads, bool writes)
{
    struct epoll_event event = {.events = (reads ? EPOLLIN : (uint32_t)EPOLLRDHUP)
                                          | (writes ? EPOLLOUT : 0u),
                                .data.ptr = owner};
    epoll_ctl(loop, EPOLL_CTL_MOD, file, &event);
}

void os_loop_remove(int loop, int file)
{
    epoll_ctl(loop, EPOLL_CTL_DEL, file, NULL);
}

uint32_t os_loop_wait(int loop, struct os_ready *ready, uint32_t max, int64_t until)
{
    struct epoll_event events[EVENTS];
    int timeout = -1;
    if (until != INT64_MAX) {
        int64_t left = (until - os_ticks() + 999) / 1000;
        timeout = left < 0 ? 0 : left > 1000000 ? 1000000 : (int)left;
    }
    int count = epoll_wait(loop, events, max < EVENTS ? (int)max : EVENTS, timeout);
    for (int i = 0; i < count; i++) {
        ready[i].owner = events[i].data.ptr;
        ready[i].can_read = events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR);
        ready[i].is_over = events[i].events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
        ready[i].can_write = events[i].events & EPOLLOUT;
    }
    return count > 0 ? (uint32_t)count : 0;
}
