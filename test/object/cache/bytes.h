// bytes.h - files with bytes derived from a number, for the tests of caches.
#pragma once

#include "base/base.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include <cmocka.h>

// seed of the caller: each content has a number, and the same bytes whenever it is made.
static inline void bytes_put(int folder, const char *name, uint64_t seed, size_t count, mode_t mode)
{
    uint64_t block[8192];
    int fd = openat(folder, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
    assert_true(fd >= 0);
    for (size_t at = 0; at < count; at += sizeof block) {
        size_t part = count - at < sizeof block ? count - at : sizeof block;
        for (size_t i = 0; i < sizeof block / sizeof *block; i++) block[i] = random_next(&seed);
        assert_int_equal(write(fd, block, part), part);
    }
    close(fd);
}
