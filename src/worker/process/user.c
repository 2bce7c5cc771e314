// user.c - runs commands as another user than the worker, which then is root.
//
// The folder of the worker is closed to that user, except work/. The user gets the folder of a task
// before the task starts, when no process of the user can be in it.
//
// A client says where inputs are and where outputs go, and a client must not use root's rights. So
// the worker writes nothing outside the task's folder, and reads there only as the user.
#define _GNU_SOURCE
#include "os/os.h"
#include "worker/process/user.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

// ---- The user's file permissions ------------------------------------------------------------

struct call {
    const struct worker_user *user;
    user_fn *call;
    void *context;
    bool fine;
    int reason;
};

// The thread changes only the ids that decide about files, by system calls that change one thread.
// If it took the user's other ids as well, processes of the user could signal it, and so end the
// worker.
static bool rights_take(const struct worker_user *user)
{
    if (syscall(SYS_setgroups, user->group_count, user->groups) != 0) return false;
    setfsgid(user->gid);
    setfsuid(user->uid);
    errno = EPERM;
    return setfsgid((gid_t)-1) == (int)user->gid && setfsuid((uid_t)-1) == (int)user->uid;
}

static void *call_run(void *context)
{
    struct call *call = context;
    call->fine = rights_take(call->user) && call->call(call->context);
    call->reason = errno;
    return NULL;
}

// In a separate thread, so that no error can leave the worker with the wrong rights. It also keeps
// the worker's parent-death signal, which the kernel clears with such a change.
bool user_call(const struct worker_user *user, user_fn *call, void *context)
{
    pthread_t thread;
    struct call one = {.user = user, .call = call, .context = context};
    if (!user) return call(context);
    errno = pthread_create(&thread, NULL, call_run, &one);
    if (errno) return false;
    pthread_join(thread, NULL);
    errno = one.reason;
    return one.fine;
}

// ---- The worker's folder -----------------------------------------------------------------------

// Whether the user can enter the folder: folders above it may be closed to the user.
static bool may_enter(void *path)
{
    struct stat at;
    return stat(path, &at) == 0;
}

static bool folder_set(const char *folder, const char *name, gid_t group, mode_t mode)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) return false;
    return os_directory_make(path) && chown(path, 0, group) == 0 && chmod(path, mode) == 0;
}

bool user_prepare(const struct worker *worker)
{
    const struct worker_user *user = worker->options->user;
    char path[PATH_MAX];
    if (!user) return true;
    snprintf(path, sizeof path, "%s/work/streams/.", worker->folder);
    bool fine = folder_set(worker->folder, "log", 0, 0700)
                && folder_set(worker->folder, "cache", 0, 0700)
                && folder_set(worker->folder, "work", user->gid, 0710)
                && folder_set(worker->folder, "work/streams", user->gid, 0710)
                && folder_set(worker->folder, ".", user->gid, 0710);
    if (fine && user_call(user, may_enter, path)) return true;
    fprintf(stderr, "rota worker: the user %s cannot enter %s (%s); use another --folder\n",
            user->name, path, strerror(errno));
    return false;
}

// ---- Restrictions for clients ---------------------------------------------------------------

const char *user_run_fault(const struct worker *worker, const struct wire_run *run)
{
    if (!worker->options->user) return NULL;
    for (uint32_t i = 0; i < run->outputs.count; i++) {
        const struct wire_file *output = &run->outputs.items[i];
        if (output->path.length)
            return "a worker with --user puts no outputs into folders of others; submit the job "
                   "without --shared";
        if (!(run->flags & WIRE_RUN_PRIVATE) && output->kind != WIRE_STREAM)
            return "a worker with --user takes outputs only from the task's own folder";
    }
    return NULL;
}

// ---- Files made by the worker ---------------------------------------------------------------

bool user_give(const struct worker *worker, const char *path)
{
    const struct worker_user *user = worker->options->user;
    return !user || lchown(path, user->uid, user->gid) == 0;
}

bool user_give_file(const struct worker *worker, int file)
{
    const struct worker_user *user = worker->options->user;
    return !user || fchown(file, user->uid, user->gid) == 0;
}

static bool item_give(const struct worker *worker, int folder, const char *name);

static bool items_give(const struct worker *worker, DIR *items)
{
    for (struct dirent *item; (errno = 0, item = readdir(items));) {
        if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0) continue;
        if (!item_give(worker, dirfd(items), item->d_name)) return false;
    }
    return errno == 0;
}

// A folder is handed over after the items in it: until then only the worker can change them.
static bool folder_give(const struct worker *worker, int folder)
{
    int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *items = copy >= 0 ? fdopendir(copy) : NULL;
    if (!items && copy >= 0) close(copy);
    if (!items) return false;
    bool fine = items_give(worker, items) && user_give_file(worker, copy);
    int reason = errno;
    closedir(items);
    errno = reason;
    return fine;
}

// By its descriptor, so that an item that is swapped after the check is not the one that is handed
// over. A file with a second name is a content of the cache: it stays the worker's, and read-only.
static bool item_give(const struct worker *worker, int folder, const char *name)
{
    const struct worker_user *user = worker->options->user;
    struct stat about;
    int item = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (item < 0) return false;
    bool fine = fstat(item, &about) == 0;
    if (fine && S_ISDIR(about.st_mode))
        fine = folder_give(worker, item);
    else if (fine && !(S_ISREG(about.st_mode) && about.st_nlink > 1))
        fine = fchownat(item, "", user->uid, user->gid, AT_EMPTY_PATH) == 0;
    int reason = errno;
    close(item);
    errno = reason;
    return fine;
}

bool user_give_tree(const struct worker *worker, const char *path)
{
    return !worker->options->user || item_give(worker, AT_FDCWD, path);
}
