#!/usr/bin/env python3
"""user_option_test - rota worker --user: root's worker runs commands as another user."""
import json
import os
import pwd
import subprocess

from cluster import Cluster, ROTA_PATH
from end import Tap

say = Tap.say
USER = pwd.getpwnam("nobody")


def refused(*words, **how):
    return subprocess.run([ROTA_PATH, "worker", "--server", "/none", *words], capture_output=True,
                          text=True, check=False, **how)


if os.geteuid() != 0:
    done = refused("--user", "nobody")
    say(done.returncode == 2 and "only root" in done.stderr, "--user needs root", done)
    Tap.skip("commands as another user", "only root can run commands as another user")
    Tap.end()


class Open(Cluster):
    """Others may enter its folder."""

    def __init__(self, *options):
        super().__init__(*options)
        os.chmod(self.folder, 0o755)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def run(self, tasks, *words):
        """The job's number, and what submit has said."""
        path = self.write("home/job.json", json.dumps({"tasks": tasks}))
        done = self.rota("submit", path, "--wait", "--json", *words)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        return [row["job"] for row in rows if "job" in row][0], done

    def prints(self, command, **more):
        job, _ = self.run({"a": {"run": command, **more}})
        return self.rota("logs", f"{job}.1").stdout


def who_runs(cluster):
    text = cluster.prints("id -u; id -g; id -G; echo $HOME $USER; pwd; cat /proc/self/status")
    lines = text.splitlines()
    groups = sorted(os.getgrouplist("nobody", USER.pw_gid))
    say(lines[:2] == [str(USER.pw_uid), str(USER.pw_gid)]
        and sorted(map(int, lines[2].split())) == groups
        and lines[3] == f"{USER.pw_dir} nobody",
        "a command has the user, its groups and HOME", text)
    status = dict(line.split(":\t", 1) for line in lines[5:] if ":\t" in line)
    caps = [status[name].strip("0") for name in ("CapPrm", "CapEff", "CapAmb")]
    say(caps == ["", "", ""] and status["NoNewPrivs"] == "1",
        "it has no capabilities and cannot get any", status)
    text = cluster.prints("echo a > /dev/stdout; echo b > /dev/stderr; touch made; ls -ld . made",
                          out=["made"])
    say(text.startswith("a\nb\n") and text.count(" nobody ") >= 2,
        "it can open its output again, and owns its folder", text)


def files(cluster):
    cluster.write("home/mine/deep/tool", "#!/bin/sh\ntouch mine/deep/beside; cat mine/a\n", 0o755)
    cluster.write("home/mine/a", "hello\n")
    job, done = cluster.run({
        "make": {"run": "mine/deep/tool > all; mkdir -p tree/in; cp all tree/in/; chmod 600 all;"
                        " echo no >> mine/a || echo read-only >> all", "in": ["mine"],
                 "out": ["all", "tree/"], "keep": True},
        "write": {"run": "cat all > pipe", "in": ["all"], "out": [{"name": "pipe",
                                                                   "kind": "stream"}]},
        "read": {"run": "cat pipe > end", "in": ["pipe"], "out": ["end"], "keep": True}})
    say(done.returncode == 0 and cluster.read("home/end") == "hello\nread-only\n"
        and cluster.read("home/tree/in/all") == "hello\n",
        "inputs can be read and run, outputs of the user are collected, streams work",
        done.stdout + done.stderr + cluster.rota("why", f"{job}.1").stdout + cluster.told())


def results(cluster):
    """The worker's log is readable for root alone, and still a part of the result."""
    made = []
    for _ in range(2):
        cluster.run({"a": {"run": "echo said; date +%N > time", "out": ["time"], "cache": True,
                           "keep": True}})
        made.append(cluster.read("home/time"))
    say(made[0] == made[1], "a result with a log is found again", made)


def listed_user(cluster):
    """The user of worker w in both forms of `rota top`."""
    workers = json.loads(cluster.rota("top", "--json").stdout)["workers"]
    lines = cluster.rota("top", "--once").stdout.splitlines()
    drawn = [line.split("]")[1].split()[3] for line in lines if line.startswith("w ")]
    return [worker["user"] for worker in workers], drawn


def secrets(cluster):
    for name in ("w/cache", "w/log", "w/spool", "server.db", "w"):
        text = cluster.prints(f"ls {cluster.path(name)}/ || cat {cluster.path(name)}; true")
        say("Permission denied" in text, f"a command cannot read {name}", text)
    text = cluster.prints("kill -9 $PPID 2>&1; kill -9 1 2>&1; echo alive")
    say("alive" in text, "a command cannot kill its worker", text)
    hidden = cluster.write("hidden", "secret\n", 0o660)
    os.chown(hidden, 0, USER.pw_gid)  # linking it needs write permission
    job, done = cluster.run({"a": {"run": f"ln {hidden} out", "out": ["out"], "keep": True}})
    why = cluster.rota("why", f"{job}.1").stdout
    say(done.returncode == 1 and "belongs to another user" in why
        and not os.path.exists(cluster.path("home/out")),
        "a link to a file of another user is not collected", why)
    job, done = cluster.run({"a": {"run": "touch out", "out": ["out"], "keep": True}}, "--shared")
    why = cluster.rota("why", f"{job}.1").stdout
    say(done.returncode == 1 and "--shared" in why
        and not os.path.exists(cluster.path("home/out")),
        "outputs are not put into folders of others", why)


with Open() as cluster:
    cluster.work("w", 2, "--user", "nobody")
    who_runs(cluster)
    files(cluster)
    secrets(cluster)
    say("commands run as root" not in cluster.workers["w"].said(), "it does not warn about root")
    say(listed_user(cluster) == (["nobody"], ["nobody"]), "the listing names the user",
        listed_user(cluster))
    cluster.workers["w"].kill()
    cluster.work("w", 2)
    cluster.until(lambda: listed_user(cluster) == (["root"], ["root"]), "the listing says root")
    say(True, "a worker that comes back without --user is listed as root")
    cluster.server.kill()
    cluster.serve()
    say(listed_user(cluster) == (["root"], ["root"]), "it is listed so after a restart, too",
        listed_user(cluster))
with Open() as cluster:
    umask = os.umask(0)
    cluster.work("w", 2, "--user", "nobody")
    os.umask(umask)
    cluster.write("home/mine/a", "hello\n")
    # The modes are those with which the worker has made the folders, before it gave them away.
    text = cluster.prints("stat -c '%U %a' . mine; umask", **{"in": ["mine/"]})
    say(text.splitlines() == ["nobody 700", "nobody 777", "0000"],
        "no other task can enter a task's folder, whatever the umask of the worker", text)
with Open() as cluster:
    umask = os.umask(0o077)
    cluster.work("w", 2, "--user", "nobody")
    os.umask(umask)
    results(cluster)
with Open() as cluster:
    cluster.work("w", 2)
    cluster.until(lambda: "commands run as root" in cluster.workers["w"].said(), "a warning")
    say(True, "a worker that runs commands as root says so")
    cluster.until(lambda: listed_user(cluster) == (["root"], ["root"]), "it is listed as root")
    say(True, "and its listing says so")
with Open() as cluster:
    os.chmod(cluster.folder, 0o700)
    worker = cluster.work("w", 2, "--user", "nobody")
    say(worker.process.wait(120) != 0 and "--folder" in worker.said(),
        "a folder that the user cannot enter is refused", worker.said())
for name, words in (("root", "another user than root"), ("nobody-has-it", "no such user")):
    done = refused("--user", name)
    say(done.returncode == 2 and words in done.stderr, f"--user {name} is refused", done)
Tap.end()
