"""runs - job files in a folder of their own, run by the real program."""
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

from end import ROTA
from marked_processes import MarkedProcesses


class Folder(MarkedProcesses):
    """A folder with a job file; `rota run` in it."""

    def __init__(self, text=None, name="job.yaml"):
        self.path = tempfile.mkdtemp(prefix="rota-run-")
        self.name = name
        if text is not None:
            self.write(name, text)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self.path, name), encoding="utf-8") as file:
            return file.read()

    def has(self, name):
        return os.path.exists(os.path.join(self.path, name))

    def words(self, *options):
        return [os.path.abspath(ROTA), "run", *options, self.name]

    def run(self, *options, timeout=300, **more):
        return subprocess.run(self.words(*options), cwd=self.path, capture_output=True, text=True,
                              check=False, timeout=timeout, **more)

    def start(self, *options, **more):
        """In a process group of its own."""
        return subprocess.Popen(self.words(*options), cwd=self.path, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True, **more)

    def events(self, *options):
        """The events of a run with --json, and its exit status."""
        done = self.run("--json", *options)
        return [json.loads(line) for line in done.stdout.splitlines()], done.returncode

    def ran(self, *options):
        """The names of the tasks that were started, sorted."""
        events, _ = self.events(*options)
        return sorted(e["task"] for e in events if e["event"] == "started")

    def wait_for(self, name, seconds=120):
        self.wait_until(lambda: self.has(name), name, seconds)

    @staticmethod
    def wait_until(is_so, what, seconds=120):
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                raise TimeoutError(what)
            time.sleep(0.01)

    def verify(self):
        return subprocess.run([ROTA, "verify", os.path.join(self.path, ".rota/rota.db")],
                              capture_output=True, text=True, check=False)


def kill_group(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()
