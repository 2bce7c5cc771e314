#!/usr/bin/env python3
"""patience_test - how long a task under pull waits for a worker with its data.

Waits that must not end during the test last an hour, so the test does not depend on time: the task
stays where it is while others run. Where a wait ends, the test only checks that it did not end too
early.
"""
import subprocess

from cluster import ROTA_PATH
from end import Tap
from story import HOUR, Story, tells

SECOND = 1000000


def wrong_waits():
    def refused(*words):
        done = subprocess.run([ROTA_PATH, "server", *words], capture_output=True, text=True,
                              check=False, timeout=60, stdin=subprocess.DEVNULL)
        return done if done.returncode == 2 and not done.stdout else None

    done = refused("--memory", "--pull-cache", "2", "--pull-inputs", "1.5")
    tells("BS-21", done and "at most the time of --pull-inputs (1.5), not 2" in done.stderr,
          "a server that would wait longer for results than for inputs is refused", done)
    odd = [word for word in ("-1", "1s", "", "nan", "1e9", "100000")
           if not refused("--memory", "--pull-inputs", word)]
    tells("BS-21", not odd and refused("--memory", "--pull-cache"),
          "and so is a wait that is no time, or more than a day", odd)
    for words in (("--pull-inputs", "0"), ("--pull-cache", "5")):
        with Story(*words) as story:
            story.join()
            tells("BS-21", story.done({"one": {"run": "true"}}, policy="pull"),
                  f"one of the two can be left out: {' '.join(words)}")


def at_once():
    with Story("--ahead", "0", "--pull-cache", "0", "--pull-inputs", "0") as story:
        for _ in range(2):
            story.join()
        job = story.begin({"make": {"run": "echo x > o", "out": ["o"], "machine": "w0"},
                           "busy": {"run": story.waits_for("go"), "machine": "w0",
                                    "needs": ["make"]},
                           "gate": {"run": story.waits_for("gate"), "machine": "w1",
                                    "needs": ["make"]},
                           "use": {"run": "cat o", "in": ["o"], "needs": ["gate"]}},
                          policy="pull")
        story.until(lambda: story.running("busy", "gate"), "w0 is busy")
        story.touch("gate")
        story.until(lambda: story.status("use") == "SUCCESS", "another does it")
        story.touch("go")
        tells("BS-21", story.rota("wait", str(job)).returncode == 0
              and story.where("use") == ["w1"]
              and story.turn_of("use", "ASSIGNED") == story.turn_of("gate", "SUCCESS"),
              "without waits a task is for every worker in the turn in which it is ready",
              story.changes())


def endless_wait():
    with Story("--ahead", "0", *HOUR) as story:
        story.join()
        job = story.begin({"J": {"run": "true"}}, policy="pull")
        waits = story.stays("J", "w0")
        why = story.rota("why", f"{job}.1").stdout
        tells("BS-1", waits and "waits for a worker that has an input" in why,
              "a task whose input is nowhere waits before an idle worker gets it", why)
        story.rota("cancel", str(job))
        story.until(story.idle, "it is gone")


def for_whom_it_waits():
    """Under pull also those that make something wait, so that is done by a server without waits."""
    with Story("--ahead", "0", "--pull-cache", "0", "--pull-inputs", "0") as story:
        for _ in range(2):
            story.join()
        job = story.begin({"make": {"run": "echo x > o", "out": ["o"], "machine": "w0"},
                           "gate": {"run": story.waits_for("gate"), "machine": "w0",
                                    "needs": ["make"]},
                           **{name: {"run": f"cat o; touch {story.path(name)};"
                                            f" {story.waits_for(f'go-{name}')}",
                                     "in": ["o"], "needs": ["gate"]} for name in "ab"}},
                          policy="pull")
        story.until(lambda: story.running("gate"), "it is made")
        story.server.kill()
        story.options += HOUR
        story.serve()
        story.touch("gate")
        story.until(lambda: story.running("a") or story.running("b"), "one of them runs")
        first, second = ("a", "b") if story.running("a") else ("b", "a")
        waits = story.stays(second, "w1")
        number = {"a": 3, "b": 4}[second]
        why = story.rota("why", f"{job}.{number}").stdout
        tells("BS-5", waits and "waits for a worker that has an input" in why,
              "a task waits for the busy worker with its data, not for an idle one", why)
        for name in (first, second):
            story.touch(f"go-{name}")
        tells("BS-5", story.rota("wait", str(job)).returncode == 0
              and story.where("a") == story.where("b") == ["w0"],
              "and goes where its data is, when there is room", story.history())


def starts(story):
    """When the attempts of tasks began, by name."""
    return dict(story.sql("SELECT j.name, a.began FROM sched_attempt a JOIN sched_job j"
                          " USING (id)"))


def not_before():
    with Story("--pull-cache", "1", "--pull-inputs", "2") as story:
        story.join()
        before = story.sql("SELECT max(at) FROM sched_event")[0][0]
        fine = story.done({"J": {"run": "true"}}, policy="pull")
        waited = starts(story)["J"] - before
        tells("BS-1", fine and waited >= 2 * SECOND,
              "a wait of two seconds is not over before", waited)


def strict_lane():
    with Story("--pull-cache", "1", "--pull-inputs", "2") as story:
        story.join(2)
        before = story.sql("SELECT max(at) FROM sched_event")[0][0]
        lane = {"lane": "L", "access": "write", "run": story.waits_for("go")}
        job = story.begin({"a": {**lane, "group": "g1"}, "b": {**lane, "group": "g2"}},
                          lanes={"L": {"strict": True}}, policy="pull")
        story.until(lambda: story.running("a", "b"), "both run")
        story.touch("go")
        fine = story.rota("wait", str(job)).returncode == 0
        began = starts(story)
        tells("X-3", fine and began["a"] - before >= 2 * SECOND,
              "a patient head of a strict lane waits for its place", (before, began))
        tells("X-3", began["b"] - began["a"] >= 2 * SECOND,
              "and the wait of the next begins when the head has started", began)


for test in (wrong_waits, at_once, endless_wait, for_whom_it_waits, not_before, strict_lane):
    test()
Tap.end()
