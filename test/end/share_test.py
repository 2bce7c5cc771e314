#!/usr/bin/env python3
"""share_test - a worker offers the processors and memory that it may use, not those of the machine.
"""
import contextlib
import json
import os
import shutil
import subprocess

from end import ROTA, Tap
from workers import Cluster, run_tests, same, test

CGROUP = "/sys/fs/cgroup"
ONE = str(min(os.sched_getaffinity(0)))


def offered(*before, options=(), **environment):
    """The fields of JOIN of a worker that was started with these arguments."""
    with Cluster() as cluster:
        words = [*before, ROTA, "worker", "--server", cluster.address, "--folder", cluster.folder,
                 "--name", "w1", *options]
        cluster.process = subprocess.Popen(words, stdin=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL,
                                           env={**os.environ, "MARK": cluster.path, **environment})
        joined = cluster.accept().welcome().joined
        return joined["cores"], joined["memory_mib"]


@test
def affinity_counts():
    same("taskset", offered("taskset", "-c", ONE)[0], 1)
    same("-j wins", offered("taskset", "-c", ONE, options=("-j", "7"))[0], 7)


@test
def the_batch_system_counts():
    same("Slurm", offered(SLURM_JOB_ID="1", SLURM_CPUS_ON_NODE="1", SLURM_MEM_PER_NODE="300"),
         (1, 300))
    same("Slurm, memory for each processor",
         offered(SLURM_JOB_ID="1", SLURM_CPUS_ON_NODE="1", SLURM_MEM_PER_CPU="200"), (1, 200))
    same("Slurm, one of two processes of a step on this node",
         offered(SLURM_JOB_ID="1", SLURM_STEP_ID="0", SLURM_CPUS_ON_NODE="2", SLURM_NODEID="2",
                 SLURM_MEM_PER_NODE="400", SLURM_STEP_TASKS_PER_NODE="1(x2),2"), (1, 200))
    same("Slurm, one of two with memory for each processor",
         offered(SLURM_JOB_ID="1", SLURM_STEP_ID="0", SLURM_CPUS_ON_NODE="2", SLURM_NODEID="0",
                 SLURM_MEM_PER_CPU="40", SLURM_STEP_TASKS_PER_NODE="2(x3)"), (1, 40))
    for name, job in (("NSLOTS", "JOB_ID"), ("PBS_NUM_PPN", "PBS_JOBID"), ("NCPUS", "PBS_JOBID"),
                      ("LSB_DJOB_NUMPROC", "LSB_JOBID")):
        same(name, offered(**{name: "1", job: "7"})[0], 1)
    whole = offered()
    same("more than there is", offered(SLURM_JOB_ID="1", SLURM_CPUS_ON_NODE="9999",
                                       SLURM_MEM_PER_NODE="0"), whole)
    same("without a job, nothing", offered(NCPUS="1" if whole[0] > 1 else "2"), whole)


@contextlib.contextmanager
def group(controller, files):
    """A real cgroup of version 1 or 2, in the one that this process is in, with these limits."""
    base = os.path.join(CGROUP, controller) if os.path.isdir(os.path.join(CGROUP, controller)) \
        else CGROUP
    path = os.path.join(base, f"rota-test-{os.getpid()}")
    try:
        os.mkdir(path)
        for name, value in files.items():
            with open(os.path.join(path, name), "w", encoding="utf-8") as file:
                file.write(value)
        yield path
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(path)


def in_group(path):
    return "sh", "-c", f"echo $$ > {path}/cgroup.procs && exec \"$@\"", "sh"


@test
def a_real_cgroup_counts():
    first = os.path.exists(f"{CGROUP}/cpu/cpu.cfs_quota_us") or os.path.isdir(f"{CGROUP}/memory")
    cpu = {"cpu.cfs_period_us": "100000", "cpu.cfs_quota_us": "90000"} if first \
        else {"cpu.max": "90000 100000"}
    memory = {("memory.limit_in_bytes" if first else "memory.max"): str(500 << 20)}
    for name, files, at, expected in (("cpu", cpu, 0, 1), ("memory", memory, 1, 500)):
        try:
            with group(name, files) as path:
                same(f"cgroup {name}", offered(*in_group(path))[at], expected)
        except OSError as error:
            Tap.skip(f"cgroup {name}", f"no cgroup can be made here: {error}")


@test
def rota_run_counts_alike():
    with Cluster() as cluster:
        with open(cluster.file("job.yaml"), "w", encoding="utf-8") as file:
            file.write("tasks:\n  'a{{index}}': {run: sleep 0.05, foreach: [1, 2, 3]}\n")
        done = subprocess.run(["taskset", "-c", ONE, os.path.abspath(ROTA), "run", "--json",
                               "job.yaml"], cwd=cluster.path, capture_output=True, text=True,
                              check=False)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    times = sorted((e["began"], e["ended"]) for e in events if e["event"] == "ended")
    same("three ran", len(times), 3)
    same("one after the other", [a for a, b in zip(times, times[1:]) if b[0] < a[1]], [])


if __name__ == "__main__":
    if not shutil.which("taskset"):
        Tap.skip("all", "there is no taskset")
        Tap.end()
    run_tests()
