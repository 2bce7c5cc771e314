#!/usr/bin/env python3
"""environment_test - the environment variables that a worker passes to its commands."""
import json
import os
import subprocess
import tempfile

from cluster import Cluster, Process, ROTA_PATH
from end import Tap

say = Tap.say
BASIC = {"PATH": os.environ["PATH"], "HOME": "/somewhere", "USER": "me", "LANG": "C",
         "LC_TIME": "C", "TZ": "UTC", "TMPDIR": "/tmp"}
OTHERS = {"CLOUD_SECRET": "hidden", "SLURM_JOB_ID": "17", "SLURM_NODELIST": "a", "KEPT": "kept",
          "PATHS": "no", "LC": "no", "CHANGED": "before"}
SET_BY_ROTA = {"ROTA_ID", "ROTA_ATTEMPT", "ROTA_TOKEN", "ROTA_TASK", "ROTA_CPUS", "TRACEPARENT"}
SET_BY_SHELL = {"PWD", "OLDPWD", "SHLVL", "_"}
LOADER = {name: os.environ[name] for name in ("LD_LIBRARY_PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS")
          if name in os.environ}


def work(cluster, *options):
    items = [f"{name}={value}" for name, value in {**BASIC, **OTHERS, **LOADER}.items()]
    cluster.workers["w"] = Process(cluster.path("w.log"), "worker", "--server", cluster.socket,
                                   "--name", "w", "--folder", cluster.path("w"), *options,
                                   before=["env", "-i", *items])


def variables(text):
    pairs = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return {name: value for name, value in pairs.items()
            if name not in SET_BY_ROTA | SET_BY_SHELL}


def seen_by_task(cluster, **more):
    done = cluster.submit({"a": {"run": "env", **more}}, "--wait", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    job = [row["job"] for row in rows if "job" in row][0]
    return variables(cluster.rota("logs", f"{job}.1").stdout)


def seen_in_proc(cluster):
    """The environment that another process of the user can read of the agent and its process."""
    agent = cluster.workers["w"].process.pid
    with open(f"/proc/{agent}/task/{agent}/children", encoding="utf-8") as file:
        pids = [agent, *map(int, file.read().split())]
    texts = []
    for pid in pids:
        with open(f"/proc/{pid}/environ", "rb") as file:
            texts.append(file.read())
    return texts


with Cluster() as cluster:
    work(cluster)
    seen = seen_by_task(cluster)
    say(seen == BASIC, "a command gets the documented variables of its worker and no others", seen)
    texts = seen_in_proc(cluster)
    say(len(texts) == 2 and not any(b"hidden" in text for text in texts),
        "the environment of the worker's own processes shows no other variable either", texts)
    seen = seen_by_task(cluster, env={"HOME": "/elsewhere", "MINE": "1"})
    say(seen == {**BASIC, "HOME": "/elsewhere", "MINE": "1"}, "variables of the job file win", seen)

with Cluster() as cluster:
    work(cluster, "--env", "KEPT", "--env", "SLURM_*", "--env", "CHANGED=after", "--env", "NEW=a=b",
         "--env", "NOWHERE", "--env", "TZ=Europe/Berlin")
    seen = seen_by_task(cluster)
    want = {**BASIC, "KEPT": "kept", "SLURM_JOB_ID": "17", "SLURM_NODELIST": "a",
            "CHANGED": "after", "NEW": "a=b", "TZ": "Europe/Berlin"}
    say(seen == want, "--env adds variables by name, by their beginning, and with a value", seen)

for wrong in ("=x", "", "*", "A*B", "ROTA_TOKEN=5", "ROTA_ID=9.9"):
    done = subprocess.run([ROTA_PATH, "worker", "--server", "/none", "--env", wrong],
                          capture_output=True, text=True, check=False)
    say(done.returncode == 2 and "option --env needs NAME" in done.stderr,
        f"--env '{wrong}' is refused", done)

with tempfile.TemporaryDirectory() as folder:
    with open(f"{folder}/job.yaml", "w", encoding="utf-8") as file:
        file.write("tasks: {a: 'env > seen'}\n")
    subprocess.run([ROTA_PATH, "run", "job.yaml"], cwd=folder, check=True, capture_output=True,
                   env={**BASIC, **OTHERS, **LOADER})
    with open(f"{folder}/seen", encoding="utf-8") as file:
        seen = variables(file.read())
    say(OTHERS.items() <= seen.items(), "rota run passes the caller's environment on", seen)

Tap.end()
