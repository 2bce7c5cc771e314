#!/usr/bin/env python3
"""foreign_lock_test - another program locks a database in use.

A server or a run waits for the lock for some seconds, says so, and loses nothing. If that takes too
long, it stops with status 70 and a message, and everything it acknowledged is in the database.
"""
import os
import shutil
import sqlite3
import subprocess
import threading

from cluster import PATIENCE, ROTA_PATH, Cluster
from end import Tap
from runs import Folder, kill_group

ORDERS = ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA wal_checkpoint(RESTART)")
WAITS = "another program has locked the database; waiting"
GAVE_UP = "another program has locked the database for more than"


class Lock:
    """A transaction that writes, in another process than the server's."""

    def __init__(self, database):
        self.link = sqlite3.connect(database, isolation_level=None, timeout=PATIENCE)

    def __enter__(self):
        self.link.execute("BEGIN IMMEDIATE")
        return self

    def __exit__(self, *_):
        self.link.execute("ROLLBACK")
        self.link.close()


def submit_beside(cluster, out):
    words = [ROTA_PATH, "submit", "--server", cluster.socket, cluster.path("job.json")]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    out.append(process)
    return process


def jobs_in(cluster):
    return cluster.sql("SELECT count(*) FROM sched_graph")[0][0]


def server_waits():
    with Cluster() as cluster:
        cluster.submit({"t": {"run": "true"}})
        with Lock(cluster.database):
            client = submit_beside(cluster, [])
            cluster.until(lambda: WAITS in cluster.server.said(), "the server says that it waits")
        accepted = client.wait(PATIENCE) == 0
        Tap.say(accepted and cluster.server.process.poll() is None and jobs_in(cluster) == 2,
                "a server waits for a lock of another program, and continues",
                cluster.server.said())


def server_gives_up():
    with Cluster() as cluster:
        cluster.submit({"t": {"run": "true"}})
        with Lock(cluster.database):
            clients = []
            submit_beside(cluster, clients)
            status = cluster.server.process.wait(PATIENCE)
            said = cluster.server.said()
        clients[0].kill()
        clients[0].wait()
        cluster.serve()
        Tap.say(status == 70 and GAVE_UP in said and jobs_in(cluster) >= 1,
                "a server stops with the reason when the lock is kept", (status, said))


def tools_write_under_load():
    """Each order again and again, while jobs come."""
    with Cluster() as cluster:
        cluster.submit({"t": {"run": "true"}})
        ended, refused = threading.Event(), []

        def orders():
            while not ended.is_set():
                for order in ORDERS:
                    words = ["sqlite3", "-cmd", ".timeout 20000", cluster.database, order]
                    done = subprocess.run(words, capture_output=True, text=True, check=False,
                                          timeout=PATIENCE)
                    if done.returncode:
                        refused.append(done.stderr)

        thread = threading.Thread(target=orders)
        thread.start()
        accepted = 1
        try:
            for _ in range(30):
                accepted += cluster.submit({"t": {"run": "true"}}).returncode == 0
        finally:
            ended.set()
            thread.join()
        cluster.server.kill()
        cluster.serve()
        Tap.say(accepted == 31 and jobs_in(cluster) == 31,
                "a server keeps running while other tools vacuum and checkpoint it",
                (accepted, jobs_in(cluster), cluster.server.said(), refused[:3]))


def run_waits():
    wait = "while ! [ -e go ]; do sleep 0.01; done"
    with Folder(f"tasks:\n  a: {{run: '{wait}'}}\n  b: {{run: 'true', needs: [a]}}\n") as folder:
        with open(os.path.join(folder.path, "said"), "w+", encoding="utf-8") as said:
            process = subprocess.Popen(folder.words(), cwd=folder.path, stdout=said, stderr=said,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            database = os.path.join(folder.path, ".rota", "rota.db")

            def text():
                with open(said.name, encoding="utf-8") as file:
                    return file.read()

            try:
                Cluster.until(folder, lambda: runs(database), "the task runs")
                with Lock(database):
                    folder.write("go", "")
                    Cluster.until(folder, lambda: WAITS in text(), "it waits")
                status = process.wait(PATIENCE)
            finally:
                kill_group(process)
            Tap.say(status == 0, "a run waits for a lock, too", (status, text()))


def runs(database):
    if not os.path.exists(database):
        return False
    link = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return link.execute("SELECT count(*) FROM sched_exec").fetchone()[0]
    finally:
        link.close()


server_waits()
server_gives_up()
if shutil.which("sqlite3"):
    tools_write_under_load()
else:
    Tap.skip("other tools write", "there is no sqlite3 program here")
run_waits()
Tap.end()
