#!/usr/bin/env python3
"""events_test - rota events: no event is missed or repeated, even over restarts."""
import json
import signal
import subprocess

from cluster import PATIENCE, Cluster, Process, ROTA_PATH
from end import Tap, change

say = Tap.say


def read(cluster, *words):
    done = cluster.rota("events", "--json", *words)
    return [json.loads(line) for line in done.stdout.splitlines()], done


def changes(events):
    return [event for event in events if event["event"] not in ("begin", "end")]


def from_the_past():
    with Cluster() as cluster:
        cluster.work("one")
        cluster.submit({"a": {"run": "true", "lane": "db", "access": "write"},
                        "b": {"run": "exit 3", "needs": ["a"]},
                        "c": {"run": "true", "needs": ["b"]}}, "--wait", lanes={"db": {}})
        everything, done = read(cluster, "--after", "0", "--once")
        say(done.returncode == 0 and everything[0]["event"] == "begin"
            and everything[-1]["event"] == "end", "all that has happened is told, and then it ends",
            done)
        told = changes(everything)
        states = [event["state"] for event in told if event.get("name") == "a"]
        say("ASSIGNED" in states and states[-1] == "SUCCESS",
            "each state of a task is an event", told)
        ends = {event["name"]: event for event in told
                if event.get("state") in ("SUCCESS", "FAILED")}
        say(ends["b"]["exit"] == 3 and ends["b"]["worker"] == "one" and ends["a"]["lane"] == "db",
            "with its exit status, worker and lane", ends)
        say(any(event["event"] == "job" and event["state"] == "SUBMITTED" and event["tasks"] == 3
                for event in told), "so are jobs", told)
        say(any(event["event"] == "worker" and event["worker"] == "one" and event["state"] == "here"
                for event in told), "and workers", told)
        places = [event["sequence"] for event in told]
        say(len(set(places)) == len(places), "every event has a sequence of its own", places)
        pieces = all(changes(read(cluster, "--after", place, "--once")[0]) == told[at + 1:]
                     for at, place in enumerate(places))
        say(pieces, "after each of them come exactly the remaining events")
        text = cluster.rota("events", "--after", "0", "--once")
        say(" 1.2 FAILED b on one exit 3\n" in text.stdout, "people read it, too", text.stdout)
        topics(cluster, told)
        refusals(cluster)


def topics(cluster, told):
    for option, value, wanted in (
            ("--job", "1", lambda event: event.get("job") == 1),
            ("--job", "2", lambda event: False),
            ("--task", "1.2", lambda event: event.get("task") == "1.2"),
            ("--task", "b", lambda event: event.get("name") == "b"),
            ("--lane", "db", lambda event: event.get("lane") == "db"),
            ("--worker", "one", lambda event: event.get("worker") == "one"),
            ("--kind", "worker", lambda event: event["event"] == "worker"),
            ("--kind", "FAILED,SUCCESS", lambda event: event["state"] in ("FAILED", "SUCCESS"))):
        found, done = read(cluster, "--after", "0", "--once", option, value)
        say(changes(found) == [event for event in told if wanted(event)],
            f"only what {option} {value} asks for", done.stdout)
    both, _ = read(cluster, "--after", "0", "--once", "--kind", "FAILED", "--task", "a", "--task",
                   "b")
    say([event["name"] for event in changes(both)] == ["b"], "topics of two kinds are met together")


def refusals(cluster):
    ahead = cluster.rota("events", "--after", "99999999")
    say(ahead.returncode == 2 and "no such event yet" in ahead.stderr,
        "a place that the journal has not reached is refused", ahead)
    for words in (["--after", "x"], ["--after", "1.x"], ["--after", "-1"], ["--job", "x"],
                  ["--kind", ""], ["--kind"], ["--what"]):
        wrong = cluster.rota("events", *words)
        say(wrong.returncode == 2 and wrong.stderr, f"{words} is refused", wrong)
    for kind, advice in (("SUCESS", " (did you mean SUCCESS?)"),
                         ("success", " (did you mean SUCCESS?)"),
                         ("FAILED,RUNING", " (did you mean RUNNING?)"),
                         ("tasks", " (did you mean task?)"),
                         ("Worker", " (did you mean worker?)"),
                         ("xyzzy", ": expected task, job, worker or a state such as RUNNING")):
        wrong = cluster.rota("events", "--once", "--after", "0", "--kind", kind)
        said = f"rota events: unknown kind '{kind.rpartition(',')[2]}'{advice}\n"
        say(wrong.returncode == 2 and wrong.stderr == said, f"the kind {kind} is refused", wrong)
    for kind in ("task,job,worker", "SUBMITTED,PAUSED,OPEN,LAST,CLOSED", "here,silent,left",
                 "IDLE,STAGED,QUEUED,WAITING,BLOCKED,READY,HELD,OFFERED,SHARED,ASSIGNED,RUNNING",
                 "SUCCESS,FAILED,ABORTED,FROZEN"):
        done = cluster.rota("events", "--once", "--after", "0", "--kind", kind)
        say(done.returncode == 0, f"each of {kind} is a kind", done)


def over_a_restart():
    with Cluster() as cluster:
        cluster.work("one")
        live = Process(cluster.path("live"), "events", "--json", "--server", cluster.socket)
        cluster.until(lambda: "begin" in live.said(), "it follows")
        cluster.submit({f"t{i}": {"run": "true"} for i in range(50)}, "--wait")
        cluster.until(lambda: live.said().count("SUCCESS") == 50,
                      "all ends are reported as they happen")
        cluster.server.kill()
        say(live.process.wait(PATIENCE) == 4, "when the server is killed, it ends")
        lines = live.said().splitlines()
        say("to resume" in lines[-1], "and says how to continue", lines[-1])
        before = [json.loads(line) for line in lines if line.startswith("{")]
        cluster.serve()
        cluster.submit({f"u{i}": {"run": "true"} for i in range(50)}, "--wait")
        after, _ = read(cluster, "--once", "--after", before[-1]["sequence"])
        whole, _ = read(cluster, "--once", "--after", before[0]["sequence"])
        say(changes(before) + changes(after) == changes(whole),
            "the parts before and after the restart have each event once")
        ends = [event["name"] for event in changes(before) + changes(after)
                if event.get("state") == "SUCCESS"]
        say(sorted(ends) == sorted([f"{c}{i}" for c in "tu" for i in range(50)]),
            "every task ended once", ends)


def expired_events():
    with Cluster() as cluster:
        cluster.work("one")
        cluster.submit({f"t{i}": {"run": "true"} for i in range(5)}, "--wait")
        told, _ = read(cluster, "--after", "0", "--once")
        cluster.server.kill(signal.SIGTERM)
        change(cluster.database, "DELETE FROM sched_event WHERE sequence < (SELECT max(sequence)"
               " FROM sched_event)")
        cluster.serve()
        rest, done = read(cluster, "--after", changes(told)[0]["sequence"], "--once")
        say(rest[1]["event"] == "gap" and done.returncode == 0,
            "removed events are reported as a gap", done.stdout)
        again, _ = read(cluster, "--after", rest[1]["sequence"], "--once")
        say(changes(again)[:len(rest) - 3] == rest[2:-1],
            "and a reader can continue from its sequence number", again)


def a_slow_reader():
    with Cluster() as cluster:
        cluster.work("one", 8)
        with subprocess.Popen([ROTA_PATH, "events", "--json", "--after", "0", "--server",
                               cluster.socket], stdout=subprocess.PIPE, text=True) as slow:
            cluster.submit({f"t{i:04}": {"run": "true"} for i in range(3000)})
            cluster.until(lambda: cluster.sql("SELECT count(*) FROM sched_history")[0][0] == 3000,
                          "all tasks, while the follower does not read")
            names = []
            for line in slow.stdout:
                event = json.loads(line)
                if event.get("state") == "SUCCESS":
                    names.append(event["name"])
                if len(names) == 3000:
                    break
            say(sorted(names) == [f"t{i:04}" for i in range(3000)],
                "a slow reader misses no event and delays no one")
            slow.kill()


from_the_past()
over_a_restart()
expired_events()
a_slow_reader()
Tap.end()
