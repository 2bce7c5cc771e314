// condition_text.c - parses start conditions: "success(a) & (failed(b) | notrunning(c))", evaluated
// from left to right without precedence.
#include "core/core.h"

struct reader {
    const char *text;
    uint32_t at;
    struct rota_clause *clauses;
    const char **names;
    uint32_t *lengths;
    uint32_t count, max;
    const char *reason;
};

enum { DEPTH_MAX = 64 };

static char peek(struct reader *reader)
{
    while (reader->text[reader->at] == ' ' || reader->text[reader->at] == '\t') reader->at++;
    return reader->text[reader->at];
}

static bool wrong(struct reader *reader, const char *reason)
{
    reader->reason = reason;
    return false;
}

static bool emit(struct reader *reader, enum rota_clause_kind kind, const char *name,
                 uint32_t length)
{
    assert(kind <= ROTA_CLAUSE_OR);
    if (reader->count == reader->max) return wrong(reader, "the condition is too long");
    reader->clauses[reader->count] = (struct rota_clause){.kind = kind};
    reader->names[reader->count] = name;
    reader->lengths[reader->count++] = length;
    return true;
}

static enum rota_clause_kind kind_named(const char *word, uint32_t length)
{
    static const struct {
        const char *word;
        enum rota_clause_kind kind;
    } words[] = {
        {"su", ROTA_CLAUSE_SUCCESS},     {"success", ROTA_CLAUSE_SUCCESS},
        {"fa", ROTA_CLAUSE_FAILED},      {"failed", ROTA_CLAUSE_FAILED},
        {"nr", ROTA_CLAUSE_NOT_RUNNING}, {"notrunning", ROTA_CLAUSE_NOT_RUNNING},
        {"done", ROTA_CLAUSE_DONE},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == length && memcmp(words[i].word, word, length) == 0)
            return words[i].kind;
    return 0;
}

static bool is_name(char c)
{
    return c && c != ' ' && c != '\t' && c != '(' && c != ')' && c != '&' && c != '|';
}

static uint32_t word_length(const char *word)
{
    assert(word);
    uint32_t length = 0;
    while (is_name(word[length])) length++;
    return length;
}

static bool read_clause(struct reader *reader)
{
    peek(reader);
    const char *word = reader->text + reader->at;
    uint32_t length = word_length(word);
    enum rota_clause_kind kind = kind_named(word, length);
    if (!kind) return wrong(reader, "expected success, failed, notrunning, done or '('");
    reader->at += length;
    if (peek(reader) != '(') return wrong(reader, "expected ( after the kind of clause");
    reader->at++;
    peek(reader);
    const char *name = reader->text + reader->at;
    length = word_length(name);
    if (!length) return wrong(reader, "expected the name of a task");
    reader->at += length;
    if (peek(reader) != ')') return wrong(reader, "expected ) after the name");
    reader->at++;
    return emit(reader, kind, name, length);
}

// One stack entry for each open parenthesis: the operator that waits for its right side, or 0.
static bool close_value(struct reader *reader, enum rota_clause_kind *waiting)
{
    if (*waiting && !emit(reader, *waiting, NULL, 0)) return false;
    *waiting = 0;
    return true;
}

// An operand: opening parentheses, a clause, then closing ones.
static bool read_operand(struct reader *reader, enum rota_clause_kind *waiting, uint32_t *depth)
{
    assert(*depth <= 64);
    while (peek(reader) == '(') {
        if (*depth + 1 == DEPTH_MAX) return wrong(reader, "parentheses are nested too deeply");
        reader->at++;
        waiting[++*depth] = 0;
    }
    if (!read_clause(reader) || !close_value(reader, &waiting[*depth])) return false;
    while (peek(reader) == ')') {
        if (*depth == 0) return wrong(reader, "unexpected closing parenthesis");
        reader->at++;
        --*depth;
        if (!close_value(reader, &waiting[*depth])) return false;
    }
    return true;
}

static bool read_all(struct reader *reader)
{
    enum rota_clause_kind waiting[DEPTH_MAX] = {0};
    uint32_t depth = 0;
    for (;;) {
        if (!read_operand(reader, waiting, &depth)) return false;
        char c = peek(reader);
        if (!c) return depth ? wrong(reader, "missing closing parenthesis") : true;
        if (c != '&' && c != '|') return wrong(reader, "expected & or | between clauses");
        waiting[depth] = c == '&' ? ROTA_CLAUSE_AND : ROTA_CLAUSE_OR;
        reader->at++;
    }
}

int rota_condition_parse(const char *text, struct rota_clause *clauses, const char **names,
                         uint32_t *lengths, uint32_t max, uint32_t *place, const char **reason)
{
    assert(text && place && reason);
    struct reader reader
        = {.text = text, .clauses = clauses, .names = names, .lengths = lengths, .max = max};
    *place = 0;
    *reason = "";
    if (!peek(&reader)) return 0;
    if (read_all(&reader)) return (int)reader.count;
    *place = reader.at;
    *reason = reader.reason;
    return -1;
}
