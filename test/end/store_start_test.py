#!/usr/bin/env python3
"""store_start_test - a server that has just started knows the contents of its object store."""
import hashlib
import os
import socket
import sys
import time

from cluster import PATIENCE, Cluster, Process
from end import Tap
from hostile import CODES, Stranger
from wire import VERSION, WIRE, Link, encode

say = Tap.say
UPLOADS = 20000
ROUNDS = int(sys.argv[sys.argv.index("--rounds") + 1]) if "--rounds" in sys.argv else 5
TEXT = b"an upload"
ENTRY = f"f:{len(TEXT)}:{hashlib.sha256(TEXT).hexdigest()}"
FIRST = 1 << 62


def uploads_bind(path):
    """One content, with so many names that the list is long. The number of those acknowledged."""
    with Stranger(path, "PEER") as peer:
        peer.says("OFFER", entries=[ENTRY]).answer("OFFERED")
        peer.says("PIECE", entry=ENTRY, offset=0, bytes=len(TEXT)).raw(TEXT)
        peer.answer("STORED")
        fine = 0
        for first in range(0, UPLOADS, 1000):
            peer.raw(b"".join(encode("BIND", object=(7, FIRST | number), entry=ENTRY)
                              for number in range(first, first + 1000)))
            fine += sum(peer.answer()[0] == "BOUND" for _ in range(1000))
        return fine


def first_read(cluster):
    """The server's answer to a client that asks as soon as it listens."""
    end = time.monotonic() + PATIENCE
    words = (encode("GREET", version=VERSION, role=WIRE["CLIENT"], name="early", boot=7,
                    connection=1)
             + encode("DATA", high=1, low=2, verb=WIRE["DATA_READ"],
                      object=(7, FIRST | (UPLOADS - 1))))
    while time.monotonic() < end:
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(PATIENCE)
        try:
            link.connect(cluster.socket)
            link.sendall(words)
        except OSError:
            link.close()
            continue
        peer = Link(link)
        peer.take()
        kind, fields = peer.take()
        peer.close()
        return f"{CODES[fields['code']]}: {fields['reason'].decode()}" if kind == "REFUSE" else kind
    return "no server listens"


def starts():
    with Cluster() as cluster:
        fine = uploads_bind(cluster.socket)
        say(fine == UPLOADS, f"{UPLOADS} uploads are acknowledged", fine)
        told = []
        for _ in range(ROUNDS):
            cluster.server.kill()
            os.unlink(cluster.socket)
            cluster.server = Process(cluster.path("server.log"), "server", "--listen",
                                     cluster.socket, "--db", cluster.database)
            told.append(first_read(cluster))
        say(told == ["FETCH"] * ROUNDS, f"the last one can be read after {ROUNDS} kills", told)


def modes():
    """The folder of the store was created, or restored, with access for all users."""
    with Cluster() as cluster:
        cluster.server.kill()
        folder = cluster.path("server.db.data")
        os.chmod(folder, 0o777)
        cluster.serve()
        mode = os.stat(folder).st_mode & 0o7777
        say(mode == 0o700, "a folder that others may use is corrected", oct(mode))


modes()
starts()
Tap.end()
