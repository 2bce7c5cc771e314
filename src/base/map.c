// map.c - an open-addressing hash table from a 64-bit key to a number, without tombstones.
#include "base/base.h"

#include <assert.h>

enum { NEIGHBOURS = 8 };

// Keys are often consecutive numbers. Eight neighbours share a run of slots, so that looking them
// up in order does not cause a cache miss for each.
static uint32_t home(const struct map *map, uint64_t key)
{
    uint32_t stretch = (uint32_t)(hash_mix(0x9e3779b97f4a7c15u, key / NEIGHBOURS) >> 20);
    return (stretch * NEIGHBOURS + (uint32_t)(key % NEIGHBOURS)) & (map->capacity - 1);
}

// The slot that holds the key, or the free slot where it would be inserted.
static uint32_t slot_of(const struct map *map, uint64_t key)
{
    uint32_t i = home(map, key);
    while (map->slots[i].value && map->slots[i].key != key) i = (i + 1) & (map->capacity - 1);
    return i;
}

bool map_grow(const struct memory *memory, struct map *map, uint64_t need)
{
    uint64_t wanted = map->capacity ? map->capacity : 16;
    while (wanted < need) wanted *= 2;
    if (wanted > UINT32_MAX) return false;
    struct map fresh = {0};
    if (!ARRAY_RESERVE(memory, fresh.slots, fresh.capacity, wanted)) return false;
    fresh.capacity = (uint32_t)wanted;
    for (uint32_t i = 0; i < map->capacity; i++)
        if (map->slots[i].value) map_put(&fresh, map->slots[i].key, map->slots[i].value);
    map_release(memory, map);
    *map = fresh;
    return true;
}

uint32_t map_look_up(const struct map *map, uint64_t key)
{
    return map->slots[slot_of(map, key)].value;
}

uint32_t *map_place(struct map *map, uint64_t key)
{
    assert(map->count < map->capacity);
    struct map_slot *slot = &map->slots[slot_of(map, key)];
    if (!slot->value) map->count++;
    slot->key = key;
    return &slot->value;
}

void map_put(struct map *map, uint64_t key, uint32_t value)
{
    assert(value != 0);
    *map_place(map, key) = value;
}

void map_remove(struct map *map, uint64_t key)
{
    if (!map->count) return;
    uint32_t mask = map->capacity - 1, hole = slot_of(map, key);
    if (!map->slots[hole].value) return;
    map->count--;
    // Close the hole: move later entries of the run back unless they would precede their home slot.
    for (uint32_t i = (hole + 1) & mask; map->slots[i].value; i = (i + 1) & mask) {
        uint32_t wanted = home(map, map->slots[i].key);
        if (((i - wanted) & mask) < ((i - hole) & mask)) continue;
        map->slots[hole] = map->slots[i];
        hole = i;
    }
    map->slots[hole] = (struct map_slot){0};
}

void map_release(const struct memory *memory, struct map *map)
{
    ARRAY_RELEASE(memory, map->slots, map->capacity);
    *map = (struct map){0};
}
