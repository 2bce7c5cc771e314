// base.h - containers and small tools that know nothing of rota.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- memory.c: the allocator interface, and arrays whose growth can fail ----

typedef void *memory_resize_fn(void *context, void *old, size_t old_size, size_t new_size);

struct memory {
    memory_resize_fn *resize;
    void *context;
};

void *memory_resize_heap(void *context, void *old, size_t old_size, size_t new_size);
extern const struct memory memory_heap;  // malloc and free

// Make room for `need` items of `size` bytes; new items are zero. `items` is the address of the
// pointer to the items. False: out of memory, and nothing has changed.
bool memory_grow(const struct memory *memory, void *items, uint32_t *capacity, uint64_t need,
                 size_t size);
static inline bool memory_reserve(const struct memory *memory, void *items, uint32_t *capacity,
                                  uint64_t need, size_t size)
{
    return need <= *capacity || memory_grow(memory, items, capacity, need, size);
}
// The same without zeroing, for items that are always written before they are read.
bool memory_grow_raw(const struct memory *memory, void *items, uint32_t *capacity, uint64_t need,
                     size_t size);
static inline bool memory_reserve_raw(const struct memory *memory, void *items, uint32_t *capacity,
                                      uint64_t need, size_t size)
{
    return need <= *capacity || memory_grow_raw(memory, items, capacity, need, size);
}
void memory_release(const struct memory *memory, void *items, uint32_t *capacity, size_t size);

// The same for a pointer and a capacity that are variables or members; the item size comes from the
// pointer's type. ARRAY_MORE makes room for one more item.
#define ARRAY_RESERVE(memory, items, capacity, need)                                               \
    memory_reserve(memory, &(items), &(capacity), need, sizeof *(items))
#define ARRAY_RESERVE_RAW(memory, items, capacity, need)                                           \
    memory_reserve_raw(memory, &(items), &(capacity), need, sizeof *(items))
#define ARRAY_MORE(memory, items, count, capacity)                                                 \
    ARRAY_RESERVE(memory, items, capacity, (uint64_t)(count) + 1)
#define ARRAY_MORE_RAW(memory, items, count, capacity)                                             \
    ARRAY_RESERVE_RAW(memory, items, capacity, (uint64_t)(count) + 1)
#define ARRAY_RELEASE(memory, items, capacity)                                                     \
    memory_release(memory, &(items), &(capacity), sizeof *(items))

// The same for items of one cache line each: the block is aligned to a cache line.
struct memory_block {
    void *items, *raw;
    uint32_t capacity;
    size_t raw_size;
};
bool memory_reserve_lines(const struct memory *memory, struct memory_block *block, uint64_t need,
                          size_t size);
void memory_release_lines(const struct memory *memory, struct memory_block *block);

// ---- pool.c: items of one size, numbered from 1 -----------------------------

// The first four bytes of an item belong to the pool while the item is free.
struct pool {
    void *items;
    uint32_t size;   // size of an item
    uint32_t count;  // one more than the largest number ever taken
    uint32_t capacity;
    uint32_t free;  // first free item
    uint32_t free_count;
};

bool pool_grow(const struct memory *memory, struct pool *pool, uint32_t more);
static inline bool pool_reserve(const struct memory *memory, struct pool *pool, uint32_t more)
{
    uint64_t count = pool->count ? pool->count : 1;  // 0 means none
    bool there = more <= pool->free_count || count + more - pool->free_count <= pool->capacity;
    return there || pool_grow(memory, pool, more);
}
uint32_t pool_take(struct pool *pool);  // zeroed; the room must have been reserved
void pool_give(struct pool *pool, uint32_t number);
void pool_release(const struct memory *memory, struct pool *pool);
static inline uint32_t pool_used(const struct pool *pool)
{
    return pool->count ? pool->count - 1 - pool->free_count : 0;
}
static inline bool pool_is_empty(const struct pool *pool)
{
    return pool->count <= pool->free_count + 1;
}

// ---- span.c: allocates and frees ranges of consecutive numbers --------------

struct span {
    uint32_t first, count;
};

struct spans {
    struct span *free;  // sorted; adjacent ranges are merged
    uint32_t free_count, free_capacity;
    uint32_t taken;  // number of spans in use
    uint32_t end;    // one more than the largest number in use
};

// Finds the first number of a free range, and reserves the memory to free that range later.
bool span_find(const struct memory *memory, struct spans *spans, uint32_t count, uint32_t *first);
void span_take(struct spans *spans, uint32_t first, uint32_t count);
void span_give(struct spans *spans, uint32_t first, uint32_t count);
void span_release(const struct memory *memory, struct spans *spans);

// ---- bits.c: a set of numbers, one bit per number ----------------------------

struct bits {
    uint64_t *words, *groups;  // a bit in groups is set if the word it stands for is not zero
    uint32_t word_capacity, group_capacity;
    uint32_t count;
};

bool bits_reserve(const struct memory *memory, struct bits *bits, uint32_t numbers);
static inline void bits_set(struct bits *bits, uint32_t number)  // the room must have been reserved
{
    assert(number / 64 < bits->word_capacity);
    uint64_t *word = &bits->words[number / 64], bit = 1ull << number % 64;
    bits->count += !(*word & bit);
    *word |= bit;
    bits->groups[number / 4096] |= 1ull << number / 64 % 64;
}
void bits_clear(struct bits *bits, uint32_t number);
// Removes the smallest number, searching from `*group`, and stores the group where it was found.
static inline bool bits_take(struct bits *bits, uint32_t *group, uint32_t *number)
{
    if (!bits->count) return false;
    while (*group < bits->group_capacity && !bits->groups[*group]) ++*group;
    if (*group == bits->group_capacity) return false;
    uint32_t at = *group * 64 + (uint32_t)__builtin_ctzll(bits->groups[*group]);
    uint64_t word = bits->words[at];
    *number = at * 64 + (uint32_t)__builtin_ctzll(word);
    bits->words[at] = word & (word - 1);
    if (!bits->words[at]) bits->groups[*group] &= bits->groups[*group] - 1;
    bits->count--;
    return true;
}
void bits_release(const struct memory *memory, struct bits *bits);
static inline bool bits_has(const struct bits *bits, uint32_t number)
{
    return bits->words[number / 64] >> number % 64 & 1;
}

// ---- map.c: a hash table from a 64-bit key to a number from 1 ---------------

struct map {
    struct map_slot {
        uint64_t key;
        uint32_t value;
    } * slots;
    uint32_t capacity;  // a power of two, or 0
    uint32_t count;
};

bool map_grow(const struct memory *memory, struct map *map, uint64_t need);
static inline uint64_t map_need(const struct map *map, uint32_t more)  // slots needed
{
    return ((uint64_t)map->count + more) * 3 / 2 + 1;
}
static inline bool map_reserve(const struct memory *memory, struct map *map, uint32_t more)
{
    uint64_t need = map_need(map, more);
    return need <= map->capacity || map_grow(memory, map, need);
}
uint32_t map_look_up(const struct map *map, uint64_t key);  // the map must not be empty
static inline uint32_t map_find(const struct map *map, uint64_t key)
{
    return map->count ? map_look_up(map, key) : 0;
}
void map_put(struct map *map, uint64_t key, uint32_t value);  // the room must have been reserved
// The address of the key's value. If the value is 0 the key is new: the caller must set it at once.
uint32_t *map_place(struct map *map, uint64_t key);  // the room must have been reserved
void map_remove(struct map *map, uint64_t key);
void map_release(const struct memory *memory, struct map *map);

// ---- heap.c: a priority queue ordered by due time ---------------------------

// Entries with equal `due` are ordered by `tag`.
struct heap_entry {
    int64_t due;
    uint64_t tag;
};

struct heap {
    struct heap_entry *entries;
    uint32_t *places;  // by the low 32 bits of a tag: position + 1
    uint32_t count, capacity, place_capacity;
};

bool heap_reserve(const struct memory *memory, struct heap *heap, uint32_t places);
void heap_set(struct heap *heap, uint32_t number, int64_t due);  // adds or moves
void heap_remove(struct heap *heap, uint32_t number);            // does nothing if it is absent
int64_t heap_due(const struct heap *heap, uint32_t number);      // INT64_MAX if it is absent
void heap_release(const struct memory *memory, struct heap *heap);

// The two moves of a binary heap, for any type and order of items. HEAP_UP moves `item` from
// `place`, a variable, towards the root; HEAP_DOWN moves it away from the root. Afterwards `place`
// is where the item belongs, and the caller stores it there. goes_first(context, a, b) compares two
// items; put(context, place, item) stores one.
#define HEAP_UP(context, items, place, item, goes_first, put)                                      \
    while ((place) > 0 && goes_first(context, item, (items)[((place)-1) / 2])) {                   \
        put(context, place, (items)[((place)-1) / 2]);                                             \
        (place) = ((place)-1) / 2;                                                                 \
    }
#define HEAP_DOWN(context, items, count, place, item, goes_first, put)                             \
    for (uint32_t child; (child = (place)*2 + 1) < (count); (place) = child) {                     \
        if (child + 1 < (count) && goes_first(context, (items)[child + 1], (items)[child]))        \
            child++;                                                                               \
        if (!goes_first(context, (items)[child], item)) break;                                     \
        put(context, place, (items)[child]);                                                       \
    }

// ---- text.c: a growing text buffer ------------------------------------------

struct text {
    char *data;
    uint32_t length, capacity;
};

void text_add(const struct memory *memory, struct text *text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void text_release(const struct memory *memory, struct text *text);

// ---- id.c: numbers of jobs and tasks ----------------------------------------

// Reads "7", job 7, or "7.3", its task 3, at the start of the text; `task` is 0 for a job. Returns
// the length in bytes; 0: the text begins with neither. Numbers are from 1 to 4294967295.
size_t task_id_read(const char *text, uint32_t *job, uint32_t *task);

// ---- utf8.c: UTF-8 decoding -------------------------------------------------

// Decodes the first character of a text that is not empty. Returns its length in bytes and sets its
// code point; 0: it is not valid UTF-8.
size_t character_read(const char *text, size_t length, uint32_t *number);

// ---- suggest.c: finds the word that a misspelt one was probably meant to be -----

struct word_meant {
    const char *word;  // null: no word is close enough
    uint32_t mistakes;
};

// Takes `other` if it is closer to `word` than the candidate so far; the first of equals wins.
void word_try(struct word_meant *meant, const char *word, const char *other);

// ---- random.c: pseudo-random numbers from a seed, and bit mixing ------------

uint64_t random_next(uint64_t *state);
uint32_t random_below(uint64_t *state, uint32_t bound);
static inline uint64_t hash_mix(uint64_t hash, uint64_t value)
{
    hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash ^= hash >> 32;
    hash *= 0xd6e8feb86659fd93u;
    hash ^= hash >> 29;
    return hash;
}

// ---- comparing and hashing ids -----------------------------------------------

// Ids of objects, content keys and requests have a high and a low half. The macros evaluate their
// arguments twice.
#define SAME_ID(a, b) ((a).high == (b).high && (a).low == (b).low)
#define ID_HASH(id) hash_mix((id).high, (id).low)
#define SAME_TASK(a, b) ((a).job == (b).job && (a).task == (b).task)
