#!/usr/bin/env python3
"""foreign_reader_test - other tools read a database in use; then its server or run is killed.

    foreign_reader_test.py [--rounds N]

A tool that opens a database for writing and is the last one to close it makes a checkpoint and
deletes the log. The locks of the process that uses the database must prevent that: for a new and an
old database, for a server and a run. No acknowledged record may be missing.
"""
import argparse
import json
import os
import shutil
import signal
import sqlite3
import subprocess

from cluster import PATIENCE, Cluster
from end import Tap
from runs import Folder, kill_group

options = argparse.ArgumentParser()
options.add_argument("--rounds", type=int, default=1)
options = options.parse_args()

JOBS_AFTER = 3
TASKS = 4
WAIT = "while ! [ -e go ]; do sleep 0.01; done"
JOB = "tasks:\n  t0: {run: 'true'}\n" + "".join(
    f"  t{i}: {{run: '{WAIT}', needs: [t0]}}\n" for i in range(1, TASKS)) + (
    f"  last: {{run: 'sleep 600', needs: [t{TASKS - 1}]}}\n")


# ---- The tools ---------------------------------------------------------------------------------


def select(database, _):
    subprocess.run(["sqlite3", database, "SELECT count(*) FROM sched_job"], check=True,
                   stdout=subprocess.DEVNULL, timeout=PATIENCE)


def vacuum(database, backup):
    subprocess.run(["sqlite3", database, f"VACUUM INTO '{backup}'"], check=True, timeout=PATIENCE)
    os.remove(backup)


def python(database, _):
    link = sqlite3.connect(database)
    link.execute("SELECT count(*) FROM sched_job").fetchall()
    link.close()


TOOLS = {"sqlite3 SELECT": select, "sqlite3 VACUUM INTO": vacuum, "Python": python}


def has_lock(process, database):
    """SQLite holds a lock for reading for as long as a database is open."""
    inode = str(os.stat(database).st_ino)
    with open("/proc/locks", encoding="utf-8") as file:
        rows = [line.split() for line in file]
    return any("POSIX" in row and "READ" in row and str(process) in row
               and any(word.count(":") == 2 and word.split(":")[2] == inode for word in row)
               for row in rows)


# ---- A round -----------------------------------------------------------------------------------


def server_round(is_old, tool):
    """Whether there was a lock, and how many of the acknowledged jobs are missing."""
    with Cluster() as cluster:
        def submit():
            done = cluster.submit({"t": {"run": "true"}})
            if done.returncode:
                raise RuntimeError(done.stderr)

        submit()
        if is_old:
            cluster.server.kill(signal.SIGTERM)
            cluster.serve()
        submit()
        locked = has_lock(cluster.server.process.pid, cluster.database)
        tool(cluster.database, cluster.path("backup.db"))
        for _ in range(JOBS_AFTER):
            submit()
        cluster.server.kill()
        cluster.serve()
        return locked, JOBS_AFTER + 2 - cluster.sql("SELECT count(*) FROM sched_graph")[0][0]


def run_round(is_old, tool):
    with Folder(JOB) as folder:
        database = os.path.join(folder.path, ".rota", "rota.db")
        if is_old:
            folder.write("first.yaml", "tasks:\n  first: {run: 'true'}\n")
            subprocess.run([folder.words()[0], "run", "first.yaml"], cwd=folder.path, check=True,
                           stdout=subprocess.DEVNULL, timeout=PATIENCE)
        process = folder.start("--json")

        def ended(count):
            found = []
            while len(found) < count:
                event = json.loads(process.stdout.readline())
                if event["event"] == "ended":
                    found.append(event["task"])
            return found

        told = ended(1)
        locked = has_lock(process.pid, database)
        tool(database, os.path.join(folder.path, "backup.db"))
        folder.write("go", "")
        told += ended(TASKS - 1)
        kill_group(process)
        link = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        done = [row[0] for row in link.execute("SELECT name FROM sched_status"
                                               " WHERE status = 'SUCCESS'")]
        link.close()
        return locked, len(set(told) - set(done))


def rounds(what, play, is_old, name):
    locked = missing = 0
    for _ in range(options.rounds):
        found = play(is_old, TOOLS[name])
        locked += found[0]
        missing += found[1]
    age = "an old" if is_old else "a new"
    Tap.say(locked == options.rounds and missing == 0,
            f"{what} with {age} database, {name}, then kill -9: nothing acknowledged is missing",
            f"{locked} of {options.rounds} held their lock, {missing} acknowledged ones missing")


for label, play_one in (("a server", server_round), ("a run", run_round)):
    for old in (False, True):
        for tool_name in TOOLS:
            if tool_name.startswith("sqlite3") and not shutil.which("sqlite3"):
                Tap.skip(f"{label}, {tool_name}", "there is no sqlite3 program here")
            else:
                rounds(label, play_one, old, tool_name)
Tap.end()
