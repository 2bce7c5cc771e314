// allocate.c - allocations that end the program when they fail.
#include "os/os.h"

#include <stdio.h>
#include <stdlib.h>

void os_out_of_memory(void)
{
    fputs("rota: out of memory\n", stderr);
    exit(70);
}

void *os_allocate(size_t count, size_t size)
{
    void *memory = calloc(count ? count : 1, size);
    if (!memory) os_out_of_memory();
    return memory;
}
