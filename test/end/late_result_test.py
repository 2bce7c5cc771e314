#!/usr/bin/env python3
"""late_result_test - results that no task waits for any more, or never did.

A worker is cut off while it runs a task with a content key, and is lost. When it comes back with
its result, that result counts like any other.
"""
import os

from cut_cluster import CutCluster
from cluster import processes_with
from end import Tap
from story import Story, tells


class Late(CutCluster):
    """Worker w0 makes something while it is away."""

    def given_up(self, **more):
        """A job whose task runs on w0 and is lost with it; what it makes is there all the same."""
        run = (f"echo said; echo ran-$ROTA_ATTEMPT >> {self.path('runs')};"
               f" {self.waits_for('go-$ROTA_ATTEMPT')}; seq 100 > x; touch {self.path('made')}")
        job = self.begin({"J": {"run": run, "out": ["x"], "keep": True, **more}})
        self.until(lambda: self.running("J"), "it runs")
        self.cut()
        self.touch("go-1")
        self.until(lambda: os.path.exists(self.path("made")), "it is made")
        self.until(lambda: ("J", "w0", "LOST") in self.history(), "it is given up")
        return job

    def places(self, job):
        """The workers that have a result for the content key of its task."""
        found = self.rota("data", "locate", "--content", f"{job}.1").stdout.split()[1:]
        return sorted(found[0].split(",")) if found else found

    def has_result(self, job):
        got = self.rota("data", "get", f"{job}/x", self.path("got"))
        return got.returncode == 0 and len(self.lines("got")) == 100


with Late(lease=2) as story:
    job = story.given_up(cache=True)
    none = story.rota("data", "locate", "--content", f"{job}.1")
    tells("LocateArtifact", none.returncode == 1 and none.stdout.split()[1:] == ["-"],
          "a result that no worker has reported is nowhere", none)
    story.mend()
    done = story.rota("wait", str(job))
    tells("BS-12", done.returncode == 0 and story.lines("runs") == ["ran-1"],
          "a result that comes while its task is queued ends it", (done, story.told()))
    tells("BS-12", story.has_result(job), "with what it made", story.told())
    story.join()
    story.until(story.idle, "nothing is left to do")
    tells("BS-12", story.lines("runs") == ["ran-1"] and not story.where("J"),
          "and no worker picks it any more", story.history())
    found = story.rota("data", "locate", "--json", "--content", f"{job}.1")
    tells("LocateArtifact", found.returncode == 0 and '"where":"w0"' in found.stdout,
          "the result is known by its content key", found)

with Late(lease=2) as story:
    job = story.given_up(cache=True)
    story.join()
    story.until(lambda: story.running("J"), "another one makes it again")
    mark = story.path("go-")
    tells("BS-12", processes_with(mark), "its command runs")
    story.mend()
    done = story.rota("wait", str(job))
    tells("BS-12", done.returncode == 0 and story.has_result(job),
          "a result that comes while another one makes it ends it, too", (done, story.told()))
    story.until(lambda: not processes_with(mark), "the other one is stopped")
    tells("BS-12", True, "and the other one is stopped")
    log = story.rota("logs", f"{job}.1")
    tells("BS-12", log.stdout == "said\n", "its log is that of the task that made it", log)

with Late(lease=2) as story:
    job = story.given_up(cache=True)
    story.join()
    story.touch("go-2")
    done = story.rota("wait", str(job))
    before = story.places(job)
    story.mend()
    story.until(lambda: story.workers["w0"].said().count("connected to") == 2, "w0 is back")
    story.until(lambda: story.places(job) == ["w0", "w1"], "w0 has told of its own")
    tells("BS-13", done.returncode == 0 and before == ["w1"],
          "a second result adds a place", (done, before))
    tells("BS-13", story.where("J") == ["w1"] and story.status("J") == "SUCCESS"
          and story.has_result(job), "and changes nothing else", story.history())
    story.workers["w1"].kill()
    story.until(lambda: story.places(job) == ["w0"], "w1 is given up")
    tells("BS-13, BS-14", True, "of two places one is left when the other is lost")

with Late(lease=2) as story:
    job = story.given_up(retries=1)
    story.touch("go-2")
    story.mend()
    done = story.rota("wait", str(job))
    tells("BS-12", done.returncode == 0 and story.lines("runs") == ["ran-1", "ran-2"],
          "without a content key an attempt that was given up counts for nothing",
          (done, story.lines("runs")))

with Story() as story:
    story.join()
    story.done({"plain": {"run": "seq 3 > x", "out": ["x"], "keep": True}})
    wrong = [story.rota("data", "locate", "--content", word).returncode
             for word in ("word", "7.1", "12-zz", "1-2")]
    plain = story.rota("data", "locate", "--content", "1.1")
    tells("LocateArtifact", wrong == [2, 1, 2, 1], "an invalid content key is reported", wrong)
    tells("LocateArtifact", plain.returncode == 1 and "no content key" in plain.stdout,
          "nor has every task one", plain)

Tap.end()
