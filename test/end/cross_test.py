#!/usr/bin/env python3
"""cross_test - scenarios that combine features, with real processes: lanes, losses, restarts.

doc/testing.md lists its plays.
"""
from end import Tap
from story import Story, tells

LANE = {"line": {}}


def inside(run, group, access="write", **more):
    return {"run": run, "lane": "line", "group": group, "access": access, **more}


def asks_when_ready():
    with Story() as cluster:
        cluster.join(4)
        note = "echo {1} >> " + cluster.path("order")
        fine = cluster.done({"a": inside(note.format(0, "a") + "; sleep 0.3", "g1"),
                             "b": inside(note.format(0, "b"), "g2", "read", needs=["a"]),
                             "c": inside(note.format(0, "c") + "; sleep 0.6", "g3")}, lanes=LANE)
        # Two writers may begin at the same time; either may write its line first.
        tells("X-1", fine and sorted(cluster.lines("order")[:2]) == ["a", "c"],
              "a task that is not ready blocks no other in its lane", cluster.lines("order"))
        wrong = cluster.submit({"x": inside("true", "g1", needs=["y"]), "y": inside("true", "g2")},
                               lanes={"line": {"order": "submit"}})
        tells("X-2", wrong.returncode == 2, "in a lane by submission no task precedes its"
              " dependency", wrong)


def a_writer_is_lost():
    with Story(lease=4) as cluster:
        cluster.join()
        order = cluster.path("order")
        job = cluster.begin({
            "w1": inside(f"echo w1 >> {order}; [ $ROTA_ATTEMPT -gt 1 ] || exec sleep 1000", "g1"),
            "r1": inside(f"echo r1 >> {order}", "g2", "read")}, lanes=LANE)
        cluster.until(lambda: cluster.running("w1") and cluster.lines("order"), "it writes")
        cluster.workers["w0"].kill()
        cluster.join(2)
        done = cluster.rota("wait", str(job))
        tells("X-4", done.returncode == 0 and cluster.lines("order") == ["w1", "w1", "r1"],
              "a lost writer starts again, before the reader that comes after it",
              cluster.lines("order"))


def readers_outlive_the_server():
    with Story() as cluster:
        cluster.join(4)
        order = cluster.path("order")
        job = cluster.begin({
            "r1": inside(f"{cluster.waits_for('go')}; echo r >> {order}", "g1", "read"),
            "r2": inside(f"{cluster.waits_for('go')}; echo r >> {order}", "g2", "read"),
            "w": inside(f"echo w >> {order}", "g3")}, lanes=LANE)
        cluster.until(lambda: cluster.running("r1", "r2"), "both read")
        cluster.server.kill()
        cluster.serve()
        lanes = cluster.rota("lanes").stdout
        cluster.until(lambda: cluster.workers["w0"].said().count("connected to") > 1, "it is back")
        tells("X-5", "r1" in lanes and "r2" in lanes and cluster.lines("order") == [],
              "after a restart both readers are still inside, and no other task", lanes)
        cluster.touch("go")
        done = cluster.rota("wait", str(job))
        tells("X-5", done.returncode == 0 and cluster.lines("order") == ["r", "r", "w"],
              "the writer comes when both have ended", cluster.lines("order"))
        tells("X-5", sorted(end[0] for end in cluster.ends()) == ["r1", "r2", "w"],
              "and nothing was run again", cluster.ends())


def a_handler_of_failures():
    with Story() as cluster:
        cluster.join(2)
        done = cluster.submit({"all": {"tasks": {"a": {"run": "false"},
                                                 "h": {"run": "true", "when": "fa(a)"}}}},
                              "--wait")
        tells("X-7", cluster.status("h") == "SUCCESS", "the handler of a failure runs", done)
        tells("X-7", done.returncode == 1 and cluster.status("all") == "FAILED",
              "and its bundle has failed all the same", cluster.status("all"))


def a_strict_head():
    with Story("--ahead", "8") as cluster:
        cluster.join()
        cluster.begin({f"u{i}": {"run": cluster.waits_for("go")} for i in range(6)})
        cluster.until(lambda: cluster.running("u0"), "the first is busy")
        cluster.join()
        cluster.until(lambda: cluster.sql("SELECT count(*) FROM sched_exec WHERE status ="
                                          " 'RUNNING'")[0][0] == 2, "so is the second")
        job = cluster.begin({"head": inside("true", "g")}, lanes={"line": {"strict": True}})
        held = cluster.status("head")
        cluster.join()
        done = cluster.rota("wait", str(job))
        tells("X-13", held not in ("ASSIGNED", "RUNNING") and done.returncode == 0
              and cluster.where("head") == ["w2"],
              "the head of a strict lane waits for a worker that is free", (held, done))
        cluster.touch("go")
        cluster.until(cluster.idle, "all is done")


def machines_filter():
    with Story() as cluster:
        for _ in range(2):
            cluster.join()
        fine = cluster.done({"make": {"run": "echo x > o", "out": ["o"], "machine": "w0"},
                             "use": {"run": "cat o", "in": ["o"], "machine": "w1"}},
                            policy="pull")
        tells("X-16", fine and cluster.where("use") == ["w1"],
              "a requested machine counts more than the place of the data", cluster.history())
        job = cluster.begin({"lost": {"run": "true", "machine": "nowhere"}})
        why = cluster.rota("why", f"{job}.1")
        tells("X-16", "nowhere" in why.stdout, "an object without a copy is reported", why)


def started_by_hand():
    with Story() as cluster:
        cluster.join(2)
        job = cluster.begin({"x": inside(cluster.waits_for("go"), "g1"),
                             "c": {"run": cluster.waits_for("go")},
                             "y": inside("true", "g1", when="su(c)"),
                             "e": {"run": "true", "needs": ["c"]}}, lanes=LANE)
        cluster.until(lambda: cluster.running("x", "c"), "both run")
        started = cluster.rota("start", f"{job}.3")
        why = cluster.rota("why", f"{job}.3").stdout
        tells("X-17", started.returncode == 0 and cluster.status("y") == "HELD",
              "a start by hand skips the condition, and waits for the group", (started, why))
        refused = cluster.rota("start", f"{job}.4")
        tells("X-17", refused.returncode != 0, "and never an edge", refused)
        cluster.touch("go")
        tells("X-17", cluster.rota("wait", str(job)).returncode == 0, "then all is done")


for test in (asks_when_ready, a_writer_is_lost, readers_outlive_the_server, a_handler_of_failures,
             a_strict_head, machines_filter, started_by_hand):
    test()
Tap.end()
