#!/usr/bin/env python3
"""seeds_test - random tests take a fresh seed, and tool/test says which one failed.

A small tree of its own, with a test that fails by its seed, is run by a copy of tool/test."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "end"))
from end import Tap  # noqa: E402

RANDOM_TEST = """#!/usr/bin/env python3
import sys
sys.path.insert(0, "test/end")
import seed
fine = seed.take() %s
print(("ok" if fine else "not ok") + " 1 - it likes its seed")
"""
FIXED = (r"random\.Random\(\d", r"\bseed = \d+\b", r"\bseed=\d+\b", r'"--seed", type=int, default=')
# These look at the generator itself, or at a model of it that must be the same for the same seed.
ALLOWED = {"test/base/random_test.c", "test/guard/story.c", "test/guard/seeds_test.py"}


def tree(folder, condition):
    for name in ("tool", "test/end", "build"):
        os.makedirs(f"{folder}/{name}")
    shutil.copy(f"{ROOT}/tool/test", f"{folder}/tool/test")
    shutil.copy(f"{ROOT}/test/end/seed.py", f"{folder}/test/end/seed.py")
    for path, text in (("build/configured", "\n"), ("test/seeds", "# none\n"),
                       ("test/end/luck_test.py", RANDOM_TEST % condition)):
        with open(f"{folder}/{path}", "w", encoding="utf-8") as file:
            file.write(text)
    os.chmod(f"{folder}/test/end/luck_test.py", 0o755)


def run(folder, *words, **variables):
    kept = {name: value for name, value in os.environ.items() if name not in ("SEED", "CI")}
    return subprocess.run([f"{folder}/tool/test", "--only", "luck", *words, "build"], cwd=folder,
                          env=dict(kept, **variables), stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, check=False)


def seeds_of(done):
    return re.findall(r"SEED=(\d+)", done.stdout)


def by_chance(folder):
    """Seed 1 is fine, as for tests that were only ever run with it."""
    tree(folder, "== 1")
    first, second = run(folder), run(folder)
    Tap.say(first.returncode == 1 and seeds_of(first)[0] != seeds_of(second)[0],
            "each run has a seed of its own, and one that fails is a failure", first.stdout)
    Tap.say(first.stdout.count(seeds_of(first)[0]) >= 2, "which is printed", first.stdout)
    again = run(folder, SEED=seeds_of(first)[0])
    Tap.say(seeds_of(again)[0] == seeds_of(first)[0], "SEED=N repeats it", again.stdout)
    again = run(folder, "--seed", "1")
    Tap.say(again.returncode == 0 and seeds_of(again)[0] == "1", "and so does --seed", again.stdout)
    for value in ("true", "1"):
        found = run(folder, CI=value)
        lines = found.stdout.strip().splitlines()
        repeats = f"tool/test --only test/end/luck_test.py --seed {seeds_of(found)[0]} build"
        Tap.say(lines[-2].startswith("FINDING") and lines[-2].endswith(repeats)
                and lines[-1].endswith(" 0 failed"),
                f"with CI={value} it is a finding, with the command that repeats it", found.stdout)
    chosen = run(folder, CI="true", SEED="77")
    Tap.say(chosen.returncode == 1 and "FINDING" not in chosen.stdout,
            "a seed that was chosen is no finding", chosen.stdout)


def always(folder):
    tree(folder, "is None")
    done = run(folder, CI="true")
    Tap.say(done.returncode == 1 and "FINDING" not in done.stdout,
            "a test that fails with every seed is no finding", done.stdout)


def nothing_is_fixed():
    bad = []
    for path in sorted(glob.glob(f"{ROOT}/test/*/*.[ch]") + glob.glob(f"{ROOT}/test/*/*.py")):
        if os.path.relpath(path, ROOT) in ALLOWED:
            continue
        with open(path, encoding="utf-8") as file:
            bad += [f"{os.path.relpath(path, ROOT)}:{number}: {line.strip()}"
                    for number, line in enumerate(file, 1)
                    if any(re.search(pattern, line) for pattern in FIXED)]
    Tap.say(not bad, "no test has a fixed seed: test/seed.h and test/end/seed.py have fresh ones",
            "\n".join(bad))


def main():
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        by_chance(one)
        always(other)
    nothing_is_fixed()
    Tap.end()


main()
