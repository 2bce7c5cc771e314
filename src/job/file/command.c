// command.c - splits a command line into the arguments of exec if no shell is needed.
//
// A shell doubles the cost of a short command. So a line is split here if it is certain that sh
// would produce the same arguments, and that no builtin of sh with that name behaves differently.
#include "job/file/internal.h"

#include <string.h>

// Keywords and builtins of sh in POSIX, dash or bash that no program replaces.
static const char *const shell_words[] = {
    ".",      ":",       "alias",    "bg",      "bind",      "break",    "builtin", "caller",
    "case",   "cd",      "chdir",    "command", "compgen",   "complete", "compopt", "continue",
    "coproc", "declare", "dirs",     "disown",  "do",        "done",     "elif",    "else",
    "enable", "esac",    "eval",     "exec",    "exit",      "export",   "fc",      "fg",
    "fi",     "for",     "function", "getopts", "hash",      "help",     "history", "if",
    "in",     "jobs",    "kill",     "let",     "local",     "logout",   "mapfile", "popd",
    "printf", "pushd",   "pwd",      "read",    "readarray", "readonly", "return",  "select",
    "set",    "shift",   "shopt",    "source",  "suspend",   "test",     "then",    "time",
    "times",  "trap",    "type",     "typeset", "ulimit",    "umask",    "unalias", "unset",
    "until",  "wait",    "while",
};

static bool is_plain(char c)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    return letter || (c >= '+' && c <= ':') || c == '_' || c == '@' || c == '%' || c == '=';
}

// The text after the quoted part at `text`. Null: it contains something that sh would expand.
static const char *quote_end(const char *text)
{
    char quote = *text++;
    for (; *text != quote; text++)
        if (!*text || (quote == '"' && strchr("$`\\", *text))) return NULL;
    return text + 1;
}

// The end of the word at `text`; `length` is its length without quotes. Null: a shell is needed.
static const char *word_end(const char *text, size_t *length)
{
    *length = 0;
    while (*text && *text != ' ' && *text != '\t' && *text != '\n') {
        if (*text == '\'' || *text == '"') {
            const char *end = quote_end(text);
            if (!end) return NULL;
            *length += (size_t)(end - text) - 2;
            text = end;
        } else if (is_plain(*text)) {
            text++;
            ++*length;
        } else {
            return NULL;
        }
    }
    return text;
}

static void word_copy(const char *text, const char *end, char *out)
{
    while (text < end) {
        if (*text != '\'' && *text != '"') {
            *out++ = *text++;
            continue;
        }
        const char *after = quote_end(text);
        size_t inside = (size_t)(after - text) - 2;
        memcpy(out, text + 1, inside);
        out += inside;
        text = after;
    }
}

// Counts the words and their total size. False: a shell is needed, also for a newline before the
// end.
static bool words_count(const char *text, uint32_t *count, size_t *size)
{
    size_t length;
    *count = 0;
    *size = 0;
    for (;;) {
        text += strspn(text, " \t");
        if (!text[strspn(text, " \t\n")]) return *count > 0;
        if (*text == '\n') return false;
        if (!(text = word_end(text, &length))) return false;
        ++*count;
        *size += length + 1;
    }
}

// Builtins of sh need sh. But echo without options or escapes behaves like the program echo.
static bool words_need_shell(char *const *words)
{
    if (!*words[0] || strchr(words[0], '=')) return true;
    for (size_t i = 0; i < sizeof shell_words / sizeof *shell_words; i++)
        if (*words[0] == *shell_words[i] && strcmp(words[0], shell_words[i]) == 0) return true;
    if (strcmp(words[0], "echo") != 0) return false;
    for (words++; *words; words++)
        if (**words == '-' || strchr(*words, '\\')) return true;
    return false;
}

static bool split(struct jobfile *file, struct jobfile_task *task, const char *text)
{
    size_t size, length;
    if (!words_count(text, &task->argc, &size)) return false;
    task->argv = jobfile_take(file, (task->argc + 1) * sizeof *task->argv);
    char *out = jobfile_take(file, size);
    if (!task->argv || !out) return false;
    for (uint32_t i = 0; i < task->argc; i++) {
        text += strspn(text, " \t");
        const char *end = word_end(text, &length);
        task->argv[i] = out;
        word_copy(text, end, out);
        out += length + 1;
        text = end;
    }
    return !words_need_shell(task->argv);
}

void command_split(struct jobfile *file, struct jobfile_task *task, const char *text)
{
    static const char shell[] = "/bin/sh\0-c";
    task->command = text;
    task->shell = !split(file, task, text);
    if (!task->shell) return;
    task->argc = 3;
    task->argv = jobfile_take(file, 4 * sizeof *task->argv);
    char *words = jobfile_text(file, shell, sizeof shell - 1);
    char *line = jobfile_text(file, text, strlen(text));
    if (!task->argv || !words || !line) {
        task->argc = 0;
        return;
    }
    task->argv[0] = words;
    task->argv[1] = words + strlen(shell) + 1;
    task->argv[2] = line;
}

// ---- Commands as text --------------------------------------------------------

static bool word_is_plain(const char *word)
{
    const char *at = word;
    while (is_plain(*at)) at++;
    return *word && !*at;
}

// In single quotes, with a quote as '\''. Returns the length; a null `out` only computes it.
static size_t word_write(const char *word, char *out)
{
    size_t length = 0;
    bool plain = word_is_plain(word);
    if (!plain && out) out[length] = '\'';
    length += !plain;
    for (; *word; word++) {
        bool quote = *word == '\'';
        if (out) memcpy(out + length, quote ? "'\\''" : word, quote ? 4 : 1);
        length += quote ? 4 : 1;
    }
    if (!plain && out) out[length] = '\'';
    return length + !plain;
}

void command_join(struct jobfile *file, struct jobfile_task *task)
{
    size_t length = 0;
    for (uint32_t i = 0; i < task->argc; i++) length += word_write(task->argv[i], NULL) + 1;
    char *text = jobfile_take(file, length + 1);
    if (!text) return;
    task->command = text;
    for (uint32_t i = 0; i < task->argc; i++) {
        text += word_write(task->argv[i], text);
        if (i + 1 < task->argc) *text++ = ' ';
    }
}
