// base.h - containers and small tools that know nothing of rota.
#pragma once

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- memory.c: one allocator, and growth that says yes or no ----------------

typedef void *memory_resize_fn(void *context, void *old, size_t old_size, size_t new_size);

struct memory {
    memory_resize_fn *resize;
    void *context;
};

void *memory_resize_heap(void *context, void *old, size_t old_size, size_t new_size);
extern const struct memory memory_heap;  // malloc and free

// `items` is the address of a pointer to the items. These make room for `need` items of `size`
// bytes; new ones are zero. False: there is no memory, and nothing has changed.
bool memory_grow(const struct memory *memory, void *items, uint32_t *capacity, uint64_t need,
                 size_t size);
static inline bool memory_reserve(const struct memory *memory, void *items, uint32_t *capacity,
                                  uint64_t need, size_t size)
{
    return need <= *capacity || memory_grow(memory, items, capacity, need, size);
}
// The same for items that are always written before they are read.
bool memory_grow_raw(const struct memory *memory, void *items, uint32_t *capacity, uint64_t need,
                     size_t size);
static inline bool memory_reserve_raw(const struct memory *memory, void *items, uint32_t *capacity,
                                      uint64_t need, size_t size)
{
    return need <= *capacity || memory_grow_raw(memory, items, capacity, need, size);
}
void memory_release(const struct memory *memory, void *items, uint32_t *capacity, size_t size);

// The same for a pointer and its capacity, which are variables or members: the size is that of the
// items. ARRAY_MORE makes room for one more than there are.
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

// And for items that each fill one cache line: the block starts at one.
struct memory_block {
    void *items, *raw;
    uint32_t capacity;
    size_t raw_size;
};
bool memory_reserve_lines(const struct memory *memory, struct memory_block *block, uint64_t need,
                          size_t size);
void memory_release_lines(const struct memory *memory, struct memory_block *block);

// ---- pool.c: items of one size, with numbers from 1 -------------------------

// The first four bytes of an item belong to the pool while the item is free.
struct pool {
    void *items;
    uint32_t size;   // of an item
    uint32_t count;  // one more than the largest number ever taken
    uint32_t capacity;
    uint32_t free;  // first of the free ones
    uint32_t free_count;
};

bool pool_grow(const struct memory *memory, struct pool *pool, uint32_t more);
static inline bool pool_reserve(const struct memory *memory, struct pool *pool, uint32_t more)
{
    uint64_t count = pool->count ? pool->count : 1;  // number 0 is nobody
    bool there = more <= pool->free_count || count + more - pool->free_count <= pool->capacity;
    return there || pool_grow(memory, pool, more);
}
uint32_t pool_take(struct pool *pool);  // zeroed; room must be reserved
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

// ---- span.c: runs of neighbouring numbers, given out and taken back ---------

struct span {
    uint32_t first, count;
};

struct spans {
    struct span *free;  // sorted, never touching
    uint32_t free_count, free_capacity;
    uint32_t taken;  // spans given out
    uint32_t end;    // one more than the largest number given out
};

// Reserves the book-keeping for one more span and says where it would start.
bool span_find(const struct memory *memory, struct spans *spans, uint32_t count, uint32_t *first);
void span_take(struct spans *spans, uint32_t first, uint32_t count);
void span_give(struct spans *spans, uint32_t first, uint32_t count);
void span_release(const struct memory *memory, struct spans *spans);

// ---- bits.c: a set of numbers, one bit each ----------------------------------

struct bits {
    uint64_t *words, *groups;  // a bit of a group: that word is not empty
    uint32_t word_capacity, group_capacity;
    uint32_t count;
};

bool bits_reserve(const struct memory *memory, struct bits *bits, uint32_t numbers);
static inline void bits_set(struct bits *bits, uint32_t number)  // room must be reserved
{
    assert(number / 64 < bits->word_capacity);
    uint64_t *word = &bits->words[number / 64], bit = 1ull << number % 64;
    bits->count += !(*word & bit);
    *word |= bit;
    bits->groups[number / 4096] |= 1ull << number / 64 % 64;
}
void bits_clear(struct bits *bits, uint32_t number);
// Takes the smallest number out, looking from a group on; the group found is kept for the next.
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

// ---- map.c: from a 64-bit key to a number from 1 ----------------------------

struct map {
    struct map_slot {
        uint64_t key;
        uint32_t value;
    } * slots;
    uint32_t capacity;  // a power of two, or 0
    uint32_t count;
};

bool map_grow(const struct memory *memory, struct map *map, uint64_t need);
static inline uint64_t map_need(const struct map *map, uint32_t more)  // slots
{
    return ((uint64_t)map->count + more) * 3 / 2 + 1;
}
static inline bool map_reserve(const struct memory *memory, struct map *map, uint32_t more)
{
    uint64_t need = map_need(map, more);
    return need <= map->capacity || map_grow(memory, map, need);
}
uint32_t map_look_up(const struct map *map, uint64_t key);  // it must not be empty
static inline uint32_t map_find(const struct map *map, uint64_t key)
{
    return map->count ? map_look_up(map, key) : 0;
}
void map_put(struct map *map, uint64_t key, uint32_t value);  // room must be reserved
// Where the value of the key stands; 0: it is new, and the caller must put one there at once.
uint32_t *map_place(struct map *map, uint64_t key);  // room must be reserved
void map_remove(struct map *map, uint64_t key);
void map_release(const struct memory *memory, struct map *map);

// ---- heap.c: what is due first ----------------------------------------------

// Entries with equal `due` come in order of `tag`.
struct heap_entry {
    int64_t due;
    uint64_t tag;
};

struct heap {
    struct heap_entry *entries;
    uint32_t *places;  // by tag's low 32 bits: position + 1
    uint32_t count, capacity, place_capacity;
};

bool heap_reserve(const struct memory *memory, struct heap *heap, uint32_t places);
void heap_set(struct heap *heap, uint32_t number, int64_t due);  // adds or moves
void heap_remove(struct heap *heap, uint32_t number);            // fine when it is not there
int64_t heap_due(const struct heap *heap, uint32_t number);      // INT64_MAX when it is not there
void heap_release(const struct memory *memory, struct heap *heap);

// The two moves of every binary heap, also of those with other items or another order. The item
// belongs at `place`, a variable, or nearer the root (HEAP_UP), or farther from it (HEAP_DOWN);
// afterwards `place` is where it belongs, and free. goes_first(context, a, b) compares two items,
// put(context, place, item) stores one.
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

// ---- text.c: text into a buffer that never overflows ------------------------

struct text {
    char *data;
    uint32_t length, capacity;
};

void text_add(const struct memory *memory, struct text *text, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void text_release(const struct memory *memory, struct text *text);

// ---- utf8.c: UTF-8 ------------------------------------------------------

// The length of the character at the front of a text that is not empty, and its number; 0: it is
// none.
size_t character_read(const char *text, size_t length, uint32_t *number);

// ---- suggest.c: which word was meant --------------------------------------------

struct word_meant {
    const char *word;  // null: none is near enough
    uint32_t mistakes;
};

// Takes the other word if it is nearer than the one before. Of equals the first stays.
void word_try(struct word_meant *meant, const char *word, const char *other);

// ---- random.c: numbers from a seed, and mixing of bits ----------------------

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

// ---- Ids: comparing and hashing them -----------------------------------------

// Ids of objects, content keys and requests have a high and a low half. The arguments are evaluated
// twice.
#define SAME_ID(a, b) ((a).high == (b).high && (a).low == (b).low)
#define ID_HASH(id) hash_mix((id).high, (id).low)
#define SAME_TASK(a, b) ((a).job == (b).job && (a).task == (b).task)
