#!/usr/bin/env python3
"""ssh_test - rota worker --ssh: workers on other machines, over a fake ssh and over a real one."""
import os
import shutil
import signal
import socket
import subprocess

from cluster import KeyedCluster, PATIENCE, ROTA_PATH, processes_with, seconds_marked
from end import Tap

say = Tap.say

# Does what sshd does: a shell reads the words after the host.
PRETENDED = """#!/bin/sh
echo "$@" >> {log}
tr '\\0' ' ' < /proc/$$/cmdline >> {log}
while [ "${{1#-}}" != "$1" ]; do shift; done
host=$1
shift
[ "$1" = -- ] && shift
[ "$host" = nowhere ] && echo "ssh: no route" >&2 && exit 255
HOME={folder}/$host XDG_STATE_HOME= exec sh -c "$*"
"""


def port_free():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


class Far(KeyedCluster):
    """A cluster whose workers are started by ssh."""

    def start(self, ssh, hosts, *words):
        with open(self.path("fleet.log"), "ab") as log:
            return subprocess.Popen([ROTA_PATH, "worker", "--server", self.address, "--key",
                                     self.path("keys/worker.key"), "--ssh", hosts, "--remote",
                                     ROTA_PATH, *words], stdout=log, stderr=log,
                                    env={**os.environ, "ROTA_SSH": ssh}, stdin=subprocess.DEVNULL)

    def pretend(self):
        path = self.path("ssh")
        with open(path, "w", encoding="utf-8") as file:
            file.write(PRETENDED.format(log=self.path("ssh.log"), folder=self.folder))
        os.chmod(path, 0o755)
        for host in ("alpha", "beta"):
            os.mkdir(self.path(host))
        return path

    def here(self):
        return self.sql("SELECT count(*) FROM sched_worker WHERE silent_since IS NULL"
                        " OR silent_since > 9e18")[0][0]


def workers_elsewhere():
    with Far() as far:
        ssh = far.pretend()
        with open(far.path("keys/worker.key"), encoding="utf-8") as file:
            secret = file.read().split()[3]
        fleets = [far.start(ssh, host, "--name", host, "-j", "1", "--folder",
                            far.path(f"it's {host}'s"))
                  for host in ("alpha", "beta")]
        far.until(lambda: far.here() == 2, "two workers are there")
        say(True, "workers on two hosts come to the server")
        far.until(lambda: far.read("fleet.log").count("connected to " + far.address) == 2,
                  "they say")
        say("alpha: rota worker alpha: connected to" in far.read("fleet.log"),
            "their output is shown with the name of the host", far.read("fleet.log"))
        done = far.submit({f"t{i}": {"run": "sleep 0.2"} for i in range(4)}, "--wait")
        say(done.returncode == 0 and os.path.isdir(far.path("it's beta's")),
            "their options have gone with them, whatever is in them", done)
        say(secret not in far.read("ssh.log") and not processes_with(secret),
            "a key is not an argument of any process", far.read("ssh.log"))
        sleeps = seconds_marked(1000)
        far.submit({"long": {"run": f"sleep {sleeps}"}})
        far.until(lambda: processes_with(sleeps), "a command runs")
        fleets[0].send_signal(signal.SIGTERM)
        say(fleets[0].wait(PATIENCE) == 0, "ended, it ends its workers")
        fleets[1].send_signal(signal.SIGKILL)
        fleets[1].wait(PATIENCE)
        far.until(lambda: not processes_with(far.path("it's beta's"))
                  and not processes_with(sleeps),
                  "nothing is left")
        say(True, "killed, it leaves no process either")
        say("ends because its parent process ended" in far.read("fleet.log"), "which they say",
            far.read("fleet.log"))


def lines_are_whole():
    """Several workers may write to one log: a line is written at once."""
    with Far() as far:
        read, write = os.pipe2(os.O_DIRECT)  # each read returns what one write wrote
        fleet = subprocess.Popen([ROTA_PATH, "worker", "--server", far.address, "--key",
                                  far.path("keys/worker.key"), "--ssh", "alpha"], stderr=write,
                                 env={**os.environ, "ROTA_SSH": far.pretend()},
                                 stdin=subprocess.DEVNULL)
        os.close(write)
        text = os.read(read, 65536)
        say(text.startswith(b"alpha: ") and text.endswith(b"\n"),
            "a line of a host is written at once", text)
        fleet.send_signal(signal.SIGTERM)
        while os.read(read, 65536):
            pass
        fleet.wait(PATIENCE)
        os.close(read)


def hosts_that_fail():
    with Far() as far:
        ssh = far.pretend()
        fleet = far.start(ssh, "nowhere,alpha")
        far.until(lambda: far.here() == 1, "one worker is there")
        far.until(lambda: "ssh cannot connect" in far.read("fleet.log"), "the other one is not")
        say("nowhere: ssh: no route" in far.read("fleet.log")
            and "nowhere: ssh cannot connect" in far.read("fleet.log"),
            "an unreachable host is reported, and the others work",
            far.read("fleet.log"))
        fleet.send_signal(signal.SIGTERM)
        fleet.wait(PATIENCE)
        say(far.start(ssh, "nowhere").wait(PATIENCE) == 4, "none that can is status 4")
        say(far.start("/nonexistent/ssh", "alpha").wait(PATIENCE) == 70, "no ssh is status 70")
        for hosts, words, why in (("a,b", ["--name", "x"], "cannot share a name"),
                                  ("-oProxyCommand=x", [], "host names"),
                                  ("a;b", [], "host names"), ("a,,b", [], "host names"),
                                  ("a", ["--server", "/run/x"], "other hosts cannot reach")):
            wrong = subprocess.run([ROTA_PATH, "worker", "--server", far.address, "--key",
                                    far.path("keys/worker.key"), "--ssh", hosts, *words],
                                   capture_output=True, text=True, check=False, timeout=PATIENCE)
            say(wrong.returncode == 2 and why in wrong.stderr, f"{hosts} {words} is refused", wrong)


def keys_of_the_standard_input():
    with Far() as far:
        words = [ROTA_PATH, "worker", "--server", far.address, "--folder", far.path("w"), "--name",
                 "w", "--key-from-stdin"]
        for text in ("", "rota-key", "what\n\n", "\n", "rota-key client a " + "0" * 64 + "\n\n"):
            wrong = subprocess.run(words, input=text, capture_output=True, text=True, check=False,
                                   timeout=PATIENCE)
            say(wrong.returncode == 2 and "rota worker: " in wrong.stderr
                and "0000" not in wrong.stderr, f"{text[:18]!r} is not a key", wrong)


class Sshd:
    """A real one on a port of its own, with keys of its own."""

    def __init__(self, far):
        self.far, self.process = far, None
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", far.path(name)],
                           check=True)
        shutil.copy(far.path("user.pub"), far.path("authorized"))
        os.makedirs("/run/sshd", exist_ok=True)

    def start(self):
        far, port = self.far, port_free()
        with open(far.path("sshd.conf"), "w", encoding="utf-8") as file:
            file.write(f"Port {port}\nListenAddress 127.0.0.1\nHostKey {far.path('host')}\n"
                       f"AuthorizedKeysFile {far.path('authorized')}\nStrictModes no\nUsePAM no\n"
                       "PidFile none\nPasswordAuthentication no\n")
        program = shutil.which("sshd", path="/usr/sbin:/usr/bin")
        self.process = subprocess.Popen([program, "-D", "-e", "-f", far.path("sshd.conf")],
                                        stderr=subprocess.DEVNULL)
        self.command = (f"ssh -F none -p {port} -i {far.path('user')} -o BatchMode=yes"
                        f" -o UserKnownHostsFile={far.path('known')}"
                        " -o StrictHostKeyChecking=accept-new -o IdentitiesOnly=yes")

    def answers(self):
        if self.process.poll() is not None:  # another process took the port first
            self.start()
        return subprocess.run([*self.command.split(), "127.0.0.1", "true"], check=False,
                              stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(PATIENCE)


def over_a_real_ssh():
    if not shutil.which("sshd", path="/usr/sbin:/usr/bin") or os.geteuid() != 0:
        say(True, "over a real ssh # SKIP there is no sshd, or it needs another user")
        return
    with Far() as far, Sshd(far) as sshd:
        far.until(sshd.answers, "sshd answers")
        fleet = far.start(sshd.command, "127.0.0.1", "--name", "far", "--folder", far.path("far"))
        far.until(lambda: far.here() == 1, "the worker is there")
        done = far.submit({"a": {"run": "echo far away"}}, "--wait")
        say(done.returncode == 0, "a command runs on a worker over a real ssh", done)
        sleeps = seconds_marked(1001)
        far.submit({"long": {"run": f"sleep {sleeps}"}})
        far.until(lambda: processes_with(sleeps), "a command runs")
        fleet.send_signal(signal.SIGKILL)
        fleet.wait(PATIENCE)
        far.until(lambda: not processes_with(sleeps), "the command has ended")
        say(True, "and ends with its parent, even after kill -9")


workers_elsewhere()
lines_are_whole()
hosts_that_fail()
keys_of_the_standard_input()
over_a_real_ssh()
Tap.end()
