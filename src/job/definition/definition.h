// definition.h - the text of `rota define FILE`: what to insert, to update and to delete.
//
//     insert_task: nightly          # one action begins here
//         command: make report      # any text up to the end of the line
//         condition: su(load) & nr(backup)
//         start_times: 23:59
//     update_task: load
//         retries: 2
//         machine:                  # without a value: as if it had never been given
//     delete_task: old
//
// The text is UTF-8, at most 64 MiB, with newlines of either kind. `#` at the beginning of a line
// or after a blank starts a comment, but not in a command: the shell has comments of its own.
//
// This checks a file by itself. The store and the core check whether other tasks exist, the result
// of an update, and cycles of conditions.
#pragma once

#include "job/calendar/calendar.h"

// ---- What a file says ---------------------------------------------------------

enum definition_action { DEFINITION_INSERT, DEFINITION_UPDATE, DEFINITION_DELETE };
enum definition_type { DEFINITION_CALLABLE, DEFINITION_BUNDLE };

enum definition_priority {
    DEFINITION_LOW,
    DEFINITION_NORMAL,
    DEFINITION_IMPORTANT,
    DEFINITION_CRITICAL
};

enum definition_key {
    DEFINITION_TYPE,
    DEFINITION_COMMAND,
    DEFINITION_CONDITION,
    DEFINITION_PARENT,
    DEFINITION_MACHINE,
    DEFINITION_PRIORITY,
    DEFINITION_LANE,
    DEFINITION_GROUP,
    DEFINITION_ACCESS,
    DEFINITION_CORES,
    DEFINITION_MEMORY,
    DEFINITION_RETRIES,
    DEFINITION_TIMEOUT,
    DEFINITION_RUN_DAYS,
    DEFINITION_START_TIMES,
    DEFINITION_RUN_WINDOW,
    DEFINITION_START_MINS,
    DEFINITION_CRON,
    DEFINITION_ZONE,
    DEFINITION_OVERLAP,
    DEFINITION_CATCH_UP,
    DEFINITION_KEYS
};

enum {
    DEFINITION_FILE_MAX = 64 << 20,
    DEFINITION_NAME_MAX = 255,
    DEFINITION_ACTIONS_MAX = 1 << 20,
    DEFINITION_ERRORS_MAX = 20,  // reading stops there
    DEFINITION_RETRIES_MAX = 1000,
};

// A key that is not given has its default: null, or what definition_begin() says. In an update
// only what is given changes; an empty text takes a value away.
struct definition {
    enum definition_action action;
    uint32_t line;   // of the file
    uint32_t given;  // a bit for each key
    const char *name;
    const char *command, *condition, *machine, *lane, *group;
    const char *parent;  // its bundle
    struct calendar_fields schedule;
    uint32_t type;      // enum definition_type
    uint32_t priority;  // enum definition_priority
    uint32_t access;    // enum rota_access
    uint32_t cores, memory_mib, retries;
    uint32_t overlap, catch_up;  // enums of calendar.h
    rota_time timeout;           // 0: none
};

struct definition_error {
    uint32_t line, column;  // from 1; a column is a character
    char reason[240];
};

struct definitions {
    struct definition *items;  // in the order of the file
    uint32_t count, capacity;
    char *text;  // the texts of the items are in here
    struct definition_error errors[DEFINITION_ERRORS_MAX];
    uint32_t error_count;
};

// Defaults, and nothing given.
struct definition definition_begin(enum definition_action action, const char *name);

static inline bool definition_has(const struct definition *definition, enum definition_key key)
{
    return definition->given >> key & 1;
}

// ---- read.c, check.c: from text ---------------------------

// False: errors say why, and the items are worthless. Release it in either case.
bool definitions_parse(struct definitions *definitions, const char *bytes, size_t size);
void definitions_release(struct definitions *definitions);

// "FILE:12:7: reason". Returns what snprintf does.
int definition_error_text(const struct definition_error *error, const char *file, char *out,
                          size_t size);

// ---- write.c: to text ------------------------------------------------

// Writes what parses as the same definition: its action, and the keys that are given. Returns the
// length as snprintf does; -1: a text in it cannot stand on a line, such as a command of two lines.
int definition_write(const struct definition *definition, char *out, size_t size);

// ---- merge.c: updates ------------------------------------------------

// Changes the fields that an update gives, and removes those it gives as empty. The texts stay
// where they are. The result may be invalid: write it and parse it.
void definition_merge(struct definition *into, const struct definition *update);
