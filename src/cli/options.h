// options.h - the table of commands: one description for each, from which its arguments are parsed
// and its help page, manual page and shell completion are printed.
#pragma once

#include "rota.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// ---- Options -----------------------------------------------------------------------------------

enum option_kind {  // the type of the field that the parser sets
    OPTION_FLAG,    // bool, becomes true
    OPTION_OFF,     // bool, becomes false
    OPTION_TEXT,    // const char *
    OPTION_PATH,    // const char *, never empty
    OPTION_NUMBER,  // uint32_t, from `least` to `most`
    OPTION_SECONDS, // rota_time
    OPTION_DECIMAL, // double, not negative
    OPTION_CHOICE,  // uint32_t: 0 for the first word of "plan|pull", 1 for the second
    OPTION_OTHER,   // the command's option_fn reads the value
};

// Texts are part of the row, so that the loader has no pointers to adjust at every start.
struct option_row {
    char letter;         // 0: there is no short form
    char name[20];       // without the dashes
    char value[20];      // what its value is called; "": it has none
    char help[190];
    enum option_kind kind;
    uint32_t at;         // the offset of the field, or the number of an OPTION_OTHER
    uint32_t least, most;
    char preset[64];     // the default, as the help page shows it
    char needs[128];     // "a size such as 8G"; "": follows from the kind
    bool value_optional; // a value is given as --job=7 only
    bool prints_errors;  // option_fn prints a message about an invalid value itself
    bool in_query;       // may be part of a query that is sent to a server
    bool is_hidden;      // rota adds it to its own queries: no help page or completion has it
};

// --json of a command whose options are a structure with a `json`.
#define JSON_LINES_ROW(type)                                                                       \
    {0, "json", "", "print JSON, an object on each line", OPTION_FLAG, .at = offsetof(type, json)}
#define OPTION_ROWS_END {.name = ""}
#define NEEDS_ADDRESS "an address such as HOST:PORT or a socket"

// ---- Commands ----------------------------------------------------------------------------------

struct command;
// Gets the words after the name of the command, and returns the exit status.
typedef int command_fn(const struct command *command, int count, char **words);

enum command_group {
    GROUP_RUN, GROUP_INSPECT, GROUP_CLUSTER, GROUP_EXTERNAL, GROUP_CALENDAR, GROUP_DATABASE,
    GROUP_SIMULATION, GROUP_OTHER, GROUPS
};

enum argument_kind {  // what a shell offers as the argument
    ARGUMENT_NONE, ARGUMENT_FILE, ARGUMENT_TASK, ARGUMENT_DATABASE, ARGUMENT_NAME, ARGUMENT_VERB
};

enum query_kind { QUERY_NONE, QUERY_PLAIN, QUERY_TASKS };  // QUERY_TASKS: arguments are tasks

enum { ARGUMENTS_ANY = UINT16_MAX };

struct argument_rule {
    enum argument_kind kind;
    char name[28];         // for messages
    uint16_t least, most;  // how many there are
};

struct command {
    char name[16];
    char summary[80];
    enum command_group group;
    bool is_everyday;           // `rota help` lists it
    enum query_kind query;      // whether a server answers it
    struct argument_rule argument;
    command_fn *run;
    command_fn *remote;         // runs instead when --server is given; null: `run` does
    const struct option_row *options;
    char output_name[20];       // the file on a terminal, for commands with --output
    const char *verbs;          // of ARGUMENT_VERB, with blanks between
    const char *usage;          // lines, each to follow "rota NAME"
    const char *text;           // paragraphs of the help page; may be null
    const char *examples;       // lines: a command, a tab, what it does
    const char *exits;          // lines: a status, a tab, what it means
};

// ---- commands.c: the table ---------------------------------------------------------------------

const struct command *command_at(size_t place);  // null after the last
// The command that the words begin with; `used` is the number of words of its name. Null: none.
const struct command *command_find(int count, char **words, int *used);
const char *command_group_title(enum command_group group);
int command_unknown(const char *name);  // prints an error and returns 2

// ---- options.c: the parser ---------------------------------------------------------------------

struct arguments {
    char **items;
    uint32_t count;
    uint32_t before_dashes;  // the number of arguments before a "--"
};

// Reads the value of an OPTION_OTHER. False: the value is invalid.
typedef bool option_fn(void *values, uint32_t number, const char *value);

// Sets the fields of `values`, and moves the arguments to the front of the words. Returns -1, or
// the exit status after a help page or an error message.
int options_read(const struct command *command, void *values, option_fn *other,
                 struct arguments *arguments, int count, char **words);

// One option or argument after the other, without setting anything.
enum walk_step { WALK_END, WALK_OPTION, WALK_ARGUMENT, WALK_WRONG };
struct option_walk {
    const struct command *command;
    int count;
    char **words;
    bool is_quiet;                 // print no errors
    int at;                        // the rest is for options.c
    const char *letters;           // what is left of a word such as -kn
    bool is_past_dashes;
    const struct option_row *row;  // of WALK_OPTION
    char *value;                   // of WALK_OPTION, or null; the argument of WALK_ARGUMENT
    bool is_letter;                // the short form was used
};
enum walk_step option_next(struct option_walk *walk);
// The first row that users see, or the next one after `row`; null: no more.
const struct option_row *option_shown(const struct command *command, const struct option_row *row);
bool option_is_given(const struct command *command, const char *name, int count, char **words);

// Prints "rota NAME: " and the message, and where the help is. Returns 2.
int command_wrong(const struct command *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

// The verb of a command that a misspelt word was probably meant to be.
enum { VERB_MAX = 24 };
bool verb_meant(const struct command *command, const char *word, char out[VERB_MAX]);
// Advice for an error message if $ROTA_SERVER is set and the command did not use it, else "".
const char *server_hint(void);

bool seconds_read(const char *text, rota_time *time);  // "2.5"

// ---- help.c: pages from the table --------------------------------------------------------------

void help_print(const struct command *command, FILE *out);
void help_overview(FILE *out);

extern const struct option_row option_help;  // -h, --help: every command has it
