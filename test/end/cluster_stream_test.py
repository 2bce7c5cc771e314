#!/usr/bin/env python3
"""cluster_stream_test - streams from a command on one worker to a command on another."""
import json
import os
import time

from cluster import Cluster
from end import Tap

say = Tap.say
STREAM = [{"name": "s", "kind": "stream"}]


def two(cluster):
    for name in ("one", "two"):
        cluster.work(name, 2, "--machine", name)


def waits(cluster, name):
    return f"until test -e {cluster.path(name)}; do sleep 0.05; done"


def touch(cluster, name):
    with open(cluster.path(name), "w", encoding="utf-8"):
        pass


def flowed(cluster):
    rows = cluster.rota("data", "ls", "--json", "--job", "1").stdout.splitlines()
    return [json.loads(row) for row in rows][0]


with Cluster() as cluster:
    two(cluster)
    done = cluster.submit({
        "write": {"run": "seq 1000000 > $ROTA_OUT_s", "out": STREAM, "machine": "one"},
        "read": {"run": "md5sum > sum", "stdin": "s", "out": ["sum"], "keep": True,
                 "machine": "two"},
        "straight": {"run": "seq 1000000 | md5sum > right", "out": ["right"], "keep": True}},
        "--wait")
    say(done.returncode == 0 and cluster.read("sum") and cluster.read("sum") ==
        cluster.read("right"), "R-37: a stream flows from one worker to another, to the byte",
        done.stdout + done.stderr + cluster.told())
    cluster.until(lambda: not os.listdir(cluster.path("one/work/streams"))
                  and not os.listdir(cluster.path("two/work/streams")), "no FIFO is left")
    say(True, "and no part of it is left")

with Cluster() as cluster:
    two(cluster)
    cluster.submit({
        "write": {"run": f"seq 2000000 > $ROTA_OUT_s; touch {cluster.path('written')}",
                  "out": STREAM, "machine": "one"},
        "read": {"run": f"head -c 1000 > /dev/null; touch {cluster.path('begun')}; "
                        + waits(cluster, "go") + "; cat > /dev/null", "stdin": "s",
                 "machine": "two"}})
    cluster.until(lambda: os.path.exists(cluster.path("begun")), "the reader has begun")
    cluster.until(lambda: flowed(cluster)["bytes"] > 0, "progress is told")
    time.sleep(1.2)  # two reports of progress later nothing has moved
    before = flowed(cluster)["bytes"]
    say(not os.path.exists(cluster.path("written")) and 0 < before < 8000000,
        "RS-24: a slow reader holds up the writer, and how far it is can be seen", before)
    state = flowed(cluster)
    say(state["kind"] == "stream" and state["where"] == "-",
        "RS-24: a stream is never finished, and has no copy", state)
    touch(cluster, "go")
    done = cluster.rota("wait", "1")
    say(done.returncode == 0 and os.path.exists(cluster.path("written")), "both end",
        done.stdout + done.stderr + cluster.told())

with Cluster() as cluster:  # all of it fits into the FIFO, and its writer ends first
    cluster.work("one", 2, "--machine", "one")
    cluster.submit({
        "write": {"run": "seq 1000 > $ROTA_OUT_s", "out": STREAM, "machine": "one"},
        "read": {"run": "cat > all", "stdin": "s", "out": ["all"], "keep": True,
                 "machine": "two"}})
    cluster.until(lambda: ("write", "SUCCESS") in cluster.ends(), "it is written")
    cluster.work("two", 2, "--machine", "two")
    done = cluster.rota("data", "get", "1/all", cluster.path("got"))
    say(done.returncode == 0 and len(cluster.read("got").split()) == 1000,
        "R-37: a stream waits with its writer's worker for a reader that comes later", done)

with Cluster(lease=4) as cluster:
    two(cluster)
    path = cluster.job({
        "write": {"run": f"seq 1000; touch {cluster.path('half')}; seq 1000 > $ROTA_OUT_s;"
                         f" exec > $ROTA_OUT_s; seq 1000; " + waits(cluster, "go") + "; seq 1000",
                  "out": STREAM, "machine": "one"},
        "read": {"run": "cat > all", "stdin": "s", "out": ["all"], "keep": True,
                 "machine": "two"}})
    cluster.rota("submit", path)
    cluster.until(lambda: os.path.exists(cluster.path("half")), "it flows")
    cluster.until(lambda: "RUNNING" in cluster.rota("ps", "-a").stdout.split("read")[1],
                  "and is read")
    cluster.workers["one"].kill()
    cluster.until(lambda: ("read", "LOST") in cluster.ends() or any(
        name == "read" and end != "SUCCESS" for name, end in cluster.ends()), "it broke off")
    say(("read", "SUCCESS") not in cluster.ends(),
        "a reader does not take the death of the writer's worker for the end", cluster.ends())
    touch(cluster, "go")
    cluster.work("one", 2, "--machine", "one")
    done = cluster.rota("wait", "1")
    got = cluster.rota("data", "get", "1/all", cluster.path("got"))
    say(done.returncode == 0 and len(cluster.read("got").split()) == 3000,
        "and gets all of it when it is written again",
        done.stdout + done.stderr + got.stderr + str(cluster.ends()) + cluster.told())

Tap.end()
