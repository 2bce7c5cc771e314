#!/usr/bin/env python3
"""copies_test - copies of objects about which the server and a worker disagree."""
import os

from cut_cluster import CutCluster
from end import Tap
from proxy import Proxy, Way
from story import Story, tells


def held(story, worker):
    folder = story.path(f"{worker}/cache/object")
    return len(os.listdir(folder)) if os.path.exists(folder) else 0


def a_drop_is_lost():
    """The worker is cut off, without knowing it, when it is told to drop a copy."""
    with CutCluster(lease=60) as story:
        story.join()
        job = story.begin({"make": {"run": "seq 100 > o", "out": ["o"], "machine": "w0"},
                           "use": {"run": f"cat o; {story.waits_for('go')}", "in": ["o"],
                                   "machine": "w1"},
                           "other": {"run": story.waits_for("end"), "machine": "w1",
                                     "needs": ["use"]}})
        story.until(lambda: story.running("use"), "it is read")
        for ways in story.way.ways.values():
            ways["down"].stall = 0  # nothing more reaches w0
        story.touch("go")
        story.until(lambda: story.running("other") and held(story, "w1") == 0, "it is dropped")
        tells("DROP", held(story, "w0") == 1, "a drop that goes with its connection does nothing")
        story.mend()
        story.until(lambda: held(story, "w0") == 0, "it is dropped there, too")
        tells("DROP", True, "the order is repeated when the worker is back")
        story.touch("end")
        done = story.rota("wait", str(job))
        tells("DROP", done.returncode == 0, "and no task has missed it", done)


def of_a_job_that_is_gone():
    """While a worker is away the job is closed; a new server does not even know of it."""
    with CutCluster(lease=60) as story:
        job = story.begin({"make": {"run": "seq 100 > o", "out": ["o"], "keep": True}})
        story.until(lambda: story.status("make") == "SUCCESS", "it is made")
        for ways in story.way.ways.values():
            ways["down"].stall = 0
        story.rota("close", str(job))
        story.server.kill()
        story.serve()
        story.mend()
        story.until(lambda: held(story, "w0") == 0, "unknown objects are dropped")
        tells("DROP", not story.sql("SELECT * FROM sched_replica"),
              "copies for jobs that are gone are dropped when their worker comes back",
              story.sql("SELECT * FROM sched_replica"))


def cut_off(story):
    """Two workers; no peer can fetch anything from the first."""
    for _ in range(2):
        story.join()
    place = story.path("w0/data/sock")
    story.until(lambda: os.path.exists(place), "it listens")
    os.rename(place, place + ".real")
    way = Proxy(place, place + ".real")
    way.rule = lambda number: {"up": Way(cut=0)}
    return way


def a_fetch_fails():
    """The way between two workers is cut for a while: the copy is there all the same."""
    with Story() as story:
        with cut_off(story) as way:
            job = story.begin({"make": {"run": f"echo made >> {story.path('runs')}; seq 100 > o",
                                        "out": ["o"], "machine": "w0"},
                               "use": {"run": f"wc -l < o > {story.path('got')}", "in": ["o"],
                                       "machine": "w1"}})
            story.until(lambda: any(name == "use" for name, _, _ in story.history()),
                        "it could not be fetched")
            way.rule = lambda number: {}
            done = story.rota("wait", str(job))
        tells("MISSED", done.returncode == 0 and story.lines("got") == ["100"],
              "a failed fetch is tried again", (done, story.history()))
        tells("MISSED", story.lines("runs") == ["made"],
              "and not made again: its worker was asked, and has it", story.lines("runs"))


def a_way_stays_cut():
    with Story() as story:
        with cut_off(story):
            story.begin({"make": {"run": f"echo made >> {story.path('runs')}; seq 100 > o",
                                  "out": ["o"], "machine": "w0"},
                         "use": {"run": "cat o", "in": ["o"], "machine": "w1"}})
            story.until(lambda: len(story.lines("runs")) == 2, "it is made again")
        losses = [row for row in story.history() if row == ("use", "w1", "LOST")]
        tells("MISSED", len(losses) == 3,
              "an object that cannot be fetched three times is made again",
              story.history())


for test in (a_drop_is_lost, of_a_job_that_is_gone, a_fetch_fails, a_way_stays_cut):
    test()
Tap.end()
