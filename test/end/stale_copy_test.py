#!/usr/bin/env python3
"""stale_copy_test - a copy is not dropped because of another copy that was lost unnoticed."""
import os

from end import Tap
from story import Story

say = Tap.say


def contents_remove(story, worker):
    """Deletes the objects of a worker, which does not notice."""
    for folder, _, files in os.walk(story.path(f"{worker}/cache/content")):
        for file in files:
            os.remove(os.path.join(folder, file))


def places(story, name):
    done = story.rota("data", "locate", name)
    return set(done.stdout.split()[-1].split(",")) if done.returncode == 0 else set()


def two_copies(story):
    """x of job 1 is kept, was made by w0 and is read by w1, until a file `go` is there."""
    story.join(2)
    story.join(2)
    story.begin({
        "make": {"run": f"echo ran >> {story.path('runs')}; seq 1000 > x", "out": ["x"],
                 "keep": True, "machine": "w0"},
        "read": {"run": f"wc -l < x; touch {story.path('reads')}; " + story.waits_for("go"),
                 "in": ["x"], "machine": "w1"}})
    story.until(lambda: places(story, "1/x") == {"w0", "w1"}, "both have it")
    story.until(lambda: os.path.exists(story.path("reads")), "the reader runs")


def wiped(story):
    """w0 is killed, and comes back with an empty cache."""
    story.workers["w0"].kill()
    story.remove("w0/cache")
    os.rename(story.path("w0.log"), story.path("w0.log.old"))
    story.join(2, name="w0")


def reads(story):
    done = story.rota("data", "get", "1/x", story.path("x"))
    return done.returncode == 0 and len(story.lines("x")) == 1000


with Story() as story:
    two_copies(story)
    story.touch("go")
    story.rota("wait", "1")
    story.until(lambda: places(story, "1/x") == {"w0"}, "a copy too many is dropped")
    story.until(lambda: not os.listdir(story.path("w1/cache/object")), "there too")
    say(reads(story), "R-34: of two copies the one stays that was made, and was looked at")

with Story() as story:
    two_copies(story)
    contents_remove(story, "w0")
    story.touch("go")
    story.rota("wait", "1")
    story.until(lambda: places(story, "1/x") == {"w1"}, "the phantom is known to be one")
    say(reads(story) and story.lines("runs") == ["ran"],
        "a copy whose file is gone is not the one that stays", story.told())

with Story() as story:
    two_copies(story)
    wiped(story)
    story.until(lambda: places(story, "1/x") == {"w1"}, "it has nothing any more")
    story.touch("go")
    story.rota("wait", "1")
    say(reads(story) and places(story, "1/x") == {"w1"} and story.lines("runs") == ["ran"],
        "a worker that comes back within its lease has what it says it has", story.told())

with Story() as story:
    two_copies(story)
    story.server.kill()
    contents_remove(story, "w0")
    story.serve()
    story.until(lambda: places(story, "1/x") == {"w1"}, "it looks before it tells")
    story.touch("go")
    story.rota("wait", "1")
    say(reads(story) and story.lines("runs") == ["ran"],
        "so does one that meets a new server", story.told())

with Story() as story:  # what is kept, and lost
    story.join(2)
    story.touch("can")
    job = {"first": {"run": f"test -e {story.path('can')} && seq 1000 > f", "out": ["f"]},
           "make": {"run": f"echo ran >> {story.path('runs')}; cp f x", "in": ["f"],
                    "out": ["x"], "keep": True}}
    say(story.done(job) and story.lines("runs") == ["ran"], "a job has finished")
    contents_remove(story, "w0")
    say(reads(story) and story.lines("runs") == ["ran"] * 2 and places(story, "1/x") == {"w0"},
        "a kept object that is nowhere is made again for rota get", story.told())
    wiped(story)
    say(reads(story) and story.lines("runs") == ["ran"] * 3
        and story.rota("wait", "1").returncode == 0,
        "also when its worker knows that it is gone, and the job has succeeded all the same",
        story.told())
    wiped(story)
    os.remove(story.path("can"))
    done = story.rota("data", "get", "1/x", story.path("never"))
    why = story.rota("why", "1.1").stdout
    say(done.returncode == 1 and "will not be made" in done.stderr
        and not os.path.exists(story.path("never")) and "exit" in why,
        "and if it cannot be made, rota get says so", (done, why))

Tap.end()
