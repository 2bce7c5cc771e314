#!/usr/bin/env python3
"""simulate_test - rota simulate: compares schedules with a naive simulator, and checks its output.

    simulate_test.py [--all]    --all: every schedule in ../shared/data, too
"""
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import xml.dom.minidom

import seed
from end import ROTA, Tap

say = Tap.say
SEED = seed.take()
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SHARED = os.path.join(os.path.dirname(ROOT), "shared", "data")
sys.path.insert(0, os.path.join(ROOT, "bench"))
import shapes  # noqa: E402

folder = tempfile.mkdtemp(prefix="rota-simulate-")


def write(name, value):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(value if isinstance(value, str) else json.dumps(value))
    return path


def rota(*words):
    return subprocess.run([ROTA, "simulate", *words], capture_output=True, text=True, check=False,
                          timeout=120)


def result(*words):
    done = rota(*words, "--json")
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


# ---- A second opinion -------------------------------------------------------------------

class Naive:
    """The nine rules, one instant after the other, with nothing clever in it."""

    def __init__(self, graph, cores, bandwidth, schedule):
        self.tasks, self.cores, self.bandwidth = graph["tasks"], cores, bandwidth
        self.where, self.order = schedule["assign"], schedule["prio"]
        self.now, self.requests = 0.0, 0
        self.free = list(cores)
        self.left, self.ended = {}, set()  # running tasks: when they end; who has
        self.there = set()                 # (object, worker)
        self.waiting, self.moving = {}, {}  # (object, worker): urgency and number; MiB left
        self.moved = 0

    def made(self, task):
        return all(read[0] in self.ended for read in self.tasks[task]["inputs"])

    def present(self, task):
        return all((tuple(read), self.where[task]) in self.there
                   for read in self.tasks[task]["inputs"])

    def rates(self):
        links = {(self.where[thing[0]], worker) for thing, worker in self.moving}
        rate = {}
        room = {}
        for source, worker in links:
            room["out", source] = room["in", worker] = self.bandwidth
        while len(rate) < len(links):
            open_links = [link for link in links if link not in rate]
            ports = {}
            for source, worker in open_links:
                for port in (("out", source), ("in", worker)):
                    ports[port] = ports.get(port, 0) + 1
            share, port = min((room[port] / count, port) for port, count in ports.items())
            for source, worker in open_links:
                if port in (("out", source), ("in", worker)):
                    rate[source, worker] = share
                    room["out", source] -= share
                    room["in", worker] -= share
        shared = {}
        for thing, worker in self.moving:
            link = self.where[thing[0]], worker
            shared[link] = shared.get(link, 0) + 1
        return {(thing, worker): rate[self.where[thing[0]], worker]
                / shared[self.where[thing[0]], worker] for thing, worker in self.moving}

    def start(self):
        for worker in range(len(self.cores)):
            waits = sorted((key for key in self.waiting if key[1] == worker),
                           key=lambda key: (-self.waiting[key][0], self.waiting[key][1]))
            for key in waits:
                here = [other for other in self.moving if other[1] == worker]
                same = [other for other in here
                        if self.where[other[0][0]] == self.where[key[0][0]]]
                if len(here) < 4 and len(same) < 2:
                    self.moving[key] = self.tasks[key[0][0]]["outputs"][key[0][1]]["s"]
                    del self.waiting[key]
        ready = [task for task in range(len(self.tasks)) if task not in self.left
                 and task not in self.ended and self.present(task)]
        for task in sorted(ready, key=lambda task: -self.order[task]):
            worker, wants = self.where[task], self.tasks[task]["cpus"]
            if wants <= self.free[worker]:
                self.free[worker] -= wants
                self.left[task] = self.now + self.tasks[task]["d"]

    def finish(self, task):
        worker = self.where[task]
        del self.left[task]
        self.free[worker] += self.tasks[task]["cpus"]
        self.ended.add(task)
        for which, output in enumerate(self.tasks[task]["outputs"]):
            thing = task, which
            self.there.add((thing, worker))
            for user, row in enumerate(self.tasks):
                if list(thing) not in row["inputs"]:
                    continue
                key = thing, self.where[user]
                if output["s"] == 0:
                    self.there.add(key)
                if key in self.there:
                    continue
                urgency = self.order[user] + (100000 if self.made(user) else 0)
                before, number = self.waiting.get(key, (urgency, None))
                if number is None:
                    self.requests += 1
                    number = self.requests
                self.waiting[key] = max(before, urgency), number

    def run(self):
        while len(self.ended) < len(self.tasks):
            self.start()
            rate = self.rates()
            ends = list(self.left.values())
            ends += [self.now + left / rate[key] for key, left in self.moving.items()]
            then = min(ends)
            for key in self.moving:
                self.moving[key] -= (then - self.now) * rate[key]
            self.now = then
            for task in sorted(task for task, end in self.left.items() if end <= then):
                self.finish(task)
            for key in [key for key, left in self.moving.items() if left < 2e-6]:
                del self.moving[key]
                self.there.add(key)
                self.moved += 1
        return self.now


def draw_schedule(graph, cores, number):
    draw = random.Random(number)
    count = len(graph["tasks"])
    return {"assign": [draw.choice([at for at, have in enumerate(cores) if have >= task["cpus"]])
                       for task in graph["tasks"]],
            "prio": draw.sample(range(1, count + 1), count)}


def same(one, other):
    return abs(one - other) <= 1e-6 * other


def schedules_have_the_expected_times():
    for number, graph in enumerate(shapes.all_shapes(SEED)):
        cores = [4] * 5 if number % 2 else [4, 4, 2, 6]
        text = "5x4" if number % 2 else "2x4,1x2,1x6"
        schedule = draw_schedule(graph, cores, SEED + number)
        naive = Naive(graph, cores, 50.0, schedule)
        expected = naive.run()
        got = result(write("graph.json", graph), "--workers", text, "--bandwidth", "50",
                     "--replay", write("schedule.json", schedule))
        say(same(got.get("makespan", 0), expected) and got["transfers"] == naive.moved,
            f"{graph['name']}: a drawn schedule takes as long as the rules say", f"{got}")


# ---- Deciding ---------------------------------------------------------------------------

def the_core_follows_the_plan():
    for graph in shapes.all_shapes(SEED + 2):
        path = write("graph.json", graph)
        words = path, "--workers", "6x4", "--bandwidth", "64M", "--effort", "300000"
        kept = os.path.join(folder, "kept.json")
        got = result(*words, "--schedule", kept)
        say(same(got.get("makespan", 0), got.get("predicted", 1)) and got["moves"] == 0
            and got["makespan"] >= got["lower_bound"] * (1 - 1e-9),
            f"{graph['name']}: the run is the one that was predicted", f"{got}")
        again = result(*words)
        timings = "plan_us_per_task", "search_seconds", "deciding_seconds", "seconds"
        for name in timings:
            got.pop(name), again.pop(name)
        say(got == again, f"{graph['name']}: the same again gives the same again", f"{again}")
        replayed = result(path, "--workers", "6x4", "--bandwidth", "64", "--replay", kept)
        say(replayed.get("makespan", 1e9) <= got["makespan"] * 1.2,
            f"{graph['name']}: its schedule can be kept and replayed", f"{replayed}")


def every_way_of_deciding_ends():
    path = write("graph.json", shapes.layers(SEED))
    words = path, "--workers", "4x4", "--bandwidth", "64", "--effort", "100000"
    best = result(*words)["makespan"]
    for more in (("--info", "user"), ("--info", "mean"), ("--delay", "1.6"), ("--effort", "0"),
                 ("--info", "mean", "--delay", "6.4"), ("--policy", "pull"),
                 ("--policy", "pull", "--by-rank", "--patience", "0.1"), ("--network", "free")):
        got = result(*words, *more)
        say(got.get("makespan", 0) > 0 and got["makespan"] < 4 * best,
            f"{' '.join(more)}: all tasks run", f"{got}")
    delayed = result(*words, "--delay", "6.4")["makespan"]
    say(delayed <= best * 1.01 + 0.06, "a plan that reaches ahead does not mind delays",
        f"{delayed} against {best}")


# ---- Files ------------------------------------------------------------------------------

def files_for_others_are_whole():
    path = write("graph.json", shapes.pipelines(SEED))
    names = [os.path.join(folder, name) for name in ("a.svg", "a.trace", "flow.json")]
    got = result(path, "--workers", "4x4", "--effort", "1000", "--svg", names[0], "--perfetto",
                 names[1], "--workflow", names[2])
    picture = xml.dom.minidom.parse(names[0])
    say(len(picture.getElementsByTagName("rect")) == got["tasks"], "a picture has all tasks")
    with open(names[1], encoding="utf-8") as file:
        events = [event for event in json.load(file)["traceEvents"] if event["ph"] == "X"]
    ends = max(event["ts"] + event["dur"] for event in events)
    say(len(events) == got["tasks"] and same(ends / 1e6, got["makespan"]), "so has a trace")
    flow = result(names[2], "--workers", "4x4", "--effort", "1000")
    say(abs(flow.get("lower_bound", 0) - got["lower_bound"]) < 1e-6
        and flow["tasks"] == got["tasks"], "a run in WfFormat can be read again", f"{flow}")
    done = rota(path, "--workers", "4x4", "--effort", "1000", "--gantt")
    say(done.returncode == 0 and sum(line.startswith("   ") and "|" in line
                                     for line in done.stdout.splitlines()) == 4,
        "text has a line for each worker", done.stdout)
    job = write("job.yaml", "tasks:\n  a: 'true'\n  b: {run: 'true', needs: a}\n  c: 'true'\n")
    got = result(job, "--workers", "1x2", "--seconds", "10")
    say(got.get("makespan") == 20 and got["critical_path"] == ["a", "b"],
        "a job file is simulated with tasks of one length", f"{got}")


def refused(what, reason, *words):
    done = rota(*words)
    say(done.returncode == 2 and reason in done.stderr and not done.stdout, what,
        f"{done.returncode} {done.stdout}{done.stderr}")


def wrong_input_is_refused():
    graph = shapes.tree(SEED, 3)
    path = write("good.json", graph)
    refused("no file", "missing argument FILE", "--json")
    none = os.path.join(folder, "none.json")
    refused("a file that is not there", "none.json: No such file", none)
    refused("an unknown option", "unknown option --wrokers (did you mean --workers?)", path,
            "--wrokers", "1x1")
    for option, value in (("--workers", "4"), ("--workers", "0x4"), ("--bandwidth", "-1"),
                          ("--bandwidth", "3Q"), ("--policy", "claim"), ("--info", "all"),
                          ("--delay", "x")):
        refused(f"{option} {value}", f"option {option} needs ", path, option, value)
    refused("an option without its value", "option --workers needs workers x cores", path,
            "--workers")
    broken = write("broken.json", '{"format":"tg-1","tasks":[\n{"d":1,"cpus":1,"inputs":[[7,0]]}]}')
    refused("an input of an unknown task", "broken.json:2:28: ", broken)
    negative = write("negative.json", '{"format":"tg-1","tasks":[{"d":-1,"cpus":1}]}')
    refused("a negative duration", "negative.json:1:32: the duration d must be", negative)
    circle = [("x", 1, 1, [1], [(1, 0)]), ("x", 1, 1, [1], [(0, 0)])]
    refused("a cycle", "in a cycle", write("circle.json", shapes.graph("c", circle)))
    flow = write("flow.json", '{"workflow":{"specification":{"tasks":[{"name":"a"}]}}}')
    refused("a task without an id", "flow.json:1:40: a task without an id", flow)
    refused("a cut file", "cut.json:1:17: expected , or }", write("cut.json", '{"format":"tg-1"'))
    wide = write("wide.json", shapes.graph("w", [("x", 1, 9, [], [])]))
    refused("a task that fits nowhere", "needs 9 cores", wide, "--workers", "2x4")
    short = write("short.json", {"assign": [0], "prio": [1]})
    refused("a schedule for another graph", "must be a list of 7 numbers", path, "--replay", short)
    far = write("far.json", {"assign": [5] * 7, "prio": list(range(7))})
    refused("a worker that is not there", "assign must be a whole number from 0 to 0", path,
            "--replay", far)
    refused("an empty schedule", 'expected "assign"', path, "--replay", write("empty.json", "{}"))


# ---- What others computed ---------------------------------------------------------------

def cases_of_others(all_of_them):
    with open(os.path.join(SHARED, "replay.json"), encoding="utf-8") as file:
        cases = json.load(file)["cases"]
    for path in sorted(glob.glob(os.path.join(SHARED, "best", "*.json"))):
        with open(path, encoding="utf-8") as file:
            best = json.load(file)
        graph = best.pop("graph")
        for key, case in best.items():
            cluster, bandwidth = key.split("@")
            cases.append({**case, "graph": graph, "cluster": cluster, "bw": bandwidth,
                          "net": "maxmin"})
    return cases if all_of_them else cases[::29]


def schedules_of_others(all_of_them):
    cases, wrong = cases_of_others(all_of_them), []
    for case in cases:
        schedule = write("case.json", {"assign": case["assign"], "prio": case["prio"]})
        got = result(os.path.join(SHARED, "graphs", case["graph"] + ".json"), "--workers",
                     case["cluster"], "--bandwidth", str(case["bw"]), "--network",
                     "fair" if case["net"] == "maxmin" else "free", "--replay", schedule)
        if not same(got.get("makespan", 0), case["makespan"]) \
                or got["transfers"] != case["transfers"]:
            wrong.append((case["graph"], case["cluster"], case["bw"], got))
    say(not wrong, f"{len(cases)} schedules of others replay within 1e-6", f"{wrong[:3]}")
    for path in sorted(glob.glob(os.path.join(SHARED, "wf", "*.json")))[::1 if all_of_them else 6]:
        words = "--workers", "8x4", "--bandwidth", "128", "--effort", "0"
        graph = path.replace("/wf/", "/graphs/")
        flow, reference = result(path, *words), result(graph, *words)
        say(flow.get("tasks") == reference["tasks"]
            and same(flow["lower_bound"], reference["lower_bound"]),
            f"{os.path.basename(path)}: a workflow is read as its graph", f"{flow}")


def one_of_each_is_singular():
    said = rota(write("one.yaml", "tasks: {a: 'true'}"), "--workers", "1x1").stdout
    say("1 task on 1 worker takes" in said and "critical path, 1 task:" in said,
        "one task on one worker is in the singular", said)


try:
    one_of_each_is_singular()
    schedules_have_the_expected_times()
    the_core_follows_the_plan()
    every_way_of_deciding_ends()
    files_for_others_are_whole()
    wrong_input_is_refused()
    if os.path.isdir(SHARED):
        schedules_of_others("--all" in sys.argv)
finally:
    shutil.rmtree(folder, ignore_errors=True)
Tap.end()
