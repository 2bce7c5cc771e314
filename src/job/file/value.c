// value.c - converts nodes to strings, numbers, times and choices, and reports invalid ones.
#include "job/file/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const kind_words[] = {"a string", "a list", "a mapping"};

// ---- Strings ----------------------------------------------------------------

static bool scalar_check(struct reader *reader, uint32_t node, const char *what)
{
    const struct node *value = &reader->tree.nodes[node];
    if (value->kind != NODE_TEXT) {
        reject(reader, node, "%s is %s; expected a string", what, kind_words[value->kind]);
        return false;
    }
    return true;
}

const char *node_text(struct reader *reader, uint32_t node, const char *what)
{
    if (!scalar_check(reader, node, what)) return NULL;
    const struct node *value = &reader->tree.nodes[node];
    const char *text = reader->tree.text + value->text;
    if (value->length > 4 && template_is(text, value->length)) return template_fill(reader, node);
    return jobfile_text(reader->file, text, value->length);
}

const char *node_filled(struct reader *reader, uint32_t node, const char *what)
{
    const char *text = node_text(reader, node, what);
    if (!text || *text) return text;
    bool plain = reader->tree.nodes[node].style & NODE_PLAIN;
    reject(reader, node, plain ? "%s has no value" : "%s is empty", what);
    return NULL;
}

static bool is_printable(const char *text)
{
    for (; *text; text++) {
        if ((uint8_t)*text < 0x20 || *text == 0x7f) return false;
        if ((uint8_t)text[0] == 0xc2 && (uint8_t)text[1] < 0xa0) return false;
    }
    return true;
}

bool node_name_check(struct reader *reader, uint32_t node, const char *name, const char *what)
{
    const char *fault = NULL;
    if (!*name) fault = "is empty";
    if (strlen(name) > JOBFILE_NAME_MAX) fault = "is longer than 255 bytes";
    if (!is_printable(name)) fault = "contains a control character";
    if (strchr(name, '/')) fault = "contains /";
    if (fault) reject(reader, node, "the name of the %s %s: %s", what, fault, QUOTED(name));
    return !fault;
}

// ---- Numbers ---------------------------------------------------------------

// Parses digits and moves `text` past them, up to 10^18. False: no digits, or too many.
static bool digits_take(const char **text, int64_t *number)
{
    const char *start = *text;
    *number = 0;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        if (*text - start == 18) return false;
        *number = *number * 10 + (**text - '0');
    }
    return *text > start;
}

bool node_number(struct reader *reader, uint32_t node, const char *what, int64_t low, int64_t high,
                 int64_t *number)
{
    const char *text = node_filled(reader, node, what), *at = text;
    if (!text) return false;
    bool minus = *at == '-';
    at += minus || *at == '+';
    bool fine = digits_take(&at, number) && !*at;
    if (fine && minus) *number = -*number;
    if (fine && *number >= low && *number <= high) return true;
    reject(reader, node, "%s is %s; expected a number from %" PRId64 " to %" PRId64, what,
           QUOTED(text), low, high);
    return false;
}

// "1.25" of a unit. More than six decimal places would be lost and are refused.
static bool decimal_take(const char **text, int64_t unit, int64_t *value)
{
    int64_t whole, part = 0, scale = 1;
    if (!digits_take(text, &whole)) return false;
    if (**text == '.') {
        const char *start = ++*text;
        if (!digits_take(text, &part) || *text - start > 6) return false;
        for (; start < *text; start++) scale *= 10;
    }
    int64_t sum;
    if (__builtin_mul_overflow(whole, unit, &sum) || part > INT64_MAX / unit) return false;
    return !__builtin_add_overflow(sum, part * unit / scale, value);
}

bool node_percent(struct reader *reader, uint32_t node, const char *what, uint32_t *percent)
{
    const char *text = node_filled(reader, node, what), *at = text;
    int64_t value = 0;
    if (!text) return false;
    bool fine = decimal_take(&at, 100, &value) && !*at && value >= 100 && value <= 100 * 100;
    if (!fine)
        reject(reader, node, "%s is %s; expected a number from 1 to 100", what, QUOTED(text));
    *percent = fine ? (uint32_t)value : 100;
    return fine;
}

// ---- Times and sizes ---------------------------------------------------------

struct unit {
    const char *word;
    int64_t value;
};

static const struct unit times[] = {{"d", 86400000000}, {"h", 3600000000}, {"ms", 1000},
                                    {"m", 60000000},    {"s", 1000000},    {"", 0}};
static const int64_t time_max = 100 * 366 * 86400000000;

// "1h30m": each unit is smaller than the one before. A plain number means seconds.
static bool duration_parse(const char *text, rota_time *time)
{
    int64_t last = INT64_MAX, part;
    *time = 0;
    while (*text) {
        const char *start = text;
        if (!decimal_take(&text, 1000000, &part)) return false;
        if (!*text && last == INT64_MAX) {
            *time = part;
            return part <= time_max;
        }
        const struct unit *unit = times;
        while (unit->value && strncmp(text, unit->word, strlen(unit->word)) != 0) unit++;
        if (!unit->value || unit->value >= last) return false;
        last = unit->value;
        if (!decimal_take(&start, unit->value, &part) || part > time_max) return false;
        text += strlen(unit->word);
        *time += part;
    }
    return last != INT64_MAX && *time <= time_max;
}

bool node_duration(struct reader *reader, uint32_t node, const char *what, rota_time *time)
{
    const char *text = node_filled(reader, node, what);
    if (!text) return false;
    if (duration_parse(text, time)) return true;
    reject(reader, node, "%s is %s; expected a time like 90, 90s, 5m or 1h30m", what, QUOTED(text));
    return false;
}

static bool size_parse(const char *text, uint32_t *mebibytes)
{
    static const struct unit units[] = {{"K", 1 << 10},   {"M", 1 << 20}, {"G", 1 << 30},
                                        {"T", 1ll << 40}, {"k", 1 << 10}, {"", 0}};
    const char *start = text;
    int64_t value;
    if (!decimal_take(&text, 1 << 20, &value)) return false;
    const struct unit *unit = units;
    while (unit->value && *text != *unit->word) unit++;
    if (*text && (!unit->value || !decimal_take(&start, unit->value, &value))) return false;
    text += *text != 0;
    if (*text && strcmp(text, "B") != 0 && strcmp(text, "iB") != 0) return false;
    if (value > (int64_t)UINT32_MAX << 20) return false;
    *mebibytes = (uint32_t)((value + (1 << 20) - 1) >> 20);
    return true;
}

bool node_size(struct reader *reader, uint32_t node, const char *what, uint32_t *mebibytes)
{
    const char *text = node_filled(reader, node, what);
    if (!text) return false;
    if (size_parse(text, mebibytes)) return true;
    reject(reader, node, "%s is %s; expected a size like 512M or 2G, or a number of MiB", what,
           QUOTED(text));
    return false;
}

// ---- Choices ----------------------------------------------------------------

static bool is_one_of(const char *text, const char *one, const char *other)
{
    return strcmp(text, one) == 0 || strcmp(text, other) == 0;
}

bool node_flag(struct reader *reader, uint32_t node, const char *what, bool *flag)
{
    const char *text = node_filled(reader, node, what);
    if (!text) return false;
    *flag = is_one_of(text, "true", "yes");
    if (*flag || is_one_of(text, "false", "no")) return true;
    reject(reader, node, "%s is %s; expected true or false", what, QUOTED(text));
    return false;
}

bool node_choice(struct reader *reader, uint32_t node, const char *what, const char *const *words,
                 uint32_t count, uint32_t *choice)
{
    char expected[120] = "";
    size_t length = 0;
    const char *text = node_filled(reader, node, what);
    if (!text) return false;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(words[i], text) == 0) {
            *choice = i;
            return true;
        }
        const char *before = i == 0 ? "" : i + 1 == count ? " or " : ", ";
        length += (size_t)snprintf(expected + length, sizeof expected - length, "%s%s", before,
                                   words[i]);
    }
    reject(reader, node, "%s is %s; expected %s", what, QUOTED(text), expected);
    return false;
}

// ---- Structure -------------------------------------------------------------

static uint32_t word_find(const struct tree *tree, uint32_t key, const char *const *words,
                          uint32_t count)
{
    const struct node *node = &tree->nodes[key];
    if (node->kind != NODE_TEXT) return count;
    const char *text = tree->text + node->text;
    for (uint32_t i = 0; i < count; i++) {
        if (!node->length || *text != *words[i]) continue;
        if (strncmp(words[i], text, node->length) == 0 && !words[i][node->length]) return i;
    }
    return count;
}

static void key_refuse(struct reader *reader, uint32_t key, const char *what,
                       const char *const *words, uint32_t count)
{
    const struct node *node = &reader->tree.nodes[key];
    if (node->kind != NODE_TEXT) {
        reject(reader, key, "a key of %s is %s; expected a string", what, kind_words[node->kind]);
        return;
    }
    const char *word = jobfile_text(reader->file, reader->tree.text + node->text, node->length);
    if (!word) return;
    const char *meant = key_synonym(word, words, count);
    if (!meant) meant = key_meant(word, words, count);
    if (strcmp(word, "<<") == 0)
        reject(reader, key, "merge keys are not supported; use defaults");
    else if (meant)
        reject(reader, key, "%s has no key %s (did you mean %s?)", what, QUOTED(word), meant);
    else
        reject(reader, key, "%s has no key %s", what, QUOTED(word));
}

bool node_fields(struct reader *reader, uint32_t node, const char *what, const char *const *words,
                 uint32_t count, uint32_t *fields)
{
    const struct tree *tree = &reader->tree;
    if (tree->nodes[node].kind != NODE_MAP) {
        bool nothing = tree->nodes[node].kind == NODE_TEXT && !tree->nodes[node].length;
        reject(reader, node, "%s %s; expected a mapping", what,
               nothing                               ? "has no value"
               : tree->nodes[node].kind == NODE_LIST ? "is a list"
                                                     : "is a string");
        return false;
    }
    for (uint32_t key = node_first(tree, node); key;
         key = tree->nodes[tree->nodes[key].next].next) {
        uint32_t word = word_find(tree, key, words, count);
        if (word == count)
            key_refuse(reader, key, what, words, count);
        else if (fields[word])
            reject(reader, key, "%s has a duplicate key %s", what, words[word]);
        else
            fields[word] = tree->nodes[key].next;
    }
    return true;
}

uint32_t node_items(const struct reader *reader, uint32_t node, uint32_t *count)
{
    const struct node *value = &reader->tree.nodes[node];
    bool list = value->kind == NODE_LIST;
    *count = list ? value->length : 1;
    return list ? node_first(&reader->tree, node) : node;
}
