// keys.c - the words of a job file.
#include "job/file/internal.h"

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
