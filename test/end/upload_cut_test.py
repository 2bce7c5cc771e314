#!/usr/bin/env python3
"""upload_cut_test - an interrupted upload resumes, for any time, while it makes progress.

A client waits for a server for 60 s, and so does this test: nothing else depends on time.
"""
import os
import subprocess
import time

from cluster import PATIENCE, ROTA_PATH, Cluster
from end import Tap
from proxy import Proxy, Way

say = Tap.say
SIZE = 8 << 20
WAIT = 60
SOON = 200_000  # less than the server keeps of a part


def put(cluster, name):
    """`rota data put` through a proxy, of a file of its own."""
    with open(cluster.path(name), "wb") as file:
        file.write(os.urandom(SIZE))
    return subprocess.Popen([ROTA_PATH, "data", "put", "--server", cluster.path(name + ".sock"),
                             cluster.path(name)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def slow(_):
    return {"up": Way(most=8192, delay=0.1)}  # more than the server takes for a stall


def cut_late(proxy, upload):
    time.sleep(WAIT + 2)
    say(upload.poll() is None, "an upload takes longer than a client waits", upload.poll())
    count, before = proxy.count, proxy.passed["up"]
    proxy.rule = lambda number: {}
    proxy.drop()
    told = upload.communicate(timeout=PATIENCE)
    again = proxy.passed["up"] - before
    say(upload.returncode == 0 and proxy.count > count, "it is cut, and resumes",
        (upload.returncode, proxy.count, told))
    say(0 < again < SIZE, "from where it was", (before, again))


def cut_soon(proxy, upload):
    """Each connection is cut before the server keeps anything."""
    told = upload.communicate(timeout=PATIENCE)
    say(upload.returncode != 0 and proxy.count > 2, "an upload that never gets further is given up",
        (upload.returncode, proxy.count, told))


with Cluster() as scene:
    with Proxy(scene.path("late.sock"), scene.socket) as late, \
            Proxy(scene.path("soon.sock"), scene.socket) as soon:
        late.rule = slow
        soon.rule = lambda number: {"up": Way(cut=SOON)}
        uploads = put(scene, "late"), put(scene, "soon")
        cut_late(late, uploads[0])
        cut_soon(soon, uploads[1])
Tap.end()
