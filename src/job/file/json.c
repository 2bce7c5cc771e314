// json.c - parses JSON and JSON Lines into a tree; strings are unescaped in place.
//
// Not by a library, because libraries give values without their line and column, and error messages
// need both.
#include "job/file/internal.h"

#include <string.h>

struct source {
    struct reader *reader;
    char *bytes;
    size_t size, at;
    size_t counted;              // how far lines and columns are counted
    struct jobfile_place place;  // at `counted`
};

// ---- Lines and columns ------------------------------------------------------

static const uint64_t each_byte = 0x0101010101010101u, each_top = 0x8080808080808080u;

// Sets the top bit of each zero byte, and perhaps of bytes after one.
static uint64_t zeros_in(uint64_t eight)
{
    return (eight - each_byte) & ~eight & each_top;
}

// Whether eight bytes are one character each and contain no newline.
static bool is_one_line(const char *bytes)
{
    uint64_t eight;
    memcpy(&eight, bytes, sizeof eight);
    return !((eight & each_top) | zeros_in(eight ^ each_byte * '\n'));
}

// Whether eight bytes need no unescaping in a string.
static bool is_plain(const char *bytes)
{
    uint64_t eight;
    memcpy(&eight, bytes, sizeof eight);
    uint64_t controls = (eight - each_byte * 0x20) & ~eight & each_top;
    return !(controls | zeros_in(eight ^ each_byte * '"') | zeros_in(eight ^ each_byte * '\\'));
}

// Only moves forward, so that counting all positions takes one pass.
static struct jobfile_place here(struct source *source, size_t at)
{
    while (source->counted + 8 <= at && is_one_line(source->bytes + source->counted)) {
        source->counted += 8;
        source->place.column += 8;
    }
    for (; source->counted < at; source->counted++) {
        char byte = source->bytes[source->counted];
        if (byte == '\n')
            source->place = (struct jobfile_place){source->place.line + 1, 1};
        else
            source->place.column += (byte & 0xc0) != 0x80;
    }
    return source->place;
}

static bool wrong(struct source *source, size_t at, const char *reason)
{
    refuse_at(source->reader->file, here(source, at), "%s", reason);
    return false;
}

static char peek(struct source *source)
{
    for (; source->at < source->size; source->at++) {
        char byte = source->bytes[source->at];
        if (byte != ' ' && byte != '\n' && byte != '\r' && byte != '\t') return byte;
    }
    return 0;
}

// ---- Strings ----------------------------------------------------------------

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

// Parses four hexadecimal digits; -1: invalid.
static int32_t unit_read(const struct source *source, size_t at)
{
    int32_t unit = 0;
    if (source->size < 4 || at > source->size - 4) return -1;
    for (size_t i = 0; i < 4; i++) {
        int digit = hex_value(source->bytes[at + i]);
        if (digit < 0) return -1;
        unit = unit * 16 + digit;
    }
    return unit;
}

static size_t character_write(char *out, uint32_t code)
{
    static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--, code >>= 6) out[i] = (char)(0x80 | (code & 0x3f));
    out[0] = (char)(leads[length] | code);
    return length;
}

// Decodes the digits after \u, which may be a surrogate pair. Null: valid.
static const char *unicode_undo(struct source *source, char *out, size_t *length)
{
    int32_t unit = unit_read(source, source->at), low;
    if (unit < 0) return "\\u needs four hexadecimal digits";
    source->at += 4;
    if (!unit) return "a zero byte in a string";
    uint32_t code = (uint32_t)unit;
    if (unit >= 0xd800 && unit < 0xe000) {
        bool pair = unit < 0xdc00 && source->size - source->at >= 6
                    && memcmp(source->bytes + source->at, "\\u", 2) == 0;
        low = pair ? unit_read(source, source->at + 2) : -1;
        if (low < 0xdc00 || low >= 0xe000) return "incomplete surrogate pair after \\u";
        source->at += 6;
        code = 0x10000 + ((code - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
    }
    *length += character_write(out, code);
    return NULL;
}

static const char *escape_undo(struct source *source, char *out, size_t *length)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    char name = source->at < source->size ? source->bytes[source->at++] : 0;
    if (name == 'u') return unicode_undo(source, out, length);
    const char *found = name ? strchr(names, name) : NULL;
    if (!found) return "unknown escape sequence";
    *out = values[found - names];
    ++*length;
    return NULL;
}

// The number of bytes before the next quote, escape or the end, which need no change.
static size_t plain_length(const struct source *source)
{
    size_t at = source->at;
    while (source->size - at >= 8 && is_plain(source->bytes + at)) at += 8;
    while (at < source->size && source->bytes[at] != '"' && source->bytes[at] != '\\'
           && (uint8_t)source->bytes[at] >= 0x20)
        at++;
    return at - source->at;
}

// Reports the start of the string, because the position of its end is already counted.
static bool endless(struct source *source, uint32_t node, const char *reason)
{
    reject(source->reader, node, "%s", reason);
    return false;
}

static bool string_read(struct source *source)
{
    size_t start = source->at++, length = 0, text = source->at;
    bool exact = true;
    struct tree *tree = &source->reader->tree;
    uint32_t number = tree_add(tree, NODE_TEXT, here(source, start));
    if (!number) return false;
    for (;;) {
        size_t plain = plain_length(source), at = source->at;
        source->at += plain;
        if (!exact) {  // count lines before bytes move
            here(source, source->at);
            memmove(source->bytes + text + length, source->bytes + at, plain);
        }
        length += plain;
        if (source->at == source->size) return endless(source, number, "unterminated string");
        char byte = source->bytes[source->at];
        if (byte == '"') break;
        if (byte == '\t') return wrong(source, source->at, "write a tab in a string as \\t");
        if (byte != '\\') return endless(source, number, "unterminated string on this line");
        at = source->at++;
        exact = false;
        char undone[4];
        size_t before = length;
        const char *reason = escape_undo(source, undone, &length);
        if (reason) return wrong(source, at, reason);
        here(source, source->at);
        memcpy(source->bytes + text + before, undone, length - before);
    }
    here(source, ++source->at);
    struct node *node = &tree->nodes[number];
    node->text = (uint32_t)text;
    node->length = (uint32_t)length;
    node->style = exact ? NODE_EXACT | NODE_SHIFTED : 0;
    return true;
}

static bool is_number(const char *text, size_t length)
{
    size_t i = length && text[0] == '-', digits = 0;
    for (; i < length && text[i] >= '0' && text[i] <= '9'; i++) digits++;
    if (!digits || (digits > 1 && text[i - digits] == '0')) return false;
    if (i < length && text[i] == '.')
        for (i++, digits = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++) digits++;
    if (digits && i < length && (text[i] == 'e' || text[i] == 'E')) {
        i += 1 + (i + 1 < length && (text[i + 1] == '-' || text[i + 1] == '+'));
        for (digits = 0; i < length && text[i] >= '0' && text[i] <= '9'; i++) digits++;
    }
    return digits && i == length;
}

// Parses numbers, true and false; null becomes an empty text.
static bool word_read(struct source *source)
{
    size_t start = source->at;
    while (source->at < source->size && !strchr(" \t\r\n,:[]{}\"", source->bytes[source->at]))
        source->at++;
    const char *text = source->bytes + start;
    size_t length = source->at - start;
    bool null = length == 4 && memcmp(text, "null", 4) == 0;
    bool truth = (length == 4 && memcmp(text, "true", 4) == 0)
                 || (length == 5 && memcmp(text, "false", 5) == 0);
    if (!null && !truth && !is_number(text, length))
        return wrong(source, start, "expected a string in quotes, a number, true, false, [ or {");
    struct tree *tree = &source->reader->tree;
    uint32_t number = tree_add(tree, NODE_TEXT, here(source, start));
    if (!number) return false;
    struct node *node = &tree->nodes[number];
    node->text = (uint32_t)start;
    node->length = null ? 0 : (uint32_t)length;
    node->style = NODE_PLAIN | NODE_EXACT;
    return true;
}

// ---- Structure -------------------------------------------------------------

static bool scalar_read(struct source *source, char c)
{
    if (source->reader->tree.count > NODES_MAX)
        return wrong(source, source->at, "the file has more than 33554432 values");
    return c == '"' ? string_read(source) : word_read(source);
}

static bool key_read(struct source *source)
{
    if (peek(source) != '"') return wrong(source, source->at, "expected a key in double quotes");
    if (!scalar_read(source, '"')) return false;
    if (peek(source) != ':') return wrong(source, source->at, "expected : after the key");
    source->at++;
    return true;
}

// After a value: closes the lists and objects that end here. `more`: another item follows.
static bool value_end(struct source *source, uint32_t bottom, bool *more)
{
    struct tree *tree = &source->reader->tree;
    *more = false;
    while (tree->depth > bottom) {
        bool map = tree->nodes[tree->open[tree->depth].node].kind == NODE_MAP;
        char c = peek(source), end = map ? '}' : ']';
        if (c == ',') {
            source->at++;
            *more = true;
            return !map || key_read(source);
        }
        if (c != end) return wrong(source, source->at, map ? "expected , or }" : "expected , or ]");
        source->at++;
        tree_close(tree);
    }
    return true;
}

// Parses a value and everything in it; in a loop, because the file determines the depth.
static bool value_read(struct source *source)
{
    struct tree *tree = &source->reader->tree;
    uint32_t bottom = tree->depth;
    bool more = true;
    while (more) {
        char c = peek(source);
        if (!c) return wrong(source, source->at, "unexpected end of file");
        if (c == '{' || c == '[') {
            size_t at = source->at++;
            if (!tree_open(tree, c == '{' ? NODE_MAP : NODE_LIST, here(source, at)))
                return wrong(source, at, "more than 64 nested levels");
            if (peek(source) == (c == '{' ? '}' : ']')) {
                source->at++;
                tree_close(tree);
            } else {
                if (c == '{' && !key_read(source)) return false;
                continue;
            }
        } else if (!scalar_read(source, c)) {
            return false;
        }
        if (!value_end(source, bottom, &more)) return false;
    }
    return true;
}

bool json_read(struct reader *reader, char *bytes, size_t size, enum jobfile_format format)
{
    struct source source = {reader, bytes, size, .place = {1, 1}};
    reader->tree.text = bytes;
    if (format == JOBFILE_JSON) {
        if (!value_read(&source)) return false;
        return !peek(&source) || wrong(&source, source.at, "unexpected text after the end");
    }
    if (!tree_open(&reader->tree, NODE_LIST, (struct jobfile_place){1, 1})) return false;
    while (peek(&source))
        if (!value_read(&source)) return false;
    tree_close(&reader->tree);
    return true;
}
