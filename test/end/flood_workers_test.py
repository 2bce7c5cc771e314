#!/usr/bin/env python3
"""flood_workers_test - workers of one key use all of its memory; others do not notice."""
import concurrent.futures
import os

from cluster import PATIENCE, KeyedCluster
from end import Tap
from floods import MIB, client, honest_add, key_add, lots, resident, send_unfinished
from hostile import Stranger
from keyed import Key, Keyed
from wire import WIRE

say = Tap.say
SANITIZED = os.environ.get("SANITIZED")


def announced(cluster, key, count):
    """Workers of a key that announce messages of 16 MiB and send a small part of each."""
    crowd = []
    for number in range(count):
        crowd.append(Keyed(cluster.address, key, "WORKER", f"stalled{number}"))
        crowd[-1].raw((16 * MIB - 4).to_bytes(4, "little") + b"\x18" + b"x" * 100000)
    return crowd


def works(cluster, name):
    """A client and a worker of other keys are served."""
    done = client(cluster, "submit", cluster.job({"a": {"run": "true"}}), "--wait")
    say(done.returncode == 0, f"{name}: a client and a worker with other keys are served",
        done.stderr)


def unfinished(cluster, key):
    """Four workers take all of the memory of their key; of the others little is read."""
    idle = resident(cluster)
    crowd, before = announced(cluster, key, 4), resident(cluster)
    crowd += send_unfinished(cluster, key, "WORKER", b"\x18", 12)
    most = resident(cluster) - before
    say(most < 32 * MIB or SANITIZED, "unfinished: 12 more messages of 14 MB cost little", most)
    most = resident(cluster) - idle
    say(most < 96 * MIB or SANITIZED, "unfinished: one key takes no more than its share", most)
    works(cluster, "unfinished")
    with Keyed(cluster.address, key, "WORKER", "short") as peer:
        peer.says("JOIN", cores=1, machine="short")
        told = peer.says("BEAT", sent=1).answer("BEATEN")
        say(told == ("BEATEN", {"sent": 1}), "unfinished: so is a short message of their key", told)
        peer.raw(b"".join(lots(WIRE["RESULT"], 4000, 1))).says("BEAT", sent=2)
        told = peer.answer(seconds=1)
        say(told in ("nothing", "closed"), "unfinished: a long one waits", told)
        cluster.until(lambda: "has all of its 67108864 bytes of unfinished messages" in
                      cluster.server.said(), "the log says so")
        for other in crowd:
            other.link.close()
        told = peer.answer("BEATEN", seconds=PATIENCE)
        say(told == ("BEATEN", {"sent": 2}), "unfinished: until others are gone", told)


def unread(cluster):
    """16 workers, at the Unix socket, that do not read 56 MB of answers each."""
    lot = b"".join(lots(WIRE["FILE"], 4000, 1))

    def fill(number):
        peer = Stranger(cluster.socket, "WORKER", f"unread{number}")
        peer.says("JOIN", cores=1, machine="nowhere")
        peer.link.socket.settimeout(2)
        try:
            for _ in range(340):
                peer.link.socket.sendall(lot)
        except OSError:
            pass  # the server takes no more
        return peer

    before = resident(cluster)
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        crowd = list(pool.map(fill, range(16)))
    most = resident(cluster) - before
    say(most < 160 * MIB or SANITIZED, "unread: answers have a limit", most >> 20)
    works(cluster, "unread")
    with Stranger(cluster.socket, "WORKER", "reads") as peer:
        peer.says("JOIN", cores=1, machine="nowhere").says("BEAT", sent=3)
        told = peer.answer("BEATEN", seconds=PATIENCE)
        say(told == ("BEATEN", {"sent": 3}), "unread: those that do not read are ended", told)
    for peer in crowd:
        peer.link.close()


with KeyedCluster("--key-memory", "16") as end:
    key_add(end, "worker", "good")
    honest_add(end)
    end.socket, direct = end.address, end.socket
    end.work("far", 1, "--key", end.path("keys/good.key"))
    end.socket = direct
    unfinished(end, Key(end.path("keys/worker.key")))
    unread(end)
Tap.end()
