#!/usr/bin/env python3
"""relative_paths_test - a server, a worker and clients that are given paths from their folder."""
import os
import subprocess

from cluster import Cluster, PATIENCE, Process, ROTA_PATH
from end import Tap

say = Tap.say


class RelativeCluster(Cluster):
    """All its processes run in its folder."""

    def start(self, *words):
        log = self.path(words[0] + ".log")
        process = Process(log, *words, before=["env", "-C", self.folder])
        self.workers[" ".join(words)] = process
        return process

    def serve(self):
        self.server = self.start("server", "--listen", "s.sock", "--db", "s.db")
        self.until(lambda: self.client("ps").returncode != 4, "the server listens")

    def client(self, *words):
        return subprocess.run([ROTA_PATH, *words, "--server", "s.sock"], capture_output=True,
                              text=True, check=False, timeout=PATIENCE, cwd=self.folder)


with RelativeCluster() as cluster:
    say(f"listening at {cluster.path('s.sock')}\n" in cluster.server.said(),
        "a server prints the absolute path of its socket", cluster.server.said())
    cluster.start("worker", "--server", "s.sock", "--name", "w1", "--folder", "w1", "-j", "1")
    cluster.until(lambda: os.path.exists(cluster.path("w1/data/sock")), "w1 has a data socket")
    os.mkdir(cluster.path("home"))
    with open(cluster.path("home/a"), "w", encoding="utf-8") as file:
        file.write("input\n")
    with open(cluster.path("home/job.yaml"), "w", encoding="utf-8") as file:
        file.write("tasks:\n  t: {run: cat a > b, in: [a], out: [b], keep: true}\n")
    done = cluster.client("submit", "--wait", "home/job.yaml")
    say(done.returncode == 0 and cluster.read("home/b") == "input\n",
        "a new worker with a relative folder fetches inputs and sends outputs",
        done.stdout + done.stderr + cluster.told())

    def ended(*words):
        return subprocess.run([ROTA_PATH, "worker", "--server", "s.sock", *words],
                              capture_output=True, text=True, check=False, timeout=PATIENCE,
                              cwd=cluster.folder)

    done = ended("--name", "w2", "--folder", "x" * 120)
    say(done.returncode == 2 and "data socket is too long" in done.stderr,
        "a worker whose data socket has too long a path ends with 2", done)
    os.mkdir(cluster.path("closed"))
    with open(cluster.path("closed/data"), "w", encoding="utf-8"):
        pass
    done = ended("--name", "w3", "--folder", "closed")
    say(done.returncode == 2 and "closed/data/sock" in done.stderr,
        "a worker that cannot make its data socket ends with 2", done)
    done = ended("--name", "w4", "--folder", "w4", "--listen", "closed/data/sock")
    say(done.returncode == 2 and cluster.path("closed/data/sock") in done.stderr,
        "the same for --listen with a relative path", done)

Tap.end()
