#!/usr/bin/env python3
"""stories_test - five long scenarios of builds under pull, with a real server and workers.

A build is a job under `pull`, its output is an object, and an existing result is not produced
again. No process may be left, and everything ends within seconds.
"""
from cluster import processes_with
from end import Tap
from story import Story, tells

FOLDERS = []


def single_command():
    with Story() as cluster:
        FOLDERS.append(cluster.folder)
        cluster.join()
        done = cluster.submit({"say": {"run": "echo OK"}}, "--wait", policy="pull")
        tells("story 1, a single command", done.returncode == 0, "it ends with 0", done.stderr)
        logs = cluster.rota("logs", "1.1")
        tells("story 1, a single command", logs.stdout == "OK\n", "and its output is there", logs)


def job_caching():
    with Story() as cluster:
        cluster.join()
        build = {"make": {"run": f"echo made >> {cluster.path('mark')}; echo x > out",
                          "out": ["out"], "cache": True}}
        fine = [cluster.done(build, policy="pull") for _ in range(2)]
        tells("story 2, a result is kept", fine == [True, True], "both builds succeed", fine)
        tells("story 2, a result is kept", cluster.lines("mark") == ["made"],
              "and the second does not run it again", cluster.read("mark"))


def source_files():
    with Story() as cluster:
        cluster.join()
        for name in "ab":
            with open(cluster.path(name + ".txt"), "w", encoding="utf-8") as file:
                file.write(f"content of {name}\n")
        done = cluster.done({"cat": {"run": "cat a.txt; cat b.txt >&2",
                                     "in": ["a.txt", "b.txt"]}}, policy="pull")
        logs = cluster.rota("logs", "1.1")
        tells("story 3, source files", done and logs.stdout == "content of a\ncontent of b\n",
              "both are read, and both outputs are kept", logs)


def artifact_between_jobs():
    with Story() as cluster:
        for _ in range(2):
            cluster.join()
        done = cluster.done({"a": {"run": "echo from a > art", "out": ["art"], "machine": "w0"},
                             "b": {"run": f"cat art > {cluster.path('got')}", "in": ["art"],
                                   "machine": "w1"}}, policy="pull")
        tells("story 4, an artifact between tasks", done and cluster.read("got") == "from a\n",
              "it comes from one worker to the other", cluster.read("got"))


def three_workers():
    """Three that need the same, and run at the same time."""
    with Story() as cluster:
        for _ in range(3):
            cluster.join()
        shared = {"run": f"echo made >> {cluster.path('mark')}; echo a > art",
                  "out": [{"name": "art", "keep": True}], "cache": True}
        tasks = {"a": shared, **{f"b{i}": {"run": f"cat art; {cluster.waits_for('go')}",
                                          "in": ["art"]}
                                 for i in range(3)}}
        job = cluster.begin(tasks, policy="pull")
        holders = "SELECT count(DISTINCT worker) FROM sched_replica"
        cluster.until(lambda: cluster.sql(holders)[0][0] == 3, "all three hold it")
        tells("story 5, three workers", cluster.sql(holders)[0][0] == 3, "all three hold it")
        cluster.touch("go")
        done = cluster.rota("wait", str(job)).returncode == 0
        used = {cluster.where(f"b{i}")[0] for i in range(3)} if done else set()
        tells("story 5, three workers", done and len(used) == 3,
              "three that need the same run on all three", cluster.history())
        tells("story 5, three workers", cluster.lines("mark") == ["made"], "it is made once",
              cluster.read("mark"))


for test in (single_command, job_caching, source_files, artifact_between_jobs, three_workers):
    test()
tells("stories", not processes_with(FOLDERS[0]), "no process is left", FOLDERS)
Tap.end()
