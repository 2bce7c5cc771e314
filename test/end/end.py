"""end - helpers for tests that run the real program on real files."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

BUILD = os.environ.get("BUILD", "build")
ROTA = os.path.join(BUILD, "rota")
# The leak sanitizer stops a process while it ends; a SIGCONT in that moment takes the stop back,
# and the process hangs forever. So only other builds get one while they end.
WAKE = () if os.environ.get("SANITIZED") else (signal.SIGCONT,)
STAGES = ("queue", "wait", "ready", "exec", "unstage")


def lend(folder):
    """A copy of the program in this folder, for a user who may not see where it was built."""
    return shutil.copy(ROTA, os.path.join(folder, "rota"))


def change(database, *statements):
    """Changes a database as another program may, and removes the checksums: they are wrong then."""
    link = sqlite3.connect(database, isolation_level=None)
    for statement in (*statements, "VACUUM"):
        link.execute(statement)
    link.close()


class Tap:
    """Counts what it says."""
    number = failed = 0

    @classmethod
    def say(cls, fine, what, note=""):
        cls.number += 1
        cls.failed += not fine
        print(f"{'' if fine else 'not '}ok {cls.number} - {what}")
        if not fine:
            print("# " + str(note).replace("\n", "\n# "))

    @classmethod
    def skip(cls, what, reason):
        cls.number += 1
        print(f"ok {cls.number} - {what} # skip {reason}")

    @classmethod
    def end(cls):
        sys.exit(1 if cls.failed else 0)


class Base:
    """A database in a folder of its own, and the commands on it."""

    def __init__(self):
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="rota-end-", dir=parent)
        self.file = os.path.join(self.folder, "db")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def rota(self, *words, text=None):
        return subprocess.run([ROTA, *words], capture_output=True, text=True, check=False,
                              input=text, timeout=120)

    def define(self, text):
        return self.rota("define", "-", "--db", self.file, text=text)

    def act(self, word, name):
        return self.rota(word, name, "--db", self.file)

    def sql(self, statement):
        done = self.rota("sql", "--json", self.file, statement)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [list(json.loads(line).values()) for line in done.stdout.splitlines()]

    def pretend(self, *words):
        """Carries out what is ready; returns (what, name, status) of each line."""
        done = self.rota("allocator", "--pretend", "--json", "--db", self.file,
                         *(words or ["--once"]))
        if done.returncode:
            raise RuntimeError(done.stderr)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return [(row["what"], row["name"], row["status"]) for row in rows]

    def week(self, start, end):
        """The times, in UTC, at which something was staged on the virtual clock: [(at, name)]."""
        done = self.rota("allocator", "--pretend", "--json", "--db", self.file, "--from", start,
                         "--until", end)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return [(row["at"][:16], row["name"]) for row in rows if row["what"] == "staged"]

    def status(self, name):
        """Of the definition that has this name now."""
        rows = self.sql("select s.status from sched_define d join sched_status s on s.id = d.id"
                        f" where d.name = '{name}'")
        return rows[0][0] if rows else None

    def tables(self):
        """Which task is in which of the tables."""
        found = {}
        for table in STAGES:
            for row in self.sql(f"select j.name from sched_{table} t join sched_job j"
                                " on j.id = t.id"):
                found.setdefault(row[0], []).append(table)
        return found

    def runs(self, name):
        return [row[0] for row in self.sql("select h.status from sched_history h join sched_job j"
                                           f" on j.id = h.id where j.name = '{name}'"
                                           " order by h.seq")]

    def dump(self):
        """Every row of every table."""
        if not os.path.exists(self.file):
            return None
        with sqlite3.connect(f"file:{self.file}?mode=ro", uri=True) as link:
            names = [row[0] for row in link.execute(
                "select name from sqlite_schema where type = 'table' order by 1")]
            return {name: link.execute(f"select * from {name}").fetchall() for name in names}

    def verified(self, what):
        done = self.rota("verify", self.file)
        Tap.say(done.returncode == 0, f"{what}: every promise holds", done.stdout + done.stderr)


def process_state(pid):
    """The letter of a process; Z also when it is gone."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


def stand_still(process):
    """Stops it. A signal is no more than a wish: what it is just doing may take a while."""
    process.send_signal(signal.SIGSTOP)
    while process_state(process.pid) != "T":
        time.sleep(0.01)


def least(enough, attempt, tries=5):
    """The least that some attempts took, or cost; one is enough if it took little enough. A busy
    machine may stop any process for seconds, but not each time."""
    best = attempt()
    while best >= enough and tries > 1:
        best, tries = min(best, attempt()), tries - 1
    return best


def callable_text(name, *keys, command="true"):
    return f"insert_task: {name}\n    command: {command}\n" + "".join(
        f"    {key}\n" for key in keys)
