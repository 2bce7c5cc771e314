#!/usr/bin/env python3
"""cluster_test - a server and workers as real processes: jobs, faults, and leftover processes."""
import os
import re
import signal
import subprocess
import time

from cluster import (Cluster, PATIENCE, Process, ROTA_PATH, processes_with,
                     seconds_marked)
from end import Tap

say = Tap.say


def a_job_on_one_worker():
    with Cluster() as cluster:
        done = cluster.submit({"a": {"run": f"echo one >> {cluster.path('out')}"},
                               "b": {"run": f"echo two >> {cluster.path('out')}", "needs": ["a"]},
                               "c": {"run": "exit 3", "needs": ["a"]},
                               "d": {"run": "true", "needs": ["c"]}})
        say(done.returncode == 0 and done.stdout == "job 1\n", "a job is accepted", done)
        cluster.work("one")
        cluster.until(lambda: len(cluster.ends()) == 3, "three attempts")
        say(cluster.read("out") == "one\ntwo\n", "its commands run in their order")
        say(sorted(cluster.ends()) == [("a", "SUCCESS"), ("b", "SUCCESS"), ("c", "FAILED")],
            "the end of each is recorded once", cluster.ends())
        why = cluster.rota("why", "d")
        say("d waits for c; c failed with exit 3" in why.stdout,
            "why names the failed task that blocks another one", why)
        there = re.escape(f"--server {cluster.socket} ")
        hint = re.search(rf"\(rota logs {there}(\S+); rota retry {there}(\S+)\)$",
                         why.stdout.strip())
        say(hint and hint.groups() == ("1.3", "1.3"), "and the commands that help, by id", why)
        logs = cluster.rota("logs", hint[1] if hint else "c")
        say(logs.returncode == 0, "the server understands the first of them", logs)
        again = cluster.rota("retry", hint[2] if hint else "c")
        say(again.returncode == 0, "a failed task is tried again", again)
        cluster.until(lambda: cluster.ends().count(("c", "FAILED")) == 2, "another attempt")
        verify = os.system(f"{os.environ.get('BUILD', 'build')}/rota verify {cluster.database}"
                           " > /dev/null")
        say(verify == 0, "the database is sound")


def a_job_that_only_the_server_refuses():
    """The message names the task that the server refuses, though the job file is valid."""
    with Cluster() as cluster:
        many = [f"t{i}" for i in range(100001)]
        tasks = {**{name: {"run": "true"} for name in many}, "last": {"run": "true", "needs": many}}
        told = cluster.submit(tasks)
        say(told.returncode != 0
            and 'task 100002 "last": a task may have at most 100,000 dependencies' in told.stderr,
            "too many dependencies: the message names the task", told)
        told = cluster.submit({"fine": {"run": "true"}, "often": {"run": "true", "retries": 1000}})
        say(told.returncode != 0
            and 'task 2 "often": at most 995 retries are allowed' in told.stderr,
            "too many retries: the message names the task", told)
        say(cluster.sql("SELECT count(*) FROM sched_job")[0][0] == 0, "and no job is stored")


def roles_that_are_unknown():
    for role, fault in (("nobody2=worker", "no such user: nobody2"), ("root=boss", "unknown role "
                        "'boss'"), ("boss", "unknown role 'boss'"), ("=worker", "no such user"),
                        ("root=", "unknown role ''"), ("client,king", "unknown role 'king'")):
        done = subprocess.run([ROTA_PATH, "server", "--memory", "--socket-role", role], text=True,
                              capture_output=True, check=False, timeout=PATIENCE)
        lines = done.stderr.splitlines()
        say(done.returncode == 2 and len(lines) == 1 and f"--socket-role {role}: " in lines[0]
            and fault in lines[0], f"--socket-role {role}: the message says what is unknown", done)


def waiting_for_the_end():
    with Cluster() as cluster:
        cluster.work("one")
        fine = cluster.submit({"a": {"run": "true"}, "b": {"run": "true", "needs": ["a"]}},
                              "--wait")
        say(fine.returncode == 0 and "2 ok" in fine.stdout, "a client waits for its job", fine)
        bad = cluster.submit({"a": {"run": "false"}}, "--wait")
        say(bad.returncode == 1 and "FAILED a" in bad.stdout, "and reports failures", bad)
        rest = cluster.submit({"a": {"run": "false"}, "b": {"run": "true", "needs": ["a"]}},
                              "--wait")
        say(rest.returncode == 1, "also when the other tasks are blocked", rest)
        cluster.submit({"a": {"run": "sleep 0.3; false"}})
        waits = cluster.rota("wait", "4")
        say(waits.returncode == 1 and "1 failed" in waits.stdout, "or waits later", waits)
        none = cluster.rota("wait", "99")
        say(none.returncode == 2 and "no such job" in none.stderr, "for a job that is there", none)
        wrong = cluster.submit({"a": {"run": "true", "needs": ["x"]}})
        say(wrong.returncode == 2 and '"x"' in wrong.stderr,
            "a file with an unknown dependency is refused", wrong)


def many_workers():
    with Cluster() as cluster:
        for number in range(4):
            worker = cluster.work(f"w{number}", 2)
            cluster.until(lambda: "connected to" in worker.said(), "a worker is there")
        tasks = {f"t{i}": {"run": "true"} for i in range(200)}
        tasks["end"] = {"run": "true", "needs": list(tasks)}
        done = cluster.submit(tasks, "--wait")
        say(done.returncode == 0, "four workers share two hundred tasks", done.stderr)
        used = cluster.sql("SELECT count(DISTINCT worker) FROM sched_history")[0][0]
        say(used == 4, "all of them work", used)
        fine = [end for end in cluster.ends() if end[1] == "SUCCESS"]
        others = {end[1] for end in cluster.ends()} - {"SUCCESS", "RETURNED"}
        say(len(fine) == 201 and not others, "each task is recorded once", cluster.ends())


def the_server_is_killed():
    """Running commands continue, and run once."""
    with Cluster(lease=20) as cluster:
        cluster.work("one", 2)
        mark = cluster.path("starts")
        cluster.submit({"long": {"run": f"echo x >> {mark}; sleep 2; echo y >> {mark}"},
                        "next": {"run": f"echo z >> {mark}", "needs": ["long"]}})
        cluster.until(lambda: cluster.read("starts"), "the command runs")
        cluster.server.kill()
        time.sleep(0.3)
        cluster.serve()
        cluster.until(lambda: len(cluster.ends()) == 2, "both are recorded")
        say(cluster.read("starts") == "x\ny\nz\n", "a command outlives its server, and runs once",
            cluster.read("starts"))
        say(cluster.ends() == [("long", "SUCCESS"), ("next", "SUCCESS")], "and is recorded once",
            cluster.ends())
        go = cluster.path("go")
        cluster.submit({"during": {"run": f"until test -e {go}; do sleep 0.02; done;"
                                          f" echo d >> {mark}"}})
        cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_exec WHERE status = 'RUNNING'"),
                      "it runs")
        cluster.server.kill()
        cluster.touch("go")
        cluster.until(lambda: cluster.read("starts").endswith("d\n"), "it ends")
        say(True, "a command ends while there is no server")
        cluster.serve()
        cluster.until(lambda: ("during", "SUCCESS") in cluster.ends(), "its end is reported")
        say(cluster.ends().count(("during", "SUCCESS")) == 1, "is reported to the next one")


def a_worker_is_killed():
    with Cluster(lease=4) as cluster:
        cluster.work("one", 1)
        mark, sleeps = cluster.path("starts"), seconds_marked(1000)
        cluster.submit({"long": {"run": f"echo x >> {mark}; exec sleep {sleeps}"},
                        "short": {"run": "true"}})
        cluster.until(lambda: cluster.read("starts"), "the command runs")
        cluster.workers["one"].kill()
        cluster.until(lambda: not processes_with(sleeps), "its commands die too")
        say(not processes_with(sleeps), "no command survives its worker")
        cluster.work("two", 2)
        cluster.until(lambda: cluster.read("starts").count("x") > 1, "another worker runs it again")
        say(("long", "LOST") in cluster.ends(), "the first attempt is recorded as lost",
            cluster.ends())
        cancel = cluster.rota("cancel", "1.1")
        cluster.until(lambda: not processes_with(sleeps), "it is stopped")
        say(cancel.returncode == 0, "a cancelled command is gone", cancel)


def groups_exclude():
    """A probe with a lock file for each group: no command may find it locked."""
    with Cluster() as cluster:
        for number in range(3):
            cluster.work(f"w{number}", 2)
        probe = ("exec 9> {0}/group.{1}; flock -n 9 || echo clash >> {0}/clash;"
                 " sleep 0.0{2}; echo {1} >> {0}/done")
        tasks = {f"t{i}": {"run": ["sh", "-c", probe.format(cluster.folder, i % 3, i % 5)],
                           "lane": "line", "group": f"g{i % 3}", "access": "write"}
                 for i in range(45)}
        done = cluster.submit(tasks, "--wait", lanes={"line": {}})
        say(done.returncode == 0, "tasks of three groups run", done.stderr + done.stdout)
        say(cluster.read("clash") == "", "never two of one group at a time")
        say(len(cluster.read("done").split()) == 45, "and each once")


def objects_go_from_worker_to_worker():
    with Cluster() as cluster:
        for name in ("here", "there"):
            cluster.work(name, 2, "--machine", name)
        copied = cluster.path("copied")
        done = cluster.submit({
            "make": {"run": "seq 100000 > big.txt; mkdir tree; echo x > tree/x", "machine": "here",
                     "out": ["big.txt", "tree/"]},
            "use": {"run": f"cat big.txt tree/x > {copied}", "machine": "there",
                    "in": ["big.txt", "tree/"]},
            "back": {"run": "wc -l < big.txt", "machine": "here", "in": ["big.txt"],
                     "needs": ["use"]}}, "--wait")
        say(done.returncode == 0, "a worker reads the output of another one",
            done.stdout + done.stderr + cluster.told())
        lines = cluster.read("copied").split()
        say(lines == [str(i) for i in range(1, 100001)] + ["x"], "every byte of it", len(lines))
        logs = cluster.rota("logs", "1.3")
        say(logs.stdout.split() == ["100000"], "the output of a command is fetched, too", logs)


def a_slow_reader_gets_all():
    """And the server does not turn in circles meanwhile."""
    with Cluster() as cluster:
        cluster.submit({f"a_name_that_is_not_short_{i}": {"run": "true"} for i in range(8000)})
        whole = cluster.rota("ps", "-a").stdout
        slow = subprocess.Popen([ROTA_PATH, "ps", "-a", "--server", cluster.socket],
                                stdout=subprocess.PIPE)
        before = seconds_of(cluster.server.process.pid)
        time.sleep(2)
        used = seconds_of(cluster.server.process.pid) - before
        got = slow.communicate(timeout=PATIENCE)[0].decode()
        say(got == whole and len(got) > 400000, "all of a long answer comes", len(got))
        say(used < 1, "no worker is polled", used)


def seconds_of(process):
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def a_second_server_is_refused():
    with Cluster() as cluster:
        other = Process(cluster.path("other.log"), "server", "--listen", cluster.path("o.sock"),
                        "--db", cluster.database)
        status = other.process.wait(PATIENCE)
        say(status == 2 and "in use" in other.said(), "one database has one server", other.said())
        ended = cluster.server.kill(signal.SIGTERM)
        say(ended == 0, "TERM ends a server with 0", ended)


for test in (a_job_on_one_worker, a_job_that_only_the_server_refuses, waiting_for_the_end,
             roles_that_are_unknown,
             many_workers, the_server_is_killed,
             a_worker_is_killed, groups_exclude, objects_go_from_worker_to_worker,
             a_slow_reader_gets_all, a_second_server_is_refused):
    test()
Tap.end()
