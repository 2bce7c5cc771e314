// memory.c - one arena per file, growing arrays, and hash tables of names.
#include "job/file/internal.h"
#include "base/base.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 1 << 15, BLOCK = 1 << 20, ALIGNED = 8 };

struct jobfile_block {
    struct jobfile_block *before;
    size_t used, size;
    char bytes[];
};

// Reported once, in place of all errors that would only follow from it.
void jobfile_no_memory(struct jobfile *file)
{
    if (!file->lacks_memory && file->error_count < JOBFILE_ERRORS_MAX)
        file->errors[file->error_count++].reason = "out of memory";
    file->lacks_memory = true;
}

// ---- The arena -------------------------------------------------------------

static bool block_add(struct jobfile *file, size_t size)
{
    size_t usual = file->memory ? BLOCK : FIRST_BLOCK;  // most files are small
    size_t room = size > usual ? size : usual;
    struct jobfile_block *block = malloc(sizeof *block + room);
    if (!block) {
        jobfile_no_memory(file);
        return false;
    }
    *block = (struct jobfile_block){.before = file->memory, .size = room};
    file->memory = block;
    file->memory_size += room;
    return true;
}

static void *take(struct jobfile *file, size_t size, size_t align)
{
    struct jobfile_block *block = file->memory;
    size_t start = block ? (block->used + align - 1) / align * align : 0;
    if (!block || start > block->size || size > block->size - start) {
        if (!block_add(file, size)) return NULL;
        block = file->memory;
        start = 0;
    }
    block->used = start + size;
    return block->bytes + start;
}

void *jobfile_take(struct jobfile *file, size_t size)
{
    void *room = take(file, size, ALIGNED);
    return room ? memset(room, 0, size) : NULL;
}

char *jobfile_text(struct jobfile *file, const char *text, size_t length)
{
    char *copy = take(file, length + 1, 1);
    if (!copy) return NULL;
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

bool jobfile_reserve(struct jobfile *file, void *items, uint32_t *capacity, uint32_t count,
                     size_t size)
{
    if (count < *capacity) return true;
    bool there = memory_reserve_raw(&memory_heap, items, capacity, (uint64_t)count + 1, size);
    if (!there) jobfile_no_memory(file);
    return there;
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

static bool table_grow(struct table *table, uint32_t capacity)
{
    struct table larger = {.capacity = capacity};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots) return false;
    larger.count = table->count;
    for (uint32_t i = 0; i < table->capacity; i++) {
        const struct table_slot *slot = &table->slots[i];
        if (slot->name) *slot_of(&larger, slot->name, slot->hash) = *slot;
    }
    free(table->slots);
    *table = larger;
    return true;
}

bool table_reserve(struct jobfile *file, struct table *table, uint32_t more)
{
    uint64_t need = ((uint64_t)table->count + more) * 3 / 2 + 1, capacity = table->capacity;
    if (need <= capacity) return true;
    if (!capacity) capacity = 64;
    while (capacity < need) capacity *= 2;
    if (table_grow(table, (uint32_t)capacity)) return true;
    jobfile_no_memory(file);
    return false;
}

uint32_t table_find(const struct table *table, const char *name)
{
    return table->count ? slot_of(table, name, hash_of(name))->value : 0;
}

uint32_t table_put(struct jobfile *file, struct table *table, const char *name, uint32_t value)
{
    if (!table_reserve(file, table, 1)) return 0;
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
