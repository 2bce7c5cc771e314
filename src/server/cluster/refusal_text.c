// refusal_text.c - the reason of a refused submission, in a sentence that names the task.
#include "server/cluster/submission_pieces.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char cluster_no_room[] = "out of memory for the submission";

enum { NAME_SHOWN = 32 };  // bytes of a name

struct sentence {
    char text[sizeof(((struct server *)0)->reason)];
    size_t length;
};

__attribute__((format(printf, 2, 3))) static void add(struct sentence *sentence, const char *format,
                                                      ...)
{
    size_t room = sizeof sentence->text - sentence->length;
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(sentence->text + sentence->length, room, format, arguments);
    va_end(arguments);
    if (length > 0) sentence->length += (size_t)length < room ? (size_t)length : room - 1;
}

// As much of the name as fits, in complete characters.
static int shown_length(const char *name)
{
    size_t length = strlen(name), at = 0;
    uint32_t number;
    if (length <= NAME_SHOWN) return (int)length;
    for (size_t size; (size = character_read(name + at, length - at, &number)) > 0; at += size)
        if (at + size > NAME_SHOWN) break;
    return (int)at;
}

static void add_task(struct sentence *sentence, const struct cluster_called *called,
                     rota_task_id task)
{
    uint32_t at = task.task - called->first;
    const char *name = !task.job && at < called->count ? called->texts[at].name : NULL;
    if (task.job) add(sentence, "%u.", task.job);
    add(sentence, "%u", task.task);
    if (!name || !cluster_is_name(wire_text_of(name))) return;
    int shown = shown_length(name);
    add(sentence, " \"%.*s%s\"", shown, name, name[shown] ? "..." : "");
}

static void add_cycle(struct sentence *sentence, const struct cluster_called *called,
                      const struct rota_fault *fault)
{
    uint32_t length = fault->cycle_length;
    uint32_t shown = length < ROTA_CYCLE_SHOWN ? length : ROTA_CYCLE_SHOWN;
    add(sentence, ": ");
    for (uint32_t i = 0; i < shown; i++) {
        add_task(sentence, called, fault->cycle[i]);
        add(sentence, " waits for ");
    }
    if (shown < length)
        add(sentence, "... and %u more, the last of which waits for ", length - shown);
    add_task(sentence, &(struct cluster_called){0}, fault->cycle[0]);
}

void cluster_fault_tell(struct cluster *cluster, const struct rota_fault *fault,
                    const struct cluster_called *called)
{
    struct sentence sentence = {.length = 0};
    char *reason = cluster->server->reason;
    if (fault->task.task && !fault->cycle_length) {
        add(&sentence, "task ");
        add_task(&sentence, called, fault->task);
        add(&sentence, ": ");
    }
    add(&sentence, "%s", reason);
    if (fault->other.task || fault->other.job) {
        add(&sentence, " (task ");
        add_task(&sentence, called, fault->other);
        add(&sentence, ")");
    }
    if (fault->cycle_length) add_cycle(&sentence, called, fault);
    memcpy(reason, sentence.text, sentence.length + 1);
}
