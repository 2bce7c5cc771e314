#!/usr/bin/env python3
"""revoke_test - removing a key closes the connections that it has opened, at the next SIGHUP."""
import json
import os
import subprocess
import sys

from cluster import ROTA_PATH, KeyedCluster, Process
from end import Tap
from hostile import Stranger
from keyed import Key, Keyed, Tunnel
from wire import VERSION, WIRE, Link

say = Tap.say


def key_id(cluster, role):
    with open(cluster.path(f"keys/{role}.key"), encoding="utf-8") as file:
        return file.read().split()[2]


def keys(verb, cluster, word):
    """rota keys VERB WORD, with the server's file."""
    return subprocess.run([ROTA_PATH, "keys", verb, word, cluster.path("keys/server.keys")],
                          check=False, capture_output=True, text=True)


def revoke(cluster, role):
    """The id of the key of this role, which is taken out of the server's file; then HUP."""
    key = key_id(cluster, role)
    done = keys("revoke", cluster, key)
    if done.returncode:
        raise RuntimeError(done.stderr)
    keys_read(cluster)
    return key


def keys_read(cluster):
    before = cluster.server.said().count("keys read again")
    cluster.server.process.send_signal(1)
    cluster.until(lambda: cluster.server.said().count("keys read again") > before, "HUP")


def a_secret(cluster):
    """The key keeps its id, and gets another secret."""
    path = cluster.path("keys/server.keys")
    with open(path, encoding="utf-8") as file:
        old = file.read()
    key = Key(cluster.path("keys/client.key"))
    with open(cluster.path("keys/client.key"), encoding="utf-8") as file:
        secret = file.read().split()[3]
    with Keyed(cluster.address, key, "CLIENT") as client:
        with open(path, "w", encoding="utf-8") as file:
            file.write(old.replace(secret, secret[::-1]))
        keys_read(cluster)
        say(client.answer() == "refuse role", "with its secret the connection of a client ends",
            client.reason)
    with open(path, "w", encoding="utf-8") as file:
        file.write(old)
    keys_read(cluster)


class Late(Stranger):
    """A connected client starts its handshake after the keys are read again."""

    def __init__(self, cluster):
        # pylint: disable=super-init-not-called
        self.reason = None
        tunnel = Tunnel(cluster.address, Key(cluster.path("keys/client.key")),
                        before=lambda: keys_read(cluster))
        self.link = Link(tunnel)


def a_handshake(cluster):
    try:
        with Late(cluster) as late:
            late.says("GREET", version=VERSION, role=WIRE["CLIENT"], name="late", boot=7,
                      connection=1)
            told = late.answer()
    except ConnectionError as error:
        told = error
    say(isinstance(told, tuple) and told[0] == "WELCOME", "a handshake outlives it", told)


def noted(cluster, **what):
    with open(cluster.path("audit"), encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return [line for line in lines if what.items() <= line.items()]


def a_worker(cluster):
    """A revoked worker that runs a task is lost: nothing runs twice at a time."""
    worker = cluster.workers["far"]
    mark = cluster.path("marks")
    cluster.submit({"held": {"run": f"echo begin >> {mark}; until test -e {cluster.path('go')};"
                                    f" do sleep 0.05; done; echo end >> {mark}",
                             "lane": "one", "access": "write"}},
                   lanes={"one": {}})
    cluster.until(lambda: cluster.read("marks"), "it runs")
    key = revoke(cluster, "worker")
    cluster.until(lambda: "the key was revoked" in worker.said(), "it is told")
    say(True, "a worker whose key is revoked is disconnected")
    cluster.until(lambda: noted(cluster, verb="disconnect", key=key, name="far"), "it is noted")
    say(True, "which is in the audit log")
    near = cluster.work("near")
    cluster.until(lambda: "connected to" in near.said(), "another one works")
    say(cluster.read("marks").count("begin") == 1, "its task is not given to another at once")
    cluster.until(lambda: cluster.read("marks").count("begin") == 2, "it runs again")
    said = worker.said()
    cluster.touch("go")
    done = cluster.rota("wait", "2")
    say(done.returncode == 0 and cluster.read("marks") == "begin\nbegin\nend\n",
        "when the lease ends it is stopped there, and then runs elsewhere",
        (done, cluster.read("marks"), said))


def a_handler(cluster):
    """The handler's lease is a day, the server's 4 s; another handler has its token."""
    subprocess.run([ROTA_PATH, "keys", "add", "worker", cluster.path("keys/server.keys"),
                    cluster.path("keys/hand.key")], check=True, stdout=subprocess.DEVNULL)
    keys_read(cluster)
    cluster.submit({"one": {"run": "true"}}, policy="claim")
    with Keyed(cluster.address, Key(cluster.path("keys/hand.key")), "HANDLER") as handler:
        handler.says("CLAIM", high=1, low=2, lease=86400 * 10**6)
        grant = handler.answer("GRANTED")[1]
        revoke(cluster, "hand")
        say(handler.answer() == "refuse role", "a handler whose key is revoked is disconnected",
            handler.reason)
    with Keyed(cluster.address, Key(cluster.path("keys/admin.key")), "HANDLER") as other:
        told = other.says("DELIVER", high=1, low=3, task=grant["task"],
                          token=grant["token"]).answer()
        say(told == "refuse stale",
            "another handler cannot deliver with its token", (told, other.reason))
        other.says("CLAIM", high=1, low=4, wait=60 * 10**6)
        again = other.answer("GRANTED", seconds=60)
        say(again[0] == "GRANTED" and again[1]["task"] == grant["task"],
            "its task is offered again when the server's lease has ended", again)
        told = other.says("DELIVER", high=1, low=5, task=grant["task"],
                          token=again[1]["token"]).answer()
        say(told[0] == "DONE", "and another handler delivers it", (told, other.reason))


def a_client(cluster):
    """Others stay connected, also those with another key at the same port."""
    worker = cluster.work("far", 2, "--server", cluster.address, *cluster.key("worker"))
    cluster.until(lambda: "connected to" in worker.said(), "it works")
    watcher = Process(cluster.path("events.log"), "events", "--after", "0", "--server",
                      cluster.address, *cluster.key("client"))
    cluster.submit({"one": {"run": "true"}})
    cluster.until(watcher.said, "it follows")
    key = revoke(cluster, "client")
    cluster.until(lambda: noted(cluster, verb="disconnect", key=key), "it is disconnected")
    say(True, "a client whose key is revoked is disconnected")
    watcher.kill()
    said = cluster.server.said()
    say("1 connection closed: its key was removed" in said and not noted(cluster, verb="disconnect",
                                                               role="worker"),
        "others notice nothing", said)


def the_only_key():
    """Without its file a server keeps its keys; the message says what works instead."""
    with KeyedCluster() as cluster:
        path = cluster.path("keys/server.keys")
        for role in ("worker", "admin", "peer"):
            revoke(cluster, role)
        key = Key(cluster.path("keys/client.key"))
        with Keyed(cluster.address, key, "CLIENT") as client:
            os.rename(path, path + ".away")
            cluster.server.process.send_signal(1)
            cluster.until(lambda: "the old keys stay in force" in cluster.server.said(), "HUP")
            os.rename(path + ".away", path)
            with Keyed(cluster.address, key, "CLIENT") as other:
                say(other.reason is None, "HUP without a file of keys leaves the old ones in force",
                    other.reason)
            refused = keys("revoke", cluster, key_id(cluster, "client"))
            say(refused.returncode == 2 and "(rota keys add ROLE FILE)" in refused.stderr,
                "the only key of a file is not revoked; another one is to be added first",
                refused.stderr)
            keys("add", cluster, "admin")
            revoke(cluster, "client")
            say(client.answer() == "refuse role", "then it is revoked, and its connection ends",
                client.reason)


def main():
    the_only_key()
    with KeyedCluster(lease=4) as cluster:
        cluster.server.kill()
        cluster.options += ["--audit", cluster.path("audit")]
        cluster.serve()
        a_secret(cluster)
        a_handshake(cluster)
        a_client(cluster)
        a_worker(cluster)
        a_handler(cluster)
    Tap.end()


if __name__ == "__main__":
    sys.exit(main())
