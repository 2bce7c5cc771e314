#!/usr/bin/env python3
"""rerun_test - which tasks of a changed job file run again: bundles, conditions, lanes, --only."""
import json
import os
import subprocess

from end import ROTA, Tap
from runs import Folder, kill_group

say = Tap.say


def ends(folder, *options):
    """The names of the tasks that ended well, in that order, and the exit status."""
    events, status = folder.events(*options)
    return [e["task"] for e in events if e.get("status") == "SUCCESS"], status


BUNDLE = """\
tasks:
  one: {run: "true", bundle: both}
  two: {run: "true", bundle: both}
  after: {run: "true", needs: both}
  once: {run: "true", when: su(one) & done(two)}
  alarm: {run: "true", when: fa(one)}
  last: {run: "true", needs: [after, once]}
"""
with Folder(BUNDLE) as folder:
    folder.run()
    folder.write("job.yaml", BUNDLE + "  new: 'true'\n")
    say(folder.ran() == ["new"], "a task that depends on a bundle or on a condition runs once")
    folder.write("job.yaml", BUNDLE.replace('two: {run: "true"', 'two: {run: "true; true"'))
    say(folder.ran() == ["after", "last", "once", "two"], "and again when a dependency does")

LANE = """\
lanes: {line: {ORDER}}
tasks:
  early: {run: "true", lane: line, group: all}
  middle: {run: "true", lane: line, group: all, access: read}
  late: {run: "true", lane: line, group: all, bundle: some}
  after: {run: "true", needs: some}
  sooner: {run: "true", lane: line, bundle: some}
"""
for order in ("order: request", "order: submit", "order: submit, strict: true"):
    for name in ("early", "middle", "late", "sooner"):
        text = LANE.replace("ORDER", order)
        with Folder(text) as folder:
            folder.run()
            old = name + ': {run: "true'
            folder.write("job.yaml", text.replace(old, old + "; true"))
            names, status = ends(folder, "-j4")
            more = ["after"] if name in ("late", "sooner") else []
            say(status == 0 and names == [name, *more],
                f"{name} is done again in a lane ({order}) with others that need not be",
                (names, status))

with Folder(LANE.replace("ORDER", "order: submit, strict: true")) as folder:
    folder.run("--only", "middle")
    folder.write("job.yaml", folder.read("job.yaml") + "  new: 'true'\n")
    events, status = folder.events("-j4")
    began = [e["task"] for e in events if e["event"] == "started" and e["task"] != "new"]
    say(status == 0 and began == ["early", "late", "sooner", "after"],
        "the others keep their order", (events, status))

PARTS = """\
tasks:
  after: {run: "true", needs: parts}
  parts: {tasks: {first: "true", second: "true", third: sleep 0.2}}
"""
with Folder(PARTS) as folder:
    names, status = ends(folder, "--only", "second")
    say(status == 0 and names == ["second"], "--only runs one task of a bundle", (names, status))
    names, status = ends(folder, "-j4")
    say(status == 0 and sorted(names) == ["after", "first", "third"] and names[-1] == "after",
        "and a task that needs the bundle waits for the rest of it", (names, status))

STREAM = """\
tasks:
  before: "true"
  write: {run: seq 3 > s, out: [{name: s, kind: stream}], needs: before}
  read: {run: cat, stdin: s, needs: also}
  also: "true"
  other: "true"
"""
with Folder(STREAM) as folder:
    names, status = ends(folder, "-j4", "--only", "write")
    say(status == 0 and sorted(names) == ["also", "before", "read", "write"],
        "--only runs the reader of a stream with its writer", (names, status))

NUMBERED = """\
tasks:
  "clean Nr. {{item}}": {run: "true", foreach: [1, 2]}
  other: "true"
"""
with Folder(NUMBERED) as folder:
    names, status = ends(folder, "--only", "clean Nr.")
    say(status == 0 and sorted(names) == ["clean Nr. 1", "clean Nr. 2"],
        "--only takes the name of generated tasks as it is in the file", (names, status))
    for command in ("jobs", "history"):
        done, named = (subprocess.run([os.path.abspath(ROTA), command, "--json", *words],
                                      cwd=folder.path, capture_output=True, text=True, check=False)
                       for words in ([], [".rota/rota.db"]))
        say(done.returncode == 0 and done.stdout and done.stdout == named.stdout,
            f"rota {command} reads the database of this folder", done)

KEPT = """\
tasks:
  made: {run: date > y, out: [y], keep: true}
  flaky: {run: "exit 1", retries: {max: 1, backoff: 1h}}
  long: {run: "touch HERE/began; sleep 1000; date > x", out: [x], keep: true}
"""


def jobs(folder):
    """The last job, and the state and last attempt of its tasks."""
    done = subprocess.run([os.path.abspath(ROTA), "ps", "--all", "--json"], cwd=folder.path,
                          capture_output=True, text=True, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["name"]: (row["id"], row["status"], row["attempt"]) for row in rows}


def killed_with_backoff(folder):
    """Kills a run whose first attempt of `flaky` has failed, and whose `long` is running."""
    if folder.has("began"):
        os.remove(os.path.join(folder.path, "began"))
    process = folder.start("-k", "-j4")
    try:
        folder.wait_for("began")
        folder.wait_until(lambda: [jobs(folder).get(name, ("",) * 2)[1] for name in
                                   ("flaky", "long", "made")] == ["WAITING", "RUNNING", "SUCCESS"],
                          "the states of the three tasks")
    finally:
        kill_group(process)
    return jobs(folder)


with Folder() as folder:
    folder.write(folder.name, KEPT.replace("HERE", folder.path))
    before, after = killed_with_backoff(folder), killed_with_backoff(folder)
    say(after["flaky"] == before["flaky"] and after["made"] == before["made"],
        "a kept file that is not made yet is no reason to begin a new job", (before, after))
    os.remove(os.path.join(folder.path, "y"))
    after = killed_with_backoff(folder)
    say(after["made"][0] == "2.1" and folder.has("y"),
        "the missing kept file of a task that succeeded is one", after)

Tap.end()
