#!/usr/bin/env python3
"""cluster_data_test - files that a job sends to workers, and results that come back."""
import json
import os
import shutil
import subprocess
import time

from cluster import Cluster, KeyedCluster, PATIENCE, Process
from end import Tap

say = Tap.say


def write(cluster, name, text, mode=0o644):
    path = cluster.path(name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)
    return path


def events(done):
    return [json.loads(line) for line in done.stdout.splitlines()]


def sent(done):
    return [row for row in events(done) if row["event"] == "sent"][0]


def contents(cluster, folder):
    """The number of contents in a cache."""
    place = cluster.path(folder)
    return sum(len(names) for _, _, names in os.walk(os.path.join(place, "content")))


JOB = {
    "gather": {"run": "cat mine/a.txt in.txt > all; mine/deep/tool x >> all",
               "in": ["mine", "in.txt"], "out": ["all"]},
    "sort": {"run": "sort", "stdin": "all", "out": []},
    "keep": {"run": "sort < all > sorted; mkdir -p tree/deep; cp all tree/deep/", "in": ["all"],
             "out": ["sorted", "tree/", "scrap"][:2], "keep": True},
    "count": {"run": "wc -l", "stdin": "in.txt"},
}

with Cluster() as cluster:  # a job with files of the client's
    cluster.work("one", 1)
    cluster.work("two", 1)
    write(cluster, "home/mine/a.txt", "hello\n")
    write(cluster, "home/mine/deep/tool", "#!/bin/sh\necho tool $1\n", 0o755)
    write(cluster, "home/in.txt", "b\na\n")
    path = write(cluster, "home/job.json", json.dumps({"tasks": JOB}))
    done = cluster.rota("submit", path, "--wait", "--json")
    say(done.returncode == 0 and cluster.read("home/sorted") == "a\nb\nhello\ntool x\n",
        "a job reads files of the client, and what it keeps comes back", done.stderr + done.stdout)
    say(cluster.read("home/tree/deep/all") == "hello\nb\na\ntool x\n"
        and not os.path.exists(cluster.path("home/all")),
        "folders come back too, and what is not kept does not", done.stderr)
    say(cluster.rota("logs", "1.4").stdout.split() == ["2"],
        "a file can be the standard input", cluster.told())
    say(sent(done)["files"] == 4, "every content is sent once", done.stdout)
    again = cluster.rota("submit", path, "--wait", "--json")
    say(again.returncode == 0 and sent(again) == {"event": "sent", "inputs": 2, "files": 0,
                                                  "bytes": 0},
        "a file that the server has is not sent again", again.stdout + again.stderr)
    write(cluster, "home/in.txt", "c\n")
    shutil.rmtree(cluster.path("home/tree"))
    third = cluster.rota("submit", path, "--wait", "--json")
    say(third.returncode == 0 and sent(third)["files"] == 1
        and cluster.read("home/tree/deep/all") == "hello\nc\ntool x\n",
        "of what has changed only that", third.stdout + third.stderr)
    shared = cluster.rota("submit", path, "--wait", "--json", "--shared")
    say(shared.returncode == 0 and all(row["event"] != "sent" for row in events(shared)),
        "with --shared nothing is sent", shared.stdout + shared.stderr)
    os.remove(cluster.path("home/in.txt"))
    lacks = cluster.rota("submit", path)
    say(lacks.returncode == 2 and "job.json:1:" in lacks.stderr and "in.txt" in lacks.stderr,
        "a file that is not there is named, and nothing is submitted", lacks.stderr)

with Cluster() as cluster:  # programs that come with a job, small (root gets copies) and large
    cluster.work("one", 1)
    padding = "#" * (2 << 20)
    for name, rest in (("small", ""), ("large", padding)):
        write(cluster, f"home/tools/{name}", f"#!/bin/sh\necho ran $0\nexit\n{rest}\n", 0o755)
    write(cluster, "home/alone", f"#!/bin/sh\necho ran $0\nexit\n{padding}.\n", 0o755)
    path = write(cluster, "home/job.json", json.dumps({"tasks": {
        "given": {"run": "tools/small; tools/large; ./alone", "in": ["tools", "alone"]},
        "make": {"run": "cat tools/large alone > made; chmod +x made; ln made second;"
                        " cp tools/small little",
                 "in": ["tools", "alone"], "out": ["made", "little"]},
        "use": {"run": "./made; ./little", "in": ["made", "little"]}}}))
    done = cluster.rota("submit", path, "--wait")
    ran = [cluster.rota("logs", task).stdout.split() for task in ("1.1", "1.3")]
    say(done.returncode == 0 and ran == [
        ["ran", "tools/small", "ran", "tools/large", "ran", "./alone"],
        ["ran", "./made", "ran", "./little"]],
        "programs that came with a job or were made by a task can be executed",
        f"{ran} {done.stdout}{done.stderr}")

with Cluster() as cluster:  # a server that is killed, and files that are there already
    cluster.work("one", 1)
    write(cluster, "home/big", "0123456789abcdef" * 200000)
    path = write(cluster, "home/job.json", json.dumps({"tasks": {
        "wait": {"run": f"until test -e {cluster.path('go')}; do sleep 0.05; done"},
        "read": {"run": "wc -c < big > size", "in": ["big"], "out": ["size"], "keep": True,
                 "needs": ["wait"]}}}))
    done = cluster.rota("submit", path)
    cluster.server.kill()
    cluster.serve()
    write(cluster, "go", "")
    waited = cluster.rota("wait", "1")
    again = cluster.rota("submit", path, "--wait", "--json")
    say(waited.returncode == 0 and again.returncode == 0
        and cluster.read("home/size").split() == ["3200000"],
        "uploads outlive the server", done.stderr + waited.stderr + again.stderr + cluster.told())
    say(sent(again)["files"] == 0, "and need not be sent again", again.stdout)

with Cluster() as cluster:  # rota data put, get, locate, keep, unkeep
    cluster.work("one", 2)
    path = write(cluster, "home/job.json", json.dumps({"tasks": {
        "make": {"run": "echo made > sum; mkdir t; echo in > t/x; echo gone > scrap",
                 "out": ["sum", "t/", "scrap"], "keep": ["sum", "t"]},
        "late": {"run": f"until test -e {cluster.path('go')}; do sleep 0.05; done; echo l > late",
                 "out": ["late"], "keep": True},
        "bad": {"run": "false", "out": ["never"], "keep": True}}}))
    cluster.rota("submit", path)
    cluster.until(lambda: len(cluster.ends()) == 2, "two tasks ended")
    rows = [json.loads(line) for line in
            cluster.rota("data", "ls", "--json", "--job", "1").stdout.splitlines()]
    found = {row["name"]: (row["state"], row["where"]) for row in rows}
    say(found == {"sum": ("there", "one"), "t": ("there", "one"), "scrap": ("removed", "-"),
                  "late": ("not made", "-"), "never": ("not made", "-")},
        "RS-11: unneeded objects are removed, a kept one stays with its worker", found)
    where = cluster.rota("data", "locate", "1/sum", "--json")
    say(json.loads(where.stdout or "{}").get("where") == "one", "locate says where", where)
    got = cluster.rota("data", "get", "1/sum", cluster.path("copy"))
    say(got.returncode == 0 and cluster.read("copy") == "made\n", "an object is fetched", got)
    over = cluster.rota("data", "get", "1.1/t", cluster.path("tree"))
    say(over.returncode == 0 and cluster.read("tree/x") == "in\n", "and a folder", over.stderr)
    scrap = cluster.rota("data", "get", "1/scrap", cluster.path("s"))
    say(scrap.returncode == 1 and "not kept" in scrap.stderr and not os.path.exists(
        cluster.path("s")), "RS-13: what is not kept cannot be fetched", scrap)
    late = subprocess.Popen([cluster.program, "data", "get", "--server", cluster.socket, "1/late",
                             cluster.path("late")])
    time.sleep(0.3)
    say(late.poll() is None, "RS-13: a client that fetches it too early waits")
    write(cluster, "go", "")
    say(late.wait(PATIENCE) == 0 and cluster.read("late") == "l\n", "and gets it then")
    keep = cluster.rota("data", "keep", "1/scrap")
    say(keep.returncode == 1 and "submitted" in keep.stderr, "RS-12: keep comes too late", keep)
    drop = cluster.rota("data", "unkeep", "1/sum")
    again = cluster.rota("data", "unkeep", "1/sum")
    say(drop.returncode == 0 and again.returncode == 1 and "not kept" in again.stderr,
        "RS-12: what was given up is not given up twice", again)
    gone = cluster.rota("data", "get", "1/sum", cluster.path("s"))
    say(gone.returncode == 1, "RS-11: what was given up is gone", gone)
    lost = cluster.rota("data", "get", "1/nothing")
    say(lost.returncode == 1 and "no task has this output" in lost.stderr, "names are looked up",
        lost)
    none = cluster.rota("data", "get", "99/x")
    say(none.returncode == 2 and none.stderr, "and so are jobs", none)
    write(cluster, "home/big", "0123456789abcdef" * 300000)
    put = cluster.rota("data", "put", cluster.path("home/big"), "--json")
    name = json.loads(put.stdout or "{}").get("name", "")
    say(name.startswith("f:4800000:") and json.loads(put.stdout)["sent"] == 4800000,
        "a file is put into the store", put)
    put = cluster.rota("data", "put", cluster.path("home/big"), "--json")
    say(json.loads(put.stdout or "{}").get("sent") == 0, "once", put)
    cluster.server.kill()
    cluster.serve()
    got = cluster.rota("data", "get", name, cluster.path("back"))
    say(got.returncode == 0 and cluster.read("back") == "0123456789abcdef" * 300000,
        "and comes back, after a restart too", got)
    say(cluster.rota("data", "unkeep", name).returncode == 0
        and cluster.rota("data", "get", name, cluster.path("back2")).returncode == 1,
        "until it is given up")
    say(cluster.rota("data", "keep", name).returncode == 0
        and cluster.rota("data", "get", name, cluster.path("back2")).returncode == 0,
        "which can be undone until it is removed")

def caches_empty(cluster, name):
    """Deletes the objects of a worker, which does not notice."""
    for folder, _, files in os.walk(cluster.path(f"{name}/cache/content")):
        for file in files:
            os.remove(os.path.join(folder, file))


def places(cluster, name):
    return set(cluster.rota("data", "locate", name).stdout.split()[-1].split(","))


def until_waits(cluster, name):
    cluster.until(lambda: os.path.exists(cluster.path(name)), f"{name} is there")


def waits_for(cluster, name):
    """A command that says that it has begun, and waits for a file."""
    return (f"touch {cluster.path(name + '-runs')};"
            f" until test -e {cluster.path(name)}; do sleep 0.05; done")


with Cluster(lease=4) as cluster:  # the only copy is lost with its worker
    cluster.work("one", 2)
    path = write(cluster, "home/job.json", json.dumps({"tasks": {
        "make": {"run": f"echo ran >> {cluster.path('runs')}; seq 1000 > x", "out": ["x"]},
        "gate": {"run": waits_for(cluster, "go")},
        "read": {"run": "wc -l < x > n", "in": ["x"], "out": ["n"], "needs": ["gate"],
                 "keep": True}}}))
    cluster.rota("submit", path)
    until_waits(cluster, "go-runs")
    cluster.until(lambda: cluster.read("runs") == "ran\n", "the object is made")
    cluster.until(lambda: ("make", "SUCCESS") in cluster.ends(), "and recorded")
    cluster.workers["one"].kill()
    cluster.work("two", 2)
    write(cluster, "go", "")
    done = cluster.rota("wait", "1")
    got = cluster.rota("data", "get", "1/n", cluster.path("n"))
    say(done.returncode == 0 and got.returncode == 0 and cluster.read("n").split() == ["1000"]
        and cluster.read("runs") == "ran\nran\n",
        "RS-25, X-11: the only copy dies with its worker, and is made again elsewhere",
        done.stdout + done.stderr + got.stderr + cluster.read("runs"))

with Cluster() as cluster:  # copies: known, fetched elsewhere, made again
    for name in ("one", "two", "three"):  # in this order: the first is asked first
        worker = cluster.work(name, 2, "--machine", name)
        cluster.until(lambda: "connected to" in worker.said(), "a worker is there")
    path = write(cluster, "home/job.json", json.dumps({"tasks": {
        "make": {"run": f"echo ran >> {cluster.path('runs')}; seq 1000 > x", "out": ["x"],
                 "keep": True, "machine": "one"},
        "second": {"run": "wc -l < x; " + waits_for(cluster, "go"), "in": ["x"],
                   "machine": "two"},
        "gate": {"run": waits_for(cluster, "go3"), "machine": "three"},
        "third": {"run": "wc -l < x", "in": ["x"], "needs": ["gate"], "machine": "three"}}}))
    cluster.rota("submit", path)
    until_waits(cluster, "go-runs")
    cluster.until(lambda: places(cluster, "1/x") == {"one", "two"},
                  "the copy of a reader is known")
    say(True, "BS-22: the server knows what a worker has fetched")
    caches_empty(cluster, "one")
    write(cluster, "go3", "")
    cluster.until(lambda: ("third", "SUCCESS") in cluster.ends(), "the third reads")
    say(cluster.read("runs") == "ran\n", "a copy that is lost is fetched elsewhere",
        cluster.read("runs"))
    write(cluster, "go", "")
    done = cluster.rota("wait", "1")
    cluster.until(lambda: len(places(cluster, "1/x")) == 1, "the others are dropped")
    where = places(cluster, "1/x")
    got = cluster.rota("data", "get", "1/x", cluster.path("x"))
    say(done.returncode == 0 and len(where) == 1 and "one" not in where
        and len(cluster.read("x").split()) == 1000,
        "R-33, R-34: one copy is enough afterwards, and the last is never dropped", (where, got))
    again = write(cluster, "home/again.json", json.dumps({"tasks": {
        "make": {"run": f"echo ran >> {cluster.path('again')}; seq 10 > x", "out": ["x"]},
        "gate": {"run": waits_for(cluster, "go4"), "machine": "three"},
        "far": {"run": "wc -l < x", "in": ["x"], "needs": ["gate"], "machine": "two"}}}))
    cluster.rota("submit", again)
    cluster.until(lambda: ("make", "SUCCESS") in cluster.ends()[4:], "made")
    for name in ("one", "two", "three"):
        caches_empty(cluster, name)
    write(cluster, "go4", "")
    done = cluster.rota("wait", "2")
    say(done.returncode == 0 and cluster.read("again") == "ran\nran\n",
        "C9: one of which no copy is left is made again, and its reader does not fail",
        done.stdout + done.stderr + cluster.read("again") + cluster.told())


with KeyedCluster() as cluster:  # over TLS
    for name in ("one", "two"):
        cluster.workers[name] = Process(
            cluster.path(name + ".log"), "worker", "--server", cluster.address,
            *cluster.key("worker"), "--listen", "127.0.0.1:0", "--peer-key",
            cluster.path("keys/peer.key"), "--name", name, "--machine", name, "--folder",
            cluster.path(name), "-j", "1")
    said = Process(cluster.path("three.log"), "worker", "--server", cluster.address,
                   *cluster.key("worker"), "--name", "three", "--folder", cluster.path("three"))
    cluster.workers["three"] = said
    cluster.until(lambda: "connected to" in said.said(), "the third worker is there")
    say(said.said().count("without --listen and --peer-key") == 1
        and "without" not in cluster.workers["one"].said(),
        "a worker whose files no other can fetch says so", said.said())
    said.kill()
    write(cluster, "home/mine", "0123456789abcdef" * 100000)
    path = write(cluster, "home/job.json", json.dumps({"tasks": {
        "a": {"run": "cat mine mine > twice", "in": ["mine"], "out": ["twice"], "machine": "one"},
        "b": {"run": "cat twice mine > thrice", "in": ["twice", "mine"], "out": ["thrice"],
              "machine": "two", "keep": True}}}))
    done = subprocess.run([cluster.program, "submit", "--server", cluster.address,
                           *cluster.key("client"), "--wait", path], capture_output=True,
                          text=True, check=False, timeout=PATIENCE)
    say(done.returncode == 0 and cluster.read("home/thrice") == "0123456789abcdef" * 300000,
        "over TLS files go and come through the server's address alone",
        done.stderr + done.stdout + cluster.told())
    stranger = subprocess.run([cluster.program, "data", "put", "--server", cluster.address,
                               *cluster.key("worker"), path], capture_output=True, text=True,
                              check=False, timeout=PATIENCE)
    say(stranger.returncode != 0, "a worker's key puts nothing", stranger)

with Cluster("--memory") as cluster:
    path = write(cluster, "home/job.json",
                 json.dumps({"tasks": {"a": {"run": "cat x", "in": ["x"]}}}))
    write(cluster, "home/x", "x\n")
    done = cluster.rota("submit", path)
    say(done.returncode in (2, 4) and done.stderr, "a server without a store says so", done.stderr)

Tap.end()
