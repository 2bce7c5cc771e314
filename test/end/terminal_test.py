#!/usr/bin/env python3
"""terminal_test - which processes of rota can use the terminal that rota was started in."""
import fcntl
import os
import pty
import pwd
import subprocess
import termios
import threading
import time

from cluster import PATIENCE, Cluster, ROTA_PATH
from end import Tap
from runs import Folder

say = Tap.say
# With another user's terminal a task could type commands for that user (TIOCSTI).
ASK = "if (: < /dev/tty) 2>/dev/null; then echo open; else echo closed; fi"


class Terminal:
    """A pseudo-terminal, and a program in the foreground of it."""

    def __init__(self, *words, cwd=None):
        self.master, slave = pty.openpty()
        self.text = b""
        self.process = subprocess.Popen(words, stdin=slave, stdout=slave, stderr=slave, cwd=cwd,
                                        preexec_fn=lambda: self.take(slave))
        os.close(slave)
        threading.Thread(target=self.read, daemon=True).start()

    @staticmethod
    def take(slave):
        os.setsid()
        fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self.master)

    def read(self):
        try:
            while piece := os.read(self.master, 4096):
                self.text += piece
        except OSError:
            pass

    def until_said(self, words):
        end = time.monotonic() + PATIENCE
        while words.encode() not in self.text and time.monotonic() < end:
            time.sleep(0.02)
        return words.encode() in self.text


def a_worker(*options):
    with Cluster() as cluster:
        os.chmod(cluster.folder, 0o755)
        with Terminal(ROTA_PATH, "worker", "--server", cluster.socket, "--name", "w", "--folder",
                      cluster.path("w"), *options) as terminal:
            terminal.until_said("connected to")
            cluster.submit({"a": {"run": ASK}}, "--wait")
            seen = cluster.rota("logs", "1.1").stdout
            say(seen == "closed\n", f"a task of a worker {' '.join(options)} has no terminal",
                (seen, terminal.text))


def a_run():
    with Folder("tasks:\n  a: {run: '" + ASK + " > seen'}\n") as folder:
        with Terminal(*folder.words(), cwd=folder.path) as terminal:
            status = terminal.process.wait(PATIENCE)
        say(status == 0 and folder.read("seen") == "open\n",
            "a task of rota run has that of its caller", (status, terminal.text))


a_worker()
a_worker("--contain", "tree")
if os.geteuid() == 0:
    a_worker("--user", pwd.getpwnam("nobody").pw_name)
else:
    Tap.skip("a worker with --user", "only root can run commands as another user")
a_run()
Tap.end()
