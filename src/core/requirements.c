// requirements.c - requirements of tasks. Tasks with the same requirements share one queue.
#include "core/core.h"

static uint64_t hash_of(const struct wants *wants)
{
    uint64_t hash = hash_mix(wants->cores, wants->memory_mib);
    hash = hash_mix(hash, (uint64_t)wants->machine << 32 | wants->retries_max);
    return hash_mix(hash, (uint64_t)wants->policy << 16 | (uint16_t)wants->priority);
}

static profile_row profile_find(const struct rota *rota, const struct wants *wants)
{
    profile_row row = map_find(&rota->profile_by_hash, hash_of(wants));
    while (row && memcmp(&PROFILE(rota, row)->wants, wants, sizeof *wants))
        row = PROFILE(rota, row)->same;
    return row;
}

bool profile_reserve(struct rota *rota, uint32_t more)
{
    return pool_reserve(&rota->memory, &rota->profiles, more)
           && map_reserve(&rota->memory, &rota->profile_by_hash, more);
}

void profile_use(struct rota *rota, profile_row row, uint32_t tasks)
{
    assert(IS_ROW(rota->profiles, row));
    uint32_t before = PROFILE(rota, row)->uses, after = before + tasks;
    PROFILE(rota, row)->uses = after;
    if (before <= READY_FEW && after > READY_FEW) ready_grow(rota, row);
}

profile_row profile_get(struct rota *rota, const struct wants *wants)
{
    profile_row row = profile_find(rota, wants);
    if (row) return row;
    row = pool_take(&rota->profiles);
    PROFILE(rota, row)->wants = *wants;
    PROFILE(rota, row)->same = map_find(&rota->profile_by_hash, hash_of(wants));
    map_put(&rota->profile_by_hash, hash_of(wants), row);
    return row;
}

void profile_give(struct rota *rota, profile_row row)
{
    assert(PROFILE(rota, row)->uses > 0);
    struct profile *profile = PROFILE(rota, row);
    if (--profile->uses > 0) return;
    uint64_t hash = hash_of(&profile->wants);
    profile_row first = map_find(&rota->profile_by_hash, hash);
    if (first != row) {
        while (PROFILE(rota, first)->same != row) first = PROFILE(rota, first)->same;
        PROFILE(rota, first)->same = profile->same;
    } else if (profile->same) {
        map_put(&rota->profile_by_hash, hash, profile->same);
    } else {
        map_remove(&rota->profile_by_hash, hash);
    }
    if (profile->table) pool_give(&rota->tables, profile->table);
    pool_give(&rota->profiles, row);
}

static profile_row *list_of(struct rota *rota, const struct profile *profile)
{
    return profile->wants.policy == ROTA_POLICY_CLAIM ? &rota->ready_claim : &rota->ready_plan;
}

void profile_list(struct rota *rota, profile_row row)
{
    assert(IS_ROW(rota->profiles, row));
    struct profile *profile = PROFILE(rota, row);
    profile_row *first = list_of(rota, profile);
    profile->previous = 0;
    profile->next = *first;
    if (*first) PROFILE(rota, *first)->previous = row;
    *first = row;
}

void profile_unlist(struct rota *rota, profile_row row)
{
    assert(IS_ROW(rota->profiles, row));
    struct profile *profile = PROFILE(rota, row);
    if (profile->next) PROFILE(rota, profile->next)->previous = profile->previous;
    if (profile->previous)
        PROFILE(rota, profile->previous)->next = profile->next;
    else
        *list_of(rota, profile) = profile->next;
    profile->next = profile->previous = 0;
}
