// simulate_values.c - `rota simulate`: reads the values of its options.
#include "cli/simulate.h"

#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAX = 100000, CORES_MAX = 65536 };
static const double loss_most = 0.9;

// Reads a number of MiB, or one with a unit, and moves `text` past it.
static bool size_read(const char **text, double *mib)
{
    static const char units[] = "KMGT";
    static const double factors[] = {1.0 / 1024, 1, 1024, 1048576};
    char *end;
    *mib = strtod(*text, &end);
    bool some = end != *text;
    const char *unit = *end ? strchr(units, *end) : NULL;
    if (unit) *mib *= factors[unit - units];
    *text = end + (unit != NULL);
    return some && *mib > 0 && *mib <= 1e12;
}

bool value_bandwidth(const char *text, double *mib)
{
    const char *at = text;
    bool fine = size_read(&at, mib);
    bool unit = fine && at > text && strchr("KMGT", at[-1]);
    if (unit && (!strcmp(at, "iB/s") || !strcmp(at, "B/s"))) at += strlen(at);
    return fine && !*at;
}

// ---- Workers -----------------------------------------------------------------------------------

struct workers {  // equal ones
    unsigned long count, cores;
    double memory_mib, disk_mib, speed;  // 0: not given
};

// Reads "8x4", "8x4x16G", "8x4/200G" or "8x4:1.5", and moves `text` past it.
static bool workers_read(const char **text, struct workers *workers)
{
    char *end;
    *workers = (struct workers){.count = strtoul(*text, &end, 10)};
    if (end == *text || *end != 'x') return false;
    const char *at = end + 1;
    workers->cores = strtoul(at, &end, 10);
    if (end == at || !workers->count || !workers->cores || workers->cores > CORES_MAX) return false;
    at = end;
    if (*at == 'x') {
        at++;
        if (!size_read(&at, &workers->memory_mib) || workers->memory_mib > UINT32_MAX) return false;
    }
    if (*at == '/') {
        at++;
        if (!size_read(&at, &workers->disk_mib)) return false;
    }
    if (*at == ':') {
        workers->speed = strtod(at + 1, &end);
        if (end == at + 1 || !(workers->speed > 0) || workers->speed > 1e6) return false;
        at = end;
    }
    *text = at;
    return !*at || *at == ',';
}

bool value_workers(struct whatif_setting *setting, const char *text)
{
    uint32_t count = 0;
    bool has_memory = false, has_disk = false, has_speed = false;
    free(setting->cores), free(setting->memory_mib), free(setting->speed), free(setting->disk_mib);
    setting->disk_mib = plan_take(WORKERS_MAX, sizeof *setting->disk_mib);
    setting->cores = plan_take(WORKERS_MAX, sizeof *setting->cores);
    setting->memory_mib = plan_take(WORKERS_MAX, sizeof *setting->memory_mib);
    setting->speed = plan_take(WORKERS_MAX, sizeof *setting->speed);
    for (const char *at = text;; at++) {
        struct workers workers;
        if (!workers_read(&at, &workers) || workers.count > WORKERS_MAX - count)
            return false;
        has_memory |= workers.memory_mib > 0;
        has_disk |= workers.disk_mib > 0;
        has_speed |= workers.speed > 0;
        for (; workers.count; workers.count--, count++) {
            setting->cores[count] = (uint32_t)workers.cores;
            setting->memory_mib[count]
                = workers.memory_mib > 0 ? (uint32_t)workers.memory_mib : UINT32_MAX;
            setting->disk_mib[count] = workers.disk_mib > 0 ? workers.disk_mib : 1e15;
            setting->speed[count] = workers.speed > 0 ? workers.speed : 1;
        }
        if (!*at) break;
    }
    setting->cluster.cores = setting->cores;
    setting->cluster.worker_count = count;
    setting->cluster.memory_mib = has_memory ? setting->memory_mib : NULL;
    setting->cluster.disk_mib = has_disk ? setting->disk_mib : NULL;
    setting->cluster.speed = has_speed ? setting->speed : NULL;
    return true;
}

// ---- Faults ------------------------------------------------------------------------------------

static bool share_read(const char *text, char **end, double *share)
{
    *share = strtod(text, end);
    return *end != text && *share >= 0 && *share <= 1;
}

// Reads a rate for a minute, an hour or a day, such as "2/h".
static bool rate_read(const char *text, double *an_hour)
{
    char *end;
    *an_hour = strtod(text, &end);
    if (end == text || !(*an_hour >= 0) || *an_hour > 1e6) return false;
    if (!strcmp(end, "/m")) *an_hour *= 60;
    else if (!strcmp(end, "/d")) *an_hour /= 24;
    else if (*end && strcmp(end, "/h") != 0) return false;
    return true;
}

static bool duration_read(const char *text, double *seconds)
{
    char *end;
    *seconds = strtod(text, &end);
    return end != text && !*end && *seconds >= 0 && *seconds <= 1e9;
}

static bool fault_take(const char *name, const char *value, struct whatif_faults *faults)
{
    char *end;
    if (!strcmp(name, "crash")) return rate_read(value, &faults->crashes);
    if (!strcmp(name, "back") && !strcmp(value, "never")) {
        faults->back = -1;
        return true;
    }
    if (!strcmp(name, "back")) return duration_read(value, &faults->back);
    if (!strcmp(name, "lease")) return duration_read(value, &faults->lease);
    if (!strcmp(name, "fail")) return share_read(value, &end, &faults->failures) && !*end;
    if (!strcmp(name, "loss"))
        return share_read(value, &end, &faults->loss) && !*end && faults->loss <= loss_most;
    if (!strcmp(name, "slow")) {
        faults->slow_times = 2;
        if (!share_read(value, &end, &faults->slow)) return false;
        if (!*end) return true;
        const char *times = end + 1;
        bool fine = *end == 'x';
        faults->slow_times = fine ? strtod(times, &end) : 0;
        return fine && end != times && !*end && faults->slow_times > 0 && faults->slow_times <= 1e6;
    }
    if (strcmp(name, "retries") != 0) return false;
    unsigned long retries = strtoul(value, &end, 10);
    faults->retries = (uint32_t)retries;
    return *value >= '0' && *value <= '9' && !*end && retries <= 1000000;
}

bool value_faults(const char *text, struct whatif_faults *faults)
{
    char *copy = whatif_text(text), *next = copy;
    bool fine = true;
    while (next && fine) {
        char *name = next, *value;
        next = strchr(name, ',');
        if (next) *next++ = 0;
        value = strchr(name, '=');
        if (value) *value = 0;
        fine = value && fault_take(name, value + 1, faults);
    }
    free(copy);
    return fine;
}
