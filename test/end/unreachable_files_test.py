#!/usr/bin/env python3
"""unreachable_files_test - the folder of a database in use loses its permissions for a while.

Its files are open, so nothing is lost: the server continues. Files that are deleted, replaced or
overwritten meanwhile are noticed all the same.
"""
import atexit
import glob
import os
import re
import shutil
import signal
import subprocess
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


def files_of(inner):
    return [name for name in os.listdir(inner) if not name.endswith(".data")]


def delete(inner, _):
    for name in files_of(inner):
        if not name.endswith("-lock"):  # which says that there were records
            os.remove(name, dir_fd=inner)


def replace(inner, outer):
    os.mkdir("copy", dir_fd=outer)
    copy = os.open("copy", os.O_RDONLY, dir_fd=outer)
    for name in files_of(inner):
        with open(os.open(name, os.O_RDONLY, dir_fd=inner), "rb") as old, \
                open(os.open(name, os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=copy), "wb") as new:
            shutil.copyfileobj(old, new)
    os.rename("inner", "inner.old", src_dir_fd=outer, dst_dir_fd=outer)
    os.rename("copy", "inner", src_dir_fd=outer, dst_dir_fd=outer)
    os.close(copy)


def overwrite(inner, _):
    with open(os.open("server.db-wal", os.O_RDWR, dir_fd=inner), "r+b") as log:
        log.write(bytes(32768))


def folder_is_closed_and(change, remedy):
    """The folders of the files are open here, but above them is one that no process may enter."""
    with Cluster() as cluster:
        closed = cluster.path("closed")
        folder = os.path.join(closed, "outer", "inner")
        os.makedirs(folder)
        cluster.server.kill(signal.SIGTERM)
        cluster.database = os.path.join(folder, "server.db")
        cluster.serve()
        outer = os.open(os.path.dirname(folder), os.O_RDONLY)
        inner = os.open(folder, os.O_RDONLY)
        cluster.submit({"t": {"run": "true"}})
        os.chmod(closed, 0)
        try:
            change(inner, outer)
            status = cluster.server.process.wait(PATIENCE)
        finally:
            os.chmod(closed, 0o700)
            os.close(inner)
            os.close(outer)
        told = cluster.server.said()
        say(status == 70 and remedy in told and "cannot be reached (Permission denied)" in told,
            f"{change.__name__}: noticed in a folder that cannot be reached", told)
        if change is not replace:  # there the files have another folder
            again = subprocess.run([clusters.ROTA_PATH, "server", "--listen", cluster.socket + "2",
                                    "--db", cluster.database], capture_output=True, text=True,
                                   check=False, timeout=PATIENCE)
            say(again.returncode == 2 and ("lost while its folder" in again.stderr
                                           or "notes that it had records" in again.stderr),
                f"{change.__name__}: the next server refuses to start", again.stderr)
        saved = re.search(r"all records are saved in ([^ :]+)", told)
        cluster.database = saved[1] if saved else None
        count = cluster.sql("SELECT count(*) FROM sched_graph")[0][0] if saved else 0
        say(count == 1, f"{change.__name__}: the job is there", told)
        for path in glob.glob(f"{saved[1]}*") if saved else []:
            os.remove(path)


if os.geteuid() == 0:
    be_ordinary()
folder_is_closed()
folder_is_closed_and(delete, "was deleted")
folder_is_closed_and(replace, "was moved")
folder_is_closed_and(overwrite, "was overwritten")
Tap.end()
