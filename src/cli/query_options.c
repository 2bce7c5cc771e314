// query_options.c - commands that ask about a run: their options, the database and the job.
#define _GNU_SOURCE
#include "cli/query_options.h"
#include "os/os.h"
#include "run/run.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- Options --------------------------------------------------------------------------------

enum { DB = 256, JSON };

static const struct option longs[]
    = {{"all", no_argument, NULL, 'a'},          {"follow", no_argument, NULL, 'f'},
       {"raw", no_argument, NULL, 'r'},          {"attempt", required_argument, NULL, 'n'},
       {"output", required_argument, NULL, 'o'}, {"job", required_argument, NULL, 'j'},
       {"db", required_argument, NULL, DB},      {"json", no_argument, NULL, JSON},
       {"help", no_argument, NULL, 'h'},         {"planned", required_argument, NULL, 'p'},
       {"content", required_argument, NULL, 'c'}, {"waits", required_argument, NULL, 't'},
       {0}};
// Of `cancel`, where a whole job is meant and its number may be left out.
static const struct option longs_whole[] = {{"job", optional_argument, NULL, 'w'},
                                            {"db", required_argument, NULL, DB},
                                            {"json", no_argument, NULL, JSON},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};

int asker_wrong(const struct asker *asker, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "rota %s: ", asker->use->name);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fprintf(stderr, "\n'rota %s --help' says more\n", asker->use->name);
    return 2;
}

static bool number_read(const char *text, uint32_t *number)
{
    char *end;
    errno = 0;
    unsigned long value = strtoul(text, &end, 10);
    if (errno || *end || *text < '0' || *text > '9' || !value || value > UINT32_MAX) return false;
    *number = (uint32_t)value;
    return true;
}

static bool option_take(struct asker *asker, int option)
{
    switch (option) {
    case 'a': return asker->all = true;
    case 'f': return asker->follow = true;
    case 'r': return asker->raw = true;
    case 'n': return number_read(optarg, &asker->attempt);
    case 'o': return (asker->out = optarg) != NULL;
    case 'p': return (asker->planned = optarg) != NULL;
    case 'c': return (asker->content = optarg) != NULL;
    case 't': return (asker->waits = optarg) != NULL;
    case 'w': asker->whole_job = true; return !optarg || number_read(optarg, &asker->job);
    case 'j': return number_read(optarg, &asker->job);
    case DB: return (asker->db = optarg) != NULL;
    case JSON: return asker->json = true;
    default: return false;
    }
}

static bool is_taken(const struct asker *asker, int option)
{
    return option == 'j' || option == 'h' || option > 255 || strchr(asker->use->options, option);
}

// -1: go on; else the exit status.
static int options_read(struct asker *asker, int count, char **words)
{
    bool whole = strchr(asker->use->options, 'w') != NULL;
    int option;
    optind = 0;
    opterr = 0;
    while ((option = getopt_long(count + 1, words - 1, whole ? ":h" : ":afo:h",
                                 whole ? longs_whole : longs, NULL))
           != -1) {
        const char *said = words[optind - 2];
        if (option == 'h') {
            fputs(asker->use->usage, stdout);
            return 0;
        }
        if (option == ':') return asker_wrong(asker, "%s: something is missing behind it", said);
        if (option == '?' || !is_taken(asker, option))
            return asker_wrong(asker, "%s is not an option of it", said);
        if (!option_take(asker, option)) return asker_wrong(asker, "'%s' is not a number", optarg);
    }
    asker->names = words + optind - 1;
    asker->name_count = (uint32_t)(count + 1 - optind);
    return -1;
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

// A word that is a job file says where to look; all others are tasks.
static int words_deal(struct asker *asker)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < asker->name_count; i++) {
        char *word = asker->names[i];
        bool is_file = !asker->file && (asker->use->words == ASKER_FILE || is_job_file(word));
        if (is_file)
            asker->file = word;
        else
            asker->names[kept++] = word;
    }
    asker->name_count = kept;
    if (asker->use->words == ASKER_FILE && kept)
        return asker_wrong(asker, "'%s': one job file is enough", asker->names[0]);
    return -1;
}

int asker_open(struct asker *asker, const struct asker_use *use, int count, char **words)
{
    *asker = (struct asker){.use = use};
    int status = options_read(asker, count, words);
    return status >= 0 ? status : words_deal(asker);
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
                "rota: nothing was run %s: there is no %s\n"
                "rota: run a job file first (rota run FILE), or name one, or say --db FILE\n",
                asker->file ? "there" : "here", asker->path);
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
    if (!known) fprintf(stderr, "rota: %s was never run\n", asker->file);
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
    fprintf(stderr, "rota: %s: has no job\n", asker->path);
    return 2;
}

int asker_load(struct asker *asker)
{
    struct store_error error;
    rota_job_id job;
    int status = path_find(asker);
    if (status) return status;
    asker->now = os_now();
    asker->at_work = store_is_held(asker->path);
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
        fprintf(stderr, "rota: %s: has no job %u\n", asker->path, job.number);
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
    fputs("rota: there is no task \"", stderr);
    plain_write(stderr, name, strlen(name));
    fprintf(stderr, "\" in job %u", asker->ask.job.number);
    if (nearest) {
        fputs("; did you mean \"", stderr);
        plain_write(stderr, nearest, strlen(nearest));
        fputs("\"?", stderr);
    }
    putc('\n', stderr);
    return false;
}

// ---- What is written to a file ----------------------------------------------------------------

void asker_file_open(struct asker_file *file)
{
    *file = (struct asker_file){0};
    file->out = open_memstream(&file->bytes, &file->size);
    if (!file->out) ask_no_memory();
}

int asker_file_close(const struct asker *asker, struct asker_file *file, const char *name)
{
    if (fclose(file->out)) ask_no_memory();
    const char *out = asker->out ? asker->out : isatty(STDOUT_FILENO) ? name : "-";
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
