// definition.h - the text format of `rota define FILE`: tasks to insert, update and delete.
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
// The text is UTF-8, at most 64 MiB, with LF or CRLF. `#` at the start of a line or after a blank
// starts a comment, but not in a command, because the shell has its own comments.
//
// The functions here check a file by itself. The store and the core check whether other tasks
// exist, the result of an update, and cycles of conditions.
#pragma once

#include "job/calendar/calendar.h"

// ---- The content of a file ----------------------------------------------------

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
    DEFINITION_ERRORS_MAX = 20,  // parsing stops there
    DEFINITION_RETRIES_MAX = 1000,
};

// A key that is not given has its default: null, or the value set by definition_begin(). An update
// changes only the keys that are given; an empty text removes a value.
struct definition {
    enum definition_action action;
    uint32_t line;   // line in the file
    uint32_t given;  // one bit per key
    const char *name;
    const char *command, *condition, *machine, *lane, *group;
    const char *parent;  // its bundle
    struct calendar_fields schedule;
    uint32_t type;      // enum definition_type
    uint32_t priority;  // enum definition_priority
    uint32_t access;    // enum rota_access
    uint32_t cores, memory_mib, retries;
    uint32_t overlap, catch_up;  // see the enums of calendar.h
    rota_time timeout;           // 0: none
};

struct definition_error {
    uint32_t line, column;  // from 1; columns count characters
    char reason[240];
};

struct definitions {
    struct definition *items;  // in the order of the file
    uint32_t count, capacity;
    char *text;  // owns the texts of the items
    struct definition_error errors[DEFINITION_ERRORS_MAX];
    uint32_t error_count;
};

// The defaults, with no key given.
struct definition definition_begin(enum definition_action action, const char *name);

static inline bool definition_has(const struct definition *definition, enum definition_key key)
{
    return definition->given >> key & 1;
}

// ---- read.c, check.c: parsing -----------------------------------------------

// False: `errors` says why, and the items must not be used. Release it in either case.
bool definitions_parse(struct definitions *definitions, const char *bytes, size_t size);
void definitions_release(struct definitions *definitions);

// Formats "FILE:12:7: reason". Returns the length like snprintf.
int definition_error_text(const struct definition_error *error, const char *file, char *out,
                          size_t size);

// ---- write.c: formatting ----------------------------------------------------

// Writes the action and the given keys as text that parses to the same definition. Returns the
// length like snprintf; -1: a value does not fit on one line, such as a command of two lines.
int definition_write(const struct definition *definition, char *out, size_t size);

// ---- keys.c: applying updates -----------------------------------------------

// Sets the fields that the update gives, and removes those it gives as empty. The texts are not
// copied. The result may be invalid: write it and parse it.
void definition_merge(struct definition *into, const struct definition *update);
