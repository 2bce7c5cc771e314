// worker_user.c - `rota worker --user`: the user that commands run as.
#define _GNU_SOURCE
#include "cli/worker.h"

#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *user_fault(const char *name, const struct passwd *entry)
{
    if (geteuid() != 0) return "only root can run commands as another user; leave --user out";
    if (!entry) return "--user needs the name of a user, and there is no such user";
    if (entry->pw_uid == 0) return "--user needs another user than root";
    return strlen(name) < WORK_USER_NAME ? NULL : "--user needs a shorter name";
}

const char *work_user_find(struct work_user *user, const char *name)
{
    const struct passwd *entry = getpwnam(name);
    const char *fault = user_fault(name, entry);
    if (fault) return fault;
    int count = sizeof user->groups / sizeof *user->groups;
    if (getgrouplist(name, entry->pw_gid, user->groups, &count) < 0)
        return "this user is in more than 256 groups";
    snprintf(user->user_item, sizeof user->user_item, "USER=%s", name);
    snprintf(user->home_item, sizeof user->home_item, "HOME=%s",
             entry->pw_dir && *entry->pw_dir ? entry->pw_dir : "/");
    user->user = (struct worker_user){.name = user->user_item + strlen("USER="),
                                      .uid = entry->pw_uid,
                                      .gid = entry->pw_gid,
                                      .groups = user->groups,
                                      .group_count = (size_t)count};
    return NULL;
}

void work_user_own(char name[WORK_USER_NAME])
{
    uid_t uid = geteuid();
    const struct passwd *entry = uid ? getpwuid(uid) : NULL;
    if (uid == 0)
        snprintf(name, WORK_USER_NAME, "root");
    else if (entry && strlen(entry->pw_name) < WORK_USER_NAME)
        snprintf(name, WORK_USER_NAME, "%s", entry->pw_name);
    else
        snprintf(name, WORK_USER_NAME, "%u", (unsigned)uid);
}
