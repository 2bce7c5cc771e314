#!/usr/bin/env python3
"""store_disk_test - uploads when the disk of the server is full."""
import ctypes
import hashlib
import os
import shutil
import subprocess
import sys

from cluster import PATIENCE, ROTA_PATH, KeyedCluster
from end import Tap
from keyed import Key, Keyed

say = Tap.say
MIB = 1 << 20
DISK = 200 * MIB
NEWNS, PRIVATE, RECURSIVE = 0x20000, 1 << 18, 1 << 14


def mount_small(folder):
    """A disk of 200 MiB that only this process and its children see."""
    libc = ctypes.CDLL(None, use_errno=True)
    fine = libc.unshare(NEWNS) == 0 \
        and libc.mount(b"none", b"/", None, PRIVATE | RECURSIVE, None) == 0 \
        and libc.mount(b"tmpfs", os.fsencode(folder), b"tmpfs", 0, b"size=%d" % DISK) == 0
    return None if fine else os.strerror(ctypes.get_errno())


def entry_of(name, size):
    return f"f:{size}:{hashlib.sha256(name).hexdigest()}"


def free(folder):
    return shutil.disk_usage(folder).free


class Filler:
    """An upload that sends as much as it is told to, and never the rest."""

    def __init__(self, cluster, role, size):
        self.peer = Keyed(cluster.address, Key(cluster.path(f"keys/{role}.key")), "PEER")
        entry = entry_of(role.encode(), size)
        self.peer.says("OFFER", entries=[entry]).answer("OFFERED")
        self.peer.says("PIECE", entry=entry, offset=0, bytes=size)

    def fill(self, cluster, folder, left):
        while (more := free(folder) - left) > 0:
            before = free(folder)
            self.peer.raw(b"x" * min(more, MIB))
            cluster.until(lambda: free(folder) < before, "it is written")


def put(cluster, name, size):
    """`rota data put` of random bytes, by a user of this machine."""
    with open(cluster.path(name), "wb") as file:
        file.write(os.urandom(size))
    done = subprocess.run([ROTA_PATH, "data", "put", "--server", cluster.socket,
                           cluster.path(name)], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    os.remove(cluster.path(name))
    return done


def a_part_makes_room(cluster, folder):
    filler = Filler(cluster, "client", DISK - MIB)
    filler.fill(cluster, folder, 20 * MIB)
    filler.peer.link.close()
    done = put(cluster, "after", 40 * MIB)
    say(done.returncode == 0, "part: what was left of an upload makes room for another",
        done.stderr)


def an_upload_makes_room(cluster, folder):
    filler = Filler(cluster, "client", DISK - MIB)
    filler.fill(cluster, folder, 20 * MIB)
    done = put(cluster, "beside", 40 * MIB)
    say(done.returncode == 0, "upload: the larger one makes room for one of another key",
        done.stderr)
    told = filler.peer.answer("REFUSE")
    say(told == "refuse full", "upload: and gets the reason", (told, filler.peer.reason))
    filler.peer.link.close()


def something_is_left(cluster, folder):
    """A file larger than the disk has room for."""
    before = free(folder)
    done = put(cluster, "large", min(before + MIB, DISK))
    say(done.returncode != 0 and "no space" in done.stderr,
        "large: one that does not fit is refused", (done.returncode, done.stderr))
    cluster.until(lambda: free(folder) > before - MIB, "it is removed")
    told = cluster.submit({"a": {"run": "true"}})
    say(told.returncode == 0, "large: and jobs can be submitted", told.stderr)


def main():
    folder = KeyedCluster()
    place = folder.path("disk")
    os.mkdir(place)
    fault = "needs root" if os.geteuid() else mount_small(place)
    if fault:
        print(f"ok 1 - a small disk # SKIP {fault}\n1..1")
        return 0
    folder.database = os.path.join(place, "server.db")
    with folder as cluster:
        for test in (a_part_makes_room, an_upload_makes_room, something_is_left):
            test(cluster, place)
    Tap.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
