#!/usr/bin/env python3
"""worker_end_test - what a worker that ends reports about its tasks: none of them has failed."""
import errno
import os
import signal
import socket
import subprocess

from end import ROTA, process_state
from wire import WIRE
from workers import SECOND, Cluster, Gone, check, run_tests, same, test

ENDED = WIRE["STOPPED"], errno.ESHUTDOWN
REFUSED = WIRE["NOT_STARTED"], errno.ECANCELED
LEASE = 4 * SECOND


def end_of(peer, task, attempt=1):
    done = peer.finished(task, attempt)
    peer.recorded(task, attempt)
    return done["end"], done["status"]


class Leashed(Cluster):
    """Its worker ends when its standard input is closed, as one that was started by --ssh does."""

    def start(self, *options, **environment):
        words = [ROTA, "worker", "--server", self.address, "--folder", self.folder, "--name", "w1",
                 "-j", "2", "--env", "MARK", "--key-from-stdin", *options]
        with open(self.errors, "a", encoding="utf-8") as errors:
            self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=errors,
                                            env={**os.environ, "MARK": self.path, **environment})
        self.process.stdin.write(b"rota-key worker w " + b"1f" * 32 + b"\n\n")
        self.process.stdin.flush()
        return self.process


def end_by_signal(cluster, peer):
    cluster.term()
    peer.expect("DRAIN")
    cluster.term()


def end_by_leash(cluster, peer):
    cluster.process.stdin.close()
    check("the server is told", peer.expect("DRAIN"))


@test
def a_command_that_the_worker_ends_is_told_apart_from_one_that_the_server_stops():
    for cluster, end in ((Cluster(), end_by_signal), (Leashed(), end_by_leash)):
        with cluster, socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen(8)
            peer = cluster.join(lease=600 * SECOND)
            for task, what in ((1, "sleep 0.3; exit 0"), (2, "")):
                peer.run(task, f"trap '{what}' TERM; touch {cluster.file(str(task))};"
                               " while :; do sleep 0.1; done")
                cluster.wait_for(str(task))
            peer.run(3, "true")
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            peer.send("FETCH", object=(5, 6), bytes=6, addresses=[address], ticket="t")
            peer.run(4, "true", flags=WIRE["RUN_PRIVATE"], cwd="",
                     inputs=[{"object": (5, 6), "path": "in"}])
            peer.send("STOP", task=(1, 2), attempt=1, grace=SECOND)
            peer.send("LOG", request=1, task=(1, 4), attempt=1)
            peer.expect("LOGGED", request=1)  # so what was sent before has come, too
            end(cluster, peer)
            same("one that runs", end_of(peer, 1), ENDED)
            same("one that the server has stopped", end_of(peer, 2),
                 (WIRE["STOPPED"], signal.SIGKILL))
            same("one that waits for a processor", end_of(peer, 3), REFUSED)
            same("one that waits for an input", end_of(peer, 4), REFUSED)
            same("exit status", cluster.ended(), 0)


@test
def an_attempt_that_waits_for_an_older_one_is_refused():
    with Cluster() as cluster:
        peer = cluster.join("--contain", "tree", lease=600 * SECOND)
        peer.run(1, "sleep 1000")
        pid = peer.expect("STARTED")["pid"]
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            worker = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(worker, signal.SIGSTOP)  # so the older one stays
        cluster.until(lambda: process_state(worker) == "T")
        peer.run(1, "true", attempt=2)
        peer.send("LOG", request=1, task=(1, 2), attempt=1)
        peer.expect("LOGGED", request=1)
        end_by_signal(cluster, peer)
        cluster.until(lambda: "ending:" in cluster.said())
        os.kill(worker, signal.SIGCONT)
        same("it did not start", end_of(peer, 1, 2), REFUSED)
        same("exit status", cluster.ended(), 0)


def end_with_the_lease(leaves):
    """How a command ends whose worker loses its lease."""
    with Cluster() as cluster:
        peer = cluster.join("--contain", "tree", lease=LEASE)
        peer.run_exclusive(1, "sleep 1000", peer.newest())
        pid = peer.expect("STARTED")["pid"]
        if leaves:
            cluster.term()
            peer.expect("DRAIN")
        cluster.leave()
        cluster.until(lambda: process_state(pid) == "Z")
        cluster.listen()
        while True:
            try:
                return end_of(cluster.accept().welcome(lease=LEASE), 1)
            except Gone:
                pass


@test
def an_end_with_the_lease_counts_only_for_a_worker_that_stays():
    same("one that leaves", end_with_the_lease(True), ENDED)
    same("one that stays", end_with_the_lease(False), (WIRE["STOPPED"], signal.SIGKILL))


if __name__ == "__main__":
    run_tests()
