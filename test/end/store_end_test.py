#!/usr/bin/env python3
"""store_end_test - a server that is told to end while clients upload ends cleanly."""
import fcntl
import hashlib
import signal
import subprocess

from cluster import PATIENCE, Cluster
from end import Tap
from hostile import Stranger

say = Tap.say
TEXT = b"an upload"
ENTRY = f"f:{len(TEXT)}:{hashlib.sha256(TEXT).hexdigest()}"
OBJECT = (7, 1 << 62 | 5)


def offer(path, entry=ENTRY):
    peer = Stranger(path, "PEER")
    peer.says("OFFER", entries=[entry]).answer("OFFERED")
    return peer


def stored(path):
    """All of a content is there, and has no name yet."""
    peer = offer(path)
    peer.says("PIECE", entry=ENTRY, offset=0, bytes=len(TEXT)).raw(TEXT)
    peer.answer("STORED")
    return peer


def half_sent(path):
    other = ENTRY.replace(ENTRY[-4:], "0000")
    return offer(path, other).says("PIECE", entry=other, offset=0, bytes=len(TEXT)).raw(TEXT[:4])


def bound(path):
    peer = stored(path)
    peer.says("BIND", object=OBJECT, entry=ENTRY).answer("BOUND")
    return peer


def ends(*uploads):
    with Cluster() as cluster:
        peers = [upload(cluster.socket) for upload in uploads]
        status = cluster.server.kill(signal.SIGTERM)
        say(status == 0, f"SIGTERM, {' and '.join(upload.__name__ for upload in uploads)}: exit 0",
            (status, cluster.server.said()[-3000:]))
        for peer in peers:
            peer.link.close()
        cluster.serve()
        with bound(cluster.socket) as peer:
            say(peer.says("BIND", object=OBJECT, entry=ENTRY).answer("BOUND")[0] == "BOUND",
                "and the next server takes uploads")


def is_listening(cluster):
    try:
        Stranger(cluster.socket).link.close()
    except OSError:
        return False
    return True


def second_signal(comes_at_once):
    """The store's thread hangs: it waits for a lock that this process has."""
    with Cluster() as cluster:
        with open(cluster.path("server.db.data/lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with Stranger(cluster.socket, "PEER") as peer:
                peer.says("OFFER", entries=[ENTRY])
                process = cluster.server.process
                process.terminate()
                if not comes_at_once:
                    cluster.until(lambda: not is_listening(cluster), "the first signal is heard")
                process.send_signal(signal.SIGINT)  # two of one kind might become one
                try:
                    status = process.wait(PATIENCE / 4)
                except subprocess.TimeoutExpired:
                    status = "it runs"
                say(status == 0, "a second signal ends a server whose store hangs"
                    + (", also at once" if comes_at_once else ""), status)


second_signal(False)
second_signal(True)
ends(stored)
ends(half_sent)
ends(bound, stored, half_sent)
Tap.end()
