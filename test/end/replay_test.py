#!/usr/bin/env python3
"""replay_test - rota replay: the journal gives the rows of the database, or the difference is
shown."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from end import ROTA, Tap, change  # noqa: E402

JOB = """
tasks:
  a: {run: "true"}
  b: {run: "exit 3", retries: 1}
  c: {run: "true", needs: [a]}
  d: {run: "true", needs: [b]}
"""


def rota(*words, cwd=None):
    return subprocess.run([ROTA, *words], capture_output=True, text=True, check=False, cwd=cwd)


def changed(path, folder, sql):
    """A copy of the database with something wrong in it."""
    copy = os.path.join(folder, "changed.db")
    for end in ("", "-wal", "-shm"):
        if os.path.exists(copy + end):
            os.remove(copy + end)
        if os.path.exists(path + end):
            shutil.copy(path + end, copy + end)
    change(copy, sql)
    return rota("replay", copy)


def plays(folder):
    """The databases of scenarios: regeneration, claims, lanes, bundles, restarts."""
    wrong = []
    for name in ("regenerate-chain", "regenerate-chain-fails", "cancel-claimed-in-lane",
                 "claim-failed-needs-failed-ok", "lane-requested-when-ready",
                 "pull-many-workers-one-job", "full-worker-delays-task"):
        play = glob.glob(os.path.join(HERE, "..", "play", f"{name}.play"))
        path = os.path.join(folder, f"{name}.db")
        done = rota("play", "--restart-everywhere", "--db", path, *play)
        if done.returncode or rota("replay", path).returncode:
            wrong.append(name)
    return wrong


def main():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "job.yaml"), "w", encoding="utf-8") as file:
            file.write(JOB)
        rota("run", "job.yaml", cwd=folder)
        rota("run", "job.yaml", cwd=folder)
        path = os.path.join(folder, ".rota", "rota.db")
        same = rota("replay", "--json", path)
        said = json.loads(same.stdout)
        Tap.say(same.returncode == 0 and said["different"] == 0 and said["tasks"] >= 4
                and said["changes"] >= 8, f"a run is replayed: {same.stdout.strip()}")
        Tap.say(" 0 different" in rota("replay", path).stdout, "and told in words")
        gap = changed(path, folder, "DELETE FROM sched_event WHERE sequence = 2")
        Tap.say(gap.returncode == 2 and "turns 2 to 2 are missing in the journal" in gap.stderr,
                "a turn that is missing is named")
        first = changed(path, folder, "DELETE FROM sched_event WHERE sequence < 3")
        Tap.say(first.returncode == 2 and "turns 1 to 2 are missing" in first.stderr,
                "so is the beginning")
        line = changed(path, folder, "UPDATE sched_event SET lines = 'once' WHERE sequence = 2")
        Tap.say(line.returncode == 2 and "turn 2 has an invalid line" in line.stderr,
                "and an invalid line")
        lies = changed(path, folder, "UPDATE sched_event SET lines = replace(lines, '1.1 SUCCESS',"
                                     " '1.1 FAILED exit 9') WHERE lines LIKE '%1.1 SUCCESS%'")
        Tap.say(lies.returncode == 1 and "task 1.1: SUCCESS" in lies.stdout
                and "FAILED" in lies.stdout,
                f"a difference is shown: {lies.stdout.splitlines()[0]}")
        none = rota("replay", os.path.join(folder, "job.yaml"))
        Tap.say(none.returncode == 2 and "rota replay:" in none.stderr,
                "a job file is not a database")
        bad = rota("replay", "--fast", path)
        Tap.say(bad.returncode == 2 and "--fast" in bad.stderr, "nor is there such an option")
        wrong = plays(folder)
        Tap.say(not wrong, f"scenarios come to the same from their journals {wrong}")
    Tap.end()


main()
