// memory.c - one allocator function, and growth that says yes or no.
#include "base/base.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void *memory_resize_heap(void *context, void *old, size_t old_size, size_t new_size)
{
    (void)context;
    (void)old_size;
    if (new_size == 0) {
        free(old);
        return NULL;
    }
    return realloc(old, new_size);
}

// Small tables double; large ones grow by a quarter, because slack is memory at rest.
static uint64_t grown(uint64_t capacity, uint64_t need)
{
    uint64_t wished = capacity < 65536 ? capacity * 2 : capacity + capacity / 4;
    if (wished < 16) wished = 16;
    return wished > need ? wished : need;
}

bool memory_reserve(const struct memory *memory, void **items, uint32_t *capacity, uint64_t need,
                    size_t size)
{
    if (need <= *capacity) return true;
    uint64_t wanted = grown(*capacity, need);
    if (wanted > UINT32_MAX) wanted = need;
    if (wanted > UINT32_MAX || wanted > SIZE_MAX / size) return false;
    size_t old_size = *capacity * size;
    char *block = memory->resize(memory->context, *items, old_size, (size_t)wanted * size);
    if (!block) return false;
    memset(block + old_size, 0, (size_t)wanted * size - old_size);
    *items = block;
    *capacity = (uint32_t)wanted;
    return true;
}

void memory_release(const struct memory *memory, void **items, uint32_t *capacity, size_t size)
{
    if (*items) memory->resize(memory->context, *items, *capacity * size, 0);
    *items = NULL;
    *capacity = 0;
}
