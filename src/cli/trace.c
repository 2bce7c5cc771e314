// trace.c - `rota trace`: all attempts of a job in the trace format of Chrome, which Perfetto
// reads.
#include "cli/query_options.h"

#include <inttypes.h>
#include <string.h>

static const char usage[]
    = "    rota trace -o night.json    then open it in ui.perfetto.dev or chrome://tracing\n\n"
      "usage: rota trace [-o FILE] [--job N] [--db DATABASE] [FILE]\n\n"
      "    -o, --output FILE   instead of the standard output (a terminal gets rota-trace.json)\n\n"
      "Attempts that ran side by side are on lines of their own; arrows lead from a task to those\n"
      "that waited for it.\n";

enum { PROCESS = 1 };

static rota_time first_of(const struct ask *ask)
{
    rota_time first = 0;
    for (uint32_t i = 0; i < ask->attempt_count; i++) {
        const struct ask_attempt *attempt = &ask->attempts[i];
        if (attempt->ran && (!first || attempt->began < first)) first = attempt->began;
    }
    return first;
}

static void lines_write(FILE *out, const struct ask *ask, uint32_t slots)
{
    fprintf(out, "{\"ph\":\"M\",\"pid\":%d,\"name\":\"process_name\",\"args\":{\"name\":", PROCESS);
    json_text(out, *ask->path ? ask->path : "rota");
    fputs("}}", out);
    for (uint32_t i = 0; i < slots; i++)
        fprintf(out,
                ",\n{\"ph\":\"M\",\"pid\":%d,\"tid\":%u,\"name\":\"thread_name\","
                "\"args\":{\"name\":\"slot %u\"}}",
                PROCESS, i + 1, i + 1);
}

static void attempt_write(FILE *out, const struct asker *asker, const struct ask_attempt *attempt,
                          rota_time first)
{
    const struct ask *ask = &asker->ask;
    const struct ask_task *task = &ask->tasks[attempt->task];
    rota_time ended = attempt->ended ? attempt->ended : asker->now;
    char text[ASK_TEXT];
    fputs(",\n{\"ph\":\"X\",\"name\":", out);
    json_text(out, task->name);
    fprintf(out,
            ",\"cat\":\"%s\",\"pid\":%d,\"tid\":%u,\"ts\":%" PRId64 ",\"dur\":%" PRId64
            ",\"args\":{\"id\":\"%u.%u\",\"attempt\":%u,\"end\":",
            attempt->status, PROCESS, attempt->slot + 1, attempt->drawn - first,
            ended > attempt->drawn ? ended - attempt->drawn : 0, task->id.job, task->id.task,
            attempt->attempt);
    json_text(out, ask_end_text(attempt, text));
    fputs(",\"command\":", out);
    json_text(out, task->command);
    if (task->lane) {
        fputs(",\"lane\":", out);
        json_text(out, ask_lane_name(ask, task->lane));
    }
    fprintf(out, ",\"cpu_us\":%" PRId64 ",\"memory_bytes\":%" PRIu64 "}}",
            attempt->user + attempt->system, attempt->memory_bytes);
}

// The last attempt that ran; null: none did.
static const struct ask_attempt *ran(const struct ask *ask, uint32_t task)
{
    const struct ask_attempt *last = attempt_last(ask, &ask->tasks[task]);
    return last && last->ran ? last : NULL;
}

// From within the one to the beginning of the other.
static void arrow_write(FILE *out, const struct ask_attempt *from, const struct ask_attempt *to,
                        uint64_t number, rota_time first)
{
    rota_time at = from->ended > from->drawn ? from->ended - 1 : from->drawn;
    fprintf(out,
            ",\n{\"ph\":\"s\",\"id\":%" PRIu64 ",\"name\":\"needs\",\"cat\":\"needs\",\"pid\":%d,"
            "\"tid\":%u,\"ts\":%" PRId64 "}",
            number, PROCESS, from->slot + 1, at - first);
    fprintf(out,
            ",\n{\"ph\":\"f\",\"bp\":\"e\",\"id\":%" PRIu64
            ",\"name\":\"needs\",\"cat\":\"needs\",\"pid\":%d,\"tid\":%u,\"ts\":%" PRId64 "}",
            number, PROCESS, to->slot + 1, to->drawn - first);
}

static void arrows_write(FILE *out, const struct ask *ask, rota_time first)
{
    uint64_t number = 0;
    for (uint32_t i = 0; i < ask->task_count; i++) {
        const struct ask_task *task = &ask->tasks[i];
        const struct ask_attempt *to = task->count ? &ask->attempts[task->first] : NULL;
        for (uint32_t k = 0; to && to->ran && k < task->need_count; k++) {
            const struct ask_attempt *from = ran(ask, task->needs[k]);
            bool before = from && from->ended && from->ended <= to->began;
            if (before) arrow_write(out, from, to, ++number, first);
        }
    }
}

static int trace_write(struct asker *asker)
{
    struct ask *ask = &asker->ask;
    struct asker_file file;
    uint32_t slots = ask_slots(ask, asker->now);
    rota_time first = first_of(ask);
    asker_file_open(&file);
    fprintf(file.out,
            "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"job\":%u,\"began_us\":%" PRId64
            "},\n\"traceEvents\":[\n",
            ask->job.number, first);
    lines_write(file.out, ask, slots);
    for (uint32_t i = 0; i < ask->attempt_count; i++)
        if (ask->attempts[i].ran) attempt_write(file.out, asker, &ask->attempts[i], first);
    arrows_write(file.out, ask, first);
    fputs("\n]}\n", file.out);
    return asker_file_close(asker, &file, "rota-trace.json");
}

int command_trace(int count, char **words)
{
    static const struct asker_use use = {"trace", usage, "o", ASKER_FILE};
    struct asker asker;
    int status = asker_open(&asker, &use, count, words);
    if (status < 0) {
        status = asker_load(&asker);
        if (!status) status = trace_write(&asker);
    }
    asker_close(&asker);
    return status;
}
