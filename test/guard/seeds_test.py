#!/usr/bin/env python3
"""seeds_test - random tests take a fresh seed, and tool/test says which one failed.

A copy of tool/test runs a small tree of its own, with a test that fails depending on its seed.
"""
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
# A line that fixes a seed: a number where a seed belongs, or random numbers without a seed.
FIXED = [re.compile(pattern) for pattern in (
    r"random\.Random\(\d", r"\brandom\.(?!Random|SystemRandom)[a-z]+\(",
    r"(?i)\b\w*(seed|dice|luck|chance)\b *=[ (]*\d", r"\.seed = [A-Z]\w*\b",
    r'"--seed", (type=int, default=|f?"\d)', r"\bseeds? in (range)?\(\d",
    r"\bis_found\([^,]*, *\d", r"\bworld = \d", r"\bshapes\.(?!graph)\w+\(\d",
    r"--seed[ =]\d", r"\bSEED=\d")]
# A C file with random numbers takes its seed from test/seed.h, or names its source.
DRAWS = re.compile(r"6364136223846793005|\brandom_(next|below)\(")
# The comment before a fixed seed, or in the first lines of a file, with the reason.
EXCUSE = re.compile(r"\b(fixed seed|seed of the caller): \w")
ENDINGS = ("", ".c", ".h", ".cpp", ".py", ".sh")
FIXED_LINES = (  # each was once in a test without being noticed
    "uint64_t dice = 7;", "struct world_options options = {.seed = SHRINK_WORLD}, again = {0};",
    "char *text = is_found(plant, 1, 4000, &find) ? 0 : 1;", "for (uint64_t world = 1; world <= 9;",
    "self.data = random.randbytes(size)", "for graph in shapes.all_shapes(3):",
    'got = result("--seed", "3")', "for seed in (1, 1, 2, 3)]", "for seed in range(1, 16))",
    "seed = 5", "config.seed = 5;", "draw = random.Random(4)", "seed=11,",
    '"$BUILD/rota-sim" --seed 11', "SEED=4 build/test/x")
FREE_LINES = (
    "uint64_t dice = seed_take();", "DICE = seed.chance()", 'result("--seed", str(base))',
    "draw = random.Random(seed)", "shapes.all_shapes(SEED)", "dice.randbytes(9)",
    "for seed in range(base, base + 15)")


def is_fixed(line):
    return any(pattern.search(line) for pattern in FIXED)


def faults_of(text, is_c):
    """Numbers of lines with a fixed seed and no reason in front; 0 for the file as a whole."""
    lines = text.splitlines()
    if EXCUSE.search("".join(lines[:5])):
        return []
    found = [number for number, line in enumerate(lines, 1)
             if is_fixed(line) and not EXCUSE.search(line) and not EXCUSE.search(
                 "".join(lines[max(0, number - 3):number - 1]))]
    if is_c and DRAWS.search(text) and '"seed.h"' not in text and not EXCUSE.search(text):
        found.append(0)
    return found


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


def guard_finds():
    for line in FIXED_LINES:
        Tap.say(faults_of(line, False) == [1], f"a fixed seed is found in: {line}")
    for line in FREE_LINES:
        Tap.say(not faults_of(line, False), f"none is found in: {line}")
    draws = "static uint32_t size(uint64_t *s) { return *s = *s * 6364136223846793005u; }"
    Tap.say(faults_of(draws, True) == [0], "a C file draws numbers and has no seed")
    Tap.say(not faults_of('#include "seed.h"\n' + draws, True), "one with test/seed.h may")
    Tap.say(not faults_of("// fixed seed: documented output\nseed = 5", False),
            "a reason is accepted")
    Tap.say(faults_of("# fixed seed:\nseed = 5", False) == [2], "an empty one is not")


def nothing_is_fixed():
    bad, seen = [], set()
    for path in sorted(glob.glob(f"{ROOT}/test/**/*", recursive=True)):
        name, ending = os.path.relpath(path, ROOT), os.path.splitext(path)[1]
        if ending not in ENDINGS or os.path.isdir(path) or path == os.path.abspath(__file__):
            continue
        if os.path.dirname(name) == "test" or os.path.dirname(name).endswith("_corpus"):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        seen.add(name)
        bad += [f"{name}:{number}: {(['', *text.splitlines()][number]).strip()}"
                for number in faults_of(text, ending in (".c", ".h"))]
    Tap.say({"test/pool/tsan_test", "test/end/whatif_test.py"} <= seen,
            "the guard looks at scripts, with and without an extension")
    Tap.say(not bad, "no test has a fixed seed: test/seed.h and test/end/seed.py have fresh ones,"
            " and a comment 'fixed seed: REASON' says why one is kept", "\n".join(bad))


def main():
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
        by_chance(one)
        always(other)
    guard_finds()
    nothing_is_fixed()
    Tap.end()


main()
