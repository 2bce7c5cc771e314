#!/usr/bin/env python3
"""planner_test - when a server plans, and that it handles all messages before it decides.

`rota top` says how many plans there were, when the last one was made, and how long it took.
"""
import json
import os
import signal
import time

from end import Tap
from hostile import RUN, Stranger, job_of
from story import Story, tells

MANY = 150
APART = 0.01  # seconds, at least, between two plans


def planner(story):
    return json.loads(story.rota("top", "--json").stdout)["planner"]


def handing_on(name, **more):
    """Two tasks of which one reads what the other makes: that is planned."""
    return {f"{name}1": {"run": f"echo x > {name}", "out": [name], **more},
            f"{name}2": {"run": "true", "in": [name]}}


def submitted_at(story, job):
    told = story.rota("events", "--after", "0", "--once", "--json", "--job", str(job)).stdout
    rows = [json.loads(row) for row in told.splitlines()]
    return next(row["at"] for row in rows if row.get("state") == "SUBMITTED")


def rests(story):
    """No plan was made lately, as the server sees it."""
    top = json.loads(story.rota("top", "--json").stdout)
    last = top["planner"]["last"]
    return last is None or top["at"] - last > 100 * APART * 1000000


def when_there_is_news():
    with Story("--ahead", "0") as story:
        for _ in range(2):
            story.join()
        first = planner(story)
        tells("RS-19", first == {"plans": 0, "last": None, "took_us": None},
              "a server that has nothing to do plans nothing", first)
        fine = all(story.done({f"t{i}": {"run": "sleep 0.1"}}) for i in range(5))
        tells("RS-19", fine and planner(story) == first,
              "nor does one whose tasks hand nothing on", planner(story))
        story.begin({"gate": {"run": story.waits_for("go")}, **handing_on("a", needs=["gate"])})
        one = planner(story)
        tells("RS-19", one["plans"] == 1 and one["last"] == submitted_at(story, 6)
              and one["took_us"] >= 0,
              "a submission is planned in its own turn when there was no plan for long",
              (one, submitted_at(story, 6)))
        story.until(lambda: story.running("gate") and rests(story), "it runs, and nothing else")
        before = planner(story)
        fine = all(story.done({f"u{i}": {"run": "sleep 0.1"}}) for i in range(5))
        tells("RS-19", fine and planner(story) == before,
              "while nothing happens to what is planned there are no plans",
              (before, planner(story)))
        job = story.begin(handing_on("b", needs=[]))
        tells("RS-19", planner(story)["last"] >= submitted_at(story, job)
              and planner(story)["plans"] > before["plans"], "and the next job makes one",
              planner(story))
        first = planner(story)["plans"]
        text = story.rota("top", "--once").stdout
        last = planner(story)["plans"]  # the job still runs, so there may be more
        tells("RS-19", any(f"{count} plans, the last one " in text
                           for count in range(first, last + 1)), "rota top shows that", text)
        story.touch("go")
        story.until(story.idle, "all is done")
    with Story("--no-plan") as story:
        tells("RS-19", planner(story) is None, "without plans there is no planner")


def in_quick_succession():
    """Submissions that are answered within milliseconds, one after the other."""
    def graph(low):
        task = {"name": "t", "body": 1, "cores": 1}
        return job_of(low, [task, task], bodies=[RUN], policy=3,
                      outputs=[{"task": 1, "object": (9, low)}],
                      inputs=[{"task": 2, "object": (9, low)}])

    with Story("--ahead", "0") as story:
        for _ in range(2):
            story.join()
        story.begin({f"hog{i}": {"run": story.waits_for("go")} for i in range(2)})
        story.until(lambda: story.running("hog0", "hog1"), "no worker has room")
        with Stranger(story.socket, "CLIENT") as client:
            began = time.monotonic()
            answers = [client.says("SUBMIT", **graph(i + 1)).answer("ACCEPTED", "REFUSE")[0]
                       for i in range(MANY)]
        plans = planner(story)["plans"]
        most = 2 + (time.monotonic() - began) / APART
        tells("RS-19", answers == ["ACCEPTED"] * MANY and 1 <= plans <= most,
              "submissions in quick succession are planned together, at most every 10 ms",
              (answers[-1], plans, most))
        print(f"# {MANY} submissions, {plans} plans, at most {most:.1f}")


def batch(story, turn):
    """Two tasks end while the server does not listen. It hears of both at once, or else of one
    after the other: then it is to be tried again. `low` could have the place of either of them;
    `high` needs one of them, and the places of both."""
    def runs(more):
        return f"{story.waits_for(f'go{turn}')}; touch {story.path(more)}"
    names = [f"{name}{turn}" for name in ("a", "p", "low", "high")]
    first, second, low, high = names
    story.begin({first: {"run": runs(first), "priority": 9},
                 second: {"run": runs(second), "priority": 9},
                 low: {"run": "true"},
                 high: {"run": "true", "cpus": 2, "priority": 5, "needs": [second]}})
    story.until(lambda: story.running(first, second), "both run")
    story.server.process.send_signal(signal.SIGSTOP)
    story.touch(f"go{turn}")
    story.until(lambda: all(os.path.exists(story.path(name)) for name in (first, second)),
                "both have ended")
    time.sleep(0.1 * (turn + 1))  # for the worker to say so
    story.server.process.send_signal(signal.SIGCONT)
    story.until(story.idle, "all is done")
    return [story.turn_of(name, state) for name, state in (
        (first, "SUCCESS"), (second, "SUCCESS"), (high, "ASSIGNED"), (high, "SUCCESS"),
        (low, "ASSIGNED"))]


def reports_come_first():
    with Story("--ahead", "0") as story:
        story.join(2)
        for turn in range(20):
            ends, other, high, high_ends, low = found = batch(story, turn)
            if ends == other:
                break
        tells("RS-20", ends == other, "two ends are heard of in one turn", found)
        tells("RS-20", high == ends and low >= high_ends,
              "their common dependents are handed out after both, and none before",
              (found, story.changes()[-12:]))


when_there_is_news()
reports_come_first()
in_quick_succession()
Tap.end()
