#!/usr/bin/env python3
"""reactor_test - where the planner runs tasks, and what happens to losses, with real processes.

doc/testing.md lists its plays.
"""
import json
import time

from cluster import PATIENCE, Process, processes_with, seconds_marked
from end import Tap
from hostile import Stranger, job_of
from story import Story, tells

BIG, SMALL = 4 << 20, 10 << 10


def made(name, size, machine):
    return {"run": f"head -c {size} /dev/zero > {name}", "out": [{"name": name, "keep": True}],
            "machine": machine}


def data_decides():
    """Without plans: one that is made before anything is there knows no sizes, and is kept when
    commands take long, as on a busy machine, since moving a task costs more then."""
    with Story("--ahead", "0", "--no-plan") as cluster:
        names = [cluster.join() for _ in range(8)]
        tasks = {f"make-{name}": made(f"big-{name}", BIG, name) for name in names}
        tasks |= {f"use-{name}": {"run": "true", "in": [f"big-{name}"],
                                  "needs": [f"make-{other}" for other in names]}
                  for name in names}
        fine = cluster.done(tasks)
        placed = {name: cluster.where(f"use-{name}") for name in names}
        tells("RS-1", fine and all(at == [name] for name, at in placed.items()),
              "eight tasks run where their big objects are", placed)
    with Story("--ahead", "0", "--no-plan") as cluster:
        for _ in range(4):
            cluster.join()
        tasks = {f"make-{kind}": made(kind, size, name) for kind, size, name in
                 (("small0", SMALL, "w0"), ("small1", SMALL, "w1"), ("big0", BIG, "w2"),
                  ("big1", BIG, "w3"))}
        tasks |= {f"use{i}": {"run": "true", "in": [f"small{i}", f"big{i}"],
                              "needs": list(tasks)} for i in range(2)}
        fine = cluster.done(tasks)
        placed = [cluster.where(f"use{i}") for i in range(2)]
        tells("RS-2", fine and placed == [["w2"], ["w3"]], "the big input decides", placed)


def sizes_fit():
    with Story("--ahead", "0") as cluster:
        for cores in (4, 1, 6, 2, 5, 3):
            cluster.join(cores, name=f"with{cores}")
        fine = cluster.done({f"needs{n}": {"run": "sleep 0.5", "cpus": n} for n in range(1, 7)})
        placed = {n: cluster.where(f"needs{n}") for n in range(1, 7)}
        tells("RS-3", fine and all(at == [f"with{n}"] for n, at in placed.items()),
              "tasks of one to six cpus find the worker of their size", placed)


def eager():
    with Story("--ahead", "0") as cluster:
        for _ in range(2):
            cluster.join()
        fine = cluster.done({"make": made("x", BIG, "w0"),
                             **{name: {"run": "sleep 0.5", "in": ["x"]} for name in "ab"}})
        placed = sorted(cluster.where(name)[0] for name in "ab") if fine else []
        tells("RS-6", placed == ["w0", "w1"], "the planner does not wait for a better place",
              cluster.history())


def side_by_side():
    """Tasks that may run together wait for each other; otherwise the second one runs alone."""
    for cores, needs, fit in ((1, (1, 1), False), (2, (1, 1), True), (2, (1, 2), False),
                              (3, (1, 2), True)):
        with Story() as cluster:
            cluster.join(cores)
            here = [cluster.path(f"here{i}") for i in range(2)]
            tasks = {f"t{i}": {"run": f"touch {here[i]}; {cluster.waits_for(f'here{1 - i}')}"
                               if fit else
                               f"test ! -e {here[1 - i]} && touch {here[i]} && sleep 0.5"
                               f" && rm {here[i]}", "cpus": need}
                     for i, need in enumerate(needs)}
            tells("RS-7", cluster.done(tasks),
                  f"{needs} cpus on {cores}: {'together' if fit else 'one by one'}",
                  cluster.history())


def too_big():
    with Story() as cluster:
        cluster.join(2)
        cluster.begin({"big": {"run": "true", "cpus": 4}, "small": {"run": "true"}})
        cluster.until(lambda: cluster.status("small") == "SUCCESS", "the small one")
        why = cluster.rota("why", "1.1").stdout
        tells("RS-8", cluster.status("big") != "SUCCESS" and "unschedulable" in why,
              "why says that no worker has room for a task, and others run", why)
        cluster.join(4)
        cluster.until(lambda: cluster.status("big") == "SUCCESS", "the big one")
        tells("RS-8", cluster.where("big") == ["w1"], "a larger worker starts it")


def waits():
    with Story() as cluster:
        cluster.join()
        job = cluster.begin({"a": {"run": cluster.waits_for("go")}, "b": {"run": "true"}})
        cluster.until(lambda: cluster.running("a"), "it runs")
        cluster.touch("go")
        first, again = cluster.rota("wait", str(job)), cluster.rota("wait", str(job))
        tells("RS-14", first.returncode == again.returncode == 0,
              "a waiting client is answered, and a later one at once", (first, again))
        unknown = [cluster.rota("wait", *words).returncode
                   for words in (["4711"], [f"{job}.3"], [str(job), "4711"], ["--any", "1", "4711"],
                                 ["0"], ["1."], ["x"], [])]
        tells("RS-14", unknown == [2] * 8, "of what was never submitted", unknown)
        with Stranger(cluster.socket, "CLIENT") as client:
            empty = {**job_of(1), "tasks": [], "bodies": [], "commands": []}
            job = client.says("SUBMIT", **empty, flags=2).answer("ACCEPTED")[1]["job"]
        none = cluster.rota("wait", str(job))
        tells("RS-14", (none.returncode, none.stdout) == (0, f"job {job}: 0 ok, 0 failed,"
                                                             " 0 aborted\n"),
              "a job that has no tasks so far is not waited for", none)


def waits_for_some():
    with Story() as cluster:
        cluster.join(4)
        none = cluster.rota("wait", "--any")
        tells("RS-14", (none.returncode, none.stdout) == (0, ""), "some of nothing is nothing",
              none)
        one = cluster.begin({"long": {"run": cluster.waits_for("go")},
                             "short": {"run": cluster.waits_for("short")},
                             "bad": {"run": cluster.waits_for("bad") + "; exit 3"},
                             "never": {"run": "true", "needs": ["bad"]}})
        other = cluster.begin({"other": {"run": cluster.waits_for("go")}})
        cluster.until(lambda: cluster.running("long", "short"), "both run")

        def waiting(log, *words):
            return Process(cluster.path(log), "wait", "--server", cluster.socket, *words)
        tasks = [f"{one}.1", f"{one}.2", str(other)]
        some = waiting("some.log", "--any", *tasks)
        cluster.touch("short")
        code = some.process.wait(PATIENCE)
        tells("RS-14", code == 0 and some.said() == f"task {one}.2: ok\n"
              and cluster.running("long"),
              "a client that waits for some is answered with the first", some.said())
        at_once = cluster.rota("wait", "--any", "--json", *tasks)
        tells("RS-14", at_once.returncode == 0 and cluster.running("long") and json.loads(
            at_once.stdout) == {"event": "over", "task": f"{one}.2", "outcome": "ok", "status": 0},
              "or at once, when one has finished", at_once)
        both = waiting("all.log", str(other), f"{one}.3", f"{one}.1", f"{one}.4")
        cluster.touch("bad")
        cluster.until(lambda: cluster.status("bad") == "FAILED", "it has failed")
        cluster.server.kill()
        cluster.serve()
        cluster.touch("go")
        code = both.process.wait(PATIENCE)
        lines = {f"task {one}.3: failed, exit 3", f"task {one}.1: ok",
                 f"task {one}.4: blocked", f"job {other}: 1 ok, 0 failed, 0 aborted"}
        tells("RS-14", code == 1 and lines <= set(both.said().splitlines()),
              "a client that waits for all is told of each, also by a restarted server",
              both.said())
        failed = cluster.rota("wait", "--any", f"{one}.3")
        tells("RS-14", failed.returncode == 1, "and of one that has failed, that it has", failed)


def failures():
    with Story() as cluster:
        cluster.join(4)
        other = cluster.begin({"other": {"run": cluster.waits_for("go")}})
        done = cluster.submit({"bad": {"run": "sleep 0.3; exit 3"},
                               "long": {"run": "exec sleep 1000", "out": ["x"], "keep": True},
                               "made": {"run": "echo x > o", "out": ["o"], "keep": True},
                               "later": {"run": "true", "needs": ["long"]}}, "--wait",
                              on_failure="fail_job")
        tells("RS-15", done.returncode == 1 and "bad" in done.stdout and not done.stderr,
              "the first failure ends the whole job, and is named", done)
        cluster.until(lambda: cluster.status("long") == "ABORTED", "the running task is stopped")
        tells("RS-15", cluster.status("later") == "ABORTED", "nothing of it runs any more")
        asked = (("wait", "2"), ("wait", "2.2"), ("data", "get", "2/o", "copy"),
                 ("data", "get", "2/x", "copy"), ("data", "unkeep", "2/o"),
                 ("data", "unkeep", "2/x"))
        told = [[cluster.rota(*words) for words in asked] for _ in range(3)]
        said = [[(done.returncode, done.stdout, done.stderr) for done in row] for row in told]
        tells("RS-15", said[0] == said[1] == said[2] and all(row[0] == 1 for row in said[0])
              and all("the job has failed" in row[2] for row in said[0][2:]),
              "a client that waits, reads or releases later gets the same answer", said[0])
        cluster.touch("go")
        tells("RS-15", cluster.rota("wait", str(other)).returncode == 0, "other jobs continue")
        lacks = cluster.submit({"lacks": {"run": "true", "out": ["nothing"]}}, "--wait")
        tells("RS-22", lacks.returncode == 1 and cluster.status("lacks") == "FAILED",
              "a task that does not make its output has failed", lacks)


def room_is_given_back():
    with Story() as cluster:
        cluster.join()
        job = cluster.begin({"long": {"run": "exec sleep 1000"}})
        cluster.until(lambda: cluster.running("long"), "it runs")
        cluster.rota("cancel", str(job))
        tells("RS-16", cluster.done({"next": {"run": "true"}}),
              "a job that is cancelled gives its cpu to the next", cluster.history())
        tells("RS-16", cluster.status("long") == "ABORTED", "and counts as aborted")
    with Story() as cluster:
        cluster.join()
        mark = seconds_marked(1000)
        job = cluster.begin({"long": {"run": f"exec sleep {mark}", "out": ["o"], "keep": True}})
        cluster.until(lambda: cluster.running("long"), "it runs")
        began = time.monotonic()
        closed = cluster.rota("close", str(job))
        fine = cluster.done({"next": {"run": "true"}})
        took = time.monotonic() - began
        tells("RS-16", closed.returncode == 0 and fine and took < 100,
              "one that is closed too, long before it would have ended", (closed, took))
        cluster.until(lambda: not processes_with(mark), "it is stopped")
        told = cluster.rota("wait", str(job)).stdout
        tells("RS-16", told == f"job {job}: 0 ok, 0 failed, 1 aborted\n"
              and cluster.history() == [("long", "w0", "CLOSED"), ("next", "w0", "SUCCESS")],
              "and what its worker says of it then counts for nothing", (told, cluster.history()))
    with Story("--ahead", "2") as cluster:
        cluster.join()
        cluster.begin({f"t{i}": {"run": cluster.waits_for("go")} for i in range(6)})
        cluster.until(lambda: cluster.running("t0"), "the first runs")
        given = cluster.sql("SELECT count(*) FROM sched_exec")[0][0]
        tells("RS-18", given == 3, "a full worker is given two more, and not all", given)
        cluster.touch("go")
        cluster.until(cluster.idle, "all is done")
        order = [name for name, _, _ in cluster.history()]
        tells("RS-18", order == [f"t{i}" for i in range(6)], "the oldest first", order)


def a_worker_is_lost():
    """With a command that runs, and the only copy of what another one needs."""
    with Story("--ahead", "0", lease=4) as cluster:
        cluster.join(2)
        job = cluster.begin({
            "make": {"run": f"echo x >> {cluster.path('made')}; echo data > o", "out": ["o"]},
            "gate": {"run": cluster.waits_for("go"), "needs": ["make"]},
            "use": {"run": f"cat o > {cluster.path('got')}", "in": ["o"], "needs": ["gate"]}})
        cluster.until(lambda: cluster.running("gate"), "it runs")
        cluster.workers["w0"].kill()
        cluster.join(2)
        cluster.touch("go")
        done = cluster.rota("wait", str(job))
        tells("RS-25", done.returncode == 0 and cluster.read("got") == "data\n",
              "all of it is done elsewhere", done.stdout + cluster.told())
        tells("RS-25", cluster.lines("made") == ["x", "x"], "the only copy was made again")
        tells("RS-25", cluster.server.process.poll() is None and cluster.where("use") == ["w1"],
              "and the server stayed up", cluster.history())


for test in (data_decides, sizes_fit, eager, side_by_side, too_big, waits, waits_for_some,
             failures,
             room_is_given_back, a_worker_is_lost):
    test()
Tap.end()
