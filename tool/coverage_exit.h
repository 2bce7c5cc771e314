// coverage_exit.h - included first in every file of a coverage build (meson.build).
//
// gcov writes its counts when exit() is called. Forked processes of rota end by _exit(), so they
// write theirs here. The counts are cleared afterwards because a child may share the memory of its
// parent (CLONE_VM), which writes its own counts later.
#pragma once

extern void __gcov_dump(void);
extern void __gcov_reset(void);
extern void _exit(int status) __attribute__((noreturn));

static inline __attribute__((noreturn, unused)) void coverage_exit(int status)
{
    __gcov_dump();
    __gcov_reset();
    _exit(status);
}

#define _exit coverage_exit
