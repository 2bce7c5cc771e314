#!/usr/bin/env python3
"""data_test - rota run: files between tasks, kept outputs, and results that are reused."""
import glob
import json
import os
import shutil
import signal
import subprocess
import tempfile

from end import ROTA, Tap

say = Tap.say
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PROGRAM = os.path.abspath(ROTA)


class Place:
    """A folder with a job file in it."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="rota-data-")
        self.said, self.events = "", []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read().decode()

    def has(self, name):
        return os.path.lexists(self.path(name))

    def tasks(self, *tasks, **top):
        self.write("job.json", json.dumps({"tasks": list(tasks), **top}))

    def run(self, *words, file="job.json", env=None):
        """The exit status and what was said, one object for each line."""
        done = subprocess.run([PROGRAM, "run", "--json", "-j", "2", *words, file],
                              cwd=self.folder, capture_output=True, text=True, check=False,
                              timeout=120, env={**os.environ, **(env or {})})
        self.said = done.stdout + done.stderr
        self.events = [json.loads(line) for line in done.stdout.splitlines()]
        return done.returncode

    def run_and_kill(self):
        """Kills the program when a task writes into the pipe `ready`."""
        os.mkfifo(self.path("ready"))
        process = subprocess.Popen([PROGRAM, "run", "--json", "-j", "1", "job.json"],
                                   cwd=self.folder, stdout=subprocess.DEVNULL,
                                   start_new_session=True)
        with open(self.path("ready"), encoding="utf-8") as ready:
            ready.read()
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        os.remove(self.path("ready"))

    def ran(self):
        """Names of all whose command was started, as often as it was."""
        return sorted(row["task"] for row in self.events if row["event"] == "started")

    def ended(self, task):
        return [row for row in self.events if row["event"] == "ended" and row["task"] == task][-1]

    def cached(self):
        return sorted(row["task"] for row in self.events if row.get("cached") is True)

    def contents(self):
        return glob.glob(self.path(".rota/cache/content/*/*"))

    def damage(self):
        """Changes the first byte of all contents, which only reading them shows."""
        for path in self.contents():
            os.chmod(path, 0o644)
            with open(path, "r+b") as file:
                first = file.read(1)
                file.seek(0)
                file.write(bytes([first[0] ^ 1]))


def task(name, run, **keys):
    return {"name": name, "run": run, **keys}


COUNT = [task(f"count-{name}", f"tr ' ' '\\n' <{name}.txt | sort | uniq -c >{name}.count",
              **{"in": [f"{name}.txt"], "out": [f"{name}.count"]}) for name in "abc"]
SUM = task("sum", "cat *.count | awk '{n[$2] += $1} END {for (w in n) print w, n[w]}' | sort >sum",
           **{"in": ["a.count", "b.count", "c.count"], "out": ["sum"], "keep": True})
TOP = task("top", "head -n 1 >top", **{"in": ["sum"], "out": ["top"], "keep": True,
                                       "stdin": "sum"})
TEXTS = {"a.txt": "red blue red\n", "b.txt": "blue green\n", "c.txt": "red\n"}
SUMMED = "blue 2\ngreen 1\nred 3\n"


def texts_write(place):
    for name, text in TEXTS.items():
        place.write(name, text)
    place.tasks(*COUNT, SUM, TOP)


with Place() as place:  # the way of data through a graph
    texts_write(place)
    status = place.run()
    say(status == 0 and place.read("sum") == SUMMED and place.read("top") == "blue 2\n",
        "counted in pieces and added up, to the byte", place.said)
    say(not place.has("a.count") and not place.has("b.count"), "only kept files are written there")
    say(place.run() == 0 and place.ran() == [], "a second run has nothing to do", place.said)
    got = subprocess.run([PROGRAM, "data", "get", "a.count", "copy"], cwd=place.folder,
                         capture_output=True, text=True, check=False)
    say(got.returncode == 0 and place.read("copy").split() == ["1", "blue", "2", "red"],
        "but a copy of it can be had", got)
    where = subprocess.run([PROGRAM, "data", "locate", "a.count"], cwd=place.folder,
                           capture_output=True, text=True, check=False)
    say(where.returncode == 0 and where.stdout.startswith("f:") and ".rota/cache" in where.stdout,
        "and the output names its path", where)
    none = subprocess.run([PROGRAM, "data", "get", "nothing"], cwd=place.folder,
                          capture_output=True, text=True, check=False)
    say(none.returncode == 2 and "no task has this output" in none.stderr, "if it is there", none)
    place.write("b.txt", "blue green green\n")
    say(place.run() == 0 and place.ran() == ["count-b", "sum", "top"]
        and place.read("sum") == "blue 2\ngreen 2\nred 3\n",
        "a changed source runs what depends on it, and nothing else", place.said)
    os.remove(place.path("top"))
    say(place.run() == 0 and place.ran() == ["top"] and place.read("top") == "blue 2\n",
        "a kept file that is gone is made again", place.said)
    os.remove(place.path("a.txt"))
    say(place.run() == 1 and "a.txt" in place.ended("count-a")["end"],
        "a source that is not there is named", place.said)
    place.write("a.txt", TEXTS["a.txt"])
    place.write("b.txt", TEXTS["b.txt"])
    say(place.run() == 0 and place.read("sum") == SUMMED, "and when it is there, all goes well",
        place.said)
    left = glob.glob(place.path(".rota/work/*"))
    say(left == [], "no directory of a task is left", left)

with Place() as place:  # names, modes, folders
    place.write("my texts/first one.txt", "one\n")
    place.tasks(
        task("a task", "cat 'my texts/first one.txt' >'out of it'",
             **{"in": ["my texts/first one.txt"], "out": ["out of it"]}),
        task("script", "printf '#!/bin/sh\\necho ran $1\\n' >tool && chmod +x tool",
             out=["tool"], keep=True),
        task("uses", "./tool $(cat 'out of it') >deep/er/result",
             **{"in": ["tool", "out of it"], "out": ["deep/er/result"], "keep": True}))
    say(place.run() == 0 and place.read("deep/er/result") == "ran one\n",
        "names may have blanks, outputs are in folders, tools can be run", place.said)
    say(os.access(place.path("tool"), os.X_OK) and os.access(place.path("tool"), os.W_OK),
        "a kept file stays executable, and the user may write to it")

with Place() as place:
    place.tasks(
        task("make", "mkdir -p tree/empty tree/sub && echo leaf >tree/sub/leaf && ln -s sub/leaf "
             "tree/link && printf '#!/bin/sh\\n' >tree/run && chmod +x tree/run",
             out=[{"name": "tree", "kind": "directory"}], keep=True),
        task("look", "test -x tree/run && test -d tree/empty && cat tree/link >seen && "
             "find tree | sort >>seen", **{"in": ["tree"], "out": ["seen"], "keep": True}))
    listed = "leaf\ntree\ntree/empty\ntree/link\ntree/run\ntree/sub\ntree/sub/leaf\n"
    say(place.run() == 0 and place.read("seen") == listed, "a directory arrives unchanged",
        place.said)
    say(place.read("tree/link") == "leaf\n" and os.access(place.path("tree/run"), os.X_OK)
        and os.path.isdir(place.path("tree/empty")), "and is kept unchanged")
    place.write("tree/sub/more", "mine")
    place.write("job.json", place.read("job.json").replace("leaf >tree", "other >tree"))
    say(place.run() == 0 and not place.has("tree/sub/more")
        and place.read("tree/sub/leaf") == "other\n", "a new one takes its place as a whole",
        place.said)

with Place() as place:  # a folder of the user
    place.write("data/x/y", "1\n")
    place.tasks(task("read", "cat data/x/y >copy", **{"in": ["data"], "out": ["copy"],
                                                       "keep": True, "cache": True}))
    place.run()
    place.write("data/x/y", "2\n")
    say(place.run() == 0 and place.ran() == ["read"] and place.read("copy") == "2\n",
        "a change deep in a folder is noticed", place.said)
    place.write("data/x/y", "1\n")
    say(place.run() == 0 and place.cached() == ["read"] and place.read("copy") == "1\n",
        "and when it is as it was, so is the result", place.said)

BAD = [
    ("true", "file", "is missing"),
    ("ln -s /etc/passwd result", "file", "is a symbolic link"),
    ("ln -s nowhere result", "file", "is a symbolic link"),
    ("mkfifo result", "file", "is a FIFO"),
    ("mkdir result", "file", "is a directory"),
    ("touch result", "directory", "not a directory"),
    ("ln -s /etc result", "directory", "is a symbolic link"),
    ("mkdir result && mkfifo result/in", "directory", "FIFO"),
    ("touch result && chmod u+s result", "file", "set-user-id"),
    ("python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"result\")'", "file",
     "is a socket"),
]
with Place() as place:
    place.tasks(*[task(f"bad-{i}", run.replace("result", f"result{i}"),
                       out=[{"name": f"result{i}", "kind": kind}], keep=True)
                  for i, (run, kind, _) in enumerate(BAD)],
                task("good", "echo fine >good", out=["good"], keep=True))
    status = place.run("-k")
    for i, (run, kind, why) in enumerate(BAD):
        end = place.ended(f"bad-{i}")
        say(end["status"] == "FAILED" and f"result{i}" in end["end"] and why in end["end"],
            f"refused as a {kind}: {run}", end)
        say(not place.has(f"result{i}"), "and nothing is put there")
    say(status == 1 and place.ended("good")["status"] == "SUCCESS" and place.has("good"),
        "each of them fails alone")

with Place() as place:
    place.tasks(task("make", "echo new >kept", out=["kept"], keep=True))
    os.mkdir(place.path("kept"))
    say(place.run() == 1 and "kept is a directory" in place.ended("make")["end"],
        "a directory of the user is not replaced by a file", place.said)
    os.rmdir(place.path("kept"))
    say(place.run() == 0 and place.read("kept") == "new\n", "it works when it is out of the way",
        place.said)

with Place() as place:  # results
    place.write("source", "one\n")
    tasks = [
        task("make", "echo working; tr a-z A-Z <source >upper", cache=True,
             **{"in": ["source"], "out": ["upper"], "env": {"B": "2", "A": "1"}}),
        task("copy", "cat upper >kept", cache=True,
             **{"in": ["upper"], "out": ["kept"], "keep": True}),
        task("say", "echo said", cache=True), task("fail", "echo no; exit 3", cache=True),
        task("read", "cat >got", stdin="source", out=["got"], keep=True, cache=True)]
    place.tasks(*tasks)
    place.run("-k")
    os.remove(place.path("kept"))
    status = place.run("-k", "--fresh")
    say(place.cached() == ["copy", "make", "read", "say"] and place.ran() == ["fail"]
        and place.read("kept") == "ONE\n",
        "earlier results come from the cache; a failure does not", place.said)
    say(place.ended("make")["log_bytes"] == len("working\n")
        and place.ended("say")["log_bytes"] == len("said\n"), "with what it printed", place.said)
    place.tasks(*tasks[:3])
    place.write("source", "two\n")
    place.run("--fresh")
    say(place.ran() == ["copy", "make"] and place.cached() == ["say"]
        and place.read("kept") == "TWO\n", "another source is another result", place.said)
    place.write("source", "one\n")
    place.run("--fresh")
    say(place.ran() == [] and place.read("kept") == "ONE\n", "the old one is still there",
        place.said)
    place.tasks({**tasks[0], "env": {"A": "1", "B": "3"}})
    place.run()
    say(place.ran() == ["make"], "another environment is another result", place.said)
    place.tasks({**tasks[0], "env": {"A": "1", "B": "2"}})
    place.run()
    say(place.cached() == ["make"], "its order is not", place.said)
    place.tasks({**tasks[2], "cwd": "/"})
    place.run()
    say(place.ran() == ["say"], "another directory is another result", place.said)
    os.chmod(place.path("source"), 0o755)
    place.tasks(tasks[0])
    place.run()
    say(place.ran() == ["make"], "so is an executable source", place.said)

with Place() as place:  # the standard input
    place.write("from", "one\n")
    place.tasks(task("read", "cat >got", stdin="from", out=["got"], keep=True))
    place.run()
    place.write("from", "other\n")
    say(place.run() == 0 and place.ran() == ["read"] and place.read("got") == "other\n",
        "a changed standard input is noticed", place.said)

with Place() as place:  # a source that changes under the command
    place.write("source", "old\n")
    place.tasks(task("make", f"cat source >copy; echo new >{place.path('source')}", cache=True,
                     **{"in": ["source"], "out": ["copy"], "keep": True}))
    place.run()
    place.write("source", "old\n")
    place.run("--fresh")
    say(place.ran() == ["make"],
        "the result of a task whose source changes meanwhile does not count", place.said)

with Place() as place:  # damage
    texts_write(place)
    place.run()
    place.damage()
    place.write("c.txt", "red green\n")
    status = place.run()
    say(status == 0 and place.ran() == ["count-a", "count-b", "count-c", "sum", "top"]
        and place.read("sum") == "blue 2\ngreen 2\nred 3\n",
        "damaged contents are found, and their task makes them again", place.said)
    say(place.run() == 0 and place.ran() == [], "after that all is done", place.said)

with Place() as place:
    texts_write(place)
    place.run()
    for path in place.contents():
        os.remove(path)
    os.remove(place.path("top"))
    say(place.run() == 0 and place.read("top") == "blue 2\n" and place.read("sum") == SUMMED,
        "contents that are gone are made again", place.said)
    shutil.rmtree(place.path(".rota/cache"))
    os.remove(place.path("top"))
    say(place.run() == 0 and place.read("top") == "blue 2\n", "also when all of the cache is gone",
        place.said)

with Place() as place:  # the chain of tasks after it
    links = [task("t0", "echo 0 >o0", out=["o0"])]
    links += [task(f"t{i}", f"(cat o{i - 1}; echo {i}) >o{i}", lane="narrow", access="write",
                   **{"in": [f"o{i - 1}"], "out": [f"o{i}"], "keep": i > 3}) for i in range(1, 6)]
    place.tasks(*links, lanes={"narrow": {}})
    say(place.run() == 0, "a chain of five in a lane", place.said)
    for run in ("once", "twice"):
        place.damage()
        os.remove(place.path("o5"))
        say(place.run() == 0 and place.ran() == [f"t{i}" for i in range(6)]
            and place.read("o5") == "0\n1\n2\n3\n4\n5\n", f"is made again {run}", place.said)

with Place() as place:  # many want what is lost
    place.tasks(task("make", "echo x >x", out=["x"]),
                *[task(f"use-{i}", f"cat x >y{i}", **{"in": ["x"], "out": [f"y{i}"],
                                                      "keep": True}) for i in range(9)])
    place.run()
    for jobs in "15":
        place.damage()
        for i in range(9):
            os.remove(place.path(f"y{i}"))
        say(place.run("-j", jobs) == 0 and place.ran().count("make") == 1
            and all(place.read(f"y{i}") == "x\n" for i in range(9)),
            f"it is made once, and all have it: {jobs} at a time", place.said)

for size in (100, 3000000):  # a task that writes into what it reads
    with Place() as place:
        place.tasks(task("make", f"head -c {size} /dev/zero >x", out=["x"]),
                    task("spoil", "echo bad >>x || true", **{"in": ["x"]}),
                    task("use", "wc -c <x >y", needs=["spoil"],
                         **{"in": ["x"], "out": ["y"], "keep": True}))
        say(place.run() == 0 and place.read("y") == f"{size}\n",
            f"an input of {size} bytes is not spoiled for others", place.said)

with Place() as place:  # what makes it again may fail
    place.tasks(task("make", f"test -e {place.path('no')} && exit 4; echo x >x", out=["x"]),
                task("use", "cat x >y", **{"in": ["x"], "out": ["y"], "keep": True}))
    place.run()
    os.remove(place.path("y"))
    for path in place.contents():
        os.remove(path)
    place.write("no", "")
    status = place.run()
    say(status == 1 and place.ended("make")["exit"] == 4 and not place.has("y"),
        "a task that cannot make it again fails, and the run ends", place.said)
    os.remove(place.path("no"))
    say(place.run() == 0 and place.read("y") == "x\n", "and can be tried again", place.said)

with Place() as place:  # kill -9, at each of the tasks of a chain
    wait = "if mkdir {0}-{1}; then echo >{0}; sleep 1000; fi"
    chain = [task("t0", "seq 1000 >o0", out=["o0"])]
    chain += [task(f"t{i}", f"{wait.format(place.path('ready'), i)}; md5sum <o{i - 1} >o{i}",
                   **{"in": [f"o{i - 1}"], "out": [f"o{i}"], "keep": i == 5})
              for i in range(1, 6)]
    place.tasks(*chain)
    for _ in range(5):
        place.run_and_kill()
    status = place.run()
    expected = subprocess.run("seq 1000 | md5sum | md5sum | md5sum | md5sum | md5sum", shell=True,
                              capture_output=True, text=True, check=True).stdout
    say(status == 0 and place.read("o5") == expected and place.ran() == ["t5"],
        "killed in the middle of each of five tasks, and yet the same bytes", place.said)

with Place() as place:  # all that can run is with the worker when it is killed
    wait = f"if mkdir {place.path('once')}; then echo >{place.path('ready')}; sleep 1000; fi"
    place.tasks(*[task(f"t{i}", f"{wait}; echo {i} >o{i}", out=[f"o{i}"]) for i in range(4)],
                task("sum", f"cat o? >{place.path('sum')}", **{"in": [f"o{i}" for i in range(4)]}))
    place.run_and_kill()
    say(place.run() == 0 and place.read("sum") == "0\n1\n2\n3\n", "a lost attempt is tried again",
        place.said)

with Place() as place:  # the size of the cache
    place.tasks(*[task(f"make-{i}", f"seq {i} 200000 >o{i}", out=[f"o{i}"], cache=True)
                  for i in range(4)])
    for bad in ("12Q", "x", "-1", "99999999999999999999", "5 M", "0"):
        say(place.run(env={"ROTA_CACHE_MAX": bad}) == 2 and bad in place.said,
            f"ROTA_CACHE_MAX={bad} is refused", place.said)
    say(place.run(env={"ROTA_CACHE_MAX": "2M"}) == 0, "and 2M is fine", place.said)

with Place() as place:  # objects that no task can need any more
    place.write("source", "0\n")
    tasks = [task("big", "cat source >big; seq 100000 >>big", **{"in": ["source"], "out": ["big"]}),
             task("same", "echo same >same", out=["same"])]
    place.tasks(*tasks)
    for i in range(8):
        place.write("source", f"{i}\n")
        place.run(env={"ROTA_CACHE_MAX": "1M"})
    objects, kept = os.listdir(place.path(".rota/cache/object")), len(place.contents())
    say(len(objects) == 2 and kept < 6, "old versions are removed", f"{objects} {kept}")
    place.tasks(*reversed(tasks), task("new", "true"))
    say(place.run() == 0 and place.ran() == ["new"], "the others are not", place.said)

with Place() as place:  # no objects, no cache
    place.tasks(task("plain", "true"))
    say(place.run() == 0 and not place.has(".rota/cache"), "without data there is no cache")

with Place() as place:  # a glob
    place.write("in/a", "1\n")
    place.tasks({"name": "see-{{index}}", "foreach": {"glob": "in/*"}, "run": "cat {{item}}",
                 "in": ["{{item}}"]})
    place.run()
    place.write("in/b", "2\n")
    say(place.run() == 0 and place.ran() == ["see-2"], "a file that a glob matches now is seen",
        place.said)

with Place() as place:  # the examples
    shutil.copytree(os.path.join(ROOT, "examples"), place.path("e"),
                    ignore=shutil.ignore_patterns(".rota", "words.txt", "top.txt", "primes"))
    say(place.run(file="e/wordcount.yaml") == 0
        and place.read("e/top.txt") == "29 the\n8 in\n6 is\n5 and\n5 house\n",
        "examples/wordcount.yaml counts words", place.said)
    say(place.run(file="e/cbuild.yaml") == 0 and len(place.ran()) == 4,
        "examples/cbuild.yaml builds a program", place.said)
    made = subprocess.run([place.path("e/primes"), "10"], capture_output=True, text=True,
                          check=True)
    say(made.stdout == "2\n3\n5\n7\n", "which runs", made.stdout)
    os.remove(place.path("e/primes"))
    say(place.run("--fresh", file="e/cbuild.yaml") == 0 and place.ran() == []
        and os.access(place.path("e/primes"), os.X_OK), "and comes from the cache the next time",
        place.said)
Tap.end()
