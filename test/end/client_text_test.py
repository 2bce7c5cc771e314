#!/usr/bin/env python3
"""client_text_test - rota_client.h: a program submits the text of a job file."""
import json
import os
import signal
import subprocess

from cluster import ROTA_PATH, Cluster
from end import Tap
from probe import GONE, HANDLER, NO_MEMORY, OK, REFUSED, UNREACHABLE, WRONG, Probe

say = Tap.say
YAML, JSON, LINES = range(3)
CLAIM = 1
NIGHT = """name: night
lanes: {disk: {order: submit}}
tasks:
  make: {run: 'seq {{item}} > n{{item}}', foreach: [3, 4], out: 'n{{item}}'}
  sum: {run: 'cat n3 n4 | wc -l > sum', in: [n3, n4], out: sum, keep: true, lane: disk}
  alarm: {run: 'echo alarm', when: fa(sum)}
  late: {run: 'pwd', needs: sum, bundle: ends}
"""


def write(cluster, name, text):
    with open(cluster.path(name), "w", encoding="utf-8") as file:
        file.write(text)
    return cluster.path(name)


def texts(cluster):
    with Probe() as probe:
        probe.connect(cluster.socket)
        code, job = probe.do("text", write(cluster, "night", NIGHT), YAML)
        say(code == OK, "a text in YAML is submitted", job)
        over = probe.do("wait", job, 60000)
        say(over[0] == OK and over[1].split()[1:] == ["5", "0", "0"], "and runs to its end", over)
        got = probe.do("get", f"{job}/sum", cluster.path("sum"), 60000, 0)
        say(got == (OK, "2 ") and cluster.read("sum") == "7\n", "with lanes, foreach and files",
            got)
        say(probe.do("same") == (OK, job), "the same request again is the same job")
        code, other = probe.do("text", cluster.path("night"), YAML)
        say(code == OK and other != job, "another one is another", other)
        text = json.dumps({"tasks": {"a": {"run": ["echo", "x"]}}})
        code, job = probe.do("text", write(cluster, "j", text), JSON)
        say(code == OK and probe.do("wait", job, 60000) == (OK, "1 1 0 0"), "JSON", job)
        text = json.dumps({"schedule": {"cron": "never"}, "tasks": {"a": "true"}})
        say(probe.do("text", write(cluster, "j", text), JSON)[0] == OK, "a schedule is left alone")
        text = '{"name": "a", "run": "true"}\n{"name": "b", "run": "true", "needs": ["a"]}\n'
        code, job = probe.do("text", write(cluster, "l", text), LINES)
        say(code == OK and probe.do("wait", job, 60000) == (OK, "2 2 0 0"), "JSON Lines", job)
        code, job = probe.do("text", write(cluster, "l", text), LINES, "-", CLAIM)
        with Probe() as handler:
            handler.connect(cluster.socket, role=HANDLER)
            code, grant = handler.do("fetch", job)
            say(code == OK and grant.startswith(f"{job}.1 "), "a policy of the program's", grant)


def folders(cluster):
    """Files that workers see."""
    with Probe() as probe:
        probe.connect(cluster.socket)
        os.makedirs(cluster.path("home/deep"))
        write(cluster, "home/mine", "a\nb\n")
        text = ("tasks:\n  count: {run: 'wc -l < mine > lines', in: mine, out: lines, keep: true}\n"
                "  from: {run: 'cat', stdin: mine}\n  here: {run: 'pwd', cwd: deep}\n")
        path = write(cluster, "files", text)
        code, told = probe.do("text", path, YAML)
        first = "night.yaml:2:3: an input of count: no task produces mine, and this call sends"
        say(code == WRONG and told.startswith(first) and told.count("|") == 3
            and "night.yaml:3:3: an input of from" in told and "night.yaml:4:3: cwd" in told,
            "files that no task produces are refused, with line and column", told)
        code, job = probe.do("text", path, YAML, cluster.path("home"))
        over = probe.do("wait", job, 60000)
        say(code == OK and over == (OK, "3 3 0 0") and cluster.read("home/lines").split() == ["2"],
            "unless there is a folder in which workers see them", (over, job))
        say(probe.do("text", path, YAML, "home")[0] == WRONG, "which is absolute")


def mistakes(cluster):
    """They are those of rota check, word for word."""
    wrong = {"unknown": "tasks:\n  a: {run: 'true', neds: b}\n  b: {cpus: many}\n",
             "circle": "tasks: {a: {run: x, needs: b}, b: {run: x, needs: a}}\n",
             "broken": "tasks: {a: [\n", "empty": "", "glob": "tasks: {a: {foreach: {glob: '*'}}}"}
    with Probe() as probe:
        probe.connect(cluster.socket)
        for name, text in wrong.items():
            path = write(cluster, "night.yaml", text)
            code, told = probe.do("text", path, YAML)
            check = subprocess.run([ROTA_PATH, "check", "night.yaml"], cwd=cluster.folder,
                                   capture_output=True, text=True, check=False).stderr
            lines = check.splitlines()
            expected = "|".join([*lines, lines[0]])
            if name == "glob":
                expected = "night.yaml:1:29: a glob needs a job file on disk|" * 2
                expected = expected[:-1]
            say(code == WRONG and told == expected, f"mistakes: {name}", (told, expected))
        say(probe.do("text", path, 9)[0] == WRONG, "an unknown format is refused")
        text = json.dumps({"name": "x" * 9, "tasks": {"a": {"run": "true", "machine": "m" * 300}}})
        code, told = probe.do("text", write(cluster, "j", text), JSON)
        say(code == REFUSED and told, "a refusal of the server has its reason", told)
        say(probe.do("text", write(cluster, "j", '{"tasks": {"a": "true"}}'), JSON)[0] == OK,
            "after these refusals a job is accepted")


def memory(cluster):
    if os.environ.get("SANITIZED"):
        Tap.skip("a lack of memory is an error", "sanitizers need all addresses")
        return
    with Probe() as probe:
        probe.connect(cluster.socket)
        large = "tasks: {a: {run: 'echo {{x}} {{y}}', matrix: {x: [%s], y: [%s]}}}\n" % (
            ",".join(map(str, range(900))), ",".join(map(str, range(900))))
        path = write(cluster, "large", large)
        probe.do("limit", 60)
        code, told = probe.do("text", path, YAML)
        say(code == NO_MEMORY and "out of memory" in told, "a lack of memory is an error", told)
        probe.do("limit", 0)
        say(probe.do("text", cluster.path("night"), YAML)[0] == OK, "after which a job is accepted")
    say(probe.status == 0, "and the program is not ended by it")


def server_dies(cluster):
    with Probe() as probe:
        probe.connect(cluster.socket)
        path = write(cluster, "j", '{"tasks": {"a": "true"}}')
        job = probe.do("text", path, JSON)[1]
        cluster.server.kill(signal.SIGKILL)
        say(probe.do("same")[0] in (GONE, UNREACHABLE), "without a server nothing is submitted")
        cluster.serve()
        probe.connect(cluster.socket)
        say(probe.do("same") == (OK, job), "and with the next one it is the same job", job)


with Cluster(lease=60) as all_of_it:
    all_of_it.work("one", 4)
    for test in (texts, folders, mistakes, memory, server_dies):
        test(all_of_it)
Tap.end()
