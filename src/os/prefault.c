// prefault.c - memory that is going to be needed, made ready at once.
//
// A page that is touched for the first time costs a trip into the kernel; for a program that ends
// after some milliseconds these are most of its time. Many pages at once cost little more than one.
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

// An older kernel refuses, and then the pages come one by one.
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
    // Keep freed memory in the process, and take large pieces from the same heap.
    mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    char *heap = malloc(bytes);
    if (heap) range_ready(heap, heap + bytes);
    free(heap);
}
