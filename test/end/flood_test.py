#!/usr/bin/env python3
"""flood_test - peers without a key, and keys, that flood a server; others can still work."""
import concurrent.futures
import os
import socket
import subprocess
import threading
import time

from cluster import PATIENCE, ROTA_PATH, KeyedCluster, Process
from contents import entry_of
from end import Tap
from floods import MIB, client, honest_add, key_add, lots, resident, send_unfinished
from hostile import Stranger, job_of
from keyed import Key, Keyed
from wire import WIRE, encode

say = Tap.say
SANITIZED = os.environ.get("SANITIZED")


def strangers(cluster):
    """Without a key, as fast as they can."""
    port, over = int(cluster.address.rsplit(":", 1)[1]), threading.Event()

    def flood():
        while not over.is_set():
            try:
                socket.create_connection(("127.0.0.1", port)).close()
            except OSError:
                pass

    def hold():
        held = []
        while not over.is_set():
            try:
                held.append(socket.create_connection(("127.0.0.1", port)))
            except OSError:
                pass
            held = held[-200:]

    threads = [threading.Thread(target=what) for what in (flood, hold)]
    for thread in threads:
        thread.start()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        done = list(pool.map(lambda _: client(cluster, "ps"), range(24)))
    over.set()
    for thread in threads:
        thread.join()
    bad = [one.stderr for one in done if one.returncode]
    say(not bad, "strangers: 24 honest commands succeed beside a flood", (len(bad), bad[:3]))


def unfinished(cluster):
    """Messages that never end."""
    key = Key(cluster.path("keys/client.key"))
    crowd = send_unfinished(cluster, key, "CLIENT", b"\x18", 30)
    most = resident(cluster)
    say(most < 200 * MIB or SANITIZED, "unfinished: 30 messages of 14 MB cost little", most)
    done = client(cluster, "ps")
    say(done.returncode == 0, "unfinished: another key is served", done.stderr)
    small = crowd[0].__class__(cluster.address, key, "CLIENT")
    told = small.says("WATCH", job=9999).answer()
    say(told == "refuse not_found", "unfinished: so is a short message of the same key", told)
    for peer in crowd:
        peer.link.close()


def long_messages(cluster):
    """Long messages and long answers of connections that then say no more, one after the other."""
    before, crowd = resident(cluster), []
    for _ in range(20):
        peer = Keyed(cluster.address, Key(cluster.path("keys/client.key")), "CLIENT")
        told = peer.says("ASK", request=1, words=["x" * (14 * MIB)]).answer(seconds=PATIENCE)
        crowd.append(peer)
    say(told == "refuse request", "long messages: they are read", told)
    most = resident(cluster) - before
    say(most < 64 * MIB or SANITIZED, "long messages: 20 of 14 MB cost little afterwards", most)
    before, lot = resident(cluster), b"".join(lots(WIRE["FILE"], 4000, 20))
    for number in range(20):
        peer = Stranger(cluster.socket, "WORKER", f"long{number}")
        peer.says("JOIN", cores=1, machine="nowhere").raw(lot)
        told = [peer.answer("DROP", seconds=PATIENCE) for _ in range(20)]
        crowd.append(peer)
    say(all(kind == "DROP" for kind, _ in told), "long messages: workers are answered", told[:1])
    most = resident(cluster) - before
    say(most < 32 * MIB or SANITIZED, "long messages: 20 answers of 4 MB cost little afterwards",
        most)
    for peer in crowd:
        peer.link.close()


def unfinished_offers(cluster):
    """The same with transfers to the object store."""
    before = resident(cluster)
    crowd = send_unfinished(cluster, Key(cluster.path("keys/client.key")), "PEER", b"\x2c", 24)
    most = resident(cluster) - before
    say(most < 100 * MIB or SANITIZED, "offers: 24 messages of 14 MB cost little", most)
    for peer in crowd:
        peer.link.close()


def submissions(cluster):
    """A submission that never ends, in many pieces."""
    key, more = Key(cluster.path("keys/client.key")), WIRE["SUBMIT_MORE"]
    tasks = [{"name": "x" * 200, "body": 1, "cores": 1}] * 5000
    with Keyed(cluster.address, key, "CLIENT") as peer:
        for _ in range(20):
            peer.says("SUBMIT", **job_of(5, tasks, flags=more))
        told = peer.answer("ACCEPTED", "REFUSE")
        say(told == "refuse full" and "--key-submissions" in peer.reason,
            "submissions: one that is too large is refused, with the option", (told, peer.reason))
    with Keyed(cluster.address, key, "CLIENT") as peer, \
            Keyed(cluster.address, key, "CLIENT") as other:
        for _ in range(5):
            peer.says("SUBMIT", **job_of(6, tasks, flags=more))
        told = peer.says("WATCH", job=9999).answer()
        say(told == "refuse not_found", "submissions: the first one is kept", told)
        for _ in range(5):
            other.says("SUBMIT", **job_of(7, tasks, flags=more))
        told = other.answer("REFUSE")
        say(told == "refuse busy", "submissions: a second one is told to try again", told)
        told = peer.says("WATCH", job=9999).answer()
        say(told == "refuse not_found", "submissions: the first one is not refused", told)
        done = client(cluster, "submit", cluster.job({"a": {"run": "true"}}))
        say(done.returncode == 0, "submissions: another key submits meanwhile", done.stderr)
        job = cluster.job({f"{number}{'x' * 200}": {"run": "true"} for number in range(12000)})
        late = subprocess.Popen([ROTA_PATH, "submit", "--server", cluster.address,
                                 *cluster.key("client"), job], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        line = late.stderr.readline()
        say("busy" in line and "trying again" in line,
            "submissions: 'rota submit' with that key says that it tries again", line)
    said = late.communicate(timeout=PATIENCE)
    say(late.returncode == 0 and "job " in said[0], "submissions: and succeeds later", said)


class Drain(threading.Thread):
    """Takes what a server says, until a certain message comes or the connection ends."""

    def __init__(self, peer, last):
        super().__init__(daemon=True)
        self.socket, self.last, self.has_come = peer.link.socket, last, False
        self.start()

    def run(self):
        tail = b""
        try:
            while not self.has_come and (said := self.socket.recv(1 << 20)):
                tail = tail[-len(self.last):] + said
                self.has_come = self.last in tail
        except OSError:
            pass


def held(cluster):
    """A worker that names objects without an end."""
    before, most = resident(cluster), 0
    with Stranger(cluster.socket, "WORKER", "liar") as peer:
        peer.says("JOIN", cores=1, machine="nowhere")
        peer.link.socket.settimeout(PATIENCE)
        heard = 0
        for number, lot in enumerate(lots(WIRE["FILE"], 4000, 1000), 1):
            peer.raw(lot)
            if number % 50 == 0:  # so that what it is told does not pile up
                drain = Drain(peer, encode("BEATEN", sent=number))
                peer.says("BEAT", sent=number)
                drain.join(PATIENCE)
                heard += drain.has_come
                most = max(most, resident(cluster) - before)
        say(heard == 20, "held: a worker is heard", heard)
        say(most < 32 * MIB or SANITIZED, "held: 4 million unknown objects cost little", most)
    with Stranger(cluster.socket, "WORKER", "other") as peer:
        peer.says("JOIN", cores=1, machine="nowhere")
        for lot in lots(WIRE["FILE"], 5000, 1):
            told = peer.raw(lot).answer("REFUSE", seconds=PATIENCE)
        say(told == "refuse request" and "4096" in peer.reason,
            "held: a message with too many objects is refused", (told, peer.reason))


def results(cluster):
    """A worker that joins again and again, each time with other results."""
    with Stranger(cluster.socket, "WORKER", "maker") as peer:
        for number, lot in enumerate(lots(WIRE["RESULT"], 4000, 60)):
            if number % 25 == 0:
                peer.says("JOIN", cores=1, machine="nowhere")
            peer.raw(lot)
        told = peer.says("BEAT", sent=1).answer("BEATEN", seconds=PATIENCE)
        kept = cluster.sql("SELECT count(*) FROM sched_replica r JOIN sched_name n ON n.kind ="
                           " 'worker' AND n.number = r.worker AND n.name = 'maker'")[0][0]
        say(told == ("BEATEN", {"sent": 1}) and kept == 100000,
            "results: of 240,000 in three joins 100,000 are kept", (told, kept))


def processor(cluster):
    with open(f"/proc/{cluster.server.process.pid}/stat", encoding="utf-8") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))


def offers(cluster):
    """The same large content is offered again and again."""
    data = os.urandom(64 * MIB)
    start = processor(cluster)
    with Stranger(cluster.socket, "PEER") as peer:
        peer.says("OFFER", entries=[entry_of(data)])
        peer.answer("WANT")
        peer.says("PIECE", entry=entry_of(data), offset=0, bytes=len(data)).raw(data)
        told = peer.answer("STORED", seconds=PATIENCE)
        once = processor(cluster) - start
        peer.says("OFFER", entries=[entry_of(data)] * 1000)
        again = peer.answer("OFFERED", seconds=PATIENCE)
        more = processor(cluster) - start - once
        say(told[0] == "STORED" and again == ("OFFERED", {"wanted": 0}) and more < 10 * once + 50,
            "offers: a content that is there is not hashed for each offer",
            (told, again, once, more))


def two_workers(cluster):
    """Workers with one key: some announce long messages and say no more, one wants to work."""
    key, crowd = Key(cluster.path("keys/worker.key")), []
    for number in range(3):
        bad = Keyed(cluster.address, key, "WORKER", f"stalled{number}")
        bad.says("JOIN", cores=1, machine=f"stalled{number}")
        bad.says("BEAT", sent=1).answer("BEATEN")
        bad.raw((16 * MIB - 4).to_bytes(4, "little") + b"\x18" + b"x" * 100000)
        crowd.append(bad)
    with Keyed(cluster.address, key, "WORKER", "good") as good:
        good.says("JOIN", cores=1, machine="good")
        for size in (2000, 200000):
            for first in range(0, size, 2000):
                good.says("HELD", objects=[{"object": (i, i), "kind": 1}
                                           for i in range(first, first + 2000)])
            told = good.says("BEAT", sent=size).answer("BEATEN")
            say(told == ("BEATEN", {"sent": size}),
                f"two workers: one that holds {size} objects is heard", told)
    said = cluster.server.said()
    say("worker key" not in said, "two workers: no share of theirs is used up", said)
    for peer in crowd:
        peer.link.close()


def files(cluster):
    return len(os.listdir(f"/proc/{cluster.server.process.pid}/fd"))


def connections():
    """Two keys take all that they get; the server has room for 80."""
    with KeyedCluster("--connections", "80") as cluster:
        honest_add(cluster)
        before, crowd = files(cluster), []
        keys = [Key(cluster.path(f"keys/{name}.key")) for name in ("client", "honest")]
        for role in ("PEER", "CLIENT"):
            for number in range(100):
                try:
                    crowd.append(Keyed(cluster.address, keys[number % 2], role, "rota"))
                except (EOFError, ConnectionError):
                    pass
        said = {kind for kind, _ in (peer.welcome for peer in crowd)}
        say(said == {"WELCOME", "REFUSE"}, "connections: some are told that it is busy", said)
        # The server closes a refused connection after it has sent the reason.
        cluster.until(lambda: files(cluster) - before <= 80, "the server has 80 connections")
        say(True, "connections: those of the object store count")
        cluster.socket, direct = cluster.address, cluster.socket
        worker = cluster.work("far", 1, *cluster.key("worker"))
        cluster.until(lambda: "connected to" in worker.said() or worker.process.poll() is not None,
                      "a worker comes")
        say("connected to" in worker.said(), "connections: a worker gets in", worker.said())
        admin = Keyed(cluster.address, Key(cluster.path("keys/admin.key")), "ADMIN")
        say(admin.welcome[0] == "WELCOME", "connections: so does an admin", admin.welcome)
        admin.link.close()
        cluster.socket = direct
        for peer in crowd:
            peer.link.close()
        done = cluster.submit({"a": {"run": "true"}}, "--wait")
        say(done.returncode == 0, "connections: and the worker runs a job", done.stderr)


def crowd_of(cluster, key, role, count):
    """The connections that the server accepted."""
    crowd = []
    for number in range(count):
        try:
            peer = Keyed(cluster.address, key, role, f"x{number}")
            if peer.welcome[0] == "WELCOME":
                crowd.append(peer)
        except (EOFError, ConnectionError):
            pass
    return crowd


def greedy_keys():
    """A key of a worker, and then one of an admin, take all that they get."""
    with KeyedCluster("--connections", "80") as cluster:
        key_add(cluster, "worker", "good")
        key_add(cluster, "admin", "other")
        honest_add(cluster)
        cluster.submit({"a": {"run": "true"}})
        before = files(cluster) + 2
        for role, name in (("HANDLER", "worker"), ("WORKER", "worker"), ("ADMIN", "admin"),
                           ("HANDLER", "admin")):
            crowd = crowd_of(cluster, Key(cluster.path(f"keys/{name}.key")), role, 90)
            say(20 <= len(crowd) < 80, f"greedy {name} key: not all are {role}S", len(crowd))
            cluster.until(lambda: "of its 70 connections; more are refused" in
                          cluster.server.said(), "the log says so")
            done = client(cluster, "ps")
            say(done.returncode == 0, f"greedy {name} key as {role}: a client is served", done)
            for other, key in (("WORKER", "good"), ("ADMIN", "other")):
                with Keyed(cluster.address, Key(cluster.path(f"keys/{key}.key")), other,
                           "good" + role + name) as peer:
                    say(peer.welcome[0] == "WELCOME",
                        f"greedy {name} key as {role}: another {other} gets in", peer.welcome)
            for peer in crowd:
                peer.link.close()
            cluster.until(lambda: files(cluster) <= before, "they are gone")


def many_keys():
    """Keys of workers and clients take all that they get; others have the last places."""
    with KeyedCluster("--connections", "80") as cluster:
        key_add(cluster, "worker", "good")
        honest_add(cluster)
        keys = {name: Key(cluster.path(f"keys/{name}.key"))
                for name in ("worker", "good", "client", "honest", "admin")}
        crowd = crowd_of(cluster, keys["worker"], "HANDLER", 60)
        for name in ("client", "honest"):
            crowd += crowd_of(cluster, keys[name], "CLIENT", 20)
        with Keyed(cluster.address, keys["honest"], "CLIENT") as peer:
            say(b"busy, try again: clients have all" in peer.welcome[1].get("reason", b""),
                "many keys: a client is told that it is busy", peer.welcome)
        crowd += crowd_of(cluster, keys["good"], "WORKER", 2)
        say(len(crowd) == 77, "many keys: workers have some of the last places", len(crowd))
        crowd += crowd_of(cluster, keys["good"], "HANDLER", 20)
        with Keyed(cluster.address, keys["admin"], "ADMIN") as peer:
            say(peer.welcome[0] == "WELCOME", "many keys: an admin gets in", peer.welcome)
        cluster.until(lambda: "are connected; further clients are refused" in cluster.server.said(),
                      "the log says so")
        say(True, "many keys: the log says so")
        for peer in crowd:
            peer.link.close()


def small_memory():
    """As little as one message needs, and less."""
    with KeyedCluster("--key-memory", "16") as cluster:
        path = cluster.path("refused.sock")
        less = Process(cluster.path("refused.log"), "server", "--memory", "--listen", path,
                       "--key-memory", "15")
        cluster.until(lambda: less.process.poll() is not None or os.path.exists(path), "it starts")
        say(less.kill() == 2 and "--key-memory needs at least 16" in less.said(),
            "small memory: less than a message is refused", less.said())
        done = cluster.submit({f"t{i}": {"run": "echo " + "x" * 1500} for i in range(3000)})
        say(done.returncode == 0, "small memory: a long job is submitted", done.stderr)
        with Keyed(cluster.address, Key(cluster.path("keys/client.key")), "CLIENT") as peer:
            peer.raw((16 * MIB).to_bytes(4, "little") + b"\xff" * (16 * MIB))
            told = peer.answer(seconds=20)
            say(told == "refuse frame", "small memory: the longest message is read", told)


def cut_connection(cluster):
    """A server that ends while a client connects, is gone for a moment, and comes back."""
    path = cluster.path("cut.sock")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        asks = subprocess.Popen([ROTA_PATH, "ps", "--server", path, "--job", "1"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        listener.accept()[0].close()
    line = asks.stderr.readline()
    time.sleep(0.3)  # long enough for a try that finds no server; without one the test passes too
    os.unlink(path)
    os.symlink(cluster.socket, path)
    said = asks.communicate(timeout=PATIENCE)
    say("trying again" in line and asks.returncode == 0,
        "first: so is one that was restarted while a client connected", (line, said))


def first_connection():
    """`rota submit` before the server is there."""
    cluster = KeyedCluster()
    job = cluster.job({"a": {"run": "true"}})
    early = subprocess.Popen([ROTA_PATH, "submit", "--server", cluster.socket, job],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = early.stderr.readline()
    say("trying again" in line, "first: it says that it tries again", line)
    with cluster:
        said = early.communicate(timeout=PATIENCE)
        say(early.returncode == 0 and "job 1" in said[0], "first: and finds the server", said)
        cut_connection(cluster)
        wrong = subprocess.run([ROTA_PATH, "submit", "--server", cluster.address, "--key",
                                cluster.path("keys/peer.key"), job], capture_output=True,
                               text=True, check=False, timeout=PATIENCE)
        say(wrong.returncode in (2, 4) and "trying" not in wrong.stderr,
            "first: a key that is not taken is tried once", wrong.stderr)


first_connection()
connections()
greedy_keys()
many_keys()
small_memory()
with KeyedCluster("--key-submissions", "8") as end:
    honest_add(end)
    end.submit({"a": {"run": "true"}})
    for test in (strangers, long_messages, unfinished, unfinished_offers, submissions, held,
                 results, offers, two_workers):
        test(end)
Tap.end()
