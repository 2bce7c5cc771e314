#!/usr/bin/env python3
"""attach_test - rota submit --attach shows a job of a server like rota run shows its own."""
import json
import os
import re
import shutil
import signal
import subprocess

from cluster import Cluster, PATIENCE, Process, ROTA_PATH
from end import Tap

say = Tap.say

TASKS = {"a": {"run": "echo fine"}, "b": {"run": "echo out; echo err >&2; exit 3", "needs": ["a"]},
         "c": {"run": "true", "needs": ["b"]}, "d": {"run": "true", "needs": ["a"]}}


def lines_of(text):
    """Without what differs from run to run: times, places and the order of lines."""
    return sorted(re.sub(r"\d+\.\d\d s|\[\d/\d\]", "-", line) for line in text.splitlines())


def like_a_run_of_its_own():
    with Cluster() as cluster:
        cluster.work("one")
        there = cluster.submit(TASKS, "--attach")
        folder = cluster.path("here")
        os.mkdir(folder)
        shutil.copy(cluster.path("job.json"), folder)
        here = subprocess.run([ROTA_PATH, "run", "-k", "job.json"], cwd=folder,
                              capture_output=True, text=True, check=False)
        say(there.returncode == 1 and "FAILED: b (exit 3, attempt 1, " in there.stdout
            and "\nout\nerr\n" in there.stdout, "a failed task is shown with all its output",
            there)
        mine = [line for line in lines_of(there.stdout) if line[:4] not in ("job ", "    ")]
        own = [line for line in lines_of(here.stdout) if line[:4] not in ("job ", "    ")]
        say(mine == own, "as rota run shows it", (there.stdout, here.stdout))
        say("failed: b    (rota logs --server " + cluster.socket + " 1.2)" in there.stdout,
            "and with how to ask for it again", there.stdout)
        fine = cluster.submit({"a": {"run": "true"}}, "--attach")
        say(fine.returncode == 0 and "1 ok in" in fine.stdout, "all that is well is 0", fine)
        told = cluster.submit(TASKS, "--attach", "--json")
        rows = [json.loads(line) for line in told.stdout.splitlines()]
        ends = {row["task"]: row["status"] for row in rows if row["event"] == "ended"}
        say(ends == {"a": "SUCCESS", "b": "FAILED", "d": "SUCCESS"} and rows[-1]["event"] == "over"
            and rows[-1]["failed"] == 1 and rows[-1]["not_run"] == 1, "one object a line", told)
        names = ("one", "two", "three", "four")
        chain = {name: {"run": "true", "needs": [before] if before else []}
                 for before, name in zip(("", *names), names)}
        path = cluster.submit(chain, "--attach")
        say("s: one > two > three > four\n" in path.stdout, "the critical path is complete", path)
        slow = cluster.submit({f"t{i:03}": {"run": "true"} for i in range(300)}, "--attach")
        say(slow.returncode == 0 and slow.stdout.count("] t") == 300 and "300 ok" in slow.stdout,
            "every end is reported once", slow.stdout[-300:])


def attached(cluster, tasks):
    log = cluster.path(f"attached-{len(os.listdir(cluster.folder))}")
    process = Process(log, "submit", "--server", cluster.socket, "--attach", cluster.job(tasks))
    cluster.until(lambda: "job " in process.said(), "it is attached")
    return process


def left_and_stopped():
    with Cluster() as cluster:
        cluster.work("one")
        runs = "SELECT count(*) FROM sched_exec WHERE status = 'RUNNING'"
        once = attached(cluster, {"a": {"run": "sleep 1000"}})
        cluster.until(lambda: cluster.sql(runs) == [(1,)], "it runs")
        once.process.send_signal(signal.SIGINT)
        say(once.process.wait(PATIENCE) == 130 and "which continues on the server" in once.said(),
            "Ctrl-C leaves it to the server", once.said())
        say(cluster.sql(runs) == [(1,)], "where it continues")
        for job in range(2, 7):  # the second may come too late on a busy machine
            ran = cluster.path(f"ran{job}")
            twice = attached(cluster, {"a": {"run": f"sleep 0.4; touch {ran}; sleep 1000"}})
            cluster.until(lambda: os.path.exists(ran), "both run")
            twice.process.send_signal(signal.SIGINT)
            cluster.until(lambda: "again to cancel job" in twice.said(), "it asks")
            twice.process.send_signal(signal.SIGINT)
            status = twice.process.wait(PATIENCE)
            if status != 130:
                break
            cluster.rota("cancel", str(job))
            cluster.until(lambda: cluster.sql(runs) == [(1,)], "the first runs")
        say(status == 3 and "1 stopped" in twice.said(), "twice stops it", twice.said())
        took = re.search(r"STOPPED: a \(stopped, attempt 1, ([\d.]+) s\)", twice.said())
        say(took and float(took[1]) >= 0.4, "and it says how long the task ran", twice.said())
        say(cluster.sql(runs) == [(1,)], "and nothing else")
        third = attached(cluster, {"a": {"run": "sleep 1000"}})
        third.process.send_signal(signal.SIGTERM)
        say(third.process.wait(PATIENCE) == 143, "TERM leaves at once", third.said())


def over_a_restart():
    with Cluster() as cluster:
        cluster.work("one", 4)
        flag = cluster.path("go")
        tasks = {f"t{i}": {"run": f"until [ -e {flag} ]; do sleep 0.05; done"} for i in range(8)}
        process = attached(cluster, tasks)
        cluster.until(lambda: cluster.sql("SELECT count(*) FROM sched_exec")[0][0], "it runs")
        cluster.server.kill()
        cluster.until(lambda: "waiting for it" in process.said(), "it notices")
        with open(flag, "w", encoding="utf-8"):
            pass
        cluster.serve()
        status = process.process.wait(PATIENCE)
        said = process.said()
        say(status == 0 and said.count("] t") == 8 and "8 ok" in said,
            "a restart of the server is waited for, and nothing is missed", said)


def retried():
    with Cluster() as cluster:
        cluster.work("one", 4)
        flag, done = cluster.path("flag"), cluster.path("done")
        process = attached(cluster, {"a": {"run": f"[ -e {flag} ]"},
                                     "b": {"run": f"until [ -e {done} ]; do sleep 0.05; done"}})
        cluster.until(lambda: "FAILED: a" in process.said(), "it fails")
        with open(flag, "w", encoding="utf-8"):
            pass
        cluster.rota("retry", "1.1")
        cluster.until(lambda: "] a" in process.said(), "it succeeds")
        with open(done, "w", encoding="utf-8"):
            pass
        status = process.process.wait(PATIENCE)
        said = process.said()
        say(status == 0 and "[1/2] a" in said and "[2/2] b" in said,
            "a task that is retried is counted once", said)


retried()
like_a_run_of_its_own()
left_and_stopped()
over_a_restart()
Tap.end()
