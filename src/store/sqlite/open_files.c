// open_files.c - the descriptors that SQLite has of the database files.
//
// SQLite does not tell them, and SQLITE_FCNTL_HAS_MOVED knows only the database. They are needed
// where the path of a file says nothing: when a file was replaced while SQLite opened it, and when
// this process may no longer enter its folder. The kernel knows the path of an open file, and
// whether it was deleted.
#define _GNU_SOURCE
#include "store/sqlite/sqlite.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINK_SIZE = 4096 };

// The names in that folder are decimal numbers, "." and "..".
static int number_of(const char *name)
{
    int number = 0;
    for (; *name >= '0' && *name <= '9'; name++) number = number * 10 + (*name - '0');
    return number;
}

bool open_files_find(const struct file_identity files[FILE_KINDS], int found[FILE_KINDS])
{
    DIR *folder = opendir("/proc/self/fd");
    struct stat status;
    for (int kind = 0; kind < FILE_KINDS; kind++) found[kind] = -1;
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        int file = number_of(entry->d_name);
        if (fstat(file, &status) < 0) continue;
        for (int kind = 0; kind < FILE_KINDS; kind++)
            if (files[kind].device == status.st_dev && files[kind].inode == status.st_ino)
                found[kind] = file;
    }
    if (folder) closedir(folder);
    return folder != NULL;
}

uint64_t open_file_place(int file)
{
    char name[64], path[LINK_SIZE];
    uint64_t hash = 0, word;
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    ssize_t length = readlink(name, path, sizeof path - sizeof word);
    if (length <= 0) return 0;
    memset(path + length, 0, sizeof word);
    for (ssize_t at = 0; at < length; at += (ssize_t)sizeof word) {
        memcpy(&word, path + at, sizeof word);
        hash = hash_mix(hash, word);
    }
    return hash | 1;
}
