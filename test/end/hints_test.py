#!/usr/bin/env python3
"""hints_test - messages name what they are about, and the next command."""
import fcntl
import json
import os
import re
import shlex
import signal
import subprocess

from cluster import Cluster
from end import Tap
from query_folder import ROTA, QueryFolder

say = Tap.say

CHAIN = """
tasks:
  - {name: load, run: "true"}
  - {name: flaky, run: "exit 3", retries: 1, needs: [load]}
  - {name: after, run: "true", needs: [flaky]}
  - {name: alarm, run: "true", when: failed(load) & done(flaky)}
  - {name: later, run: "true", when: notrunning(load) & done(after)}
"""


def refused(folder, what, words, *sentences, env=None):
    done = subprocess.run([ROTA, *words], cwd=folder.path, capture_output=True, text=True,
                          check=False, env={**os.environ, **(env or {})})
    say(done.returncode == 2 and all(text in done.stderr for text in sentences), what, done)


def an_empty_folder():
    with QueryFolder("tasks: {a: {rum: x}}\n", "bad.yaml") as folder:
        folder.rota("run", "bad.yaml")
        folder.write("good.yaml", "tasks: {a: 'true'}\n")
        folder.rota("run", "--only", "none", "good.yaml")
        say(not os.path.exists(os.path.join(folder.path, ".rota")),
            "a refused run leaves no folder", os.listdir(folder.path))
        advice = "nothing has been run here yet"
        for word in (["ps"], ["top"], ["why", "a"], ["cancel", "--job"], ["jobs"], ["history"]):
            refused(folder, f"{word[0]} says that nothing has been run", word, advice)
            refused(folder, f"{word[0]} names $ROTA_SERVER", word, advice,
                    '(to ask $ROTA_SERVER: --server "$ROTA_SERVER")', env={"ROTA_SERVER": "x:1"})
        os.mkdir(os.path.join(folder.path, ".rota"), 0o700)
        folder.write("none.def", "")
        folder.rota("define", "none.def", "--db", ".rota/rota.db")
        refused(folder, "an empty database", ["ps"], "no jobs in .rota/rota.db: " + advice)


def ended():
    with QueryFolder(CHAIN) as folder:
        folder.rota("run", "-k", "night.yaml")
        refused(folder, "retry names the task to retry", ["retry", "after"],
                "task 1.3 is BLOCKED: ", "; retry task 1.2\n")
        refused(folder, "retry names the state", ["retry", "load"], "task 1.1 is SUCCESS: ")
        done = folder.rota("why", "alarm", "later")
        say("notrunning(load) & done(after)" in done.stdout, "conditions are as in the file", done)
        say("in each of 2 attempts" in folder.rota("why", "flaky").stdout, "it counts attempts")
        db = folder.rota("why", "--db", folder.database, "flaky", cwd="/").stdout
        for hint in re.findall(r"rota (?:logs|retry) [^;)]*", db):
            done = folder.rota(*shlex.split(hint)[1:], cwd="/")
            say(done.returncode == 0, f"a hint works: {hint}", (db, done))
        folder.rota("cancel", "after")
        done = folder.rota("why", "after")
        say("was cancelled before it started (rota run " in done.stdout, "a cancelled task", done)
        done = folder.rota("cancel", "--job")
        say(done.returncode == 0, "a job whose tasks are blocked or wait is cancelled", done)
        refused(folder, "a job that has ended is not cancelled", ["cancel", "--job"],
                "rota: job 1 has already finished\n")


def in_use():
    """Another rota run in this folder: one line says which process, and what to do."""
    with QueryFolder("tasks: {a: 'true'}\n") as folder:
        folder.rota("run", "night.yaml")
        with open(os.path.join(folder.path, ".rota", "rota.db-lock"), "r+", encoding="utf-8") as it:
            fcntl.flock(it, fcntl.LOCK_EX)
            done = folder.rota("run", "night.yaml")
        say(done.returncode == 2 and done.stderr.count("\n") == 1
            and "in use by another rota process (pid " in done.stderr
            and "; wait until it ends" in done.stderr, "a second run is refused in one line", done)


def runs(folder, attempt):
    """Whether this attempt of the only task runs; the one before is shown until then."""
    done = folder.rota("ps", "-a", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return [(row["status"], row["attempt"]) for row in rows] == [("RUNNING", attempt)]


def top():
    with QueryFolder("tasks: {a: 'read word <fifo'}\n", "top.yaml") as folder:
        folder.fifo("fifo")
        for attempt in (1, 2):
            run = folder.beside("run", "top.yaml", start_new_session=True)
            folder.until(lambda number=attempt: runs(folder, number))
            told = json.loads(folder.rota("top", "--json").stdout)
            say(told["at_work"] and len(told["workers"]) == 1, "a run has one worker", told)
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()
            folder.until(lambda: "not running" in folder.rota("ps").stdout)
            text = folder.rota("top").stdout
            say("rota run is not running" in text and "1 interrupted" in text
                and "WORKER   " not in text.replace("WORKER           TASK", ""),
                "top says that the run has ended", text)
            told = json.loads(folder.rota("top", "--json").stdout)
            say(not told["at_work"] and not told["workers"] and told["jobs"][0]["running"] == 0,
                "also as JSON", told)


def words():
    with QueryFolder(CHAIN) as folder:
        for word, meant in (("stop", "cancel"), ("kill", "cancel"), ("status", "ps"),
                            ("list", "ps"), ("rm", "close"), ("delete", "close")):
            refused(folder, f"{word} means {meant}", [word], f"(did you mean {meant}?)")
        refused(folder, "a verb of worker", ["worker", "drian"], "(did you mean drain?)")
        refused(folder, "a verb of keys", ["keys", "mak", "x"], "(did you mean make?)")
        folder.write("a.def", "insert_task: evening\n    command: x\n")
        done = folder.rota("define", "a.def", "--db", "a.db")
        say(done.stdout == "1 definition changed\n", "define counts", done)
        refused(folder, "a definition", ["stage", "evenin", "--db", "a.db"],
                "no such task: evenin (did you mean evening?)")
        say(folder.rota("-V").stdout == folder.rota("version").stdout, "-V is --version")
        for words_of, page in ((["keys", "make"], "keys"), (["all", "run"], "run")):
            done = folder.rota("help", *words_of)
            say(done.stdout == folder.rota("help", page).stdout, f"help {words_of}", done)
        for name, format_of in (("run", "jobfile"), ("submit", "jobfile"),
                                ("allocator", "definitions")):
            manual = folder.rota("help", "--man", name).stdout
            say(f".BR rota-{format_of} (5)" in manual, f"{name}(1) names {format_of}(5)", manual)
        done = folder.rota("allocator", "--once", "--db", "a.db")
        say("nothing executes them yet" in done.stderr, "the allocator executes nothing", done)


def examples():
    """Every SQL example of a help page works on the database of a run."""
    with QueryFolder(CHAIN) as folder:
        folder.rota("run", "-k", "night.yaml")
        found = 0
        names = re.findall(r"^    ([a-z]+) ", folder.rota("help", "all").stdout, re.M)
        for name in sorted(set(names)):
            page = folder.rota("help", name).stdout.partition("\nExamples:\n")[2]
            for line in re.findall(r"^    rota (.*?)(?:  .*)?$", page.partition("\n\n")[0], re.M):
                if ".rota/rota.db" not in line:
                    continue
                found += 1
                done = folder.rota(*shlex.split(line))
                say(done.returncode == 0, f"rota {line}", done)
        say(found >= 3, "there are such examples", found)


def addresses():
    with QueryFolder(CHAIN) as folder:
        for words_of in (["ps"], ["why", "1.1"], ["logs", "1.1"], ["cancel", "1"]):
            refused(folder, f"{words_of[0]}: an invalid address",
                    [*words_of, "--server", "nowhere"], "nowhere: invalid address")
            refused(folder, f"{words_of[0]}: a missing key",
                    [*words_of, "--server", "127.0.0.1:1"], "use --key FILE or $ROTA_KEY")
        for server in ("127.0.0.1:1", "/none"):
            refused(folder, f"an empty $ROTA_KEY for {server}", ["ps", "--server", server],
                    "rota ps: $ROTA_KEY is empty: set it to a key file, or unset it\n",
                    env={"ROTA_KEY": ""})
        folder.rota("keys", "make", "keys")
        refused(folder, "the keys of a server are not for a client",
                ["ps", "--server", "127.0.0.1:1", "--key", "keys/server.keys"],
                "keys/server.keys has 4 keys", "such as client.key")
        refused(folder, "a server needs keys", ["server", "--memory", "--listen", "127.0.0.1:0"],
                "use --keys FILE (rota keys make FOLDER makes one)")
        refused(folder, "a worker needs keys for others",
                ["worker", "--server", "/none", "--name", "w", "--folder", "w", "--listen",
                 "127.0.0.1:0"], "use --peer-key FILE")


def on_a_server():
    def says(what, words_of, text, status=2):
        done = cluster.rota(*words_of)
        say(done.returncode == status and text in done.stdout + done.stderr, what, done)

    with Cluster() as cluster:
        cluster.work("one")
        cluster.submit({"bad": {"run": "exit 3"}}, "--wait")
        cluster.submit({"good": {"run": "true"}}, "--wait")
        why = cluster.rota("why", "1.1").stdout
        hints = re.findall(r"rota (?:logs|retry) [^;)]*", why)
        say(len(hints) == 2 and "\x1f" not in why, "why has hints", why)
        for job in ("1", "2"):
            says(f"job {job} has ended", ["cancel", job], f"job {job} has already finished")
        says("its task, too", ["cancel", "1.1"], "task 1.1 is FAILED: it has already finished\n")
        for hint in hints:
            done = subprocess.run([ROTA, *shlex.split(hint)[1:]], capture_output=True, text=True,
                                  check=False)
            say(done.returncode == 0, f"a hint works: {hint}", done)
        cluster.submit({"long": {"run": "trap '' TERM; touch runs; sleep 1000"}})
        cluster.until(lambda: "RUNNING" in cluster.rota("ps").stdout, "it runs")
        for _ in range(2):
            says("a cancel may be repeated", ["cancel", "3"], "job 3: cancelled", 0)
        says("no job", ["cancel", "99"], "no such job: 99")
        says("no task", ["retry", "3.9"], "no such task: 3.9")
        says("a state", ["freeze", "3.1"], "task 3.1 is RUNNING: ")
        says("no worker", ["pause", "worker", "w77"], "no such worker: w77")
        says("no lane", ["pause", "lane", "x"], "no such lane: x")
        says("no job to pause", ["pause", "job", "77"], "no such job: 77")
        says("no number", ["pause", "job", "x"], "expected a job such as 7, not 'x'")
        says("paused", ["pause", "worker", "one"], "one: paused", 0)
        cluster.submit({"later": {"run": "true"}})
        says("already paused", ["pause", "worker", "one"], "worker one: already paused", 0)
        for id_, reason in (("9.9", "no such job: 9"), ("1.99", "no such task: 1.99"),
                            ("4.1", "task 4.1 has not run yet")):
            says(f"no log of {id_}", ["logs", id_], f"rota logs: {reason}\n")
        says("no attempt", ["logs", "--attempt", "7", "3.1"],
             "no such attempt of task 3.1: 7 (the last one is 1)")
        cluster.rota("close", "1")
        says("no job any more", ["logs", "1.2"],
             "no log of 1.2: its job has finished and was removed")


for test in (an_empty_folder, ended, in_use, top, words, examples, addresses, on_a_server):
    test()
Tap.end()
