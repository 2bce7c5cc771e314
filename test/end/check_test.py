#!/usr/bin/env python3
"""check_test - rota check and rota graph on real files: accepted files, refused files, and
messages."""
import json
import os
import re
import shutil
import subprocess
import tempfile

import seed
from end import ROTA, Tap

say = Tap.say
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SMALL = "tasks:\n  a: 'true'\n  b: {run: 'false', needs: a}\n"
folder = tempfile.mkdtemp(prefix="rota-check-")


def path_of(name):
    return os.path.join(folder, name)


def write(name, text):
    with open(path_of(name), "w", encoding="utf-8") as file:
        file.write(text)
    return path_of(name)


def rota(*words, text=None):
    return subprocess.run([ROTA, *words], capture_output=True, text=True, check=False, input=text,
                          timeout=120)


def tasks_of(path):
    done = rota("check", "--json", path)
    return {task["name"]: task for task in json.loads(done.stdout)["tasks"]}


def refused(what, path, reason):
    done = rota("check", path)
    say(done.returncode == 2 and not done.stdout and done.stderr.startswith(path + ": ")
        and reason in done.stderr, what, done.stdout + done.stderr)


def files_are_refused():
    refused("a file must be there", path_of("none"), "No such file")
    refused("a folder is no job file", folder, "not a regular file")
    refused("a device is not read", "/dev/zero", "not a regular file")
    os.mkfifo(path_of("fifo"))
    refused("a pipe without a writer does not block", path_of("fifo"), "not a regular file")
    with open(path_of("huge.json"), "wb") as file:
        file.truncate(1 << 30)
    refused("a gigabyte is refused before it is read", path_of("huge.json"), "larger than 256 MiB")
    done = rota("check", write("empty.yaml", ""))
    say(done.returncode == 2 and "1:1: the file is empty" in done.stderr,
        "an empty file is refused", done.stderr)
    done = rota("check", write("two.yaml", "tasks:\n  a: {runn: x}\n  b: {run: x, needs: c}\n"))
    lines = [line.removeprefix(path_of("two.yaml")) for line in done.stderr.splitlines()]
    say(done.returncode == 2 and lines == [
        ':2:7: a task has no key "runn" (did you mean run?)', ':2:3: task "a" has no run',
        ':3:22: no such task: "c"'], "each mistake has file, line and column", done.stderr)
    for line in ("{foreach: [1], run: echo {{item}} so}",
                 "{foreach: [1], run: x, in: [{{item}}.c]}",
                 "\n    foreach: [1]\n    run: {{item}} so",
                 "\n    run: x\n    in:\n    - {{item}}.c"):
        done = rota("check", write("holes.yaml", "tasks:\n  a: " + line))
        say(done.returncode == 2 and "; put a text with {{ in quotes here" in done.stderr,
            f"{line.split(':', 1)[1]!r} is reported to need quotes", done.stderr)
    done = rota("check", write("unread.yaml",
                               "tasks:\n  a: {run: x, out: [{name: s, kind: stream}]}\n  b: x\n"))
    say(done.returncode == 2 and ':2:3: no task reads the stream "s"' in done.stderr,
        "a stream without a reader is a mistake: its writer would never end", done.stderr)
    done = rota("check", write("wait.yaml", "tasks:\n  a: {run: x, out: [{name: s, kind: stream}, "
                               "f]}\n  b: {run: x, in: [s, f]}\n"))
    say(done.returncode == 2 and ':3:3: it reads a stream of "a" and also waits for that task'
        in done.stderr, "so is one whose reader waits for a task after it", done.stderr)
    for word, told in (("rnu", " (did you mean run?)"), ("xyzzy", " (see 'rota help')")):
        done = rota(word)
        say(done.returncode == 2 and done.stderr == f"rota: unknown command '{word}'{told}\n",
            f"{word} is not a command", done.stderr)
    for command in (["check"], ["graph"], ["run"], ["submit", "--server", "127.0.0.1:1"]):
        done = rota(*command, write("due.yaml", "schedule: {cron: '99 * * * *'}\n" + SMALL))
        say(done.returncode == 2 and done.stderr == path_of("due.yaml")
            + ":1:18: cron: column 1: \"99\" is not a minute (0 to 59)\n",
            f"a schedule that makes no sense is refused by {command[0]}", done.stderr)


def files_are_fine():
    done = rota("check", write("small.yaml", SMALL))
    say(done.returncode == 0
        and done.stdout == path_of("small.yaml") + ": 2 tasks, 1 dependency, OK\n",
        "a good file is fine", done.stdout + done.stderr)
    done = rota("check", "-", text=SMALL)
    say(done.returncode == 0 and done.stdout == "-: 2 tasks, 1 dependency, OK\n",
        "the standard input is YAML", done.stdout + done.stderr)
    same = {"tasks": {"a": "true", "b": {"run": "false", "needs": ["a"]}}}
    done = rota("check", write("small.json", json.dumps(same)),
                write("small.jsonl", '{"name": "a", "run": "true"}\n'))
    say(done.returncode == 0 and done.stdout.count("OK") == 2, "the name says the format",
        done.stdout + done.stderr)
    done = rota("check", path_of("small.yaml"), path_of("none"))
    say(done.returncode == 2 and "OK" in done.stdout, "one bad file among good ones is reported")
    for command in ("check", "graph"):
        done = rota(command, "--help")
        say(done.returncode == 0 and done.stdout.startswith(f"rota {command} - "),
            f"the help of {command} starts with what it does")
        done = rota(command)
        say(done.returncode == 2 and "missing argument FILE" in done.stderr,
            f"{command} needs a file")
        done = rota(command, "--none", path_of("small.yaml"))
        say(done.returncode == 2 and "unknown option --none" in done.stderr,
            f"{command} refuses other options")


def globs_are_sorted():
    for name in ("b.txt", "a.txt", "c.dat"):
        write(name, "")
    found = tasks_of(write("glob.yaml",
                           "tasks:\n  t: {foreach: {glob: '*.txt'}, run: 'x {{item}}'}"))
    say([task["command"] for task in found.values()] == ["x a.txt", "x b.txt"],
        "a glob is relative to the file and sorted", found)
    done = rota("check", write("glob.yaml", "tasks:\n  t: {foreach: {glob: '*.no'}, run: x}"))
    say(done.returncode == 2 and ':2:23: no file matches "*.no"' in done.stderr,
        "a glob that matches nothing is a mistake", done.stderr)


def graphs_are_drawn():
    path = write("graph.yaml", "name: g\nlanes: {disk: }\ntasks:\n  a: {run: x, bundle: B}\n"
                 "  b: {run: x, needs: a, lane: disk}\n  c: {run: x, when: fa(b), needs: B}\n")
    done = rota("graph", "--text", path)
    say(done.stdout == "1\n└─ a\n2\n├─ b ← a  (lane disk)\n└─ B ← a  (bundle)\n"
        "3\n└─ c ← fa(b), su(B)\n", "a drawing has layers", done.stdout)
    graph = json.loads(rota("graph", "--json", path).stdout)
    say(graph["tasks"] == ["a", "b", "c", "B"] and sorted(graph["edges"]) == [
        ["B", "c", "su"], ["a", "B", "member"], ["a", "b", "needs"], ["b", "c", "fa"]],
        "a graph can be had as JSON", graph)
    dot = rota("graph", path).stdout
    say(dot.startswith('digraph "g" {') and '"a" -> "b";' in dot and "cluster" in dot
        and dot == rota("graph", "--dot", path).stdout, "off a terminal it is dot", dot)
    done = rota("graph", write("bad.yaml", "tasks: 1\n"))
    say(done.returncode == 2 and ":1:8:" in done.stderr, "a bad file is not drawn")
    rows = ["{'name': 't%d', 'run': 'x', 'needs': [%s]}".replace("'", '"') % (
        i, ",".join(f'"t{j}"' for j in range(max(0, i - 50), i))) for i in range(10000)]
    done = rota("graph", "--text", write("deep.jsonl", "\n".join(rows)))
    say(done.returncode == 0 and len(done.stdout) < 2000000 and "and 44 more" in done.stdout,
        "ten thousand layers stay readable", len(done.stdout))


def shell_words(lines):
    """The words that sh splits each line into."""
    script = "p() { printf '%s\\0' \"$@\"; printf '\\1'; }\n" + "".join(f"p {l}\n" for l in lines)
    done = subprocess.run(["/bin/sh"], input=script.encode(), capture_output=True, check=True)
    return [part.decode().split("\0")[:-1] for part in done.stdout.split(b"\1")[:-1]]


def lines_are_split_as_sh_would():
    """Random lines: what is run without a shell must have the words that sh would see."""
    choose = seed.chance()
    pieces = ["a", "bc", "-x", "/d", "=", ":", ",", "%", "@", "+", ".", " ", "  ", "\t", "'", '"',
              "''", '""', "'e f'", '"g h"', "'$i'", '"#"', "$", "~", "*", "#", "\\", "é"]
    lines = ["".join(choose.choice(pieces) for _ in range(choose.randrange(1, 12)))
             for _ in range(4000)]
    lines = [line for line in lines if line.strip()]
    rows = [json.dumps({"name": f"t{i}", "run": line}) for i, line in enumerate(lines)]
    found = tasks_of(write("lines.jsonl", "\n".join(rows)))
    direct = [(line, found[f"t{i}"]["argv"]) for i, line in enumerate(lines)
              if not found[f"t{i}"]["shell"]]
    words = shell_words([line for line, _ in direct])
    wrong = [(line, argv, word) for (line, argv), word in zip(direct, words) if argv != word]
    say(len(direct) > 200 and len(words) == len(direct) and not wrong,
        f"{len(direct)} lines are split as sh would", wrong[:5])


def the_documents_are_true():
    text = open(os.path.join(ROOT, "doc", "job-files.md"), encoding="utf-8").read()
    blocks = re.findall(r"^```(yaml|json|jsonl)\n(.*?)^```$", text, re.S | re.M)
    say(len(blocks) >= 6, "the document has examples")
    for number, (format_, block) in enumerate(blocks, 1):
        done = rota("check", write(f"example-{number}.{format_}", block))
        say(done.returncode == 0, f"example {number} of the document is fine", done.stderr)
    words = open(os.path.join(ROOT, "src", "job", "file", "keys.c"), encoding="utf-8").read()
    manual = open(os.path.join(ROOT, "doc", "man", "rota-jobfile.5.scd"), encoding="utf-8").read()
    keys = set(re.findall(r'= "(\w+)"', words))
    missing = [key for key in keys if f"`{key}`" not in text or f"*{key}*" not in manual]
    say(len(keys) > 25 and not missing, "every key is in the document and the manual", missing)
    if shutil.which("scdoc"):
        done = subprocess.run(["scdoc"], input=manual, capture_output=True, text=True, check=False)
        say(done.returncode == 0, "the manual can be made", done.stderr)


try:
    files_are_refused()
    files_are_fine()
    globs_are_sorted()
    graphs_are_drawn()
    lines_are_split_as_sh_would()
    the_documents_are_true()
finally:
    shutil.rmtree(folder)
Tap.end()
