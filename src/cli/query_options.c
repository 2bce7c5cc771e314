// query_options.c - commands that inspect or control a run: their options, the database, the job.
#define _GNU_SOURCE
#include "cli/query_options.h"
#include "os/os.h"
#include "run/run.h"

#include <errno.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- Options --------------------------------------------------------------------------------

// `rota cancel --job` or `--job=7`.
static bool job_take(void *values, uint32_t number, const char *value)
{
    struct asker *asker = values;
    char *end;
    (void)number;
    asker->whole_job = true;
    if (!value) return true;
    errno = 0;
    unsigned long job = strtoul(value, &end, 10);
    asker->job = (uint32_t)job;
    return *value >= '0' && *value <= '9' && !errno && !*end && job && job <= UINT32_MAX;
}

static bool is_job_file(const char *word)
{
    static const char *const endings[] = {".yaml", ".yml", ".json", ".jsonl", ".ndjson"};
    size_t length = strlen(word);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t size = strlen(endings[i]);
        bool ends = length > size && strcmp(word + length - size, endings[i]) == 0;
        if (ends) return os_file_is_there(word);
    }
    return false;
}

// An argument that is a job file selects the database next to it; the others are tasks.
static int arguments_sort(struct asker *asker)
{
    bool takes_tasks = asker->command->argument.kind == ARGUMENT_TASK;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < asker->name_count; i++) {
        char *word = asker->names[i];
        bool is_file = !asker->file && (!takes_tasks || is_job_file(word));
        if (is_file)
            asker->file = word;
        else
            asker->names[kept++] = word;
    }
    asker->name_count = kept;
    if (!takes_tasks && kept)
        return command_wrong(asker->command, "unexpected argument '%s'", asker->names[0]);
    if (kept < asker->command->argument.least)
        return command_wrong(asker->command, "missing argument TASK");
    return -1;
}

int asker_open(struct asker *asker, const struct command *command, int count, char **words)
{
    struct arguments arguments;
    *asker = (struct asker){.command = command};
    int status = options_read(command, asker, job_take, &arguments, count, words);
    asker->names = arguments.items;
    asker->name_count = arguments.count;
    if (status >= 0) return status;
    if (asker->key && !asker->server) return command_wrong(command, "option --key needs --server");
    return arguments_sort(asker);
}

// ---- The database ---------------------------------------------------------------------------

static char *beside(const char *path, const char *name)
{
    char *copy = strdup(path), *out;
    if (!copy || asprintf(&out, "%s%s", dirname(copy), name) < 0) ask_no_memory();
    free(copy);
    return out;
}

static int path_find(struct asker *asker)
{
    if (asker->path) return 0;
    char *file = asker->file ? realpath(asker->file, NULL) : NULL;
    if (asker->file && !file) {
        fprintf(stderr, "rota: %s: %s\n", asker->file, strerror(errno));
        return 2;
    }
    asker->path = asker->db ? strdup(asker->db) : file ? beside(file, "/.rota/rota.db") : NULL;
    if (!asker->path) asker->path = strdup(".rota/rota.db");
    if (!asker->path) ask_no_memory();
    free(file);
    asker->folder = beside(asker->path, "");
    if (os_file_is_there(asker->path)) return 0;
    if (asker->db)
        fprintf(stderr, "rota: %s: %s\n", asker->path, strerror(errno));
    else
        fprintf(stderr,
                "rota: no database %s: nothing has been run %s yet\n"
                "rota: run a job file first (rota run FILE), or name the database (--db FILE)\n",
                asker->path, asker->file ? "there" : "here");
    return 2;
}

// ---- The job --------------------------------------------------------------------------------

static int job_of_file(struct asker *asker, rota_job_id *job)
{
    struct run_entry entry;
    char *path = realpath(asker->file, NULL);
    bool known = path && run_entry_find(asker->store, path, &entry);
    free(path);
    if (known) *job = entry.job;
    if (!known) fprintf(stderr, "rota: %s has not been run yet\n", asker->file);
    return known ? 0 : 2;
}

static int job_find(struct asker *asker, rota_job_id *job)
{
    rota_task_id id;
    bool named = asker->name_count && ask_id_read(asker->names[0], &id);
    *job = (rota_job_id){asker->job};
    if (!job->number && asker->file) return job_of_file(asker, job);
    if (!job->number && named) job->number = id.job;
    if (!job->number) job->number = look_last_job(asker->store);
    if (job->number) return 0;
    fprintf(stderr, "rota: %s: no jobs\n", asker->path);
    return 2;
}

int asker_load(struct asker *asker)
{
    struct store_error error;
    rota_job_id job;
    int status = path_find(asker);
    if (status) return status;
    asker->now = os_now();
    asker->is_running = store_is_held(asker->path);
    asker->store = store_look(asker->path, &error);
    if (!asker->store) {
        fprintf(stderr, "rota: %s\n", error.text);
        return store_exit_status(&error);
    }
    status = job_find(asker, &job);
    if (status) return status;
    if (ask_open(&asker->ask, asker->store, job)) return 0;
    const struct store_error *fault = store_error(asker->store);
    if (fault->fault)
        fprintf(stderr, "rota: %s\n", fault->text);
    else
        fprintf(stderr, "rota: %s: no such job: %u\n", asker->path, job.number);
    return fault->fault ? store_exit_status(fault) : 2;
}

void asker_unload(struct asker *asker)
{
    ask_release(&asker->ask);
    store_close(asker->store);
    asker->store = NULL;
}

void asker_close(struct asker *asker)
{
    asker_unload(asker);
    free(asker->path);
    free(asker->folder);
    *asker = (struct asker){0};
}

int asker_run(const struct command *command, int count, char **words,
              int (*show)(struct asker *asker))
{
    struct asker asker;
    int status = asker_open(&asker, command, count, words);
    if (status < 0) {
        status = asker_load(&asker);
        if (!status) status = show(&asker);
    }
    asker_close(&asker);
    return status;
}

struct rota *asker_core(struct asker *asker, int *status)
{
    const char *reason;
    struct ask_waits *waits = &asker->ask.waits;
    if (asker->waits)
        waits->known = sscanf(asker->waits, "%" SCNd64 ",%" SCNd64, &waits->cached, &waits->inputs)
                       == 2;
    struct rota *rota = ask_core(&asker->ask, &reason);
    const struct store_error *fault = store_error(asker->store);
    *status = rota ? 0 : fault->fault ? store_exit_status(fault) : 70;
    if (!rota) fprintf(stderr, "rota: %s\n", fault->fault ? fault->text : reason);
    return rota;
}

bool asker_find(const struct asker *asker, const char *name, uint32_t *task)
{
    *task = ask_find(&asker->ask, name);
    if (*task != ASK_NONE) return true;
    const char *nearest = ask_nearest(&asker->ask, name);
    fprintf(stderr, "rota: no such task in job %u: ", asker->ask.job.number);
    plain_write(stderr, name, strlen(name));
    if (nearest) {
        fputs(" (did you mean ", stderr);
        plain_write(stderr, nearest, strlen(nearest));
        fputs("?)", stderr);
    }
    putc('\n', stderr);
    return false;
}

// ---- Output to a file --------------------------------------------------------------------------

void output_file_open(struct output_file *file)
{
    *file = (struct output_file){0};
    file->out = open_memstream(&file->bytes, &file->size);
    if (!file->out) ask_no_memory();
}

int output_file_close(struct output_file *file, const struct command *command, const char *path,
                      bool is_json)
{
    char name[sizeof command->output_name + 8];
    if (fclose(file->out)) ask_no_memory();
    snprintf(name, sizeof name, "%s", command->output_name);
    if (is_json) snprintf(strrchr(name, '.'), 8, ".json");
    const char *out = path ? path : isatty(STDOUT_FILENO) ? name : "-";
    bool to_output = strcmp(out, "-") == 0;
    bool fine = to_output
                    ? fwrite(file->bytes, 1, file->size, stdout) == file->size && !fflush(stdout)
                    : os_file_write(out, file->bytes, file->size);
    free(file->bytes);
    if (!fine)
        fprintf(stderr, "rota: %s: %s\n", to_output ? "standard output" : out, strerror(errno));
    else if (!to_output)
        printf("%s\n", out);
    return fine ? 0 : 70;
}
