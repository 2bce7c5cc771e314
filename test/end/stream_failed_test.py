#!/usr/bin/env python3
"""stream_failed_test - a writer that fails makes the readers of its stream fail, and all run again.
"""
import json
import os
import subprocess
import tempfile

from cluster import Cluster, PATIENCE, ROTA_PATH
from end import Tap
from streams import ALL, STREAM, reader, writer

say = Tap.say
HALF = "seq 20000 > $ROTA_OUT_s; exit 3"  # 108 kB: its reader is there before it fails
CLOSED = "seq 20000 > $ROTA_OUT_s; exec > /dev/null; sleep 0.3; exit 3"
KILLED = "seq 20000 > $ROTA_OUT_s; kill -9 $$"


class Run:
    """One job with rota run."""

    def __init__(self, tasks):
        with tempfile.TemporaryDirectory() as self.folder:
            with open(self.path("job.json"), "w", encoding="utf-8") as file:
                json.dump({"tasks": tasks}, file)
            done = self.rota("run", "-j", "4", "job.json")
            self.status, self.text = done.returncode, done.stdout + done.stderr
            self.states = self.rota("ps", "-a").stdout
            self.why = self.rota("why", "1.2").stdout
            self.files = {name: self.read(name) for name in os.listdir(self.folder)
                          if os.path.isfile(self.path(name))}

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def rota(self, *words):
        return subprocess.run([ROTA_PATH, *words], cwd=self.folder, capture_output=True, text=True,
                              timeout=PATIENCE, check=False)


class Workers(Run):
    """The same with a server, and a worker for each machine that is named."""

    def __init__(self, tasks, machines=("one",)):
        with Cluster() as cluster:
            for name in machines:
                cluster.work(name, 4, "--machine", name)
            done = cluster.submit(tasks, "--wait")
            self.status, self.text = done.returncode, done.stdout + done.stderr
            self.states = cluster.rota("ps", "-a").stdout
            self.why = cluster.rota("why", "1.2").stdout
            self.files = {name: cluster.read(name) for name in os.listdir(cluster.folder)
                          if name.startswith("all")}


def apart(tasks):
    """Each task on a worker of its own."""
    machines = tuple(tasks)
    return Workers({name: {**task, "machine": name} for name, task in tasks.items()}, machines)


PLACES = {"rota run": Run, "one worker": Workers, "a worker for each": apart}


def what(job):
    return job.text + job.states + job.why


for place, start in PLACES.items():
    for text, first in (("half-way", HALF), ("after it has closed the stream", CLOSED),
                        ("by a signal", KILLED)):
        job = start({"w": writer(first), "r": reader()})
        say(job.status == 0 and job.files.get("all") == ALL,
            f"{place}: a writer fails {text}: both run again, and its reader has all", what(job))

    job = start({"w": writer(HALF, retries=0), "r": reader(retries=2),
                 "after": {"run": "true", "needs": "r"}})
    say(job.status == 1 and "all" not in job.files and "SUCCESS" not in job.states
        and job.states.count("BLOCKED") == 2,
        f"{place}: when its writer fails without a retry a reader does not succeed", what(job))
    say("r waits for w, the writer of stream s; w failed with exit 3" in job.why,
        f"{place}: and says why", job.why)

    job = start({"w": writer(HALF), "r": reader("all-1"), "q": reader("all-2")})
    say(job.status == 0 and job.files.get("all-1") == job.files.get("all-2") == ALL,
        f"{place}: so it is with several readers of a stream", what(job))

    job = start({"w": writer(HALF),
                 "m": {"run": "cat > $ROTA_OUT_t", "stdin": "s",
                       "out": [{"name": "t", "kind": "stream"}]},
                 "r": {**reader(), "stdin": "t"}})
    say(job.status == 0 and job.files.get("all") == ALL,
        f"{place}: and with a chain of streams", what(job))

    job = start({"w": {"run": "yes > $ROTA_OUT_s", "out": STREAM},
                 "r": {**reader(), "run": "head -n 1 > all"}})
    say(job.status == 1 and job.files.get("all") == "y\n" and "SUCCESS" in job.states,
        f"{place}: a reader that has enough succeeds, whatever its writer makes of that",
        what(job))

Tap.end()
