// json_text.c - any bytes as a text of JSON.
#include "base/base.h"
#include "job/file/jobfile.h"

#include <string.h>

// How many bytes at the front may stand there as they are.
static size_t plain_length(const char *text, size_t length)
{
    size_t at = 0;
    for (size_t size; at < length; at += size) {
        uint32_t number;
        size = character_read(text + at, length - at, &number);
        if (!size || number < 32 || number == 127 || number == '"' || number == '\\') break;
    }
    return at;
}

// The one character that may not. Returns its bytes.
static size_t escaped_write(FILE *out, const char *text, size_t length)
{
    uint32_t number;
    size_t size = character_read(text, length, &number);
    if (!size)
        fputs("\\ufffd", out);
    else if (number == '"' || number == '\\')
        fprintf(out, "\\%c", (int)number);
    else
        fprintf(out, "\\u%04x", number);
    return size ? size : 1;
}

void json_text_part(FILE *out, const char *text, size_t length)
{
    putc('"', out);
    for (size_t at = 0; at < length;) {
        size_t plain = plain_length(text + at, length - at);
        fwrite(text + at, 1, plain, out);
        at += plain;
        if (at < length) at += escaped_write(out, text + at, length - at);
    }
    putc('"', out);
}

void json_text(FILE *out, const char *text)
{
    json_text_part(out, text, strlen(text));
}
