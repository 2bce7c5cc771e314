#!/usr/bin/env python3
"""simulate_test - rota simulate --seed: the same world again, and clear words for bad ones."""
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "end"))
import seed  # noqa: E402
from end import ROTA, Tap  # noqa: E402


def say(what, fine):
    Tap.say(fine, what)


def simulate(*words):
    return subprocess.run([ROTA, "simulate", *words], capture_output=True, text=True, check=False)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    number = seed.take()
    first, second = (simulate("--seed", str(number), "--json") for _ in range(2))
    other = simulate("--seed", str(number + 1), "--json")
    world = json.loads(first.stdout)
    say("a seed is the same world twice", first.returncode == 0 and first.stdout == second.stdout)
    say("and another seed another one", json.loads(other.stdout)["digest"] != world["digest"])
    say("nothing is wrong in it", world["wrong"] == "" and world["events"] > 100)
    many = simulate("--seed", str(number), "--seeds", "20")
    say("many worlds are summed up", "20 worlds" in many.stdout and " 0 wrong" in many.stdout)
    traced = simulate("--seed", str(number), "--trace")
    say("a trace says what happens", "server begins" in traced.stdout and "starts" in traced.stdout)
    bad = simulate("--seed", "eleven")
    say("a seed is a number", bad.returncode == 2 and "--seed eleven" in bad.stderr)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.tape")
        write(path, "once upon a time")
        bad = simulate("--tape", path)
        say("a tape is numbers", bad.returncode == 2 and f"{path}:1: is no tape" in bad.stderr)
        for text in ("1 2\n3*\n", "1 2\n70000\n", "1 2\n3*0\n", "1 2\n3x\n", "1 2\n4*9999999\n"):
            write(path, text)
            bad = simulate("--tape", path)
            say(f"and not {text.split()[-1]}", bad.returncode == 2 and f"{path}:2:" in bad.stderr)
        bad = simulate("--tape", os.path.join(folder, "none"))
        say("a tape is there", bad.returncode == 2 and "cannot be read" in bad.stderr)
        write(path, "1 2 3 4 5")
        quiet = simulate("--tape", path, "--json")
        say("behind its end all is quiet", quiet.returncode == 0
            and json.loads(quiet.stdout)["wrong"] == "")
        write(path, "# why it is kept\n1 0*3 7  # and here\n")
        first = simulate("--tape", path, "--json")
        write(path, "1 0 0 0\n7")
        say("a tape may have notes and repetitions",
            first.returncode == 0 and first.stdout == simulate("--tape", path, "--json").stdout)
    tapes = os.path.join(HERE, "tapes")
    for path in sorted(glob.glob(f"{tapes}/*.tape") + glob.glob(f"{tapes}/found/*.tape")):
        kept = simulate("--tape", path)
        say(f"all is well with {os.path.basename(path)}",
            kept.returncode == 0 and "all is well" in kept.stdout)
    Tap.end()


main()
