// capacity.c - how many processors and how much memory this process may use.
//
// The smallest limit counts: of the machine, CPU affinity, cgroups and batch systems. In a
// container the path of the cgroup may be the host's, which does not exist here; walking up from it
// ends at the mount, which is the container's own cgroup.
#define _GNU_SOURCE
#include "os/os.h"

#include <fcntl.h>
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

// Not with stdio: most of these files do not exist, and even a short run tries to open all of them.
static bool line_read(const char *folder, const char *name, char *line, size_t size)
{
    char path[PATH_MAX];
    size_t first = strlen(folder), second = strlen(name);
    if (first + second + 2 > sizeof path) return false;
    memcpy(path, folder, first);
    path[first] = '/';
    memcpy(path + first + 1, name, second + 1);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, line, size - 1);
    if (file >= 0) close(file);
    line[length > 0 ? length : 0] = 0;
    return length > 0;
}

// Part of a processor counts as one.
static void quota_take(struct os_share *share, long long quota, long long period)
{
    if (quota > 0 && period > 0)
        processors_lower(share, (uint64_t)((quota - 1) / period) + 1);
}

enum limit { CPU_2, MEMORY_2, CPU_1, MEMORY_1 };  // the digit is the version of cgroups

static void limit_take(struct os_share *share, const char *folder, enum limit limit)
{
    static const char *const names[]
        = {"cpu.max", "memory.max", "cpu.cfs_quota_us", "memory.limit_in_bytes"};
    char line[LINE_SIZE], period[LINE_SIZE];
    long long quota, each;
    uint64_t bytes;
    if (!line_read(folder, names[limit], line, sizeof line)) return;
    if (limit == CPU_2 && sscanf(line, "%lld %lld", &quota, &each) == 2)
        quota_take(share, quota, each);
    if (limit == CPU_1 && line_read(folder, "cpu.cfs_period_us", period, sizeof period))
        quota_take(share, atoll(line), atoll(period));
    bool is_memory = limit == MEMORY_1 || limit == MEMORY_2;
    if (is_memory && sscanf(line, "%" SCNu64, &bytes) == 1)
        memory_lower(share, bytes >> MIB_SHIFT);
}

// Applies the limits of every cgroup from this process's up to the mount.
static void path_take(struct os_share *share, const char *root, const char *mount,
                      const char *group, enum limit limit)
{
    char folder[PATH_MAX];
    int least = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, mount);
    int length = least + snprintf(folder + least, sizeof folder - (size_t)least, "%s", group);
    if (length >= (int)sizeof folder) return;
    for (;;) {
        while (length > least && folder[length - 1] == '/') folder[--length] = 0;
        limit_take(share, folder, limit);
        if (length <= least) return;
        while (length > least && folder[length - 1] != '/') length--;
        folder[length] = 0;
    }
}

static bool is_listed(const char *controllers, int length, const char *name)
{
    size_t size = strlen(name);
    for (const char *at = controllers, *end = at + length; at < end;) {
        size_t one = strcspn(at, ",:");
        if (one == size && memcmp(at, name, size) == 0) return true;
        at += one + 1;
    }
    return false;
}

// Controllers that share a hierarchy may be listed in one order and mounted in another; each then
// has a symbolic link of its own name. The smallest limit counts, so reading one twice is harmless.
static void version_1_take(struct os_share *share, const char *root, const char *controllers,
                           int length, const char *group)
{
    static const char *const names[] = {"cpu", "memory"};
    char mount[300], own[16];
    for (uint32_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!is_listed(controllers, length, names[i])) continue;
        snprintf(mount, sizeof mount, "/%.*s", length, controllers);
        snprintf(own, sizeof own, "/%s", names[i]);
        path_take(share, root, own, group, CPU_1 + i);
        if (strcmp(own, mount) != 0) path_take(share, root, mount, group, CPU_1 + i);
    }
}

// Parses "0::/a/b" (version 2) or "4:cpu,cpuacct:/a/b" (version 1).
static void hierarchy_take(struct os_share *share, const char *root, const char *line)
{
    const char *first = strchr(line, ':');
    const char *second = first ? strchr(first + 1, ':') : NULL;
    if (!second) return;
    int length = (int)(second - first - 1);
    if (length > 0) {
        version_1_take(share, root, first + 1, length, second + 1);
        return;
    }
    for (uint32_t limit = CPU_2; limit <= MEMORY_2; limit++) {
        path_take(share, root, "", second + 1, limit);
        path_take(share, root, "/unified", second + 1, limit);
    }
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

// 0: the variable is not set, is not a number, or sets no limit.
static uint64_t number_of(const char *name)
{
    const char *text = getenv(name);
    char *end;
    if (!text || *text < '0' || *text > '9') return 0;
    unsigned long long number = strtoull(text, &end, 10);
    return *end ? 0 : number;
}

// The number of processes of this Slurm step on this node, which share the limits below. A list
// such as "2(x3),1" has the counts of all nodes. A batch script runs as a single process.
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

static void os_share_batch(struct os_share *share)
{
    static const struct {
        // The second is set only by the batch system; other programs may use the first.
        const char *name, *only_with;
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

// ---- All limits --------------------------------------------------------------------------------

// The kernel refuses a set with less bits than it has processors.
static uint32_t affinity_count(void)
{
    enum { PROCESSORS_MAX = 1 << 16 };
    int count = 0;
    for (int most = CPU_SETSIZE; !count && most <= PROCESSORS_MAX; most *= 8) {
        cpu_set_t *set = CPU_ALLOC(most);
        size_t size = CPU_ALLOC_SIZE(most);
        if (set && sched_getaffinity(0, size, set) == 0) count = CPU_COUNT_S(size, set);
        CPU_FREE(set);
    }
    return (uint32_t)count;
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
