"""cluster - a real server and real workers on this machine, in a folder of their own."""
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

from end import ROTA

ROTA_PATH = os.path.abspath(ROTA)
PATIENCE = 120  # longer than any machine is busy


class Process:
    """A process of rota whose output goes into a file. Words may precede its command line."""

    def __init__(self, log, *words, before=()):
        self.log = log
        with open(log, "ab") as file:
            self.process = subprocess.Popen([*before, ROTA_PATH, *words], stdout=file, stderr=file,
                                            stdin=subprocess.DEVNULL)

    def kill(self, number=signal.SIGKILL):
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as file:
            return file.read()


class Cluster:
    """Ends all that it has started when it is left.

    The lease is longer than a busy machine lets a process wait. Tests that lose a worker on purpose
    give a shorter one.
    """
    program = ROTA_PATH

    def __init__(self, *options, lease=20):
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.folder = tempfile.mkdtemp(prefix="rota-cluster-", dir=parent)
        self.socket = os.path.join(self.folder, "server.sock")
        self.database = os.path.join(self.folder, "server.db")
        self.options = ["--lease", str(lease), *options]
        self.server, self.workers = None, {}

    def __enter__(self):
        self.serve()
        return self

    def __exit__(self, *_):
        for process in [*self.workers.values(), self.server]:
            process.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        try:
            with open(self.path(name), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return ""

    def touch(self, name):
        with open(self.path(name), "w", encoding="utf-8"):
            pass

    def serve(self):
        self.server = Process(self.path("server.log"), "server", "--listen", self.socket, "--db",
                              self.database, *self.options)
        self.until(lambda: os.path.exists(self.socket) and self.rota("ps").returncode != 4,
                   "the server listens")

    def work(self, name, cores=2, *options):
        self.workers[name] = Process(self.path(name + ".log"), "worker", "--server", self.socket,
                                     "--name", name, "--folder", self.path(name), "-j",
                                     str(cores), *options)
        return self.workers[name]

    def rota(self, command, *words):
        return subprocess.run([ROTA_PATH, command, "--server", self.socket, *words],
                              capture_output=True, text=True, check=False, timeout=PATIENCE,
                              cwd=self.folder)

    def job(self, tasks, **rest):
        """Writes a job file; tasks by name."""
        path = self.path("job.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({**rest, "tasks": tasks}, file)
        return path

    def submit(self, tasks, *words, **rest):
        return self.rota("submit", self.job(tasks, **rest), *words)

    def sql(self, statement):
        link = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)
        try:
            return link.execute(statement).fetchall()
        finally:
            link.close()

    def ends(self):
        """How the attempts of each task ended."""
        rows = self.sql("SELECT j.name, h.status FROM sched_history h JOIN sched_job j USING (id)"
                        " ORDER BY h.seq")
        return [tuple(row) for row in rows]

    def until(self, what, name, patience=PATIENCE):
        end = time.monotonic() + patience
        while time.monotonic() < end:
            try:
                if what():
                    return True
            except sqlite3.OperationalError:
                pass
            time.sleep(0.02)
        raise RuntimeError(f"gave up waiting for: {name}\n" + self.told())

    def remove(self, name):
        """A folder of a worker that was killed: what ran its tasks ends, and tidies up, later."""
        def is_gone():
            shutil.rmtree(self.path(name), ignore_errors=True)
            return not os.path.exists(self.path(name))
        self.until(is_gone, name + " is gone")

    def told(self):
        logs = [self.server, *self.workers.values()]
        return "\n".join(f"{process.log}: {process.said()[-2000:]}" for process in logs)


class KeyedCluster(Cluster):
    """The server also listens at a port of this machine, which requires keys."""

    def __init__(self, *options, lease=20):
        super().__init__(*options, lease=lease)
        subprocess.run([ROTA_PATH, "keys", "make", self.path("keys")], check=True,
                       stdout=subprocess.DEVNULL)
        self.options += ["--listen", "127.0.0.1:0", "--keys", self.path("keys/server.keys")]
        self.address = None

    def key(self, role):
        return ["--key", self.path(f"keys/{role}.key")]

    def serve(self):
        before = self.server.said().count("127.0.0.1:") if self.server else 0
        super().serve()
        self.until(lambda: self.server.said().count("127.0.0.1:") > before, "the port is told")
        self.address = "127.0.0.1:" + self.server.said().rsplit("127.0.0.1:", 1)[1].split()[0]


def seconds_marked(seconds):
    """Seconds for `sleep`, with digits that identify its process among those of all tests."""
    return f"{seconds}.{os.getpid():010}"


def processes_with(word):
    """Processes whose command line or environment names this."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/cmdline", "rb") as file:
                if word.encode() in file.read():
                    found.append(int(number))
        except OSError:
            pass
    return [number for number in found if number != os.getpid()]
