#!/usr/bin/env python3
"""checksum_test - each page of a database has a checksum.

Damage to any page of a closed database is found by `rota verify`, and a server refuses what it
reads of it. Other programs may read, make checkpoints and copies. If they write, rota refuses the
file and says what to do.
"""
import json
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import time

import seed
from cluster import PATIENCE, ROTA_PATH, Cluster, Process
from end import Tap
from runs import Folder

PAGE, RESERVED = 2048, 16
DAMAGED = "does not match its checksum: another program wrote to this database"
say = Tap.say


def rota(*words):
    return subprocess.run([ROTA_PATH, *words], capture_output=True, text=True, check=False,
                          timeout=PATIENCE, errors="replace")


def read(path):
    with open(path, "rb") as file:
        return file.read()


class Copies:
    """Copies of a database, each with something else wrong in it."""

    def __init__(self, cluster):
        self.data = read(cluster.database)
        self.folder = cluster.path("copies")
        self.path = os.path.join(self.folder, "db")
        self.pages = len(self.data) // PAGE

    def page(self, number):
        return self.data[(number - 1) * PAGE:number * PAGE]

    def write(self, number, page):
        """The database with this page instead of its own."""
        self.write_all(self.data[:(number - 1) * PAGE] + page + self.data[number * PAGE:])

    def write_all(self, data):
        shutil.rmtree(self.folder, ignore_errors=True)
        os.mkdir(self.folder)
        with open(self.path, "wb") as file:
            file.write(data)

    def serve(self, *options):
        """The exit status of a server, or None if it listens; and its output."""
        socket = os.path.join(self.folder, "socket")
        server = Process(os.path.join(self.folder, "log"), "server", "--listen", socket, "--db",
                         self.path, *options)
        end = time.monotonic() + PATIENCE
        while server.process.poll() is None and "listening" not in server.said():
            if time.monotonic() > end:
                raise TimeoutError(server.said())
            time.sleep(0.005)
        status = server.process.poll()
        server.kill()
        return status, server.said()

    def is_named(self, number):
        """Whether verify names exactly this page."""
        done = rota("verify", self.path)
        return (done.returncode == 1 and done.stdout.splitlines() ==
                [f"{self.path}: page {number} does not match its checksum",
                 f"{self.path}: 1 broken"])


def history(cluster):
    """Some jobs: long texts in overflow pages, and rows that were deleted again."""
    cluster.work("one")
    for i in range(6):
        tasks = {f"t{i}-{j}": {"run": f"echo {'long ' * 900 if j == 3 else j}"} for j in range(30)}
        cluster.submit(tasks, "--wait")
    cluster.submit({"b": {"run": "true", "out": ["x"]}}, "--wait")
    cluster.workers.pop("one").kill()


# ---- Damage --------------------------------------------------------------------------------------


def random_bytes(copies, choose):
    missed, wrong, refused = [], [], 0
    for number in range(1, copies.pages + 1):
        page = copies.page(number)
        at = choose.randrange(PAGE - 64 + 1)
        copies.write(number, page[:at] + choose.randbytes(64) + page[at + 64:])
        # The first bytes say that it is a database: without them there is no more to say.
        is_header = number == 1 and at < 100
        is_refused = is_header and rota("verify", copies.path).returncode
        if not is_refused and not copies.is_named(number):
            missed.append((number, at))
        before = read(copies.path)
        status, said = copies.serve()
        refused += status == 2
        if status not in (None, 2) or (status == 2 and read(copies.path) != before):
            wrong.append((number, at, status, said))
        if status == 2 and not is_header and f"page {number} {DAMAGED}" not in said:
            wrong.append((number, at, said))
    say(not missed, f"64 random bytes in each of {copies.pages} pages: verify names the page",
        missed)
    say(not wrong and refused * 2 > copies.pages,
        "a server refuses what it reads of that, and changes nothing", (refused, wrong[:3]))
    print(f"# {refused} of {copies.pages} refused by the server")


def reserved_bytes(copies, choose):
    missed = []
    for at in range(PAGE - RESERVED, PAGE):
        number = choose.randrange(1, copies.pages + 1)
        page = bytearray(copies.page(number))
        page[at] ^= 1 << choose.randrange(8)
        copies.write(number, bytes(page))
        if not copies.is_named(number):
            missed.append((number, at))
    say(not missed, "a flipped bit in the checksum itself is found", missed)


def other_pages(copies, choose):
    missed = []
    for number in range(2, copies.pages + 1):
        other = choose.choice([i for i in range(2, copies.pages + 1) if i != number])
        copies.write(number, copies.page(other))
        if not copies.is_named(number):
            missed.append((number, other))
    say(not missed, "a page in the place of another is found", missed)


def free_leaves(copies):
    """Free pages whose content means nothing."""
    leaves, trunk = set(), struct.unpack_from(">I", copies.data, 32)[0]
    while trunk:
        following, count = struct.unpack_from(">II", copies.page(trunk))
        leaves.update(struct.unpack_from(f">{count}I", copies.page(trunk), 8))
        trunk = following
    return leaves


def zeros(copies):
    """Without a checksum, as a page that another program wrote."""
    missed = []
    for number in range(1, copies.pages + 1):
        copies.write(number, bytes(PAGE))
        if not rota("verify", copies.path).returncode:
            missed.append(number)
    leaves = free_leaves(copies)
    say(set(missed) == leaves, "a page of zeros is found unless it is free", (missed, leaves))
    print(f"# {len(leaves)} of {copies.pages} pages are free")


def many(copies):
    broken = bytearray(copies.data)
    for number in range(1, copies.pages + 1):
        broken[number * PAGE - 100] ^= 1
    copies.write_all(bytes(broken))
    done = rota("verify", "--json", copies.path)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    shown = min(copies.pages, 100)
    say(done.returncode == 1 and rows[-1] == {"file": copies.path, "count": copies.pages}
        and [row["broken"] for row in rows[:shown]]
        == [f"{copies.path}: page {i} does not match its checksum" for i in range(1, shown + 1)],
        "verify --json names all of them", done.stdout[-300:])
    done = rota("sql", copies.path, "select count(*) from sched_task")
    say(done.returncode == 2 and DAMAGED in done.stderr, "a query is refused, too", done)


# ---- Other programs ------------------------------------------------------------------------------


def statement_run(path, sql):
    link = sqlite3.connect(path, isolation_level=None, timeout=PATIENCE)
    rows = link.execute(sql).fetchall()
    link.close()
    return rows


def remedy_run(said):
    """Runs the command of the message as a person would."""
    subprocess.run(re.search("run: (sqlite3 '.*' VACUUM);", said)[1], shell=True, check=True)


def copies_are_taken(copies):
    original = os.path.join(os.path.dirname(copies.folder), "original")
    with open(original, "wb") as file:
        file.write(copies.data)
    for how in ("VACUUM INTO", "backup"):
        copies.write_all(b"")
        os.remove(copies.path)
        link, copy = sqlite3.connect(original), None
        if how == "backup":
            copy = sqlite3.connect(copies.path)
            link.backup(copy)
            copy.close()
        else:
            link.execute(f"VACUUM INTO '{copies.path}'")
        link.close()
        done = rota("verify", copies.path)
        status, said = copies.serve("--restored")
        say(done.returncode == 0 and status is None, f"a copy by {how} is taken",
            (done, status, said))


def writes_are_refused(copies):
    copies.write_all(copies.data)
    statement_run(copies.path, "UPDATE sched_task SET command = 'false'")
    before = read(copies.path)
    status, said = copies.serve()
    say(status == 2 and DAMAGED in said and "--restored" in said
        and read(copies.path) == before,
        "a file that another program wrote to is refused with the reason and a remedy",
        (status, said))
    remedy_run(said)
    status, said = copies.serve()
    done = rota("verify", copies.path)
    say(status is None and done.returncode == 0, "the remedy that it names works", (said, done))


def old_database(copies):
    """Without reserved bytes: as made by a rota without checksums."""
    copies.write_all(copies.data)
    link = sqlite3.connect(copies.path)
    text = "\n".join(link.iterdump())
    numbers = [link.execute(f"PRAGMA {name}").fetchone()[0]
               for name in ("user_version", "application_id")]
    link.close()
    copies.write_all(b"")
    link = sqlite3.connect(copies.path)
    link.executescript(f"PRAGMA page_size = {PAGE}; PRAGMA user_version = {numbers[0]};"
                       f" PRAGMA application_id = {numbers[1]}; {text}")
    link.close()
    is_old = read(copies.path)[20] == 0
    status, said = copies.serve()
    done = rota("verify", copies.path)
    say(is_old and status is None and done.returncode == 0,
        "a database without reserved bytes is used without checksums", (status, said, done))


def running_server():
    with Cluster() as cluster:
        cluster.submit({"t": {"run": "true"}})
        statement_run(cluster.database, "UPDATE sched_task SET name = 'other'")
        # It tries again for as long as there is no server.
        client = subprocess.Popen([ROTA_PATH, "submit", "--server", cluster.socket,
                                   cluster.job({"u": {"run": "true"}})],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        status = cluster.server.process.wait(PATIENCE)
        client.kill()
        client.wait()
        say(status == 70 and DAMAGED in cluster.server.said(),
            "a server whose database another program writes to stops with status 70",
            (status, cluster.server.said()))
        remedy_run(cluster.server.said())
        cluster.serve()
        name = statement_run(cluster.database, "SELECT name FROM sched_task WHERE id & 1")[0][0]
        done = rota("verify", cluster.database)
        say(name == "other" and done.returncode == 0,
            "after the remedy that it names, it continues with what that program wrote",
            (name, done))


def checkpoint_of_another():
    """After `kill -9` another program makes a checkpoint: the pages keep their checksums."""
    with Cluster() as cluster:
        for i in range(20):
            cluster.submit({f"t{i}-{j}": {"run": "true"} for j in range(10)})
        cluster.server.kill()
        had_log = os.path.getsize(cluster.database + "-wal") > 0
        statement_run(cluster.database, "SELECT count(*) FROM sched_task")
        has_no_log = not os.path.exists(cluster.database + "-wal")
        data = read(cluster.database)
        bare = [i // PAGE for i in range(PAGE, len(data) + 1, PAGE)
                if data[i - RESERVED:i] == bytes(RESERVED)]
        done = rota("verify", cluster.database)
        say(had_log and has_no_log and not bare and done.returncode == 0,
            "pages of the log have checksums, too", (had_log, has_no_log, bare, done))
        cluster.serve()


def run_is_refused():
    with Folder("tasks:\n  a: {run: 'true'}\n") as folder:
        folder.run()
        database = os.path.join(folder.path, ".rota/rota.db")
        statement_run(database, "UPDATE sched_task SET name = 'other'")
        done = folder.run()
        say(done.returncode == 2 and DAMAGED in done.stderr and "--restored" not in done.stderr,
            "rota run refuses it, too", done)
        done = subprocess.run([ROTA_PATH, "ps"], cwd=folder.path, capture_output=True, text=True,
                              check=False)
        say(done.returncode == 2 and DAMAGED in done.stderr, "and so does rota ps", done)


def main():
    choose = seed.chance()
    with Cluster() as cluster:
        history(cluster)
        cluster.server.kill(15)
        copies = Copies(cluster)
        say(copies.pages >= 40 and not os.path.exists(cluster.database + "-wal"),
            "a database that no process uses has some pages", copies.pages)
        random_bytes(copies, choose)
        reserved_bytes(copies, choose)
        other_pages(copies, choose)
        zeros(copies)
        many(copies)
        copies_are_taken(copies)
        writes_are_refused(copies)
        old_database(copies)
    running_server()
    checkpoint_of_another()
    run_is_refused()
    Tap.end()


main()
