#!/usr/bin/env python3
"""shared_keys_test - `cache: true` in a cluster: jobs with equal tasks run them once."""
import os

from cluster import processes_with
from end import Tap
from story import Story, tells


def begun(story, name):
    story.until(lambda: os.path.exists(story.path(name)), f"{name} is there")


def make(story, gate="go", **more):
    """Says that it ran, and makes `x` when the gate is open."""
    run = (f"echo log of it; echo ran >> {story.path('runs')}; touch {story.path(gate + '-begun')};"
           f" {story.waits_for(gate)}; seq 1000 > x")
    return {"run": run, "out": ["x"], "cache": True, "keep": True, **more}


def got(story, name):
    """Whether the object is there, and what it should be."""
    done = story.rota("data", "get", name, story.path("got"))
    lines = story.lines("got")
    if done.returncode == 0:
        os.remove(story.path("got"))
    return done.returncode == 0 and len(lines) == 1000


def ends(story, job):
    done = story.rota("wait", str(job))
    return done.returncode


def two_jobs(story):
    """One runs, the other one waits for it."""
    first = story.begin({"make": make(story), "read": {"run": "wc -l < x", "in": ["x"]}})
    begun(story, "go-begun")
    second = story.begin({"make": make(story), "read": {"run": "wc -l < x", "in": ["x"],
                                                        "machine": "w1"}})
    story.until(lambda: "shared" in story.rota("why", f"{second}.1").stdout, "the second one waits")
    return first, second


with Story() as story:
    story.join(2)
    story.join(2)
    story.begin({"hog": {"run": f"touch {story.path('hogs')}; {story.waits_for('go')}",
                         "cpus": 2, "machine": "w0"}})
    begun(story, "hogs")
    first, second = two_jobs(story)
    why = story.rota("why", f"{second}.1").stdout
    story.until(lambda: story.rota("logs", f"{first}.1").stdout, "it has printed something")
    log = story.rota("logs", f"{second}.1")
    tells("logs", log.stdout == "log of it\n" and f"shares the result of {first}.1," in log.stderr,
          "while another task runs for it, its log is that one's", log)
    story.touch("go")
    tells("BS-11, B-18", ends(story, first) == 0 and ends(story, second) == 0
          and story.lines("runs") == ["ran"], "two jobs share one execution", why)
    tells("BS-11", got(story, f"{first}/x") and got(story, f"{second}/x"),
          "and both have what it made, where they expect it", story.told())
    log = story.rota("logs", f"{second}.1")
    tells("logs", log.stdout == "log of it\n" and f"shares the result of {first}.1," in log.stderr,
          "and afterwards; it says so", log)
    story.until(story.idle, "all workers are idle")
    third = story.begin({"make": make(story)})
    tells("BS-3, X-9", ends(story, third) == 0 and story.lines("runs") == ["ran"]
          and got(story, f"{third}/x") and story.where("make")[-1] == "w1",
          "one that comes later goes where the result is", (story.lines("runs"), story.history()))
    other = story.begin({"make": make(story, env={"WHAT": "else"})})
    tells("keys", ends(story, other) == 0 and story.lines("runs") == ["ran"] * 2,
          "another environment makes something else", story.lines("runs"))
    for text in ("one", "one", "two"):
        with open(story.path("source"), "w", encoding="utf-8") as file:
            file.write(text + "\n")
        story.done({"copy": {"run": f"cat source >> {story.path('copies')};"
                                    " cp source y", "in": ["source"], "out": ["y"],
                             "cache": True},
                    "again": {"run": f"echo more >> {story.path('copies')}; cp y z",
                              "in": ["y"], "out": ["z"], "cache": True}})
    tells("keys", story.lines("copies") == ["one", "more", "two", "more"],
          "inputs are compared by content, also outputs of other tasks",
          story.lines("copies"))

with Story() as story:
    story.join(2)
    story.join(2)
    first, second = two_jobs(story)
    story.rota("cancel", str(first))
    story.touch("go")
    tells("X-8", ends(story, second) == 0 and story.lines("runs") == ["ran"]
          and got(story, f"{second}/x"),
          "one job is cancelled: the execution continues, and the other job gets its output",
          (story.lines("runs"), story.told()))
    mark = story.path("never")
    first = story.begin({"make": make(story, "never")})
    begun(story, "never-begun")
    second = story.begin({"make": make(story, "never")})
    story.rota("cancel", str(first))
    story.rota("cancel", str(second))
    story.until(story.idle, "both have ended")
    story.until(lambda: not processes_with(mark), "nothing is left")
    tells("X-8", story.idle(), "both are cancelled: it is stopped")

with Story() as story:
    story.join(1)
    first = story.begin({"fail": {"run": f"echo ran >> {story.path('runs')}; touch"
                                         f" {story.path('f-begun')}; {story.waits_for('f')};"
                                         " exit 3", "cache": True}})
    begun(story, "f-begun")
    second = int(story.rota("submit", story.path("job.json")).stdout.split()[1])
    story.until(lambda: "shared" in story.rota("why", f"{second}.1").stdout, "it waits")
    story.touch("f")
    tells("shared failure", ends(story, first) == 1 and ends(story, second) == 1
          and story.lines("runs") == ["ran"], "a failure is shared, too", story.lines("runs"))
    story.rota("retry", f"{second}.1")
    story.until(lambda: story.lines("runs") == ["ran"] * 2, "it runs")
    tells("shared failure", ends(story, second) == 1, "a retry runs it again")

with Story() as story:
    story.join(2)
    story.join(2)
    first, second = two_jobs(story)
    story.server.kill()
    story.serve()
    story.touch("go")
    tells("restart", ends(story, first) == 0 and ends(story, second) == 0
          and story.lines("runs") == ["ran"] and got(story, f"{second}/x"),
          "a server that is killed meanwhile finds them as they were", story.told())

with Story() as story:  # the fifth story: three builds at once
    for _ in range(3):
        story.join(1)
    jobs = [story.begin({"a": make(story, keep=False),
                         "b": {"run": f"wc -l < x; touch {story.path(f'b{i}-begun')};"
                                      f" {story.waits_for('all')}", "in": ["x"]}})
            for i in range(3)]
    story.touch("go")
    for i in range(3):
        begun(story, f"b{i}-begun")
    held = [len(os.listdir(story.path(f"w{i}/cache/object"))) for i in range(3)]
    story.touch("all")
    tells("BS-22, story 5", all(ends(story, job) == 0 for job in jobs)
          and story.lines("runs") == ["ran"] and all(held),
          "three builds share a task, and in the end all three workers hold what it made",
          (story.lines("runs"), held))

Tap.end()
