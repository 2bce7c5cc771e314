// plain_text.c - prints untrusted text without characters that could harm a terminal.
#include "base/base.h"
#include "os/print.h"

#include <string.h>

// Characters that move the cursor, change the terminal, or make one text look like another.
static bool is_harmful(uint32_t number)
{
    bool control = number < 32 || (number >= 127 && number < 160);
    bool turns = (number >= 0x202a && number <= 0x202e) || (number >= 0x2066 && number <= 0x2069);
    bool unseen = (number >= 0x200b && number <= 0x200f) || number == 0x2028 || number == 0x2029
                  || number == 0xfeff;
    return control || turns || unseen;
}

static size_t bytes_write(FILE *out, const char *text, size_t length)
{
    size_t width = 0;
    for (size_t i = 0; i < length; i++)
        width += (size_t)fprintf(out, "\\x%02x", (unsigned char)text[i]);
    return width;
}

// Escapes harmful characters. Codes 128 to 255 are shown as their two bytes of UTF-8, so they
// differ from single bytes that are not UTF-8.
size_t plain_write(FILE *out, const char *text, size_t length)
{
    size_t width = 0;
    for (size_t size; length; text += size, length -= size) {
        uint32_t number = 0;
        size = character_read(text, length, &number);
        if (!size)
            width += bytes_write(out, text, size = 1);
        else if (!is_harmful(number))
            width += fwrite(text, 1, size, out) > 0;
        else if (number < 256)
            width += bytes_write(out, text, size);
        else
            width += (size_t)fprintf(out, "\\u%04x", number);
    }
    return width;
}

void plain_word_write(FILE *out, const char *word)
{
    size_t length = strlen(word);
    bool bare = length
                && strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789_.,:/=+-@%")
                       == length;
    if (!bare) putc('\'', out);
    for (size_t part; length; word += part, length -= part) {
        part = strcspn(word, "'");
        plain_write(out, word, part);
        if (part == length) break;
        fputs("'\\''", out);
        part++;
    }
    if (!bare) putc('\'', out);
}

void plain_lines_write(FILE *out, const char *text, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        size_t part = at;
        while (part < length && text[part] != '\n' && text[part] != '\t') part++;
        plain_write(out, text + at, part - at);
        if (part < length) putc(text[part], out);
        at = part;
    }
}

// ---- Output that arrives in pieces ------------------------------------------------------------

static size_t size_of(char first)
{
    unsigned char lead = (unsigned char)first;
    return lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
}

static bool continues(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

// The number of bytes at the end that begin an incomplete character.
static size_t cut_length(const char *bytes, size_t count)
{
    size_t length = 1;
    while (length < PLAIN_CUT && length < count && continues(bytes[count - length])) length++;
    return size_of(bytes[count - length]) > length ? length : 0;
}

static void cut_write(struct plain_log *log)
{
    plain_write(stdout, log->cut, log->cut_length);
    log->cut_length = 0;
}

void plain_log_add(struct plain_log *log, const char *bytes, size_t count)
{
    if (!count) return;
    log->is_open = bytes[count - 1] != '\n';
    for (; count && log->cut_length; bytes++, count--) {
        if (!continues(*bytes)) break;
        log->cut[log->cut_length++] = *bytes;
        if (log->cut_length == size_of(*log->cut)) cut_write(log);
    }
    if (!count) return;
    cut_write(log);
    log->cut_length = cut_length(bytes, count);
    memcpy(log->cut, bytes + count - log->cut_length, log->cut_length);
    plain_lines_write(stdout, bytes, count - log->cut_length);
}

void plain_log_end(struct plain_log *log)
{
    cut_write(log);
    if (log->is_open) putchar('\n');
    log->is_open = false;
}
