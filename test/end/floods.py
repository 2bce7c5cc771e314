"""floods - what tests of a flooded server share: long messages, honest clients, its memory."""
import concurrent.futures
import os
import subprocess

from cluster import PATIENCE, ROTA_PATH
from keyed import Keyed
from wire import encode

MIB = 1 << 20


def resident(cluster):
    with open(f"/proc/{cluster.server.process.pid}/statm", encoding="utf-8") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def client(cluster, *words):
    return subprocess.run([ROTA_PATH, words[0], "--server", cluster.address,
                           "--key", cluster.path("keys/honest.key"), *words[1:]],
                          capture_output=True, text=True, check=False, timeout=PATIENCE,
                          cwd=cluster.folder)


def key_add(cluster, role, name):
    subprocess.run([ROTA_PATH, "keys", "add", role, cluster.path("keys/server.keys"),
                    cluster.path(f"keys/{name}.key")], check=True, stdout=subprocess.DEVNULL)


def honest_add(cluster):
    """A second client's key, which the server knows from now on."""
    key_add(cluster, "client", "honest")
    cluster.server.kill()
    cluster.serve()


def send_unfinished(cluster, key, role, kind, count):
    """Opens `count` connections of a key, each with a message of this kind that never ends."""
    head = (15 * MIB).to_bytes(4, "little")

    def fill(peer):
        peer.link.socket.settimeout(1)
        peer.raw(head + kind + b"x" * (14 * MIB))

    crowd = [Keyed(cluster.address, key, role, f"unfinished{i}") for i in range(count)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(fill, crowd))
    return crowd


def lots(kind, count, times):
    """Messages HELD, each with so many objects that no other one names."""
    lot = bytearray(encode("HELD", objects=[{"object": (i + 1, i), "kind": kind}
                                            for i in range(count)]))
    row = (len(lot) - len(encode("HELD", objects=[]))) // count
    place = lot.index((count // 2 + 1).to_bytes(8, "little") + (count // 2).to_bytes(8, "little"))
    place -= count // 2 * row
    for number in range(times):
        lot[place + 4::row] = bytes([number & 255]) * count
        lot[place + 5::row] = bytes([number >> 8]) * count
        yield bytes(lot)
