// client_probe.c - calls rota_client.h as each line of standard input says, for client tests.
//
// Answers each line by one of its own: the code, then the result or the reason.
#include <rota_client.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { WORDS_MAX = 64, LINE_MAX_BYTES = 4096 };

struct probe {
    struct rota_client *client;
    struct rota_client_job *job;
    struct rota_client_wish wish;
    struct rota_client_grant grant;
    char *words[WORDS_MAX + 1];  // a null after the last
    int count;
    bool keeps;                  // what tasks make from now on
    struct rota_client_text text;
    char text_path[300], folder[300];
};

// "-" is nothing.
static const char *word(const struct probe *probe, int at)
{
    return at < probe->count && strcmp(probe->words[at], "-") != 0 ? probe->words[at] : NULL;
}

static int64_t number(const struct probe *probe, int at)
{
    return at < probe->count ? strtoll(probe->words[at], NULL, 10) : 0;
}

static rota_task_id task_of(const struct probe *probe)
{
    rota_task_id id = {0, 0};
    if (word(probe, 1)) sscanf(word(probe, 1), "%u.%u", &id.job, &id.task);
    return id;
}

static void tell(const struct probe *probe, enum rota_client_code code)
{
    printf("%d %s\n", code, code ? rota_client_reason(probe->client) : "");
}

static const char *const *rest(const struct probe *probe, int from)
{
    return (const char *const *)probe->words + from;
}

// ---- Jobs ------------------------------------------------------------------------------------

static void do_connect(struct probe *probe)
{
    struct rota_client_options options = {.address = word(probe, 1), .key_file = word(probe, 2)};
    options.role = (enum rota_client_role)number(probe, 3);
    options.patience = number(probe, 4) * 1000;
    tell(probe, rota_client_connect(probe->client, &options));
}

static void do_job(struct probe *probe)
{
    struct rota_client_job_options options = {.name = word(probe, 1)};
    options.policy = (enum rota_policy)number(probe, 2);
    rota_client_job_close(probe->job);
    probe->job = rota_client_job_open(&options);
    puts(probe->job ? "0" : "2");
}

// task NAME NEEDS LANE INPUT OUTPUT WORD...; an input is TASK:FILE.
static void do_task(struct probe *probe)
{
    uint32_t needs[WORDS_MAX];
    const char *outputs[] = {word(probe, 5), NULL}, *at = word(probe, 2);
    struct rota_client_input input = {.name = "input"};
    struct rota_client_task task = {.argv = rest(probe, 6), .name = word(probe, 1)};
    task.needs = needs;
    for (; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        needs[task.need_count++] = (uint32_t)strtoul(at, NULL, 10);
    task.lane = word(probe, 3);
    task.access = task.lane ? ROTA_ACCESS_WRITE : ROTA_ACCESS_NONE;
    task.outputs = outputs;
    task.keep = probe->keeps;
    if (word(probe, 4)) {
        input.task = (uint32_t)number(probe, 4);
        input.output = strchr(word(probe, 4), ':') + 1;
        task.inputs = &input;
        task.input_count = 1;
    }
    uint32_t made = rota_client_task_add(probe->job, &task);
    printf("%u %s\n", made, made ? "" : rota_client_job_reason(probe->job));
}

static void do_keeps(struct probe *probe)
{
    probe->keeps = number(probe, 1);
    puts("0");
}

// Adds a chain of N tasks: each depends on the one before.
static void do_chain(struct probe *probe)
{
    const char *argv[] = {"true", NULL};
    uint32_t last = 0;
    for (int64_t i = 0; i < number(probe, 1); i++) {
        struct rota_client_task task = {.argv = argv, .needs = &last, .need_count = last != 0};
        last = rota_client_task_add(probe->job, &task);
    }
    printf("%u\n", last);
}

// Adds a task that depends on the first N.
static void do_after(struct probe *probe)
{
    const char *argv[] = {"true", NULL};
    uint32_t count = (uint32_t)number(probe, 2), *needs = calloc(count + 1, sizeof *needs);
    struct rota_client_task task = {.argv = argv, .name = word(probe, 1), .needs = needs};
    for (; needs && task.need_count < count; task.need_count++)
        needs[task.need_count] = task.need_count + 1;
    printf("%u\n", rota_client_task_add(probe->job, &task));
    free(needs);
}

static void do_submit(struct probe *probe)
{
    rota_job_id id;
    enum rota_client_code code = rota_client_submit(probe->client, probe->job, &id);
    printf("%d ", code);
    if (code)
        puts(rota_client_reason(probe->client));
    else
        printf("%u\n", id.number);
}

// text FILE FORMAT FOLDER POLICY: what is in the file, as one text.
static void text_submit(struct probe *probe)
{
    static char text[1 << 20];
    rota_job_id id;
    FILE *file = fopen(probe->text_path, "r");
    size_t length = file ? fread(text, 1, sizeof text, file) : 0;
    if (file) fclose(file);
    enum rota_client_code code
        = rota_client_submit_text(probe->client, text, length, &probe->text, &id);
    printf("%d ", code);
    if (!code) printf("%u", id.number);
    for (const char *at = code == ROTA_CLIENT_WRONG ? probe->text.mistakes : ""; *at; at++)
        putchar(*at == '\n' ? '|' : *at);
    printf("%s\n", code ? rota_client_reason(probe->client) : "");
}

static void do_text(struct probe *probe)
{
    snprintf(probe->text_path, sizeof probe->text_path, "%s", word(probe, 1));
    snprintf(probe->folder, sizeof probe->folder, "%s", word(probe, 3) ? word(probe, 3) : "");
    probe->text = (struct rota_client_text){.path = "night.yaml"};
    probe->text.format = (enum rota_client_format)number(probe, 2);
    probe->text.folder = word(probe, 3) ? probe->folder : NULL;
    probe->text.policy = (enum rota_policy)number(probe, 4);
    text_submit(probe);
}

static void do_wait(struct probe *probe)
{
    struct rota_client_sum sum = {0};
    rota_time timeout = number(probe, 2) * 1000;
    enum rota_client_code code = rota_client_wait(
        probe->client, (rota_job_id){task_of(probe).job}, timeout ? timeout : ROTA_NEVER, &sum);
    if (code)
        tell(probe, code);
    else
        printf("0 %u %u %u %u\n", sum.tasks, sum.succeeded, sum.failed, sum.aborted);
}

static void do_look(struct probe *probe)
{
    struct rota_client_view view;
    enum rota_client_code code = rota_client_look(probe->client, task_of(probe), &view);
    if (code)
        tell(probe, code);
    else if (task_of(probe).task)
        printf("0 %s %d %d %u '%s' '%s'\n", rota_task_state_name(view.state), view.outcome,
               view.status, view.attempt, view.name, view.worker);
    else
        printf("0 %s %u %u %u %u %u\n",
               view.is_over     ? "over"
               : view.is_paused ? "paused"
                                : "active", view.sum.tasks,
               view.sum.succeeded, view.sum.failed, view.sum.aborted, view.running);
}

static void do_log(struct probe *probe)
{
    const char *text;
    size_t length;
    uint32_t attempt = (uint32_t)number(probe, 2);
    enum rota_client_code code
        = attempt ? rota_client_log_of(probe->client, task_of(probe), attempt, 0, &text, &length)
                  : rota_client_log(probe->client, task_of(probe), 0, &text, &length);
    if (code)
        tell(probe, code);
    else
        printf("0 %zu %.*s\n", length, (int)strcspn(text, "\n"), text);
}

static void do_ask(struct probe *probe)
{
    const char *text;
    enum rota_client_code code = rota_client_ask(probe->client, rest(probe, 1), &text);
    if (code)
        tell(probe, code);
    else
        printf("0 %.*s\n", (int)strcspn(text, "\n"), text);
}

static void do_cancel(struct probe *probe)
{
    tell(probe, rota_client_cancel(probe->client, task_of(probe)));
}

static void do_retry(struct probe *probe)
{
    tell(probe, rota_client_retry(probe->client, task_of(probe)));
}

// pause JOB, or pause lane|worker NAME; likewise the others.
static void do_rest(struct probe *probe)
{
    struct rota_client *client = probe->client;
    bool pauses = strcmp(probe->words[0], "pause") == 0;
    bool drains = strcmp(probe->words[0], "drain") == 0;
    const char *part = word(probe, 1), *name = word(probe, 2);
    rota_job_id job = {task_of(probe).job};
    if (strcmp(part, "lane") == 0)
        tell(probe, pauses ? rota_client_lane_pause(client, name)
                           : rota_client_lane_resume(client, name));
    else if (strcmp(part, "worker") == 0)
        tell(probe, pauses   ? rota_client_worker_pause(client, name)
                    : drains ? rota_client_worker_drain(client, name)
                             : rota_client_worker_resume(client, name));
    else
        tell(probe, pauses ? rota_client_pause(client, job) : rota_client_resume(client, job));
}

static void do_forget(struct probe *probe)
{
    tell(probe, rota_client_forget(probe->client, (rota_job_id){task_of(probe).job}));
}

// ---- Data --------------------------------------------------------------------------------------

// get NAME PATH TIMEOUT OFFSET: says how many bytes are there then.
static void do_get(struct probe *probe)
{
    uint64_t offset = (uint64_t)number(probe, 4);
    int file = open(word(probe, 2), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    enum rota_client_code code = rota_client_get(probe->client, word(probe, 1), file,
                                                 number(probe, 3) * 1000, &offset);
    printf("%d %" PRIu64 " %s\n", code, offset, code ? rota_client_reason(probe->client) : "");
    if (file >= 0) close(file);
}

static void do_put(struct probe *probe)
{
    char name[ROTA_CLIENT_CONTENT];
    int file = open(word(probe, 1), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    enum rota_client_code code = rota_client_put(probe->client, file, name);
    printf("%d %s\n", code, code ? rota_client_reason(probe->client) : name);
    if (file >= 0) close(file);
}

static void do_locate(struct probe *probe)
{
    struct rota_client_object object;
    enum rota_client_code code = rota_client_locate(probe->client, word(probe, 1), &object);
    if (code)
        tell(probe, code);
    else
        printf("0 %u.%u %" PRIu64 " %s%s%s %s\n", object.task.job, object.task.task, object.bytes,
               object.is_directory ? "directory " : "", object.is_kept ? "kept " : "",
               object.state, object.where);
}

static void do_keep(struct probe *probe)
{
    tell(probe, rota_client_keep(probe->client, word(probe, 1)));
}

static void do_unkeep(struct probe *probe)
{
    tell(probe, rota_client_unkeep(probe->client, word(probe, 1)));
}

// ---- Tasks by hand ---------------------------------------------------------------------------

static void fetch(struct probe *probe)
{
    rota_client_grant_release(&probe->grant);
    enum rota_client_code code = rota_client_fetch(probe->client, &probe->wish, &probe->grant);
    const struct rota_client_grant *grant = &probe->grant;
    if (code) {
        tell(probe, code);
        return;
    }
    printf("0 %u.%u %" PRIu64 " %u %s", grant->task.job, grant->task.task, grant->token,
           grant->attempt, grant->name);
    for (const char *const *at = grant->argv; *at; at++) printf(" %s", *at);
    puts("");
}

static void do_fetch(struct probe *probe)
{
    probe->wish = (struct rota_client_wish){.task = task_of(probe)};
    probe->wish.wait = number(probe, 2) * 1000;
    probe->wish.lease = number(probe, 3) * 1000;
    fetch(probe);
}

// A grant that comes from elsewhere: TASK TOKEN FLAGS.
static void do_held(struct probe *probe)
{
    rota_client_grant_release(&probe->grant);
    probe->grant.task = task_of(probe);
    probe->grant.token = (uint64_t)number(probe, 2);
    probe->grant.flags = (uint32_t)number(probe, 3);
    puts("0");
}

static void do_renew(struct probe *probe)
{
    tell(probe, rota_client_renew(probe->client, &probe->grant));
}

static void do_deliver(struct probe *probe)
{
    tell(probe, rota_client_deliver(probe->client, &probe->grant, word(probe, 1)));
}

static void do_fail(struct probe *probe)
{
    struct rota_client_failure failure = {.status = (int32_t)number(probe, 1)};
    failure.give_back = number(probe, 2);
    tell(probe, rota_client_fail(probe->client, &probe->grant, &failure));
}

// ---- Events ------------------------------------------------------------------------------------

static void do_follow(struct probe *probe)
{
    struct rota_client_place place = {0, 0};
    if (word(probe, 1)) sscanf(word(probe, 1), "%" SCNu64 ".%u", &place.sequence, &place.place);
    tell(probe, rota_client_follow(probe->client, word(probe, 1) ? &place : NULL, rest(probe, 2)));
}

static void do_event(struct probe *probe)
{
    struct rota_client_event event;
    enum rota_client_code code
        = rota_client_event(probe->client, number(probe, 1) * 1000, &event);
    if (code)
        tell(probe, code);
    else
        printf("0 %" PRIu64 ".%u %d %u.%u %s %s\n", event.place.sequence, event.place.place,
               event.kind, event.task.job, event.task.task, event.state, event.name);
}

// Limits the address space in MiB from now on; 0: no limit.
static void do_limit(struct probe *probe)
{
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = number(probe, 1) ? (rlim_t)number(probe, 1) << 20 : limit.rlim_max;
    printf("%d\n", setrlimit(RLIMIT_AS, &limit));
}

// ---- Lines -------------------------------------------------------------------------------------

static const struct {
    const char *name;
    void (*act)(struct probe *probe);
} verbs[] = {
    {"connect", do_connect}, {"job", do_job},       {"task", do_task},   {"chain", do_chain},
    {"submit", do_submit},   {"wait", do_wait},     {"look", do_look},   {"log", do_log},
    {"ask", do_ask},         {"cancel", do_cancel}, {"retry", do_retry}, {"forget", do_forget},
    {"fetch", do_fetch},     {"again", fetch},      {"renew", do_renew}, {"deliver", do_deliver},
    {"fail", do_fail},       {"follow", do_follow}, {"event", do_event}, {"limit", do_limit},
    {"pause", do_rest},      {"resume", do_rest},   {"drain", do_rest},  {"held", do_held},
    {"get", do_get},         {"put", do_put},       {"locate", do_locate}, {"keep", do_keep},
    {"unkeep", do_unkeep},   {"keeps", do_keeps},   {"text", do_text},   {"same", text_submit},
    {"after", do_after},
};

static void line_do(struct probe *probe, char *line)
{
    probe->count = 0;
    line[strcspn(line, "\n")] = 0;
    for (char *at = line; at && probe->count < WORDS_MAX;) {
        char *end = strchr(at, '\t');
        if (end) *end = 0;
        probe->words[probe->count++] = at;
        at = end ? end + 1 : NULL;
    }
    probe->words[probe->count] = NULL;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, probe->words[0]) == 0) verbs[i].act(probe);
    fflush(stdout);
}

int main(void)
{
    struct probe probe = {.client = rota_client_open()};
    char line[LINE_MAX_BYTES];
    if (!probe.client) return 1;
    while (fgets(line, sizeof line, stdin)) line_do(&probe, line);
    rota_client_grant_release(&probe.grant);
    rota_client_job_close(probe.job);
    rota_client_close(probe.client);
    return 0;
}
