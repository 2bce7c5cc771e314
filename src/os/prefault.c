// prefault.c - faults in heap memory before it is needed.
//
// The first access to a page costs a page fault; in a program that runs for a few milliseconds,
// page faults take most of the time. Faulting in many pages at once costs little more than one.
#define _GNU_SOURCE
#include "os/os.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

enum { KEPT_BYTES = 64 << 20 };

// An older kernel refuses; then pages are faulted in one by one.
static void range_ready(const char *from, const char *to)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)from / page * page;
    uintptr_t last = ((uintptr_t)to + page - 1) / page * page;
    int result = madvise((void *)first, last - first, MADV_POPULATE_WRITE);
    (void)result;
}

void os_memory_ready(size_t bytes)
{
    // Keep freed memory in the process, and allocate large blocks from the same heap.
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    char *heap = malloc(bytes);
    if (heap) range_ready(heap, heap + bytes);
    free(heap);
}
