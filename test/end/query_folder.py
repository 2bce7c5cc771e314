"""query_folder - a folder with a job file, for tests that run it and query its database."""
import json
import os
import pty
import subprocess
import time

from end import BUILD
from runs import Folder

ROTA = os.path.abspath(os.path.join(BUILD, "rota"))


class QueryFolder(Folder):
    """The commands that ask, in the folder of a run."""

    def __init__(self, text, name="night.yaml"):
        super().__init__(text, name)
        self.file = os.path.join(self.path, name)
        self.database = os.path.join(self.path, ".rota", "rota.db")
        self.others = []

    def __exit__(self, *what):
        for run in self.others:
            if run.poll() is None:
                run.kill()
            run.communicate()
        super().__exit__(*what)

    def rota(self, *words, cwd=None):
        return subprocess.run([ROTA, *words], capture_output=True, check=False, timeout=120,
                              cwd=cwd or self.path, encoding="utf-8", errors="surrogateescape")

    def json(self, *words):
        """The objects that a command prints, one a line."""
        done = self.rota(*words)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def on_terminal(self, *words):
        """The output of the command on a terminal."""
        ours, theirs = pty.openpty()
        with subprocess.Popen([ROTA, *words], cwd=self.path, stdout=theirs, stderr=theirs,
                              stdin=subprocess.DEVNULL) as run:
            os.close(theirs)
            said = b""
            while True:
                try:
                    part = os.read(ours, 4096)
                except OSError:
                    part = b""
                if not part:
                    break
                said += part
            os.close(ours)
            run.wait()
        return said.decode("utf-8", "replace")

    def beside(self, *words, **how):
        """A command that runs in parallel to the script."""
        run = subprocess.Popen([ROTA, *words], cwd=self.path, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, **how)
        self.others.append(run)
        return run

    def fifo(self, name):
        os.mkfifo(os.path.join(self.path, name))

    def release(self, name, word="go"):
        """Lets the task that reads from the fifo continue."""
        self.write(name, word + "\n")

    def status(self, name):
        rows = [row for row in self.json("ps", "-a", "--json") if row["name"] == name]
        return rows[0]["status"] if rows else None

    def until(self, what):
        """Polls for a condition; one that never becomes true is a failure."""
        give_up = time.monotonic() + 120
        while time.monotonic() < give_up:
            try:
                if what():
                    return True
            except RuntimeError:  # there is no database so far
                pass
            time.sleep(0.01)
        return False
