#!/usr/bin/env python3
"""store_keys_test - SIGHUP: the object store uses the keys that are read again, and no others."""
import hashlib
import json
import signal
import subprocess

from cluster import PATIENCE, ROTA_PATH, KeyedCluster, Process
from end import Tap
from keyed import Key, Keyed

say = Tap.say
TEXT = b"an upload"
ENTRY = f"f:{len(TEXT)}:{hashlib.sha256(TEXT).hexdigest()}"


class Scene(KeyedCluster):
    def __init__(self):
        super().__init__()
        self.options += ["--audit", self.path("audit")]

    def hup(self):
        before = self.server.said().count("keys read again")
        self.server.process.send_signal(signal.SIGHUP)
        self.until(lambda: self.server.said().count("keys read again") > before, "HUP")

    def keys(self, *words):
        subprocess.run([ROTA_PATH, "keys", *words], check=True, stdout=subprocess.DEVNULL)

    def join(self, name, peer="peer"):
        """A worker whose objects can be had over TCP only."""
        self.workers[name] = Process(
            self.path(name + ".log"), "worker", "--server", self.address, *self.key("worker"),
            "--listen", "127.0.0.1:0", "--peer-key", self.path(f"keys/{peer}.key"), "--name", name,
            "--machine", name, "--folder", self.path(name), "-j", "2")
        self.until(lambda: "connected to" in self.workers[name].said(), "it works")

    def make(self, machine):
        """The number of a job whose object only this worker has."""
        done = self.submit({"a": {"run": "echo made > o", "out": ["o"], "keep": True,
                                  "machine": machine}})
        job = done.stdout.split()[1]
        self.rota("wait", job)
        return job

    def get(self, job):
        """Over TCP, so through the server's object store. The bytes, and the message."""
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


def ends_revoked(guest):
    """The last message before the connection is closed."""
    told = None
    while (heard := guest.answer()) not in ("closed", "nothing"):
        told = heard, guest.reason
    return told if heard == "closed" else heard


def disconnects(scene, key):
    with open(scene.path("audit"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [line for line in lines if line["verb"] == "disconnect" and line.get("key") == key]


def uploading(scene, key):
    """In the middle of a file, of which the server has read all that came so far."""
    guest = Keyed(scene.address, key, "PEER")
    entry = f"f:{1 << 22}:{'0' * 64}"
    guest.says("OFFER", entries=[entry]).answer("OFFERED")
    return guest.says("PIECE", entry=entry, offset=0, bytes=1 << 22).raw(b"x" * (1 << 21))


def revoked_guests(scene):
    """A client has transfers with the store, and some that wait, when its key goes."""
    key, served = Key(scene.path("keys/client.key")), 24
    crowd = [uploading(scene, key)]
    for _ in range(served - 1):
        crowd.append(Keyed(scene.address, key, "PEER"))
        crowd[-1].says("OFFER", entries=[ENTRY]).answer("OFFERED")
    waiting = [Keyed(scene.address, key, "PEER") for _ in range(5)]
    admin = Keyed(scene.address, Key(scene.path("keys/admin.key")), "PEER")
    admin.says("OFFER", entries=[ENTRY]).answer("OFFERED")
    with open(scene.path("keys/client.key"), encoding="utf-8") as file:
        number = file.read().split()[2]
    scene.keys("revoke", number, scene.path("keys/server.keys"))
    scene.hup()
    right = ("refuse role", "the key was revoked")
    told = [ends_revoked(guest) for guest in crowd]
    say(told == [right] * served, "transfers whose key is revoked get the reason, and end", told)
    told = [ends_revoked(guest) for guest in waiting]
    say(told == [right] * 5, "and so do those that wait", told)
    line = f"{served + 5} transfers with the object store closed: their keys were removed"
    scene.until(lambda: line in scene.server.said(), "the server says how many")
    scene.until(lambda: len(disconnects(scene, number)) == served + 5, "they are in the audit log")
    say(True, "the server says how many, and the audit log has a line for each")
    told = admin.says("OFFER", entries=[ENTRY]).answer("OFFERED")
    say(told[0] == "OFFERED", "another one continues", told)


with Scene() as cluster:
    cluster.join("far")
    same_keys(cluster)
    other_peer_key(cluster)
    revoked_guests(cluster)
    status = cluster.server.kill(signal.SIGTERM)
    say(status == 0, "and the server ends with 0", (status, cluster.server.said()[-3000:]))
Tap.end()
