// yaml.c - parses YAML into a tree, event by event, so that depth is limited early.
#include "job/file/internal.h"

#include <string.h>
#include <yaml.h>

struct source {
    struct reader *reader;
    yaml_parser_t parser;
    const char *bytes;
    size_t size;
};

static struct jobfile_place place_of(yaml_mark_t mark)
{
    return (struct jobfile_place){(uint32_t)mark.line + 1, (uint32_t)mark.column + 1};
}

static bool wrong(struct source *source, yaml_mark_t mark, const char *reason)
{
    refuse_at(source->reader->file, place_of(mark), "%s", reason);
    return false;
}

// ---- Errors of the library --------------------------------------------------

// The character at a mark. Marks count characters, but the text is in bytes.
static char character_at(const struct source *source, yaml_mark_t mark)
{
    size_t i = 0, count = 0;
    while (i < source->size && count < mark.index) {
        i++;
        while (i < source->size && (source->bytes[i] & 0xc0) == 0x80) i++;
        count++;
    }
    return i < source->size ? source->bytes[i] : 0;
}

// Whether the line has a {{name}} where YAML takes it for a nested mapping: at the start of a
// value, and anywhere inside brackets.
static bool line_has_hole(const struct source *source, yaml_mark_t mark, const char *context)
{
    const char *bytes = source->bytes;
    bool inside = strstr(context, "flow") != NULL;
    size_t from = 0;
    for (size_t line = 0; line < mark.line && from < source->size; from++)
        line += bytes[from] == '\n';
    for (; from + 1 < source->size && bytes[from] != '\n'; from++) {
        if (bytes[from] != '{' || bytes[from + 1] != '{') continue;
        if (inside || (from > 1 && bytes[from - 1] == ' ' && strchr(":-", bytes[from - 2])))
            return true;
    }
    return false;
}

static bool parser_wrong(struct source *source)
{
    const yaml_parser_t *parser = &source->parser;
    const char *problem = parser->problem;
    yaml_mark_t mark = parser->problem_mark;
    if (!problem) {
        jobfile_no_memory(source->reader->file);
        return false;
    }
    if (parser->error == YAML_READER_ERROR) mark = parser->mark;
    if (parser->error == YAML_SCANNER_ERROR && character_at(source, mark) == '\t')
        return wrong(source, mark, "a tab in the indentation; use spaces");
    // libyaml reports an unterminated string at the end of the file; report where it begins.
    if (parser->context && strstr(parser->context, "quoted scalar") && strstr(problem, "end of"))
        return wrong(source, parser->context_mark, "unterminated string");
    if (parser->context && parser->error != YAML_READER_ERROR)
        refuse_at(source->reader->file, place_of(mark), "%s, %s%s", problem, parser->context,
                  line_has_hole(source, mark, parser->context)
                      ? "; put a text with {{ in quotes here"
                      : "");
    else
        refuse_at(source->reader->file, place_of(mark), "%s", problem);
    return false;
}

// ---- Events ----------------------------------------------------------------

static const char *extra_of(const yaml_event_t *event)
{
    bool tag = false, anchor = false;
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        tag = event->data.scalar.tag != NULL;
        anchor = event->data.scalar.anchor != NULL;
        break;
    case YAML_SEQUENCE_START_EVENT:
        tag = event->data.sequence_start.tag != NULL;
        anchor = event->data.sequence_start.anchor != NULL;
        break;
    case YAML_MAPPING_START_EVENT:
        tag = event->data.mapping_start.tag != NULL;
        anchor = event->data.mapping_start.anchor != NULL;
        break;
    case YAML_ALIAS_EVENT: anchor = true; break;
    default: break;
    }
    if (anchor) return "anchors and aliases are not supported; use defaults or foreach";
    return tag ? "tags are not supported; each key has a fixed type" : NULL;
}

static uint32_t style_of(const yaml_event_t *event)
{
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length, characters = 0;
    bool plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    bool one_line = event->start_mark.line == event->end_mark.line;
    for (size_t i = 0; i < length && one_line; i++) characters += (text[i] & 0xc0) != 0x80;
    size_t wide = event->end_mark.column - event->start_mark.column;
    bool exact = one_line && wide == characters + (plain ? 0 : 2);
    return (plain ? NODE_PLAIN : 0) | (exact ? NODE_EXACT : 0)
           | (exact && !plain ? NODE_SHIFTED : 0);
}

static bool scalar_add(struct source *source, const yaml_event_t *event)
{
    struct tree *tree = &source->reader->tree;
    const char *text = (const char *)event->data.scalar.value;
    size_t length = event->data.scalar.length;
    if (tree->count > NODES_MAX)
        return wrong(source, event->start_mark, "the file has more than 33554432 values");
    if (memchr(text, 0, length)) return wrong(source, event->start_mark, "a zero byte in a string");
    uint32_t need = (uint32_t)(tree->text_count + length);
    if (!jobfile_reserve(tree->file, &tree->text, &tree->text_capacity, need, 1)) return false;
    uint32_t number = tree_add(tree, NODE_TEXT, place_of(event->start_mark));
    if (!number) return false;
    struct node *node = &tree->nodes[number];
    node->text = tree->text_count;
    node->length = (uint32_t)length;
    node->style = style_of(event) & 15;
    if (length) memcpy(tree->text + tree->text_count, text, length);
    tree->text_count = need;
    return true;
}

static bool open_add(struct source *source, const yaml_event_t *event, enum node_kind kind)
{
    if (tree_open(&source->reader->tree, kind, place_of(event->start_mark))) return true;
    return wrong(source, event->start_mark, "more than 64 nested levels");
}

static bool event_take(struct source *source, const yaml_event_t *event, uint32_t *documents)
{
    const char *extra = extra_of(event);
    if (extra) return wrong(source, event->start_mark, extra);
    switch (event->type) {
    case YAML_DOCUMENT_START_EVENT:
        if ((*documents)++)
            return wrong(source, event->start_mark, "a second document; a job file has one");
        return true;
    case YAML_SCALAR_EVENT: return scalar_add(source, event);
    case YAML_SEQUENCE_START_EVENT: return open_add(source, event, NODE_LIST);
    case YAML_MAPPING_START_EVENT: return open_add(source, event, NODE_MAP);
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: tree_close(&source->reader->tree); return true;
    default: return true;
    }
}

bool yaml_read(struct reader *reader, const char *bytes, size_t size)
{
    struct source source = {.reader = reader, .bytes = bytes, .size = size};
    uint32_t documents = 0;
    if (!yaml_parser_initialize(&source.parser)) return parser_wrong(&source);
    yaml_parser_set_encoding(&source.parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&source.parser, (const unsigned char *)bytes, size);
    bool fine = true, more = true;
    while (fine && more) {
        yaml_event_t event;
        if (!yaml_parser_parse(&source.parser, &event)) {
            fine = parser_wrong(&source);
            break;
        }
        fine = event_take(&source, &event, &documents);
        more = event.type != YAML_STREAM_END_EVENT;
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&source.parser);
    return fine;
}
