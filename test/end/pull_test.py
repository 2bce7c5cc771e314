#!/usr/bin/env python3
"""pull_test - under pull, tasks run where their data is, with real processes.

doc/testing.md lists its plays.
"""
from end import Tap
from story import Story, tells


def a_job_without_a_place():
    with Story() as cluster:
        job = cluster.begin({"J0": {"run": "true"}}, policy="pull")
        cluster.join()
        done = cluster.rota("wait", str(job))
        tells("BS-1", done.returncode == 0 and cluster.where("J0") == ["w0"],
              "a task whose data is nowhere goes to any worker, after a while", done)


def data_draws():
    with Story() as cluster:
        names = [cluster.join(2) for _ in range(4)]
        odd = []
        for turn, name in enumerate(names * 2):
            fine = cluster.done({f"make{turn}": {"run": "echo x > o", "out": ["o"],
                                                 "machine": name},
                                 f"use{turn}": {"run": "cat o", "in": ["o"]}}, policy="pull")
            if not fine or cluster.where(f"use{turn}") != [name]:
                odd.append((turn, name, cluster.where(f"use{turn}")))
        tells("BS-4", not odd, "the worker with the input of a task gets it", odd)
        fine = cluster.done({"a": {"run": "echo a > a", "out": ["a"], "machine": "w3"},
                             "b": {"run": "echo b > b", "out": ["b"], "machine": "w3"},
                             "ab": {"run": "cat a b", "in": ["a", "b"]}}, policy="pull")
        tells("BS-6", fine and cluster.where("ab") == ["w3"],
              "two inputs on one worker are one reason", cluster.history()[-3:])


def only_while_it_has_room():
    """The worker with the data is busy: others get the work when the wait ends."""
    with Story("--ahead", "0") as cluster:
        for _ in range(2):
            cluster.join()
        job = cluster.begin({"make": {"run": "echo x > o", "out": ["o"], "machine": "w0"},
                             "block": {"run": cluster.waits_for("go"), "machine": "w0",
                                       "needs": ["make"], "priority": 100},
                             "use": {"run": "cat o", "in": ["o"], "needs": ["make"]}},
                            policy="pull")
        cluster.until(lambda: cluster.running("block"), "it is busy")
        cluster.until(lambda: cluster.status("use") == "SUCCESS", "another does it")
        cluster.touch("go")
        tells("BS-5", cluster.rota("wait", str(job)).returncode == 0
              and cluster.where("use")[0] in ("w0", "w1"),
              "a task waits for the worker with its data only for a while", cluster.history())


def many_want_one():
    with Story() as cluster:
        for _ in range(8):
            cluster.join()
        odd = []
        for i in range(10):
            mark = cluster.path(f"mark{i}")
            if not cluster.done({f"one{i}": {"run": f"echo x >> {mark}"}}, policy="pull"):
                odd.append(i)
            odd += [i] if cluster.lines(f"mark{i}") != ["x"] else []
        tells("BS-10", not odd, "of eight workers that want a job one gets it", odd)


def where_it_is():
    with Story(lease=4) as cluster:
        for _ in range(2):
            cluster.join()
        fine = cluster.done({"make": {"run": "echo x > o", "machine": "w0",
                                      "out": [{"name": "o", "keep": True}]}}, policy="pull")
        here = cluster.rota("data", "locate", "1/o")
        tells("BS-14", fine and here.returncode == 0 and "w0" in here.stdout,
              "an artifact is where it was made", here)
        none = cluster.rota("data", "locate", "1/other")
        tells("BS-14", none.returncode == 1, "one that was never made is nowhere", none)
        cluster.workers["w0"].kill()
        cluster.until(lambda: "w0" not in cluster.rota("data", "locate", "1/o").stdout,
                      "it is lost")
        gone = cluster.rota("data", "locate", "1/o")
        tells("BS-14", "w0" not in gone.stdout, "and with its only worker it is gone", gone)


def failures_are_results():
    with Story() as cluster:
        for _ in range(2):
            cluster.join()

        def fails(name, how, **more):
            """Exit statuses of a job that is submitted twice, and how often its command ran."""
            task = {name: {"run": f"echo said; echo x >> {cluster.path(name)}; {how}",
                           "cache": True, **more}}
            codes = [cluster.submit(task, "--wait", policy="pull").returncode for _ in range(2)]
            return codes, len(cluster.lines(name))

        codes, ran = fails("bad", "exit 3")
        exits = cluster.sql("SELECT exit FROM sched_job WHERE name = 'bad'")
        tells("BS-16", codes == [1, 1] and exits == [(3,), (3,)] and ran == 1,
              "an exit code is a result: a second request gets it, and nothing runs",
              (codes, exits, ran))
        made, again = [worker for name, worker, _ in cluster.history() if name == "bad"]
        found = cluster.rota("data", "locate", "--content", "1.1")
        tells("BS-16", made == again and found.returncode == 0 and made in found.stdout,
              "by the worker that has it, which can be found", (made, again, found))
        log = cluster.rota("logs", "2.1")
        shown = cluster.rota("show", "2.1").stdout
        tells("BS-16", log.stdout == "said\n" and "from the cache" in shown,
              "its log is that of the first time, and it says so", (log, shown))
        cluster.rota("retry", "2.1")
        cluster.until(lambda: len(cluster.lines("bad")) == 2, "it runs")
        cluster.rota("wait", "2")
        tells("BS-16", cluster.lines("bad") == ["x", "x"], "a retry runs it again")
        for name, how, more in (("killed", "kill -9 $$", {}), ("missing", "no-such-command", {}),
                                ("slow", "sleep 1000", {"timeout": "0.2s"}),
                                ("lacks", "true", {"out": ["nothing"]})):
            codes, ran = fails(name, how, **more)
            job = cluster.sql(f"SELECT max(job) FROM sched_job WHERE name = '{name}'")[0][0]
            found = cluster.rota("data", "locate", "--content", f"{job}.1")
            tells("BS-16", codes == [1, 1] and ran == 2 and found.returncode == 1,
                  f"a task that was ended has no result: {name}",
                  (codes, ran, found))


def a_picker_dies():
    with Story(lease=4) as cluster:
        cluster.join()
        mark = cluster.path("mark")
        job = cluster.begin({"J": {"run": f"echo x >> {mark}; {cluster.waits_for('go')}"}},
                            policy="pull")
        cluster.until(lambda: cluster.running("J") and cluster.lines("mark"), "it was picked")
        cluster.workers["w0"].kill()
        cluster.join()
        cluster.until(lambda: len(cluster.lines("mark")) > 1, "another picks it")
        cluster.touch("go")
        done = cluster.rota("wait", str(job))
        tells("BS-18", done.returncode == 0 and cluster.history() == [
            ("J", "w0", "LOST"), ("J", "w1", "SUCCESS")],
              "a task of a worker that died is done by another one, once", cluster.history())


def slots():
    with Story("--ahead", "0") as cluster:
        cluster.join(2)
        job = cluster.begin({f"t{i}": {"run": cluster.waits_for("go")} for i in range(3)},
                            policy="pull")
        cluster.until(lambda: cluster.sql("SELECT count(*) FROM sched_exec WHERE status ="
                                          " 'RUNNING'")[0][0] == 2, "two run")
        out = cluster.sql("SELECT count(*) FROM sched_exec")[0][0]
        tells("BS-23", out == 2, "with two slots two are handed out", out)
        cluster.touch("go")
        tells("BS-23", cluster.rota("wait", str(job)).returncode == 0, "and then the third")


def by_rank():
    """The task with most dependents goes first, if the server was started so."""
    with Story("--ahead", "0", "--by-rank") as cluster:
        job = cluster.begin({"short": {"run": "true"}, "a": {"run": "true"},
                             "b": {"run": "true", "needs": ["a"]},
                             "c": {"run": "true", "needs": ["b"]}}, policy="pull")
        cluster.join()
        done = cluster.rota("wait", str(job))
        order = [name for name, _, _ in cluster.history()]
        tells("by rank", done.returncode == 0 and order[0] == "a",
              "the longest way goes before what came first", order)


for test in (a_job_without_a_place, data_draws, only_while_it_has_room, many_want_one, where_it_is,
             failures_are_results, a_picker_dies, slots, by_rank):
    test()
Tap.end()
