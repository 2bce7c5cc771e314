// json.h - writes JSON to a file, with the commas and quotes where they belong.
//
//     struct json json = {.out = stdout};
//     json_open(&json, NULL, '{');
//     json_string(&json, "name", task->name);
//     json_number(&json, "attempt", "%u", task->attempt);
//     json_line(&json);  // {"name":"a","attempt":1} and a newline
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct json {
    FILE *out;
    bool is_next;  // a value precedes the next one in the same object or array
};

// The key is null for array items and for a value at the top level.
void json_open(struct json *json, const char *key, char bracket);  // '{' or '['
void json_close(struct json *json, char bracket);                  // '}' or ']'
void json_line(struct json *json);     // closes the object and ends the line
void json_newline(struct json *json);  // a line break between two values
void json_string(struct json *json, const char *key, const char *text);  // a null text becomes null
void json_bytes(struct json *json, const char *key, const char *bytes, size_t length);
void json_hex(struct json *json, const char *key, const unsigned char *bytes, size_t length);
void json_bool(struct json *json, const char *key, bool is_true);
void json_time(struct json *json, const char *key, int64_t time);  // 0 becomes null
void json_real(struct json *json, const char *key, const char *format, double number);
// Formats a number, or (json_plain) a string that needs no escapes, with printf.
void json_number(struct json *json, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void json_plain(struct json *json, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

// Writes only the quoted string. Bytes that are not UTF-8 become U+FFFD.
void json_text(FILE *out, const char *text);
