#!/usr/bin/env python3
"""command_memory_test - commands of unfinished jobs: memory and database have limits for a key."""
import os

from cluster import KeyedCluster
from end import Tap
from keyed import Key, Keyed
from wire import WIRE, encode

say = Tap.say
MIB = 1 << 20
SANITIZED = os.environ.get("SANITIZED")
NAMES, NAME = 3000, 4000


def resident(cluster):
    with open(f"/proc/{cluster.server.process.pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def submits(peer, low, body):
    """A job for a machine that does not exist."""
    task = {"name": "a", "body": 1, "cores": 1, "machine": 1}
    peer.says("SUBMIT", high=9, low=low, bodies=[body], commands=["x"], tasks=[task],
              machines=["nowhere"])
    return peer.answer()


def limited():
    with KeyedCluster("--commands-mib", "16") as cluster:
        first = cluster.submit({"a": {"run": "true"}})
        say(first.returncode == 0, "an honest client submits before the attack", first.stderr)
        files = [{"kind": WIRE["SOURCE"], "name": f"{i:04}" + "x" * (NAME - 4), "path": "/x"}
                 for i in range(NAMES)]
        body = encode("RUN", argv=["true"], inputs=files)
        before, jobs = resident(cluster), []
        key = Key(cluster.path("keys/client.key"))
        with Keyed(cluster.address, key, "CLIENT") as peer:
            for low in range(40):
                answer = submits(peer, low, body)
                if not isinstance(answer, tuple):
                    break
                jobs.append(answer[1]["job"])
            most = resident(cluster) - before
            say(answer == "refuse busy" and "--commands-mib" in peer.reason,
                "beyond the share of a key more commands are refused", (answer, peer.reason))
            say(10 * 16 * MIB < len(jobs) * len(body) <= 16 * 16 * MIB,
                "the share is 16 times the memory", len(jobs))
            say(most < 120 * MIB or SANITIZED, "they are not in memory", most)
            again = cluster.submit({"a": {"run": "true"}})
            say(again.returncode == 0, "another client submits meanwhile", again.stderr)
            closed = cluster.rota("close", str(jobs[0]))
            answer = submits(peer, 100, body)
            say(closed.returncode == 0 and isinstance(answer, tuple),
                "a closed job gives its part back", (closed, answer))
        answer = None
        with Keyed(cluster.address, key, "CLIENT") as peer:
            answer = submits(peer, 101, body)
        say(answer == "refuse busy", "a new connection changes nothing", answer)
        cluster.work("one")
        for job in ("1", str(jobs[-1] + 1)):
            ended = cluster.rota("wait", job)
            say(ended.returncode == 0, f"job {job} of the honest client runs", ended)


limited()
Tap.end()
