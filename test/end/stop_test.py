#!/usr/bin/env python3
"""stop_test - exclusive commands of a stopped worker end before other workers may start them."""
import concurrent.futures
import contextlib
import ctypes
import os
import signal
import time

from end import Tap, process_state, stand_still
from stalls import unless_stalled
from wire import WIRE
from workers import PATIENCE, SECOND, Cluster, check, run_tests, same, test

LEASE = 3  # as the worker is told; its server, with --lease 4, would wait a second longer
SERVER_LEASE = 4
STALL = 0.2  # the kernel ends the last of them a quarter of a second before that
PTRACE_ATTACH, PTRACE_SEIZE, PTRACE_INTERRUPT = 16, 0x4206, 0x4207
TREE = ("--contain", "tree")


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return [int(word) for word in file.read().split()]


def threads(pid):
    return [int(name) for name in os.listdir(f"/proc/{pid}/task")]


def until_state(pid, letters):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if process_state(pid) in letters:
            return
        time.sleep(0.01)
    raise TimeoutError(f"{pid} is not in state {letters}")


def stop(*pids):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
        until_state(pid, "T")


def ptrace(request, thread):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(request, thread, None, None):
        raise OSError(ctypes.get_errno(), "ptrace")


def trace(pid):
    """As a debugger does: all threads. They stay so until they are killed, or this process ends."""
    for thread in threads(pid):
        ptrace(PTRACE_ATTACH, thread)
    until_state(pid, "tT")


def hang(pid):
    """Stops its first thread, as in a system call that does not return; others continue."""
    ptrace(PTRACE_SEIZE, pid)
    ptrace(PTRACE_INTERRUPT, pid)
    until_state(pid, "t")


def halted(cluster, options, halt):
    """How long after the last answered BEAT commands were left, in seconds."""
    peer = cluster.join(*options, lease=LEASE * SECOND)
    alive = cluster.file("alive")  # it writes down itself until when: this test may be slow
    peer.run_exclusive(1, f"trap '' TERM; while :; do cat /proc/uptime > {alive}.new;"
                          f" mv {alive}.new {alive}; sleep 0.1; done", peer.newest())
    peer.run(2, "setsid sleep 1002 & wait")
    for task in (1, 2):
        peer.expect("STARTED", task=(1, task))
    agent = cluster.process.pid
    worker = children(agent)[0]
    cluster.wait_for("alive")
    peer.answers = False
    lease_from = peer.newest() / SECOND
    if halt == "refused":  # it ends, and waits for a process that is stopped
        stop(worker)
        peer.close()
        peer = cluster.accept()
        peer.expect("GREET")
        peer.send("REFUSE", code=WIRE["REFUSED_NAME"], reason="another one has it")
    else:
        halt(agent, worker)
    cluster.process.poll()  # takes the stop of one that is traced: its end cannot be waited for
    def left():
        return set(cluster.processes()) - {agent, worker}
    while left() and now() < lease_from + 20:
        time.sleep(0.02)
    if left():
        for pid in left():  # else the end of the test would wait for them
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return now() - lease_from
    return float(cluster.read("alive").split()[0]) - lease_from


def seconds_until_gone(options, halt):
    with Cluster() as cluster:
        return halted(cluster, options, halt)


def halts():
    """The process to stop, with which options, and how."""
    for options in ((), TREE):
        yield "the agent", options, lambda agent, _: stop(agent)
        yield "the process that runs commands", options, lambda _, worker: stop(worker)
    yield "the agent by a debugger", (), lambda agent, _: trace(agent)
    # Only the thread of the agent is left, then only that of the process that runs commands. In a
    # namespace the kernel does the same a little later: it ends with its first process.
    yield "the process that runs commands by a debugger", TREE, lambda _, worker: trace(worker)
    yield "the agent, while the loop of the other one hangs", TREE, lambda agent, worker: (
        hang(worker), stop(agent))
    yield "the process that runs commands, and the agent is killed", TREE, lambda agent, worker: (
        stop(worker), os.kill(agent, signal.SIGKILL))
    yield "the process that runs commands, while the agent is refused", TREE, "refused"
    yield "both", TREE, stop
    if os.geteuid() == 0:  # only a namespace ends with its first process
        yield "both", (), stop


@test
def commands_of_a_worker_that_is_stopped_end_in_time():
    def took(halt):
        return unless_stalled(SERVER_LEASE, STALL, lambda: seconds_until_gone(*halt[1:]))
    cases = list(halts())
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        for (what, options, _), seconds in zip(cases, pool.map(took, cases)):
            check(f"{what} {' '.join(options)}: commands are gone before others may start",
                  seconds < SERVER_LEASE, seconds)
    if os.geteuid() != 0:
        Tap.skip("both at once", "needs root, for a namespace")


@test
def a_stop_that_is_shorter_than_the_lease_changes_nothing():
    with Cluster() as cluster:
        peer = cluster.join(lease=20 * SECOND)
        peer.run_exclusive(1, f"until test -e {cluster.file('go')}; do sleep 0.02; done; exit 9",
                           peer.newest())
        peer.expect("STARTED")
        stand_still(cluster.process)
        cluster.process.send_signal(signal.SIGCONT)
        stop(children(cluster.process.pid)[0])
        os.kill(children(cluster.process.pid)[0], signal.SIGCONT)
        open(cluster.file("go"), "w", encoding="utf-8").close()
        same("it ends as it would", peer.finished(1)["status"], 9)


@test
def a_command_in_a_tree_dies_with_the_process_that_runs_it():
    """Also when only the fence can kill it, because the agent is stopped."""
    with Cluster() as cluster:
        peer = cluster.join(*TREE, lease=600 * SECOND)
        peer.run(1, "exec sleep 1000")
        pid = peer.expect("STARTED")["pid"]
        agent, worker = cluster.process.pid, children(cluster.process.pid)[0]
        stop(agent)
        os.kill(worker, signal.SIGKILL)
        until_state(pid, "Z")
        check("the command is dead", True)


@test
def a_terminal_cannot_stop_a_worker():
    with Cluster() as cluster:
        peer = cluster.join(*TREE)  # so that the number of a process is that of this test
        for number in (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU):
            for pid in (cluster.process.pid, children(cluster.process.pid)[0]):
                os.kill(pid, number)
        check("the agent is not stopped", process_state(cluster.process.pid) not in "TZ")
        peer.run(1, "kill -TSTP $$; exit 7")
        pid = peer.expect("STARTED")["pid"]
        until_state(pid, "T")
        os.kill(pid, signal.SIGCONT)
        same("it continues, and its commands can be stopped", peer.finished(1)["status"], 7)


if __name__ == "__main__":
    run_tests()
