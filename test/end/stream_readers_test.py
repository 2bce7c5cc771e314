#!/usr/bin/env python3
"""stream_readers_test - a stream with several readers, on one worker and on several."""
import json
import os
import subprocess
import tempfile

from end import ROTA, Tap
from story import Story, tells

STREAM = [{"name": "s", "kind": "stream"}]
LINES, MANY = 300000, 2000000  # 2 MB, and 15 MB: more than pipes and sockets take
ALL = "".join(f"{i}\n" for i in range(1, LINES + 1))


def reader(name, machine, run="cat > {0}"):
    return {"run": run.format(name), "stdin": "s", "out": [name], "keep": True, "machine": machine}


def clean(story):
    """Whether no FIFO is left anywhere."""
    folders = [story.path(f"{name}/work/streams") for name in story.workers]
    return not any(os.listdir(folder) for folder in folders if os.path.exists(folder))


def all_get_all():
    with Story() as story:
        for _ in range(3):
            story.join(3)
        done = story.submit({"write": {"run": f"seq {LINES} > $ROTA_OUT_s", "out": STREAM,
                                       "machine": "w0"},
                             "here": reader("a", "w0"), "too": reader("b", "w0"),
                             "there": reader("c", "w1"), "far": reader("d", "w2"),
                             "both": reader("e", "w2")}, "--wait")
        got = [story.read(name) == ALL for name in "abcde"]
        tells("RS-24", done.returncode == 0 and all(got),
              "five readers on three workers get every byte", (got, done, story.told()))
        story.until(lambda: clean(story), "no FIFO is left")
        tells("RS-24", True, "and nothing is left")


def the_slowest_decides():
    with Story() as story:
        for _ in range(2):
            story.join(3)
        job = story.begin({
            "write": {"run": f"seq {MANY} > $ROTA_OUT_s; touch {story.path('written')}",
                      "out": STREAM, "machine": "w0"},
            "quick": reader("a", "w0"),
            "slow": reader("b", "w1", f"head -c 7 > {{0}}; touch {story.path('begun')};"
                                      f" {story.waits_for('go')}; cat >> {{0}}")})
        story.until(lambda: os.path.exists(story.path("begun")), "the slow one has begun")
        rows = [json.loads(row) for row in
                story.rota("data", "ls", "--json", "--job", str(job)).stdout.splitlines()]
        streams = [row for row in rows if row["kind"] == "stream"]
        tells("RS-24", len(streams) == 2 and all(row["where"] == "-" for row in streams),
              "each reader has a stream of its own, without a copy", rows)
        story.until(lambda: story.running("write", "quick", "slow"), "all three run")
        tells("RS-24", not os.path.exists(story.path("written")),
              "one slow reader holds up the writer and the other one", story.history())
        story.touch("go")
        done = story.rota("wait", str(job))
        got = [story.rota("data", "get", f"{job}/{name}", story.path(name)).returncode
               for name in "ab"]
        lengths = [len(story.read(name)) for name in "ab"]
        tells("RS-24", done.returncode == 0 and got == [0, 0] and lengths == [14888896] * 2
              and story.read("a") == story.read("b"), "then both have all of it",
              (done, lengths, story.told()))


def one_leaves():
    with Story() as story:
        for _ in range(2):
            story.join(4)
        done = story.submit({"write": {"run": f"seq {LINES} > $ROTA_OUT_s", "out": STREAM,
                                       "machine": "w0"},
                             "here": reader("a", "w0", "head -n 1 > {0}"),
                             "there": reader("b", "w1", "head -n 1 > {0}"),
                             "all": reader("c", "w1")}, "--wait")
        tells("RS-24", done.returncode == 0 and story.read("a") == story.read("b") == "1\n"
              and story.read("c") == ALL, "readers that leave early are no loss to the others",
              (done, story.told()))
        done = story.submit({"write": {"run": "seq 10000000 > $ROTA_OUT_s", "out": STREAM,
                                       "machine": "w0"},
                             "here": reader("a", "w0", "head -n 1 > {0}"),
                             "there": reader("b", "w1", "head -n 1 > {0}")}, "--wait")
        tells("RS-24", "FAILED write: exit 141" in done.stdout,
              "when the last reader ends the writer is told", done)


def one_comes_late():
    with Story() as story:
        story.join(3)
        job = story.begin({"write": {"run": "seq 1000 > $ROTA_OUT_s", "out": STREAM},
                           "here": reader("a", "w0"), "later": reader("b", "w1")})
        story.until(lambda: story.status("here") == "SUCCESS", "the first has read")
        story.until(lambda: story.status("write") == "SUCCESS", "it is written")
        story.join(1)
        got = story.rota("data", "get", f"{job}/b", story.path("got"))
        tells("RS-24", got.returncode == 0 and len(story.lines("got")) == 1000,
              "the stream is kept for the last reader", (got, story.told()))


def without_a_server():
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "job.json"), "w", encoding="utf-8") as file:
            json.dump({"tasks": {"write": {"run": f"seq {LINES} > $ROTA_OUT_s", "out": STREAM},
                                 **{name: {"run": f"cat > {name}", "stdin": "s", "out": [name],
                                           "keep": True} for name in "abc"}}}, file)
        told = subprocess.run([os.path.abspath(ROTA), "check", "--json", "job.json"], cwd=folder,
                              capture_output=True, text=True, timeout=60, check=False)
        made = json.loads(told.stdout)["tasks"][0]["out"]
        tells("RS-24", [item["name"] for item in made] == ["s"],
              "rota shows one stream of the job", told)
        done = subprocess.run([os.path.abspath(ROTA), "run", "-j", "4", "job.json"], cwd=folder,
                              capture_output=True, text=True, timeout=60, check=False)
        texts = []
        for name in "abc":
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                texts.append(file.read() == ALL)
        tells("RS-24", done.returncode == 0 and all(texts), "and so it is with rota run", done)


for test in (all_get_all, the_slowest_decides, one_leaves, one_comes_late, without_a_server):
    test()
Tap.end()
