#!/usr/bin/env python3
"""flood_slow_disk_test - requests that arrive while the disk syncs stay within the share of a key.

strace delays each sync of the server by a second. A client submits jobs, so that turns wait for the
disk; other connections of its key send many short requests without waiting for answers.
"""
import concurrent.futures
import os
import threading

import kill
from cluster import Cluster, Process
from end import Tap
from hostile import Stranger, job_of
from wire import encode

say = Tap.say
MIB = 1 << 20
SLOW = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync,fdatasync", "-e",
        "inject=fsync,fdatasync:delay_exit=1000000"]


class Slow(Cluster):
    """The server runs under strace."""

    def serve(self):
        self.server = Process(self.path("server.log"), "server", "--listen", self.socket, "--db",
                              self.database, before=SLOW)
        self.until(lambda: os.path.exists(self.socket), "the server listens")

    def peak(self):
        """The most memory that the server has had."""
        pid = self.server.process.pid
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
            child = file.read().split()[0]
        with open(f"/proc/{child}/status", encoding="utf-8") as file:
            return [int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM")][0]


def submits(cluster, over):
    with Stranger(cluster.socket, "CLIENT") as peer:
        for number in range(1, 1000):
            peer.says("SUBMIT", **job_of(number))
            if over.wait(0.05):
                return


def fill(peer):
    """3.4 MB of requests, or as many as the server takes; the answers are short."""
    peer.link.socket.settimeout(5)
    peer.raw(encode("ASK", request=1, words=["x" * 10000]) * 340)


def many_short_requests():
    with Slow() as cluster:
        crowd = [Stranger(cluster.socket, "CLIENT") for _ in range(60)]
        before, over = cluster.peak(), threading.Event()
        thread = threading.Thread(target=submits, args=(cluster, over))
        thread.start()
        with concurrent.futures.ThreadPoolExecutor(len(crowd)) as pool:
            list(pool.map(fill, crowd))
        grown = cluster.peak() - before
        over.set()
        thread.join()
        say(grown < 64 * MIB, "200 MB of requests cost little while turns wait for the disk", grown)
        told = crowd[0].answer()
        say(told == "refuse request", "the requests are answered", told)


if not kill.has_strace():
    Tap.skip("a slow disk", "strace cannot be used here")
elif os.environ.get("SANITIZED"):
    Tap.skip("a slow disk", "a sanitized server keeps memory that it has freed")
else:
    many_short_requests()
Tap.end()
