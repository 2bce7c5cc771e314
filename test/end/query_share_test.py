#!/usr/bin/env python3
"""query_share_test - queries to a server: allowed options, and answers that no client reads."""
import os
import re
import socket
import subprocess

from cluster import PATIENCE, ROTA_PATH, KeyedCluster
from end import Tap
from hostile import Stranger
from keyed import Key, Keyed

say = Tap.say


def ask(cluster, *words):
    """The answer of a server to this query: the text, or the refusal."""
    with Stranger(cluster.socket, "CLIENT") as peer:
        peer.says("ASK", request=1, words=words)
        text = b""
        while True:
            told = peer.answer("ANSWER", "ANSWERED", "REFUSE")
            if told[0] != "ANSWER":
                return told if isinstance(told, str) else (told[1]["status"], text.decode())
            text += told[1]["bytes"]


def options(cluster):
    """Only whole options that name neither files nor hosts."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(0.2)
    host = f"127.0.0.1:{listener.getsockname()[1]}"
    key = cluster.path("keys/client.key")
    for words in (["ps", "--db", "other.db"], ["ps", "--db=other.db"], ["ps", "--d=other.db"],
                  ["ps", "--d", "other.db"], ["ps", "--server", host, "--key", "client.key"],
                  ["top", "--server", host, "--once"], ["top", "--key", key],
                  ["ps", f"--server={host}"], ["report", "-o", "x"], ["report", "-ox"],
                  ["trace", "--output", "x"], ["trace", "--out=x"], ["ps", "--j=1"],
                  ["ps", "job.yaml"], ["ps", "x"], ["why", "job.yaml"], ["why", "a/b"],
                  ["why", "--planned", "x", "1.1"], ["why", "--waits", "1,1", "1.1"],
                  ["top", "--planner", "1,1,1"], ["ps", "-af"], ["ps", "--"], ["ps", "-"],
                  ["ps", "--job"], ["ps", "--job", "-a"], ["ps", "--all=1"], ["jobs", "other.db"],
                  ["history", "--task=../x"], ["logs", "1.1"], ["sql", "select 1"], ["worker"],
                  ["server"], ["data", "get", "x", "y"]):
        told = ask(cluster, *words)
        say(told == "refuse request", f"options: {' '.join(words)[:40]} is refused",
            str(told)[:200])
    try:
        listener.accept()
        say(False, "options: the server connects nowhere")
    except TimeoutError:
        say(True, "options: the server connects nowhere")
    for words in (["ps"], ["ps", "-a"], ["ps", "--all", "--json"], ["ps", "--job", "1"],
                  ["ps", "--job=1"], ["why", "1.1"], ["why", "t1"], ["show", "--json", "t1"],
                  ["lanes"], ["data", "--raw", "--job", "1"], ["jobs", "--json"],
                  ["history", "--task", "1.1"], ["top", "--once"], ["top", "--json"],
                  ["top", "--frame", "80,24,0,0"], ["trace"], ["report"]):
        told = ask(cluster, *words)
        say(told[0] == 0, f"options: {' '.join(words)} is answered", str(told)[:200])
    for words in (["top", "--once"], ["ps", "--all"], ["report"]):
        done = cluster.rota(*words)
        say(done.returncode == 0, f"options: 'rota {' '.join(words)}' works", done.stderr)


# The options of a command that a server accepts; server_queries.c reads it from the table of
# commands.
ALLOWED = {"ps": "-a --all --json --job --help", "show": "--json --job --help",
           "why": "--json --job --help", "lanes": "--json --job --help",
           "data": "--raw --content --json --job --help", "trace": "--json --job --help",
           "report": "--json --job --help", "jobs": "--json --help",
           "history": "--json --task --help", "top": "--interval --once --json --frame --help"}
HIDDEN = {"--planned", "--waits", "--frame", "--planner"}  # completion does not have them


def table(cluster):
    """Each option of the table of commands is refused unless it is allowed."""
    script = subprocess.run([ROTA_PATH, "completion", "bash"], capture_output=True, text=True,
                            check=True).stdout
    for command, allowed in ALLOWED.items():
        has = set(re.search(rf'^ +{command}\) options="([^"]*)"', script, re.M)[1].split()) | HIDDEN
        once = ["--once"] if command == "top" else []
        taken = {name for name in has | {"--another"}
                 if any(ask(cluster, command, *once, name, *value) != "refuse request"
                        for value in ([], ["1"]))}
        say(taken == set(allowed.split()), f"table: a server takes no other option of {command}",
            (taken, has))


def unread(cluster):
    """One key asks far more than it may, and reads no answer."""
    key = Key(cluster.path("keys/client.key"))
    other = cluster.path("keys/other.key")
    crowd = []
    for _ in range(40):
        peer = Keyed(cluster.address, key, "CLIENT", room=4096)
        for request in range(8):
            peer.says("ASK", request=request, words=["ps", "--all", "--job", "2"])
        crowd.append(peer)
    for number in range(10):
        done = subprocess.run([ROTA_PATH, "ps", "--server", cluster.address, "--key", other],
                              capture_output=True, text=True, check=False, timeout=PATIENCE)
        fine = done.returncode == 0
        if not fine:
            break
    say(fine, "unread: another key is answered, ten times", (number, done.stderr))
    done = cluster.rota("top", "--once")
    say(done.returncode == 0, "unread: so is a user of this machine", done.stderr)
    # A server reports at most once a minute, and another limit may have been the first.
    cluster.until(lambda: re.search(r"client key \S+ has all of its \d+ queries",
                                    cluster.server.said()), "the server says whose share it is")
    for peer in crowd:
        peer.link.close()
    cluster.until(lambda: cluster.rota("ps").returncode == 0, "answers again")


def queries(cluster):
    """The processes that answer queries of this server."""
    found = set()
    for number in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{number}/stat", encoding="utf-8") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) == cluster.server.process.pid:
                    found.add(number)
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def pause(cluster):
    """A reader pauses; another key has all of its queries and messages waiting meanwhile."""
    key, crowd = Key(cluster.path("keys/client.key")), []
    # More than the buffers of a connection hold.
    cluster.submit({f"p{i}{'x' * 200}": {"run": "true"} for i in range(40000)})
    pager = subprocess.Popen([ROTA_PATH, "ps", "--all", "--server", cluster.socket],
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    first = pager.stdout.read(1000)
    for _ in range(3):
        peer = Keyed(cluster.address, key, "CLIENT")
        peer.raw((15 << 20).to_bytes(4, "little") + b"\x18" + b"x" * 100000)
        crowd.append(peer)
    cluster.until(lambda: len(queries(cluster)) == 1, "the pause begins")
    for number in range(9):
        peer = Keyed(cluster.address, key, "CLIENT", room=4096)
        crowd.append(peer.says("ASK", request=number + 1, words=["ps", "--all", "--json"]))
        wanted = min(number + 2, 9)
        cluster.until(lambda wanted=wanted: len(queries(cluster)) == wanted, "it is asked")
    before = queries(cluster)
    cluster.until(lambda: before - queries(cluster), "an answer that is not read ends")
    text, error = pager.communicate(timeout=PATIENCE)
    lines = len((first + text).splitlines())
    say(pager.returncode == 0 and lines >= 40000, "pause: the answer to another key continues",
        (pager.returncode, lines, error))
    for peer in crowd[3:]:  # the first of them has not read for longest, or nearly so
        told = peer.answer("ANSWERED", "REFUSE")
        if told == "refuse busy":
            break
    say(told == "refuse busy" and "not read for 30 s" in peer.reason,
        "pause: an answer to the key that floods ends with a reason", (told, peer.reason))
    for peer in crowd:
        peer.link.close()


with KeyedCluster() as end:
    path = end.path("keys/other.key")
    subprocess.run([ROTA_PATH, "keys", "add", "client", end.path("keys/server.keys"), path],
                   check=True)
    end.server.kill()
    end.serve()
    end.submit({"a": {"run": "true"}})
    long = "x" * 200
    end.submit({f"t{i}" + (long if i > 9 else ""): {"run": "true"} for i in range(10000)})
    for name in ("other.db", "job.yaml"):
        end.touch(name)
    options(end)
    table(end)
    unread(end)
    pause(end)
Tap.end()
