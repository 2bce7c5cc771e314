// memory.c - one arena a file, arrays that grow, and names to numbers.
#include "jobfile/jobfile_parts.h"
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 1 << 15, BLOCK = 1 << 20, ALIGNED = 8 };

struct jobfile_block {
    struct jobfile_block *before;
    size_t used, size;
    char bytes[];
};

// Nothing has been done yet when a file is read, so there is nothing to save.
static void *must(void *memory)
{
    if (memory) return memory;
    fputs("rota: there is no memory for the job file\n", stderr);
    exit(2);
}

// ---- The arena -------------------------------------------------------------

static void block_add(struct jobfile *file, size_t size)
{
    size_t usual = file->memory ? BLOCK : FIRST_BLOCK;  // most files are short
    size_t room = size > usual ? size : usual;
    struct jobfile_block *block = must(malloc(sizeof *block + room));
    *block = (struct jobfile_block){.before = file->memory, .size = room};
    file->memory = block;
    file->memory_size += room;
}

static void *take(struct jobfile *file, size_t size, size_t align)
{
    struct jobfile_block *block = file->memory;
    size_t start = block ? (block->used + align - 1) / align * align : 0;
    if (!block || start > block->size || size > block->size - start) {
        block_add(file, size);
        block = file->memory;
        start = 0;
    }
    block->used = start + size;
    return block->bytes + start;
}

void *jobfile_take(struct jobfile *file, size_t size)
{
    return memset(take(file, size, ALIGNED), 0, size);
}

char *jobfile_text(struct jobfile *file, const char *text, size_t length)
{
    char *copy = take(file, length + 1, 1);
    if (length) memcpy(copy, text, length);
    copy[length] = 0;
    return copy;
}

void jobfile_release(struct jobfile *file)
{
    while (file->memory) {
        struct jobfile_block *before = file->memory->before;
        free(file->memory);
        file->memory = before;
    }
    free(file->tasks);
    free(file->lanes);
    *file = (struct jobfile){0};
}

void jobfile_reserve(void **items, uint32_t *capacity, uint32_t count, size_t size)
{
    static const struct memory heap = {memory_resize_heap, NULL};
    if (count < *capacity) return;
    bool there = memory_reserve_raw(&heap, items, capacity, (uint64_t)count + 1, size);
    must(there ? *items : NULL);
}

// ---- Names -----------------------------------------------------------------

static uint32_t hash_of(const char *name)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 32);
}

static struct table_slot *slot_of(const struct table *table, const char *name, uint32_t hash)
{
    uint32_t mask = table->capacity - 1, i = hash & mask;
    for (;; i = (i + 1) & mask) {
        struct table_slot *slot = &table->slots[i];
        if (!slot->name || (slot->hash == hash && strcmp(slot->name, name) == 0)) return slot;
    }
}

static void table_grow(struct table *table, uint32_t capacity)
{
    struct table larger = {.capacity = capacity};
    larger.slots = must(calloc(larger.capacity, sizeof *larger.slots));
    larger.count = table->count;
    for (uint32_t i = 0; i < table->capacity; i++) {
        const struct table_slot *slot = &table->slots[i];
        if (slot->name) *slot_of(&larger, slot->name, slot->hash) = *slot;
    }
    free(table->slots);
    *table = larger;
}

void table_reserve(struct table *table, uint32_t more)
{
    uint64_t need = ((uint64_t)table->count + more) * 3 / 2 + 1, capacity = table->capacity;
    if (need <= capacity) return;
    if (!capacity) capacity = 64;
    while (capacity < need) capacity *= 2;
    table_grow(table, (uint32_t)capacity);
}

uint32_t table_find(const struct table *table, const char *name)
{
    return table->count ? slot_of(table, name, hash_of(name))->value : 0;
}

uint32_t table_put(struct table *table, const char *name, uint32_t value)
{
    table_reserve(table, 1);
    uint32_t hash = hash_of(name);
    struct table_slot *slot = slot_of(table, name, hash);
    if (slot->name) return slot->value;
    *slot = (struct table_slot){name, hash, value};
    table->count++;
    return 0;
}

void table_release(struct table *table)
{
    free(table->slots);
    *table = (struct table){0};
}
