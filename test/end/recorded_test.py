#!/usr/bin/env python3
"""recorded_test - rota simulate of a job that was run: by rota run, and by a server."""
import json
import os
import sqlite3
import subprocess
import xml.dom.minidom

import seed
from cluster import Cluster
from end import ROTA, Tap
from runs import Folder

say = Tap.say
PROGRAM = os.path.abspath(ROTA)
JOB = """
tasks:
  make-1: {run: "head -c 3000000 /dev/zero > a; sleep 0.2", out: [a]}
  make-2: {run: "head -c 5000000 /dev/zero > b; sleep 0.3", out: [b]}
  use: {run: "cat a b > c", in: [a, b], out: [c], cpus: 2}
  flaky: {run: "test -e mark || { touch mark; exit 3; }", cwd: ., retries: 2}
  both: {tasks: {x: {run: "sleep 0.1"}, y: {run: "true"}}}
  last: {run: "true", needs: [use, both]}
  bad: {run: "exit 1"}
  never-1: {run: "true", needs: [bad]}
"""


def simulate(*words):
    return subprocess.run([PROGRAM, "simulate", *words], capture_output=True, text=True,
                          check=False, timeout=60)


def result(*words):
    done = simulate(*words, "--json")
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def same(one, other):
    return abs(one - other) < 1e-6


def took(database):
    """Seconds of the last attempt of each task, and when the first began and the last ended."""
    link = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    rows = link.execute("SELECT j.name, a.began, a.ended FROM sched_attempt a JOIN sched_job j"
                        " USING (id) ORDER BY a.attempt").fetchall()
    link.close()
    seconds = {name: (ended - began) / 1e6 for name, began, ended in rows}
    last = {name: (began, ended) for name, began, ended in rows}
    first = min(began for began, _ in last.values())
    return seconds, (max(ended for _, ended in last.values()) - first) / 1e6


def of_a_run():
    with Folder(JOB) as folder:
        folder.run("--keep-going", "-j", "2")
        database = os.path.join(folder.path, ".rota/rota.db")
        seconds, whole = took(database)
        got = result(database, "--workers", "4x4", "--bandwidth", "1G")
        path = max(max(seconds["make-1"], seconds["make-2"]) + seconds["use"], seconds["x"])
        say(got.get("tasks") == 10 and same(got["lower_bound"], path + seconds["last"]),
            "tasks take what they took, and wait as they waited", (got, seconds))
        say(got.get("critical_path", [])[-2:] == ["use", "last"], "its longest way is known", got)
        text = simulate("--db", database, "--workers", "1x2").stdout
        say("1 of 10 tasks did not run: they take as long as others of their kind" in text,
            "it says whose time is not known", text)

        names = [os.path.join(folder.path, name) for name in ("a.svg", "a.trace", "flow.json")]
        real = result("--db", database, "--recorded", "--svg", names[0], "--perfetto", names[1],
                      "--workflow", names[2])
        say(same(real.get("makespan", 0), whole) and real["policy"] == "recorded",
            "the recorded time is shown, too", (real, whole))
        with open(names[2], encoding="utf-8") as file:
            flow = json.load(file)["workflow"]
        sizes = sorted(file["sizeInBytes"] for file in flow["specification"]["files"])
        say(sizes[-2:] == [3000000, 5000000], "its objects have the size they had", sizes)
        again = result(names[2], "--workers", "4x4", "--bandwidth", "1G")
        say(same(again.get("lower_bound", 0), got["lower_bound"]),
            "a run is written in WfFormat, and read again", again)
        say(len(xml.dom.minidom.parse(names[0]).getElementsByTagName("rect")) == 10,
            "and drawn")


def of_a_server():
    with Cluster() as cluster:
        for name in ("w0", "w1"):
            cluster.work(name, 1)
        tasks = {"a": {"run": "head -c 2000000 /dev/zero > o; sleep 0.1", "out": ["o"]},
                 "b": {"run": "wc -c < o", "in": ["o"]}}
        for more in ({}, {"c": {"run": "true"}}):
            done = cluster.submit({**tasks, **more}, "--wait")
            assert done.returncode == 0, done.stderr + cluster.told()
        one, two = (result("--db", cluster.database, *words) for words in (("--job", "1"), ()))
        say(one.get("tasks") == 2 and two.get("tasks") == 3,
            "the last job of a running server, or the one that is named", (one, two))
        slow = result(cluster.database, "--workers", "2x1", "--bandwidth", "1", "--policy", "pull",
                      "--patience", "0", "--seed", str(seed.take()))
        say(slow.get("transfers", 9) <= 1 and slow["makespan"] >= two["lower_bound"] - 1e-9,
            "their data may have to move", slow)


def refused(what, reason, *words):
    done = simulate(*words)
    say(done.returncode == 2 and reason in done.stderr and not done.stdout, what,
        f"{done.returncode} {done.stdout}{done.stderr}")


def wrong_ones():
    with Folder("tasks: {a: 'true'}") as folder:
        folder.run()
        job, database = (os.path.join(folder.path, name) for name in ("job.yaml", ".rota/rota.db"))
        refused("a database that is not there", "No such file", "--db", database + "x")
        refused("a file that is not a database", "is not a database", "--db", job)
        refused("a job that is not there", "no such job: 9", "--db", database, "--job", "9")
        refused("a job without a number", "option --job needs the number of a job", "--db",
                database, "--job", "x")
        refused("a job of a job file", "option --job needs a database", job, "--job", "1")
        refused("how a job file went", "option --recorded needs a database", job, "--recorded")
        refused("two files", "unexpected argument", job, "--db", database)
        refused("both at once", "exclude each other", database, "--recorded", "--replay", job)
        refused("a price below nothing", "option --price needs a number, not '-1'", database,
                "--price", "-1")
        cost = result(database, "--price", "2")
        say(same(cost.get("cost", 0), 4 * cost.get("makespan", 1) / 3600 * 2),
            "the price of all cores", cost)


of_a_run()
of_a_server()
wrong_ones()
Tap.end()
