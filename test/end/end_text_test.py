#!/usr/bin/env python3
"""end_text_test - all commands tell the end of an attempt with the same words."""
import json
import subprocess

from cluster import PATIENCE, ROTA_PATH, Cluster
from end import Tap

say = Tap.say

TASKS = {"bad": {"run": "exit 3"}, "killed": {"run": "kill -9 $$"},
         "slow": {"run": "sleep 1000", "timeout": "200ms"},
         "missing": {"run": ["no-such-command"]}, "empty": {"run": "true", "out": ["x"]}}
ENDS = {"bad": "exit 3", "killed": "signal 9 (Killed)", "slow": "timed out",
        "missing": 'no such command in PATH: "no-such-command"',
        "empty": "the output x is missing"}
# A server that has no reason at hand tells the kind of the end.
BRIEF = ENDS | {"missing": "not started", "empty": "an output is missing or invalid"}


def fields(text):
    """The rows of a table with tabs, by their headings."""
    head, *rows = [line.split("\t") for line in text.splitlines()]
    return [dict(zip(head, row)) for row in rows]


def attached():
    with Cluster() as cluster:
        cluster.work("w1", 4)
        told = attached_output(cluster)
    say(all(f"FAILED: {name} ({end}, attempt 1," in told for name, end in ENDS.items()),
        "submit --attach", told)
    say("missing (no such command in PATH: \"no-such-command\", attempt 1, 0.0" in told,
        "which does not count the time before the start", told)


def attached_output(cluster):
    """The server tells reasons of ends that come while a client is attached, so all tasks but one
    end after the client has shown the first."""
    hold = {"hold": {"run": f"until test -e {cluster.path('go')}; do sleep 0.02; done"}}
    tasks = {name: task if name == "bad" else {**task, "needs": ["hold"]}
             for name, task in TASKS.items()}
    client = subprocess.Popen([ROTA_PATH, "submit", "--server", cluster.socket, "--attach",
                               cluster.job({**tasks, **hold})], stdout=subprocess.PIPE, text=True)
    told = ""
    for line in client.stdout:
        told += line
        if "FAILED: bad" in line:
            cluster.touch("go")
    client.wait(PATIENCE)
    return told


with Cluster() as cluster:
    cluster.work("w1", 4)
    done = cluster.submit(TASKS, "--wait")
    said = set(done.stdout.splitlines())
    say({f"FAILED {name}: {end}" for name, end in ENDS.items()} <= said, "submit --wait", done)
    done = cluster.submit(TASKS, "--wait", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    say({row["task"]: row["end"] for row in rows if row["event"] == "ended"} == ENDS,
        "submit --wait --json", done.stdout)
    done = cluster.rota("wait", *(f"1.{number}" for number in range(1, 6)))
    say(done.stdout == "".join(f"task 1.{number}: failed, {BRIEF[name]}\n"
                               for number, name in enumerate(TASKS, 1)), "wait", done.stdout)
    rows = [json.loads(line) for line in cluster.rota("ps", "-a", "--json").stdout.splitlines()]
    say({row["name"]: row["end"] for row in rows} == ENDS, "ps", rows)
    done = cluster.rota("events", "--after", "0", "--once", "--kind", "FAILED")
    say(all(f" FAILED {name} on w1 {end}\n" in done.stdout for name, end in BRIEF.items()),
        "events", done.stdout)
    rows = fields(cluster.rota("history").stdout)
    say({row["end"] for row in rows} == set(ENDS.values()), "history", rows)

with Cluster() as cluster:
    cluster.work("w1", 1)
    flag = cluster.path("flag")
    done = cluster.submit({
        "first": {"run": "sleep 0.5"},
        "again": {"run": f"[ -e {flag} ] || {{ touch {flag}; exit 75; }}", "retries": 1}}, "--wait")
    rows = fields(cluster.rota("history", "--task", "1.2").stdout)
    say([(row["status"], row["end"]) for row in rows]
        == [("FAILED", "exit 75"), ("SUCCESS", "exit 0")],
        "history tells how an attempt that was retried ended", rows)
    first = fields(cluster.rota("history", "--task", "1.1").stdout)[0]
    say(int(rows[0]["started"]) >= int(first["ended"]),
        "and when its command began, not when the task was assigned", (first, rows))

attached()
Tap.end()
