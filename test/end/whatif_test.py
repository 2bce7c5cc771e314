#!/usr/bin/env python3
"""whatif_test - rota simulate beyond the published rules: speed, memory, latency, copies as
sources, streams, disks, lost packets, and faults."""
import json
import os
import shutil
import subprocess
import tempfile

import seed
from end import ROTA, Tap

say = Tap.say
SEED = seed.take()
folder = tempfile.mkdtemp(prefix="rota-whatif-")


def task(seconds, inputs=(), outputs=(), cpus=1, **more):
    return {"d": seconds, "e_d": None, "cpus": cpus, "inputs": [list(read) for read in inputs],
            "outputs": [made if isinstance(made, dict) else {"s": made, "e_s": None}
                        for made in outputs], **more}


def graph(*tasks):
    path = os.path.join(folder, "graph.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"format": "tg-1", "name": "g", "tasks": list(tasks)}, file)
    return path


def schedule(assign, prio):
    path = os.path.join(folder, "schedule.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"assign": assign, "prio": prio}, file)
    return path


def rota(*words):
    return subprocess.run([ROTA, "simulate", *words], capture_output=True, text=True, check=False,
                          timeout=60)


def result(*words):
    """A little effort is enough for graphs that are so small."""
    done = rota("--effort", "100000", *words, "--json")
    return json.loads(done.stdout) if done.returncode == 0 else {"error": done.stderr}


def with_seeds(count, *words):
    """The results of `count` fresh seeds."""
    return [result(*words, "--seed", str(SEED + i)) for i in range(count)]


def shown(is_shown, *words):
    """Faults may spare a run by chance: each of up to 20 must end, and one must show something.
    Returns that one with its words, or what was wrong."""
    for i in range(20):
        seeded = (*words, "--seed", str(SEED + i))
        got = result(*seeded)
        if "error" in got or is_shown(got):
            return got, seeded
    return {"error": "no seed shows it"}, words


def takes(seconds, what, *words):
    got = result(*words)
    say(abs(got.get("makespan", -1) - seconds) < 1e-6, what, (seconds, got))
    return got


CHAIN = [task(10, outputs=[0]), task(10, [(0, 0)], [0]), task(10, [(1, 0)])]


def speed():
    got = takes(15, "a worker that is twice as fast takes half the time", graph(*CHAIN),
                "--workers", "1x1:2,1x1")
    say(abs(got["lower_bound"] - 15) < 1e-9, "and the bound knows", got)
    takes(30, "as fast as ever it takes what it takes", graph(*CHAIN), "--workers", "2x1:1")
    many = [task(10) for _ in range(30)]
    takes(100, "of tasks that are alike the fast one gets twice as many", graph(*many),
          "--workers", "1x1:2,1x1")
    takes(10, "a fixed schedule has slow and fast workers too", graph(task(10), task(20)),
          "--workers", "1x1,1x1:2", "--replay", schedule([0, 1], [2, 1]))
    got = result(graph(*[task(10, n="k") for _ in range(40)]), "--workers", "1x1:3,1x1", "--info",
                 "mean")
    say(got.get("makespan", 1e9) <= 111,
        "durations learnt on a fast worker are scaled for a slow one", got)


def memory():
    big = [task(10, mem=600) for _ in range(4)]
    takes(10, "without a limit memory is no matter", graph(*big), "--workers", "1x4")
    for words in ((), ("--policy", "pull", "--patience", "0"), ("--effort", "0")):
        takes(40, f"tasks wait for memory as for cores {' '.join(words)}", graph(*big),
              "--workers", "1x4x1G", *words)
    takes(20, "a worker with more runs more", graph(*big), "--workers", "1x4x1100,1x4x1300M")
    takes(10, "a small task fits beside a large one", graph(task(10, mem=900), task(10, mem=100)),
          "--workers", "1x4x1000")
    takes(20, "one may have the cores, and another one the memory",
          graph(task(10, outputs=[0], cpus=3), task(10, [(0, 0)], mem=2000)),
          "--workers", "1x3x1G,1x1x4G")
    done = rota(graph(task(1, mem=2000)), "--workers", "2x4x1G")
    say(done.returncode == 2 and "needs 1 cores and 2000 MiB, more than any worker has"
        in done.stderr, "a task that fits no worker is refused", done)
    flow = os.path.join(folder, "flow.json")
    result(graph(*big), "--workers", "1x4x1G", "--workflow", flow)
    takes(40, "memory is written in WfFormat, and read", flow, "--workers", "1x4x1G")


def latency():
    path = graph(*CHAIN)
    takes(30 + 5 * 0.5, "each task waits for a report and an order", path, "--workers", "1x1",
          "--latency", "0.5")
    takes(30 + 5 * 0.5, "under pull too", path, "--workers", "1x1", "--latency", "0.5",
          "--policy", "pull", "--patience", "0")
    path = graph(task(10, outputs=[100]), task(10, [(0, 0)]))
    takes(21.25, "a copy comes later by that much", path, "--workers", "2x1", "--bandwidth", "100",
          "--latency", "0.25", "--replay", schedule([0, 1], [2, 1]))
    path = graph(*[task(1, outputs=[5]) for _ in range(12)],
                 *[task(1, [(i, 0), ((i + 1) % 12, 0)]) for i in range(12)])
    plain = result(path, "--workers", "4x2", "--bandwidth", "10")["makespan"]
    for words in ((), ("--policy", "pull"), ("--info", "mean"), ("--effort", "0")):
        late = result(path, "--workers", "4x2", "--bandwidth", "10", "--latency", "0.1", *words)
        say(3 < late.get("makespan", 0) < 3 * plain, f"nothing gets lost {' '.join(words)}",
            late)


def sources():
    # w0 makes X and four others; X waits after them at w2 and w3, while w1 has it at once.
    path = graph(task(1, outputs=[100] * 5), task(1, [(0, 0)]),
                 *[task(1, [(0, i) for i in reads]) for reads in ((1, 2), (3, 4), (0,), (0,))])
    words = (path, "--workers", "4x2", "--bandwidth", "100", "--replay",
             schedule([0, 1, 2, 3, 2, 3], [6, 5, 4, 3, 2, 1]))
    maker, anybody = result(*words), result(*words, "--sources", "any")
    say(maker.get("transfers") == anybody.get("transfers") == 7
        and anybody["makespan"] < maker["makespan"] - 0.5,
        "workers with a copy send it on, and the maker sends less", (maker, anybody))
    pulled = result(path, "--workers", "4x1", "--bandwidth", "100", "--sources", "any",
                    "--policy", "pull")
    say(pulled.get("makespan", 0) > 0, "under pull too", pulled)


def faults():
    chain = graph(*CHAIN), "--workers", "1x1"
    takes(90, "all attempts may be slow", *chain, "--faults", "slow=1x3")
    done = rota(*chain, "--faults", "fail=1,retries=2")
    say(done.returncode == 1 and "no retries left" in done.stderr, "a job may fail", done)
    path = graph(*[task(10, outputs=[1]) for _ in range(20)],
                 *[task(10, [(i, 0), (i + 1, 0)], [1]) for i in range(19)],
                 task(5, [(i, 0) for i in range(20, 39)]))
    words = path, "--workers", "4x2", "--bandwidth", "100"
    plain = result(*words)["makespan"]
    for policy in (("--policy", "plan"), ("--policy", "pull"), ("--effort", "0"),
                   ("--info", "mean"), ("--latency", "0.2")):
        name = " ".join(policy)
        failing, _ = shown(lambda got: got["failed_attempts"] > 0 and got["makespan"] > plain,
                           *words, *policy, "--faults", "fail=0.2,retries=20")
        say("error" not in failing, f"failed tasks are repeated: {name}", failing)
        crashing, words_of = shown(lambda got: got["crashes"] > 0 and got["makespan"] > plain,
                                   *words, *policy, "--faults",
                                   "crash=30/h,back=20,lease=15,retries=50")
        say("error" not in crashing, f"objects lost in a crash are made again: {name}", crashing)
        again = result(*words_of)
        say([again.get(key) for key in ("makespan", "events")]
            == [crashing.get(key) for key in ("makespan", "events")],
            f"the same seed has the same faults: {name}", again)
    done = rota(*words, "--faults", "crash=600/h,back=never")
    say(done.returncode == 1 and "no worker is left" in done.stderr,
        "workers that never come back", done)
    quick, slow = (sum(got.get("makespan", 1e9) for got in with_seeds(
        10, *words, "--faults", f"crash=30/h,back={wait},lease={wait},retries=50"))
                   for wait in (1, 60))
    say(quick < slow < 1e9, "it costs more when a crash is noticed late", (quick, slow))


def loss():
    # One has the cores, the other one the memory: what is made has to move.
    words = (graph(task(10, outputs=[1000], cpus=3), task(10, [(0, 0)], mem=2000)),
             "--workers", "1x3x1G,1x1x4G", "--bandwidth", "100")
    takes(30, "an object moves", *words)
    got, again = ([one.get("makespan", 0) for one in with_seeds(15, *words, "--faults", "loss=0.5")]
                  for _ in range(2))
    say(min(got) >= 40 - 1e-6 and sorted(got)[7] < 60, "half of the packets are sent again", got)
    say(got == again and len(set(got)) > 2,
        "messages come late by chance, and by the same chance for the same seed", got)
    near, far = (result(*words, "--latency", late, "--faults", "loss=0.01").get("makespan", 0)
                 for late in ("0.0001", "0.1"))
    say(near < 32 and far > 1000, "far away a loss slows down everything after it",
        (near, far))
    many = (graph(*[task(1, outputs=[5]) for _ in range(12)],
                  *[task(1, [(i, 0), ((i + 1) % 12, 0)]) for i in range(12)]),
            "--workers", "4x2", "--bandwidth", "10")
    for policy in (("--policy", "pull"), ("--info", "mean"), ("--effort", "0")):
        got = with_seeds(5, *many, *policy, "--faults",
                         "loss=0.2,crash=20/h,back=5,lease=5,retries=99")
        say(all(one.get("makespan", 0) > 3 for one in got),
            f"nothing stays lost: {' '.join(policy)}", got)


def streams():
    pair = graph(task(10, outputs=[{"s": 1000, "stream": True}]), task(30, [(0, 0)]))
    for words in ((), ("--policy", "pull", "--patience", "0"), ("--effort", "0"),
                  ("--info", "mean"), ("--delay", "0.5")):
        got = result(pair, "--workers", "1x2", *words)
        say(30 <= got.get("makespan", 0) < 31.2, "reader and writer run together, and both take "
            f"the time of the slower {' '.join(words)}", got)
    takes(30, "the other way round, too", graph(task(30, outputs=[{"s": 1000, "stream": True}]),
                                                task(10, [(0, 0)])), "--workers", "1x2")
    pair = graph(task(10, outputs=[{"s": 1000, "stream": True}]), task(30, [(0, 0)]))
    got = takes(50, "from worker to worker it takes at least what the network takes", pair,
                "--workers", "2x1", "--bandwidth", "20")
    say(got["transfers"] == 1 and got["mib_moved"] == 1000 and got["lower_bound"] == 30,
        "and counts as moved", got)
    takes(31.5, "a writer waits for a reader", graph(task(10, outputs=[{"s": 1, "stream": True}]),
                                               task(30, [(0, 0)])),
          "--workers", "1x2", "--latency", "0.5")
    got = takes(25, "in a chain all run at a time",
                graph(task(5, outputs=[0, {"s": 1, "stream": True}]),
                      task(20, [(0, 1)], [{"s": 1, "stream": True}]), task(10, [(1, 0)], [0]),
                      task(5, [(2, 0)])), "--workers", "1x3")
    say(got["critical_path"] == ["0", "1", "2", "3"] and got["lower_bound"] == 25,
        "and are on the way to the end", got)
    pair = graph(task(10, outputs=[{"s": 1000, "stream": True}]), task(30, [(0, 0)]))
    done = rota(pair, "--workers", "1x1")
    say(done.returncode == 1 and "not all tasks that share streams fit" in done.stderr,
        "without room for both neither starts", done)
    done = rota(pair, "--workers", "1x1", "--replay", schedule([0, 0], [2, 1]))
    say(done.returncode == 1 and "not all tasks that share streams fit" in done.stderr,
        "nor in a schedule", done)
    takes(30, "one with room is fine", pair, "--workers", "2x1", "--bandwidth", "1000", "--replay",
          schedule([0, 1], [2, 1]))


def streams_that_break():
    pipes = [part for i in range(8) for part in
             (task(20, outputs=[{"s": 50, "stream": True}, {"s": 50, "stream": True}]),
              task(15, [(3 * i, 0)], [1]), task(25, [(3 * i, 1)], [1]))]
    path = graph(*pipes, task(5, [(i, 0) for i in range(24) if i % 3]))
    words = path, "--workers", "6x4", "--bandwidth", "100"
    plain = result(*words).get("makespan", 0)
    say(30 <= plain < 60, "eight writers with two readers each", plain)
    for policy in (("--policy", "plan"), ("--policy", "pull"), ("--effort", "0"),
                   ("--info", "mean"), ("--latency", "0.2")):
        name = " ".join(policy)
        got = with_seeds(10, *words, *policy, "--faults", "fail=0.1,retries=30")
        say(all(one.get("makespan", 0) >= 30 for one in got)
            and any(one["failed_attempts"] > 0 and one["makespan"] > plain for one in got),
            f"a stream that broke off is written again: {name}", got)
        got, words_of = shown(lambda got: got["crashes"] > 0 and got["makespan"] > plain, *words,
                              *policy, "--faults", "crash=30/h,back=10,lease=5,retries=30")
        say(got.get("events", 0) == result(*words_of).get("events"),
            f"after a crash, too: {name}", got)
    done = rota(graph(task(10, outputs=[{"s": 1, "stream": True}]), task(10, [(0, 0)])),
                "--workers", "1x2", "--faults", "fail=1,retries=0")
    say(done.returncode == 1 and "no retries left" in done.stderr, "or the job fails", done)


def streams_of_job_files():
    path = os.path.join(folder, "job.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("tasks:\n"
                   "  before: {run: 'true'}\n"
                   "  write: {run: 'true', out: [{name: a, kind: stream}]}\n"
                   "  one: {run: 'true', in: [a], needs: [before]}\n"
                   "  two: {run: 'true', in: [a]}\n"
                   "  after: {run: 'true', needs: [one, two]}\n")
    takes(6, "streams of a job file flow, after what one of its readers needs", path, "--workers",
          "1x3", "--seconds", "2")
    run = subprocess.run([ROTA, "run", "-j", "4", path], capture_output=True, text=True,
                         check=False, timeout=60, cwd=folder)
    database = os.path.join(folder, ".rota", "rota.db")
    got = result(database, "--workers", "1x3")
    say(run.returncode == 0 and got.get("tasks") == 5, "and of a job that was run", (run, got))
    done = rota(database, "--workers", "1x2")
    say(done.returncode == 1 and "share streams" in done.stderr, "as streams", done)


def disks():
    chain = [task(10, outputs=[400])] + [task(10, [(i, 0)], [400]) for i in range(4)]
    takes(50, "objects that no task needs make room", graph(*chain), "--workers", "1x1/800")
    pair = (graph(task(1, outputs=[600]), task(2, outputs=[600]), task(10, [(0, 0)]),
                  task(1, [(1, 0)])), "--workers")
    takes(11, "a large disk has room", *pair, "1x2/1200")
    got = takes(13, "a task without room for its output fails, until there is some", *pair,
                "1x2/1000", "--faults", "retries=9")
    say(got["failed_attempts"] == 5, "each time", got)
    done = rota(*pair, "1x2/1000")
    say(done.returncode == 1 and "disks may be too small" in done.stderr, "or too often", done)
    path = graph(*[task(1, outputs=[100 + 37 * i % 300]) for i in range(12)],
                 *[task(3 + i % 4, [(i, 0), ((i + 5) % 12, 0)], [50]) for i in range(12)],
                 task(1, [(12 + i, 0) for i in range(12)]))
    words = path, "--bandwidth", "100", "--latency", "0.05", "--faults", "retries=60", "--workers"
    large, small = result(*words, "4x2/2000"), result(*words, "4x2/1100")
    say(large.get("no_room") == 0 < small.get("no_room", 0)
        and large["makespan"] < small["makespan"],
        "an attempt whose input finds no room is repeated, here or elsewhere", (large, small))
    text = rota(*words, "4x2/1100").stdout
    say("attempts had no room for an input" in text, "the output says so", text)
    done = rota(path, "--workers", "4x2/100")
    say(done.returncode == 2 and "reads and writes" in done.stderr,
        "a task that fits no worker is refused", done)


def runs():
    path = graph(*[task(10) for _ in range(40)])
    # With fewer retries a task would fail for good in one of a hundred runs.
    words = path, "--workers", "4x2", "--faults", "fail=0.1,retries=20"
    got = result(*words, "--runs", "15", "--seed", str(SEED))
    single = sorted(one["makespan"] for one in with_seeds(15, *words))
    say([got.get(name) for name in ("least", "median", "nine_of_ten", "most", "makespan")]
        == [single[0], single[7], single[13], single[14], single[7]] and got["failed_runs"] == 0,
        "the result of many runs has their median and spread", (got, single))
    text = rota(*words, "--runs", "5").stdout
    say("5 runs: half of them take up to" in text and "the median run:" in text,
        "also as text", text)
    text = rota(path, "--workers", "1x1", "--faults", "fail=0.5,retries=0", "--runs", "3")
    say(text.returncode == 1 and "fails in all of 3 runs" in text.stderr, "all may fail", text)


def refused(what, reason, *words):
    done = rota(*words)
    say(done.returncode == 2 and reason in done.stderr and not done.stdout, what, done)


def wrong_words():
    path = graph(task(1))
    for spec in ("crash", "crash=x", "crash=1/y", "fail=2", "slow=0.1y2", "slow=0.1x", "", "hail=1",
                 "retries=-1", "back=soon", "lease=-1", "fail=0.1,,slow=0.1", "crash=1/h,",
                 "loss=0.95", "loss=-1", "loss=x", "loss=0.1x2"):
        refused(f"--faults '{spec}'", "--faults", path, "--faults", spec)
    refused("one invalid part of the faults", "option --faults needs crash=N/h", path, "--faults",
            "fail=0.1,loss=2,retries=1")
    for spec in ("1x1x", "1x1xQ", "1x1:0", "1x1:", "1x1:-2", "1x1x0", "1x1,", "x1", "1x1/",
                 "1x1/x", "1x1/0", "1x1/1G/1G", "1x1:2/1G"):
        refused(f"--workers {spec}", f"not '{spec}'", path, "--workers", spec)
    refused("--sources all", "option --sources needs maker or any, not 'all'", path, "--sources",
            "all")
    refused("--latency -1", "option --latency needs a number, not '-1'", path, "--latency", "-1")
    refused("--runs 0", "option --runs needs a number from 1 to 100000, not '0'", path, "--runs",
            "0")
    refused("faults of what is fixed", "options --faults and --runs exclude", path, "--faults",
            "fail=0.1",
            "--replay", schedule([0], [1]))
    flow = {"s": 1, "stream": True}
    refused("a stream of two", "graph.json:1:", graph(task(1, outputs=[flow]), task(1, [(0, 0)]),
                                                      task(1, [(0, 0)])))
    refused("a stream without a reader", "a stream has one reader, but this one has 0",
            graph(task(1, outputs=[flow])))
    refused("a stream of a cycle", "depend on each other in a cycle",
            graph(task(1, outputs=[flow, 0]), task(1, [(0, 1)], [0]), task(1, [(0, 0), (1, 0)])))
    refused("an invalid stream", "stream must be true or false",
            graph(task(1, outputs=[{"s": 1, "stream": 3}])))
    refused("an invalid memory size", "mem must be", graph(task(1, mem=-5)))


try:
    for part in (speed, memory, latency, sources, faults, loss, streams, streams_that_break,
                 streams_of_job_files, disks, runs, wrong_words):
        part()
finally:
    shutil.rmtree(folder, ignore_errors=True)
Tap.end()
