// files.c - what goes into a command and what comes out. The cache works behind these functions.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/worker_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

bool files_name_is_safe(const char *name)
{
    for (const char *at = name;; at++) {
        size_t length = strcspn(at, "/");
        if (length == 0) return false;
        if (length == 1 && at[0] == '.') return false;
        if (length == 2 && at[0] == '.' && at[1] == '.') return false;
        at += length;
        if (!*at) return true;
    }
}

static bool join(char *out, const char *directory, const char *name)
{
    bool is_absolute = name[0] == '/';
    int length = snprintf(out, PATH_MAX, "%s%s%s", is_absolute ? "" : directory,
                          is_absolute ? "" : "/", name);
    return length > 0 && length < PATH_MAX;
}

static enum files_result bad(char *reason, const char *what, const struct wire_file *file,
                             const char *why)
{
    snprintf(reason, WORKER_REASON_MAX, "%s %s %s", what, file->name.bytes, why);
    return FILES_BAD;
}

// ---- Before -------------------------------------------------------------------------------------

static bool put_link(const char *directory, const char *name, const char *target)
{
    char path[PATH_MAX];
    return join(path, directory, name) && os_parents_make(path) && symlink(target, path) == 0;
}

static enum files_result prepare_input(struct files *files, const struct wire_file *file,
                                       const char *directory, bool is_private, char *reason)
{
    char stream[PATH_MAX];
    const char *target = file->path.bytes;
    if (file->kind == WIRE_STREAM) {
        stream_path(stream, sizeof stream, files->folder, file->object);
        target = stream;
    } else if (access(target, F_OK) != 0) {
        return bad(reason, "the input", file, file->path.length ? strerror(errno) : "is not here");
    }
    if (!is_private || put_link(directory, file->name.bytes, target)) return FILES_READY;
    return bad(reason, "the input", file, strerror(errno));
}

static enum files_result prepare_output(struct files *files, const struct wire_file *file,
                                        const char *directory, bool is_private, char *reason)
{
    char path[PATH_MAX];
    if (file->kind != WIRE_STREAM) {
        bool made = join(path, directory, file->name.bytes) && os_parents_make(path);
        return made ? FILES_READY : bad(reason, "the output", file, strerror(errno));
    }
    stream_path(path, sizeof path, files->folder, file->object);
    if (!is_private || put_link(directory, file->name.bytes, path)) return FILES_READY;
    return bad(reason, "the output", file, strerror(errno));
}

enum files_result files_prepare(struct files *files, const struct wire_run *run,
                                const char *directory, struct wire_file *made, char *reason)
{
    (void)made;
    bool is_private = run->flags & WIRE_RUN_PRIVATE;
    enum files_result result = FILES_READY;
    for (uint32_t i = 0; i < run->inputs.count && result == FILES_READY; i++)
        result = prepare_input(files, &run->inputs.items[i], directory, is_private, reason);
    for (uint32_t i = 0; i < run->outputs.count && result == FILES_READY; i++)
        result = prepare_output(files, &run->outputs.items[i], directory, is_private, reason);
    return result;
}

// ---- After
// ----------------------------------------------------------------------------------------

// In a private directory no part of the name may be a link; elsewhere only the last may not.
static int open_output(const char *directory, const char *name, bool is_private)
{
    char path[PATH_MAX];
    if (!is_private)
        return join(path, directory, name) ? open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC) : -1;
    int inside = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (inside < 0) return -1;
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
                           .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int file = (int)syscall(SYS_openat2, inside, name, &how, sizeof how);
    int reason = errno;
    close(inside);
    errno = reason;
    return file;
}

static const char *fault_of(const struct wire_file *file, mode_t mode)
{
    if (S_ISLNK(mode)) return "is a link";
    if (S_ISFIFO(mode)) return "is a FIFO";
    if (S_ISSOCK(mode)) return "is a socket";
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "is a device";
    if (file->kind == WIRE_DIRECTORY && !S_ISDIR(mode)) return "is not a directory";
    if (file->kind == WIRE_FILE && !S_ISREG(mode)) return "is a directory";
    return NULL;
}

static enum files_result keep(const struct wire_file *file, const char *directory,
                              struct wire_file *made, char *reason)
{
    char from[PATH_MAX];
    struct stat one, other;
    if (!join(from, directory, file->name.bytes))
        return bad(reason, "the output", file, "is too long");
    bool is_there = stat(from, &one) == 0 && stat(file->path.bytes, &other) == 0
                    && one.st_dev == other.st_dev && one.st_ino == other.st_ino;
    if (is_there) return FILES_READY;
    uint64_t bytes = 0;
    if (!os_tree_copy(from, file->path.bytes, &bytes)) {
        snprintf(reason, WORKER_REASON_MAX, "the output %s cannot be put at %s: %s",
                 file->name.bytes, file->path.bytes, strerror(errno));
        return FILES_BAD;
    }
    made->bytes = bytes;
    return FILES_READY;
}

static enum files_result collect_output(const struct wire_file *file, const char *directory,
                                        bool is_private, struct wire_file *made, char *reason)
{
    *made = *file;
    if (file->kind == WIRE_STREAM) return FILES_READY;
    int opened = open_output(directory, file->name.bytes, is_private);
    if (opened < 0)
        return bad(reason, "the output", file, errno == ENOENT ? "was not made" : strerror(errno));
    struct stat status;
    bool is_known = fstat(opened, &status) == 0;
    int error = errno;
    close(opened);
    if (!is_known) return bad(reason, "the output", file, strerror(error));
    const char *fault = fault_of(file, status.st_mode);
    if (fault) return bad(reason, "the output", file, fault);
    made->bytes = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    return file->flags & WIRE_KEEP ? keep(file, directory, made, reason) : FILES_READY;
}

enum files_result files_collect(struct files *files, const struct wire_run *run,
                                const char *directory, struct wire_file *made, char *reason)
{
    (void)files;
    bool is_private = run->flags & WIRE_RUN_PRIVATE;
    enum files_result result = FILES_READY;
    for (uint32_t i = 0; i < run->outputs.count && result == FILES_READY; i++)
        result = collect_output(&run->outputs.items[i], directory, is_private, &made[i], reason);
    return result;
}

// Nothing is kept yet.
void files_drop(struct files *files, const wire_files *objects)
{
    (void)files;
    (void)objects;
}
