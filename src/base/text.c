// text.c - a growing text buffer; text that does not fit into memory is dropped.
#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>

void text_add(const struct memory *memory, struct text *text, const char *format, ...)
{
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (length <= 0) return;
    uint32_t size = (uint32_t)length < sizeof line ? (uint32_t)length : (uint32_t)sizeof line - 1;
    if (!ARRAY_RESERVE(memory, text->data, text->capacity, (uint64_t)text->length + size + 1))
        return;
    for (uint32_t i = 0; i < size; i++) text->data[text->length + i] = line[i];
    text->length += size;
    text->data[text->length] = '\0';
}

void text_release(const struct memory *memory, struct text *text)
{
    ARRAY_RELEASE(memory, text->data, text->capacity);
    *text = (struct text){0};
}
