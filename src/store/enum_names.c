// enum_names.c - enums as the words that the tables have.
#include "store/line_buffer.h"

#include <string.h>

static const char *const states[ROTA_TASK_STATES] = {
    [ROTA_TASK_IDLE] = "IDLE",       [ROTA_TASK_STAGED] = "STAGED",
    [ROTA_TASK_QUEUED] = "QUEUED",   [ROTA_TASK_WAITING] = "WAITING",
    [ROTA_TASK_BLOCKED] = "BLOCKED", [ROTA_TASK_READY] = "READY",
    [ROTA_TASK_HELD] = "HELD",       [ROTA_TASK_OFFERED] = "OFFERED",
    [ROTA_TASK_SHARED] = "SHARED",   [ROTA_TASK_ASSIGNED] = "ASSIGNED",
    [ROTA_TASK_RUNNING] = "RUNNING", [ROTA_TASK_SUCCEEDED] = "SUCCESS",
    [ROTA_TASK_FAILED] = "FAILED",   [ROTA_TASK_ABORTED] = "ABORTED",
    [ROTA_TASK_FROZEN] = "FROZEN",
};
static const char *const outcomes[] = {NULL, "ok", "exit", "error", "aborted", "lost"};
static const char *const policies[] = {NULL, "claim", "pull", "plan"};
static const char *const on_failures[] = {NULL, "block", "fail_job"};
static const char *const job_states[] = {"OPEN", "LAST", "FAILED", "CLOSED"};
static const char *const accesses[] = {NULL, "read", "write"};
static const char *const wait_modes[] = {"all", "some"};

#define WORDS(list)                                                                                \
    {                                                                                              \
        list, sizeof list / sizeof *list                                                           \
    }
const struct words words_state = WORDS(states), words_outcome = WORDS(outcomes),
                   words_policy = WORDS(policies), words_on_failure = WORDS(on_failures),
                   words_job_state = WORDS(job_states), words_access = WORDS(accesses),
                   words_wait_mode = WORDS(wait_modes);

const char *word_of(struct words words, uint32_t number)
{
    return number < words.count ? words.items[number] : NULL;
}

// A null text means the number that has no word. False: no such word.
bool word_find(struct words words, const char *text, uint32_t *number)
{
    for (*number = 0; *number < words.count; ++*number) {
        const char *word = words.items[*number];
        if (text && word ? strcmp(text, word) == 0 : text == word) return true;
    }
    return false;
}
