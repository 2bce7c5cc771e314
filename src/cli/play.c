// play.c - `rota play`: reads plays from files and runs them, one after the other.
#include "cli/cli.h"
#include "os/os.h"
#include "sim/play/play.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: rota play [--trace] [--restart-everywhere] [--check | --no-check] FILE...\n"
    "       rota play --db DATABASE [--log-pages N] ... FILE\n\n"
    "    --trace               print every decision of the core as it happens\n"
    "    --restart-everywhere  rebuild the core from its stored rows after every statement\n"
    "    --check, --no-check   let the core check itself after every step (it does, unless told)\n"
    "    --db DATABASE         keep the rows in this file, and go on where it ends\n"
    "    --log-pages N         fold its log when it has so many pages (8192)\n";

enum { PLAY_BYTES_MAX = 1 << 30 };

static enum play_result file_play(const char *path, const struct play_options *options)
{
    size_t size = 0;
    char *text = os_file_read(path, PLAY_BYTES_MAX, &size);
    bool zero = text && memchr(text, 0, size);
    if (!text || zero) {
        printf("%s: %s\n", path, strerror(zero ? EILSEQ : errno));
        free(text);
        return PLAY_WRONG;
    }
    enum play_result result = play_run(path, text, options, stdout);
    free(text);
    return result;
}

static bool is_valued(const char *word)
{
    return strcmp(word, "--db") == 0 || strcmp(word, "--log-pages") == 0;
}

static bool value_take(const char *word, const char *value, struct play_options *options)
{
    if (!value || !*value) return false;
    if (strcmp(word, "--db") == 0) {
        options->database = value;
        return true;
    }
    char *end;
    long pages = strtol(value, &end, 10);
    options->log_pages = pages > 0 && pages < INT32_MAX ? (uint32_t)pages : 0;
    return !*end && options->log_pages;
}

// Returns false when there is no such option.
static bool option_take(const char *word, struct play_options *options)
{
    if (strcmp(word, "--trace") == 0) options->trace = true;
    else if (strcmp(word, "--restart-everywhere") == 0) options->restart_everywhere = true;
    else if (strcmp(word, "--check") == 0) options->check = true;
    else if (strcmp(word, "--no-check") == 0) options->check = false;
    else return false;
    return true;
}

static int files_play(int count, char **paths, const struct play_options *options)
{
    // A broken invariant stops the program on the spot; what was said before must be seen. A play
    // on a database says itself when something may not wait.
    setvbuf(stdout, NULL, options->database && !options->trace ? _IOFBF : _IOLBF, BUFSIZ);
    unsigned passed = 0, failed = 0;
    enum play_result worst = PLAY_PASSED;
    for (int i = 0; i < count; i++) {
        enum play_result result = file_play(paths[i], options);
        if (result == PLAY_PASSED) passed++;
        else failed++;
        if (result > worst) worst = result;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return (int)worst;
}

static int refuse(const char *what, const char *word)
{
    fprintf(stderr, "rota play: %s '%s'\n%s", what, word, usage);
    return 2;
}

int command_play(int count, char **words)
{
    struct play_options options = { .check = true };
    int at = 0;
    for (; at < count && words[at][0] == '-' && words[at][1]; at++) {
        const char *word = words[at];
        if (strcmp(word, "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (is_valued(word)) {
            if (++at < count && value_take(word, words[at], &options)) continue;
            return refuse("there is no proper value behind", word);
        }
        if (!option_take(word, &options)) return refuse("there is no option", word);
    }
    bool too_many = options.database && count - at > 1;
    if (too_many) return refuse("a database keeps one play, and there is also", words[at + 1]);
    if (at < count) return files_play(count - at, words + at, &options);
    fputs(usage, stderr);
    return 2;
}
