#!/usr/bin/env python3
"""service_test - server and worker under a supervisor, and the units for systemd."""
import configparser
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from cluster import Cluster
from end import BUILD, Tap, stand_still
from supervised import PATIENCE, ROTA_PATH, Supervisor

say = Tap.say


def listening(path=None):
    held = socket.socket(socket.AF_UNIX if path else socket.AF_INET, socket.SOCK_STREAM)
    held.bind(path or ("127.0.0.1", 0))
    held.listen(16)
    return held


def rota(*words):
    return subprocess.run([ROTA_PATH, *words], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)


class Folder:
    def __enter__(self):
        parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self.name = tempfile.mkdtemp(prefix="rota-service-", dir=parent)
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.name, ignore_errors=True)

    def __call__(self, name):
        return os.path.join(self.name, name)

    def read(self, name):
        with open(self(name), encoding="utf-8") as file:
            return file.read()


def a_server_notifies():
    with Folder() as folder, Supervisor(folder("notify")) as boss:
        server = boss.start("server", "--db", folder("db"), "--listen", folder("sock"),
                            watchdog=400000)
        say(boss.until("READY=1"), "a server says when it is ready")
        say(rota("ps", "--server", folder("sock")).returncode != 4, "and then it is")
        boss.listen(1)
        end = time.monotonic() + PATIENCE
        while boss.listen(0.1).count("WATCHDOG=1") < 8 and time.monotonic() < end:
            pass
        beats = [at for at, told in zip(boss.times, boss.heard) if told == "WATCHDOG=1"]
        say(len(beats) >= 8 and beats[7] - beats[0] >= 7 * 0.15,
            "it says twice in each interval that it is alive", beats)
        stand_still(server)
        before = len(boss.listen())
        boss.listen(1)
        say(len(boss.listen()) == before, "a stopped one does not")
        os.kill(server.pid, signal.SIGCONT)
        worker = boss.start("worker", "--server", folder("sock"), "--folder", folder("w"), "--name",
                            "w", watchdog=1000000)
        say(boss.until("STATUS=connected to " + folder("sock")), "a worker reports its server")
        say(boss.until("STATUS=1 worker, "), "and the server how many there are")
        with open(folder("job.json"), "w", encoding="utf-8") as file:
            file.write('{"tasks": {"a": {"run": "env > ' + folder("env") + '"}}}')
        rota("submit", "--wait", "--server", folder("sock"), folder("job.json"))
        names = [line.split("=")[0] for line in folder.read("env").splitlines()]
        say("PATH" in names and not {"NOTIFY_SOCKET", "WATCHDOG_USEC", "LISTEN_FDS"} & set(names),
            "commands of a worker do not hear of the supervisor", names)
        boss.heard.clear()
        worker.send_signal(signal.SIGTERM)
        say(worker.wait(PATIENCE) == 0 and "STOPPING=1" in boss.listen(),
            "a worker says that it ends")
        boss.heard.clear()
        server.send_signal(signal.SIGTERM)
        say(server.wait(PATIENCE) == 0 and "STOPPING=1" in boss.listen(), "and so does a server")


def a_name_without_a_file():
    name = f"@rota-notify-{os.getpid()}"
    with Folder() as folder, Supervisor(name) as boss:
        boss.start("server", "--memory", "--listen", folder("sock"))
        say(boss.until("READY=1"), "an abstract socket is notified, too")


def sockets_handed_over():
    with Folder() as folder, Supervisor(folder("notify")) as boss:
        rota("keys", "make", folder("keys"))
        path, port = listening(folder("sock")), listening()
        address = f"127.0.0.1:{port.getsockname()[1]}"
        words = ["server", "--db", folder("db"), "--keys", folder("keys/server.keys")]
        server = boss.start(*words, sockets=[path, port], log=folder("log"))
        boss.until("READY=1")
        say(rota("ps", "--server", folder("sock")).returncode != 4,
            "a Unix socket that was handed over is listened at", folder.read("log"))
        key = folder("keys/client.key")
        say(rota("ps", "--server", address, "--key", key).returncode != 4, "and a port, with keys",
            folder.read("log"))
        server.send_signal(signal.SIGTERM)
        server.wait(PATIENCE)
        say(os.path.exists(folder("sock")), "the path stays when the server ends")
        waiting = subprocess.Popen([ROTA_PATH, "jobs", "--server", folder("sock")],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(0.1)
        boss.start(*words, sockets=[path, port])
        waiting.communicate(timeout=PATIENCE)
        say(waiting.returncode == 0, "a client that came meanwhile is served by the next one")


def sockets_that_are_refused():
    with Folder() as folder, Supervisor(folder("notify")) as boss:
        port, plain = listening(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        server = boss.start("server", "--memory", sockets=[port], log=folder("log"))
        say(server.wait(PATIENCE) == 2 and "keys are needed" in folder.read("log"),
            "a port without keys is refused, also one that systemd has opened", folder.read("log"))
        server = boss.start("server", "--memory", sockets=[plain], log=folder("log"))
        say(server.wait(PATIENCE) == 2 and "not a listening stream socket" in folder.read("log"),
            "a socket that does not listen is refused", folder.read("log"))
        boss.start("server", "--memory", "--listen", folder("sock"), sockets=[port], pid=1)
        say(boss.until("READY=1"), "sockets for another process are left alone")


def data_over_a_given_socket():
    with Cluster() as cluster, Supervisor(cluster.path("notify")) as boss:
        held = listening(cluster.path("given.sock"))
        words = ["worker", "--server", cluster.socket, "--name", "one", "--machine", "one",
                 "--folder", cluster.path("one")]
        boss.start(*words, sockets=[held], log=cluster.path("one.log"))
        boss.until("STATUS=connected to")
        cluster.work("two", 2, "--machine", "two")
        done = cluster.submit(
            {"make": {"run": "echo made > out.txt", "out": ["out.txt"], "machine": "one"},
             "take": {"run": f"cat out.txt > {cluster.path('got')}", "in": ["out.txt"],
                      "machine": "two"}}, "--wait")
        say(done.returncode == 0 and cluster.read("got") == "made\n"
            and not os.path.exists(cluster.path("one/data/sock")),
            "a worker gives its objects out at a socket that it was given", done)


def keys_are_read_again():
    with Folder() as folder, Supervisor(folder("notify")) as boss:
        rota("keys", "make", folder("keys"))
        port = listening()
        address = f"127.0.0.1:{port.getsockname()[1]}"
        server = boss.start("server", "--memory", "--keys", folder("keys/server.keys"),
                            sockets=[port], log=folder("log"))
        boss.until("READY=1")
        rota("keys", "add", "client", folder("keys/server.keys"), folder("keys/late.key"))
        late = ["wait", "1", "--server", address, "--key", folder("keys/late.key")]
        say(rota(*late).returncode == 4, "a key that was added is not known")
        boss.heard.clear()
        server.send_signal(signal.SIGHUP)
        say(boss.until("RELOADING=1") and boss.until("READY=1") and rota(*late).returncode == 2,
            "until HUP has the keys read again", folder.read("log"))
        os.chmod(folder("keys/server.keys"), 0o644)
        boss.heard.clear()
        server.send_signal(signal.SIGHUP)
        boss.until("READY=1")
        say(rota(*late).returncode == 2 and "the old keys stay" in folder.read("log"),
            "a file that is wrong changes nothing", folder.read("log"))


def the_units():
    with Folder() as folder:
        done = subprocess.run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet",
                               "--destdir", folder("root")], capture_output=True, text=True,
                              check=False)
        root = [where for where, _, files in os.walk(folder("root"))
                if "rota-server.service" in files]
        say(len(root) == 1 and root[0].endswith("/lib/systemd/system"), "units are installed",
            done.stderr)
        names = sorted(os.listdir(root[0]))
        say(names == ["rota-server.service", "rota-server.socket", "rota-worker.service"],
            "for a server and a worker", names)
        units = {}
        for name in names:
            path = os.path.join(root[0], name)
            units[name] = configparser.ConfigParser(strict=False, interpolation=None)
            units[name].optionxform = str
            units[name].read(path)
            with open(path, encoding="utf-8") as file:
                text = file.read()
            start = units[name].get("Service", "ExecStart", fallback="/bin/rota x")
            say(start.split()[0].endswith("/bin/rota"), f"{name} starts what is installed", start)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text.replace(start.split()[0], ROTA_PATH))
        for name in ("rota-server.service", "rota-worker.service"):
            service = units[name]["Service"]
            user = "rota" if name == "rota-server.service" else "rota-worker"
            say(service["User"] == user and service["Group"] == user, f"{name} runs as {user}",
                dict(service))
            say(service["Type"] == "notify" and service["NoNewPrivileges"] == "yes"
                and service["WatchdogSec"] and service["Restart"] == "always",
                f"{name} is watched and gains no rights")
        users = [os.path.join(where, "rota.conf") for where, _, files in os.walk(folder("root"))
                 if "rota.conf" in files and where.endswith("/sysusers.d")]
        lines = [line.split()[:3] for path in users for line in folder.read(path).splitlines()
                 if line and not line.startswith("#")]
        say(lines == [["u", "rota", "-"], ["u", "rota-worker", "-"]],
            "systemd makes one user for servers and another one for workers", (users, lines))
        if not shutil.which("systemd-analyze"):
            say(True, "systemd takes them # SKIP there is no systemd-analyze")
            return
        check = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no",
                                *[os.path.join(root[0], name) for name in names]],
                               capture_output=True, text=True, check=False, timeout=PATIENCE)
        say(check.returncode == 0 and "rota" not in check.stderr, "systemd takes them",
            check.stderr)


a_server_notifies()
a_name_without_a_file()
sockets_handed_over()
sockets_that_are_refused()
data_over_a_given_socket()
keys_are_read_again()
the_units()
Tap.end()
