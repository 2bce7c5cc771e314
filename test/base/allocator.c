// allocator.c - an allocator for tests: counts, refuses on request, and returns dirty memory.
#include "allocator.h"

enum { GAP = 16, RUBBISH = 0xa5, FENCE = 0x5c };

struct head {
    void *raw;
    size_t size;
};
_Static_assert(sizeof(struct head) <= GAP, "a head fits before its block");

static void *block_make(size_t size, uint64_t number)
{
    size_t before = GAP * (1 + number % 4);
    char *raw = malloc(before + size + GAP);
    if (!raw) return NULL;
    char *block = raw + before;
    struct head head = {raw, size};
    memcpy(block - GAP, &head, sizeof head);
    memset(block, RUBBISH, size);
    memset(block + size, FENCE, GAP);
    return block;
}

static struct head head_of(const void *block)
{
    struct head head = {NULL, 0};
    if (block) memcpy(&head, (const char *)block - GAP, sizeof head);
    return head;
}

static void check_fence(const char *block, size_t size)
{
    for (size_t i = 0; i < GAP; i++)
        if (block[size + i] != FENCE) fail_msg("written past a block of %zu bytes", size);
}

static bool is_refused(const struct allocator *allocator, size_t size)
{
    uint64_t number = allocator->requests, from = allocator->refuse_from;
    if (size > (allocator->size_max ? allocator->size_max : (size_t)1 << 30)) return true;
    return from && number >= from && number - from < allocator->refuse_count;
}

static void *resize(void *context, void *old, size_t old_size, size_t new_size)
{
    struct allocator *allocator = context;
    struct head head = head_of(old);
    if (head.size != old_size)
        fail_msg("a block of %zu bytes is said to have %zu", head.size, old_size);
    if (old) check_fence(old, old_size);
    void *block = NULL;
    if (new_size) {
        allocator->requests++;
        if (is_refused(allocator, new_size)) return NULL;
        block = block_make(new_size, allocator->requests);
        if (!block) return NULL;
        if (old) memcpy(block, old, old_size < new_size ? old_size : new_size);
    }
    allocator->bytes = allocator->bytes - old_size + new_size;
    free(head.raw);
    return block;
}

struct memory allocator_memory(struct allocator *allocator)
{
    return (struct memory){resize, allocator};
}

void allocator_refuse_next(struct allocator *allocator, uint64_t skipped)
{
    allocator->refuse_from = allocator->requests + 1 + skipped;
    allocator->refuse_count = 1;
}

void allocator_refuse_all(struct allocator *allocator)
{
    allocator->refuse_from = allocator->requests + 1;
    allocator->refuse_count = UINT64_MAX;
}
