// allocator.h - an allocator for tests: counts, refuses on request, and returns dirty memory.
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"

// Blocks move whenever they are resized, never to the same distance from a cache line, and are
// full of rubbish at first. Giving back must name the size that was asked for, and the bytes after
// the block must be unchanged.
struct allocator {
    uint64_t requests;
    uint64_t refuse_from, refuse_count;  // requests that are refused; the first one is number 1
    size_t size_max;                     // larger ones are refused too; 0: a gigabyte
    size_t bytes;                        // given out and not given back
};

struct memory allocator_memory(struct allocator *allocator);
void allocator_refuse_next(struct allocator *allocator, uint64_t skipped);  // one, after some
void allocator_refuse_all(struct allocator *allocator);                     // from now on
