#!/usr/bin/env python3
"""slurm_test - real workers under a real Slurm: names, processors and memory, and how Slurm ends
them.

All cases run at the same time on one server. Each has a machine of its own, so that its task runs
first under Slurm and then on another worker. The first attempt waits; the others fail. With one
retry that makes three attempts if Slurm's end does not count, and two if it does. Each attempt
writes a line into a log and holds the lock of its group: the test checks both, and the server's
answers.
"""
import os
import re
import shutil
import socket

import slurm
from cluster import PATIENCE, ROTA_PATH, KeyedCluster
from end import Tap
from groups import clashes

say = Tap.say
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LEASE = 12  # longer than Slurm takes to start a job again
HOST = socket.gethostname()[:24]
PROCESSORS = len(os.sched_getaffinity(0))
ATTEMPT = ("exec 9> {0}/group.{1}; flock -n 9 || echo {1} >> {0}/clash;"
           " echo {1} >> {0}/attempts; {2} test $ROTA_ATTEMPT = 1 || exit 1;"
           " while :; do sleep 0.05; done")
IGNORES = "trap '' TERM;"


class Case:
    """A task, the job of Slurm whose worker runs it, and what ends that job."""

    def __init__(self, name, end, script="exec {0}", *options, traps="", returns=False,
                 counts=False):
        self.name, self.end, self.script, self.options = name, end, script, options
        self.traps, self.returns, self.counts, self.job = traps, returns, counts, None

    def start(self, cluster, system):
        worker = f"{ROTA_PATH} worker --server {cluster.socket} --machine {self.name}"
        self.job = system.batch(self.script.format(worker), "--mem=50", *self.options)
        command = ["sh", "-c", ATTEMPT.format(cluster.folder, self.name, self.traps)]
        done = cluster.submit({self.name: {"run": command, "retries": 1, "lane": "line",
                                           "group": self.name, "access": "write",
                                           "machine": self.name}}, lanes={"line": {}})
        if done.returncode:
            raise RuntimeError(done.stderr)

    def attempts(self, cluster):
        return cluster.read("attempts").split().count(self.name)

    def ends(self, cluster):
        return [how for name, how in cluster.ends() if name == self.name]


def scancel(*options, step=""):
    return lambda system, job: system.run("scancel", *options, job + step)


def scontrol(*words):
    return lambda system, job: system.run("scontrol", *(word.format(job) for word in words))


def scancel_after_warning(system, job):
    """When the worker has got the signal of --signal, which Slurm sends within half a minute."""
    def drains():
        with open(os.path.join(system.folder, f"job.{job}.out"), encoding="utf-8") as file:
            return "starts no more commands" in file.read()
    system.wait_for(drains, PATIENCE)
    system.run("scancel", job)


# A worker that returns has the same name and folder, and takes its task again.
CASES = (
    Case("limit", scontrol("update", "JobId={0}", "EndTime=now"), "exec {0}", "--time=1"),
    Case("cancel", scancel()),
    Case("shell", scancel(), "{0}"),
    Case("srun", scancel(), "srun {0}"),
    Case("ignores", scancel(), traps=IGNORES),
    Case("requeue", scontrol("requeue", "{0}"), "exec {0}", "--requeue", returns=True),
    Case("requeue-ignores", scontrol("requeue", "{0}"), "exec {0}", "--requeue", traps=IGNORES,
         returns=True),
    # All are killed without a warning, as if the task had brought the worker down.
    Case("kill", scancel(step=".0"), "srun {0}", counts=True),
    # Its end is slow, so that the worker tells it to end before.
    Case("warned", scancel_after_warning, "exec {0}", "--time=1", "--signal=B:TERM@60",
         traps="trap 'sleep 0.5; exit 143' TERM;"),
)


def shares(cluster):
    """Cores and memory of the workers, by their names."""
    rows = cluster.sql("SELECT n.name, w.cores, w.memory_mib FROM sched_worker w JOIN sched_name n"
                       " ON n.number = w.worker AND n.kind = 'worker'")
    return {name: (cores, memory) for name, cores, memory in rows}


def shares_are_slurms(cluster, system):
    """Workers without tasks: an array, memory for each processor, two processes of one step, and
    a step whose memory Slurm does not tell."""
    worker = f"%s{ROTA_PATH} worker --server {cluster.socket}"
    array = system.batch(worker % "exec ", "--array=1-2", "--mem=30")
    each = system.batch(worker % "exec ", "--cpus-per-task=2", "--mem-per-cpu=70")
    step = system.batch(worker % "srun ", "--ntasks=2", "--mem=400")
    inner = system.batch((worker + " --memory 60M") % "srun --ntasks=1 --exact --mem=60 ",
                         "--ntasks=2", "--mem=400")
    expected = {f"{HOST}-slurm{each}": (min(2, PROCESSORS), 140),
                f"{HOST}-slurm{step}_0_0": (1, 200), f"{HOST}-slurm{step}_0_1": (1, 200),
                f"{HOST}-slurm{inner}_0_0": (1, 60)}
    jobs = (array, each, step, inner)
    cluster.until(lambda: len(shares(cluster)) == len(expected) + 2, "all workers are there")
    found = shares(cluster)
    others = {name: share for name, share in found.items() if name not in expected}
    say({name: found.get(name) for name in expected} == expected,
        "cores and memory are those of the job, shared by the processes of a step", found)
    say(len(others) == 2 and f"{HOST}-slurm{array}" in others
        and set(others.values()) == {(1, 30)}, "two jobs of an array have two names", found)
    system.run("scancel", *jobs)
    cluster.until(lambda: not shares(cluster), "workers without tasks leave at once")


def the_document_is_right(cluster, system):
    """The script of doc/deployment.md, unchanged but for the address of the server."""
    with open(os.path.join(ROOT, "doc/deployment.md"), encoding="utf-8") as file:
        script = re.search(r"^## Under Slurm$.*?^```sh\n#!/bin/sh\n(.*?)^```$", file.read(),
                           re.M | re.S).group(1)
    os.mkdir(cluster.path(".rota"))
    for name in ("worker.key", "peer.key"):
        shutil.copy(cluster.path("keys/" + name), cluster.path(".rota"))
    job = system.batch(script.replace("a:7450", cluster.address))
    cluster.until(lambda: shares(cluster), "the worker is there")
    name, share = list(shares(cluster).items())[0]
    say(name == f"{HOST}-slurm{job}" and share[0] == min(4, PROCESSORS) and share[1] <= 8192,
        "the script of doc/deployment.md becomes a worker", (name, share))
    system.run("scancel", job)
    cluster.until(lambda: not shares(cluster), "and it leaves")


def first_worker(cluster, case):
    rows = cluster.sql("SELECT n.name FROM sched_history h JOIN sched_job j USING (id) JOIN"
                       f" sched_name n ON n.number = h.worker AND n.kind = 'worker' WHERE j.name ="
                       f" '{case.name}' ORDER BY h.seq")
    return rows[0][0] if rows else ""


def ends_are_slurms(cluster, system):
    for case in CASES:
        case.start(cluster, system)
    waiting = list(CASES)
    for case in CASES:
        cluster.until(lambda case=case: case.attempts(cluster), f"{case.name} runs")
    for case in CASES:
        case.end(system, case.job)

    def all_over():
        for case in [case for case in waiting if case.ends(cluster)]:
            waiting.remove(case)
            if not case.returns:
                cluster.work(case.name, 1, "--machine", case.name)
        return all(len(case.ends(cluster)) >= (2 if case.counts else 3) for case in CASES)
    cluster.until(all_over, "all tasks have ended")
    for case in CASES:
        ends = ["LOST", "FAILED"] if case.counts else ["LOST", "FAILED", "FAILED"]
        seen = case.ends(cluster), case.attempts(cluster)
        say(seen == (ends, len(ends)), f"{case.name}: {', '.join(ends)}", (seen, system.said()))
        name = first_worker(cluster, case)
        say(name.split("_")[0] == f"{HOST}-slurm{case.job}", f"{case.name}: its worker", name)
    say(clashes(cluster) == "", "never two of a group at a time", clashes(cluster))


LACK = slurm.lack()
if LACK:
    Tap.skip("workers under Slurm", LACK)
    Tap.end()
with KeyedCluster(lease=LEASE) as cluster, slurm.Slurm() as system:
    system.environment.update(
        HOME=cluster.folder, PATH=f"{os.path.dirname(ROTA_PATH)}:{os.environ['PATH']}")
    the_document_is_right(cluster, system)
    shares_are_slurms(cluster, system)
    ends_are_slurms(cluster, system)
Tap.end()
