#!/usr/bin/env python3
"""upgrade_test - programs that use protocol 1 work with this version."""
import socket
import struct
import subprocess
import threading

from cluster import PATIENCE, ROTA_PATH, Cluster, Process
from end import Tap
from hostile import Stranger, frame
from wire import KINDS, VERSION, encode

say = Tap.say


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
                    f"a {who} of protocol 1 is refused with the reason", (told, peer.reason))


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


old_peers()
old_server()
Tap.end()
