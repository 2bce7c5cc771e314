// dump.c - formats messages as text according to the table.
#include "net/wire/wire.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

struct dump {
    char *out;
    size_t size;
    int length;
};

static void add(struct dump *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct dump *text, const char *format, ...)
{
    size_t used = (size_t)text->length < text->size ? (size_t)text->length : text->size;
    va_list arguments;
    va_start(arguments, format);
    text->length += vsnprintf(text->out + used, text->size - used, format, arguments);
    va_end(arguments);
}

#define NUMBER(kind, format)                                                                       \
    static void add_##kind(struct dump *text, wire_##kind number)                                  \
    {                                                                                              \
        add(text, "%" format, number);                                                             \
    }
NUMBER(u32, PRIu32)
NUMBER(u64, PRIu64)
NUMBER(i32, PRId32)
NUMBER(time, PRId64)
#undef NUMBER

static void add_task(struct dump *text, wire_task task)
{
    add(text, "%" PRIu32 ".%" PRIu32, task.job, task.task);
}

static void add_text(struct dump *text, wire_text it)
{
    add(text, "\"%.*s\"", (int)it.length, it.bytes);
}

static void add_texts(struct dump *text, wire_texts texts)
{
    for (uint32_t i = 0; i < texts.count; i++)
        add(text, i ? "," : ""), add_text(text, texts.items[i]);
}

static void add_object(struct dump *text, wire_object object)
{
    add(text, "%" PRIx64 "-%" PRIx64, object.high, object.low);
}

static void add_content(struct dump *text, wire_content content)
{
    char hex[WIRE_HEX + 1];
    wire_hex(content.hash, hex);
    if (content.kind) add(text, "%c:%s", content.kind, hex);
}

#define FIELD(kind, name) add(text, " " #name "="), add_##kind(text, item->name);
#define ROW(NAME, name)                                                                            \
    static void add_##name##s(struct dump *text, wire_##name##s list)                              \
    {                                                                                              \
        for (uint32_t i = 0; i < list.count; i++) {                                                \
            const struct wire_##name *item = &list.items[i];                                       \
            add(text, "{");                                                                        \
            WIRE_##NAME##_ROW(FIELD) add(text, " }");                                              \
        }                                                                                          \
    }
WIRE_ROWS(ROW)
#undef ROW
#undef FIELD

const char *wire_kind_name(enum wire_kind kind)
{
#define CASE(NAME, name)                                                                           \
    if (kind == WIRE_##NAME##_MESSAGE) return #name;
    WIRE_MESSAGES(CASE)
#undef CASE
    return "none";
}

int wire_dump(const struct wire_message *message, char *out, size_t size)
{
    struct dump it = {out, size, 0}, *text = &it;
    add(text, "%s", wire_kind_name(message->kind));
#define FIELD(kind, name) add(text, " " #name "="), add_##kind(text, fields->name);
#define CASE(NAME, name)                                                                           \
    if (message->kind == WIRE_##NAME##_MESSAGE) {                                                  \
        const struct wire_##name *fields = &message->name;                                         \
        WIRE_##NAME(FIELD)                                                                         \
    }
    WIRE_MESSAGES(CASE)
#undef CASE
#undef FIELD
    return it.length;
}
