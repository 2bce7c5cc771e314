#!/usr/bin/env python3
"""store_keys_test - HUP: the object store uses the keys that are read again, and no others."""
import hashlib
import signal
import subprocess

from cluster import PATIENCE, ROTA_PATH, KeyedCluster, Process
from end import Tap
from keyed import Key, Keyed

say = Tap.say
TEXT = b"an upload"
ENTRY = f"f:{len(TEXT)}:{hashlib.sha256(TEXT).hexdigest()}"


class Scene(KeyedCluster):
    def hup(self):
        before = self.server.said().count("keys are read again")
        self.server.process.send_signal(signal.SIGHUP)
        self.until(lambda: self.server.said().count("keys are read again") > before, "HUP")

    def keys(self, *words):
        subprocess.run([ROTA_PATH, "keys", *words], check=True, stdout=subprocess.DEVNULL)

    def join(self, name, peer="peer"):
        """A worker whose objects can be had over TCP only."""
        self.workers[name] = Process(
            self.path(name + ".log"), "worker", "--server", self.address, *self.key("worker"),
            "--listen", "127.0.0.1:0", "--peer-key", self.path(f"keys/{peer}.key"), "--name", name,
            "--machine", name, "--folder", self.path(name), "-j", "2")
        self.until(lambda: "works for" in self.workers[name].said(), "it works")

    def make(self, machine):
        """The number of a job whose object only this worker has."""
        done = self.submit({"a": {"run": "echo made > o", "out": ["o"], "keep": True,
                                  "machine": machine}})
        job = done.stdout.split()[1]
        self.rota("wait", job)
        return job

    def get(self, job):
        """Over TCP, so through the server's object store. What came, and what was said."""
        place = self.path(f"got{job}")
        done = subprocess.run([ROTA_PATH, "data", "get", "--server", self.address,
                               *self.key("client"), f"{job}/o", place],
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        return self.read(f"got{job}"), done.stderr, self.server.said()[-3000:]


def same_keys(scene):
    job = scene.make("far")
    for _ in range(2):
        scene.hup()
    told = scene.get(job)
    say(told[0] == "made\n", "after HUP the store fetches from a worker elsewhere", told)


def other_peer_key(scene):
    """The first key of a peer in the server's file is the one it shows."""
    old = scene.path("keys/peer.key")
    with open(old, encoding="utf-8") as file:
        number = file.read().split()[2]
    scene.keys("revoke", number, scene.path("keys/server.keys"))
    scene.keys("add", "peer", scene.path("keys/server.keys"), scene.path("keys/next.key"))
    scene.hup()
    scene.join("next", "next")
    told = scene.get(scene.make("next"))
    say(told[0] == "made\n", "with another key of a peer it shows that one", told)


def revoked_guest(scene):
    """A client is connected to the store when its key goes; another one stays."""
    guests = {role: Keyed(scene.address, Key(scene.path(f"keys/{role}.key")), "PEER")
              for role in ("client", "admin")}
    for guest in guests.values():
        guest.says("OFFER", entries=[ENTRY]).answer("OFFERED")
    with open(scene.path("keys/client.key"), encoding="utf-8") as file:
        scene.keys("revoke", file.read().split()[2], scene.path("keys/server.keys"))
    scene.hup()
    say(guests["client"].answer() == "closed", "a transfer whose key is revoked ends")
    told = guests["admin"].says("OFFER", entries=[ENTRY]).answer("OFFERED")
    say(told[0] == "OFFERED", "another one goes on", told)


with Scene() as cluster:
    cluster.join("far")
    same_keys(cluster)
    other_peer_key(cluster)
    revoked_guest(cluster)
    status = cluster.server.kill(signal.SIGTERM)
    say(status == 0, "and the server ends with 0", (status, cluster.server.said()[-3000:]))
Tap.end()
