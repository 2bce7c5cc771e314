// simulate_options.c - `rota simulate`: its options.
#include "cli/cli.h"
#include "cli/simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "    rota simulate job.yaml --workers 8x4 --bandwidth 1G\n\n"
      "usage: rota simulate FILE [OPTION...]\n"
      "       rota simulate --db DATABASE [--job N] [--recorded] [OPTION...]\n"
      "       rota simulate --seed N [--seeds COUNT] [--trace] [--shrink] [--json]\n"
      "       rota simulate --tape FILE [--trace]\n\n"
      "    --workers 8x4         8 workers of 4 cores; 2x16,8x4 is several sizes (1x4);\n"
      "                          8x4x16G has memory, 8x4/200G a disk, 2x16:1.5,8x4 some that\n"
      "                          are faster\n"
      "    --bandwidth 128M      of each worker, a second, both ways; a number alone is MiB (1G)\n"
      "    --latency SECONDS     of a message, and before the first byte of a copy (0)\n"
      "    --sources maker|any   copies come from who made it, or anybody who has one (maker)\n"
      "    --faults WHAT,...     crash=N/h  back=SECONDS|never  lease=SECONDS  fail=SHARE\n"
      "                          slow=SHARExTIMES  loss=SHARE  retries=N\n"
      "    --runs N              with seeds from --seed on: the median, and the spread (1)\n"
      "    --policy plan|pull    who decides where tasks run (plan)\n"
      "    --info exact|user|mean  durations and sizes known: all, those of a kind, the mean\n"
      "    --delay SECONDS       least time between two decisions (0)\n"
      "    --effort STEPS        of looking for a plan; 0: none is made ahead (10000000)\n"
      "    --patience SECONDS    pull: how long a task waits for a worker with its input (0.1)\n"
      "    --by-rank             pull: the most urgent of all queues, not one by lot\n"
      "    --seed N              of everything that is drawn by lot (1)\n"
      "    --seconds S           what a task of a job file takes (1)\n"
      "    --replay SCHEDULE     this schedule instead of deciding anything\n"
      "    --network fair|free   links share their ends, or do not hinder each other (fair)\n"
      "    --db DATABASE         a job that was run, with what its tasks took and made\n"
      "    --job N               which one (the last)\n"
      "    --recorded            how it really went, instead of deciding anything\n"
      "    --price P             of a core for an hour, to say what it costs\n"
      "    --gantt               a chart of the workers\n"
      "    --svg FILE, --perfetto FILE, --workflow FILE, --schedule FILE\n"
      "                          the course as a picture, trace, WfFormat 1.5, or schedule\n"
      "    --json                one object\n\n"
      "FILE is a job file, a workflow in WfFormat 1.5, a graph in the format tg-1, or a database.\n"
      "doc/simulate.md says what is modelled.\n";

enum { RUNS_MAX = 100000 };

static bool job_take(struct simulate_request *request, const char *text)
{
    char *end;
    errno = 0;
    unsigned long number = strtoul(text, &end, 10);
    bool fine = *text >= '0' && *text <= '9' && !*end && !errno && number && number <= UINT32_MAX;
    if (!fine) return value_refuse("--job", text, "the number of a job");
    request->job = (uint32_t)number;
    return true;
}

static bool runs_take(struct simulate_request *request, const char *text)
{
    uint64_t number;
    if (!value_whole("--runs", text, &number)) return false;
    if (!number || number > RUNS_MAX) return value_refuse("--runs", text, "1 to 100000");
    request->runs = (uint32_t)number;
    return true;
}

static bool choice_take(const char *option, const char *text, const char *words, int *choice)
{
    size_t length = strlen(text);
    *choice = 0;
    for (const char *at = words; length; (*choice)++) {
        const char *end = strchr(at, '|');
        size_t size = end ? (size_t)(end - at) : strlen(at);
        if (size == length && memcmp(at, text, size) == 0) return true;
        if (!end) break;
        at = end + 1;
    }
    return value_refuse(option, text, words);
}

static bool value_take(struct simulate_request *request, const char *option, const char *text)
{
    struct lab_options *options = &request->options;
    int choice;
    if (!strcmp(option, "--workers")) return value_workers(&request->setting, text);
    if (!strcmp(option, "--bandwidth"))
        return value_bandwidth(text, &request->setting.cluster.bandwidth);
    if (!strcmp(option, "--delay")) return value_number(option, text, &options->delay);
    if (!strcmp(option, "--patience")) return value_number(option, text, &options->patience);
    if (!strcmp(option, "--seconds")) return value_number(option, text, &request->seconds_each);
    if (!strcmp(option, "--price")) return value_number(option, text, &request->price);
    if (!strcmp(option, "--job")) return job_take(request, text);
    if (!strcmp(option, "--latency"))
        return value_number(option, text, &request->setting.cluster.latency);
    if (!strcmp(option, "--faults")) {
        request->has_faults = true;
        return value_faults(text, &options->faults);
    }
    if (!strcmp(option, "--runs")) return runs_take(request, text);
    if (!strcmp(option, "--effort")) return value_whole(option, text, &options->steps_max);
    if (!strcmp(option, "--seed")) return value_whole(option, text, &options->seed);
    if (!strcmp(option, "--policy")) {
        if (!choice_take(option, text, "plan|pull", &choice)) return false;
        options->policy = choice ? ROTA_POLICY_PULL : ROTA_POLICY_PLAN;
    } else if (!strcmp(option, "--sources")) {
        if (!choice_take(option, text, "maker|any", &choice)) return false;
        request->setting.cluster.any_source = choice;
    } else if (!strcmp(option, "--info")) {
        if (!choice_take(option, text, "exact|user|mean", &choice)) return false;
        options->info = (enum lab_info)choice;
    } else {
        if (!choice_take(option, text, "fair|free", &choice)) return false;
        struct plan_cluster *cluster = &request->setting.cluster;
        cluster->shared = !choice;
        cluster->slots = choice ? UINT32_MAX : 4;
        cluster->slots_each = choice ? UINT32_MAX : 2;
    }
    return true;
}

static const char **path_of(struct simulate_request *request, const char *option)
{
    if (!strcmp(option, "--db")) return &request->file;
    if (!strcmp(option, "--replay")) return &request->replay;
    if (!strcmp(option, "--svg")) return &request->svg;
    if (!strcmp(option, "--perfetto")) return &request->perfetto;
    if (!strcmp(option, "--workflow")) return &request->workflow;
    return !strcmp(option, "--schedule") ? &request->schedule : NULL;
}

static bool is_valued(const char *word)
{
    static const char *const valued[] = {"--workers", "--bandwidth", "--delay",  "--patience",
                                         "--seconds", "--effort",    "--seed",   "--policy",
                                         "--info",    "--network",   "--price",  "--job",
                                         "--latency", "--faults",    "--runs",   "--sources"};
    for (size_t i = 0; i < sizeof valued / sizeof *valued; i++)
        if (!strcmp(word, valued[i])) return true;
    return false;
}

static int refuse_words(const char *reason)
{
    fprintf(stderr, "rota simulate: %s\n\n%s", reason, usage);
    return 2;
}

// A database is known by how it begins, whether or not --db said so.
static bool begins_as_database(const char *path)
{
    static const char first[] = "SQLite format 3";
    char begin[sizeof first] = {0};
    FILE *file = fopen(path, "re");
    bool same = file && fread(begin, sizeof first, 1, file) == 1
                && memcmp(begin, first, sizeof first) == 0;
    if (file) fclose(file);
    return same;
}

static int words_agree(struct simulate_request *request)
{
    lab_setting_lose(&request->setting, request->options.faults.loss);
    bool decides = !request->replay && !request->recorded;
    if (!decides && (request->has_faults || request->runs > 1))
        return refuse_words("--faults and --runs: not of a run that is fixed");
    if (!request->is_database) request->is_database = begins_as_database(request->file);
    if (request->is_database) {
        if (request->recorded && request->replay)
            return refuse_words("--recorded and --replay: either of them");
        return -1;
    }
    if (request->recorded) return refuse_words("--recorded: only a database knows how it went");
    if (request->job) return refuse_words("--job: only a database has several");
    return -1;
}

static void defaults_set(struct simulate_request *request)
{
    request->seconds_each = 1;
    request->price = -1;
    request->runs = 1;
    request->setting.cluster
        = (struct plan_cluster){.slots = 4, .slots_each = 2, .bandwidth = 1024, .shared = true};
    request->options = (struct lab_options){.policy = ROTA_POLICY_PLAN, .patience = 0.1,
                                            .steps_max = 10000000, .seed = 1,
                                            .faults = {.back = 60, .lease = 60, .retries = 3},
                                            .seconds_now = request->options.seconds_now};
    value_workers(&request->setting, "1x4");
}

int simulate_words(struct simulate_request *request, int count, char **words)
{
    defaults_set(request);
    for (int i = 0; i < count; i++) {
        const char *word = words[i], **path = path_of(request, word);
        if (!strcmp(word, "--help")) {
            fputs(usage, stdout);
            return 0;
        }
        bool is_option = word[0] == '-' && word[1];
        if ((path || is_valued(word)) && i + 1 == count) {
            fprintf(stderr, "rota simulate: %s needs a value\n", word);
            return 2;
        }
        if (path == &request->file) {
            if (request->file) return refuse_words("one file at a time");
            request->is_database = true;
        }
        if (path) *path = words[++i];
        else if (is_valued(word) && !value_take(request, word, words[i + 1])) return 2;
        else if (is_valued(word)) i++;
        else if (!strcmp(word, "--json")) request->json = true;
        else if (!strcmp(word, "--recorded")) request->recorded = true;
        else if (!strcmp(word, "--gantt")) request->gantt = true;
        else if (!strcmp(word, "--by-rank")) request->options.by_rank = true;
        else if (!is_option && !request->file) request->file = word;
        else {
            fprintf(stderr, "rota simulate: %s: %s\n\n%s", word,
                    is_option ? "no such option" : "one file at a time", usage);
            return 2;
        }
    }
    return request->file ? words_agree(request) : refuse_words("which file?");
}

void simulate_release(struct simulate_request *request)
{
    free(request->setting.cores), free(request->setting.speed), free(request->setting.memory_mib);
    free(request->setting.disk_mib);
}
