#!/usr/bin/env python3
"""run_messages_test - messages of rota run and of queries that tell a user what to do."""
import os
import shlex
import subprocess

from query_folder import ROTA, QueryFolder
from end import Tap
from runs import Folder

say = Tap.say


def command_after(text, start):
    """The words after this text on its line."""
    line = next((line for line in text.splitlines() if start in line), "")
    return shlex.split(line.partition(start)[2].rstrip(")"))


# ---- What to do about a failure ----------------------------------------------------------------

with Folder(name="sub/it's mine.yaml") as folder:
    os.mkdir(folder.path + "/sub")
    folder.write(folder.name, "tasks: {'it''s bad': 'echo so; test -e ok', other: 'true'}")
    done = folder.run("-k", "-j3", "--fresh", "--only", "it's bad")
    words = command_after(done.stdout, "to continue: rota ")
    say(words == ["run", "-j", "3", "-k", "--only", "it's bad", folder.name],
        "the command to resume has the options of the one before", done.stdout)
    logs = command_after(done.stdout, "(rota ")
    asked = subprocess.run([ROTA, *logs], cwd=folder.path, capture_output=True, text=True,
                           check=False)
    say(asked.stdout == "so\n", "the log of a file elsewhere is found as it says", (logs, asked))
    open(folder.path + "/sub/ok", "w", encoding="utf-8").close()
    done = subprocess.run([ROTA, *words], cwd=folder.path, capture_output=True, text=True,
                          check=False)
    say(done.returncode == 0 and "1 ok" in done.stdout, "and it resumes", done.stdout + done.stderr)

CACHED = "tasks: {a: 'true', b: {run: touch o, out: [o], cache: true}}"
with Folder(CACHED) as folder:
    folder.run()
    folder.write("job.yaml", CACHED.replace("touch o", "touch o; true"))
    folder.run()
    folder.write("job.yaml", CACHED)
    done = folder.run()
    say("1 ok, 1 of them from the cache, 1 done before in" in done.stdout,
        "results from the cache are not counted as done before", done.stdout)

with Folder("tasks: {a: {run: cat no, in: [no]}, b: 'true', c: 'true'}") as folder:
    done = folder.run("-k")
    say("FAILED: a (the input no: No such file or directory, attempt 1" in done.stdout,
        "a missing input is reported", done.stdout)
    done = folder.run("--only", "a,b")
    say("0 ok, 1 done before, 1 failed in" in done.stdout,
        "tasks outside of --only are not counted as done before", done.stdout)

AGAIN = """\
tasks:
  mended: test -e ok
  worse: exit 1
  end: until test -e go; do sleep 0.02; done
"""
with QueryFolder(AGAIN) as folder:
    run = folder.beside("run", "-k", "-j3", "night.yaml")
    folder.until(lambda: folder.status("mended") == folder.status("worse") == "FAILED")
    folder.write("ok", "")
    done = folder.rota("retry", "mended", "worse")
    say(done.stdout == "mended runs again\nworse runs again\n",
        "a run that has just begun accepts a retry", done.stdout + done.stderr)
    folder.until(lambda: folder.status("mended") == "SUCCESS"
                 and len(folder.json("show", "--json", "worse")[0]["attempts"]) == 2)
    folder.write("go", "")
    said = run.communicate(timeout=120)[0]
    say("    failed: worse    (" in said and said.count("    failed: ") == 1,
        "a task that was retried by hand is shown as it ended", said)

with QueryFolder("tasks: {a: 'seq 100000'}") as folder:
    folder.rota("run", "-q", "night.yaml")
    for words in ("ps -a", "ps --json -a", "logs a", "report --json", "check night.yaml", "help",
                  "run --fresh night.yaml"):
        done = subprocess.run(f"{ROTA} {words} >/dev/full", shell=True, cwd=folder.path,
                              capture_output=True, text=True, check=False)
        say(done.returncode == 70 and "cannot write the standard output: " in done.stderr,
            f"rota {words} tells when its output is lost", done)
    done = subprocess.run(["bash", "-c", f"{ROTA} logs a | head -n 1; echo ${{PIPESTATUS[0]}}"],
                          cwd=folder.path, capture_output=True, text=True, check=False)
    say(done.stdout.split()[0] == "1" and not done.stderr, "a closed pipe causes no message", done)

# ---- On a terminal -----------------------------------------------------------------------------

os.environ.pop("NO_COLOR", None)
for variable, value, status, colour in (("TERM", "xterm", True, True),
                                        ("NO_COLOR", "1", True, False),
                                        ("TERM", "dumb", False, False)):
    os.environ[variable] = value
    with QueryFolder("tasks: {good: sleep 0.3, bad: exit 1}") as folder:
        said = folder.on_terminal("run", "-k", "-v", "night.yaml")
        say(("\r\033[K" in said) == status and ("\033[3" in said) == colour
            and "FAILED" in said and "good" in said,
            f"with {variable}={value} there is {'a' if status else 'no'} status line and "
            f"{'' if colour else 'no '}colour", repr(said))

# ---- Names and room ----------------------------------------------------------------------------

MANY = """\
tasks:
  unit-{{item}}: {foreach: [1, 2], run: "echo {{item}} >> ran", needs: build}
  build: {run: echo build >> ran}
  other: {run: echo other >> ran}
"""
with Folder(MANY) as folder:
    done = folder.run("--only", "unti-1")
    say(done.returncode == 2 and "no such task in job.yaml: unti-1 (did you mean unit-1?)"
        in done.stderr, "--only tells the nearest name", done.stderr)
    done = folder.run("-j1", "--only", "unit")
    say(done.returncode == 0 and folder.read("ran") == "build\n1\n2\n",
        "--only with a base name runs all that were made of it", done.stdout + done.stderr)

STREAM = "tasks: {a: {run: 'seq 3 > s', out: [{name: s, kind: stream}]}, b: {run: cat, stdin: s}}"
with Folder(STREAM) as folder:
    done = folder.run("-n", "-j1")
    say(done.returncode == 2 and "try -j 2" in done.stderr and not folder.has(".rota"),
        "-n tells what would be refused", done.stdout + done.stderr)
    say(folder.run("-n", "-j2").returncode == 0, "and what would not")

# ---- Why ---------------------------------------------------------------------------------------

DEAD = """\
lanes: {line: {order: submit}}
tasks:
  one: "true"
  two: {run: "true", needs: one}
  never: {run: "true", when: done(one) & fa(two), lane: line}
  after: {run: "true", lane: line}
"""
with QueryFolder(DEAD) as folder:
    done = folder.rota("run", "night.yaml")
    say(done.returncode == 5 and "    cannot run: after    (never is ahead of it in its lane"
        " and cannot run)\n" in done.stdout, "a task after one that never runs is reported",
        done.stdout)
    done = folder.rota("why", "never")
    say(done.stdout == "never will not run: done(one) & failed(two) can no longer be true\n",
        "a condition that cannot come true is reported, with names", done.stdout)
    done = folder.rota("why", "after")
    say("after never" in done.stdout and "never will not run" in done.stdout,
        "also for the task after it", done.stdout)
    say("done(one) & failed(two)\n" in folder.rota("show", "never").stdout
        and folder.json("show", "--json", "never")[0]["condition"] == "done(one) & failed(two)",
        "show has the names, too")

ROOM = """\
tasks:
  first: {run: "touch began; until test -e go; do sleep 0.02; done", priority: 1}
  second: "true"
  third: {run: "true", when: done(first) & su(second)}
"""
with QueryFolder(ROOM) as folder:
    folder.beside("run", "-j1", "night.yaml")
    folder.wait_for("began")
    answer = "second waits for room on this machine after first; first has been running for "
    say(folder.until(lambda: folder.rota("why", "second").stdout.startswith(answer)),
        "why of a task that waits for room names the task that has it",
        folder.rota("why", "second").stdout)
    answer = "third waits until done(first) & success(second) is true; first has been running"
    say(folder.until(lambda: folder.rota("why", "third").stdout.startswith(answer)),
        "a condition that waits is shown with names", folder.rota("why", "third").stdout)
    folder.write("go", "")

Tap.end()
