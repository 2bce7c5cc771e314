// story.h - random events sent to the core through rota.h, and hashes of its answers.
#pragma once

#include <rota.h>

// ---- story.c ------------------------------------------------------------------

// The first choices come from `choices`, one byte each, the others from the seed.
struct story *story_open(uint64_t seed, const uint8_t *choices, size_t choice_count);
void story_close(struct story *story);
void story_continue(struct story *story);   // one event, and sometimes the end of a turn
void story_end_turn(struct story *story);
size_t story_choices_left(const struct story *story);
void story_check(const struct story *story);
void story_print(const struct story *story);  // the digest, the effects, the refusals

// ---- story_hash.c: field by field, without padding ----------------------------------------------

uint64_t hash_add(uint64_t hash, uint64_t value);
uint64_t hash_record(uint64_t hash, const struct rota_record *record);
uint64_t hash_action(uint64_t hash, const struct rota_action *action);
