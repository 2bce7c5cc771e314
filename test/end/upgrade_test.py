#!/usr/bin/env python3
"""upgrade_test - a database, uploads and programs of protocol 1 meet this version."""
import hashlib
import os
import socket
import sqlite3
import struct
import subprocess
import threading

from cluster import PATIENCE, ROTA_PATH, Cluster, Process
from end import Tap
from hostile import Stranger, frame
from wire import KINDS, VERSION, encode

say = Tap.say
FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "version_1.sql")
REQUEST = "95cdd4ef33cdd279"  # the ids of its uploads are this and a number


def upload(folder, number, kind, data):
    """Puts a content into an object store, and gives it to an upload. Returns its entry."""
    name = hashlib.sha256(data).hexdigest()
    path = os.path.join(folder, "content", name[:2], name[2:] + (".d" if kind == "d" else ""))
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, 0o400)
    size = len(data) if kind == "f" else 5
    entry = f"{kind}:{size}:{name}"
    if number:
        os.makedirs(os.path.join(folder, "object"), mode=0o700, exist_ok=True)
        os.symlink(entry, os.path.join(folder, "object", f"{REQUEST}-{number:016x}"))
    return entry


def old_state(cluster):
    """What the server of version 1 has left."""
    link = sqlite3.connect(cluster.database)
    with open(FIXTURE, encoding="utf-8") as file:
        link.executescript(file.read())
    link.close()
    store = cluster.database + ".data"
    os.mkdir(store, 0o700)
    upload(store, 1, "f", b"hello\n")
    leaf = upload(store, None, "f", b"leaf\n")
    upload(store, 2, "d", f"rota tree 1\n{leaf} - leaf\n".encode())


def database():
    cluster = Cluster()
    old_state(cluster)
    with cluster:
        worker = cluster.work("new")
        done = cluster.rota("wait", "1")
        say(done.returncode == 0, "a job with files that an older server accepted is done",
            (done, worker.said()))
        say(sorted(cluster.ends()) == [("made", "SUCCESS"), ("plain", "SUCCESS"),
                                       ("read", "SUCCESS")], "at the first attempt",
            cluster.ends())
        log = cluster.rota("logs", "1.3")
        say(log.stdout == "hello\nleaf\n", "with its uploads", log)


def old_greeting(role, name):
    words = struct.pack("<III", 1, role, len(name)) + name + b"\0" + struct.pack("<QQ", 7, 1)
    return frame(bytes([KINDS.index("GREET") + 1]) + words)


def old_peers():
    with Cluster() as cluster:
        for role, who in ((1, "client"), (2, "worker")):
            with Stranger(cluster.socket) as peer:
                told = peer.raw(old_greeting(role, b"old")).turned_away()
                say(told == "refuse version"
                    and peer.reason == f"the server speaks protocol {VERSION}, this program 1:"
                                       " install the same version of rota on both",
                    f"a {who} of protocol 1 is told so", (told, peer.reason))


class OldServer:
    """Says what a server of protocol 1 says to any other greeting."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(path)
        self.socket.listen()
        threading.Thread(target=self.answer, daemon=True).start()

    def answer(self):
        while True:
            try:
                link, _ = self.socket.accept()
            except OSError:
                return
            link.recv(1000)
            link.sendall(encode("REFUSE", code=9, reason="that is no message"))
            link.close()


def old_server():
    cluster = Cluster()
    server = OldServer(cluster.socket)
    worker = Process(cluster.path("w.log"), "worker", "--server", cluster.socket, "--name", "w",
                     "--folder", cluster.path("w"))
    cluster.server = worker
    try:
        cluster.until(lambda: "install the same version of rota on both" in worker.said(),
                      "a worker tells that its server is of another version")
        say(True, "a worker tells that its server is of another version")
        done = subprocess.run([ROTA_PATH, "ps", "--server", cluster.socket], capture_output=True,
                              text=True, check=False, timeout=PATIENCE)
        say(done.returncode == 4 and "install the same version of rota on both" in done.stderr,
            "so does a client", done)
    finally:
        server.socket.close()
        cluster.__exit__()


database()
old_peers()
old_server()
Tap.end()
