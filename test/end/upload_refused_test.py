#!/usr/bin/env python3
"""upload_refused_test - a client that is refused while it sends a file stops, and says why."""
import os
import socket
import subprocess
import tempfile
import threading

from cluster import PATIENCE, ROTA_PATH
from end import Tap
from wire import VERSION, WIRE, Link

say = Tap.say
SIZE, BEFORE, AFTER = 64 << 20, 1 << 20, 16 << 20


class FullServer(threading.Thread):
    """Takes a little of a file, has no room for the rest, and counts what comes nevertheless."""

    def __init__(self, path):
        super().__init__(daemon=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.came, self.is_over = 0, threading.Event()
        self.start()

    def run(self):
        while not self.is_over.is_set():
            peer = self.listener.accept()[0]
            threading.Thread(target=self.serve, args=(Link(peer),), daemon=True).start()

    def serve(self, link):
        if self.is_file_sent(link):
            self.read(link.socket, BEFORE)
            link.send("REFUSE", code=WIRE["REFUSED_FULL"], reason="the disk is full")
            self.read(link.socket, SIZE)
            self.is_over.set()

    @staticmethod
    def is_file_sent(link):
        """False: the connection ends before that."""
        try:
            while True:
                kind, fields = link.take()
                if kind == "GREET":
                    link.send("WELCOME", version=VERSION)
                elif kind == "OFFER":
                    for entry in fields["entries"]:
                        link.send("WANT", entry=entry.decode(), offset=0)
                    link.send("OFFERED", wanted=len(fields["entries"]))
                elif kind == "PIECE":
                    return True
        except EOFError:
            return False

    def read(self, peer, count):
        while count > 0 and (piece := peer.recv(1 << 16)):
            self.came += len(piece)
            count -= len(piece)


with tempfile.TemporaryDirectory() as folder:
    place, name = os.path.join(folder, "socket"), os.path.join(folder, "file")
    with open(name, "wb") as file:
        file.truncate(SIZE)
    server = FullServer(place)
    done = subprocess.run([ROTA_PATH, "data", "put", "--server", place, name], text=True,
                          capture_output=True, check=False, timeout=PATIENCE)
    server.is_over.wait(PATIENCE)
    say(done.returncode != 0 and "the disk is full" in done.stderr, "it says why", done)
    say(server.came < AFTER, "it does not send the rest", server.came)
Tap.end()
