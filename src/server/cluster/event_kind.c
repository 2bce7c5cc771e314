// event_kind.c - the kinds of events: what they are about, and states.
#include "base/base.h"
#include "server/cluster/event_kind.h"
#include "store/line_buffer.h"

#include <stdio.h>
#include <string.h>

enum { KIND_TEXT = 24 };

// States of jobs that the core does not have, and those of workers.
static const char *const others[] = {"task",   "job",  "worker", "SUBMITTED", "PAUSED",
                                     "silent", "left", "here"};

// Null after the last kind.
static const char *kind_at(uint32_t i)
{
    uint32_t other_count = sizeof others / sizeof *others;
    if (i < other_count) return others[i];
    i -= other_count;
    if (i < words_state.count) return words_state.items[i] ? words_state.items[i] : "";
    return word_of(words_job_state, i - words_state.count);
}

static void upper_write(const char *word, char out[KIND_TEXT])
{
    size_t length = 0;
    for (; length < KIND_TEXT - 1 && word[length]; length++) {
        bool is_small = word[length] >= 'a' && word[length] <= 'z';
        out[length] = (char)(is_small ? word[length] - 'a' + 'A' : word[length]);
    }
    out[length] = 0;
}

bool event_kind_check(const char *word, char *fault, size_t size)
{
    struct word_meant meant = {0};
    char upper[KIND_TEXT];
    const char *kind;
    upper_write(word, upper);
    for (uint32_t i = 0; (kind = kind_at(i)); i++) {
        if (*kind && strcmp(kind, word) == 0) return true;
        word_try(&meant, word, kind);
        word_try(&meant, upper, kind);
    }
    if (meant.word)
        snprintf(fault, size, "unknown kind '%.40s' (did you mean %s?)", word, meant.word);
    else
        snprintf(fault, size,
                 "unknown kind '%.40s': expected task, job, worker or a state such as RUNNING",
                 word);
    return false;
}
