// file_test.c - files are added to the cache and taken out again, or refused.
#define _GNU_SOURCE
#include "object/cache/cache_scene.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void taken(struct scene *scene, const struct cache_entry *entry, const char *name)
{
    if (!cache_take(&scene->cache, entry, scene->folder, name, &scene->error))
        fail_msg("%s", scene->error.text);
}

static void delivered(struct scene *scene, const struct cache_entry *entry, const char *name)
{
    char path[200];
    snprintf(path, sizeof path, "%s/%s", scene->path, name);
    if (!cache_deliver(&scene->cache, entry, path, &scene->error))
        fail_msg("%s", scene->error.text);
}

static void lost(struct scene *scene, const struct cache_entry *entry)
{
    assert_false(cache_take(&scene->cache, entry, scene->folder, "lost", &scene->error));
    assert_int_equal(scene->error.fault, CACHE_LOST);
    assert_false(file_is_there(scene, "lost"));
}

static void a_file_is_restored_unchanged(void **state)
{
    struct scene *scene = *state;
    file_write(scene, "out", "hello\n");
    struct cache_entry entry = added(scene, "out", CACHE_FILE);
    static const uint8_t start[] = {0x58, 0x91, 0xb5, 0xb5, 0x22, 0xd5, 0xdf, 0x08};
    assert_memory_equal(entry.hash, start, sizeof start);  // as computed by sha256sum
    assert_int_equal(entry.bytes, 6);
    assert_false(entry.executable);
    taken(scene, &entry, "in/deep/er");
    file_is(scene, "in/deep/er", "hello\n");
    assert_int_equal(mode_of(scene, "in/deep/er"), 0444);
    delivered(scene, &entry, "kept/there/it");
    file_is(scene, "kept/there/it", "hello\n");
    assert_int_equal(mode_of(scene, "kept/there/it") & 0600, 0600);
    assert_int_not_equal(inode_of(scene, "kept/there/it"), inode_of(scene, "in/deep/er"));
    assert_true(cache_sync(&scene->cache, &scene->error));
}

static void an_empty_file_and_a_program_are_kept_unchanged(void **state)
{
    struct scene *scene = *state;
    file_write(scene, "out", "");
    struct cache_entry plain = added(scene, "out", CACHE_FILE);
    file_write(scene, "out", "");
    fchmodat(scene->folder, "out", 0755, 0);
    struct cache_entry program = added(scene, "out", CACHE_FILE);
    assert_memory_equal(plain.hash, program.hash, CACHE_HASH);
    assert_true(program.executable);
    taken(scene, &plain, "plain");
    taken(scene, &program, "program");
    delivered(scene, &program, "own");
    file_is(scene, "plain", "");
    assert_int_equal(mode_of(scene, "plain"), 0444);
    assert_int_equal(mode_of(scene, "program"), 0555);
    assert_int_equal(mode_of(scene, "own") & 0700, 0700);
}

static void a_large_file_is_restored_unchanged(void **state)
{
    struct scene *scene = *state;
    size_t size = 64 << 20, before_size, after_size;
    bytes_write(scene, "big", 5, size + 3);
    char *before = file_read(scene, "big", &before_size);
    struct cache_entry entry;
    assert_true(
        cache_add_copy(&scene->cache, scene->folder, "big", CACHE_FILE, &entry, &scene->error));
    assert_true(file_is_there(scene, "big"));
    scene_reopen(scene, 1 << 30);
    delivered(scene, &entry, "again");
    char *after = file_read(scene, "again", &after_size);
    assert_int_equal(after_size, size + 3);
    assert_int_equal(before_size, after_size);
    assert_int_equal(memcmp(before, after, after_size), 0);
    free(before), free(after);
}

static void the_same_content_is_stored_once(void **state)
{
    struct scene *scene = *state;
    struct cache_entry one = text_added(scene, "same"), other = text_added(scene, "same");
    assert_memory_equal(&one, &other, sizeof one);
    assert_int_equal(files_in(scene, "cache/content"), 2);  // and its folder
    assert_int_equal(cache_bytes(&scene->cache), 4);
    scene_reopen(scene, 1 << 30);
    text_added(scene, "same");
    assert_int_equal(files_in(scene, "cache/content"), 2);
    assert_int_equal(cache_bytes(&scene->cache), 4);
}

static void a_file_with_other_names_is_copied(void **state)
{
    struct scene *scene = *state;
    file_write(scene, "one", "shared");
    assert_int_equal(linkat(scene->folder, "one", scene->folder, "two", 0), 0);
    struct cache_entry entry = added(scene, "one", CACHE_FILE);
    file_write(scene, "two", "change");
    taken(scene, &entry, "in");
    file_is(scene, "in", "shared");
}

static void a_copied_file_stays_unchanged(void **state)
{
    struct scene *scene = *state;
    struct cache_entry entry;
    file_write(scene, "mine", "text");
    ino_t inode = inode_of(scene, "mine");
    assert_true(
        cache_add_copy(&scene->cache, scene->folder, "mine", CACHE_FILE, &entry, &scene->error));
    assert_int_equal(inode_of(scene, "mine"), inode);
    assert_int_equal(mode_of(scene, "mine"), 0644);
    char path[160];
    content_path(&entry, path);
    assert_int_not_equal(inode_of(scene, path), inode);
}

static void a_damaged_content_is_lost_and_healed_by_adding_it_again(void **state)
{
    struct scene *scene = *state;
    char path[160];
    struct cache_entry entry = text_added(scene, "precious");
    content_path(&entry, path);
    taken(scene, &entry, "before");
    fchmodat(scene->folder, path, 0600, 0);
    file_write(scene, path, "preciouz");
    lost(scene, &entry);
    assert_false(file_is_there(scene, path));
    lost(scene, &entry);
    assert_int_equal(cache_bytes(&scene->cache), 0);
    text_added(scene, "precious");
    taken(scene, &entry, "after");
    file_is(scene, "after", "precious");
}

static void damage_under_a_name_is_healed_by_adding_at_once(void **state)
{
    struct scene *scene = *state;
    char path[160];
    struct cache_entry entry = text_added(scene, "precious");
    content_path(&entry, path);
    scene_reopen(scene, 1 << 30);
    fchmodat(scene->folder, path, 0600, 0);
    file_write(scene, path, "prec");
    text_added(scene, "precious");
    taken(scene, &entry, "after");
    file_is(scene, "after", "precious");
    assert_int_equal(mode_of(scene, path), 0444);
}

static void a_wrong_size_is_refused(void **state)
{
    struct scene *scene = *state;
    struct cache_entry entry = text_added(scene, "four");
    entry.bytes = 5;
    assert_false(cache_take(&scene->cache, &entry, scene->folder, "in", &scene->error));
    assert_int_equal(scene->error.fault, CACHE_REFUSED);
}

static void a_file_that_is_not_regular_is_refused(void **state)
{
    struct scene *scene = *state;
    file_write(scene, "canary", "alive");
    mkdirat(scene->folder, "work", 0700);
    assert_int_equal(symlinkat("../canary", scene->folder, "work/link"), 0);
    assert_int_equal(symlinkat("..", scene->folder, "work/up"), 0);
    assert_int_equal(mkfifoat(scene->folder, "work/fifo", 0600), 0);
    file_write(scene, "work/setuid", "x");
    fchmodat(scene->folder, "work/setuid", 04755, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/work/socket", scene->path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    close(fd);
    refused(scene, "work/link", CACHE_FILE, "work/link is a symbolic link, not a file");
    refused(scene, "work/up", CACHE_DIRECTORY, "work/up is a symbolic link, not a directory");
    refused(scene, "work/up/canary", CACHE_FILE, "work/up/canary is below a symbolic link");
    refused(scene, "work/fifo", CACHE_FILE, "work/fifo is a FIFO");
    refused(scene, "work/socket", CACHE_FILE, "work/socket is a socket");
    refused(scene, "work/setuid", CACHE_FILE, "work/setuid is set-user-id");
    refused(scene, "work", CACHE_FILE, "work is a directory, not a file");
    refused(scene, "canary", CACHE_DIRECTORY, "canary is a file, not a directory");
    refused(scene, "work/none", CACHE_FILE, "work/none is missing");
    refused(scene, "../etc/passwd", CACHE_FILE, "contains '..'");
    refused(scene, "/etc/passwd", CACHE_FILE, "is absolute");
    refused(scene, "", CACHE_FILE, "is empty");
    if (mknodat(scene->folder, "work/null", S_IFCHR | 0666, makedev(1, 3)) == 0)
        refused(scene, "work/null", CACHE_FILE, "work/null is a device");
    file_is(scene, "canary", "alive");
    assert_int_equal(cache_bytes(&scene->cache), 0);
    assert_int_equal(files_in(scene, "cache/content"), 0);
}

static void taking_never_leaves_the_directory_nor_replaces(void **state)
{
    struct scene *scene = *state;
    struct cache_entry entry = text_added(scene, "x");
    file_write(scene, "canary", "alive");
    mkdirat(scene->folder, "work", 0700);
    symlinkat("../outside", scene->folder, "work/link");
    mkdirat(scene->folder, "outside", 0700);
    int work = openat(scene->folder, "work", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const char *names[] = {"../canary", "/tmp/canary", "link/x", "link/y/z", "link", ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(cache_take(&scene->cache, &entry, work, names[i], &scene->error));
    close(work);
    assert_false(cache_take(&scene->cache, &entry, scene->folder, "canary", &scene->error));
    assert_string_equal(scene->error.text, "canary already exists");
    file_is(scene, "canary", "alive");
    assert_int_equal(files_in(scene, "outside"), 0);
}

static void delivering_replaces_an_existing_file(void **state)
{
    struct scene *scene = *state;
    struct cache_entry entry = text_added(scene, "new");
    file_write(scene, "kept", "old");
    symlinkat("kept", scene->folder, "link");
    delivered(scene, &entry, "link");
    file_is(scene, "kept", "old");
    delivered(scene, &entry, "kept");
    file_is(scene, "kept", "new");
    file_write(scene, "kept", "mine");  // the cache does not notice
    taken(scene, &entry, "in");
    file_is(scene, "in", "new");
    symlinkat("elsewhere", scene->folder, "way");
    mkdirat(scene->folder, "elsewhere", 0755);
    delivered(scene, &entry, "way/new/it");  // links in the user's own path are followed
    file_is(scene, "elsewhere/new/it", "new");
    assert_false(cache_deliver(&scene->cache, &entry, scene->path, &scene->error));
    assert_int_equal(scene->error.fault, CACHE_REFUSED);
    assert_false(cache_deliver(&scene->cache, &entry, "kept", &scene->error));
    assert_false(cache_deliver(&scene->cache, &entry, "/tmp/../x", &scene->error));
}

static _Noreturn void grow(struct scene *scene, int told)
{
    char byte = 'x';
    int fd = openat(scene->folder, "grows", O_WRONLY | O_APPEND | O_CLOEXEC);
    for (uint32_t i = 0; getppid() != 1 && i < 50000000; i++) {
        if (i == 100 && write(told, &byte, 1) != 1) break;
        if (write(fd, &byte, 1) != 1) break;
    }
    _exit(0);
}

// By several processes, because a busy machine may suspend one of them for a while.
static void a_file_that_never_stops_growing_is_refused(void **state)
{
    enum { WRITERS = 6 };
    struct scene *scene = *state;
    pid_t children[WRITERS];
    char byte;
    int told[2];
    bytes_write(scene, "grows", 1, 64 << 20);
    assert_int_equal(pipe2(told, O_CLOEXEC), 0);
    for (int i = 0; i < WRITERS; i++)
        if ((children[i] = fork()) == 0) grow(scene, told[1]);
    for (int i = 0; i < WRITERS; i++) assert_int_equal(read(told[0], &byte, 1), 1);
    refused(scene, "grows", CACHE_FILE, "grows changed while it was collected");
    for (int i = 0; i < WRITERS; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    close(told[0]), close(told[1]);
    assert_int_equal(files_in(scene, "cache/content"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_begin, scene_end)
    const struct CMUnitTest tests[] = {
        TEST(a_file_is_restored_unchanged),
        TEST(an_empty_file_and_a_program_are_kept_unchanged),
        TEST(a_large_file_is_restored_unchanged),
        TEST(the_same_content_is_stored_once),
        TEST(a_file_with_other_names_is_copied),
        TEST(a_copied_file_stays_unchanged),
        TEST(a_damaged_content_is_lost_and_healed_by_adding_it_again),
        TEST(damage_under_a_name_is_healed_by_adding_at_once),
        TEST(a_wrong_size_is_refused),
        TEST(a_file_that_is_not_regular_is_refused),
        TEST(taking_never_leaves_the_directory_nor_replaces),
        TEST(delivering_replaces_an_existing_file),
        TEST(a_file_that_never_stops_growing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
