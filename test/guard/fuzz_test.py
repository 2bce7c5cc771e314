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

# `fine` may use the seed, the folder of collected inputs and whether inputs are only played.
TARGET = """#!/usr/bin/env python3
import os, sys, time
options = dict(word[1:].split("=") for word in sys.argv[1:] if word[0] == "-")
folders = [word for word in sys.argv[1:] if word[0] != "-"]
replayed, seed = "runs" in options, int(options.get("seed", 0))
collected = [] if replayed else os.listdir(folders[0])
end = time.process_time() + %(busy)s
while time.process_time() < end:
    pass
print("#9 INITED cov: %(edges)s ft: 900 corp: 3/9b")
print("stat::number_of_executed_units: %(runs)s")
sys.exit(not (%(fine)s))
"""
USUAL = {"fine": "True", "edges": 500, "runs": 5000, "busy": 0}


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
            ("a target that fails with a kept input", "kept", {"fine": "not replayed"}),
            ("a target that fails with a new input", "new", {"fine": "replayed"}),
            ("a target without kept inputs", "empty", {}),
            ("a target that reaches nothing", "shallow", {"edges": 3}),
            ("a target that executes nothing", "idle", {"runs": 0}),
            ("a target that is slow", "slow", {"runs": 15, "busy": 1})):
        status, text, failed = fuzz(**{name: rest})
        Tap.say(status == 1 and len(failed) == 1 and failed[0].startswith(f"test/room/{name}_fuzz"),
                f"{what} fails, and the others pass", text)
    status, text, failed = fuzz(waiting={"runs": 15, "busy": 0})
    Tap.say(status == 0, "a target that gets little processor time is not slow", text)


def ends_with(folder, **variables):
    """The end of tool/test: its status and text, and whether it is a finding."""
    status, text = run(folder, "test", "--only", "none", "--fuzz", "build-fuzz", "build",
                       **variables)
    return status, text, "FINDING" in text


def in_ci():
    """A fresh seed that fails is a finding only if seed 1 and the kept inputs are fine."""
    rules = (
        ("a target that fails with some seeds", "replayed or seed == 1", True),
        ("a target that fails with any seed", "replayed", False),
        ("a target that fails with a kept input", "not replayed", False),
        ("a target that fails with what it has collected", "replayed or not collected", True))
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
        tree(folder, luck={"fine": "replayed or seed == 1"}, bad={"fine": "replayed"})
        status, text, found = ends_with(folder, CI="true")
        Tap.say(status == 1 and not found, "one that always fails is not hidden by another", text)


def main():
    targets_are_judged()
    in_ci()
    Tap.end()


main()
