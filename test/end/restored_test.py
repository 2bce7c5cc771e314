#!/usr/bin/env python3
"""restored_test - a backup of a server takes the place of its database.

A worker that knows more than the backup is refused until the server is started with --restored.
From then on tokens are larger than all before, and no task is assigned before the leases of the
lost server expire.
"""
import os
import shutil
import signal
import subprocess
import time

from cluster import PATIENCE, ROTA_PATH, Cluster, processes_with, seconds_marked
from end import Tap
from streams import STREAM

LEASE = 4
DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../doc/deployment.md")


def token(cluster):
    """Of a task that runs now."""
    path = cluster.path("token")
    done = cluster.submit({"t": {"run": f"printf %s $ROTA_TOKEN > {path}"}}, "--wait")
    if done.returncode:
        raise RuntimeError(done.stderr + cluster.told())
    return int(cluster.read("token"))


def restart(cluster, number=signal.SIGTERM):
    cluster.server.kill(number)
    cluster.serve()


def documented(word):
    """The lines of doc/deployment.md about backups that begin with one of these words."""
    with open(DOCUMENT, encoding="utf-8") as file:
        text = file.read().split("## Backup and restore")[1].split("\n## ")[0]
    return [line[2:] for line in text.splitlines() if line.startswith("$ " + word)]


def do(cluster, *words):
    for word in words:
        for line in documented(word):
            subprocess.run(["sh", "-ec", line], cwd=cluster.folder, check=True, timeout=PATIENCE)


def put_back(cluster):
    do(cluster, "rm ", "cp ")


def server(cluster, *options):
    return subprocess.run([ROTA_PATH, "server", "--listen", cluster.path("second.sock"), "--db",
                           *options], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)


def in_use():
    """Advice to remove the log would bring a running server down."""
    with Cluster() as cluster:
        submitted = cluster.submit({"t": {"run": "true"}})
        refused = server(cluster, cluster.database, "--restored")
        Tap.say(submitted.returncode == 0 and refused.returncode == 2
                and "in use by another rota process" in refused.stderr,
                "--restored beside a running server says that it runs", refused.stderr)


def forgotten():
    """Without --restored the epoch is that of the lost server. A later start with it helps."""
    with Cluster(lease=LEASE) as cluster:
        cluster.work("one")
        tokens = [token(cluster)]
        do(cluster, "sqlite3 ")
        for _ in range(3):
            restart(cluster)
        tokens.append(token(cluster))
        cluster.server.kill()
        put_back(cluster)
        cluster.serve()
        cluster.until(lambda: "rota server --restored" in cluster.workers["one"].said(),
                      "the worker is refused")
        Tap.say(True, "a worker that has seen more starts than the backup is refused")
        cluster.work("two")
        tokens.append(token(cluster))
        cluster.options.append("--restored")
        restart(cluster)
        tokens.append(token(cluster))
        Tap.say(tokens[-1] > max(tokens[:-1]), "--restored on a later start makes tokens larger"
                " than those of the lost server and of the one without it", tokens)


def restarted_quickly():
    """More starts than the time between backup and restore lets expect."""
    with Cluster(lease=LEASE) as cluster:
        do(cluster, "sqlite3 ")
        for _ in range(15):
            restart(cluster, signal.SIGKILL)
        cluster.work("one")
        tokens = [token(cluster)]
        cluster.server.kill()
        cluster.workers["one"].kill()
        put_back(cluster)
        cluster.options.append("--restored")
        cluster.serve()
        cluster.work("two")
        tokens.append(token(cluster))
        Tap.say(tokens[0] < tokens[1], "tokens grow after many quick starts", tokens)


def shorter_lease():
    """A stopped worker keeps to its lease, whatever lease the next server has."""
    with Cluster(lease=12) as cluster:
        mark, started = seconds_marked(1000), cluster.path("started")
        restart(cluster)  # with the same lease nothing is said
        agent = cluster.work("one")
        cluster.submit({"t": {"run": f"echo >> {started}; exec sleep {mark}", "lane": "line",
                              "group": "g", "access": "write"}}, lanes={"line": {}})
        cluster.until(lambda: processes_with(mark), "the task runs")
        first = processes_with(mark)
        agent.process.send_signal(signal.SIGSTOP)
        cluster.server.kill(signal.SIGKILL)
        cluster.options[:2] = ["--lease", "2"]
        same = cluster.server.said()
        cluster.serve()
        Tap.say("longer lease" not in same and "a longer lease of 12 s" in cluster.server.said(),
                "a server that is started with a shorter lease says which one counts",
                cluster.server.said())
        cluster.work("two")
        cluster.until(lambda: cluster.read("started").count("\n") > 1, "it runs on the other one")
        both = set(first) & set(processes_with(mark))
        Tap.say(not both, "a shorter lease counts when the longer one has ended", both)


if not shutil.which("sqlite3"):
    Tap.skip("a backup is restored", "there is no sqlite3 program here")
    Tap.end()
start = documented("rota server")
Tap.say(len(start) == 1 and "--db server.db --restored" in start[0],
        "the document says how to start", start)

with Cluster(lease=LEASE) as cluster:
    cluster.work("one")
    tokens = [token(cluster)]
    do(cluster, "sqlite3 ")
    for _ in range(2):
        restart(cluster)
        tokens.append(token(cluster))
    cluster.server.kill()

    refused = server(cluster, cluster.database, "--restored")
    Tap.say(refused.returncode == 2 and "-wal belongs to the database that was lost"
            in refused.stderr, "a backup is not mixed with the log of the lost database",
            refused.stderr)
    refused = server(cluster, cluster.path("none.db"), "--restored")
    Tap.say(refused.returncode == 2 and "none.db" in refused.stderr
            and not os.path.exists(cluster.path("none.db")), "--restored makes no new database",
            refused.stderr)

    put_back(cluster)
    cluster.serve()
    cluster.until(lambda: "rota server --restored" in cluster.workers["one"].said(),
                  "the worker is refused")
    cluster.until(lambda: "worker one has attempts that are not in" in cluster.server.said(),
                  "the server says so")
    Tap.say(True, "a worker that knows more than a backup is refused, and both say what to do")

    cluster.server.kill()
    put_back(cluster)
    cluster.options.append("--restored")
    cluster.serve()
    began = time.monotonic()
    tokens.append(token(cluster))
    waited = time.monotonic() - began
    Tap.say(tokens == sorted(set(tokens)), "tokens of a restored server are larger than all before",
            tokens)
    Tap.say(waited > LEASE / 2, "no task is given out before the old leases have ended", waited)

    cluster.options.remove("--restored")
    restart(cluster)
    tokens.append(token(cluster))
    Tap.say(tokens == sorted(set(tokens)), "and so are those of the next start", tokens)

    cluster.server.kill(signal.SIGTERM)
    put_back(cluster)
    cluster.options.append("--restored")
    cluster.serve()
    tokens.append(token(cluster))
    Tap.say(tokens == sorted(set(tokens)), "also when the same backup is restored again", tokens)

    # A writer fails while its server is gone: its reader, which no server can stop, ends with it.
    cluster.submit({"w": {"run": f"seq 9 > $ROTA_OUT_s; until test -e {cluster.path('fail')};"
                                 " do sleep 0.1; done; exit 3", "out": STREAM},
                    "r": {"run": f"cat > {cluster.path('read')}; :", "stdin": "s"}})
    cluster.until(lambda: os.path.exists(cluster.path("read")) and cluster.read("read"),
                  "the reader reads")
    cluster.server.kill()
    with open(cluster.path("fail"), "w", encoding="utf-8"):
        pass
    put_back(cluster)
    cluster.serve()
    tokens.append(token(cluster))
    Tap.say(tokens == sorted(set(tokens)),
            "a reader whose writer failed does not keep its worker from a restored server", tokens)
    shown = subprocess.run(
        [ROTA_PATH, "verify", cluster.database], capture_output=True, text=True, check=False,
        timeout=PATIENCE)
    Tap.say(shown.returncode == 0, "every promise of the database holds", shown.stdout)
in_use()
forgotten()
restarted_quickly()
shorter_lease()
Tap.end()
