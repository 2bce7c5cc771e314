#!/usr/bin/env python3
"""slow_end_test - no command starts before the last one of its group is gone, also a large one.

The kernel releases the locks of a killed worker at once, and takes a while to end a command with
much memory. Each command holds a lock that the next one would find taken.
"""
import json
import os
import re
import signal
import subprocess
import time

from cluster import PATIENCE, ROTA_PATH, Cluster
from end import Tap
from groups import clashes, probe
from runs import Folder

MEMORY, ROUNDS = 700, 8  # MiB; without the wait for the end, more than half of the rounds failed


def runner_of(pid):
    """The process that runs commands: the only child."""
    with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as file:
        return int(file.read().split()[0])


def big(folder, number):
    """Tasks of one group: a large one that stays, and whatever runs after it."""
    return probe(folder, 0, 30, f"big{number}", MEMORY)


def killed_agent(options, what):
    with Cluster() as cluster:
        cluster.work("w1", 2, *options)
        for number in range(ROUNDS):
            # The second attempt finds the file, and ends at once.
            up = cluster.path(f"up.big{number}")
            script = big(cluster.folder, number)[2].replace(
                " python3", f" test -e {up} || python3")
            cluster.submit({"big": {"run": ["sh", "-c", script], "lane": "line", "group": "g"}},
                           lanes={"line": {}})
            cluster.until(lambda path=up: os.path.exists(path), "the memory is in use")
            cluster.workers["w1"].kill()
            cluster.work("w1", 2, *options)
            ended = cluster.rota("wait", str(number + 1))
            if ended.returncode or clashes(cluster):
                break
        said = cluster.workers["w1"].said()
        Tap.say(ended.returncode == 0 and not clashes(cluster) and number == ROUNDS - 1, what,
                (ended, clashes(cluster), said))


def killed_run():
    """With the process that runs its commands, as the end of a container or a batch job does it."""
    with Folder("tasks: {}") as folder:
        for number in range(ROUNDS):
            up = os.path.join(folder.path, f"up.big{number}")
            script = big(folder.path, number)[2].replace(" python3", f" test -e {up} || python3")
            folder.write("run.json", json.dumps({"tasks": {"big": {"run": ["sh", "-c", script]}}}))
            words = [ROTA_PATH, "run", "--fresh", "run.json"]
            with subprocess.Popen(words, cwd=folder.path, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as first:
                while not os.path.exists(up):
                    time.sleep(0.01)
                runner = runner_of(first.pid)
                os.kill(runner, signal.SIGKILL)
                first.kill()
            second = subprocess.run(words, cwd=folder.path, check=False, timeout=PATIENCE,
                                    capture_output=True, text=True)
            clash = os.path.exists(os.path.join(folder.path, "clash"))
            if second.returncode or clash:
                break
        Tap.say(second.returncode == 0 and not clash and number == ROUNDS - 1,
                "a run waits for the commands of a killed run and worker process",
                (number, clash, second))


def waiting_is_told():
    """The note of another process stands for that of a worker that does not end."""
    with Cluster() as cluster:
        cluster.work("w1")
        note = cluster.path("w1/process")
        cluster.until(lambda: "connected" in cluster.workers["w1"].said(), "it is connected")
        cluster.workers["w1"].kill()
        with subprocess.Popen(["sleep", "60"]) as other:
            with open(note, encoding="utf-8") as file:
                words = file.read().split()
            with open(f"/proc/{other.pid}/stat", encoding="utf-8") as file:
                began = file.read().split()[21]
            with open(note, "w", encoding="utf-8") as file:
                file.write(" ".join([str(other.pid), began, *words[2:]]) + "\n")
            log = cluster.path("again.log")
            cluster.workers["w1"].log = log
            cluster.work("w1")
            told = cluster.until(lambda: "waiting for the processes of the earlier worker"
                                 in cluster.workers["w1"].said(), "it says that it waits")
            ends = cluster.workers["w1"].kill(signal.SIGTERM)
            cluster.work("w1")
            time.sleep(0.3)
            before = re.findall("connected", cluster.workers["w1"].said())
            other.kill()
        cluster.until(lambda: len(re.findall("connected", cluster.workers["w1"].said()))
                      > len(before), "it connects")
        Tap.say(told and ends == 0 and len(before) == 1,
                "a worker says that it waits for an earlier one, and a signal ends it",
                (ends, before))


def others_are_not_waited_for():
    """The number of an earlier worker now belongs to another process."""
    with Cluster() as cluster, subprocess.Popen(["sleep", "60"]) as other:
        cluster.work("w1")
        cluster.until(lambda: "connected" in cluster.workers["w1"].said(), "it is connected")
        cluster.workers["w1"].kill()
        note = cluster.path("w1/process")
        with open(note, encoding="utf-8") as file:
            words = file.read().split()
        for changed in ([str(other.pid), *words[1:]],
                        [str(other.pid), "0", "another-boot", *words[3:]], ["damaged"], []):
            with open(note, "w", encoding="utf-8") as file:
                file.write(" ".join(changed) + "\n")
            count = cluster.workers["w1"].said().count("connected")
            cluster.work("w1")
            cluster.until(lambda before=count: cluster.workers["w1"].said().count("connected")
                          > before, "it connects")
            cluster.workers["w1"].kill()
        other.kill()
    Tap.say(True, "a worker does not wait for another process with the number of an earlier one")


if os.getuid() == 0:
    killed_agent([], "a task starts when the namespace of a killed worker is empty")
    killed_run()
else:
    Tap.skip("no command starts before a killed one is gone", "namespaces need root")
killed_agent(["--contain", "tree"], "or, without a namespace, its process tree")
waiting_is_told()
others_are_not_waited_for()
Tap.end()
