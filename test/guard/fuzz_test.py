#!/usr/bin/env python3
"""fuzz_test - tool/fuzz and tool/test notice each fuzz target that fails, or does nothing.

Copies of both run a small tree of their own, with targets that print what libFuzzer prints.
"""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "end"))
from end import Tap  # noqa: E402

# `fine` is a test of the shell; it may use the seed, whether inputs are only played, and the number
# of inputs that were collected. A shell starts fast, also at the lowest priority.
TARGET = """#!/bin/sh
replayed=false collected=0 folder=
for word; do
    case $word in
    -runs=0) replayed=true ;;
    -seed=*) seed=${word#-seed=} ;;
    -*) ;;
    *) if [ $replayed = false ] && [ -z "$folder" ]; then
           folder=$word collected=$(ls "$word" | wc -l)
       fi ;;
    esac
done
%(busy)s
echo "#9 INITED cov: %(edges)s ft: 900 corp: 3/9b"
echo "stat::number_of_executed_units: %(runs)s"
%(fine)s
"""
BUSY = """python3 -c 'import time
while time.process_time() < 1: pass'"""
USUAL = {"fine": "true", "edges": 500, "runs": 5000, "busy": ""}


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


def tree(folder, **targets):
    """Targets by name: what differs from the usual one."""
    for name in ("tool/fuzz", "tool/test", "test/end/seed.py"):
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        shutil.copy(f"{ROOT}/{name}", f"{folder}/{name}")
    for build in ("build", "build-fuzz"):
        write(f"{folder}/{build}/configured", "\n")
    write(f"{folder}/test/seeds", "# none\n")
    for name, rest in targets.items():
        write(f"{folder}/test/room/{name}_fuzz.c", "// a target\n")
        write(f"{folder}/test/room/{name}_corpus/one", "1")
        write(f"{folder}/build-fuzz/test/room-{name}_fuzz", TARGET % {**USUAL, **rest}, 0o755)


def run(folder, *words, **variables):
    kept = {name: value for name, value in os.environ.items() if name not in ("SEED", "CI")}
    done = subprocess.run([f"{folder}/tool/{words[0]}", *words[1:]], cwd=folder, text=True,
                          env=dict(kept, SECONDS="1", **variables), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    return done.returncode, done.stdout


def failures(text):
    """The targets that failed, and their lines."""
    return [line.split(" - ")[1] for line in text.splitlines() if line.startswith("not ok")]


def fuzz(**targets):
    with tempfile.TemporaryDirectory() as folder:
        tree(folder, usual={}, **targets)
        if "empty" in targets:
            os.remove(f"{folder}/test/room/empty_corpus/one")
        status, text = run(folder, "fuzz", "build-fuzz")
        return status, text, failures(text)


def targets_are_judged():
    status, text, failed = fuzz()
    Tap.say(status == 0 and not failed and "5,000 executions in 1 s" in text,
            "a target that is fine passes", text)
    for what, name, rest in (
            ("a target that fails with a kept input", "kept", {"fine": "! $replayed"}),
            ("a target that fails with a new input", "new", {"fine": "$replayed"}),
            ("a target without kept inputs", "empty", {}),
            ("a target that reaches nothing", "shallow", {"edges": 3}),
            ("a target that executes nothing", "idle", {"runs": 0}),
            ("a target that is slow", "slow", {"runs": 15, "busy": BUSY})):
        status, text, failed = fuzz(**{name: rest})
        Tap.say(status == 1 and len(failed) == 1 and failed[0].startswith(f"test/room/{name}_fuzz"),
                f"{what} fails, and the others pass", text)
    status, text, failed = fuzz(waiting={"runs": 15})
    Tap.say(status == 0, "a target that gets little processor time is not slow", text)


def ends_with(folder, **variables):
    """The end of tool/test: its status and text, and whether it is a finding."""
    status, text = run(folder, "test", "--only", "none", "--fuzz", "build-fuzz", "build",
                       **variables)
    return status, text, "FINDING" in text


def in_ci():
    """A fresh seed that fails is a finding only if seed 1 and the kept inputs are fine."""
    rules = (
        ("a target that fails with some seeds", "$replayed || [ $seed -eq 1 ]", True),
        ("a target that fails with any seed", "$replayed", False),
        ("a target that fails with a kept input", "! $replayed", False),
        ("a target that fails with what it has collected", "$replayed || [ $collected = 0 ]", True))
    for what, fine, is_finding in rules:
        with tempfile.TemporaryDirectory() as folder:
            tree(folder, usual={}, luck={"fine": fine})
            write(f"{folder}/build-fuzz/fuzz/room-luck_fuzz/one", "1")
            status, text, found = ends_with(folder)
            Tap.say(status == 1 and not found, f"{what} is a failure", text)
            status, text, found = ends_with(folder, CI="true")
            Tap.say((status, found) == ((0, True) if is_finding else (1, False)),
                    f"{what} is a {'finding' if is_finding else 'failure'} with CI=true", text)
            Tap.say(not is_finding or "tool/fuzz --seed" in text.splitlines()[-2],
                    "the command that repeats it is printed", text)
            status, text, found = ends_with(folder, SEED="77", CI="true")
            Tap.say(status == 1 and not found, f"{what} is a failure if the seed was chosen", text)
    with tempfile.TemporaryDirectory() as folder:
        tree(folder, luck={"fine": "$replayed || [ $seed -eq 1 ]"}, bad={"fine": "$replayed"})
        status, text, found = ends_with(folder, CI="true")
        Tap.say(status == 1 and not found, "one that always fails is not hidden by another", text)


def main():
    targets_are_judged()
    in_ci()
    Tap.end()


main()
