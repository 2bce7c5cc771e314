#!/usr/bin/env python3
"""run_kill_test - kills rota run with its process group at random moments, and runs it again.

    run_kill_test.py [--kills N] [--seed S]

Each task writes to a file when it begins and when it ends; the database says that it has succeeded.
Afterwards: every success is recorded once, no recorded task ran again, no process is left, and the
result is the same, byte by byte.
"""
import argparse
import os
import subprocess
import time

import seed
from end import ROTA, Tap
from runs import Folder, kill_group

options = argparse.ArgumentParser()
options.add_argument("--kills", type=int, default=20)
options.add_argument("--seed", type=int)
options = options.parse_args()
chance = seed.chance()
WIDTH, DEPTH = 6, 6


def job():
    """Layers of tasks that append to the sums of those before; some in a lane."""
    lines = ["lanes: {disk: {order: request}}", "tasks:"]
    for layer in range(DEPTH):
        for at in range(WIDTH):
            name = f"t{layer}_{at}"
            needs = [f"t{layer - 1}_{k}" for k in (at, (at + 1) % WIDTH)] if layer else []
            text = "".join(f"cat {need}.out; " for need in needs)
            lines.append(f"  {name}:")
            lines.append(f"    run: 'echo {name} >> begun; {{ {text} echo {name}; }} | md5sum > "
                         f"{name}.tmp; sleep 0.0{at}; mv {name}.tmp {name}.out'")
            lines.append(f"    needs: [{', '.join(needs)}]")
            if at % 3 == 0:
                lines.append(f"    lane: disk\n    group: g{at}\n    access: write")
    return "\n".join(lines) + "\n"


def result(folder):
    names = [f"t{DEPTH - 1}_{at}.out" for at in range(WIDTH)]
    return [folder.read(name) if folder.has(name) else None for name in names]


def recorded(folder):
    """Names with a recorded success, and whether one has two."""
    done = subprocess.run(
        [ROTA, "sql", "--json", os.path.join(folder.path, ".rota/rota.db"),
         "SELECT j.name, count(*) AS n FROM sched_history h JOIN sched_job j USING (id)"
         " WHERE h.status = 'SUCCESS' GROUP BY j.id"],
        capture_output=True, text=True, check=False)
    rows = [eval(line) for line in done.stdout.splitlines()]  # of our own program
    return {row["name"] for row in rows}, any(row["n"] > 1 for row in rows)


with Folder(job()) as folder:
    Tap.say(folder.run("-j4").returncode == 0, "the job runs undisturbed")
    expected = result(folder)

kills, rounds, problems = 0, 0, []
while kills < options.kills and not problems:
    rounds += 1
    with Folder(job()) as folder:
        environment = dict(os.environ, MARK=folder.path)
        for attempt in range(200):
            before, _ = recorded(folder)
            begun = folder.read("begun").split() if folder.has("begun") else []
            process = folder.start("-j4", env=environment)
            time.sleep(chance.random() * 0.25)
            over = process.poll() is not None
            kill_group(process)
            kills += not over
            if folder.wait_gone():
                problems.append(f"processes are left: {folder.processes()}")
            again = set(folder.read("begun").split()[len(begun):]) if folder.has("begun") else set()
            if again & before:
                problems.append(f"recorded and run again: {sorted(again & before)}")
            if recorded(folder)[1]:
                problems.append("a success is recorded twice")
            if folder.has(".rota/rota.db") and folder.verify().returncode:
                problems.append(folder.verify().stdout)
            if over or problems or kills >= options.kills:
                break
        done = folder.run("-j4")
        if done.returncode or result(folder) != expected:
            problems.append(f"the end is not as it should be: {done.stdout}{done.stderr}")
        names, twice = recorded(folder)
        if len(names) != WIDTH * DEPTH or twice:
            problems.append(f"{len(names)} successes are recorded, twice: {twice}")
Tap.say(not problems, f"it survives {kills} kills of all its processes in {rounds} runs",
        "\n".join(problems))
Tap.end()
