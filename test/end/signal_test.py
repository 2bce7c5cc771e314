#!/usr/bin/env python3
"""signal_test - a task of a worker cannot end another one, nor the worker, by signals or limits."""
import ctypes
import os
import signal
import sys

from end import Tap
from workers import Cluster, check, run_tests, same, test

# Other ways to end a process of the same user: a limit of CPU time, or writing to its memory.
OTHER_WAYS = """
import ctypes, os, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
victim, PTRACE_SEIZE = int(sys.argv[1]), 0x4206
def refused(what):
    try:
        what()
        return False
    except PermissionError:
        return True
def write_memory():
    with open(f"/proc/{victim}/mem", "r+b"):
        pass
def trace():
    if libc.ptrace(PTRACE_SEIZE, victim, None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
print("limits", refused(lambda: resource.prlimit(victim, resource.RLIMIT_CPU, (1, 1))))
print("worker", refused(lambda: resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))))
print("memory", refused(write_memory))
print("trace", refused(trace))
core = resource.getrlimit(resource.RLIMIT_CORE)
print("own", resource.prlimit(0, resource.RLIMIT_CORE, core) == core)
print("look", resource.prlimit(os.getpid(), resource.RLIMIT_CORE) == core)
"""


LANDLOCK_CREATE_RULESET, LANDLOCK_VERSION, SIGNALS_SINCE = 444, 1, 6


def can_be_kept_apart():
    """Whether this kernel keeps tasks apart for this user. The worker itself is not asked."""
    libc = ctypes.CDLL(None)
    if libc.syscall(LANDLOCK_CREATE_RULESET, None, 0, LANDLOCK_VERSION) < SIGNALS_SINCE:
        return False
    with open("/proc/self/status", encoding="utf-8") as file:
        return os.geteuid() == 0 or "NoNewPrivs:\t1" in file.read()


class Victim(Cluster):
    """A worker with a task that runs until it is told to exit with 5."""

    def __init__(self, options):
        super().__init__()
        self.peer = self.join(*options)
        self.is_kept_apart = "each other" not in self.said()
        self.go, self.pid = self.file("go"), self.file("pid")
        if not self.is_kept_apart:
            return
        self.peer.run(1, f"echo $$ > {self.pid}.new; mv {self.pid}.new {self.pid};"
                         f" until test -e {self.go}; do sleep 0.02; done; exit 5")
        self.wait_for("pid")

    def status(self):
        with open(self.go, "w", encoding="utf-8"):
            pass
        return self.peer.finished(1)["status"]


def both_kinds():
    """A worker of each kind that keeps its tasks apart, with its options."""
    for options in ((), ("--contain", "tree")):
        with Victim(options) as cluster:
            if can_be_kept_apart():
                check(f"{options} the worker keeps tasks apart", cluster.is_kept_apart,
                      cluster.said())
            if cluster.is_kept_apart:
                yield options, cluster
            elif not can_be_kept_apart():
                Tap.skip(f"{options}", "needs Landlock of Linux 6.12, and root or no_new_privs")


@test
def tasks_cannot_signal_each_other():
    for options, cluster in both_kinds():
        # Only a namespace keeps the second kill from everything else of this user.
        is_inside = os.geteuid() == 0 and not options
        cluster.peer.run(2, f"kill -9 $(cat {cluster.pid}) && exit 1; kill -9 $PPID && exit 2;"
                            " sleep 1000 & kill -9 $! || exit 3;"
                            f" {'kill -9 -1; ' if is_inside else ''} exit 4")
        sender = cluster.peer.finished(2)["status"]
        same(f"{options} the other one continues", cluster.status(), 5)
        same("its own processes can be signalled", sender in (4, signal.SIGKILL), True)
        check("kill -1 ends at most itself", sender == 4 or is_inside, sender)


@test
def tasks_cannot_change_each_other():
    for options, cluster in both_kinds():
        said = cluster.file("said")
        cluster.peer.run(2, f"exec {sys.executable} -c '{OTHER_WAYS}' $(cat {cluster.pid})"
                            f" > {said} 2>&1")
        cluster.peer.finished(2)
        for line in cluster.read("said").splitlines():
            way, _, is_so = line.partition(" ")
            check(f"{options} {way}: as it should be", is_so == "True", line)
        same(f"{options} all ways were tried", len(cluster.read("said").splitlines()), 6)
        same(f"{options} the other one continues", cluster.status(), 5)


if __name__ == "__main__":
    run_tests()
