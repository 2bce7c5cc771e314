// simulate.c - `rota simulate`: what a job would come to on workers that are not there.
#include "cli/cli.h"
#include "lab/lab.h"
#include "os/os.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char usage[]
    = "    rota simulate job.yaml --workers 8x4 --bandwidth 1G\n\n"
      "usage: rota simulate FILE [OPTION...]\n"
      "       rota simulate --seed N [--seeds COUNT] [--trace] [--shrink] [--json]\n"
      "       rota simulate --tape FILE [--trace]\n\n"
      "    --workers 8x4         8 workers of 4 cores; 2x16,8x4 is several sizes (1x4)\n"
      "    --bandwidth 128M      of each worker, a second, both ways; a number alone is MiB (1G)\n"
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
      "    --gantt               a chart of the workers\n"
      "    --svg FILE, --perfetto FILE, --workflow FILE, --schedule FILE\n"
      "                          the course as a picture, trace, WfFormat 1.5, or schedule\n"
      "    --json                one object\n\n"
      "FILE is a job file, a workflow in WfFormat 1.5, or a graph in the format tg-1.\n"
      "doc/simulate.md says what is modelled.\n";

enum { WORKERS_MAX = 100000, CORES_MAX = 65536 };

struct request {
    const char *file, *replay, *svg, *perfetto, *workflow, *schedule;
    struct lab_setting setting;
    struct lab_options options;
    double seconds_each;
    bool json, gantt;
};

static double seconds_now(void)
{
    return (double)os_spent() * 1e-9;
}

// ---- Words -----------------------------------------------------------------------------------

static bool refuse_word(const char *option, const char *word, const char *expected)
{
    fprintf(stderr, "rota simulate: %s %s: expected %s\n", option, word, expected);
    return false;
}

static bool workers_take(struct request *request, const char *text)
{
    const char *expected = "workers x cores, like 8x4 or 2x16,8x4";
    struct lab_setting *setting = &request->setting;
    uint32_t count = 0;
    free(setting->cores);
    setting->cores = plan_take(WORKERS_MAX, sizeof *setting->cores);
    for (const char *at = text;; at++) {
        char *end;
        unsigned long workers = strtoul(at, &end, 10);
        if (end == at || *end != 'x') return refuse_word("--workers", text, expected);
        at = end + 1;
        unsigned long cores = strtoul(at, &end, 10);
        bool sound = end != at && workers && cores && cores <= CORES_MAX
                     && workers <= WORKERS_MAX - count;
        if (!sound || (*end && *end != ',')) return refuse_word("--workers", text, expected);
        for (; workers; workers--) setting->cores[count++] = (uint32_t)cores;
        at = end;
        if (!*at) break;
    }
    setting->cluster.cores = setting->cores;
    setting->cluster.worker_count = count;
    return true;
}

static bool bandwidth_take(struct request *request, const char *text)
{
    static const char units[] = "KMGT";
    static const double factors[] = {1.0 / 1024, 1, 1024, 1048576};
    char *end;
    double number = strtod(text, &end);
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) number *= factors[unit - units];
    end += unit != NULL;
    bool fine = !*end || (unit && (!strcmp(end, "iB/s") || !strcmp(end, "B/s")));
    if (end == text || !fine || !(number > 0) || number > 1e12)
        return refuse_word("--bandwidth", text, "a number of MiB, or one with K, M, G or T");
    request->setting.cluster.bandwidth = number;
    return true;
}

static bool number_take(const char *option, const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    if (end == text || *end || !(*number >= 0) || *number > 1e15)
        return refuse_word(option, text, "a number from 0 on");
    return true;
}

static bool whole_take(const char *option, const char *text, uint64_t *number)
{
    double value;
    if (!number_take(option, text, &value)) return false;
    *number = (uint64_t)value;
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
    return refuse_word(option, text, words);
}

static bool value_take(struct request *request, const char *option, const char *text)
{
    struct lab_options *options = &request->options;
    int choice;
    if (!strcmp(option, "--workers")) return workers_take(request, text);
    if (!strcmp(option, "--bandwidth")) return bandwidth_take(request, text);
    if (!strcmp(option, "--delay")) return number_take(option, text, &options->delay);
    if (!strcmp(option, "--patience")) return number_take(option, text, &options->patience);
    if (!strcmp(option, "--seconds")) return number_take(option, text, &request->seconds_each);
    if (!strcmp(option, "--effort")) return whole_take(option, text, &options->steps_max);
    if (!strcmp(option, "--seed")) return whole_take(option, text, &options->seed);
    if (!strcmp(option, "--policy")) {
        if (!choice_take(option, text, "plan|pull", &choice)) return false;
        options->policy = choice ? ROTA_POLICY_PULL : ROTA_POLICY_PLAN;
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

static const char **path_of(struct request *request, const char *option)
{
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
                                         "--info",    "--network"};
    for (size_t i = 0; i < sizeof valued / sizeof *valued; i++)
        if (!strcmp(word, valued[i])) return true;
    return false;
}

// Returns the exit status, or -1 to go on.
static int words_take(struct request *request, int count, char **words)
{
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
        if (path) *path = words[++i];
        else if (is_valued(word) && !value_take(request, word, words[i + 1])) return 2;
        else if (is_valued(word)) i++;
        else if (!strcmp(word, "--json")) request->json = true;
        else if (!strcmp(word, "--gantt")) request->gantt = true;
        else if (!strcmp(word, "--by-rank")) request->options.by_rank = true;
        else if (!is_option && !request->file) request->file = word;
        else {
            fprintf(stderr, "rota simulate: %s: %s\n\n%s", word,
                    is_option ? "no such option" : "one file at a time", usage);
            return 2;
        }
    }
    if (request->file) return -1;
    fprintf(stderr, "rota simulate: which file?\n\n%s", usage);
    return 2;
}

// ---- What comes out ----------------------------------------------------------------------------

typedef void write_fn(const struct lab_job *job, const struct lab_setting *setting,
                      const struct lab_course *course, FILE *out);

static void schedule_write(const struct lab_job *job, const struct lab_setting *setting,
                           const struct lab_course *course, FILE *out)
{
    (void)setting;
    lab_schedule(job, course, out);
}

static bool file_write(const char *path, write_fn *write, const struct request *request,
                       const struct lab_job *job, const struct lab_course *course)
{
    if (!path) return true;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) abort();
    write(job, &request->setting, course, out);
    fclose(out);
    bool fine = os_file_write(path, text, size);
    if (!fine) fprintf(stderr, "rota simulate: %s: %s\n", path, strerror(errno));
    free(text);
    return fine;
}

static double plan_us(const struct lab_course *course)
{
    return course->planned ? course->plan_seconds / (double)course->planned * 1e6 : 0;
}

static void json_write(const struct request *request, const struct lab_job *job,
                       const struct lab_course *course)
{
    static const char *const infos[] = {"exact", "user", "mean"};
    const struct lab_options *options = &request->options;
    struct lab_stage *stages = plan_take(job->graph.task_count, sizeof *stages);
    uint32_t count = lab_critical_path(job, course, stages);
    double total = course->search_seconds + course->plan_seconds + course->core_seconds;
    fputs("{\"name\":", stdout);
    json_text(stdout, job->name);
    printf(",\"tasks\":%u,\"workers\":%u,\"bandwidth_mib\":%g,\"policy\":\"%s\",\"info\":\"%s\","
           "\"delay\":%g,\"makespan\":%.17g,\"lower_bound\":%.17g,"
           "\"predicted\":%.17g,\"transfers\":%llu,"
           "\"mib_moved\":%.17g,\"plan_us_per_task\":%.3f,\"plans\":%u,\"search_seconds\":%.6f,"
           "\"replans\":%u,\"replan_us\":%.3f,"
           "\"deciding_seconds\":%.6f,\"seconds\":%.6f,\"events\":%llu,\"moves\":%llu,"
           "\"critical_path\":[",
           job->graph.task_count, request->setting.cluster.worker_count,
           request->setting.cluster.bandwidth,
           request->replay ? "replay" : options->policy == ROTA_POLICY_PLAN ? "plan" : "pull",
           infos[options->info], options->delay, course->makespan,
           plan_lower_bound(&job->graph, &request->setting.cluster), course->predicted,
           (unsigned long long)course->transfers, course->mib, plan_us(course), course->plans,
           course->search_seconds, course->replans,
           course->replans ? course->replan_seconds / course->replans * 1e6 : 0, total,
           course->seconds, (unsigned long long)course->events,
           (unsigned long long)course->moves);
    for (uint32_t i = 0; i < count; i++) {
        if (i) fputs(",", stdout);
        json_text(stdout, job->names[stages[i].task]);
    }
    puts("]}");
    free(stages);
}

static void path_write(const struct lab_job *job, const struct lab_course *course)
{
    static const char *const waits[] = {"", "", "after a transfer", "when a core was free"};
    enum { SHOWN = 12 };
    struct lab_stage *stages = plan_take(job->graph.task_count, sizeof *stages);
    uint32_t count = lab_critical_path(job, course, stages);
    printf("the way to its end, %u tasks:\n", count);
    for (uint32_t i = 0; i < count; i++) {
        if (count > SHOWN && i == SHOWN / 2) {
            printf("    ... %u more\n", count - SHOWN);
            i = count - SHOWN / 2;
        }
        uint32_t task = stages[i].task;
        printf("%12.6g s  ", course->began[task]);
        plain_write(stdout, job->names[task], strlen(job->names[task]));
        if (*job->kinds[task] && strcmp(job->kinds[task], job->names[task])) {
            fputs(" ", stdout);
            plain_write(stdout, job->kinds[task], strlen(job->kinds[task]));
        }
        printf(" on worker %u %s\n", course->worker[task], waits[stages[i].waited]);
    }
    free(stages);
}

static void text_write(const struct request *request, const struct lab_job *job,
                       const struct lab_course *course)
{
    double bound = plan_lower_bound(&job->graph, &request->setting.cluster), used = 0, cores = 0;
    for (uint32_t i = 0; i < job->graph.task_count; i++)
        used += job->graph.seconds[i] * job->graph.tasks[i].cores;
    for (uint32_t i = 0; i < request->setting.cluster.worker_count; i++)
        cores += request->setting.cores[i];
    printf("%u tasks on %u workers take %.6g s; no schedule takes less than %.6g s\n",
           job->graph.task_count, request->setting.cluster.worker_count, course->makespan, bound);
    printf("%.6g core seconds, %.0f%% of what is there; %llu transfers, %.6g MiB\n", used,
           course->makespan > 0 ? 100 * used / (cores * course->makespan) : 0,
           (unsigned long long)course->transfers, course->mib);
    if (course->plans)
        printf("%u plans were tried in %.3f s; one costs %.2f us a task\n", course->plans,
               course->search_seconds, plan_us(course));
    path_write(job, course);
    if (request->gantt) lab_chart(job, &request->setting, course, stdout);
}

static bool all_fit(const struct request *request, const struct lab_job *job)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < request->setting.cluster.worker_count; i++)
        if (most < request->setting.cores[i]) most = request->setting.cores[i];
    for (uint32_t i = 0; i < job->graph.task_count; i++) {
        if (job->graph.tasks[i].cores <= most) continue;
        fprintf(stderr, "%s: task %s needs %u cores, and no worker has more than %u\n",
                request->file, job->names[i], job->graph.tasks[i].cores, most);
        return false;
    }
    return true;
}

static int simulate(struct request *request, const struct lab_job *job)
{
    struct plan_schedule schedule = plan_schedule_take(job->graph.task_count);
    struct lab_course course = lab_course_take(job->graph.task_count);
    bool fine = !request->replay
                || lab_read_schedule(&schedule, request->replay, job, &request->setting);
    int status = fine ? 0 : 2;
    if (fine && request->replay) {
        double before = seconds_now();
        lab_replay(job, &request->setting, &schedule, &course);
        course.seconds = seconds_now() - before;
    } else if (fine && !lab_run(job, &request->setting, &request->options, &course)) {
        status = 1;
    }
    if (status == 1) fputs("rota simulate: some tasks never ran\n", stderr);
    if (!status) {
        if (request->json) json_write(request, job, &course);
        else text_write(request, job, &course);
        bool written = file_write(request->svg, lab_svg, request, job, &course)
                       && file_write(request->perfetto, lab_perfetto, request, job, &course)
                       && file_write(request->workflow, lab_workflow, request, job, &course)
                       && file_write(request->schedule, schedule_write, request, job, &course);
        if (!written) status = 1;
    }
    plan_schedule_release(&schedule);
    lab_course_release(&course);
    return status;
}

int command_simulate(int count, char **words)
{
    if (swarm_is_meant(count, words)) return command_swarm(count, words);
    struct request request = {.seconds_each = 1};
    struct lab_job job = {0};
    request.setting.cluster
        = (struct plan_cluster){.slots = 4, .slots_each = 2, .bandwidth = 1024, .shared = true};
    request.options = (struct lab_options){.policy = ROTA_POLICY_PLAN, .patience = 0.1,
                                           .steps_max = 10000000, .seed = 1,
                                           .seconds_now = seconds_now};
    workers_take(&request, "1x4");
    int status = words_take(&request, count, words);
    if (status < 0) {
        bool fine = lab_read(&job, request.file, request.seconds_each) && all_fit(&request, &job);
        status = fine ? simulate(&request, &job) : 2;
    }
    lab_job_release(&job);
    free(request.setting.cores);
    return status;
}
