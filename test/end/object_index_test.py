#!/usr/bin/env python3
"""object_index_test - one index of copies for both policies, which forgets lost copies.

doc/testing.md lists its plays.
"""
import os
import shutil
import signal

from cluster import processes_with
from end import Tap
from story import Story, tells

BIG, SMALL = 4 << 20, 10 << 10


def makes(name, size, **more):
    return {"run": f"head -c {size} /dev/zero > {name}", "out": [{"name": name, "keep": True}],
            **more}


def sizes_decide():
    with Story("--ahead", "0", "--no-plan") as story:
        for _ in range(3):
            story.join(2)
        tasks = {"big": makes("o1", BIG, machine="w0"),
                 **{f"copy{i}": {"run": f"cat o1 > /dev/null; {story.waits_for('never')}",
                                 "in": ["o1"], "machine": f"w{i}"} for i in (1, 2)},
                 "small": makes("o3", SMALL, machine="w2"),
                 "gate": {"run": story.waits_for("go"), "machine": "w0", "needs": ["small"]},
                 "t0": {"run": "true", "in": ["o1", "o3"], "needs": ["gate"]}}
        job = story.begin(tasks)
        story.until(lambda: story.running("copy1", "copy2", "gate"), "it lies everywhere")
        story.touch("go")
        story.until(lambda: story.status("t0") == "SUCCESS", "it is done")
        tells("RS-4", story.where("t0") == ["w2"],
              "an object on all workers decides nothing, a small one on one worker does",
              story.history())
        story.rota("cancel", str(job))
    with Story("--ahead", "0", "--no-plan") as story:
        for _ in range(3):
            story.join(2)
        fine = story.done({"big": makes("o2", BIG, machine="w2"),
                           "t0": makes("r", SMALL, machine="w1"),
                           "t1": {"run": "true", "in": ["r", "o2"]}})
        tells("RS-5", fine and story.where("t1") == ["w2"],
              "a small result does not draw a task away from its big input", story.history())


def further_plans():
    with Story("--ahead", "2") as story:
        story.join()
        job = story.begin({"a": {"run": story.waits_for("go")}})
        story.until(lambda: story.running("a"), "it runs")
        story.join()
        fine = story.done({f"b{i}": {"run": "true"} for i in range(5)})
        story.join()
        fine &= story.done({f"c{i}": {"run": "true"} for i in range(5)})
        story.touch("go")
        fine &= story.rota("wait", str(job)).returncode == 0
        rows = story.sql("SELECT h.attempt, h.worker FROM sched_history h JOIN sched_job USING (id)"
                         " WHERE name = 'a'")
        tells("RS-21", fine and rows == [(1, 1)], "further plans leave what runs where it is", rows)


def forgets(policy, scenario):
    """Two workers have it; one loses it while it is away."""
    with Story("--ahead", "0", "--no-plan") as story:
        for _ in range(3):
            story.join()
        job = story.begin({"make": makes("x", BIG, machine="w0"),
                           "copy": {"run": "cat x > /dev/null", "in": ["x"], "machine": "w1"},
                           "hold": {"run": story.waits_for("held"), "machine": "w2",
                                    "needs": ["copy"]},
                           "use": {"run": "cat x > /dev/null", "in": ["x"], "needs": ["hold"]}},
                          policy=policy)
        story.until(lambda: story.running("hold"), "both have it")
        there = story.rota("data", "locate", f"{job}/x").stdout
        story.workers["w0"].kill(signal.SIGTERM)
        shutil.rmtree(story.path("w0/cache"))
        story.join(name="w0")
        story.until(lambda: story.rota("data", "locate", f"{job}/x").stdout.split()[-1:] == ["w1"],
                    "it is known to be gone")
        story.touch("held")
        done = story.rota("wait", str(job))
        tells(scenario, "w0" in there and "w1" in there and done.returncode == 0
              and story.where("use") == ["w1"],
              f"under {policy} a worker that has lost it draws nothing any more",
              (there, story.history()))


def a_worker_leaves():
    with Story() as story:
        story.join()
        left = story.workers["w0"].kill(signal.SIGTERM)
        job = story.begin({"J": {"run": "true"}}, policy="pull")
        story.join()
        done = story.rota("wait", str(job))
        tells("BS-2, BS-20", left == 0 and done.returncode == 0 and story.where("J") == ["w1"],
              "a worker that asked and left gets nothing; a new one is asked at once",
              (left, story.history()))


def the_end():
    with Story() as story:
        for _ in range(4):
            story.join()
        job = story.begin({f"t{i}": {"run": "true", "machine": "nowhere"} for i in range(1000)},
                          policy="pull")
        code = story.server.kill(signal.SIGTERM)
        tells("BS-17", code == 0, "a server with a thousand jobs and idle workers ends when told",
              story.told())
        story.serve()
        waiting = story.sql("SELECT count(*) FROM sched_stage")
        closed = story.rota("close", str(job))
        story.until(story.idle, "they are gone")
        tells("BS-17", waiting == [(1000,)] and closed.returncode == 0
              and story.rota("wait", str(job)).returncode != 0,
              "and a closed task is offered to no worker", (waiting, closed))


def a_writer_is_cancelled():
    with Story() as story:
        story.join(2)
        order = story.path("order")
        writes = (f"trap 'sleep 0.5; echo w1 >> {order}; exit 1' TERM; touch {story.path('on')};"
                  f" {story.waits_for('never')}")
        lane = {"lane": "line", "group": "g1"}
        story.begin({"w1": {"run": writes, "access": "write", **lane},
                     "r1": {"run": f"echo r1 >> {order}", "access": "read", **lane}},
                    lanes={"line": {}})
        story.until(lambda: os.path.exists(story.path("on")), "it writes")
        story.until(lambda: story.running("w1"), "it is known to")
        story.rota("cancel", "1.1")
        story.until(story.idle, "both have finished")
        tells("X-6", story.lines("order") == ["w1", "r1"] and story.status("w1") == "ABORTED",
              "a cancelled writer keeps its lane until it has ended", story.lines("order"))


def it_cannot_be_made_again():
    with Story("--ahead", "0", lease=2) as story:
        story.join(2)
        once = story.path("once")
        job = story.begin({"p": {"run": f"[ ! -e {once} ] && touch {once} && echo x > o",
                                 "out": ["o"]},
                           "gate": {"run": story.waits_for("go"), "needs": ["p"]},
                           "c": {"run": "cat o", "in": ["o"], "needs": ["gate"]}})
        story.until(lambda: story.running("gate"), "it was made")
        before = story.status("p")
        story.workers["w0"].kill()
        story.join(2)
        story.touch("go")
        done = story.rota("wait", str(job))
        story.until(lambda: not processes_with(story.path("go")), "nothing is left of the first")
        why = story.rota("why", f"{job}.3").stdout
        tells("X-12", before == "SUCCESS" and done.returncode == 1 and story.status("p") == "FAILED"
              and "p" in why.split(), "a lost result that cannot be made again has failed",
              (before, done, why))
        tells("X-12", story.status("c") not in ("SUCCESS", "RUNNING"), "its dependent is blocked",
              (story.status("c"), why))


sizes_decide()
further_plans()
forgets("plan", "X-10")
forgets("pull", "X-10, BS-9, BS-19")
for test in (a_worker_leaves, the_end, a_writer_is_cancelled, it_cannot_be_made_again):
    test()
Tap.end()
