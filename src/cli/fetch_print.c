// fetch_print.c - prints a fetched task: for a shell, as JSON, as environment variables.
#define _GNU_SOURCE
#include "cli/handler.h"
#include "os/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

// ---- For shells --------------------------------------------------------------------------------

// Quotes any text as one word of a shell.
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

// NAME=PATH of each input.
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

// Writes a property of the task, and returns the name of its variable. Null: there is no more.
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

// "NAME=VALUE", to be freed. Null: after the last, or no memory.
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

static void list_put(struct json *json, const char *name, const wire_texts *texts)
{
    json_open(json, name, '[');
    for (uint32_t i = 0; i < texts->count; i++)
        json_bytes(json, NULL, texts->items[i].bytes, texts->items[i].length);
    json_close(json, ']');
}

static void text_put(struct json *json, const char *name, wire_text text)
{
    json_bytes(json, name, text_of(text), text.length);
}

void grant_print_json(FILE *out, const struct client_grant *grant)
{
    const struct wire_run *run = &grant->run;
    struct json json = {.out = out};
    json_open(&json, NULL, '{');
    json_plain(&json, "task", "%u.%u", grant->task.job, grant->task.task);
    json_number(&json, "token", "%" PRIu64, grant->token);
    json_number(&json, "attempt", "%u", grant->attempt);
    json_real(&json, "lease_seconds", "%g", (double)grant->lease / 1e6);
    text_put(&json, "name", run->name);
    list_put(&json, "command", &run->argv);
    list_put(&json, "env", &run->env);
    text_put(&json, "cwd", run->cwd);
    text_put(&json, "stdin", run->stdin_path);
    json_real(&json, "timeout_seconds", "%g", (double)run->timeout / 1e6);
    json_number(&json, "cores", "%u", run->cores);
    json_number(&json, "memory_mib", "%u", run->memory_mib);
    json_open(&json, "inputs", '[');
    for (uint32_t i = 0; i < run->inputs.count; i++) {
        json_open(&json, NULL, '{');
        json_string(&json, "name", text_of(run->inputs.items[i].name));
        text_put(&json, "path", run->inputs.items[i].path);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_line(&json);
}
