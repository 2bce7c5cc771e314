#!/usr/bin/env python3
"""users_test - server and worker as different users: which files of the server a task can reach."""
import json
import os
import shutil
import socket
import subprocess
import tempfile

from cluster import PATIENCE
from end import Tap, lend

say = Tap.say
SERVER, WORKER, STRANGER = 61001, 61002, 61003  # users without a name that no other process has

if os.geteuid() != 0:
    Tap.skip("server and worker as different users", "only root can be two users")
    Tap.end()


class Shipped:
    """As the units have it: root makes the socket, folders have their owners, two users."""

    def __init__(self, *options):
        self.folder = tempfile.mkdtemp(prefix="rota-users-")
        os.chmod(self.folder, 0o755)
        self.rota_path = lend(self.folder)
        self.processes = []
        self.folder_of("server", SERVER)
        self.folder_of("worker", WORKER)
        self.socket = self.path("server.sock")
        self.as_user(SERVER, "keys", "make", self.path("server/keys"))
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self.socket)
        os.chown(self.socket, SERVER, WORKER)
        os.chmod(self.socket, 0o660)
        listener.listen(100)
        self.start(SERVER, "server", "--db", self.path("server/server.db"), "--audit",
                   self.path("server/audit"), "--socket-role", f"{WORKER}=worker", *options,
                   listener=listener)
        self.start(WORKER, "worker", "--server", self.socket, "--name", "w", "--folder",
                   self.path("worker/state"), "-j", "2")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            process.kill()
            process.wait(PATIENCE)
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def folder_of(self, name, user):
        os.mkdir(self.path(name), 0o700)
        os.chown(self.path(name), user, user)

    def start(self, user, *words, listener=None):
        def hand_over():
            if listener:
                os.dup2(listener.fileno(), 3)

        shell = 'LISTEN_PID=$$ exec "$@"' if listener else 'exec "$@"'
        more = {"LISTEN_FDS": "1"} if listener else {}
        with open(self.path(words[0] + ".log"), "ab") as log:
            self.processes.append(subprocess.Popen(
                ["sh", "-c", shell, "sh", self.rota_path, *words], user=user, group=user,
                extra_groups=[], stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd="/",
                env={**os.environ, "HOME": self.folder, **more},
                pass_fds=(3,) if listener else (), preexec_fn=hand_over))

    def as_user(self, user, *words):
        return subprocess.run([self.rota_path, *words], user=user, group=user, extra_groups=[],
                              capture_output=True, text=True, check=False, timeout=PATIENCE,
                              cwd="/")

    def said(self):
        text = ""
        for name in ("server", "worker"):
            with open(self.path(name + ".log"), encoding="utf-8") as file:
                text += file.read()
        return text

    def task(self, command):
        """The output of a command that root submits; it ends with a line "status N"."""
        path = self.path("job.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"tasks": {"a": {"run": f"({command}) 2>&1; echo status $?"}}}, file)
        done = self.as_user(0, "submit", "--server", self.socket, "--wait", "--json", path)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        jobs = [row["job"] for row in rows if "job" in row]
        if not jobs:
            return done.stderr + self.said()
        return self.as_user(0, "logs", "--server", self.socket, f"{jobs[0]}.1").stdout


def main():
    with Shipped() as shipped:
        who = shipped.task("id -u")
        say(who.split() == [str(WORKER), "status", "0"], "commands run as the worker's user", who)
        for what in ("server.db", "server.db-wal", "keys/server.keys", "keys/admin.key", "audit"):
            got = shipped.task(f"cat {shipped.path('server/' + what)}")
            say("Permission denied" in got and "status 0" not in got,
                f"a task cannot read {what} of the server", got)
        job = shipped.path("job.json")
        for verb in ("pause worker w", "worker drain w", "cancel 1", "ps", f"submit {job}"):
            words = verb.split()
            at = 2 if words[0] == "worker" else 1
            words[at:at] = ["--server", shipped.socket]
            got = shipped.task(f"{shipped.rota_path} {' '.join(words)}")
            say("status 0" not in got and "does not allow" in got,
                f"a task cannot '{verb}' through the server's socket", got)
        done = shipped.as_user(STRANGER, "ps", "--server", shipped.socket)
        say(done.returncode == 4, "a user without a role is refused", done)
        done = shipped.as_user(0, "pause", "--server", shipped.socket, "worker", "w")
        say(done.returncode == 0, "root is an admin", done)
        with open(shipped.path("server/audit"), encoding="utf-8") as file:
            rows = [json.loads(line) for line in file]
        submits = [row for row in rows if row["verb"] == "submit" and row["outcome"] == "done"]
        say(submits and all(row["uid"] == 0 and row["job"] for row in submits)
            and not [row for row in rows if row.get("uid") == WORKER and row["outcome"] == "done"
                     and row["verb"] != "join"],
            "the audit log names the client's user, and has no change by the worker's", rows)
        wrong = shipped.as_user(0, "server", "--memory", "--socket-role", "nobody=king")
        say(wrong.returncode == 2, "a role that is unknown is refused", wrong)


main()
Tap.end()
