#!/usr/bin/env python3
"""remote_output_test - files that `rota report` and `rota trace` write about a job of a server."""
import json
import os
import pty
import subprocess

from cluster import Cluster, PATIENCE, ROTA_PATH
from end import Tap

say = Tap.say


def on_terminal(cluster, *words):
    """Runs a command on a terminal: its status and output."""
    master, terminal = pty.openpty()
    done = subprocess.run([ROTA_PATH, *words, "--server", cluster.socket], check=False,
                          stdin=subprocess.DEVNULL, stdout=terminal, stderr=subprocess.PIPE,
                          cwd=cluster.folder, timeout=PATIENCE)
    os.close(terminal)
    text = os.read(master, 65536).decode()
    os.close(master)
    return done.returncode, text, done.stderr


with Cluster() as cluster:
    cluster.work("w1")
    done = cluster.submit({"t": {"run": "true"}}, "--wait")
    say(done.returncode == 0, "a job ran", done.stdout + done.stderr)

    done = cluster.rota("report", "-o", "r.html")
    say(done.returncode == 0 and done.stdout == "r.html\n"
        and cluster.read("r.html").startswith("<!doctype html>"), "report -o writes a page", done)
    done = cluster.rota("trace", "--output=t.json")
    say(done.returncode == 0 and done.stdout == "t.json\n"
        and json.loads(cluster.read("t.json"))["otherData"]["job"] == 1,
        "trace --output writes a trace", done)
    done = cluster.rota("report", "--json", "-o", "-")
    say(done.returncode == 0 and json.loads(done.stdout)["job"] == 1,
        "-o - is the standard output", done)
    done = cluster.rota("report", "-o", "nowhere/r.html")
    say(done.returncode == 70 and done.stderr ==
        "rota report: cannot write nowhere/r.html: its folder does not exist\n",
        "a missing folder is reported", done)
    done = cluster.rota("report", "--job", "9", "-o", "no.html")
    say(done.returncode == 2 and "no such job: 9" in done.stderr and not done.stdout
        and not os.path.exists(cluster.path("no.html")), "an error makes no file", done)

    for words, name in ((["report"], "rota-report.html"), (["trace"], "rota-trace.json"),
                        (["report", "--json"], "rota-report.json")):
        done = on_terminal(cluster, *words)
        say(done[:2] == (0, name + "\r\n") and cluster.read(name),
            f"on a terminal {' '.join(words)} writes {name}", done)

Tap.end()
