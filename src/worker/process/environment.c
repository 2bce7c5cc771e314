// environment.c - which variables of the worker's environment commands get.
//
// `rota run` passes on nearly everything. `rota worker` passes on a short list, so that clients
// cannot read variables of the worker, such as credentials.
#include "worker/process/internal.h"

#include <stdlib.h>
#include <string.h>

bool worker_sets(const char *item)
{
    static const char *const heads[]
        = {"ROTA_TASK=", "ROTA_ID=",  "ROTA_ATTEMPT=", "ROTA_TOKEN=", "ROTA_CPUS=",
           "ROTA_IN_",   "ROTA_OUT_", "TRACEPARENT=",  "TRACESTATE="};
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
        if (strncmp(item, heads[i], strlen(heads[i])) == 0) return true;
    return false;
}

// Variables that change how programs are loaded are not passed on, either.
static bool is_dropped(const char *item)
{
    return strncmp(item, "LD_", 3) == 0 || worker_sets(item);
}

// Whether "NAME=VALUE" matches "NAME", "NAME=OTHER" or "START*".
static bool is_named(const char *item, const char *pattern)
{
    size_t length = strcspn(pattern, "=*");
    if (strncmp(item, pattern, length) != 0) return false;
    return pattern[length] == '*' || item[length] == '=';
}

static bool is_in(const char *item, const char *const *patterns, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (is_named(item, patterns[i])) return true;
    return false;
}

static bool is_kept(const struct worker_options *options, const char *item)
{
    static const char *const basic[] = {"PATH", "HOME", "USER", "LANG", "LC_*", "TZ", "TMPDIR"};
    if (!options->cleans_environment) return true;
    return is_in(item, basic, sizeof basic / sizeof *basic)
           || is_in(item, options->env, options->env_count);
}

bool worker_passes_on(const struct worker_options *options, const char *item)
{
    return !is_dropped(item) && is_kept(options, item);
}

static bool is_set_again(const struct worker_options *options, const char *item)
{
    for (uint32_t i = 0; i < options->env_count; i++)
        if (strchr(options->env[i], '=') && is_named(item, options->env[i])) return true;
    return false;
}

static void environment_add(struct environment *environment, const char *item)
{
    if (strncmp(item, "PATH=", 5) == 0) environment->path = item + 5;
    environment->items[environment->count++] = (char *)item;
}

bool environment_init(struct environment *environment, const struct worker_options *options,
                      char **from)
{
    uint32_t count = 0;
    while (from[count]) count++;
    environment->path = "/usr/local/bin:/usr/bin:/bin";
    environment->items = calloc(count + options->env_count + 1, sizeof *environment->items);
    if (!environment->items) return false;
    for (uint32_t i = 0; i < count; i++)
        if (worker_passes_on(options, from[i]) && !is_set_again(options, from[i]))
            environment_add(environment, from[i]);
    for (uint32_t i = 0; i < options->env_count; i++)
        if (strchr(options->env[i], '=')) environment_add(environment, options->env[i]);
    return true;
}

void environment_release(struct environment *environment)
{
    free(environment->items);
    *environment = (struct environment){0};
}
