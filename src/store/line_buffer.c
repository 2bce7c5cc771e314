// line_buffer.c - fast building and parsing of text: numbers, ids of tasks and objects.
#include "store/line_buffer.h"

#include <stdlib.h>
#include <string.h>

// ---- Building ----------------------------------------------------------------

void line_clear(struct line *line)
{
    line->length = 0;
    line->failed = false;
    if (line->data) line->data[0] = '\0';
}

void line_release(struct line *line)
{
    free(line->data);
    *line = (struct line){0};
}

static bool line_reserve(struct line *line, size_t more)
{
    if (line->length + more + 1 <= line->capacity) return true;
    size_t capacity = (line->length + more + 1) * 2 + 256;
    char *data = realloc(line->data, capacity);
    if (!data) {
        line->failed = true;
        return false;
    }
    line->data = data;
    line->capacity = capacity;
    return true;
}

void line_add(struct line *line, const char *text, size_t length)
{
    if (!line_reserve(line, length)) return;
    memcpy(line->data + line->length, text, length);
    line->length += length;
    line->data[line->length] = '\0';
}

void line_add_char(struct line *line, char c)
{
    line_add(line, &c, 1);
}

void line_add_word(struct line *line, const char *word)
{
    line_add(line, word, strlen(word));
}

static void add_digits(struct line *line, uint64_t number, uint32_t base)
{
    char digits[24];
    size_t at = sizeof digits;
    do digits[--at] = "0123456789abcdef"[number % base];
    while (number /= base);
    line_add(line, digits + at, sizeof digits - at);
}

void line_add_number(struct line *line, uint64_t number)
{
    add_digits(line, number, 10);
}

void line_add_task(struct line *line, rota_task_id task)
{
    line_add_number(line, task.job);
    line_add_char(line, '.');
    line_add_number(line, task.task);
}

void line_add_object(struct line *line, rota_object_id id)
{
    add_digits(line, id.high, 16);
    line_add_char(line, '-');
    add_digits(line, id.low, 16);
}

// ---- Parsing -----------------------------------------------------------------

bool text_read_char(const char **text, char c)
{
    if (**text != c) return false;
    ++*text;
    return true;
}

bool text_read_word(const char **text, const char *word)
{
    size_t length = strlen(word);
    if (strncmp(*text, word, length) != 0) return false;
    *text += length;
    return true;
}

bool text_read_number(const char **text, uint64_t *number)
{
    const char *at = *text;
    uint64_t sum = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        uint64_t digit = (uint64_t)(*at - '0');
        if (sum > (UINT64_MAX - digit) / 10) return false;
        sum = sum * 10 + digit;
    }
    if (at == *text) return false;
    *number = sum;
    *text = at;
    return true;
}

static bool read_hexadecimal(const char **text, uint64_t *number)
{
    const char *at = *text;
    uint64_t sum = 0;
    for (; at - *text < 16; at++) {
        bool letter = *at >= 'a' && *at <= 'f';
        if (!letter && (*at < '0' || *at > '9')) break;
        sum = sum << 4 | (uint64_t)(letter ? *at - 'a' + 10 : *at - '0');
    }
    if (at == *text) return false;
    *number = sum;
    *text = at;
    return true;
}

bool text_read_object(const char **text, rota_object_id *id)
{
    return read_hexadecimal(text, &id->high) && text_read_char(text, '-')
           && read_hexadecimal(text, &id->low);
}

void content_write(const struct rota_content *content, char text[CONTENT_TEXT])
{
    text[0] = content->kind;
    text[1] = ':';
    for (size_t i = 0; i < sizeof content->hash; i++) {
        text[2 + 2 * i] = "0123456789abcdef"[content->hash[i] >> 4];
        text[3 + 2 * i] = "0123456789abcdef"[content->hash[i] & 15];
    }
    text[CONTENT_TEXT - 1] = 0;
}

bool content_read(const char *text, struct rota_content *content)
{
    content->kind = text[0];
    if (strlen(text) != CONTENT_TEXT - 1 || text[1] != ':') return false;
    for (size_t i = 0; i < sizeof content->hash; i++) {
        const char pair[] = {text[2 + 2 * i], text[3 + 2 * i], 0}, *at = pair;
        uint64_t byte;
        if (!read_hexadecimal(&at, &byte) || *at) return false;
        content->hash[i] = (uint8_t)byte;
    }
    return true;
}
