// json.c - writes JSON to a file, with the commas and quotes where they belong.
#include "os/json.h"
#include "base/base.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

// ---- Strings ----------------------------------------------------------------------------------

// The number of leading bytes that need no escape.
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

// Writes the one character that needs an escape. Returns its length in bytes.
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

static void json_text_part(FILE *out, const char *text, size_t length)
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

// ---- Members and items ------------------------------------------------------------------------

static void key_put(struct json *json, const char *key)
{
    if (json->is_next) putc(',', json->out);
    if (key) json_text(json->out, key), putc(':', json->out);
    json->is_next = true;
}

void json_open(struct json *json, const char *key, char bracket)
{
    key_put(json, key);
    putc(bracket, json->out);
    json->is_next = false;
}

void json_close(struct json *json, char bracket)
{
    putc(bracket, json->out);
    json->is_next = true;
}

void json_line(struct json *json)
{
    fputs("}\n", json->out);
    json->is_next = false;
}

void json_newline(struct json *json)
{
    fputs(json->is_next ? ",\n" : "\n", json->out);
    json->is_next = false;
}

void json_bytes(struct json *json, const char *key, const char *bytes, size_t length)
{
    key_put(json, key);
    json_text_part(json->out, bytes, length);
}

void json_hex(struct json *json, const char *key, const unsigned char *bytes, size_t length)
{
    key_put(json, key);
    putc('"', json->out);
    for (size_t i = 0; i < length; i++) fprintf(json->out, "%02x", bytes[i]);
    putc('"', json->out);
}

void json_string(struct json *json, const char *key, const char *text)
{
    if (text)
        json_bytes(json, key, text, strlen(text));
    else
        json_number(json, key, "null");
}

void json_time(struct json *json, const char *key, int64_t time)
{
    if (time)
        json_number(json, key, "%" PRId64, time);
    else
        json_string(json, key, NULL);
}

void json_bool(struct json *json, const char *key, bool is_true)
{
    json_number(json, key, is_true ? "true" : "false");
}

void json_number(struct json *json, const char *key, const char *format, ...)
{
    va_list arguments;
    key_put(json, key);
    va_start(arguments, format);
    vfprintf(json->out, format, arguments);
    va_end(arguments);
}

void json_plain(struct json *json, const char *key, const char *format, ...)
{
    va_list arguments;
    key_put(json, key);
    putc('"', json->out);
    va_start(arguments, format);
    vfprintf(json->out, format, arguments);
    va_end(arguments);
    putc('"', json->out);
}

// JSON has no infinity, so null is written instead.
void json_real(struct json *json, const char *key, const char *format, double number)
{
    key_put(json, key);
    if (isfinite(number))
        fprintf(json->out, format, number);
    else
        fputs("null", json->out);
}
