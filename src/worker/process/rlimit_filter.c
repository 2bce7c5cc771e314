// rlimit_filter.c - a seccomp filter: a process can change only its own resource limits.
//
// With prlimit(2) a process can give another one of its user a limit that ends it, such as one
// second of CPU time. Landlock has no rule for that. The filter refuses prlimit with EPERM if it
// sets limits and names a process; 0 is the caller itself. A filter does not know the process id of
// the caller, so a process that names itself by its id is refused as well. Reading is allowed.
#define _GNU_SOURCE
#include "worker/process/signal_wall.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

// 32-bit programs have other system call numbers, and 64-bit programs can use them as well.
#if defined __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#define ARCH_32 AUDIT_ARCH_I386
enum { PRLIMIT = 302, PRLIMIT_32 = 340 };
#elif defined __aarch64__
#define ARCH AUDIT_ARCH_AARCH64
#define ARCH_32 AUDIT_ARCH_ARM
enum { PRLIMIT = 261, PRLIMIT_32 = 369 };
#endif

#ifdef ARCH
enum { X32_BIT = 0x40000000 };  // a third set of numbers on x86-64; other systems have no such set

// A jump skips this many instructions.
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(offset))
#define WORD(field, word) LOAD(offsetof(struct seccomp_data, field) + (word) * sizeof(uint32_t))
#define IF(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(value), yes, no)
#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)

bool limit_filter_enter(void)
{
    struct sock_filter steps[] = {
        WORD(arch, 0),
        IF(ARCH, 0, 4),
        WORD(nr, 0),
        IF(PRLIMIT, 6, 0),
        IF(PRLIMIT | X32_BIT, 5, 0),
        RETURN(SECCOMP_RET_ALLOW),
        IF(ARCH_32, 0, 2),
        WORD(nr, 0),
        IF(PRLIMIT_32, 1, 0),
        RETURN(SECCOMP_RET_ALLOW),
        WORD(args[0], 0),  // the process; the kernel reads 32 bits
        IF(0, 5, 0),
        WORD(args[2], 0),  // the new limits, both halves of the address
        IF(0, 0, 2),
        WORD(args[2], 1),
        IF(0, 1, 0),
        RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof steps / sizeof *steps, .filter = steps};
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program)
           == 0;
}
#else
bool limit_filter_enter(void)
{
    errno = ENOSYS;
    return false;
}
#endif
