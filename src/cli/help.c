// help.c - `rota help`: help pages and manual pages, printed from the table of commands.
#include "cli/options.h"
#include "cli/cli.h"

#include <string.h>

enum { WIDTH = 80, INDENT = 4, COLUMN_MAX = 28, LINE_MAX_BYTES = 200 };

// ---- Text --------------------------------------------------------------------------------------

// Words up to `length`, broken into lines; the first one begins at `column`, the others at `left`.
static void wrapped_print(FILE *out, const char *text, size_t length, int column, int left)
{
    for (const char *at = text, *end = text + length; at < end;) {
        const char *blank = memchr(at, ' ', (size_t)(end - at));
        int size = (int)((blank ? blank : end) - at);
        if (at > text && column + 1 + size > WIDTH) {
            fprintf(out, "\n%*s", left, "");
            column = left;
        } else if (at > text) {
            putc(' ', out);
            column++;
        }
        fprintf(out, "%.*s", size, at);
        column += size;
        at += size + 1;
    }
    putc('\n', out);
}

// Calls back for each line: its first column, which ends at a tab, and the rest.
struct line {
    const char *first, *rest;
    int first_length, rest_length;  // the rest: -1 if there is no tab
};

static bool line_next(const char **text, struct line *line)
{
    if (!*text || !**text) return false;
    const char *at = *text, *end = at + strcspn(at, "\n");
    const char *tab = memchr(at, '\t', (size_t)(end - at));
    *line = (struct line){.first = at, .first_length = (int)((tab ? tab : end) - at)};
    line->rest = tab ? tab + 1 : end;
    line->rest_length = tab ? (int)(end - line->rest) : -1;
    *text = end + (*end == '\n');
    return true;
}

// The rest goes to a line of its own if the first column is wider than `width`.
static void line_print(FILE *out, const struct line *line, int width)
{
    int left = INDENT + width + 2;
    bool has_rest = line->rest_length > 0;
    fprintf(out, "%*s%-*.*s", INDENT, "", has_rest ? width : 0, line->first_length, line->first);
    if (has_rest && line->first_length > width)
        fprintf(out, "\n%*s", left, "");
    else if (has_rest)
        fputs("  ", out);
    wrapped_print(out, line->rest, has_rest ? (size_t)line->rest_length : 0, left, left);
}

// Lines in two columns, below a heading.
static void columns_print(FILE *out, const char *heading, const char *text)
{
    struct line line;
    int width = 0;
    if (!text) return;
    for (const char *at = text; line_next(&at, &line);) {
        bool fits = line.first_length <= COLUMN_MAX;
        if (fits && line.first_length > width && line.rest_length > 0) width = line.first_length;
    }
    fprintf(out, "\n%s:\n", heading);
    while (line_next(&text, &line)) line_print(out, &line, width);
}

static void option_head(const struct option_row *row, char out[LINE_MAX_BYTES])
{
    char letter[8] = "";
    if (row->letter) snprintf(letter, sizeof letter, "-%c, ", row->letter);
    const char *before = row->value_optional ? "[=" : *row->value ? " " : "";
    snprintf(out, LINE_MAX_BYTES, "%s--%s%s%s%s", letter, row->name, before, row->value,
             row->value_optional ? "]" : "");
}

static void option_text(const struct option_row *row, char out[2 * LINE_MAX_BYTES])
{
    snprintf(out, 2 * LINE_MAX_BYTES, *row->preset ? "%s (default: %s)" : "%s", row->help,
             row->preset);
}

// ---- The help page of a command ----------------------------------------------------------------

static void option_print(FILE *out, const struct option_row *row, int width)
{
    char head[LINE_MAX_BYTES], text[2 * LINE_MAX_BYTES];
    option_head(row, head);
    option_text(row, text);
    line_print(out, &(struct line){head, text, (int)strlen(head), (int)strlen(text)}, width);
}

static void options_print(FILE *out, const struct command *command)
{
    char head[LINE_MAX_BYTES];
    int width = 10;
    for (const struct option_row *row = NULL; (row = option_shown(command, row));) {
        option_head(row, head);
        int length = (int)strlen(head);
        if (length > width && length <= COLUMN_MAX) width = length;
    }
    fputs("\nOptions:\n", out);
    for (const struct option_row *row = NULL; (row = option_shown(command, row));)
        option_print(out, row, width);
    option_print(out, &option_help, width);
}

void help_print(const struct command *command, FILE *out)
{
    struct line line;
    fprintf(out, "rota %s - %s\n", command->name, command->summary);
    for (const char *at = command->text; line_next(&at, &line);) {
        putc('\n', out);
        wrapped_print(out, line.first, (size_t)line.first_length, 0, 0);
    }
    fputs("\nUsage:\n", out);
    for (const char *at = command->usage; line_next(&at, &line);)
        fprintf(out, "%*srota %s %.*s\n", INDENT, "", command->name, line.first_length, line.first);
    options_print(out, command);
    columns_print(out, "Examples", command->examples);
    columns_print(out, "Exit status", command->exits);
}

// ---- All commands ------------------------------------------------------------------------------

static const char overview[]
    = "rota - run graphs of commands on one machine or many, and resume where they stopped";

static void summary_print(FILE *out, const struct command *command)
{
    fprintf(out, "%*s%-14s %s\n", INDENT, "", command->name, command->summary);
}

void help_overview(FILE *out)
{
    const struct command *command;
    fprintf(out, "%s\n\nUsage:\n    rota COMMAND [OPTION...] [ARGUMENT...]\n\n"
                 "Everyday commands:\n", overview);
    for (size_t i = 0; (command = command_at(i)); i++)
        if (command->is_everyday) summary_print(out, command);
    fputs("\nExamples:\n"
          "    rota run build.yaml         run the tasks of a job file, or resume them\n"
          "    rota ps                     list what runs, waits or failed\n"
          "    rota logs -f compile        show the output of a task as it is printed\n"
          "    rota why link               explain what a task waits for\n"
          "    rota report -o report.html  write a web page about the run\n\n"
          "'rota help all' lists all commands, 'rota help COMMAND' describes one.\n", out);
}

static void help_all(FILE *out)
{
    const struct command *command;
    fprintf(out, "%s\n", overview);
    for (int group = 0; group < GROUPS; group++) {
        fprintf(out, "\n%s:\n", command_group_title((enum command_group)group));
        for (size_t i = 0; (command = command_at(i)); i++)
            if ((int)command->group == group) summary_print(out, command);
    }
    fputs("\n'rota help COMMAND' describes a command.\n", out);
}

// ---- Manual pages, for man(1) ------------------------------------------------------------------

static void roff_print(FILE *out, const char *text, int length)
{
    if (length && (text[0] == '.' || text[0] == '\'')) fputs("\\&", out);
    for (int i = 0; i < length; i++) {
        if (text[i] == '\\')
            fputs("\\e", out);
        else if (text[i] == '-')
            fputs("\\-", out);
        else
            putc(text[i], out);
    }
}

static void roff_line(FILE *out, const char *text)
{
    roff_print(out, text, (int)strlen(text));
    putc('\n', out);
}

static void manual_begin(FILE *out, const char *name, const char *summary)
{
    fputs(".TH ROTA", out);
    if (*name) putc('-', out);
    for (const char *at = name; *at; at++)
        putc(*at == ' ' ? '-' : *at >= 'a' && *at <= 'z' ? *at - 'a' + 'A' : *at, out);
    fprintf(out, " 1 \"\" \"rota %s\" \"rota manual\"\n.SH NAME\nrota%s", ROTA_VERSION,
            *name ? "\\-" : "");
    for (const char *at = name; *at; at++) fputs(*at == ' ' ? "\\-" : (char[]){*at, 0}, out);
    fputs(" \\- ", out);
    roff_line(out, summary);
}

// Lines in two columns: the first one is a tag, in bold.
static void manual_columns(FILE *out, const char *heading, const char *text)
{
    struct line line;
    if (!text) return;
    fprintf(out, ".SH %s\n", heading);
    while (line_next(&text, &line)) {
        fputs(".TP\n\\fB", out);
        roff_print(out, line.first, line.first_length);
        fputs("\\fR\n", out);
        if (line.rest_length > 0) roff_print(out, line.rest, line.rest_length);
        putc('\n', out);
    }
}

static void manual_option(FILE *out, const struct option_row *row)
{
    char head[LINE_MAX_BYTES], text[2 * LINE_MAX_BYTES];
    option_head(row, head);
    option_text(row, text);
    fputs(".TP\n\\fB", out);
    roff_print(out, head, (int)strlen(head));
    fputs("\\fR\n", out);
    roff_line(out, text);
}

// Commands, and the pages about the files that they read.
static const char *const formats[][2]
    = {{"run", "jobfile"},     {"check", "jobfile"},         {"graph", "jobfile"},
       {"submit", "jobfile"},  {"simulate", "jobfile"},      {"define", "definitions"},
       {"allocator", "definitions"}, {"keys", "keys"},       {"play", "play"}};

static void manual_print(const struct command *command, FILE *out)
{
    struct line line;
    manual_begin(out, command->name, command->summary);
    fputs(".SH SYNOPSIS\n.nf\n", out);
    for (const char *at = command->usage; line_next(&at, &line);) {
        fprintf(out, "\\fBrota %s\\fR ", command->name);
        roff_print(out, line.first, line.first_length);
        putc('\n', out);
    }
    fputs(".fi\n", out);
    if (command->text) fputs(".SH DESCRIPTION\n", out);
    for (const char *at = command->text; line_next(&at, &line);) {
        fputs(".PP\n", out);
        roff_print(out, line.first, line.first_length);
        putc('\n', out);
    }
    fputs(".SH OPTIONS\n", out);
    for (const struct option_row *row = NULL; (row = option_shown(command, row));)
        manual_option(out, row);
    manual_option(out, &option_help);
    manual_columns(out, "EXAMPLES", command->examples);
    manual_columns(out, "EXIT STATUS", command->exits);
    fputs(".SH SEE ALSO\n.BR rota (1)", out);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(formats[i][0], command->name) == 0)
            fprintf(out, ",\n.BR rota-%s (5)", formats[i][1]);
    putc('\n', out);
}

static void manual_overview(FILE *out)
{
    const struct command *command;
    manual_begin(out, "", overview + strlen("rota - "));
    fputs(".SH SYNOPSIS\n\\fBrota\\fR COMMAND [OPTION...] [ARGUMENT...]\n", out);
    for (int group = 0; group < GROUPS; group++) {
        fprintf(out, ".SH %s\n", command_group_title((enum command_group)group));
        for (size_t i = 0; (command = command_at(i)); i++) {
            if ((int)command->group != group) continue;
            fprintf(out, ".TP\n\\fBrota %s\\fR\n", command->name);
            roff_line(out, command->summary);
        }
    }
    fputs(".SH SEE ALSO\nEach command has a page of its own, such as\n.BR rota-run (1).\n"
          "Files are described in\n.BR rota-jobfile (5),\n.BR rota-definitions (5),\n"
          ".BR rota-keys (5)\nand\n.BR rota-play (5).\n", out);
}

// ---- The command -------------------------------------------------------------------------------

struct help_options {
    bool is_manual;
};

// "rota help keys make": the page of keys describes its verbs.
static bool is_verb(const struct command *command, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = command->verbs; at && *at; at += strspn(at, " ")) {
        size_t size = strcspn(at, " ");
        if (size == length && memcmp(at, word, size) == 0) return true;
        at += size;
    }
    return false;
}

static int help_run(const struct command *command, int count, char **words)
{
    struct help_options options = {0};
    struct arguments arguments;
    int used, status = options_read(command, &options, NULL, &arguments, count, words);
    if (status >= 0) return status;
    int length = (int)arguments.count;
    bool is_all = length && strcmp(arguments.items[0], "all") == 0;
    if (is_all && length > 1) {  // "rota help all run" asks for one page
        is_all = false;
        arguments.items++, length--;
    }
    const struct command *about = command_find(length, arguments.items, &used);
    if (length && !is_all && !about) return command_unknown(arguments.items[0]);
    if (about && used < length && !is_verb(about, arguments.items[used]))
        return command_wrong(command, "unexpected argument '%s'", arguments.items[used]);
    if (about && options.is_manual)
        manual_print(about, stdout);
    else if (about)
        help_print(about, stdout);
    else if (options.is_manual)
        manual_overview(stdout);
    else if (is_all)
        help_all(stdout);
    else
        help_overview(stdout);
    return 0;
}

static const struct option_row help_rows[] = {
    {0, "man", "", "print the manual page, in the format of man(1)", OPTION_FLAG,
     .at = offsetof(struct help_options, is_manual)},
    OPTION_ROWS_END};

const struct command help_command = {
    .name = "help",
    .summary = "list the commands, or describe one",
    .group = GROUP_OTHER,
    .argument = {ARGUMENT_NAME, "COMMAND", 0, 2},
    .run = help_run,
    .options = help_rows,
    .usage = "[--man] [COMMAND | all]\n",
    .examples = "rota help\tlist the everyday commands\n"
                "rota help all\tlist all commands\n"
                "rota help run\tdescribe 'rota run', like 'rota run --help'\n",
    .exits = "0\tdone\n2\tthe arguments are wrong\n",
};

static int version_run(const struct command *command, int count, char **words)
{
    struct arguments arguments;
    int status = options_read(command, NULL, NULL, &arguments, count, words);
    if (status >= 0) return status;
    printf("rota %s\n", ROTA_VERSION);  // from meson.build
    return 0;
}

static const struct option_row version_rows[] = {OPTION_ROWS_END};

const struct command version_command = {
    .name = "version",
    .summary = "print the version of rota",
    .group = GROUP_OTHER,
    .run = version_run,
    .options = version_rows,
    .usage = "\n",
    .exits = "0\tdone\n2\tthe arguments are wrong\n",
};
