#!/usr/bin/env python3
"""heavy_test - rota run with many tasks, much output, and too little disk space.

    heavy_test.py [--all]        with ten times the output, and the tasks
"""
import argparse
import json
import os
import shutil
import subprocess
import threading

from end import ROTA, Tap
from runs import Folder

say = Tap.say
SANITIZED = bool(os.environ.get("SANITIZED"))
MEBIBYTE = 1 << 20
MEMORY_MAX = 100 * MEBIBYTE
LOG_MAX = 64 * MEBIBYTE
parser = argparse.ArgumentParser()
parser.add_argument("--all", action="store_true")
ALL = parser.parse_args().all
OUTPUT = 10 * 10**9 if ALL else 10**8 if SANITIZED else 10**9


def skip(what, why):
    Tap.number += 1
    print(f"ok {Tap.number} - {what} # skip {why}")


# ---- Memory ----------------------------------------------------------------------------------


def peak(pid):
    """The most memory that a process ever had, in bytes; 0: it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            lines = [line.split() for line in file if line.startswith("VmHWM:")]
    except OSError:
        return 0
    return int(lines[0][1]) * 1024 if lines else 0


def worker_of(server):
    try:
        with open(f"/proc/{server}/task/{server}/children", encoding="utf-8") as file:
            return (file.read().split() or [None])[0]
    except OSError:
        return None


class Watched:
    """A run that is read to its end; what its two processes needed, and how its output ended."""

    def __init__(self, folder, *options):
        self.server = self.worker = self.length = 0
        self.tail = b""
        process = subprocess.Popen(folder.words(*options), cwd=folder.path, stdout=subprocess.PIPE)
        over = threading.Event()
        looks = threading.Thread(target=self.look_often, args=(process.pid, over))
        looks.start()
        while chunk := os.read(process.stdout.fileno(), MEBIBYTE):
            self.length += len(chunk)
            self.tail = (self.tail + chunk)[-4096:]
        over.set()
        looks.join()
        process.stdout.close()
        self.status = process.wait()

    def look_often(self, server, over):
        """Also while it is silent: the worker may have ended before its last output arrives."""
        while not over.wait(0.02):
            self.look(server)

    def look(self, server):
        worker = worker_of(server)
        self.server = max(self.server, peak(server))
        self.worker = max(self.worker, peak(worker) if worker else 0)

    def told(self):
        return f"server {self.server / 1e6:.1f} MB, worker {self.worker / 1e6:.1f} MB"


def memory_is_small(run, what):
    what = f"{what} takes less than 100 MB of server and worker each"
    if SANITIZED:
        return skip(what, "sanitizers need memory of their own")
    print(f"# {run.told()}")
    return say(0 < run.server < MEMORY_MAX and 0 < run.worker < MEMORY_MAX, what, run.told())


def sql(path, question):
    done = subprocess.run([ROTA, "sql", "--json", path, question], capture_output=True, text=True,
                          check=False)
    return [list(json.loads(line).values()) for line in done.stdout.splitlines()]


# ---- Many tasks ------------------------------------------------------------------------------


def nothing_to_do(folder, count):
    again = folder.run()
    say(again.returncode == 0 and again.stdout == "nothing to do\n",
        f"a file of {count} tasks has nothing to do the second time", again.stdout[-200:])
    for name in os.listdir(folder.path + "/.rota"):
        if name.startswith("done-"):
            os.remove(f"{folder.path}/.rota/{name}")
    again = folder.run()
    say(again.stdout == "nothing to do\n", "and the database says so too", again.stdout[-200:])


def many_tasks(count):
    lines = "".join(f'{{"name": "t{i}", "run": "true"}}\n' for i in range(count))
    with Folder(lines, "job.jsonl") as folder:
        run = Watched(folder, "-j2")  # a line for each task: there is something to read all along
        say(run.status == 0 and f"{count} ok".encode() in run.tail, f"{count} tasks run",
            run.tail.decode())
        if count <= 10000:
            memory_is_small(run, f"a run of {count} tasks")
        rows = sql(folder.path + "/.rota/rota.db", "SELECT count(*), count(DISTINCT id) FROM"
                   " sched_history WHERE status = 'SUCCESS'")
        say(rows == [[count, count]], "and each success is recorded once", rows)
        say(folder.verify().returncode == 0, "in a database that is sound", folder.verify().stdout)
        nothing_to_do(folder, count)


def waiting_tasks(count, done):
    """Many that wait for one, which fails until it may succeed."""
    lines = [{"name": "gate", "run": "test -e open"}]
    lines += [{"name": f"t{i}", "run": "true", "needs": ["gate"]} for i in range(count)]
    with Folder("".join(json.dumps(line) + "\n" for line in lines), "job.jsonl") as folder:
        first = folder.run("-k")
        say(first.returncode == 1 and f"1 failed, {count} not run" in first.stdout,
            f"{count} tasks wait for one that fails", first.stdout[-500:] + first.stderr)
        only = ",".join(f"t{i}" for i in range(done))
        folder.write("open", "")
        second = folder.run("-q", "--only", only)
        rows = sql(folder.path + "/.rota/rota.db", "SELECT count(*) FROM sched_history"
                   " WHERE status = 'SUCCESS'")
        say(second.returncode == 0 and rows == [[done + 1]],
            f"of {count} tasks {done} are run alone", second.stdout[-500:] + second.stderr)
        left = folder.run("-n")
        say(left.stdout.endswith(f"{count - done} of {count + 1} would run\n"),
            "and the rest is still to do", left.stdout[-200:])


# ---- Much output -----------------------------------------------------------------------------


def much_output():
    text = f"tasks: {{a: 'yes | head -c {OUTPUT}; touch written; exit 1'}}"
    with Folder(text) as folder:
        run = Watched(folder)
        say(run.status == 1 and folder.has("written"),
            f"a task that prints {OUTPUT} bytes is not held up", run.tail.decode())
        cut = f"[rota: {OUTPUT - LOG_MAX} more bytes were cut]\n".encode()
        say(cut in run.tail and LOG_MAX < run.length < LOG_MAX + 4096,
            "its log is cut, and says by how much", f"{run.length}: {run.tail[-400:]}")
        memory_is_small(run, "such a log, written and shown,")


# ---- No disk ---------------------------------------------------------------------------------

# Only processes here see the mount, and it ends with the last of them.
SMALL = ["unshare", *([] if os.geteuid() == 0 else ["-r"]), "-m", "sh", "-c"]


def mounted(folder, size, script):
    """Runs a script beside a small disk, in the folder; what it printed."""
    os.makedirs(folder.path + "/small", exist_ok=True)
    text = f"mount -t tmpfs -o size={size} none small || exit 77\n{script}"
    done = subprocess.run([*SMALL, text], cwd=folder.path, capture_output=True, text=True,
                          check=False, timeout=300,
                          env=dict(os.environ, ROTA=os.path.abspath(ROTA), MARK=folder.path))
    return done.stdout + done.stderr


def can_mount():
    with Folder() as folder:
        return "yes" in mounted(folder, "1m", "echo yes") if shutil.which("unshare") else False


FILLS = "tasks:\n  fill: {run: '%s'%s}\n" + "".join(
    f"  t{i}: echo hello {i}\n" for i in range(200))
SUCCESSES = "\"SELECT count(*) AS n FROM sched_history WHERE status = 'SUCCESS'\""


def task_fills_its_own_disk():
    with Folder(FILLS % ("dd if=/dev/zero of=big bs=64k", ", cwd: small")) as folder:
        out = mounted(folder, "4m", '"$ROTA" run -j2 -k job.yaml; echo status $?')
        say("200 ok, 1 failed" in out and "No space left" in out and "status 1" in out,
            "a task that fills a disk fails alone", out[-1000:])


def task_fills_our_disk():
    """A run that is not over at once sets some room aside, in the log and beside it."""
    lines = ["tasks:", "  early0: 'true'"]
    lines += [f"  early{i}: {{run: 'true', needs: early{i - 1}}}" for i in range(1, 100)]
    lines += ["  fill: {run: dd if=/dev/zero of=big bs=64k, needs: early99}"]
    lines += [f"  late{i}: {{run: echo hello, needs: early99}}" for i in range(100)]
    with Folder("\n".join(lines) + "\n") as folder:
        out = mounted(folder, "100m", 'cd small && cp ../job.yaml . && '
                                      '"$ROTA" run -j2 -k job.yaml; echo status $?; '
                                      '"$ROTA" verify .rota/rota.db')
        say("200 ok, 1 failed" in out and "status 1" in out and " 0 broken" in out,
            "even on the disk where rota keeps its state", out[-1000:])


# Takes all there is, and what becomes free; the others begin when nothing is left.
GREEDY = """tasks:
  fill:
    run: |
      test -e ../enough && exit
      cat /dev/zero > big 2> /dev/null
      touch ../filled
      while :; do cat /dev/zero >> big 2> /dev/null; done
    timeout: 60s
    grace: 0s
  filled: until test -e ../filled || test -e ../enough; do sleep 0.01; done
""" + "".join(f"  t{i}: {{run: echo hello {i}, needs: filled}}\n" for i in range(200))


def no_room_at_all():
    with Folder() as folder:
        folder.write("job.yaml", GREEDY)
        out = mounted(folder, "100m", f"""
            cd small && cp ../job.yaml .
            "$ROTA" run -j2 -k job.yaml > ../first 2>&1; echo status $?
            "$ROTA" verify .rota/rota.db
            "$ROTA" sql --json .rota/rota.db {SUCCESSES} > ../recorded
            rm big; touch ../enough
            "$ROTA" run -j2 job.yaml > ../second 2>&1; echo again $?
            "$ROTA" sql --json .rota/rota.db {SUCCESSES} > ../at_end
            "$ROTA" run -j2 job.yaml""")
        first = folder.read("first")
        shown = first.count("\n[") + first.startswith("[")
        say("status 70" in out and "disk is full" in first and not folder.wait_gone(),
            "a disk that stays full ends the run, which says so and leaves nothing", first[-500:])
        recorded = json.loads(folder.read("recorded"))["n"]
        say(shown <= recorded and " 0 broken" in out, "tasks that were shown as done are recorded",
            f"{shown} shown, {recorded} recorded: {out}")
        second = folder.read("second")
        say("again 0" in out and f"{202 - recorded} ok" in second
            and json.loads(folder.read("at_end"))["n"] == 202 and "nothing to do" in out,
            "with room again the next run does the rest, and nothing twice", second[-500:] + out)


many_tasks(1000 if SANITIZED else 10000)
waiting_tasks(10000 if SANITIZED else 100000, 20)
if ALL:
    many_tasks(100000)
much_output()
if can_mount():
    task_fills_its_own_disk()
    task_fills_our_disk()
    no_room_at_all()
else:
    skip("a task that fills the disk fails alone", "no disk can be mounted here")
Tap.end()
