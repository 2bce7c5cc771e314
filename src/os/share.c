// share.c - how much of this machine is ours, by affinity, cgroups and batch systems.
//
// The smallest counts. In a container the path of our cgroup may be that of the host, which is not
// there; walking up from it ends at the container's own, at the mount.
#define _GNU_SOURCE
#include "os/os.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = 4096, MIB_SHIFT = 20 };

static uint32_t smaller(uint32_t a, uint64_t b)
{
    return b < a ? (uint32_t)b : a;
}

static void processors_lower(struct os_share *share, uint64_t count)
{
    share->processors = smaller(share->processors, count ? count : 1);
}

static void memory_lower(struct os_share *share, uint64_t mib)
{
    share->memory_mib = smaller(share->memory_mib, mib ? mib : 1);
}

// ---- Cgroups -----------------------------------------------------------------------------------

static bool line_read(const char *folder, const char *name, char *line, int size)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
    FILE *file = fopen(path, "re");
    bool got = file && fgets(line, size, file);
    if (file) fclose(file);
    return got;
}

// A part of a processor counts as a whole one.
static void quota_take(struct os_share *share, long long quota, long long period)
{
    if (quota > 0 && period > 0)
        processors_lower(share, (uint64_t)((quota - 1) / period) + 1);
}

static void folder_take(struct os_share *share, const char *folder, bool is_second)
{
    char line[LINE_SIZE], period[LINE_SIZE];
    long long quota, each;
    uint64_t bytes;
    if (is_second && line_read(folder, "cpu.max", line, sizeof line)
        && sscanf(line, "%lld %lld", &quota, &each) == 2)
        quota_take(share, quota, each);
    if (!is_second && line_read(folder, "cpu.cfs_quota_us", line, sizeof line)
        && line_read(folder, "cpu.cfs_period_us", period, sizeof period))
        quota_take(share, atoll(line), atoll(period));
    const char *memory = is_second ? "memory.max" : "memory.limit_in_bytes";
    if (line_read(folder, memory, line, sizeof line) && sscanf(line, "%" SCNu64, &bytes) == 1)
        memory_lower(share, bytes >> MIB_SHIFT);
}

// All groups from ours up to the mount. The path is used up.
static void path_take(struct os_share *share, const char *root, const char *mount, char *path)
{
    char folder[PATH_MAX];
    bool is_second = !*mount || strcmp(mount, "/unified") == 0;
    for (;;) {
        if (snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, mount, path)
            < (int)sizeof folder)
            folder_take(share, folder, is_second);
        char *slash = strrchr(path, '/');
        if (!slash) return;
        *slash = 0;
    }
}

// Controllers that share a hierarchy are listed in one order and may be mounted in another; each
// has a link of its own name then. The smallest limit counts, so looking twice does no harm.
static void version_1_take(struct os_share *share, const char *root, const char *controllers,
                           int length, const char *group)
{
    static const char *const names[] = {"cpu", "memory"};
    char path[LINE_SIZE], mount[300];
    snprintf(mount, sizeof mount, "/%.*s", length, controllers);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!strstr(mount, names[i])) continue;
        char own[16];
        snprintf(own, sizeof own, "/%s", names[i]);
        const char *const mounts[] = {mount, own};
        for (size_t j = 0; j < 2; j++) {
            snprintf(path, sizeof path, "%s", group);
            path_take(share, root, mounts[j], path);
        }
    }
}

// "0::/a/b" of version 2, "4:cpu,cpuacct:/a/b" of version 1.
static void hierarchy_take(struct os_share *share, const char *root, const char *line)
{
    char path[LINE_SIZE];
    const char *first = strchr(line, ':');
    const char *second = first ? strchr(first + 1, ':') : NULL;
    if (!second) return;
    int length = (int)(second - first - 1);
    if (length > 0) {
        version_1_take(share, root, first + 1, length, second + 1);
        return;
    }
    snprintf(path, sizeof path, "%s", second + 1);
    path_take(share, root, "", path);
    snprintf(path, sizeof path, "%s", second + 1);
    path_take(share, root, "/unified", path);
}

void os_share_cgroup(struct os_share *share, const char *root)
{
    char path[PATH_MAX], line[LINE_SIZE];
    if (snprintf(path, sizeof path, "%s/proc/self/cgroup", root) >= (int)sizeof path) return;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        hierarchy_take(share, root, line);
    }
    if (file) fclose(file);
}

// ---- Batch systems -----------------------------------------------------------------------------

// 0: it is not set, is no number, or means all there is.
static uint64_t number_of(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (!text || *text < '0' || *text > '9') return 0;
    unsigned long long number = strtoull(text, &end, 10);
    return *end ? 0 : number;
}

// Processes of this step of Slurm on this node, which share what the variables below say. A list
// such as "2(x3),1" has the counts of all nodes. A batch script is alone.
static uint64_t processes_here(void)
{
    const char *at = getenv("SLURM_STEP_TASKS_PER_NODE");
    uint64_t node = number_of("SLURM_NODEID");
    if (!getenv("SLURM_STEP_ID")) return 1;
    while (at && *at) {
        char *end;
        unsigned long long count = strtoull(at, &end, 10), nodes = 1;
        if (strncmp(end, "(x", 2) == 0) nodes = strtoull(end + 2, NULL, 10);
        if (node < nodes) return count ? count : 1;
        node -= nodes;
        at = strchr(end, ',');
        if (at) at++;
    }
    return 1;
}

static void slurm_take(struct os_share *share)
{
    uint64_t each = number_of("SLURM_MEM_PER_CPU"), all = number_of("SLURM_MEM_PER_NODE");
    uint64_t count = number_of("SLURM_CPUS_ON_NODE"), processes = processes_here();
    if (count) processors_lower(share, count / processes);
    if (all) memory_lower(share, all / processes);
    if (each && count && each < UINT32_MAX && count < UINT32_MAX)
        memory_lower(share, each * count / processes);
}

void os_share_batch(struct os_share *share)
{
    static const struct {
        const char *name, *only_with;  // other programs may use the first name
    } counts[] = {{"NSLOTS", "JOB_ID"},
                  {"PBS_NUM_PPN", "PBS_JOBID"},
                  {"NCPUS", "PBS_JOBID"},
                  {"LSB_DJOB_NUMPROC", "LSB_JOBID"}};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        uint64_t count = getenv(counts[i].only_with) ? number_of(counts[i].name) : 0;
        if (count) processors_lower(share, count);
    }
    if (getenv("SLURM_JOB_ID")) slurm_take(share);
}

// ---- All of it ---------------------------------------------------------------------------------

static uint32_t affinity_count(void)
{
    enum { PROCESSORS_MAX = 1 << 16 };
    cpu_set_t *set = CPU_ALLOC(PROCESSORS_MAX);
    size_t size = CPU_ALLOC_SIZE(PROCESSORS_MAX);
    int count = set && sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
    CPU_FREE(set);
    return count > 0 ? (uint32_t)count : 0;
}

void os_share_read(struct os_share *share)
{
    long count = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
    long size = sysconf(_SC_PAGESIZE);
    uint32_t allowed = affinity_count();
    bool is_known = pages > 0 && size > 0;
    share->processors = count > 0 ? (uint32_t)count : 1;
    share->memory_mib
        = is_known ? (uint32_t)((uint64_t)pages * (uint64_t)size >> MIB_SHIFT) : 1024;
    if (allowed) processors_lower(share, allowed);
    os_share_cgroup(share, "");
    os_share_batch(share);
}
