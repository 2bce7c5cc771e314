#!/usr/bin/env python3
"""unreachable_files_test - the folder of a database in use loses its permissions for a while.

Its files are open, so nothing is lost: the server continues. A deleted file is noticed later.
"""
import atexit
import os
import shutil
import signal
import tempfile
import time

import cluster as clusters
from cluster import PATIENCE, Cluster
from end import Tap, lend

say = Tap.say
USER = 61004  # a user without a name that no other process has


def be_ordinary():
    """Root may enter any folder. Others may not see where the program was built."""
    folder = tempfile.mkdtemp(prefix="rota-lent-")
    clusters.ROTA_PATH = lend(folder)
    os.chown(folder, USER, USER)
    atexit.register(shutil.rmtree, folder)
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)


def jobs(cluster):
    return cluster.sql("SELECT count(*) FROM sched_graph")[0][0]


def folder_is_closed():
    with Cluster() as cluster:
        folder = cluster.path("state")
        os.mkdir(folder)
        cluster.server.kill(signal.SIGTERM)
        cluster.database = os.path.join(folder, "server.db")
        cluster.serve()
        before = sorted(os.listdir(folder))
        os.chmod(folder, 0)
        try:
            accepted, end = 0, time.monotonic() + 4  # the server looks at its files each second
            while cluster.server.process.poll() is None and time.monotonic() < end:
                accepted += cluster.submit({"t": {"run": "true"}}).returncode == 0
            is_there = cluster.server.process.poll() is None
        finally:
            os.chmod(folder, 0o700)
        say(is_there and accepted, "a server whose folder cannot be entered continues",
            cluster.server.said())
        say(jobs(cluster) == accepted, "and records all jobs in its files", accepted)
        say(sorted(os.listdir(folder)) == before, "and makes no copies", os.listdir(folder))
        os.remove(cluster.database + "-wal")
        status = cluster.server.process.wait(PATIENCE)
        say(status == 70 and "-wal was deleted" in cluster.server.said(),
            "later it notices a deleted file", cluster.server.said())


if os.geteuid() == 0:
    be_ordinary()
folder_is_closed()
Tap.end()
