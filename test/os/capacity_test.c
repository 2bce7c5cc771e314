// capacity_test.c - limits of cgroups, in trees that are made up: the smallest on the way up
// counts.
#define _GNU_SOURCE
#include "os/os.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct tree {
    char root[64];
};

static void put(const struct tree *tree, const char *name, const char *text)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", tree->root, name);
    assert_true(os_parents_make(path));
    assert_true(os_file_write(path, text, strlen(text)));
}

static struct tree tree_make(const char *cgroup)
{
    struct tree tree = {"/tmp/rota-share-XXXXXX"};
    assert_non_null(mkdtemp(tree.root));
    put(&tree, "proc/self/cgroup", cgroup);
    return tree;
}

static void expect(const struct tree *tree, uint32_t processors, uint32_t memory_mib)
{
    struct os_share share = {.processors = 64, .memory_mib = 1 << 20};
    os_share_cgroup(&share, tree->root);
    assert_int_equal(share.processors, processors);
    assert_int_equal(share.memory_mib, memory_mib);
    assert_true(os_tree_remove(tree->root));
}

static void version_2_takes_the_smallest_on_the_way_up(void **state)
{
    (void)state;
    struct tree tree = tree_make("0::/slice/job/step\n");
    put(&tree, "sys/fs/cgroup/slice/job/step/cpu.max", "max 100000\n");
    put(&tree, "sys/fs/cgroup/slice/job/step/memory.max", "1073741824\n");
    put(&tree, "sys/fs/cgroup/slice/job/cpu.max", "250000 100000\n");
    put(&tree, "sys/fs/cgroup/slice/job/memory.max", "536870912\n");
    put(&tree, "sys/fs/cgroup/slice/cpu.max", "800000 100000\n");
    put(&tree, "sys/fs/cgroup/slice/memory.max", "max\n");
    expect(&tree, 3, 512);
}

static void version_1_has_a_tree_for_each_controller(void **state)
{
    (void)state;
    struct tree tree = tree_make("5:memory:/job\n4:cpu,cpuacct:/job\n3:cpuset:/\n0::/\n");
    put(&tree, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "314572800\n");
    put(&tree, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_quota_us", "-1\n");
    put(&tree, "sys/fs/cgroup/cpu,cpuacct/job/cpu.cfs_period_us", "100000\n");
    put(&tree, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n");
    put(&tree, "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    expect(&tree, 2, 300);
}

static void version_1_is_found_by_each_controllers_own_name(void **state)
{
    (void)state;
    struct tree tree = tree_make("5:memory:/job\n4:cpuacct,cpu:/job\n");
    put(&tree, "sys/fs/cgroup/memory/job/memory.limit_in_bytes", "314572800\n");
    put(&tree, "sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "200000\n");
    put(&tree, "sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    expect(&tree, 2, 300);
}

static void a_container_finds_its_own_group_at_the_mount(void **state)
{
    (void)state;
    struct tree tree = tree_make("0::/of/the/host\n");
    put(&tree, "sys/fs/cgroup/cpu.max", "50000 100000\n");
    put(&tree, "sys/fs/cgroup/memory.max", "104857600\n");
    expect(&tree, 1, 100);
}

static void without_limits_the_capacity_of_the_machine_counts(void **state)
{
    (void)state;
    struct tree tree = tree_make("0::/a\nnonsense\n7:\n");
    put(&tree, "sys/fs/cgroup/a/cpu.max", "max 100000\n");
    put(&tree, "sys/fs/cgroup/a/memory.max", "what\n");
    expect(&tree, 64, 1 << 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(version_2_takes_the_smallest_on_the_way_up),
        cmocka_unit_test(version_1_has_a_tree_for_each_controller),
        cmocka_unit_test(version_1_is_found_by_each_controllers_own_name),
        cmocka_unit_test(a_container_finds_its_own_group_at_the_mount),
        cmocka_unit_test(without_limits_the_capacity_of_the_machine_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
