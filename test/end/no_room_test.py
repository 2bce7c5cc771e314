#!/usr/bin/env python3
"""no_room_test - an attempt whose input does not fit on the disk is lost, not failed.

strace makes the system calls fail that give a task its input. `rota run` and a server repeat the
attempt without using a retry; if there is never space, the task fails after five losses.
"""
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile

import kill
from cluster import PATIENCE, ROTA_PATH, Cluster, Process
from end import Tap

say = Tap.say
CALLS = "linkat,copy_file_range"
LOSSES = 5  # ATTEMPT_LOSSES_MAX
TASKS = {"made": {"run": "echo made > o", "out": ["o"]}, "reader": {"run": "cat o", "in": ["o"]}}


def full_disk(when):
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={CALLS}", "-e",
            f"inject={CALLS}:error=ENOSPC:when={when}"]


def run(when):
    """`rota run` on a disk that is full at these calls: its status, output, and attempts."""
    folder = tempfile.mkdtemp(prefix="rota-no-room-")
    try:
        with open(os.path.join(folder, "job.json"), "w", encoding="utf-8") as file:
            json.dump({"tasks": TASKS}, file)
        # The leak sanitizer ends a program that strace runs.
        done = subprocess.run([*full_disk(when), ROTA_PATH, "run", "job.json"], cwd=folder,
                              capture_output=True, text=True, check=False, timeout=PATIENCE,
                              env=dict(os.environ, ASAN_OPTIONS="detect_leaks=0"))
        link = sqlite3.connect(os.path.join(folder, ".rota/rota.db"))
        attempts = link.execute("SELECT h.attempt, h.status FROM sched_history h JOIN sched_job j"
                                " USING (id) WHERE j.name = 'reader' ORDER BY h.attempt").fetchall()
        link.close()
        return done, attempts
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def run_has_room_later():
    done, attempts = run("1")
    say(done.returncode == 0 and len(attempts) == 2 and attempts[-1][1] == "SUCCESS",
        "run: a task without retries succeeds when there is room for its input again",
        (done, attempts))


def run_never_has_room():
    done, attempts = run("1+")
    say(done.returncode == 1 and len(attempts) == LOSSES + 1 and attempts[-1][1] == "FAILED"
        and "No space left on device" in done.stdout,
        "run: a task whose input never finds room fails after five losses", (done, attempts))


def server_has_room_later():
    with Cluster() as cluster:
        name = "full"
        cluster.workers[name] = Process(
            cluster.path("full.log"), "worker", "--server", cluster.socket, "--name", name,
            "--folder", cluster.path(name), "-j", "2", before=full_disk("1"))
        done = cluster.submit(TASKS, "--wait")
        ends = [status for task, status in cluster.ends() if task == "reader"]
        say(done.returncode == 0 and len(ends) == 2 and ends[-1] == "SUCCESS",
            "server: a task without retries succeeds when there is room for its input again",
            (done, ends, cluster.told()))


if kill.has_strace():
    run_has_room_later()
    run_never_has_room()
    server_has_room_later()
else:
    Tap.skip("an attempt whose input finds no room is lost", "strace cannot be used here")
Tap.end()
