#!/usr/bin/env python3
"""stop_soak - stops agents and the processes that run their commands at random, under load.

    stop_soak.py [--rounds N] [--seed S]

Each round sends SIGSTOP to a process of a worker that runs commands, or to both of its processes,
and SIGCONT after one to three leases; a round counts if they really stopped. In between workers get
SIGTSTP, which must not stop them. A worker that has ended is started again. No two commands of one
group run at the same time (each holds a lock that the others would find taken, see groups.py), and
every job ends.
"""
import collections
import os
import signal
import sys
import time

from cluster import Cluster
from end import process_state
from soaks import Soak

LEASE = 2


def is_alive(process):
    return process.process.poll() is None


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def is_busy(process):
    return is_alive(process) and any(map(children, children(process.process.pid)))


def targets(agent, choose, both):
    """The agent, its child, or both; only the kernel can fence both, and only a namespace."""
    worker = children(agent)[:1]
    kinds = {"agent": [agent], "command process": worker, "both": [agent, *worker]}
    kind = choose.choice(list(kinds)[:3 if both else 2])
    return kind, kinds[kind]


def comes_to_stop(pid):
    end = time.monotonic() + 1
    while process_state(pid) not in "TZ" and time.monotonic() < end:
        time.sleep(0.005)
    return process_state(pid) == "T"


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


class Rounds:
    """The processes that were stopped, and when they continue."""

    def __init__(self, cluster, choose, is_root):
        self.cluster, self.choose, self.is_root = cluster, choose, is_root
        self.stopped, self.count, self.ended = [], collections.Counter(), 0
        self.wrong = []

    def revive(self):
        for name, process in list(self.cluster.workers.items()):
            if not is_alive(process):
                self.ended += 1
                self.start(name)

    def start(self, name):
        self.cluster.work(name, 4, *(("--contain", "tree") if name == "w0" else ()))

    def victim(self):
        """A worker whose commands run; none may be there."""
        workers = self.cluster.workers
        busy = [name for name in workers if is_busy(workers[name])]
        return self.choose.choice(busy) if busy else None

    def stop_one(self):
        """Whether a process of a worker with commands is really stopped now."""
        name = self.victim()
        if not name:
            return False
        agent = self.cluster.workers[name].process.pid
        kind, pids = targets(agent, self.choose, self.is_root and name != "w0")
        send(pids, signal.SIGSTOP)
        if not all(map(comes_to_stop, pids)):
            send(pids, signal.SIGCONT)
            return False
        self.count[kind] += 1
        self.stopped.append((time.monotonic() + (1 + 2 * self.choose.random()) * LEASE, pids))
        return True

    def suspend_one(self):
        """As Ctrl-Z does: a worker must not care."""
        name = self.victim()
        if not name:
            return
        agent = self.cluster.workers[name].process.pid
        pids = [pid for pid in (agent, *children(agent)[:1]) if process_state(pid) not in "TZ"]
        send(pids, signal.SIGTSTP)
        time.sleep(0.05)
        self.count["TSTP"] += 1
        stopped = {pid for row in self.stopped for pid in row[1]}
        if any(process_state(pid) == "T" for pid in pids if pid not in stopped):
            self.wrong.append(f"TSTP stopped {name}")

    def go_on(self, everything=False):
        for row in [row for row in self.stopped if everything or row[0] <= time.monotonic()]:
            send(row[1], signal.SIGCONT)
            self.stopped.remove(row)


def main():
    soak = Soak(backlog=120, tasks=60, groups=12, seconds=(0.1, 1, 4))
    with Cluster(lease=LEASE) as cluster:
        rounds = Rounds(cluster, soak.choose, os.geteuid() == 0)
        for number in range(3):
            rounds.start(f"w{number}")
        done, last = 0, time.monotonic()
        while done < soak.rounds and time.monotonic() - last < 60:
            soak.load(cluster)
            if rounds.stop_one():
                done, last = done + 1, time.monotonic()
            if soak.choose.random() < 0.3:
                rounds.suspend_one()
            time.sleep(soak.choose.random())
            rounds.go_on()
            rounds.revive()
        if done < soak.rounds:
            rounds.wrong.append(f"only {done} rounds stopped something")
        rounds.go_on(everything=True)
        rounds.revive()
        soak.settle(cluster, rounds.wrong)
    return soak.end(cluster, f"{done} rounds that stopped {dict(rounds.count)}, {rounds.ended}"
                    " workers ended")


if __name__ == "__main__":
    sys.exit(main())
