// worker_name.c - the default name of a worker.
//
// Under a batch system many workers start on one host, one after the other or at once, often with
// one home folder. So the name has the number of the job, and that of the process within it if
// there are several. In Kubernetes the host's name is that of the pod, unless the pod uses the
// network of its node; $POD_NAME has it in any case.
#include "base/base.h"
#include "cli/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTS = 2, HOST_MAX = 24 };

struct engine {
    const char *word, *job;    // in the name; the variable that has the job
    const char *parts[PARTS];  // further variables, or null
};

static const struct engine engines[] = {
    {"slurm", "SLURM_JOB_ID", {"SLURM_STEP_ID", "SLURM_PROCID"}},
    {"pbs", "PBS_JOBID", {"PBS_TASKNUM", NULL}},
    {"lsf", "LSB_JOBID", {"LSB_JOBINDEX", NULL}},
    {"sge", "JOB_ID", {"SGE_TASK_ID", NULL}},
};

// PBS jobs are called 12[3].server: leaves out the server, and writes '-' for invalid letters.
static void part_add(char *name, size_t size, const char *part)
{
    size_t length = strlen(name);
    for (; *part && *part != '.' && length + 1 < size; part++) {
        bool plain = (*part >= '0' && *part <= '9') || (*part >= 'a' && *part <= 'z')
                     || (*part >= 'A' && *part <= 'Z') || *part == '_';
        name[length++] = plain ? *part : '-';
    }
    name[length] = 0;
}

// SGE sets "undefined" and LSF 0 if there is only one. Slurm sets the number of a process also in a
// batch script, where it means nothing.
static bool counts(const char *variable, const char *value)
{
    if (!value || !*value || strcmp(value, "undefined") == 0) return false;
    if (strcmp(variable, "LSB_JOBINDEX") == 0) return strcmp(value, "0") != 0;
    return strcmp(variable, "SLURM_PROCID") != 0 || getenv("SLURM_STEP_ID");
}

// JOB_ID is a common name: it counts only together with SGE's own variable.
static const struct engine *engine_find(void)
{
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        const char *job = getenv(engines[i].job);
        bool is_sge = strcmp(engines[i].word, "sge") == 0;
        if (job && *job && (!is_sge || getenv("SGE_TASK_ID"))) return &engines[i];
    }
    return NULL;
}

// A long host name is cut, and gets four digits of its hash.
static void host_add(char *name, size_t size, const char *host)
{
    uint64_t hash = 0;
    for (const char *at = host; *at; at++) hash = hash_mix(hash, (uint8_t)*at);
    if (strlen(host) <= HOST_MAX)
        snprintf(name, size, "%s", host);
    else
        snprintf(name, size, "%.*s-%04x", HOST_MAX - 5, host, (unsigned)(hash & 0xffff));
}

void work_name_make(const char *host, char *name, size_t size)
{
    const struct engine *engine = engine_find();
    const char *pod = getenv("KUBERNETES_SERVICE_HOST") ? getenv("POD_NAME") : NULL;
    char *end = name;
    snprintf(name, size, "%s", pod && *pod ? pod : host);
    if (!engine) return;
    host_add(name, size, pod && *pod ? pod : host);
    end += strlen(name);
    snprintf(end, size - (size_t)(end - name), "-%s", engine->word);
    part_add(name, size, getenv(engine->job));
    for (uint32_t i = 0; i < PARTS && engine->parts[i]; i++) {
        const char *value = getenv(engine->parts[i]);
        if (!counts(engine->parts[i], value)) continue;
        part_add(name, size, "_");
        part_add(name, size, value);
    }
}
