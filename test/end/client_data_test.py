#!/usr/bin/env python3
"""client_data_test - rota_client.h: a program fetches, puts, keeps and releases objects."""
import os
import threading

from cluster import Cluster, KeyedCluster, Process
from end import Tap
from probe import (DAMAGED, FILE, GONE, NOT_FOUND, OK, REFUSED, TIMED_OUT, UNREACHABLE,
                   WRONG, Probe)
from proxy import Proxy, Way

say = Tap.say
BIG = b"0123456789abcdef" * 300000


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


def get(probe, name, path, timeout=60000, offset=0):
    """The code, how many bytes there are, and the reason."""
    code, text = probe.do("get", name, path, timeout, offset)
    count, _, reason = text.partition(" ")
    return code, int(count), reason


def objects():
    with Cluster(lease=60) as cluster, Probe() as probe:
        cluster.work("one")
        probe.connect(cluster.socket)
        job = {"make": {"run": "echo made > sum; mkdir t; echo in > t/x; echo gone > scrap",
                        "out": ["sum", "t/", "scrap"], "keep": ["sum", "t"]},
               "late": {"run": f"until test -e {cluster.path('go')}; do sleep 0.05; done;"
                               " echo l > late; : > empty", "out": ["late", "empty"],
                        "keep": True}}
        cluster.submit(job)
        cluster.until(lambda: ("make", "SUCCESS") in cluster.ends(), "it is made")
        found = probe.do("locate", "1.1/sum")
        say(found == (OK, "1.1 5 kept there one"), "an object is located", found)
        code, line = probe.do("ask", "data", "--json", "--job", "1")
        say(code == OK and '"name":"sum"' in line, "the objects of a job are listed", line)
        say(probe.do("locate", "1/t")[1].startswith("1.1 3 directory kept there"), "a directory")
        probe.do("job", "two")
        probe.task("true", makes="sum")
        probe.task("true", makes="sum")
        probe.submit()
        names = [probe.do("locate", name)[0]
                 for name in ("1/none", "9/sum", "2/sum", "2.2/sum", "sum", "1/", "1.1")]
        say(names == [NOT_FOUND, NOT_FOUND, WRONG, OK, WRONG, WRONG, WRONG],
            "unknown and ambiguous names are refused", names)
        probe.do("job", "kept")
        probe.do("keeps", 1)
        probe.task("sh", "-c", "echo mine > here", makes="here")
        job = probe.submit()[1]
        probe.do("wait", job, 60000)
        got = get(probe, f"{job}/here", cluster.path("here"))
        say(got == (OK, 5, "") and read(cluster.path("here")) == b"mine\n",
            "a kept output of a submitted task can be fetched", got)
        copy = write(cluster.path("copy"), b"something longer")
        got = get(probe, "1.1/sum", copy)
        say(got == (OK, 5, "") and read(copy) == b"made\n", "its bytes come, and no others stay",
            (got, read(copy)))
        say(get(probe, "1.1/sum", copy, offset=2) == (OK, 5, "") and read(copy) == b"made\n",
            "a file that has some of them gets the others")
        say(get(probe, "1.1/sum", copy, offset=99)[0] == WRONG, "unless it has not")
        write(copy, b"MA")
        say(get(probe, "1.1/sum", copy, offset=2) == (OK, 5, "") and read(copy) == b"made\n",
            "a file with other content is written again")
        code, _, reason = get(probe, "1/t", copy)
        say(code == REFUSED and "directory" in reason, "a directory is not a file", reason)
        code, _, reason = get(probe, "1/scrap", copy)
        say(code not in (OK, GONE) and "not kept" in reason,
            "an object that is not kept is removed", reason)
        full = get(probe, "1.1/sum", "/dev/full")
        say(full[0] == FILE and "space" in full[2], "a file that cannot be written", full)
        code, _, reason = get(probe, "1/late", copy, timeout=100)
        say(code == TIMED_OUT and reason == "the object does not exist yet",
            "an object that does not exist is waited for", reason)
        probe.begin("get", "1/late", copy, 60000, 0)
        cluster.touch("go")
        say(probe.end() == (OK, "2 ") and read(copy) == b"l\n", "until it is")
        say(get(probe, "1/empty", copy) == (OK, 0, "") and read(copy) == b"", "an empty one")
        say(probe.do("unkeep", "1.1/sum")[0] == OK and probe.do("unkeep", "1.1/sum")[0] != OK,
            "a kept object is released, once")
        say(get(probe, "1.1/sum", copy)[0] != OK and probe.do("keep", "1/scrap")[0] != OK,
            "then it cannot be had, nor kept")


def store():
    with Cluster(lease=60) as cluster, Probe() as probe:
        probe.connect(cluster.socket)
        big = write(cluster.path("big"), BIG)
        code, name = probe.do("put", big)
        say(code == OK and name.startswith(f"f:{len(BIG)}:"), "a file is put into the store", name)
        say(probe.do("put", big) == (OK, name), "the same has the same name")
        cluster.server.kill()
        say(probe.do("put", big)[0] in (GONE, UNREACHABLE), "without a server it is not put")
        cluster.serve()
        probe.connect(cluster.socket)
        copy = cluster.path("copy")
        say(get(probe, name, copy) == (OK, len(BIG), "") and read(copy) == BIG,
            "it comes back, from the next server too")
        command = cluster.rota("data", "get", name, cluster.path("other"))
        say(command.returncode == 0 and read(cluster.path("other")) == BIG,
            "commands know it by the same name", command)
        say(probe.do("unkeep", name)[0] == OK and get(probe, name, copy)[0] != OK,
            "until it is released")
        say(probe.do("keep", name)[0] == OK and get(probe, name, copy)[0] == OK,
            "which can be undone until it is removed")
        other = name[:-64] + ("0" if name[-64] != "0" else "1") + name[-63:]
        say(probe.do("keep", other)[0] == NOT_FOUND and get(probe, other, copy)[0] != OK,
            "an unknown object is not found")
        os.chmod(big, 0o700)
        say(probe.do("put", big)[1].startswith("x:"), "one that can be executed is another one")
        empty = write(cluster.path("empty"), b"")
        name = probe.do("put", empty)[1]
        say(name.startswith("f:0:") and get(probe, name, copy) == (OK, 0, "") and read(copy) == b"",
            "an empty one is one too", name)
        os.mkfifo(cluster.path("pipe"))
        say([probe.do("put", cluster.path(path))[0] for path in ("pipe", ".", "nothing")]
            == [WRONG, WRONG, FILE], "only regular files can be put")


def pipe_read(path, into):
    with open(path, "rb") as file:
        into.append(file.read())


def networks():
    """The first connection of a probe is its own, the others are for bytes."""
    with Cluster(lease=60) as cluster, Probe() as probe, \
            Proxy(cluster.path("front.sock"), cluster.socket) as proxy:
        big, copy = write(cluster.path("big"), BIG), cluster.path("copy")
        probe.connect(cluster.path("front.sock"))
        proxy.rule = lambda number: {"up": Way(cut=2000000)}
        code, text = probe.do("put", big)
        say(code == GONE and text, "a connection that breaks ends a put", text)
        proxy.rule = lambda number: {}
        before = proxy.passed["up"]
        code, name = probe.do("put", big)
        say(code == OK and proxy.passed["up"] - before < len(BIG) - 500000,
            "the next put resumes where it broke off", (code, proxy.passed["up"] - before))
        proxy.rule = lambda number: {"down": Way(cut=400000)}
        code, offset, _ = get(probe, name, copy)
        say(code == GONE and 0 < offset < len(BIG), "connections that break end a get", offset)
        proxy.rule = lambda number: {}
        before = proxy.passed["down"]
        again = get(probe, name, copy, offset=offset)
        say(again == (OK, len(BIG), "") and read(copy) == BIG
            and proxy.passed["down"] - before < len(BIG) - offset + 100000,
            "the next get resumes at that offset", (again, proxy.passed["down"] - before))
        first = proxy.count
        proxy.rule = lambda number: {"down": Way(cut=1500000)} if number == first else {}
        say(get(probe, name, copy) == (OK, len(BIG), "") and read(copy) == BIG,
            "of several only the last matters")
        first = proxy.count
        proxy.rule = lambda number: {"down": Way(flip=1000000)} if number == first else {}
        say(get(probe, name, copy) == (OK, len(BIG), "") and read(copy) == BIG,
            "bytes that were changed on their way are noticed, and come again")
        proxy.rule = lambda number: {"down": Way(flip=1000000)}
        code, offset, reason = get(probe, name, copy)
        say(code == DAMAGED and offset == 0 and "do not match" in reason, "if they come",
            reason)
        pipe, got = cluster.path("pipe"), []
        os.mkfifo(pipe)
        proxy.rule = lambda number: {}
        reader = threading.Thread(target=pipe_read, args=(pipe, got))
        reader.start()
        first = proxy.count
        proxy.rule = lambda number: {"down": Way(cut=1500000)} if number == first else {}
        done = get(probe, name, pipe)
        reader.join()
        say(done == (OK, len(BIG), "") and got == [BIG], "a pipe gets each byte once", done)
        reader = threading.Thread(target=pipe_read, args=(pipe, got))
        reader.start()
        proxy.rule = lambda number: {"down": Way(flip=1000000)}
        done = get(probe, name, pipe)
        reader.join()
        say(done[0] == DAMAGED and len(got[1]) == len(BIG),
            "and their reader learns at the end that they are wrong", done)


def disks():
    """A worker whose disk has changed its files."""
    with Cluster(lease=60) as cluster, Probe() as probe:
        cluster.work("one")
        probe.connect(cluster.socket)
        cluster.submit({"make": {"run": "echo made > sum", "out": ["sum"], "keep": True}})
        cluster.until(lambda: ("make", "SUCCESS") in cluster.ends(), "it is made")
        for folder, _, files in os.walk(cluster.path("one/cache/content")):
            for name in files:
                path = os.path.join(folder, name)
                os.chmod(path, 0o600)
                write(path, b"MADE\n")
        copy = cluster.path("copy")
        done = get(probe, "1/sum", copy)
        say(done[0] == OK and read(copy) == b"made\n" and len(cluster.ends()) == 2,
            "a disk is not believed: the object is made again", (done, cluster.ends()))


def keys():
    with KeyedCluster() as cluster, Probe() as probe:
        cluster.workers["one"] = Process(
            cluster.path("one.log"), "worker", "--server", cluster.address,
            *cluster.key("worker"), "--listen", "127.0.0.1:0", "--peer-key",
            cluster.path("keys/peer.key"), "--name", "one", "--folder", cluster.path("one"))
        probe.connect(cluster.address, cluster.path("keys/client.key"))
        name = probe.do("put", write(cluster.path("big"), BIG))[1]
        copy = cluster.path("copy")
        say(get(probe, name, copy) == (OK, len(BIG), "") and read(copy) == BIG,
            "over TLS contents go and come")
        cluster.submit({"make": {"run": "seq 100000 > sum", "out": ["sum"], "keep": True}})
        done = get(probe, "1/sum", copy)
        say(done[0] == OK and len(read(copy).split()) == 100000,
            "and what a worker has comes through the server", done)


objects()
store()
networks()
disks()
keys()
Tap.end()
