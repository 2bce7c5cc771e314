#!/usr/bin/env python3
"""soak_test - every step of `make soak` can start, and a failing step is reported.

A copy of tool/soak runs a small tree of its own, with steps that fail depending on their seed.
"""
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "end"))
from end import BUILD, Tap  # noqa: E402

STEP = """#!/usr/bin/env python3
import os, sys
seed = int(sys.argv[1]) if sys.argv[0].endswith("guard-digest") else int(os.environ["SEED"])
sys.exit(not (%s))
"""
RANDOM = "test/end/luck_soak.py"
PROGRAM = "build/test/guard-digest"


def listed(folder, build):
    done = subprocess.run([f"{folder}/tool/soak", "--list", build, build], text=True,
                          stdout=subprocess.PIPE, check=True)
    return [shlex.split(line) for line in done.stdout.splitlines()]


def fault_of(argv):
    """The reason why this command cannot start, or an empty text."""
    path, *words = argv
    if not os.access(path, os.X_OK):
        return "it is not executable"
    if not path.endswith(".py"):
        return ""
    done = subprocess.run([path, *words, "--help"], text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode or not done.stdout.startswith("usage:"):
        return done.stdout or f"--help ends with {done.returncode}"
    unknown = [word for word in words if word.startswith("--") and word not in done.stdout]
    return f"it does not know {' '.join(unknown)}" if unknown else ""


def all_can_start():
    steps = listed(ROOT, os.path.abspath(BUILD))
    faults = {" ".join(argv): fault_of(argv) for argv in steps}
    bad = "\n".join(f"{name}: {fault}" for name, fault in faults.items() if fault)
    Tap.say(len(steps) > 8 and not bad, "each step of tool/soak can start, and knows its options",
            bad or steps)
    text = "\n".join(faults)
    for words in ("foreign_reader_test.py --rounds 50", "store_share_test.py --uploads 200",
                  "contents_test.py --rounds 100", "stop_soak.py --rounds 200",
                  "duplicate_workers_soak.py --rounds 200", "partition_soak.py --faults 500",
                  "cluster_soak.py --servers 2000 --workers 1000", "flood_soak.py --seconds 60"):
        Tap.say(words in text, f"one of them is {words}", text)


# ---- A tree whose steps end by their seed ------------------------------------------------------


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, 0o755)


def tree(folder, **conditions):
    """All steps are fine, but those for which there is a condition."""
    for name in ("tool/soak", "test/end/seed.py"):
        os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
        shutil.copy(f"{ROOT}/{name}", f"{folder}/{name}")
    write(f"{folder}/{RANDOM}", STEP % conditions.get("step", "True"))
    for path, *_ in listed(folder, f"{folder}/build"):
        if path != f"{folder}/{RANDOM}":
            write(path, "#!/bin/sh\n")
    if "program" in conditions:
        write(f"{folder}/{PROGRAM}", STEP % conditions["program"])


def run(folder, **variables):
    kept = {name: value for name, value in os.environ.items() if name not in ("SEED", "CI")}
    done = subprocess.run([f"{folder}/tool/soak", "build", "build"], cwd=folder, text=True,
                          env=dict(kept, SECONDS="0.1", **variables), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    lines = done.stdout.splitlines()
    return (done.returncode, done.stdout, [line for line in lines if line.startswith("FINDING")],
            [line for line in lines if line.startswith("FAILED")])


def verdicts(name, fails_once, fails_always):
    """`fails_once` fails with every seed but 1, `fails_always` with 1 too."""
    status, text, _, failed = run(fails_once)
    Tap.say(status == 1 and failed, f"{name}: a fresh seed that fails is a failure", text)
    for value in ("true", "1"):
        status, text, found, failed = run(fails_once, CI=value)
        Tap.say(status == 0 and found and not failed,
                f"{name}: with CI={value} it is a finding if seed 1 is fine", text)
        status, text, found, failed = run(fails_always, CI=value)
        Tap.say(status == 1 and failed and not found,
                f"{name}: with CI={value} it is a failure if seed 1 fails too", text)
    status, text, found, failed = run(fails_once, CI="true", SEED="77")
    Tap.say(status == 1 and failed and not found, f"{name}: so is a seed that was chosen", text)


def judged():
    for name in ("step", "program"):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            tree(one, **{name: "seed == 1"})
            tree(other, **{name: "False"})
            verdicts(name, one, other)
    with tempfile.TemporaryDirectory() as folder:
        tree(folder)
        status, text, found, failed = run(folder, CI="true")
        Tap.say(status == 0 and not found and not failed, "all is fine with any seed", text)
        os.chmod(f"{folder}/{RANDOM}", 0o644)
        write(f"{folder}/test/end/next_soak.py", STEP % "print('next') or True")
        status, text, _, failed = run(folder, CI="true")
        Tap.say(status == 1 and len(failed) == 1 and "\nnext\n" in text,
                "a step that cannot start is a failure, and the others run", text)


def main():
    all_can_start()
    judged()
    Tap.end()


main()
