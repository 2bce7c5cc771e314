#!/usr/bin/env python3
"""inventory_test - the sockets, file modes and secrets of a server and its workers."""
import os
import stat
import subprocess
import tempfile

from cluster import Cluster, PATIENCE, Process, ROTA_PATH
from end import Tap
from net import run

say = Tap.say
LISTENS = "0A"


def family(process):
    """A process and all that come from it."""
    found, look = [], [process]
    while look:
        found.append(look.pop())
        try:
            for thread in os.listdir(f"/proc/{found[-1]}/task"):
                with open(f"/proc/{found[-1]}/task/{thread}/children", encoding="ascii") as file:
                    look += map(int, file.read().split())
        except OSError:
            pass
    return found


def inodes(processes):
    found = set()
    for process in processes:
        for name in os.listdir(f"/proc/{process}/fd"):
            try:
                target = os.readlink(f"/proc/{process}/fd/{name}")
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(target[8:-1])
    return found


def table(name):
    try:
        with open(f"/proc/net/{name}", encoding="utf-8") as file:
            return [line.split() for line in file][1:]
    except OSError:
        return []


def internet(own):
    """(protocol, local address, state) of their sockets that are not Unix sockets."""
    return [(name, row[1], row[3]) for name in ("tcp", "tcp6", "udp", "udp6", "raw", "raw6")
            for row in table(name) if row[9] in own]


def listening_paths(own):
    return sorted(row[7] for row in table("unix")
                  if row[6] in own and len(row) > 7 and int(row[3], 16) & 0x10000)


def open_to_others(folder, *closed):
    """Files and folders below that others may read, write or enter; `closed` are not entered."""
    found = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name not in closed]
        names += closed if place == folder else []
        for path in [place, *(os.path.join(place, name) for name in names)]:
            mode = os.lstat(path).st_mode
            if mode & 0o077 and not stat.S_ISLNK(mode):
                found.append(f"{path[len(folder):]} {stat.S_IMODE(mode):o}")
    return found


class Plain(Cluster):
    """Server and worker, started without options."""

    def __init__(self):
        super().__init__()
        self.places = {**os.environ, "XDG_RUNTIME_DIR": self.folder, "XDG_STATE_HOME": self.folder}
        self.places.pop("ROTA_SERVER", None)
        self.socket = self.path("rota/server.sock")
        self.database = self.path("rota/server.db")

    def serve(self):
        os.umask(0)  # whatever people have there
        os.environ.update(self.places)
        self.server = Process(self.path("server.log"), "server")
        self.until(lambda: os.path.exists(self.socket), "it listens")
        self.workers["one"] = Process(self.path("one.log"), "worker", "--server", self.socket,
                                      "--name", "one")
        self.until(lambda: "connected to" in self.workers["one"].said(), "it works")


def by_default():
    with Plain() as cluster:
        done = cluster.submit({"make": {"run": "echo x > out", "out": ["out"]},
                               "use": {"run": "cat out", "in": ["out"]}}, "--wait")
        say(done.returncode == 0, "a server and a worker without options", done.stderr)
        server, worker = (family(process.process.pid)
                          for process in (cluster.server, cluster.workers["one"]))
        own = inodes(server + worker)
        say(len(worker) > 1 and own, "all their processes are looked at", (server, worker))
        say(internet(own) == [], "none has a socket of the internet", internet(own))
        say(listening_paths(own) == sorted([cluster.socket, cluster.path("rota/one/data/sock")]),
            "they listen at two Unix sockets", listening_paths(own))
        for path in listening_paths(own):
            say(stat.S_IMODE(os.lstat(path).st_mode) == 0o600, "which are for their owner only")
        loose = open_to_others(cluster.path("rota"), "one")
        say(loose == [], "as is all that they have made, or the folder it is in", loose)


def listens(*words):
    return subprocess.run([ROTA_PATH, *words], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)


def not_without_keys():
    with tempfile.TemporaryDirectory() as folder:
        for address in ("0.0.0.0:0", "[::]:0", "127.0.0.1:0", "localhost:0"):
            done = listens("server", "--memory", "--listen", address)
            say(done.returncode == 2 and "keys are needed" in done.stderr,
                f"a server does not listen at {address} without keys", done)
            done = listens("worker", "--server", "/nowhere", "--folder", folder + "/w",
                           "--listen", address)
            say(done.returncode in (2, 70) and "key" in done.stderr,
                f"nor does a worker at {address}", done)
        done = listens("worker", "--server", "127.0.0.1:1", "--folder", folder + "/w")
        say(done.returncode == 2 and "key" in done.stderr, "nor goes it there without one", done)


def nothing_is_left():
    """By a server that does not start because of its options."""
    with tempfile.TemporaryDirectory() as folder:
        for words in (("127.0.0.1:0",), ("127.0.0.1:0", "--keys", folder + "/none"), ("nonsense",)):
            done = listens("server", "--db", folder + "/x.db", "--listen", *words)
            say(done.returncode == 2 and not os.listdir(folder),
                f"a server with --listen {words[0]} {words[1:2]} leaves no file",
                (done, os.listdir(folder)))


def secrets_of(folder):
    found = set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="ascii") as file:
            found |= {line.split()[3] for line in file}
    return found


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def keys_are_seen_nowhere():
    with Cluster() as cluster:
        cluster.server.kill()
        run(ROTA_PATH, "keys", "make", cluster.path("keys"))
        cluster.options += ["--listen", "127.0.0.1:0", "--keys", cluster.path("keys/server.keys")]
        cluster.serve()
        cluster.until(lambda: cluster.server.said().count("listening") >= 3, "at a port too")
        direct, cluster.socket = cluster.socket, cluster.server.said().split()[-1]
        cluster.work("one", 2, "--key", cluster.path("keys/worker.key"), "--listen",
                     "127.0.0.1:0", "--peer-key", cluster.path("keys/peer.key"))
        done = cluster.submit({"a": {"run": "env; cat /proc/$PPID/environ; true"}}, "--key",
                              cluster.path("keys/client.key"), "--wait")
        say(done.returncode == 0, "a job over TLS", done.stderr + cluster.told())
        processes = family(cluster.server.process.pid) + family(
            cluster.workers["one"].process.pid)
        ports = internet(inodes(processes))
        say(any(state == LISTENS for _, _, state in ports)
            and all(address.split(":")[0] == "0100007F" for _, address, _ in ports),
            "all sockets listen at the given addresses", ports)
        cluster.socket = direct
        words = b"".join(read(f"/proc/{process}/{name}") for process in processes
                         for name in ("cmdline", "environ")) + done.stdout.encode()
        logs = b"".join(read(os.path.join(place, name))
                        for place, _, names in os.walk(cluster.folder) for name in names
                        if not place.endswith("/keys"))
        secrets = secrets_of(cluster.path("keys"))
        hexes = [secret.encode() for secret in secrets]
        raw = [bytes.fromhex(secret) for secret in secrets]
        say(len(secrets) >= 4 and not any(one in words for one in hexes + raw),
            "no secret is in the words or the surroundings of a process")
        say(not any(one in logs for one in hexes + raw), "nor in a log, a database or any file")
        say(open_to_others(cluster.path("keys")) == [], "the files of keys are their owner's")


for test in (by_default, not_without_keys, nothing_is_left, keys_are_seen_nowhere):
    test()
Tap.end()
