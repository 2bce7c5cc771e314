#!/usr/bin/env python3
"""input_removed_test - rota run fails a task whose input is removed from the cache before each
attempt.

During the run, the test removes the input from the cache as soon as it exists. The first attempt of
the reader waits for a second task, later ones for their backoff.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile
import threading

from end import ROTA, Tap

PATIENCE = 120
LOSSES = 5  # ATTEMPT_LOSSES_MAX


class Thief:
    """Removes all objects from the cache, over and over: their names, which are made last."""

    def __init__(self, folder):
        self.objects = os.path.join(folder, ".rota/cache/object")
        self.times, self.ends = 0, threading.Event()
        self.thread = threading.Thread(target=self.steal)

    def steal(self):
        while not self.ends.wait(0.001):
            if not os.path.isdir(self.objects):
                continue
            for name in os.listdir(self.objects):
                os.unlink(os.path.join(self.objects, name))
                self.times += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()


folder = tempfile.mkdtemp(prefix="rota-lacking-")
try:
    with open(os.path.join(folder, "job.json"), "w", encoding="utf-8") as file:
        json.dump({"tasks": {"made": {"run": "echo made > o", "out": ["o"]},
                             "slow": {"run": "sleep 1"},
                             "reader": {"run": "cat o", "in": ["o"], "needs": ["slow"]}}}, file)
    with Thief(folder) as thief:
        done = subprocess.run([os.path.abspath(ROTA), "run", "job.json"], cwd=folder,
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
    link = sqlite3.connect(os.path.join(folder, ".rota/rota.db"))
    ends = [row[0] for row in link.execute(
        "SELECT h.status FROM sched_history h JOIN sched_job j USING (id) WHERE j.name = 'reader'"
        " ORDER BY h.attempt")]
    link.close()
    Tap.say(done.returncode == 1 and len(ends) == LOSSES + 1 and ends[-1] == "FAILED",
            "a task whose input is gone each time is given up after five losses",
            (done, ends, thief.times))
finally:
    shutil.rmtree(folder, ignore_errors=True)
Tap.end()
