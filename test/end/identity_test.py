#!/usr/bin/env python3
"""identity_test - a worker is identified by name, folder and key: duplicates, copies, other keys.
"""
import os
import re
import shutil
import subprocess

from cluster import PATIENCE, ROTA_PATH, Cluster, KeyedCluster, Process
from end import Tap
from groups import clashes, probes
from hostile import Stranger
from wire import VERSION, WIRE

say = Tap.say


def works(cluster, process, times=1):
    cluster.until(lambda: process.said().count("connected to") >= times, "a worker works")


def duplicate(cluster, name, folder, *words):
    """A worker that is expected to end at once; its exit status, and what it said."""
    if os.path.exists(cluster.path("duplicate.log")):
        os.unlink(cluster.path("duplicate.log"))
    process = Process(cluster.path("duplicate.log"), "worker", "--server", cluster.socket, "--name",
                      name, "--folder", cluster.path(folder), *words)
    try:
        return process.process.wait(PATIENCE), process.said()
    finally:
        process.kill()


def running(cluster):
    """Begins a task that waits for the file "go"; returns when it runs."""
    cluster.submit({"held": {"run": f"until test -e {cluster.path('go')}; do sleep 0.05; done"}})
    cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_exec WHERE status = 'RUNNING'"), "runs")


def attempts(cluster):
    cluster.touch("go")
    cluster.rota("wait", "1")
    return sorted(cluster.sql("SELECT attempt, status FROM sched_history"))


def in_use(address, said):
    return re.search(rf'name "vm" is in use by {address} since \d\d:\d\d; start with --name, '
                     r"or wait until its lease ends", said)


def one_name():
    with Cluster(lease=60) as cluster:
        works(cluster, cluster.work("vm"))
        running(cluster)
        status, said = duplicate(cluster, "vm", "other")
        say(status == 2 and in_use("a process of the server's machine", said),
            "a second worker of a name is refused", (status, said))
        shutil.copytree(cluster.path("vm"), cluster.path("copy"), symlinks=True,
                        ignore=lambda _, names: [name for name in names if name == "sock"])
        status, said = duplicate(cluster, "vm", "copy")
        say(status == 2 and "was copied" in said, "a copied folder is noticed", (status, said))
        status, said = duplicate(cluster, "vm2", "copy")
        say(status == 2 and "was copied" in said, "also under another name", (status, said))
        hostile(cluster)
        say(attempts(cluster) == [(1, "SUCCESS")], "the first has lost nothing",
            cluster.sql("SELECT * FROM sched_history"))


def hostile(cluster):
    """A worker's key and any name are all it takes to greet; it is not enough."""
    for boot in range(1, 4):
        with Stranger(cluster.socket) as peer:
            peer.says("GREET", version=VERSION, role=WIRE["WORKER"], name="vm", boot=boot,
                      connection=2 ** 63 + boot)
            peer.says("JOIN", cores=64, memory_mib=1 << 20)
            told = peer.turned_away()
            say(told == "refuse name", f"a hostile greeting is refused ({boot})", told)


def again():
    """A killed worker with a long lease: the lock of its folder shows that it is gone."""
    with Cluster(lease=600) as cluster:
        worker = cluster.work("vm")
        works(cluster, worker)
        running(cluster)
        worker.kill()
        cluster.until(lambda: cluster.rota("ps").returncode == 0, "the server answers")
        works(cluster, cluster.work("vm"), 2)
        found = attempts(cluster)
        say(found[-1] == (2, "SUCCESS"), "a worker that was killed takes over at once", found)


def another_machine():
    with Cluster(lease=2) as cluster:
        worker = cluster.work("vm")
        works(cluster, worker)
        running(cluster)
        worker.kill()
        shutil.move(cluster.path("vm"), cluster.path("burnt"))
        cluster.until(lambda: not cluster.sql("SELECT 1 FROM sched_exec"), "the lease has ended")
        works(cluster, cluster.work("vm"), 2)
        found = attempts(cluster)
        say(found[-1] == (2, "SUCCESS"), "a new machine gets the name when the old lease has ended",
            found)


def forget(cluster, name):
    return subprocess.run([ROTA_PATH, "worker", "forget", name, "--server", cluster.socket],
                          capture_output=True, text=True, check=False)


def another_key():
    with KeyedCluster(lease=4) as cluster:
        keys = cluster.path("keys/server.keys")
        made = subprocess.run([ROTA_PATH, "keys", "add", "worker", keys,
                               cluster.path("second.key")],
                              capture_output=True, text=True, check=False)
        say(made.returncode == 0, "another key is made", made)
        cluster.server.process.send_signal(1)
        cluster.until(lambda: "keys read again" in cluster.server.said(), "HUP")
        first = cluster.work("vm", 2, "--server", cluster.address, *cluster.key("worker"))
        works(cluster, first)
        status, said = duplicate(cluster, "vm", "other", "--server", cluster.address,
                            *cluster.key("worker"))
        say(status == 2 and in_use(r"127\.0\.0\.1:\d+", said),
            "the message has its address and time", (status, said))
        first.kill(15)
        other = ["--server", cluster.address, "--key", cluster.path("second.key")]
        status, said = duplicate(cluster, "vm", "vm", *other)
        say(status == 2 and "belongs to key" in said and "rota worker forget vm" in said,
            "a name belongs to the key that used it first", (status, said))
        cluster.server.kill()
        cluster.serve()
        other[1] = cluster.address
        status, said = duplicate(cluster, "vm", "vm", *other)
        say(status == 2, "also for the next server", (status, said))
        # The server may have been killed before it knew that the first one has left.
        cluster.until(lambda: forget(cluster, "vm").returncode == 0, "its lease has ended")
        say(True, "an admin frees the name")
        second = cluster.work("vm", 2, *other)
        works(cluster, second, 2)
        say(True, "and the other key has it")
        done = forget(cluster, "vm")
        say(done.returncode == 3 and "the name is in use" in done.stderr,
            "a name that is in use is not freed", done)


def thirty():
    with Cluster(lease=60) as cluster:
        works(cluster, cluster.work("vm", 15))
        cluster.submit(probes(cluster.folder, "t", 30, 15, lambda: 1), lanes={"line": {}})
        for i in range(5):
            duplicate(cluster, "vm", f"other{i}", "-j", "15")
        done = cluster.rota("wait", "1")
        say(done.returncode == 0 and "30 ok" in done.stdout, "thirty tasks and duplicates", done)
        say(cluster.sql("SELECT max(attempt) FROM sched_history") == [(1,)], "each ran once")
        say(not clashes(cluster), "no two of a group at a time", clashes(cluster))


def names():
    """Without --name, under a batch system: the worker says its name with each line."""
    jobs = [({"SLURM_JOB_ID": "77", "SLURM_PROCID": "0"}, "-slurm77:"),
            ({"SLURM_JOB_ID": "77", "SLURM_STEP_ID": "3", "SLURM_PROCID": "2"}, "-slurm77_3_2:"),
            ({"PBS_JOBID": "12[3].server.example"}, "-pbs12-3-:"),
            ({"JOB_ID": "9", "SGE_TASK_ID": "4"}, "-sge9_4:"),
            ({"JOB_ID": "9", "SGE_TASK_ID": "undefined"}, "-sge9:"),
            ({"LSB_JOBID": "5", "LSB_JOBINDEX": "0"}, "-lsf5:"),
            ({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "POD_NAME": "batch-x7k2p"}, " batch-x7k2p:")]
    with Cluster() as cluster:
        for set_here, end in jobs:
            home = {**os.environ, "XDG_STATE_HOME": cluster.path("state"), **set_here}
            with subprocess.Popen([ROTA_PATH, "worker", "--server", cluster.socket], text=True,
                                  stderr=subprocess.PIPE, env=home) as worker:
                line = next(line for line in worker.stderr if "connected to" in line)
                worker.kill()
            say(end in line, f"the name under a batch system: ...{end[:-1]}", line)
        folders = os.listdir(cluster.path("state/rota"))
        say(len(folders) == len(jobs), "each has a folder of its own", folders)


def loose_folder():
    """Other users could put reports into a folder that they may write to."""
    with Cluster() as cluster:
        folder = cluster.path("vm")
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        cluster.work("vm")
        cluster.until(lambda: "connected to" in cluster.read("vm.log"), "it works")
        mode = os.stat(folder).st_mode & 0o777
        say(mode & 0o027 == 0, "a folder that others may write to is closed to them", oct(mode))


for test in (names, loose_folder, one_name, again, another_machine, another_key, thirty):
    test()
Tap.end()
