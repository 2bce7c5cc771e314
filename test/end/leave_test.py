#!/usr/bin/env python3
"""leave_test - a worker that ends by itself has left the cluster when its process ends, over TLS
too.

And a server that was started with nohup reads its keys again at SIGHUP.
"""
import signal
import subprocess

from cluster import ROTA_PATH, KeyedCluster
from end import Tap

ROUNDS = 12


def left(cluster, number):
    """The server's answer about a worker that was ended by TERM."""
    name = f"w{number}"
    worker = cluster.work(name, 1, "--server", cluster.address, *cluster.key("worker"))
    cluster.until(lambda: "connected to" in worker.said(), name + " works")
    status = worker.kill(signal.SIGTERM)
    forgotten = subprocess.run([ROTA_PATH, "worker", "forget", name, "--server", cluster.socket],
                               capture_output=True, text=True, check=False)
    return status, forgotten.returncode, forgotten.stderr


class Ignoring(KeyedCluster):
    """The server is started with HUP ignored."""

    def serve(self):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            super().serve()
        finally:
            signal.signal(signal.SIGHUP, before)


with KeyedCluster(lease=60) as cluster:
    found = [left(cluster, number) for number in range(ROUNDS)]
    Tap.say(all(one[:2] == (0, 0) for one in found),
            f"{ROUNDS} workers that end over TLS can be forgotten at once", found)

with Ignoring() as cluster:
    cluster.server.process.send_signal(signal.SIGHUP)
    cluster.until(lambda: "keys read again" in cluster.server.said(), "the keys are read")
    Tap.say(True, "a server reads its keys again, also when nohup has started it")
Tap.end()
