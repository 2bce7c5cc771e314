#!/usr/bin/env python3
"""duplicate_workers_soak - workers with the name or folder of others, under load.

    duplicate_workers_soak.py [--rounds N] [--seed S]

Each round does one thing to one of three workers: another worker is started with its name, with its
name and another key, or in a copy of its folder; a stranger greets with its name and joins without
tasks; it is killed and started again, or stopped for one to three leases, while others want its
name. No two commands of one group run at the same time (each holds a lock that the others would
find taken, see groups.py), every job ends, and a worker that was left alone keeps its name.
"""
import collections
import os
import shutil
import signal
import sys
import time

from cluster import KeyedCluster, Process
from cluster_soak import open_tasks
from soaks import Soak
from hostile import Stranger
from wire import VERSION, WIRE

LEASE = 2


def is_alive(process):
    return process.process.poll() is None


class Rounds:
    """The workers, those that want their names, and what has become of them."""

    def __init__(self, cluster, choose):
        self.cluster, self.choose = cluster, choose
        self.duplicates, self.stopped, self.count, self.wrong = [], [], collections.Counter(), []
        self.disturbed = {}  # when a worker was killed, stopped or refused last

    def is_calm(self, name):
        """Alive and connected for longer than any fault takes."""
        return time.monotonic() - self.disturbed.get(name, 0) > 4 * LEASE

    def start(self, name):
        self.disturbed[name] = time.monotonic()
        self.cluster.work(name, 2)

    def duplicate(self, name, folder, *options, suffix=""):
        words = options or ("--server", self.cluster.socket)
        process = Process(folder + ".log", "worker", *words, "--name", name + suffix, "--folder",
                          folder, "-j", "2")
        end = time.monotonic() + (1 + 2 * self.choose.random()) * LEASE
        self.duplicates.append((process, name, folder, self.is_calm(name), end))

    def new_folder(self):
        return self.cluster.path(f"other{self.choose.randrange(10 ** 9)}")

    def same_name(self, name):
        self.duplicate(name, self.new_folder())

    def other_key(self, name):
        self.duplicate(name, self.new_folder(), "--server", self.cluster.address,
                  *self.cluster.key("worker"))

    def copied_folder(self, name):
        folder = self.new_folder()
        os.mkdir(folder)
        shutil.copy(os.path.join(self.cluster.path(name), "id"), folder)
        self.duplicate(name, folder, suffix=self.choose.choice(("", "-copy")))

    def hostile(self, name):
        calm = self.is_calm(name)
        with Stranger(self.cluster.socket) as peer:
            folder = self.choose.choice((0, 7))
            peer.says("GREET", version=VERSION, role=WIRE["WORKER"], name=name, folder=folder,
                      boot=self.choose.randrange(1, 2 ** 63), connection=2 ** 63)
            peer.says("JOIN", cores=self.choose.choice((0, 64)), memory_mib=1 << 20)
            told = peer.answer("REFUSE", "WELCOME")
        is_refused = told in ("refuse name", "refuse state")
        self.count["stranger refused" if is_refused else "stranger welcome"] += 1
        if not is_refused:
            self.disturbed[name] = time.monotonic()
        if calm and told != "refuse name":
            self.wrong.append(f"a stranger has the name of {name}, which is alive: {told}")

    def killed(self, name):
        self.disturbed[name] = time.monotonic()
        self.cluster.workers[name].kill()
        self.choose.choice((self.same_name, self.hostile, self.copied_folder))(name)
        self.start(name)

    def held_up(self, name):
        process = self.cluster.workers[name].process
        self.disturbed[name] = time.monotonic() + 3 * LEASE
        os.kill(process.pid, signal.SIGSTOP)
        end = time.monotonic() + (1 + 2 * self.choose.random()) * LEASE
        self.stopped.append((process, end))
        self.choose.choice((self.same_name, self.copied_folder))(name)

    def one(self):
        name = self.choose.choice([name for name in self.cluster.workers
                                   if is_alive(self.cluster.workers[name])])
        what = self.choose.choice((self.same_name, self.other_key, self.copied_folder,
                                   self.hostile, self.hostile, self.killed, self.held_up))
        self.count[what.__name__] += 1
        what(name)

    def duplicate_end(self, row):
        process, name, folder, calm, _ = row
        status = process.process.poll()
        process.kill()
        self.duplicates.remove(row)
        shutil.rmtree(folder, ignore_errors=True)
        self.count["duplicate refused" if status == 2 else "duplicate worked, or waited"] += 1
        if calm and self.is_calm(name) and "connected to" in process.said():
            self.wrong.append(f"a second worker works as {name}: {process.said()}")

    def settle(self, everything=False):
        now = time.monotonic()
        for row in [row for row in self.stopped if everything or row[1] <= now]:
            if row[0].poll() is None:
                row[0].send_signal(signal.SIGCONT)
            self.stopped.remove(row)
        for row in list(self.duplicates):
            if everything or row[4] <= now or not is_alive(row[0]):
                self.duplicate_end(row)
        for name, process in list(self.cluster.workers.items()):
            if not is_alive(process):
                self.count["worker ended"] += 1
                if self.is_calm(name):
                    self.wrong.append(f"{name} was left alone, and ended: {process.said()[-300:]}")
                self.start(name)


def main():
    soak = Soak(backlog=40, tasks=20, groups=6, seconds=(0.1, 1, 4))
    with KeyedCluster(lease=LEASE) as cluster:
        rounds = Rounds(cluster, soak.choose)
        for number in range(3):
            rounds.start(f"w{number}")
        cluster.until(lambda: all("connected to" in process.said()
                                  for process in cluster.workers.values()), "three work")
        for number in range(soak.rounds):
            soak.load(cluster)
            rounds.one()
            time.sleep(soak.choose.random() * 1.5)
            rounds.settle()
        rounds.settle(everything=True)
        cluster.until(lambda: rounds.settle() or not open_tasks(cluster), "all jobs end", 300)
        soak.settle(cluster, rounds.wrong)
    return soak.end(cluster, f"{soak.rounds} rounds, {dict(rounds.count)}")


if __name__ == "__main__":
    sys.exit(main())
