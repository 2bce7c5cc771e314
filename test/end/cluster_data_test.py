#!/usr/bin/env python3
"""cluster_data_test - files that go with a job to workers elsewhere, and what comes back."""
import json
import os
import shutil

from cluster import Cluster
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
    """How many contents lie in a cache."""
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
        "what the server has is not sent again", again.stdout + again.stderr)
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

with Cluster("--memory") as cluster:
    path = write(cluster, "home/job.json",
                 json.dumps({"tasks": {"a": {"run": "cat x", "in": ["x"]}}}))
    write(cluster, "home/x", "x\n")
    done = cluster.rota("submit", path)
    say(done.returncode in (2, 4) and done.stderr, "a server without a store says so", done.stderr)

Tap.end()
