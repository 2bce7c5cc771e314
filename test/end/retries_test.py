#!/usr/bin/env python3
"""retries_test - which failures are retried, and when; the same for rota run and a server."""
import json
import os
import subprocess

from cluster import ROTA_PATH, Cluster
from end import Tap
from runs import Folder

say = Tap.say


def tasks(folder):
    """Each writes when it began, and fails three times, or with a code that is not listed."""
    begins = "date +%s.%N >> {0}/{1}; n=$(wc -l < {0}/{1}); "
    return {
        "waits": {"run": begins.format(folder, "waits") + "[ $n -gt 3 ] || exit 75",
                  "retries": {"max": 3, "backoff": "300ms", "factor": 2}},
        "listed": {"run": begins.format(folder, "listed") + "[ $n -gt 1 ] || exit 75",
                   "retries": {"max": 3, "codes": [7, 75]}},
        "other": {"run": begins.format(folder, "other") + "exit 3",
                  "retries": {"max": 3, "codes": [7, 75]}},
        "killed": {"run": begins.format(folder, "killed") + "kill -9 $$",
                   "retries": {"max": 3, "codes": [9]}},
    }


def check(where, folder):
    def begins(name):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            return [float(line) for line in file]
    times = begins("waits")
    gaps = [after - before for before, after in zip(times, times[1:])]
    say(len(gaps) == 3 and all(gap >= rest for gap, rest in zip(gaps, (0.3, 0.6, 1.2))),
        f"{where}: attempts rest, longer each time", gaps)
    say(len(begins("listed")) == 2, f"{where}: a listed code is tried again")
    say(len(begins("other")) == 1, f"{where}: another one is final")
    say(len(begins("killed")) == 1, f"{where}: a signal is no exit code")


def on_this_machine():
    with Folder(name="job.json") as folder:
        folder.write("job.json", json.dumps({"tasks": tasks(folder.path)}))
        done = folder.run("-k", "-j", "4")
        say(done.returncode == 1, "here: failures are reported", done)
        check("here", folder.path)


def in_a_cluster():
    with Cluster() as cluster:
        cluster.work("one", 4)
        done = cluster.submit(tasks(cluster.folder), "--wait")
        say(done.returncode == 1 and "2 ok, 2 failed" in done.stdout,
            "there: failures are reported", done)
        check("there", cluster.folder)


def a_rest_outlives_the_server():
    with Cluster() as cluster:
        cluster.work("one", 1)
        mark, other = cluster.path("mark"), cluster.path("other")
        cluster.submit({"a": {"run": f"date +%s.%N >> {mark}; [ $(wc -l < {mark}) -gt 1 ]",
                              "retries": {"max": 1, "backoff": "6s"}},
                        "b": {"run": f"echo x >> {other}; exec sleep 1000"}})
        cluster.until(lambda: cluster.read("other"), "another task has its place")
        why = cluster.rota("why", "1.1")
        say("in backoff until" in why.stdout, "rota why names the end of its backoff", why)
        say(cluster.sql("SELECT status FROM sched_wait") == [("WAITING",)], "and the tables wait")
        cluster.server.kill()
        os.unlink(cluster.socket)
        cluster.serve()
        cluster.rota("cancel", "1.2")
        cluster.until(lambda: ("a", "SUCCESS") in cluster.ends(), "it is tried again")
        first, second = [float(line) for line in cluster.read("mark").split()]
        say(6 <= second - first, "not before its backoff has passed", second - first)
        say(("a", "LOST") not in cluster.ends(), "and nothing is lost", cluster.ends())
        verify = subprocess.run([ROTA_PATH, "verify", cluster.database], capture_output=True,
                                text=True, check=False)
        say(verify.returncode == 0, "the database is in order", verify)


def each_attempt_has_its_own_end():
    """Attempts end faster than a turn is durable, so several ends are printed together."""
    with Folder('tasks: {fast: {run: "exit $((6 + $ROTA_ATTEMPT))", retries: 2}}\n') as folder:
        events, _ = folder.events()
        ends = [(e["attempt"], e["exit"], e["end"]) for e in events if e["event"] == "ended"]
        say(ends == [(n, 6 + n, f"exit {6 + n}") for n in (1, 2, 3)],
            "each attempt is printed with its own exit status", ends)


def shown_as_written():
    """The server stores more for attempts that are lost."""
    with Cluster() as cluster:
        cluster.submit({"none": {"run": "true"}, "two": {"run": "true", "retries": 2}})
        none, two = (cluster.rota("show", name).stdout for name in ("none", "two"))
        say("retries" not in none and ", up to 2 retries\n" in two,
            "a server shows the retries of the job file", (none, two))
        shown = [json.loads(cluster.rota("show", "--json", name).stdout)["retries"]
                 for name in ("none", "two")]
        say(shown == [0, 2], "as JSON, too", shown)


def why_counts_the_attempts():
    """After the last attempt, the core no longer knows how many there were."""
    with Cluster() as cluster:
        cluster.work("one", 1)
        cluster.submit({"bad": {"run": "exit 7", "retries": 1},
                        "mixed": {"run": "exit $((6 + $ROTA_ATTEMPT))", "retries": 2},
                        "after": {"run": "true", "needs": ["bad"]}}, "--wait")
        bad, mixed, after = (cluster.rota("why", name).stdout for name in ("bad", "mixed", "after"))
        say("bad failed with exit 7 in each of 2 attempts" in bad, "why counts the attempts", bad)
        say("mixed failed with exit 9 in the last of 3 attempts" in mixed,
            "and says if they ended in different ways", mixed)
        page = json.loads(cluster.rota("report", "--job", "1", "--json").stdout)
        say(page["atWork"] is False, "a report of a finished job does not say that it runs", page)
        say("planned for" not in after, "no worker is planned for a blocked task", after)


why_counts_the_attempts()
on_this_machine()
each_attempt_has_its_own_end()
in_a_cluster()
a_rest_outlives_the_server()
shown_as_written()
Tap.end()
