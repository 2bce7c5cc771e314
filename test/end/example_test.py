#!/usr/bin/env python3
"""example_test - the examples work as described, and a second run has nothing to do."""
import json
import os
import shutil
import subprocess

from end import BUILD, Tap
from runs import Folder

say = Tap.say
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Example(Folder):
    """A folder with the job file of that name, and the files it reads."""

    def __init__(self, name, *files):
        super().__init__(name=name)
        for one in (name, *files):
            shutil.copy(os.path.join(ROOT, "examples", one), self.path)

    def twice(self, *options):
        """Runs it; then nothing is to be done. Returns the events of the first run."""
        done = self.run("--json", *options)
        events = [json.loads(line) for line in done.stdout.splitlines()]
        say(done.returncode == 0, f"{self.name} runs", done.stdout + done.stderr)
        again = self.run(*options)
        say(again.returncode == 0 and again.stdout == "nothing to do\n",
            f"{self.name}: the second time there is nothing to do", again.stdout + again.stderr)
        return events


def times(events):
    """When each task began and ended, of its last attempt."""
    return {e["task"]: (e["began"], e["ended"]) for e in events if e["event"] == "ended"}


def overlap(one, other):
    return one[0] < other[1] and other[0] < one[1]


with Example("first.yaml") as example:
    events = example.twice()
    starts = [(e["task"], e["attempt"]) for e in events if e["event"] == "started"]
    say(len(starts) == 11 and ("fetch", 1) in starts and ("fetch", 2) in starts,
        "first.yaml has ten tasks, of which fetch fails once and is tried again", starts)
    tally = sorted(example.read("tally.txt").splitlines())
    say(tally == ["part 1 114155", "part 2 102661", "part 3 99132"], "no line of the tally is lost",
        tally)
    say(example.read("total.txt") == "315948 primes\n"
        and example.read("most.txt") == "part 1 114155\n", "its readers see all of it")
    say(not example.has("numbers") and not example.has("primes-1"),
        "objects that are not kept stay out of the folder")

with Example("ledger.yaml") as example:
    when = times(example.twice("-j4"))
    writers = ["open", "sort"] + [f"post-{i}" for i in range(1, 7)]
    readers = ["balance", "spent", "largest"]
    beside = [(a, b) for a in writers for b in writers + readers
              if a != b and overlap(when[a], when[b])]
    say(not beside, "ledger.yaml: a writer is alone in the lane", beside)
    say([example.read(f"{name}.txt") for name in readers] == ["860\n", "525\n", "post-4 310\n"],
        "its readers read the same", [example.read(f"{name}.txt") for name in readers])
    lines = example.read("ledger.txt").splitlines()
    say(len(lines) == 7 and lines[0] == "post-1 -420" and lines[-1] == "opening 1000",
        "no entry is lost", lines)

with Example("token.yaml") as example:
    example.twice()
    say(example.read("balance.txt") == "100\n", "token.yaml: a writer with an old token is refused")

PLAYS = ("graph.play", "lanes.play", "readers.play")
with Example("night.yaml", *PLAYS) as example:
    example.twice("-k")
    say(example.read("night.txt") == "the backup is in the vault\n"
        and example.has("vault/plays.tar.gz") and not example.has("night.busy"),
        "night.yaml: it succeeds, the alarm does not run, and it cleans up")

with Example("night.yaml", *PLAYS) as example:
    example.write("vault", "something else\n")
    done = example.run("-k")
    say(done.returncode == 1 and example.read("night.txt") == "there is no backup tonight\n"
        and not example.has("night.busy"),
        "night.yaml: after a failure the alarm rings, and it has cleaned up", done.stdout)
    os.remove(os.path.join(example.path, "vault"))
    done = example.run("-k")
    say(done.returncode == 0 and example.has("vault/plays.tar.gz")
        and example.read("night.txt") == "the backup is in the vault\n"
        and "5 done before" in done.stdout, "after the fix it resumes from there", done.stdout)

done = subprocess.run([os.path.join(ROOT, "tool", "demo"), BUILD], capture_output=True, text=True,
                      check=False, timeout=120)
say(done.returncode == 0 and "RETRY: fetch" in done.stdout and "10 ok" in done.stdout
    and "nothing to do" in done.stdout and "what to do next" in done.stdout,
    "the demo shows it all and says what to do next", done.stdout + done.stderr)

Tap.end()
