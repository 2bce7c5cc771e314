#!/usr/bin/env python3
"""object_states_test - the states of tasks and objects as clients see them; keep, read and release.

doc/testing.md lists its plays.
"""
import json
import os
import subprocess

from cluster import PATIENCE, ROTA_PATH, processes_with
from end import Tap
from story import Story, tells


def found(story, job, name):
    """(state, workers) of an object, as rota data tells."""
    rows = story.rota("data", "ls", "--json", "--job", str(job)).stdout.splitlines()
    for row in map(json.loads, rows):
        if row["name"] == name:
            return row["state"], sorted(row["where"].split(","))
    return None


def held(story, worker):
    folder = story.path(f"{worker}/cache/object")
    return len(os.listdir(folder)) if os.path.exists(folder) else 0


def steps_of_a_task():
    with Story("--ahead", "0") as story:
        story.join()
        story.begin({"t1": {"run": f"{story.waits_for('go1')}; echo x > o", "out": ["o"],
                            "priority": 9},
                     "t2": {"run": f"cat o; {story.waits_for('go2')}", "in": ["o"]},
                     "full": {"run": story.waits_for("go3"), "needs": ["t1"], "priority": 5}})
        story.until(lambda: story.running("t1"), "the first runs")
        tells("RS-9", story.status("t2") == "WAITING", "not before what it reads is made",
              story.status("t2"))
        story.touch("go1")
        story.until(lambda: story.running("full"), "the only cpu is taken")
        ready = story.sql("SELECT name FROM sched_ready JOIN sched_job USING (id)")
        tells("RS-9", ready == [("t2",)], "then it is ready, and waits for room", ready)
        story.touch("go3")
        story.until(lambda: story.running("t2"), "there is room")
        tells("RS-9", story.sql("SELECT count(*) FROM sched_ready") == [(0,)],
              "a running task is in no other table")
        story.touch("go2")
        story.until(story.idle, "all is done")
        tells("RS-9", story.status("t2") == "SUCCESS"
              and story.sql("SELECT count(*) FROM sched_exec") == [(0,)],
              "and what is done in none", story.history())


def steps_of_an_object():
    with Story() as story:
        for _ in range(2):
            story.join(2)
        job = story.begin({"make": {"run": f"{story.waits_for('go1')}; seq 100 > o",
                                    "out": [{"name": "o", "keep": True}], "machine": "w0"},
                           "use": {"run": f"cat o; {story.waits_for('go2')}", "in": ["o"],
                                   "machine": "w1"}})
        story.until(lambda: story.running("make"), "it is being made")
        tells("RS-10", found(story, job, "o") == ("not made", ["-"]), "first it is nowhere",
              found(story, job, "o"))
        story.touch("go1")
        story.until(lambda: found(story, job, "o") == ("there", ["w0", "w1"]), "a copy is made")
        tells("RS-10", True, "then where it was made, and where it is read")
        story.touch("go2")
        story.until(lambda: found(story, job, "o") == ("there", ["w0"]), "the copy goes")
        story.until(lambda: held(story, "w1") == 0, "also from its disk")
        tells("RS-10", held(story, "w0") == 1, "one copy stays when no task reads it any more")
        gone = story.rota("data", "unkeep", f"{job}/o")
        story.until(lambda: held(story, "w0") == 0, "the last copy goes")
        tells("RS-10, RS-11", gone.returncode == 0 and found(story, job, "o") == ("removed", ["-"]),
              "an object that is not kept is removed everywhere", found(story, job, "o"))


def unkeep():
    with Story() as story:
        story.join(2)
        job = story.begin({"make": {"run": "seq 100 > o", "out": [{"name": "o", "keep": True}]},
                           "use": {"run": f"{story.waits_for('go')}; cat o", "in": ["o"]}})
        story.until(lambda: story.running("use"), "it is read")
        done = story.rota("data", "unkeep", f"{job}/o")
        tells("RS-11", done.returncode == 0 and found(story, job, "o") == ("there", ["w0"]),
              "it stays while a task needs it", found(story, job, "o"))
        story.touch("go")
        story.until(lambda: found(story, job, "o") == ("removed", ["-"]), "it goes")
        tells("RS-11", story.status("use") == "SUCCESS", "and goes with its last reader")
        late = story.begin({"make": {"run": f"{story.waits_for('made')}; seq 100 > o",
                                     "out": [{"name": "o", "keep": True}]},
                            "open": {"run": story.waits_for("end")}})
        story.until(lambda: story.running("make"), "it is being made")
        done = story.rota("data", "unkeep", f"{late}/o")
        story.touch("made")
        story.until(lambda: found(story, late, "o") == ("removed", ["-"]), "it is removed")
        tells("RS-11", done.returncode == 0 and story.status("make") == "SUCCESS",
              "an object that is not made yet is removed as soon as it is made")
        story.touch("end")
        twice = story.rota("data", "unkeep", f"{late}/o")
        tells("RS-12", twice.returncode == 1 and "not kept" in twice.stderr,
              "an object that is not kept cannot be released", twice)


def wrong_wishes():
    with Story() as story:
        story.join(2)
        job = story.begin({"make": {"run": f"{story.waits_for('go')}; seq 100 > o; seq 3 > q",
                                    "out": [{"name": "o", "keep": True}, "q"]},
                           "use": {"run": story.waits_for("end"), "in": ["q"]}})
        never = story.rota("data", "unkeep", f"{job}/q")
        late = story.rota("data", "keep", f"{job}/q")
        tells("RS-12", never.returncode == 1 and late.returncode == 1,
              "after the submit it is too late to keep, and nothing to give up", (never, late))
        # A client that asks for it before it is made waits.
        words = [ROTA_PATH, "data", "get", "--server", story.socket, f"{job}/o", story.path("got")]
        with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as early:
            refused = story.rota("data", "get", f"{job}/q", story.path("other"))
            tells("RS-13", refused.returncode == 1,
                  "an object that is not kept cannot be fetched", refused)
            tells("RS-13", early.poll() is None and not os.path.exists(story.path("got")),
                  "a client waits for an object that is not made yet")
            story.touch("go")
            early.communicate(timeout=PATIENCE)
        tells("RS-13", early.returncode == 0 and len(story.lines("got")) == 100,
              "and has it then", early.returncode)
        story.rota("data", "unkeep", f"{job}/o")
        story.until(lambda: found(story, job, "o") == ("removed", ["-"]), "it is removed")
        gone = story.rota("data", "get", f"{job}/o", story.path("more"))
        none = story.rota("data", "get", f"{job}/nothing", story.path("more"))
        tells("RS-13", gone.returncode == 1 and none.returncode == 1,
              "a removed or unknown object cannot be fetched", (gone, none))
        story.touch("end")


def a_job_is_let_go():
    with Story() as story:
        story.join(3)
        mark = story.path("never")
        job = story.begin({"make": {"run": "seq 100 > o", "out": [{"name": "o", "keep": True}]},
                           "long": {"run": story.waits_for("never"), "needs": ["make"],
                                    "lane": "l", "group": "g"},
                           "next": {"run": "true", "needs": ["make"], "lane": "l",
                                    "group": "g"}}, lanes={"l": {}})
        story.until(lambda: story.running("long"), "it runs")
        closed = story.rota("close", str(job))
        story.until(lambda: not processes_with(mark), "its command ends")
        story.until(lambda: story.idle() and held(story, "w0") == 0, "nothing of it is left")
        tells("RS-23", closed.returncode == 0 and not os.listdir(story.path("w0/work"))
              and "long" not in story.rota("lanes").stdout,
              "a job that its client releases leaves no object on any worker", closed)
        fine = story.done({"after": {"run": "true", "lane": "l", "group": "g"}}, lanes={"l": {}})
        tells("RS-23", fine, "and its cpu and its place in the lane are free", story.told())


for test in (steps_of_a_task, steps_of_an_object, unkeep, wrong_wishes, a_job_is_let_go):
    test()
Tap.end()
