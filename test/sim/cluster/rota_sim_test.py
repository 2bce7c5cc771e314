#!/usr/bin/env python3
"""rota_sim_test - rota-sim: the same seed gives the same run, and mistakes are explained."""
import glob
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "end"))
import seed  # noqa: E402
from end import BUILD, ROTA, Tap  # noqa: E402

PROGRAM = os.path.join(BUILD, "rota-sim")
ONE = "1"  # a seed with which no run begins, because another word is wrong


def say(what, fine):
    Tap.say(fine, what)


def simulate(*words):
    return subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=False)


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def options_test():
    """--help names every option, and mistakes are explained."""
    help_text = simulate("--help")
    say("--help shows every option", help_text.returncode == 0 and all(
        option in help_text.stdout for option in ("--seed N", "--seeds COUNT", "--tape FILE",
                                                  "--trace", "--shrink", "--json")))
    for words, expected in (
            ((), "--seed, --seeds or --tape is missing"),
            (("--seed", "eleven"), "option --seed needs a number, not 'eleven'"),
            (("--seeds",), "option --seeds needs a number"),
            (("--tape",), "option --tape needs a file"),
            (("--tape", "x", "--seed", ONE), "--tape excludes --seed"),
            (("--sede", ONE), "unknown option --sede (did you mean --seed?)"),
            (("job.yaml",), "unexpected argument 'job.yaml'")):
        bad = simulate(*words)
        say(f"rota-sim {' '.join(words)}: {expected}",
            bad.returncode == 2 and expected in bad.stderr and not bad.stdout)
    for words in (("--seed", ONE), ("--seed", ONE, "--seeds", "9"), ("--tape", "x"),
                  ("job.yaml", "--shrink")):
        bad = subprocess.run([ROTA, "simulate", *words], capture_output=True, text=True,
                             check=False)
        say(f"rota simulate {' '.join(words)} refers to rota-sim",
            bad.returncode == 2 and "rota-sim" in bad.stderr and not bad.stdout)


def tapes_test():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.tape")
        write(path, "once upon a time")
        bad = simulate("--tape", path)
        say("a tape consists of numbers",
            bad.returncode == 2 and f"{path}:1: invalid tape" in bad.stderr)
        for text in ("1 2\n3*\n", "1 2\n70000\n", "1 2\n3*0\n", "1 2\n3x\n", "1 2\n4*9999999\n"):
            write(path, text)
            bad = simulate("--tape", path)
            say(f"{text.split()[-1]} is invalid in a tape",
                bad.returncode == 2 and f"{path}:2:" in bad.stderr)
        bad = simulate("--tape", os.path.join(folder, "none"))
        say("a missing tape is an error", bad.returncode == 2 and "cannot read" in bad.stderr)
        write(path, "1 2 3 4 5")
        quiet = simulate("--tape", path, "--json")
        say("a run without faults follows the last choice of a tape", quiet.returncode == 0
            and json.loads(quiet.stdout)["error"] == "")
        write(path, "# why it is kept\n1 0*3 7  # and here\n")
        first = simulate("--tape", path, "--json")
        write(path, "1 0 0 0\n7")
        say("a tape may have comments and repetitions",
            first.returncode == 0 and first.stdout == simulate("--tape", path, "--json").stdout)
    tapes = os.path.join(HERE, "tapes")
    for path in sorted(glob.glob(f"{tapes}/*.tape") + glob.glob(f"{tapes}/found/*.tape")):
        kept = simulate("--tape", path)
        say(f"{os.path.basename(path)} passes",
            kept.returncode == 0 and kept.stdout.endswith(": OK\n"))


def main():
    number = seed.take()
    first, second = (simulate("--seed", str(number), "--json") for _ in range(2))
    other = simulate("--seed", str(number + 1), "--json")
    result = json.loads(first.stdout)
    say("the same seed gives the same run",
        first.returncode == 0 and first.stdout == second.stdout)
    say("another seed gives another run", json.loads(other.stdout)["digest"] != result["digest"])
    say("the run passes", result["error"] == "" and result["events"] > 100)
    many = simulate("--seed", str(number), "--seeds", "20")
    say("several runs are counted", "20 runs" in many.stdout and " 0 failed" in many.stdout)
    traced = simulate("--seed", str(number), "--trace")
    say("a trace shows the events", "server begins" in traced.stdout and "starts" in traced.stdout)
    options_test()
    tapes_test()
    Tap.end()


main()
