#!/usr/bin/env python3
"""flood_soak - all kinds of floods at the same time, with 8 honest clients and 3 workers.

    flood_soak.py [--seconds N] [--seed S]

One key floods the server with reads of its own upload, slow uploads, messages and submissions that
never end, and queries whose answers it does not read; workers of another key begin messages that
never end; a worker names objects without an end; strangers connect. The honest clients submit, put,
get and query with another key. All their requests must succeed, 99 of 100 requests of each kind in
less than 1 s, and the server must need less than 300 MB.
"""
import argparse
import collections
import hashlib
import multiprocessing
import os
import socket
import subprocess
import sys
import threading
import time

import seed
from cluster import PATIENCE, ROTA_PATH, KeyedCluster
from hostile import Stranger, job_of
from keyed import Key, Keyed
from wire import WIRE, encode

CLIENTS, WORKERS, CALM = 8, 3, 5
MIB = 1 << 20
UPLOAD = (1 << 62) | 5


def content(text):
    return f"f:{len(text)}:{hashlib.sha256(text).hexdigest()}"


# ---- Floods: each is called again when its connections have ended --------------------------------

def reads(place):
    """Of an upload of its own, without a pause."""
    text = b"mine"
    with Keyed(place.address, place.key, "PEER", "rota") as peer:
        peer.says("OFFER", entries=[content(text)]).answer("OFFERED")
        peer.says("PIECE", entry=content(text), offset=0, bytes=len(text)).raw(text)
        peer.answer("STORED")
        peer.says("BIND", object=(7, UPLOAD), entry=content(text)).answer()
    lot = encode("DATA", high=1, low=2, verb=WIRE["DATA_READ"], object=(7, UPLOAD)) * 300
    with Keyed(place.address, place.key, "CLIENT") as peer:
        while not place.is_over():
            peer.link.socket.sendall(lot)
            for _ in range(300):
                peer.link.take()


def slow_uploads(place):
    """A byte now and then, on as many connections as there may be."""
    crowd = []
    for number in range(100):
        peer = Keyed(place.address, place.key, "PEER", "rota")
        text = b"%d" % number + b"x" * MIB
        crowd.append(peer.says("PIECE", entry=content(text), offset=0, bytes=len(text)))
    for _ in range(10):
        for peer in crowd:
            peer.raw(b"x")
        time.sleep(0.5)


def strangers(place):
    held = []
    host, port = place.address.rsplit(":", 1)
    while not place.is_over():
        held = held[-200:] + [socket.create_connection((host, int(port)))]
        socket.create_connection((host, int(port))).close()


def unfinished(place):
    crowd = [Keyed(place.address, place.key, "CLIENT") for _ in range(30)]
    for peer in crowd:
        peer.link.socket.settimeout(0.1)
        peer.raw((15 * MIB).to_bytes(4, "little") + b"\x18" + b"x" * (14 * MIB))
    time.sleep(5)


def unfinished_reports(place):
    """33 workers take all that their key may have and send little, so the others get none."""
    crowd = [Keyed(place.address, place.worker_key, "WORKER", f"unfinished{i}") for i in range(100)]
    for number, peer in enumerate(crowd):
        peer.link.socket.settimeout(1)
        peer.raw((16 * MIB - 4).to_bytes(4, "little") + b"\x18"
                 + b"x" * (100000 if number < 33 else 14 * MIB))
    time.sleep(5)


def submissions(place):
    tasks = [{"name": "x" * 200, "body": 1, "cores": 1}] * 5000
    words = encode("SUBMIT", **job_of(5, tasks, flags=WIRE["SUBMIT_MORE"]))
    with Keyed(place.address, place.key, "CLIENT") as peer:
        while not place.is_over() and peer.answer("REFUSE", seconds=0.05) == "nothing":
            peer.link.socket.sendall(words)


def held(place):
    """A worker that holds unknown objects."""
    with Stranger(place.socket, "WORKER", "liar") as peer:
        peer.says("JOIN", cores=1, machine="nowhere")
        first = 1
        while not place.is_over():
            lot = [{"object": (i, i), "kind": 1} for i in range(first, first + 4000)]
            peer.link.socket.sendall(encode("HELD", objects=lot))
            first += 4000
            peer.says("BEAT", sent=1).answer("BEATEN")


def unread_queries(place):
    crowd = [Keyed(place.address, place.key, "CLIENT", room=4096) for _ in range(40)]
    for peer in crowd:
        for request in range(8):
            peer.says("ASK", request=request, words=["ps", "--all", "--job", "1"])
    time.sleep(5)


FLOODS = (reads, slow_uploads, strangers, unfinished, unfinished_reports, submissions, held,
          unread_queries)


class Place:
    """Where the floods go, and when they end."""

    def __init__(self, cluster, seconds):
        self.address, self.socket = cluster.address, cluster.socket
        self.end = time.monotonic() + seconds
        self.key, self.path = None, cluster.path("keys/client.key")
        self.worker_key, self.worker_path = None, cluster.path("keys/worker.key")

    def is_over(self):
        return time.monotonic() > self.end


def flood(what, place, rounds):
    """In a process of its own, with low priority: floods come from other machines."""
    os.nice(10)
    place.key, place.worker_key = Key(place.path), Key(place.worker_path)
    while not place.is_over():
        try:
            rounds.value += 1
            what(place)
        except (EOFError, OSError):
            time.sleep(0.05)


# ---- Honest clients ------------------------------------------------------------------------------

class Honest:
    """The requests, how long they took, and which failed."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.took, self.failed = collections.defaultdict(list), []

    def rota(self, command, *words):
        began = time.monotonic()
        done = subprocess.run([ROTA_PATH, *command.split(), "--server", self.cluster.address,
                               "--key", self.cluster.path("keys/honest.key"), *words],
                              capture_output=True, text=True, check=False, timeout=PATIENCE,
                              cwd=self.cluster.folder)
        self.took[command].append(time.monotonic() - began)
        if done.returncode:
            self.failed.append(f"{command}: {done.returncode} {done.stderr.strip()[:200]}")
        return done

    def work(self, number, end, bytes_of):
        job = self.cluster.path(f"honest{number}.json")
        with open(job, "w", encoding="utf-8") as file:
            file.write('{"tasks": {"a": {"run": "true"}, "b": {"run": "true", "needs": ["a"]}}}')
        while time.monotonic() < end:
            self.rota("submit", job)
            with open(self.cluster.path(f"file{number}"), "wb") as file:
                file.write(bytes_of(100000))
            name = self.rota("data put", f"file{number}").stdout.split()
            back = self.cluster.path(f"back{number}")
            if name and self.rota("data get", name[0], back).returncode == 0:
                with open(back, "rb") as one, open(file.name, "rb") as other:
                    if one.read() != other.read():
                        self.failed.append("data get: other bytes")
            self.rota("ps")
            self.rota("jobs")

    def run(self, seconds, chance):
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=self.work, args=(number, end, chance.randbytes))
                   for number in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def tell(self, when):
        """Prints it; the time that 99 of 100 requests need, of the kind that needs longest."""
        every, longest = sorted(sum(self.took.values(), [])), 0
        for command, took in [*self.took.items(), ("all", every)]:
            took.sort()
            longest = max(longest, took[len(took) * 99 // 100])
            print(f"# {when}: {command}: {len(took)} requests, p50 {took[len(took) // 2]:.3f} s,"
                  f" p99 {took[len(took) * 99 // 100]:.3f} s, longest {took[-1]:.3f} s")
        return longest


# ---- All of it -----------------------------------------------------------------------------------

def peak(process):
    with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
        return [int(line.split()[1]) >> 10 for line in file if line.startswith("VmHWM")][0]


def soak(cluster, seconds, chance):
    calm, honest = Honest(cluster), Honest(cluster)
    calm.run(CALM, chance)
    calm.tell("without floods")
    place = Place(cluster, seconds + 1)
    rounds = [multiprocessing.Value("I", 0) for _ in FLOODS]
    floods = [multiprocessing.Process(target=flood, args=(what, place, count), daemon=True)
              for what, count in zip(FLOODS, rounds)]
    for process in floods:
        process.start()
    honest.run(seconds, chance)
    late = honest.tell("beside floods")
    for process in floods:
        process.terminate()
        process.join()
    print("# floods begun: " + ", ".join(f"{what.__name__} {count.value}"
                                         for what, count in zip(FLOODS, rounds)))
    most = peak(cluster.server.process)
    load = os.getloadavg()[0]
    print(f"# server: at most {most} MB; load of the machine {load:.1f}, {os.cpu_count()} cores")
    done = cluster.submit({"after": {"run": "true"}}, "--wait")
    wrong = [*calm.failed, *honest.failed]
    for line in wrong[:20]:
        print(f"# {line}")
    for fine, what in ((not wrong, f"all honest requests succeed ({len(wrong)} failed)"),
                       (late < 1, f"99 of 100 requests of each kind in {late:.3f} s"),
                       (most < 300 or os.environ.get("SANITIZED"), f"server at {most} MB"),
                       (done.returncode == 0, "a job runs afterwards")):
        print(f"{'ok' if fine else 'not ok'} - {what}")
        if not fine:
            wrong.append(what)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    chance = seed.chance()
    with KeyedCluster("--key-memory", "16") as cluster:
        subprocess.run([ROTA_PATH, "keys", "add", "client", cluster.path("keys/server.keys"),
                        cluster.path("keys/honest.key")], check=True, stdout=subprocess.DEVNULL)
        cluster.server.kill()
        cluster.serve()
        for number in range(WORKERS):
            cluster.work(f"worker{number}", 2)
        cluster.submit({f"t{i}{'x' * 200}": {"run": "true"} for i in range(2000)}, "--wait")
        return soak(cluster, options.seconds, chance)


sys.exit(main())
