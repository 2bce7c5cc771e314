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
    struct query_options *options = values;
    char *end;
    (void)number;
    options->whole_job = true;
    if (!value) return true;
    errno = 0;
    unsigned long job = strtoul(value, &end, 10);
    options->job = (uint32_t)job;
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
static int arguments_sort(struct query_options *options)
{
    bool takes_tasks = options->command->argument.kind == ARGUMENT_TASK;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < options->name_count; i++) {
        char *word = options->names[i];
        bool is_file = !options->file && (!takes_tasks || is_job_file(word));
        if (is_file)
            options->file = word;
        else
            options->names[kept++] = word;
    }
    options->name_count = kept;
    if (!takes_tasks && kept)
        return command_wrong(options->command, "unexpected argument '%s'", options->names[0]);
    if (kept < options->command->argument.least)
        return command_wrong(options->command, "missing argument TASK");
    return -1;
}

int query_options_open(struct query_options *options, const struct command *command, int count,
                       char **words)
{
    struct arguments arguments;
    *options = (struct query_options){.command = command};
    int status = options_read(command, options, job_take, &arguments, count, words);
    options->names = arguments.items;
    options->name_count = arguments.count;
    if (status >= 0) return status;
    if (options->key && !options->server)
        return command_wrong(command, "option --key needs --server");
    return arguments_sort(options);
}

// ---- The database ---------------------------------------------------------------------------

static char *beside(const char *path, const char *name)
{
    char *copy = strdup(path), *out;
    if (!copy || asprintf(&out, "%s%s", dirname(copy), name) < 0) query_no_memory();
    free(copy);
    return out;
}

// The advice for a folder without a run.
static int nothing_print(const char *path, bool is_elsewhere, const char *what)
{
    fprintf(stderr,
            "rota: %s%s: nothing has been run %s yet\n"
            "rota: run a job file first (rota run FILE), or name the database (--db FILE)%s\n",
            what, path, is_elsewhere ? "there" : "here", server_hint());
    return 2;
}

int query_database_missing(const char *path)
{
    return nothing_print(path, false, "no database ");
}

static int path_find(struct query_options *options)
{
    if (options->path) return 0;
    char *file = options->file ? realpath(options->file, NULL) : NULL;
    if (options->file && !file) {
        fprintf(stderr, "rota: %s: %s\n", options->file, strerror(errno));
        return 2;
    }
    options->path = options->db ? strdup(options->db)
                    : file      ? beside(file, "/.rota/rota.db")
                                : NULL;
    if (!options->path) options->path = strdup(".rota/rota.db");
    if (!options->path) query_no_memory();
    free(file);
    options->folder = beside(options->path, "");
    if (os_file_is_there(options->path)) return 0;
    if (!options->db) return nothing_print(options->path, options->file, "no database ");
    fprintf(stderr, "rota: %s: %s\n", options->path, strerror(errno));
    return 2;
}

// ---- The job --------------------------------------------------------------------------------

static int job_of_file(struct query_options *options, rota_job_id *job)
{
    struct run_entry entry;
    char *path = realpath(options->file, NULL);
    bool known = path && run_entry_find(options->store, path, &entry);
    free(path);
    if (known) *job = entry.job;
    if (!known) fprintf(stderr, "rota: %s has not been run yet\n", options->file);
    return known ? 0 : 2;
}

static int fault_print(const struct query_options *options)
{
    const struct store_error *fault = store_error(options->store);
    fprintf(stderr, "rota: %s\n", fault->text);
    return store_exit_status(fault);
}

static int job_find(struct query_options *options, rota_job_id *job)
{
    rota_task_id id;
    bool named = options->name_count && query_id_read(options->names[0], &id);
    *job = (rota_job_id){options->job};
    if (!job->number && options->file) return job_of_file(options, job);
    if (!job->number && named) job->number = id.job;
    if (!job->number) job->number = snapshot_last_job(options->store);
    if (job->number) return 0;
    if (store_error(options->store)->fault) return fault_print(options);
    if (!options->db) return nothing_print(options->path, options->file, "no jobs in ");
    fprintf(stderr, "rota: %s: no jobs\n", options->path);
    return 2;
}

int query_options_load(struct query_options *options)
{
    struct store_error error;
    rota_job_id job;
    int status = path_find(options);
    if (status) return status;
    options->now = os_now();
    options->is_running = store_is_held(options->path);
    options->store = snapshot_open(options->path, &error);
    if (!options->store) {
        fprintf(stderr, "rota: %s\n", error.text);
        return store_exit_status(&error);
    }
    status = job_find(options, &job);
    if (status) return status;
    if (query_open(&options->query, options->store, job)) return 0;
    if (store_error(options->store)->fault) return fault_print(options);
    fprintf(stderr, "rota: %s: no such job: %u\n", options->path, job.number);
    return 2;
}

void query_options_unload(struct query_options *options)
{
    query_release(&options->query);
    store_close(options->store);
    options->store = NULL;
}

void query_options_close(struct query_options *options)
{
    query_options_unload(options);
    free(options->path);
    free(options->folder);
    *options = (struct query_options){0};
}

int query_command_run(const struct command *command, int count, char **words,
                      int (*show)(struct query_options *options))
{
    struct query_options options;
    int status = query_options_open(&options, command, count, words);
    if (status < 0) {
        status = query_options_load(&options);
        if (!status) status = show(&options);
    }
    query_options_close(&options);
    return status;
}

struct rota *query_options_core(struct query_options *options, int *status)
{
    const char *reason;
    struct query_waits *waits = &options->query.waits;
    if (options->waits)
        waits->known
            = sscanf(options->waits, "%" SCNd64 ",%" SCNd64, &waits->cached, &waits->inputs) == 2;
    struct rota *rota = query_core(&options->query, &reason);
    const struct store_error *fault = store_error(options->store);
    *status = rota ? 0 : fault->fault ? store_exit_status(fault) : 70;
    if (!rota) fprintf(stderr, "rota: %s\n", fault->fault ? fault->text : reason);
    return rota;
}

bool query_options_find(const struct query_options *options, const char *name, uint32_t *task)
{
    *task = query_find(&options->query, name);
    if (*task != QUERY_NOT_FOUND) return true;
    const char *nearest = query_nearest(&options->query, name);
    fprintf(stderr, "rota: no such task in job %u: ", options->query.job.number);
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
    if (!file->out) query_no_memory();
}

int output_file_close(struct output_file *file, const struct command *command, const char *path,
                      bool is_json)
{
    char name[sizeof command->output_name + 8];
    if (fclose(file->out)) query_no_memory();
    snprintf(name, sizeof name, "%s", command->output_name);
    if (is_json) snprintf(strrchr(name, '.'), 8, ".json");
    const char *out = path ? path : isatty(STDOUT_FILENO) ? name : "-";
    bool to_output = strcmp(out, "-") == 0;
    bool fine = to_output
                    ? fwrite(file->bytes, 1, file->size, stdout) == file->size && !fflush(stdout)
                    : os_file_write(out, file->bytes, file->size);
    free(file->bytes);
    if (!fine)
        fprintf(stderr, "rota %s: cannot write %s: %s\n", command->name,
                to_output ? "the standard output" : out,
                errno == ENOENT ? "its folder does not exist" : strerror(errno));
    else if (!to_output)
        printf("%s\n", out);
    return fine ? 0 : 70;
}
