#!/usr/bin/env python3
"""many_connections_test - many idle connections and clients that do not read: jobs still run."""
import concurrent.futures
import os
import resource
import select
import socket
import time

from cluster import PATIENCE, Cluster, KeyedCluster
from end import Tap, least
from hostile import Stranger
from net import run
from wire import VERSION, encode

say = Tap.say
MIB = 1 << 20
CLIENTS = 2000
STRANGERS = 10000


class Listening(KeyedCluster):
    """At a Unix socket, and at a port with keys."""

    def serve(self):
        super().serve()
        self.port = int(self.address.rsplit(":", 1)[1])

    def files(self):
        return len(os.listdir(f"/proc/{self.server.process.pid}/fd"))

    def resident(self):
        with open(f"/proc/{self.server.process.pid}/statm", encoding="utf-8") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def works(self, name):
        done = self.submit({f"t{i}": {"run": "true"} for i in range(20)}, "--wait")
        say(done.returncode == 0, f"{name}: jobs run meanwhile", done.stdout + done.stderr)


def knocks(port, first=b""):
    peer = socket.create_connection(("127.0.0.1", port))
    peer.sendall(first)
    return peer


def is_closed(peer, seconds=PATIENCE):
    """Whether the other side has closed it, or does so within that time."""
    peer.settimeout(seconds)
    try:
        while peer.recv(4096):
            pass
    except TimeoutError:
        return False
    except ConnectionError:
        pass
    return True


def drips(port):
    """Says a byte now and then; for how many seconds it may."""
    peer, began = knocks(port, b"\x16"), time.monotonic()
    while time.monotonic() < began + PATIENCE and not is_closed(peer, 0.5):
        try:
            peer.sendall(b"\x03")
        except ConnectionError:
            break
    return time.monotonic() - began


def most_files(cluster):
    """In half a second: while a crowd comes in, a look may come between two of them."""
    counts = []
    for _ in range(5):
        counts.append(cluster.files())
        time.sleep(0.1)
    return max(counts)


def files_allowed(wanted):
    """The wanted number if this process may open that many; otherwise a few less than its limit."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    enough = wanted + 100 if hard == resource.RLIM_INFINITY else min(hard, wanted + 100)
    resource.setrlimit(resource.RLIMIT_NOFILE, (enough, hard))
    return enough - 100


def strangers():
    """At a port, without a key."""
    with Listening(lease=20) as cluster:
        cluster.socket, direct = cluster.address, cluster.socket
        cluster.work("far", 2, *cluster.key("worker"))
        cluster.socket = direct
        cluster.works("no other client")
        rests, before = cluster.files(), cluster.resident()
        for name, words in {"garbage": b"\xff" * 100, "HTTP": b"GET / HTTP/1.1\r\n\r\n",
                            "a frame without TLS": encode("GREET", version=VERSION,
                                                              role=1)}.items():
            say(is_closed(knocks(cluster.port, words)), f"stranger: {name} ends at once")
        long = knocks(cluster.port, b"\x16\x03\x01\x0f\xff")
        try:
            for _ in range(64):
                long.sendall(b"x" * 1024)
        except ConnectionError:
            pass
        say(is_closed(long), "stranger: more than 4 KiB before the handshake close the connection")
        crowd = [knocks(cluster.port) for _ in range(files_allowed(STRANGERS))]
        beside = concurrent.futures.ThreadPoolExecutor(1)
        drip = beside.submit(drips, cluster.port)
        cluster.until(lambda: most_files(cluster) <= rests + 70, "the oldest are dropped")
        left = most_files(cluster) - rests
        say(left <= 70, "stranger: at most 64 of them are there at a time", left)
        grown = cluster.resident() - before
        say(grown < 2 * MIB or os.environ.get("SANITIZED"), "stranger: for next to no memory",
            grown)
        cluster.works(f"{len(crowd)} strangers")
        late = drip.result()
        late = late if late < 13 else least(13, lambda: drips(cluster.port))
        say(8 < late < 13, "stranger: a slow sender is disconnected after ten seconds", late)
        cluster.until(lambda: cluster.files() <= rests + 1, "all are gone")
        say(cluster.files() <= rests + 1, "stranger: and so are connections that send nothing",
            cluster.files() - rests)
        say(not any(peer.fileno() < 0 for peer in crowd), "stranger: no client closed its end")


def seconds_of_a_job(cluster):
    began = time.monotonic()
    done = cluster.submit({f"t{i}": {"run": "true"} for i in range(200)}, "--wait")
    say(done.returncode == 0, "a job runs while they are there", done.stderr)
    return time.monotonic() - began


def thousands():
    """Thousands of idle clients."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    if hard != resource.RLIM_INFINITY and hard < 2 * CLIENTS:
        Tap.skip("thousands", f"a process may have {hard} files")
        return
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(2 * CLIENTS, 4096), hard))
    with Cluster(lease=20) as cluster:
        cluster.work("one", 2)
        cluster.submit({"first": {"run": "true"}}, "--wait")
        before = Listening.resident(cluster)
        crowd = [Stranger(cluster.socket, "CLIENT") for _ in range(CLIENTS)]
        each = (Listening.resident(cluster) - before) / CLIENTS
        say(all(peer.welcome[0] == "WELCOME" for peer in crowd), f"{CLIENTS} clients are welcome")
        say(each < 8192 or os.environ.get("SANITIZED"), "each costs little memory", each)
        took = least(20, lambda: seconds_of_a_job(cluster))
        say(took < 20, "in a moment", took)
        fine = sum(peer.says("WATCH", job=9999).answer() == "refuse not_found" for peer in crowd)
        say(fine == CLIENTS, "and each of them is answered", fine)
        for peer in crowd:
            peer.link.close()
        cluster.until(lambda: Listening.files(cluster) < 100, "all connections are closed")
        say(Listening.files(cluster) < 100, "no connection is left", Listening.files(cluster))


def is_hung_up(peer):
    """Whether the other side has closed it. Nothing is read for that."""
    poll = select.poll()
    poll.register(peer, 0)
    return bool(poll.poll(0))


def asks_on(peer):
    """Until the server takes no more of it: some twenty bytes for each task, gigabytes in all."""
    peer.settimeout(2)
    try:
        for _ in range(400):
            peer.sendall(encode("WATCH", job=1) * 1000)
    except (ConnectionError, TimeoutError):
        pass


def slow_readers():
    """The server stops to take requests when 32 MiB are not read, and disconnects after 30 s."""
    with Cluster(lease=20) as cluster:
        cluster.work("one", 4)
        cluster.submit({f"t{i}": {"run": "false"} for i in range(300)}, "--wait")
        before = Listening.resident(cluster)
        with Stranger(cluster.socket, "CLIENT") as peer:
            asks_on(peer.link.socket)
            cluster.until(lambda: is_hung_up(peer.link.socket), "it is disconnected")
            told = 0
            try:
                while piece := peer.link.socket.recv(1 << 20):
                    told += len(piece)
            except ConnectionError:
                pass
            say(told < 40 * MIB, "a client that asks and does not read is disconnected", told)
        grown = Listening.resident(cluster) - before
        say(grown < 200 * MIB or os.environ.get("SANITIZED"), "before it costs much memory", grown)
        done = cluster.submit({"after": {"run": "true"}}, "--wait")
        say(done.returncode == 0, "others are served", done.stderr)


def no_files_left():
    """The server has few files; existing connections are not disturbed."""
    with Cluster(lease=20) as cluster:
        cluster.work("one", 2)
        cluster.submit({"first": {"run": "true"}}, "--wait")
        limit = Listening.files(cluster) + 8
        run("prlimit", f"--pid={cluster.server.process.pid}", f"--nofile={limit}:{limit}")
        crowd = []
        for _ in range(40):
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                peer.connect(cluster.socket)
            except OSError:
                pass
            crowd.append(peer)
        cluster.until(lambda: sum(is_closed(peer, 0.01) for peer in crowd) > 20, "some are closed")
        gone = sum(is_closed(peer, 0.2) for peer in crowd)
        say(20 < gone < 40, "without spare files new connections are refused", gone)
        for peer in crowd:
            peer.close()
        cluster.until(lambda: Listening.files(cluster) < limit - 4, "they are closed")
        done = cluster.submit({"after": {"run": "true"}}, "--wait")
        say(done.returncode == 0, "existing connections stay, and later a job runs", done.stderr)


for test in (strangers, thousands, slow_readers, no_files_left):
    test()
Tap.end()
