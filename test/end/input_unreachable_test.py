#!/usr/bin/env python3
"""input_unreachable_test - a task waits for a disconnected worker that holds its input.

The reader cannot fetch its input while the only worker that holds it has no connection. Its
attempts do not count until that worker is back, or its lease expires and the input is produced
again.
"""
from cut_cluster import CutCluster
from end import Tap
from story import tells

LOSSES = 5  # ATTEMPT_LOSSES_MAX
ENDED = ("SUCCESS", "FAILED", "ABORTED")


def losses(story):
    return len([row for row in story.history() if row == ("use", "w1", "LOST")])


def made_and_cut(story, **pins):
    """The number of a job whose second task needs a file on w0, which is cut off; w1 has joined."""
    job = story.begin({"make": {"run": f"echo made >> {story.path('runs')}; seq 100 > o",
                                "out": ["o"], **pins.get("make", {})},
                       "gate": {"run": "true", "machine": "w1"},
                       "use": {"run": f"wc -l < o > {story.path('got')}", "in": ["o"],
                               "machine": "w1", "needs": ["gate"]}})
    story.until(lambda: story.status("make") == "SUCCESS", "it is made")
    story.cut()
    return job


def fails_often(story):
    story.until(lambda: losses(story) > LOSSES + 1 or story.status("use") in ENDED,
                "it could not be fetched, more often than a task may be lost")


def the_holder_comes_back():
    with CutCluster(lease=120) as story:
        job = made_and_cut(story, make={"machine": "w0"})
        story.join()
        fails_often(story)
        story.mend()
        done = story.rota("wait", str(job))
        tells("AWAY", done.returncode == 0 and story.lines("got") == ["100"],
              "attempts without an input whose only holder is cut off do not count",
              (done, story.history()))
        tells("AWAY", story.lines("runs") == ["made"], "and the input is not made again",
              story.lines("runs"))


def the_server_starts_again():
    """The holder comes back later than the reader."""
    with CutCluster(lease=120) as story:
        job = made_and_cut(story, make={"machine": "w0"})
        story.join()
        story.until(lambda: losses(story), "it could not be fetched")
        story.server.kill()
        story.serve()
        fails_often(story)
        story.mend()
        done = story.rota("wait", str(job))
        tells("AWAY", done.returncode == 0 and story.lines("runs") == ["made"],
              "nor do they when the server is started again meanwhile", (done, story.history()))


def the_holder_stays_away():
    with CutCluster(lease=16) as story:
        job = made_and_cut(story)
        story.join()
        done = story.rota("wait", str(job))
        tells("AWAY", done.returncode == 0 and story.lines("got") == ["100"],
              "a holder that stays away is lost with its lease, and the input is made again",
              (done, story.history()))
        tells("AWAY", story.lines("runs") == ["made"] * 2, "once", story.lines("runs"))


for test in (the_holder_comes_back, the_server_starts_again, the_holder_stays_away):
    test()
Tap.end()
