// memory.c - the heap allocator, and arrays whose growth can fail.
#include "base/base.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { LINE = 64, PAGE = 4096, LARGE = 2 << 20 };

// Events touch large tables at random, and with small pages nearly every access also misses the
// TLB. This is only a hint to the kernel: it changes nothing but speed.
static void ask_for_large_pages(void *block, size_t size)
{
#ifdef MADV_HUGEPAGE
    uintptr_t first = ((uintptr_t)block + PAGE - 1) / PAGE * PAGE;
    uintptr_t end = ((uintptr_t)block + size) / PAGE * PAGE;
    madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
    (void)block, (void)size;
#endif
}

void *memory_resize_heap(void *context, void *old, size_t old_size, size_t new_size)
{
    (void)context;
    (void)old_size;
    if (new_size == 0) {
        free(old);
        return NULL;
    }
    void *block = realloc(old, new_size);
    if (block && new_size >= LARGE) ask_for_large_pages(block, new_size);
    return block;
}

// Small tables double. Large ones grow by a quarter, because spare capacity is unused memory.
static uint64_t grown(uint64_t capacity, uint64_t need)
{
    uint64_t wanted = capacity < 65536 ? capacity * 2 : capacity + capacity / 4;
    if (wanted < 16) wanted = 16;
    return wanted > need ? wanted : need;
}

const struct memory memory_heap = {memory_resize_heap, NULL};

// Reads a pointer whose type is unknown. Reading it as a `void *` would break the aliasing rules.
static void *pointer_at(const void *address)
{
    void *pointer;
    memcpy(&pointer, address, sizeof pointer);
    return pointer;
}

static void pointer_set(void *address, void *pointer)
{
    memcpy(address, &pointer, sizeof pointer);
}

bool memory_grow_raw(const struct memory *memory, void *items, uint32_t *capacity, uint64_t need,
                     size_t size)
{
    uint64_t wanted = grown(*capacity, need);
    if (wanted > UINT32_MAX) wanted = need;
    if (wanted > UINT32_MAX || wanted > SIZE_MAX / size) return false;
    void *block = memory->resize(memory->context, pointer_at(items), *capacity * size,
                                 (size_t)wanted * size);
    if (!block) return false;
    pointer_set(items, block);
    *capacity = (uint32_t)wanted;
    return true;
}

bool memory_grow(const struct memory *memory, void *items, uint32_t *capacity, uint64_t need,
                 size_t size)
{
    uint32_t before = *capacity;
    if (need <= before) return true;  // also if both are 0, when there is no block
    if (!memory_grow_raw(memory, items, capacity, need, size)) return false;
    memset((char *)pointer_at(items) + before * size, 0, (*capacity - before) * size);
    return true;
}

static size_t offset_to_line(const void *raw)
{
    return (LINE - (uintptr_t)raw % LINE) % LINE;
}

// The allocator does not align to cache lines. The block is one line larger than its items, and the
// items move when a resize changes the distance from its start to the next line.
bool memory_reserve_lines(const struct memory *memory, struct memory_block *block, uint64_t need,
                          size_t size)
{
    if (need <= block->capacity) return true;
    uint64_t wanted = grown(block->capacity, need);
    if (wanted > UINT32_MAX) wanted = need;
    if (wanted > UINT32_MAX || wanted > (SIZE_MAX - LINE) / size) return false;
    size_t before = block->raw ? offset_to_line(block->raw) : 0, used = block->capacity * size;
    size_t raw_size = (size_t)wanted * size + LINE;
    char *raw = memory->resize(memory->context, block->raw, block->raw_size, raw_size);
    if (!raw) return false;
    size_t after = offset_to_line(raw);
    if (before != after) memmove(raw + after, raw + before, used);
    *block = (struct memory_block){raw + after, raw, (uint32_t)wanted, raw_size};
    return true;
}

void memory_release_lines(const struct memory *memory, struct memory_block *block)
{
    if (block->raw) memory->resize(memory->context, block->raw, block->raw_size, 0);
    *block = (struct memory_block){0};
}

void memory_release(const struct memory *memory, void *items, uint32_t *capacity, size_t size)
{
    void *block = pointer_at(items);
    if (block) memory->resize(memory->context, block, *capacity * size, 0);
    pointer_set(items, NULL);
    *capacity = 0;
}
