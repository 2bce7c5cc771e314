#!/usr/bin/env python3
"""stream_again_test - a reader's second attempt gets its complete stream: the writer runs again."""
import json
import os
import subprocess
import tempfile

from cluster import Cluster
from end import ROTA, Tap

say = Tap.say
STREAM = [{"name": "s", "kind": "stream"}]
LINES = 300000  # 2 MB: more than pipes and sockets take
ALL = "".join(f"{i}\n" for i in range(1, LINES + 1))


def reader(folder, name, wait="true", **more):
    """A reader that fails once, when it has read a little and `wait` ends, and then copies all."""
    tried = os.path.join(folder, "tried-" + name)
    return {"run": f"if mkdir {tried}; then head -c 100 > {tried}/some; {wait}; exit 3; fi;"
                   f" cat > {name}", "stdin": "s", "out": [name], "keep": True,
            **{"retries": 1, **more}}


def writer(folder, lines=LINES, **more):
    return {"run": f"echo >> {folder}/written; seq {lines} > $ROTA_OUT_s", "out": STREAM, **more}


def waits(folder, name):
    return f"until test -e {folder}/{name}; do sleep 0.02; done"


def run(tasks, what):
    """One job with rota run, and what it has made."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "job.json"), "w", encoding="utf-8") as file:
            json.dump({"tasks": tasks(folder)}, file)
        done = subprocess.run([os.path.abspath(ROTA), "run", "-j", "3", "job.json"], cwd=folder,
                              capture_output=True, text=True, timeout=120, check=False)
        texts = {}
        for name in os.listdir(folder):
            if os.path.isfile(os.path.join(folder, name)):
                with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as file:
                    texts[name] = file.read()
        what(done, texts)


run(lambda folder: {"w": writer(folder), "a": reader(folder, "a")},
    lambda done, made: say(done.returncode == 0 and made["a"] == ALL
                           and made["written"] == "\n\n",
                           "a reader that fails while its writer writes gets all, the second time",
                           done))
run(lambda folder: {"w": writer(folder, 100), "end": {"run": f"touch {folder}/over", "needs": "w"},
                    "a": reader(folder, "a", waits(folder, "over"))},
    lambda done, made: say(done.returncode == 0 and len(made["a"].split()) == 100
                           and made["written"] == "\n\n",
                           "and so does one that fails when its writer has finished", done))
run(lambda folder: {"w": writer(folder), "a": reader(folder, "a"),
                    "b": {"run": "cat > b", "stdin": "s", "out": ["b"], "keep": True}},
    lambda done, made: say(done.returncode == 0 and made["a"] == made["b"] == ALL
                           and made["written"] == "\n\n",
                           "one of two readers: the other one is not disturbed", done))

with Cluster() as cluster:
    for worker in ("one", "two"):
        cluster.work(worker, 2, "--machine", worker)
    cluster.submit({"w": {**writer(cluster.folder), "machine": "one",
                          "run": f"echo >> {cluster.path('written')}; (seq 100; "
                                 f"{waits(cluster.folder, 'go')}; seq 101 {LINES}) > $ROTA_OUT_s"},
                    "a": reader(cluster.folder, "a", machine="two")})
    cluster.until(lambda: "writes again" in cluster.rota("why", "1.2").stdout, "it has failed")
    say("a waits for a stream it had not read to its end, which w writes again"
        in cluster.rota("why", "1.2").stdout, "rota why says what it waits for",
        cluster.rota("why", "1.2").stdout)
    cluster.touch("go")
    done = cluster.rota("wait", "1")
    cluster.rota("data", "get", "1/a", cluster.path("got"))
    say(done.returncode == 0 and cluster.read("got") == ALL and cluster.read("written") == "\n\n",
        "between two workers, and the writer has no retries of its own",
        (done, cluster.ends(), cluster.told()))

with Cluster(lease=4) as cluster:
    for worker in ("one", "two"):
        cluster.work(worker, 2, "--machine", worker)
    cluster.submit({"w": writer(cluster.folder, machine="one"),
                    "a": reader(cluster.folder, "a", waits(cluster.folder, "never"),
                                machine="two")})
    cluster.until(lambda: os.path.exists(cluster.path("tried-a/some")), "it reads")
    cluster.workers["two"].kill()
    cluster.work("three", 2, "--machine", "two")
    done = cluster.rota("wait", "1")
    cluster.rota("data", "get", "1/a", cluster.path("got"))
    say(done.returncode == 0 and cluster.read("got") == ALL and cluster.read("written") == "\n\n",
        "a reader whose worker is lost gets all on another one",
        (done, cluster.ends(), cluster.told()))

with Cluster() as cluster:
    cluster.work("one", 3)
    once = f"mkdir {cluster.path('once')} || exit 7; seq {LINES} > $ROTA_OUT_s"
    strict = reader(cluster.folder, "a", retries=2)
    done = cluster.submit({"w": {**writer(cluster.folder), "run": once},
                           "a": {**strict, "run": strict["run"] + "; test -s a"}}, "--wait")
    why = cluster.rota("why", "1.2").stdout
    reason = "a waits for w, the writer of stream s; w failed with exit 7"
    say(done.returncode == 1 and reason in why,
        "if its writer cannot do it again, the reader is blocked by that, and says so",
        (done, why))

def worker_begins_again(away):
    """The worker of a writer that is done starts again before the reader is given to it.

    That cannot be before, because the worker is too small for it.
    """
    with Cluster() as cluster:
        cluster.work("one", 1)
        cluster.submit({"w": writer(cluster.folder, 100),
                        "a": {"run": "cat > a", "stdin": "s", "cpus": 2, "out": ["a"],
                              "keep": True}})
        cluster.until(lambda: ("w", "SUCCESS") in cluster.ends(), "it is done")
        if away:
            cluster.server.kill()
        cluster.workers["one"].kill()
        if away:
            cluster.serve()
        cluster.work("one", 2)
        done = cluster.rota("wait", "1")
        cluster.rota("data", "get", "1/a", cluster.path("got"))
        say(done.returncode == 0 and len(cluster.read("got").split()) == 100
            and cluster.read("written") == "\n\n",
            "a worker loses its part of a stream when it restarts: it is written again"
            + (", also when the server was away" if away else ""),
            (done, cluster.ends(), cluster.told()))


worker_begins_again(away=False)
worker_begins_again(away=True)

Tap.end()
