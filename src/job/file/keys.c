// keys.c - the keys of a job file.
#include "base/base.h"
#include "job/file/internal.h"

#include <string.h>

const char *const task_words[TASK_KEYS] = {
    [KEY_NAME] = "name",   [KEY_FOREACH] = "foreach", [KEY_MATRIX] = "matrix",
    [KEY_TASKS] = "tasks", [KEY_RUN] = "run",         [KEY_NEEDS] = "needs",
    [KEY_WHEN] = "when",   [KEY_BUNDLE] = "bundle",   [KEY_LANE] = "lane",
    [KEY_GROUP] = "group", [KEY_ACCESS] = "access",   [KEY_IN] = "in",
    [KEY_OUT] = "out",     [KEY_KEEP] = "keep",       [KEY_CPUS] = "cpus",
    [KEY_MEM] = "mem",     [KEY_MACHINE] = "machine", [KEY_ENV] = "env",
    [KEY_CWD] = "cwd",     [KEY_STDIN] = "stdin",     [KEY_TIMEOUT] = "timeout",
    [KEY_GRACE] = "grace", [KEY_RETRIES] = "retries", [KEY_PRIORITY] = "priority",
    [KEY_CACHE] = "cache",
};

const char *const top_words[TOP_KEYS] = {
    [TOP_ROTA] = "rota",         [TOP_NAME] = "name",   [TOP_SCHEDULE] = "schedule",
    [TOP_DEFAULTS] = "defaults", [TOP_LANES] = "lanes", [TOP_ON_FAILURE] = "on_failure",
    [TOP_POLICY] = "policy",     [TOP_TASKS] = "tasks",
};

// Keys of similar programs. The strings are part of the table, so that the loader has no pointers
// to relocate.
static const struct {
    char word[20], key[10];
} synonyms[] = {
    {"cmd", "run"},           {"command", "run"},    {"script", "run"},
    {"exec", "run"},          {"shell", "run"},      {"depends", "needs"},
    {"deps", "needs"},        {"depends_on", "needs"}, {"dependencies", "needs"},
    {"requires", "needs"},    {"after", "needs"},    {"retry", "retries"},
    {"if", "when"},           {"condition", "when"}, {"input", "in"},
    {"inputs", "in"},         {"output", "out"},     {"outputs", "out"},
    {"artifacts", "out"},     {"cores", "cpus"},     {"threads", "cpus"},
    {"memory", "mem"},        {"ram", "mem"},        {"environment", "env"},
    {"dir", "cwd"},           {"workdir", "cwd"},    {"working_directory", "cwd"},
    {"host", "machine"},      {"time_limit", "timeout"}, {"queue", "lane"},
    {"jobs", "tasks"},        {"steps", "tasks"},    {"cron", "schedule"},
};

static const char *key_find(const char *key, const char *const *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (strcmp(words[i], key) == 0) return words[i];
    return NULL;
}

const char *key_synonym(const char *word, const char *const *words, uint32_t count)
{
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++)
        if (strcmp(word, synonyms[i].word) == 0) return key_find(synonyms[i].key, words, count);
    return NULL;
}

const char *key_meant(const char *word, const char *const *words, uint32_t count)
{
    struct word_meant meant = {0};
    const char *meant_key = NULL;
    for (uint32_t i = 0; i < count; i++) word_try(&meant, word, words[i]);
    if (meant.word) return meant.word;
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        const char *key = key_find(synonyms[i].key, words, count);
        uint32_t before = meant.word ? meant.mistakes : UINT32_MAX;
        if (key) word_try(&meant, word, synonyms[i].word);
        if (meant.word && meant.mistakes < before) meant_key = key;
    }
    return meant_key;
}
