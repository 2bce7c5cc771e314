#!/usr/bin/env python3
"""ci_test - .ci/run never tests as root alone, and random tests with few seeds skip nothing.

A copy of .ci/run runs in a folder of its own, with programs of that folder: `id` says that it is
root and that there is no ordinary user, and none can be made.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "end"))
from end import BUILD, Tap  # noqa: E402

PROGRAMS = {"bin/id": '[ "$1" = -u ] && echo 0',
            "bin/useradd": "echo useradd: no room >&2; exit 1",
            "bin/make": 'touch "$HOME/made"; echo "7 passed, 0 failed"',
            "tool/setup": "exit 0"}


def no_ordinary_user():
    with tempfile.TemporaryDirectory() as folder:
        for path, script in PROGRAMS.items():
            os.makedirs(os.path.dirname(f"{folder}/{path}"), exist_ok=True)
            with open(f"{folder}/{path}", "w", encoding="utf-8") as file:
                file.write(f"#!/bin/sh\n{script}\n")
            os.chmod(f"{folder}/{path}", 0o755)
        os.mkdir(f"{folder}/.ci")
        shutil.copy(f"{ROOT}/.ci/run", f"{folder}/.ci/run")
        done = subprocess.run([f"{folder}/.ci/run"], text=True, capture_output=True, check=False,
                              stdin=subprocess.DEVNULL,
                              env={**os.environ, "HOME": folder,
                                   "PATH": f"{folder}/bin:{os.environ['PATH']}"})
        Tap.say(done.returncode == 1 and "cannot make the ordinary user" in done.stdout,
                "without an ordinary user .ci/run ends with 1 and a message", done)
        Tap.say(not os.path.exists(f"{folder}/made"), "and tests nothing", done)


def few_seeds():
    program = os.path.join(BUILD, "test", "sim-cluster-random_test")
    # fixed seed: the run has to pass, because its lines are looked at
    done = subprocess.run([program, "--seeds", "1", "--seed", "1"], text=True,
                          capture_output=True, check=False)
    lines = [line for line in done.stdout.splitlines() if not line.startswith("# ")]
    Tap.say(done.returncode == 0 and len(lines) == 2 and lines[1] == "1..1",
            "one seed of the cluster simulator is one test, and none is skipped", lines)


no_ordinary_user()
few_seeds()
Tap.end()
