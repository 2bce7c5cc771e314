#!/usr/bin/env python3
"""pause_test - paused lanes, workers and jobs, and workers that are drained."""
import json
import signal
import subprocess

from cluster import PATIENCE, ROTA_PATH, Cluster, KeyedCluster
from end import Tap

say = Tap.say


def lanes():
    with Cluster(lease=20) as cluster:
        cluster.work("one", 4)
        gate = cluster.path("gate")
        held = f"while [ ! -e {gate} ]; do sleep 0.05; done"
        inside = {"lane": "l", "access": "write"}
        cluster.submit({"first": {"run": held, "group": "g", **inside},
                        "second": {"run": "true", "group": "g", **inside},
                        "free": {"run": "true"}}, lanes={"l": {}})
        cluster.until(lambda: len(cluster.ends()) == 1, "a task in no lane runs")
        done = cluster.rota("pause", "lane", "l")
        say(done.returncode == 0 and done.stdout == "lane l: paused\n", "a lane is paused", done)
        again = cluster.rota("pause", "lane", "l")
        say(again.returncode == 0 and again.stdout == "lane l: already paused\n",
            "pausing it again is no mistake", again)
        open(gate, "w", encoding="utf-8").close()
        cluster.until(lambda: ("first", "SUCCESS") in cluster.ends(), "the running task there ends")
        done = cluster.submit({"other": {"run": "true"}}, "--wait")
        say(done.returncode == 0 and ("second", "SUCCESS") not in cluster.ends(),
            "its running task ends, and no other one enters", cluster.ends())
        why = cluster.rota("why", "1.2").stdout
        say("paused" in why, "why says so", why)
        shown = cluster.rota("lanes", "--job", "1").stdout
        told = cluster.rota("lanes", "--job", "1", "--json").stdout
        say("paused" in shown and json.loads(told.splitlines()[0])["paused"], "rota lanes too",
            shown + told)
        cluster.server.kill()
        cluster.serve()
        cluster.submit({"late": {"run": "true", **inside}}, lanes={"l": {}})
        done = cluster.submit({"another": {"run": "true"}}, "--wait")
        say(("second", "SUCCESS") not in cluster.ends() and ("late", "SUCCESS")
            not in cluster.ends(), "a restart and another job change nothing", cluster.ends())
        done = cluster.rota("resume", "lane", "l")
        cluster.until(lambda: {("late", "SUCCESS"), ("second", "SUCCESS")} <= set(cluster.ends()),
                      "it resumes")
        say(done.returncode == 0, "until it is resumed", done)
        again = cluster.rota("resume", "lane", "l")
        say(again.returncode == 0 and again.stdout == "lane l: not paused\n",
            "resuming it again is no mistake", again)
        none = cluster.rota("pause", "lane", "none")
        say(none.returncode == 2 and "no such lane" in none.stderr, "an unknown lane", none)


def workers():
    with Cluster(lease=20) as cluster:
        cluster.work("one", 1)
        gate = cluster.path("gate")
        cluster.submit({"first": {"run": f"while [ ! -e {gate} ]; do sleep 0.05; done"}})
        cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_exec WHERE status = 'RUNNING'"),
                      "it runs")
        done = cluster.rota("pause", "worker", "one")
        say(done.returncode == 0 and done.stdout == "one: paused\n", "a worker is paused", done)
        open(gate, "w", encoding="utf-8").close()
        cluster.until(lambda: len(cluster.ends()) == 1, "the running task there ends")
        cluster.submit({"next": {"run": "true"}})
        why = cluster.rota("why", "2.1").stdout
        say("paused" in why and "one" in why, "it gets nothing new, and why says so", why)
        cluster.server.kill()
        cluster.serve()
        cluster.work("two", 1)
        cluster.until(lambda: ("next", "SUCCESS") in cluster.ends(), "another one takes it")
        ran = cluster.sql("SELECT n.name FROM sched_history h JOIN sched_name n ON n.number ="
                          " h.worker AND n.kind = 'worker' ORDER BY h.seq")
        say([row[0] for row in ran] == ["one", "two"], "also after a restart", ran)
        cluster.rota("resume", "worker", "one")
        cluster.rota("pause", "worker", "two")
        done = cluster.submit({"more": {"run": "true"}}, "--wait")
        say(done.returncode == 0, "until it is resumed", done)
        none = cluster.rota("pause", "worker", "none")
        say(none.returncode == 2 and "no such worker" in none.stderr, "an unknown worker", none)


def jobs():
    with Cluster(lease=20) as cluster:
        cluster.work("one", 4)
        gate = cluster.path("gate")
        cluster.submit({"first": {"run": f"while [ ! -e {gate} ]; do sleep 0.05; done"},
                        "second": {"run": "true", "needs": ["first"]},
                        "third": {"run": "true", "needs": ["second"]}})
        cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_exec WHERE status = 'RUNNING'"),
                      "it runs")
        done = cluster.rota("pause", "job", "1")
        again = cluster.rota("pause", "job", "1")
        say(done.returncode == 0 and done.stdout == "job 1: paused\n"
            and again.returncode == 0 and again.stdout == "job 1: already paused\n",
            "a job is paused, also twice", (done, again))
        cluster.touch("gate")
        cluster.until(lambda: ("first", "SUCCESS") in cluster.ends(), "the running task ends")
        other = cluster.submit({"other": {"run": "true"}}, "--wait")
        say(other.returncode == 0 and ("second", "SUCCESS") not in cluster.ends(),
            "its running tasks end, no other one of it starts, other jobs continue", cluster.ends())
        why = cluster.rota("why", "1.2").stdout
        say("its job is paused" in why, "why says so", why)
        shown = cluster.rota("ps", "--job", "1").stdout
        told = cluster.rota("ps", "--job", "1", "--json").stdout
        say("; paused" in shown and json.loads(told.splitlines()[0])["paused"], "rota ps too",
            shown + told)
        cluster.server.kill()
        cluster.serve()
        other = cluster.submit({"another": {"run": "true"}}, "--wait")
        say(other.returncode == 0 and ("second", "SUCCESS") not in cluster.ends(),
            "also after a restart", cluster.ends())
        done = cluster.rota("resume", "job", "1")
        cluster.until(lambda: ("third", "SUCCESS") in cluster.ends(), "it resumes")
        say(done.returncode == 0, "until it is resumed", done)
        for name in ("99", "none", "0", "99999999999"):
            none = cluster.rota("pause", "job", name)
            said = "no such job: 99" if name == "99" else f"a job such as 7, not '{name}'"
            say(none.returncode == 2 and said in none.stderr, f"there is no job {name}",
                none)


def draining():
    with Cluster(lease=20) as cluster:
        leaves = cluster.work("one", 1)
        gate = cluster.path("gate")
        held = f"while [ ! -e {gate} ]; do sleep 0.05; done"
        cluster.submit({"first": {"run": held}, "second": {"run": "true", "needs": ["first"]}})
        cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_exec WHERE status = 'RUNNING'"),
                      "it runs")
        done = subprocess.run([ROTA_PATH, "worker", "drain", "--server", cluster.socket, "one"],
                              capture_output=True, text=True, check=False)
        say(done.returncode == 0 and leaves.process.poll() is None,
            "a worker that drains keeps running its tasks", done)
        done = subprocess.run([ROTA_PATH, "worker", "drain", "--server", cluster.socket, "one"],
                              capture_output=True, text=True, check=False)
        say(done.returncode == 0, "draining it again is no mistake", done)
        open(gate, "w", encoding="utf-8").close()
        say(leaves.process.wait(PATIENCE) == 0, "and then ends", leaves.said())
        say(cluster.ends() == [("first", "SUCCESS")], "without what would come next",
            cluster.ends())
        cluster.until(lambda: not cluster.sql("SELECT 1 FROM sched_worker"), "it has left")
        cluster.work("one", 1)
        cluster.until(lambda: ("second", "SUCCESS") in cluster.ends(), "it is back")
        say(len(cluster.ends()) == 2, "after a restart it gets tasks again", cluster.ends())


def leaving():
    """A worker that gets TERM: the server gives it nothing more, and knows when it is gone."""
    with Cluster(lease=60) as cluster:
        leaves = cluster.work("one", 2)
        gate = cluster.path("gate")
        held = f"while [ ! -e {gate} ]; do sleep 0.05; done"
        cluster.submit({"first": {"run": held}})
        cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_exec WHERE status = 'RUNNING'"),
                      "it runs")
        leaves.process.send_signal(signal.SIGTERM)
        cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_worker WHERE slots >> 33"),
                      "the server knows")
        cluster.submit({"second": {"run": "true"}})
        why = cluster.rota("why", "2.1").stdout
        say("one has room, but is about to end" in why, "a worker with TERM gets nothing", why)
        say(leaves.process.poll() is None, "its running tasks continue")
        cluster.server.kill()
        cluster.serve()
        cluster.touch("gate")
        say(leaves.process.wait(60) == 0, "the worker ends after them", leaves.said())
        cluster.until(lambda: not cluster.sql("SELECT 1 FROM sched_worker"), "it has left")
        say(cluster.ends() == [("first", "SUCCESS")], "without what would come next",
            cluster.ends())
        cluster.work("two", 1)
        cluster.until(lambda: ("second", "SUCCESS") in cluster.ends(), "another one takes it")
        say(len(cluster.ends()) == 2, "which another one runs", cluster.ends())


def all_end_together():
    """As when a machine is shut down: after the next start nothing is paused."""
    with Cluster(lease=3) as cluster:
        leaves = cluster.work("one", 1)
        cluster.submit({"long": {"run": "sleep 100"}, "short": {"run": "true"}})
        cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_exec WHERE status = 'RUNNING'"),
                      "it runs")
        leaves.process.send_signal(signal.SIGTERM)
        cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_worker WHERE slots >> 33"),
                      "the server knows")
        leaves.kill()
        cluster.server.kill(signal.SIGTERM)
        cluster.serve()
        cluster.work("one", 2)
        cluster.until(lambda: ("short", "SUCCESS") in cluster.ends(), "it works")
        say(True, "a worker that was about to leave gets tasks after a restart")


def roles():
    with KeyedCluster(lease=20) as cluster:
        cluster.work("one", 1)
        cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_worker WHERE silent_since > 9e18"),
                      "the worker is there")
        cluster.socket = cluster.address
        done = cluster.rota("pause", "worker", "one", *cluster.key("client"))
        say(done.returncode == 4 and "needs the role admin, which the key" in done.stderr,
            "a client's key pauses no worker", done)
        done = cluster.rota("pause", "worker", "one", *cluster.key("admin"))
        say(done.returncode == 0, "an admin's does", done)


for test in (lanes, workers, jobs, draining, leaving, all_end_together, roles):
    test()
Tap.end()
