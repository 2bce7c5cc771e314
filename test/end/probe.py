"""probe - a program that talks to a server through the library of rota_client.h."""
import os
import subprocess

from cluster import PATIENCE
from end import BUILD

OK, WRONG, NO_MEMORY, UNREACHABLE, GONE, TIMED_OUT, DENIED, REFUSED, NOT_NOW, NOT_FOUND, _, \
    STALE, NOTHING, FILE, DAMAGED = range(15)
CLIENT, HANDLER, ADMIN = range(3)


class Probe:
    """A program that talks to a server through the library."""

    def __init__(self):
        self.process = subprocess.Popen([os.path.join(BUILD, "test", "end-client_probe")],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.status = self.process.wait(PATIENCE)
        self.process.stdout.close()

    def begin(self, *words):
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def end(self):
        line = self.process.stdout.readline().rstrip("\n")
        code, _, rest = line.partition(" ")
        return int(code), rest

    def do(self, *words):
        self.begin(*words)
        return self.end()

    def connect(self, address, key="-", role=CLIENT, patience=0):
        return self.do("connect", address, key, role, patience)

    def task(self, *argv, name="-", needs="-", lane="-", reads="-", makes="-"):
        return self.do("task", name, needs, lane, reads, makes, *argv)

    def submit(self):
        return self.do("submit")
