"""kill - runs a program, kills it at a chosen system call, and checks the files it left.

The program may be any command line that works on a database file and resumes when it is run again.
`{database}` in its words is replaced by the file.
"""
import collections
import os
import re
import shutil
import sqlite3
import subprocess
import tempfile

BUILD = os.environ.get("BUILD", "build")
ROTA = os.path.join(BUILD, "rota")
CALLS = ("pwrite64", "write", "fdatasync", "fsync", "ftruncate", "rename", "unlink")
SECONDS_MAX = 300

# Columns that differ between two equal runs: the number of turns, and times.
TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name <> 'sched_event'"
PASSING = {"turn", "asked", "since", "seq", "started", "ended", "done", "plan_end", "plan_took",
           "last_fired", "silent_since"}
PASSING_OF = {"sched_worker": {"joined"}, "sched_define": {"settled"}}
ORDER_OF = {"sched_worker": "joined"}  # which counts, not the number

# The lines of a play that are on record.
REQUESTS = "SELECT substr(answer, 1, instr(answer || ' ', ' ') - 1) FROM sched_request"

Killed = collections.namedtuple("Killed", "killed output")


def folder():
    """A folder for databases of tests: in memory, if the machine has one."""
    return tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)


def surroundings():
    """A program under strace cannot look for leaks."""
    return dict(os.environ, ASAN_OPTIONS="detect_leaks=0")


class Program:
    """A command line, and the output with which it acknowledges a change."""

    def __init__(self, name, words, acknowledged=r"^ok (\d+)$", recorded=REQUESTS, setup=None,
                 again=None):
        self.name, self.words, self.setup, self.again = name, words, setup, again or words
        self.acknowledged = re.compile(acknowledged, re.M)
        self.recorded = recorded  # asks a database for what it says it has done

    def argv(self, database, words=None):
        return [word.replace("{database}", database) for word in words or self.words]

    def go_on(self, database):
        return subprocess.run(self.argv(database, self.again), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=surroundings(), timeout=SECONDS_MAX, check=False)

    def prepare(self, database):
        """Runs before the kills, undisturbed."""
        if self.setup:
            subprocess.run(self.argv(database, self.setup), stdout=subprocess.DEVNULL, check=True,
                           timeout=SECONDS_MAX)

    def run(self, database, before=(), **more):
        return subprocess.run([*before, *self.argv(database)], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=dict(surroundings(), **more), timeout=SECONDS_MAX, check=False)

    def count_calls(self, database):
        """How often an undisturbed run makes each call."""
        log = database + ".calls"
        self.prepare(database)
        done = self.run(database, strace(["-o", log]))
        if done.returncode:
            raise RuntimeError(f"{self.name} does not even run: {done.stdout}")
        with open(log, encoding="utf-8", errors="replace") as file:
            found = re.findall(r"^(?:\d+ +)?(\w+)\(", file.read(), re.M)
        os.unlink(log)
        return collections.Counter(call for call in found if call in CALLS)

    def kill(self, database, call, when):
        """Runs it until right before that call of its kind."""
        self.prepare(database)
        done = self.run(database, strace(["-o", "/dev/null", "-e",
                                          f"inject={call}:signal=KILL:when={when}"]))
        return Killed(done.returncode in (-9, 137), done.stdout)

    def kill_with(self, killer, database, when):
        """The same, whatever kind of call it is, with a killer that is preloaded."""
        done = self.run(database, LD_PRELOAD=killer, KILL_AT=str(when))
        return Killed(done.returncode == -9, done.stdout)

    def lines(self, output):
        return set(self.acknowledged.findall(output))


def killer_make(place):
    """Compiles killer.c; the path of the library, or None."""
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "killer.c")
    library = os.path.join(place, "killer.so")
    done = subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-O1", "-o", library,
                           source, "-ldl"], check=False)
    return library if done.returncode == 0 else None


def strace(words):
    return ["strace", "-f", "-qq", "-e", "trace=" + ",".join(CALLS), *words]


def has_strace():
    if not shutil.which("strace"):
        return False
    tried = subprocess.run([*strace(["-o", "/dev/null"]), "true"], capture_output=True, check=False)
    return tried.returncode == 0


# ---- What must hold --------------------------------------------------------------------------


def ask(database, sql):
    done = subprocess.run([ROTA, "sql", database, sql], capture_output=True, text=True, check=False,
                          timeout=SECONDS_MAX)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.splitlines()[1:]


def lost(database, acknowledged, recorded):
    """The acknowledged tasks that are not on record."""
    if not acknowledged:
        return set()
    return acknowledged - {answer.strip() for answer in ask(database, recorded)}


def unsound(database):
    """The findings of rota verify."""
    done = subprocess.run([ROTA, "verify", database], capture_output=True, text=True, check=False,
                          timeout=SECONDS_MAX)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def is_unborn(wrong):
    """The kill came before the transaction that makes the tables. Until that one there is no log
    but a journal, which a connection that only reads cannot roll back."""
    expected = ("No such file", "of another program", "readonly database")
    return any(text in wrong for text in expected)


def dump(database):
    """All tables without what passes, as rows that can be compared."""
    tables = {}
    link = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    for (table,) in link.execute(TABLES).fetchall():
        order = ORDER_OF.get(table)
        cursor = link.execute(f"SELECT * FROM {table} ORDER BY {order or 1}")
        passing = PASSING | PASSING_OF.get(table, set())
        kept = [i for i, column in enumerate(cursor.description) if column[0] not in passing]
        rows = [repr([row[i] for i in kept]) for row in cursor]
        tables[table] = rows if order else sorted(rows)
    link.close()
    return tables


def difference(wanted, found):
    for table in wanted:
        if wanted[table] != found[table]:
            missing = [row for row in wanted[table] if row not in found[table]][:3]
            extra = [row for row in found[table] if row not in wanted[table]][:3]
            return f"{table}: missing {missing}, extra {extra}"
    return ""


def twice(database):
    """Attempts that the history has more than once."""
    return ask(database, "SELECT job, task, attempt FROM sched_history GROUP BY id, attempt"
                         " HAVING count(*) > 1")


def complaint_after_kill(program, database, acknowledged):
    """The fault in a file right after a kill, or ""."""
    wrong = unsound(database)
    if wrong and not acknowledged and is_unborn(wrong):
        return ""
    if wrong:
        return f"rota verify: {wrong}"
    missing = lost(database, acknowledged, program.recorded)
    return f"acknowledged, and lost: {sorted(missing)}" if missing else ""


def complaint_at_end(program, database, wanted):
    """Runs it to its end; what is wrong then."""
    done = program.go_on(database)
    if done.returncode:
        return f"resuming ended with status {done.returncode}: {done.stdout[-2000:]}"
    wrong = unsound(database)
    if wrong:
        return f"rota verify at the end: {wrong}"
    again = twice(database)
    return f"twice in the history: {again}" if again else difference(wanted, dump(database))
