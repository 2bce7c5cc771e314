// keys.c - the keys and actions of a definition file, suggestions for misspelt ones, and updates.
#include "base/base.h"
#include "job/definition/internal.h"

#include <string.h>

static const struct choice types[]
    = {{"callable", DEFINITION_CALLABLE}, {"bundle", DEFINITION_BUNDLE}, {NULL, 0}};
static const struct choice priorities[] = {
    {"low", DEFINITION_LOW},
    {"normal", DEFINITION_NORMAL},
    {"important", DEFINITION_IMPORTANT},
    {"critical", DEFINITION_CRITICAL},
    {"0", DEFINITION_LOW},
    {"1", DEFINITION_NORMAL},
    {"2", DEFINITION_IMPORTANT},
    {"3", DEFINITION_CRITICAL},
    {NULL, 0},
};
static const struct choice accesses[]
    = {{"read", ROTA_ACCESS_READ}, {"write", ROTA_ACCESS_WRITE}, {NULL, 0}};
static const struct choice overlaps[]
    = {{"skip", CALENDAR_OVERLAP_SKIP}, {"queue", CALENDAR_OVERLAP_QUEUE}, {NULL, 0}};
static const struct choice catch_ups[]
    = {{"skip", CALENDAR_CATCH_UP_SKIP}, {"once", CALENDAR_CATCH_UP_ONCE}, {NULL, 0}};

#define PLACE(field) .place = offsetof(struct definition, field)
#define CHOICE(list) .kind = KEY_CHOICE, .choices = list
#define SCHEDULE(field)                                                                            \
    {                                                                                              \
#field, KEY_TEXT, PLACE(schedule.field), .of_bundle = true                                 \
    }

const struct key definition_keys[DEFINITION_KEYS] = {
    [DEFINITION_TYPE] = {"type", CHOICE(types), PLACE(type), .of_bundle = true,
                         .refusal = "is not a type (callable or bundle)"},
    [DEFINITION_COMMAND] = {"command", KEY_LINE, PLACE(command)},
    [DEFINITION_CONDITION] = {"condition", KEY_TEXT, PLACE(condition)},
    [DEFINITION_PARENT] = {"parent", KEY_NAME, PLACE(parent)},
    [DEFINITION_MACHINE] = {"machine", KEY_NAME, PLACE(machine)},
    [DEFINITION_PRIORITY] = {"priority", CHOICE(priorities), PLACE(priority),
                             .refusal = "is not a priority: 0 to 3, or low, normal, important, "
                                        "critical"},
    [DEFINITION_LANE] = {"lane", KEY_NAME, PLACE(lane)},
    [DEFINITION_GROUP] = {"group", KEY_NAME, PLACE(group)},
    [DEFINITION_ACCESS]
    = {"access", CHOICE(accesses), PLACE(access), .refusal = "is not an access (read or write)"},
    [DEFINITION_CORES] = {"cores", KEY_NUMBER, PLACE(cores), .max = UINT32_MAX,
                          .refusal = "is not a number from 0 to 4294967295"},
    [DEFINITION_MEMORY]
    = {"memory", KEY_SIZE, PLACE(memory_mib), .refusal = "is not a size like 512M or 4G"},
    [DEFINITION_RETRIES] = {"retries", KEY_NUMBER, PLACE(retries), .max = DEFINITION_RETRIES_MAX,
                            .refusal = "is not a number from 0 to 1000"},
    [DEFINITION_TIMEOUT]
    = {"timeout", KEY_TIME, PLACE(timeout), .refusal = "is not a time like 90s, 30m or 1h"},
    [DEFINITION_RUN_DAYS] = SCHEDULE(run_days),
    [DEFINITION_START_TIMES] = SCHEDULE(start_times),
    [DEFINITION_RUN_WINDOW] = SCHEDULE(run_window),
    [DEFINITION_START_MINS] = SCHEDULE(start_mins),
    [DEFINITION_CRON] = SCHEDULE(cron),
    [DEFINITION_ZONE] = SCHEDULE(zone),
    [DEFINITION_OVERLAP] = {"overlap", CHOICE(overlaps), PLACE(overlap), .of_bundle = true,
                            .refusal = "is not skip or queue"},
    [DEFINITION_CATCH_UP] = {"catch_up", CHOICE(catch_ups), PLACE(catch_up), .of_bundle = true,
                             .refusal = "is not skip or once"},
};

const char *const definition_actions[] = {
    [DEFINITION_INSERT] = "insert_task",
    [DEFINITION_UPDATE] = "update_task",
    [DEFINITION_DELETE] = "delete_task",
};
enum { ACTIONS = sizeof definition_actions / sizeof *definition_actions };

// ---- Finding ---------------------------------------------------------------

enum definition_key key_find(const char *word)
{
    int key = 0;
    while (key < DEFINITION_KEYS && strcmp(definition_keys[key].word, word) != 0) key++;
    return (enum definition_key)key;
}

int action_find(const char *word)
{
    for (int action = 0; action < ACTIONS; action++)
        if (strcmp(definition_actions[action], word) == 0) return action;
    return -1;
}

const char *word_suggest(const char *word)
{
    struct word_meant meant = {0};
    for (int i = 0; i < DEFINITION_KEYS; i++) word_try(&meant, word, definition_keys[i].word);
    for (int i = 0; i < ACTIONS; i++) word_try(&meant, word, definition_actions[i]);
    return meant.word;
}

// ---- Access to the fields of a definition -----------------------------------

const char **key_text(struct definition *definition, enum definition_key key)
{
    return (const char **)((char *)definition + definition_keys[key].place);
}

uint32_t *key_number(struct definition *definition, enum definition_key key)
{
    return (uint32_t *)((char *)definition + definition_keys[key].place);
}

struct definition definition_begin(enum definition_action action, const char *name)
{
    return (struct definition){
        .action = action, .name = name, .priority = DEFINITION_NORMAL, .cores = 1};
}

// ---- Updates ----------------------------------------------------------------------------------

void definition_merge(struct definition *into, const struct definition *update)
{
    struct definition from = *update;
    for (int at = 0; at < DEFINITION_KEYS; at++) {
        enum definition_key key = (enum definition_key)at;
        bool text = definition_keys[key].kind <= KEY_NAME;
        if (!definition_has(update, key)) continue;
        into->given |= 1u << key;
        if (!text && definition_keys[key].kind == KEY_TIME)
            into->timeout = from.timeout;
        else if (!text)
            *key_number(into, key) = *key_number(&from, key);
        else if (**key_text(&from, key))
            *key_text(into, key) = *key_text(&from, key);
        else {
            *key_text(into, key) = NULL;
            into->given &= ~(1u << key);
        }
    }
    // Access has no default: giving it as empty removes it.
    if (!into->access) into->given &= ~(1u << DEFINITION_ACCESS);
}
