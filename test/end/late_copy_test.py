#!/usr/bin/env python3
"""late_copy_test - a result or a copy of an input that appears while a task waits counts.

Under pull the order does not matter: the task may be submitted before or after the report.
"""
import re
import signal

from cluster import PATIENCE
from end import Tap
from story import HOUR, Story, tells

FILLERS, EARLY = 100, 45


def keyed(story):
    """A task whose result is kept under its content key, and which says when it runs."""
    return {"J": {"run": f"echo ran >> {story.path('runs')}; seq 3 > x", "out": ["x"],
                  "cache": True}}


def no_worker_has(story, job):
    return story.rota("data", "locate", "--content", f"{job}.1").returncode == 1


def copy_for_any_worker():
    """The server picks one of two queues at random, so the holder gets J after a few requests, and
    not after the earlier ones. A correct server fails here once in 2^40 times."""
    with Story("--ahead", "0", "--pull-cache", "0", "--pull-inputs", "0") as story:
        story.join(name="w3")
        first = story.begin(keyed(story), policy="pull")
        story.rota("wait", str(first))
        story.workers["w3"].kill(signal.SIGTERM)
        story.join(name="w0")
        story.begin({"hog": {"run": story.waits_for("go"), "machine": "w0"}}, policy="pull")
        story.until(lambda: story.running("hog") and no_worker_has(story, first), "w3 is gone")
        story.begin({f"f{i}": {"run": "true"} for i in range(FILLERS)}, policy="pull")
        job = story.begin(keyed(story), policy="pull")
        why = story.rota("why", f"{job}.1").stdout
        tells("BS-7", "w0 is short of" in why, "any worker may take it, and none has room", why)
        story.join(name="w3")
        done = story.rota("wait", str(job))
        before = sum(name.startswith("f") for name, _, _ in story.history())
        tells("BS-7", done.returncode == 0 and before < EARLY,
              "one that brings its result gets it before what was there earlier", before)
        story.touch("go")
        story.until(story.idle, "all is done")
        tells("BS-7", story.where("J") == ["w3", "w3"] and story.lines("runs") == ["ran"],
              "from its cache, and no other worker does it", (story.where("J"), story.history()))


def copy_for_one_worker():
    with Story("--ahead", "0", *HOUR) as story:
        story.join(name="w3")
        story.done(keyed(story))
        story.workers["w3"].kill(signal.SIGTERM)
        story.join(name="w0")
        story.until(lambda: no_worker_has(story, 1), "w3 is gone")
        job = story.begin(keyed(story), policy="pull")
        stays = story.stays("J", "w0")
        story.join(name="w3")
        done = story.rota("wait", str(job))
        tells("BS-7", stays and done.returncode == 0 and story.where("J") == ["w3", "w3"]
              and story.lines("runs") == ["ran"],
              "while no worker may take it, it goes to the one that brings its result",
              (stays, story.history()))


def until(story, task):
    """Up to when a task waits for a worker with an input, as rota why says."""
    found = re.search(r"waits for a worker that has an input .* until (\S+)",
                      story.rota("why", task).stdout)
    return found and found[1]


def inputs(story):
    """J reads a file that no worker has, and would have room on w0. T reads it too, and besides
    what w1 has made, so that w1 is given T and brings the file. Until then w1 has no room for J."""
    with open(story.path("source"), "w", encoding="utf-8") as file:
        file.write("text\n")
    for name in ("w0", "w1"):
        story.join(2, name=name)
    gates = {name: {"run": story.waits_for(name), "machine": machine, "needs": ["make"]}
             for name, machine in (("go-J", "w0"), ("go-T", "w1"), ("hold", "w1"))}
    job = story.begin({"make": {"run": "echo x > o", "out": ["o"], "machine": "w1"}, **gates,
                       "J": {"run": f"cat source >> {story.path('got')}", "in": ["source"],
                             "cpus": 2, "needs": ["go-J"]},
                       "T": {"run": "cat source o", "in": ["source", "o"], "needs": ["go-T"]}},
                      policy="pull")
    story.until(lambda: story.running(*gates), "all wait")
    return job


def an_input_comes(how, what):
    with Story("--ahead", "0", "--pull-cache", "0", "--pull-inputs", "0") as story:
        job = inputs(story)
        story.server.kill()
        story.options += HOUR
        story.serve()
        story.touch("go-J")
        stays = story.stays("J", "w0")
        before = until(story, f"{job}.5")
        tells("BS-8", stays and before, "an input that no worker has is waited for", before)
        story.touch("go-T")
        story.until(lambda: story.status("T") == "SUCCESS", "w1 has it")
        stays = story.stays("J", "w0")
        after = until(story, f"{job}.5")
        tells("BS-8", stays and before == after, "news of it do not move the end of the wait",
              (before, after))
        how(story)
        story.until(lambda: story.status("J") == "SUCCESS", "J is done")
        tells("BS-8", story.where("J") == ["w1"] and story.read("got") == "text\n", what,
              story.history())
        story.rota("cancel", str(job))


def gets_room(story):
    story.touch("hold")


def comes_back(story):
    """When what it ran has ended; what is in its cache stays there."""
    story.workers["w1"].process.send_signal(signal.SIGTERM)
    story.touch("hold")
    story.workers["w1"].process.wait(PATIENCE)
    story.join(2, name="w1")


def the_wait_ends():
    with Story("--pull-cache", "0", "--pull-inputs", "2") as story:
        with open(story.path("source"), "w", encoding="utf-8") as file:
            file.write("text\n")
        story.join()
        begun = story.sql("SELECT max(at) FROM sched_event")[0][0]
        fine = story.done({"J": {"run": "cat source", "in": ["source"]}}, policy="pull")
        began = story.sql("SELECT began FROM sched_attempt")[0][0]
        tells("BS-8", fine and began - begun >= 2000000,
              "and when no worker brings it, the wait ends, not too early", began - begun)


copy_for_any_worker()
copy_for_one_worker()
an_input_comes(gets_room, "the worker that has got it is given the task when it has room")
an_input_comes(comes_back, "and one that leaves and comes back with it at once")
the_wait_ends()
Tap.end()
