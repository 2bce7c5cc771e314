#!/usr/bin/env python3
"""stream_killed_test - a writer of a stream fails while its server or its worker is killed."""
import os

from cluster import Cluster
from end import Tap
from streams import ALL, FIRST, reader, writer

say = Tap.say


def is_running(cluster, name):
    lines = cluster.rota("ps", "-a").stdout.splitlines()
    return any(line.split()[1:3] == [name, "RUNNING"] for line in lines)


def waits(cluster, name):
    return f"until test -e {cluster.path(name)}; do sleep 0.02; done"


def server_dies(machines):
    """The server is killed before it hears of the failure, and again after it stopped the reader.

    The reader takes its time for that, and then claims to have succeeded.
    """
    with Cluster() as cluster:
        for name in set(machines):
            cluster.work(name, 4, "--machine", name)
        told = f"trap 'touch {cluster.path('told')}; {waits(cluster, 'let')}; exit 0' TERM"
        cluster.submit({
            "w": writer(f"seq 100 > $ROTA_OUT_s; touch {cluster.path('half')}; "
                        f"{waits(cluster, 'go')}; touch {cluster.path('gone')}; exit 3",
                        machine=machines[0]),
            "r": reader(machine=machines[1], run=f"if {FIRST}; then {told}; "
                                                 "exec 3<&0; cat <&3 > all & wait; exit 0; fi; "
                                                 "cat > all")})
        cluster.until(lambda: os.path.exists(cluster.path("half"))
                      and is_running(cluster, "r"), "both run")
        cluster.server.kill()
        cluster.touch("go")
        cluster.until(lambda: os.path.exists(cluster.path("gone")), "the writer fails")
        cluster.serve()
        cluster.until(lambda: os.path.exists(cluster.path("told")), "the reader is told to stop")
        cluster.server.kill()
        cluster.serve()
        cluster.touch("let")
        done = cluster.rota("wait", "1")
        cluster.rota("data", "get", "1/all", cluster.path("got"))
        say(done.returncode == 0 and cluster.read("got") == ALL,
            "both run again though the server is killed twice meanwhile, "
            + ("on one worker" if machines[0] == machines[1] else "on two workers"),
            done.stdout + done.stderr + str(cluster.ends()) + cluster.told())


server_dies(("one", "one"))
server_dies(("one", "two"))


def worker_dies(machines, where):
    """The worker of the writer is killed when that has written a part."""
    with Cluster(lease=4) as cluster:
        for name in set(machines):
            cluster.work(name, 4, "--machine", name)
        cluster.submit({
            "w": writer(f"seq 100 > $ROTA_OUT_s; touch {cluster.path('half')}; sleep 1000",
                        machine=machines[0]),
            "r": reader(machine=machines[1])})
        cluster.until(lambda: os.path.exists(cluster.path("half"))
                      and is_running(cluster, "r"), "both run")
        cluster.workers["one"].kill()
        cluster.work("one", 4, "--machine", "one")
        done = cluster.rota("wait", "1")
        cluster.rota("data", "get", "1/all", cluster.path("got"))
        say(done.returncode == 0 and cluster.read("got") == ALL,
            f"both run again when the worker of the writer is killed, {where}",
            done.stdout + done.stderr + str(cluster.ends()) + cluster.told())


worker_dies(("one", "one"), "which is that of the reader, too")
worker_dies(("one", "two"), "and the reader's is not")

Tap.end()
