// simulate_options.c - `rota simulate`: its options.
#include "cli/simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// ---- Values ------------------------------------------------------------------------------------

enum { SIM_WORKERS, SIM_BANDWIDTH, SIM_FAULTS, SIM_EFFORT, SIM_SEED, SIM_DB };

static bool whole_read(const char *text, uint64_t *number)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    *number = value >= 0 && value <= 1e15 ? (uint64_t)value : 0;
    return end != text && !*end && value >= 0 && value <= 1e15;
}

static bool value_take(void *values, uint32_t number, const char *value)
{
    struct simulate_request *request = values;
    switch (number) {
    case SIM_WORKERS: return value_workers(&request->setting, value);
    case SIM_BANDWIDTH: return value_bandwidth(value, &request->setting.cluster.bandwidth);
    case SIM_EFFORT: return whole_read(value, &request->options.steps_max);
    case SIM_SEED: return whole_read(value, &request->options.seed);
    case SIM_DB:
        request->is_database = true;
        return *(request->file = value);
    default:
        request->has_faults = true;
        return value_faults(value, &request->options.faults);
    }
}

// A database is recognized by its first bytes, also without --db.
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

// Returns -1, or the exit status.
static int options_agree(const struct command *command, struct simulate_request *request)
{
    bool decides = !request->replay && !request->recorded;
    if (!decides && (request->has_faults || request->runs > 1))
        return command_wrong(command,
                             "options --faults and --runs exclude --replay and --recorded");
    if (!request->is_database) request->is_database = begins_as_database(request->file);
    if (request->is_database) {
        if (request->recorded && request->replay)
            return command_wrong(command, "options --recorded and --replay exclude each other");
        return -1;
    }
    if (request->recorded) return command_wrong(command, "option --recorded needs a database");
    if (request->job) return command_wrong(command, "option --job needs a database");
    return -1;
}

static void choices_apply(struct simulate_request *request)
{
    struct plan_cluster *cluster = &request->setting.cluster;
    bool is_free = request->network;
    request->options.policy = request->policy ? ROTA_POLICY_PULL : ROTA_POLICY_PLAN;
    cluster->any_source = request->sources;
    cluster->shared = !is_free;
    cluster->slots = is_free ? UINT32_MAX : 4;
    cluster->slots_each = is_free ? UINT32_MAX : 2;
    whatif_setting_lose(&request->setting, request->options.faults.loss);
}

static void defaults_set(struct simulate_request *request)
{
    request->seconds_each = 1;
    request->price = -1;
    request->runs = 1;
    request->setting.cluster
        = (struct plan_cluster){.slots = 4, .slots_each = 2, .bandwidth = 1024, .shared = true};
    request->options = (struct whatif_options){.policy = ROTA_POLICY_PLAN, .patience = 0.1,
                                            .steps_max = 10000000, .seed = 1,
                                            .faults = {.back = 60, .lease = 60, .retries = 3},
                                            .seconds_now = request->options.seconds_now};
    value_workers(&request->setting, "1x4");
}

// The options of the cluster simulator, which was a part of this command.
static const char *cluster_option(int count, char **words)
{
    static const char *const options[] = {"--seeds", "--tape", "--trace", "--shrink"};
    for (int i = 0; i < count; i++)
        for (size_t k = 0; k < sizeof options / sizeof *options; k++)
            if (strcmp(words[i], options[k]) == 0) return options[k];
    return count && strcmp(words[0], "--seed") == 0 && count <= 2 ? "--seed" : NULL;
}

int simulate_read(const struct command *command, struct simulate_request *request, int count,
                  char **words)
{
    struct arguments arguments;
    const char *option = cluster_option(count, words);
    if (option)
        return command_wrong(command, "%s: the cluster simulator is now the program rota-sim (see "
                                      "rota-sim --help)", option);
    defaults_set(request);
    int status = options_read(command, request, value_take, &arguments, count, words);
    if (status >= 0) return status;
    if (request->file && arguments.count)
        return command_wrong(command, "unexpected argument '%s'", arguments.items[0]);
    if (arguments.count) request->file = arguments.items[0];
    if (!request->file) return command_wrong(command, "missing argument FILE");
    choices_apply(request);
    return options_agree(command, request);
}

void simulate_release(struct simulate_request *request)
{
    free(request->setting.cores), free(request->setting.speed), free(request->setting.memory_mib);
    free(request->setting.disk_mib);
}

// ---- The table ---------------------------------------------------------------------------------

#define AT(field) offsetof(struct simulate_request, field)

const struct option_row simulate_rows[] = {
    {0, "workers", "LIST", "workers x cores, such as 8x4 or 2x16,8x4; 8x4x16G has memory, 8x4/200G "
     "a disk, 8x4:1.5 a speed", OPTION_OTHER, .at = SIM_WORKERS, .preset = "1x4",
     .needs = "workers x cores such as 8x4 or 2x16,8x4, with memory 8x4x16G, a disk 8x4/200G or a "
     "speed 8x4:1.5"},
    {0, "bandwidth", "SIZE", "bandwidth of each worker in each direction, in MiB a second or with "
     "K, M, G or T", OPTION_OTHER, .at = SIM_BANDWIDTH, .preset = "1G",
     .needs = "a number of MiB, or one with K, M, G or T"},
    {0, "latency", "SECONDS", "latency of a message, and of a copy", OPTION_DECIMAL,
     .at = AT(setting.cluster.latency), .preset = "0"},
    {0, "network", "fair|free", "whether transfers share the bandwidth of a worker", OPTION_CHOICE,
     .at = AT(network), .preset = "fair"},
    {0, "sources", "maker|any", "whether copies come from the worker that made the file, or from "
     "any that has it", OPTION_CHOICE, .at = AT(sources), .preset = "maker"},
    {0, "policy", "plan|pull", "whether a plan assigns the tasks, or idle workers pull them",
     OPTION_CHOICE, .at = AT(policy), .preset = "plan"},
    {0, "info", "exact|user|mean", "which durations and sizes the scheduler knows: all, the mean "
     "of each kind of task, or the mean of all", OPTION_CHOICE, .at = AT(options.info),
     .preset = "exact"},
    {0, "delay", "SECONDS", "least time between two decisions", OPTION_DECIMAL,
     .at = AT(options.delay), .preset = "0"},
    {0, "effort", "STEPS", "steps to search for a plan; 0 makes no plan", OPTION_OTHER,
     .at = SIM_EFFORT, .preset = "10000000", .needs = "a number"},
    {0, "patience", "SECONDS", "pull: how long a task waits for a worker that has its input",
     OPTION_DECIMAL, .at = AT(options.patience), .preset = "0.1"},
    {0, "by-rank", "", "pull: take the most urgent task of all queues, not a random one",
     OPTION_FLAG, .at = AT(options.by_rank)},
    {0, "seed", "N", "seed of all random numbers", OPTION_OTHER, .at = SIM_SEED, .preset = "1",
     .needs = "a number"},
    {0, "runs", "N", "number of simulations, with seeds from --seed on; shows the spread",
     OPTION_NUMBER, .at = AT(runs), .least = 1, .most = 100000, .preset = "1"},
    {0, "faults", "LIST", "faults: crash=N/h, back=SECONDS or never, lease=SECONDS, fail=SHARE, "
     "slow=SHARExTIMES, loss=SHARE, retries=N", OPTION_OTHER, .at = SIM_FAULTS,
     .needs = "crash=N/h, back=SECONDS or never, lease=SECONDS, fail=SHARE, slow=SHARExTIMES, "
     "loss=SHARE up to 0.9 or retries=N"},
    {0, "seconds", "SECONDS", "duration of a task of a job file", OPTION_DECIMAL,
     .at = AT(seconds_each), .preset = "1"},
    {0, "replay", "SCHEDULE", "follow this schedule", OPTION_PATH, .at = AT(replay)},
    {0, "db", "DATABASE", "simulate a job that was run, with its durations and sizes", OPTION_OTHER,
     .at = SIM_DB, .needs = "a path"},
    {0, "job", "N", "the number of the job in the database", OPTION_NUMBER, .at = AT(job),
     .least = 1, .most = UINT32_MAX, .preset = "the last one", .needs = "the number of a job"},
    {0, "recorded", "", "show how the job of the database really ran", OPTION_FLAG,
     .at = AT(recorded)},
    {0, "price", "P", "price of a core for an hour, to show what the job costs", OPTION_DECIMAL,
     .at = AT(price)},
    {0, "gantt", "", "print a chart of the workers", OPTION_FLAG, .at = AT(gantt)},
    {0, "svg", "FILE", "write a picture", OPTION_PATH, .at = AT(svg)},
    {0, "perfetto", "FILE", "write a trace for Perfetto", OPTION_PATH, .at = AT(perfetto)},
    {0, "workflow", "FILE", "write WfFormat 1.5", OPTION_PATH, .at = AT(workflow)},
    {0, "schedule", "FILE", "write the schedule, for --replay", OPTION_PATH, .at = AT(schedule)},
    {0, "json", "", "print a JSON object", OPTION_FLAG, .at = AT(json)},
    OPTION_ROWS_END};
