// fetched_task.c - a task that was fetched, for people, scripts and programs.
#define _GNU_SOURCE
#include "cli/handler.h"
#include "job/file/jobfile.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- For shells --------------------------------------------------------------------------------

// As one word, whatever is in it.
static void word_write(FILE *out, const char *text)
{
    putc('\'', out);
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", out);
        else
            putc(*text, out);
    putc('\'', out);
}

static void words_write(FILE *out, const wire_texts *texts)
{
    for (uint32_t i = 0; i < texts->count; i++) {
        if (i) putc(' ', out);
        word_write(out, texts->items[i].bytes);
    }
}

// NAME=PATH, as far as a file has one.
static void inputs_write(FILE *out, const wire_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        char *text = NULL;
        if (asprintf(&text, "%s=%s", files->items[i].name.bytes, files->items[i].path.bytes) < 0)
            return;
        if (i) putc(' ', out);
        word_write(out, text);
        free(text);
    }
}

static const char *text_of(wire_text text)
{
    return text.bytes ? text.bytes : "";
}

// What a handler is told, by name. Null behind the last.
static const char *value_write(FILE *out, const struct client_grant *grant, uint32_t at)
{
    const struct wire_run *run = &grant->run;
    switch (at) {
    case 0: fprintf(out, "%u.%u", grant->task.job, grant->task.task); return "ROTA_TASK";
    case 1: fprintf(out, "%" PRIu64, grant->token); return "ROTA_TOKEN";
    case 2: fprintf(out, "%u", grant->attempt); return "ROTA_ATTEMPT";
    case 3: fprintf(out, "%g", (double)grant->lease / 1e6); return "ROTA_LEASE";
    case 4: fputs(text_of(run->name), out); return "ROTA_NAME";
    case 5: words_write(out, &run->argv); return "ROTA_COMMAND";
    case 6: words_write(out, &run->env); return "ROTA_ENV";
    case 7: fputs(text_of(run->cwd), out); return "ROTA_CWD";
    case 8: fputs(text_of(run->stdin_path), out); return "ROTA_STDIN";
    case 9: inputs_write(out, &run->inputs); return "ROTA_INPUTS";
    default: return NULL;
    }
}

// "NAME=VALUE", to be freed. Null: behind the last, or no memory.
static char *pair_make(const struct client_grant *grant, uint32_t at)
{
    char *value = NULL, *pair = NULL;
    size_t size;
    FILE *out = open_memstream(&value, &size);
    if (!out) return NULL;
    const char *name = value_write(out, grant, at);
    if (fclose(out) == 0 && name && asprintf(&pair, "%s=%s", name, value) < 0) pair = NULL;
    free(value);
    return pair;
}

char **grant_environment(const struct client_grant *grant)
{
    enum { PAIRS_MAX = 16 };
    char **environment = calloc(PAIRS_MAX, sizeof *environment);
    for (uint32_t i = 0; environment && i < PAIRS_MAX - 1; i++)
        if (!(environment[i] = pair_make(grant, i))) break;
    return environment;
}

void grant_environment_free(char **environment)
{
    for (char **pair = environment; pair && *pair; pair++) free(*pair);
    free(environment);
}

void grant_print_shell(FILE *out, const struct client_grant *grant)
{
    char **environment = grant_environment(grant);
    for (char **pair = environment; pair && *pair; pair++) {
        size_t name = (size_t)(strchr(*pair, '=') - *pair);
        fprintf(out, "%.*s=", (int)name, *pair);
        word_write(out, *pair + name + 1);
        putc('\n', out);
    }
    grant_environment_free(environment);
}

// ---- For programs ------------------------------------------------------------------------------

static void list_write(FILE *out, const char *name, const wire_texts *texts)
{
    fprintf(out, ",\"%s\":[", name);
    for (uint32_t i = 0; i < texts->count; i++) {
        if (i) putc(',', out);
        json_text_part(out, texts->items[i].bytes, texts->items[i].length);
    }
    putc(']', out);
}

static void member_write(FILE *out, const char *name, wire_text text)
{
    fprintf(out, ",\"%s\":", name);
    json_text_part(out, text_of(text), text.length);
}

void grant_print_json(FILE *out, const struct client_grant *grant)
{
    const struct wire_run *run = &grant->run;
    fprintf(out, "{\"task\":\"%u.%u\",\"token\":%" PRIu64 ",\"attempt\":%u,\"lease_seconds\":%g",
            grant->task.job, grant->task.task, grant->token, grant->attempt,
            (double)grant->lease / 1e6);
    member_write(out, "name", run->name);
    list_write(out, "command", &run->argv);
    list_write(out, "env", &run->env);
    member_write(out, "cwd", run->cwd);
    member_write(out, "stdin", run->stdin_path);
    fprintf(out, ",\"timeout_seconds\":%g,\"cores\":%u,\"memory_mib\":%u,\"inputs\":[",
            (double)run->timeout / 1e6, run->cores, run->memory_mib);
    for (uint32_t i = 0; i < run->inputs.count; i++) {
        fputs(i ? ",{\"name\":" : "{\"name\":", out);
        json_text(out, text_of(run->inputs.items[i].name));
        member_write(out, "path", run->inputs.items[i].path);
        putc('}', out);
    }
    fputs("]}\n", out);
}
