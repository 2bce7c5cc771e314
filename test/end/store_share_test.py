#!/usr/bin/env python3
"""store_share_test - the server's object store and clients that take all they can get.

    store_share_test.py --uploads 200 --size 8388608     more honest uploads at once, of 8 MiB
"""
import argparse
import concurrent.futures
import fcntl
import hashlib
import os
import select
import signal
import subprocess
import threading
import time

from cluster import PATIENCE, Cluster, KeyedCluster, ROTA_PATH
from end import Tap
from hostile import Stranger
from keyed import Key, Keyed
from wire import WIRE, encode

say = Tap.say
READS = 1_500_000
options = argparse.ArgumentParser()
options.add_argument("--uploads", type=int, default=70)
options.add_argument("--size", type=int, default=256 << 10, help="bytes of each")
UPLOADS, SIZE = vars(options.parse_args()).values()


def content(text):
    return f"f:{len(text)}:{hashlib.sha256(text).hexdigest()}"


def upload(path, text, number=(1 << 62) | 5):
    """The upload of a client, message by message."""
    with Stranger(path, "PEER") as peer:
        peer.says("OFFER", entries=[content(text)]).answer("OFFERED")
        peer.says("PIECE", entry=content(text), offset=0, bytes=len(text)).raw(text)
        peer.answer("STORED")
        return peer.says("BIND", object=(7, number), entry=content(text)).answer("BOUND", "REFUSE")


def flood_of_reads(path, number, count):
    """Asks for one upload again and again, and reads the answers without looking at them."""
    with Stranger(path, "CLIENT") as peer:
        lot = encode("DATA", high=1, low=2, verb=WIRE["DATA_READ"], object=(7, number)) * 1000
        link = peer.link.socket
        link.setblocking(False)
        left, answered, end = lot * 1, 0, time.monotonic() + 8
        sent = 0
        while sent < count * len(lot) // 1000 and time.monotonic() < end:
            can_read, can_write, _ = select.select([link], [link], [], 1)
            try:
                if can_read:
                    answered += len(link.recv(1 << 20))
                if can_write:
                    done = link.send(left)
                    sent += done
                    left = left[done:] or lot
            except BlockingIOError:
                pass
            except ConnectionError:
                break
        return answered


def floods_of_reads():
    """A client asks for its own upload, faster than the store can take the tickets."""
    with Cluster() as cluster:
        cluster.work("one", 2)
        number = (1 << 62) | 5
        say(upload(cluster.socket, b"mine")[0] == "BOUND", "reads: an upload is stored")
        with open(cluster.path("input"), "w", encoding="utf-8") as file:
            file.write("input of a job\n")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            flood = pool.submit(flood_of_reads, cluster.socket, number, READS)
            done = cluster.submit({"a": {"run": "cat input", "in": ["input"]}}, "--wait")
            say(done.returncode == 0, "reads: a job with a file runs beside the flood", done.stderr)
            say(flood.result() > 0, "reads: the client is answered meanwhile")
        with open(cluster.path("other"), "w", encoding="utf-8") as file:
            file.write("something else\n")
        done = cluster.submit({"b": {"run": "cat other", "in": ["other"]}}, "--wait")
        say(done.returncode == 0, "reads: and one after it", done.stderr)
        done = cluster.rota("data", "put", "other")
        say(done.returncode == 0, "reads: a file can be put", done.stderr)


class Reads(threading.Thread):
    """Requests one upload many times, and counts the answers."""

    def __init__(self, path, number, count):
        super().__init__(daemon=True)
        self.count, self.answered = count, 0
        self.peer = Stranger(path, "CLIENT")
        self.lot = encode("DATA", high=1, low=2, verb=WIRE["DATA_READ"], object=(7, number)) * count
        self.start()
        threading.Thread(target=lambda: self.peer.raw(self.lot), daemon=True).start()

    def run(self):
        while self.answered < self.count and self.peer.answer() != "closed":
            self.answered += 1

    def stands_still(self, seconds=2):
        before = self.answered
        time.sleep(seconds)
        return before == self.answered


def slow_store():
    """The store hangs because this process has its lock; the server then stops reading clients."""
    with Cluster() as cluster:
        number = (1 << 62) | 5
        say(upload(cluster.socket, b"mine")[0] == "BOUND", "hanging: an upload is stored")
        with open(cluster.path("server.db.data/lock"), "wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            with Stranger(cluster.socket, "PEER") as peer:
                peer.says("OFFER", entries=[content(b"mine")])
                reads = Reads(cluster.socket, number, 60000)
                cluster.until(lambda: reads.answered and reads.stands_still(), "it is blocked")
                say(reads.answered < 40000, "hanging: the server stops reading a client",
                    reads.answered)
                fcntl.flock(lock, fcntl.LOCK_UN)
                reads.join(PATIENCE)
                say(reads.answered == reads.count, "hanging: and resumes when the store does",
                    reads.answered)
        reads.peer.link.close()


def key_add(cluster, role, name):
    """Another key of this role; the server knows it from now on."""
    path = cluster.path(f"keys/{name}.key")
    done = subprocess.run([ROTA_PATH, "keys", "add", role, cluster.path("keys/server.keys"), path],
                          capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    before = cluster.server.said().count("read again")
    cluster.server.process.send_signal(signal.SIGHUP)
    cluster.until(lambda: cluster.server.said().count("read again") > before, "keys are read")
    return path


def slow_uploads():
    """One key has begun as many uploads as it can, and sends next to nothing."""
    with KeyedCluster() as cluster:
        cluster.work("one", 2)
        other = Key(key_add(cluster, "client", "other"))
        crowd = []
        for number in range(100):
            try:
                peer = Keyed(cluster.address, other, "PEER", "rota")
            except (EOFError, ConnectionError):
                continue
            text = b"%d" % number + b"x" * (1 << 20)
            peer.says("PIECE", entry=content(text), offset=0, bytes=len(text)).raw(text[:1000])
            crowd.append(peer)
        with open(cluster.path("input"), "w", encoding="utf-8") as file:
            file.write("input of a job\n")
        job = cluster.job({"a": {"run": "cat input", "in": ["input"]}})
        words = ["--server", cluster.address, *cluster.key("client")]
        done = subprocess.run([ROTA_PATH, "submit", *words, "--wait", job], capture_output=True,
                              text=True, check=False, timeout=PATIENCE, cwd=cluster.folder)
        say(done.returncode == 0, "slow: a job with a file, of another key", done.stderr)
        put = subprocess.run([ROTA_PATH, "data", "put", *words, "input"], capture_output=True,
                             text=True, check=False, timeout=PATIENCE, cwd=cluster.folder)
        say(put.returncode == 0, "slow: a file is put with another key", put.stderr)
        far = cluster.rota("submit", cluster.job({"b": {"run": "cat input", "in": ["input"]}}),
                           "--wait")
        say(far.returncode == 0, "slow: and by a user of this machine", far.stderr)
        for peer in crowd:
            peer.link.close()


def slow_upload(address, key, number):
    """Begins one, and sends next to nothing."""
    peer = Keyed(address, key, "PEER", "rota")
    text = b"%d" % number + b"x" * (1 << 22)
    return peer.says("PIECE", entry=content(text), offset=0, bytes=len(text)).raw(text[:1000])


def has_something(peer):
    return bool(select.select([peer.link.socket.socket], [], [], 0)[0])


# A client of the crowd sends just enough for the store to keep it. False: it was disconnected.
def stays(peer):
    return not has_something(peer)


def sends(peer):
    if select.select([], [peer.link.socket.socket], [], 0)[1]:
        peer.raw(b"x" * 16000)
    return not has_something(peer)


def reads(peer):
    for _ in range(16):
        if has_something(peer) and not peer.link.socket.recv(1 << 14):
            return False
    return True


class Crowd:
    """As many connections as the server accepts; closed ones are opened again."""

    def __init__(self, count, open_one, act):
        self.open_one, self.act, self.peers, self.is_over = open_one, act, {}, False
        for number in range(count):
            self.open(number)
        self.thread = threading.Thread(target=self.keep)

    def open(self, number):
        try:
            self.peers[number] = self.open_one(number)
        except (EOFError, ConnectionError):
            pass

    def keep(self):
        while not self.is_over:
            for number, peer in list(self.peers.items()):
                if not self.act(peer):
                    peer.link.close()
                    self.open(number)
            time.sleep(1)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over = True
        self.thread.join()
        for peer in self.peers.values():
            peer.link.close()


def files_get_through(cluster, what):
    """A client with a key of its own, while others hold all the connections they can."""
    words = ["--server", cluster.address, *cluster.key("client")]
    with open(cluster.path("input"), "w", encoding="utf-8") as file:
        file.write("input of a job\n")
    job = cluster.job({"a": {"run": "cat input", "in": ["input"]}})
    for name, command in (("a file is put", ["data", "put", *words, "input"]),
                          ("a job with a file", ["submit", *words, "--wait", job])):
        done = subprocess.run(["timeout", str(PATIENCE), ROTA_PATH, *command], text=True,
                              capture_output=True, check=False, cwd=cluster.folder)
        say(done.returncode == 0, f"{what}: {name}, of another key",
            f"{done.returncode}: {done.stderr}")


def crowd_of_two_keys():
    """Two keys together have more uploads than the store serves, and than may wait."""
    with KeyedCluster() as cluster:
        cluster.work("one", 2)
        keys = [Key(key_add(cluster, "client", name)) for name in ("first", "second")]
        with Crowd(560, lambda number: slow_upload(cluster.address, keys[number % 2], number),
                   sends):
            files_get_through(cluster, "two keys")
        log = cluster.server.said()
        say("of its transfers with the object store" in log, "two keys: the log names one", log)


def crowd_of_a_worker():
    """The key of one worker has opened more connections than may wait, and says nothing."""
    with KeyedCluster() as cluster:
        cluster.work("one", 2)
        key = Key(key_add(cluster, "worker", "other"))
        with Crowd(600, lambda number: Keyed(cluster.address, key, "PEER", "rota"), stays):
            files_get_through(cluster, "worker")


def crowd_of_readers():
    """One key reads as much as it can, and takes next to nothing of it."""
    with KeyedCluster() as cluster:
        cluster.work("one", 2)
        key = Key(key_add(cluster, "client", "other"))
        text = os.urandom(64 << 20)
        with Keyed(cluster.address, key, "PEER", "rota") as peer:
            peer.says("PIECE", entry=content(text), offset=0, bytes=len(text)).raw(text)
            peer.answer("STORED")
            peer.says("BIND", object=(7, (1 << 62) | 5), entry=content(text)).answer("BOUND")

        def slow_read(number):
            with Keyed(cluster.address, key, "CLIENT") as client:
                client.says("DATA", high=1, low=number + 1, verb=WIRE["DATA_READ"],
                            object=(7, (1 << 62) | 5))
                ticket = client.answer("FETCH")[1]["ticket"]
            peer = Keyed(cluster.address, key, "PEER", "")
            peer.says("GET", object=(7, (1 << 62) | 5), ticket=ticket).answer("CONTENT")
            peer.says("WANT", entry=content(text), offset=0)
            return peer

        with Crowd(20, slow_read, reads):
            files_get_through(cluster, "readers")


def waiting_is_reported():
    """A client whose own key has all of its uploads under way."""
    with KeyedCluster() as cluster:
        cluster.work("one", 2)
        path = key_add(cluster, "client", "other")
        crowd = [slow_upload(cluster.address, Key(path), number) for number in range(24)]
        with open(cluster.path("input"), "w", encoding="utf-8") as file:
            file.write("waiting\n")
        with subprocess.Popen([ROTA_PATH, "data", "put", "--server", cluster.address, "--key", path,
                               cluster.path("input")], stderr=subprocess.PIPE,
                              stdout=subprocess.DEVNULL, text=True) as put:
            can_read, _, _ = select.select([put.stderr], [], [], PATIENCE)
            line = put.stderr.readline() if can_read else ""
            say("busy" in line, "waiting: the client says so", line)
            for peer in crowd:
                peer.link.close()
            say(put.wait(PATIENCE) == 0, "waiting: and is served when others are done")


def uploads_at_once():
    """All of them are served, some later."""
    with KeyedCluster() as cluster:
        paths = []
        for number in range(UPLOADS):
            paths.append(cluster.path(f"file{number}"))
            with open(paths[-1], "wb") as file:
                file.write(os.urandom(SIZE))
        before = time.monotonic()
        words = ["--server", cluster.address, *cluster.key("client")]
        uploads = [subprocess.Popen([ROTA_PATH, "data", "put", *words, path],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                   for path in paths]
        said = [process.communicate(timeout=5 * PATIENCE)[1] for process in uploads]
        fine = sum(process.returncode == 0 for process in uploads)
        say(fine == UPLOADS, f"uploads: {UPLOADS} at once, and all of them succeed",
            f"{fine}: " + "".join(set(said)))
        print(f"# {UPLOADS} uploads of {SIZE} bytes: {time.monotonic() - before:.1f} s")


for test in (floods_of_reads, slow_store, slow_uploads, crowd_of_two_keys, crowd_of_a_worker,
             crowd_of_readers, waiting_is_reported, uploads_at_once):
    test()
Tap.end()
