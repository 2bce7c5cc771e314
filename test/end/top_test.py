#!/usr/bin/env python3
"""top_test - rota top: one screen as text and as JSON, and many on a real terminal."""
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import tempfile

from cluster import Cluster, PATIENCE, ROTA_PATH
from end import Tap

say = Tap.say


class Terminal:
    """A program in a terminal of tmux."""

    def __init__(self, cluster, columns=80, rows=24):
        self.cluster, self.name = cluster, f"rota-top-{os.getpid()}-{id(self)}"
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  "exec env PS1='done> ' sh")  # dash would stay in between
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))
        cluster.until(lambda: "done>" in self.text(), "a shell")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-L", self.name, *words], capture_output=True, text=True,
                              check=False, timeout=PATIENCE).stdout

    def type(self, *keys):
        self.tmux("send-keys", *keys)

    def run(self, *words):
        self.type(" ".join([ROTA_PATH, *words]), "Enter")

    def text(self):
        return self.tmux("capture-pane", "-p")

    def shows(self, word):
        self.cluster.until(lambda: word in self.text(), f"{word!r} on the screen\n{self.text()}")
        return True

    def is_restored(self):
        """The screen of before, a cursor, and keys that are echoed."""
        self.cluster.until(lambda: self.text().rstrip().endswith("done>"), "the shell is back")
        flags = self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{wrap_flag}")
        self.type("clear; stty -a", "Enter")
        self.shows("icanon")
        modes = self.text().split()
        return flags.split() == ["0", "1", "1"] and "icanon" in modes and "echo" in modes

    def child(self):
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        with open(f"/proc/{shell}/task/{shell}/children", encoding="utf-8") as file:
            return int(file.read().split()[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")


def busy(cluster):
    """One task runs, one failed, one is blocked, two are held in a lane."""
    workers = [cluster.work("alpha", 2), cluster.work("beta", 2)]
    cluster.until(lambda: all("connected to" in worker.said() for worker in workers),
                  "both are there")
    lane = {"lane": "db", "access": "write", "group": "g"}
    cluster.submit({"good": {"run": "true"}, "bad": {"run": "exit 3"},
                    "never": {"run": "true", "needs": ["bad"]},
                    "long": {"run": "sleep 600"},
                    "first": {"run": "sleep 600", **lane}, "second": {"run": "true", **lane}},
                   lanes={"db": {}})
    cluster.until(lambda: cluster.sql("SELECT count(*) FROM sched_exec WHERE status = 'RUNNING'")
                  == [(2,)] and {("good", "SUCCESS"), ("bad", "FAILED")} <= set(cluster.ends()),
                  "it is busy")


def without_times(done):
    """The head has rates; what runs has run for a second more when it is asked again."""
    return re.sub(r" +\d+:\d\d", " -", "\n".join(done.stdout.splitlines()[1:]))


def one_picture(cluster):
    done = cluster.rota("top", "--json")
    top = json.loads(done.stdout)
    job = top["jobs"][0]
    say([job[key] for key in ("job", "tasks", "succeeded", "failed", "blocked", "running")]
        == [1, 6, 1, 1, 1, 2], "a job is counted", job)
    say(sorted((row["name"], row["cores"]) for row in top["workers"]) == [("alpha", 2), ("beta", 2)]
        and sum(row["running"] for row in top["workers"]) == 2, "workers and what they run",
        top["workers"])
    user = pwd.getpwuid(os.geteuid()).pw_name
    text = cluster.rota("top", "--once").stdout.splitlines()
    listed = [line.split("]")[1].split()[3] for line in text if line.startswith(("alpha", "beta"))]
    say([row["user"] for row in top["workers"]] == [user] * 2 and listed == [user[:8]] * 2,
        f"the commands of both run as {user}", (text, top["workers"]))
    say(sorted(row["name"] for row in top["tasks"]) == ["first", "long"], "the running tasks",
        top["tasks"])
    say([(row["name"], row["state"], row["lane"]) for row in top["queue"]]
        == [("second", "HELD", "db")], "the next tasks", top["queue"])
    say([(row["name"], row["inside"], row["waiting"]) for row in top["lanes"]] == [("db", 1, 1)],
        "lanes", top["lanes"])
    say(top["ended_60s"] >= 2 and top["states"]["RUNNING"] == 2, "how much and how fast", top)
    text = cluster.rota("top", "--once")
    again = cluster.rota("top")
    say(text.returncode == 0 and "alpha" in text.stdout and "2 running" in text.stdout
        and without_times(again) == without_times(text),
        "as text, also when the output is not a terminal", (text, again))
    say("\x1b" not in text.stdout, "with nothing in it that changes a terminal", text.stdout)
    for words in (["--interval", "x"], ["--interval", "0"], ["--frame", "1,2"], ["what"], ["--db"]):
        wrong = subprocess.run([ROTA_PATH, "top", *words], capture_output=True, text=True,
                               check=False)
        say(wrong.returncode == 2 and "rota top" in wrong.stderr, f"{words} is refused", wrong)
    none = subprocess.run([ROTA_PATH, "top", "--db", cluster.path("none")], capture_output=True,
                          text=True, check=False)
    say(none.returncode == 2 and "none" in none.stderr, "so is a database that is not there", none)


def on_a_terminal(cluster):
    if not shutil.which("tmux"):
        say(True, "on a terminal # SKIP there is no tmux")
        return
    with Terminal(cluster) as terminal:
        terminal.run("top", "--server", cluster.socket, "--interval", "0.2")
        lines = terminal.shows("view (all)") and terminal.text().splitlines()
        say("rota top" in lines[0] and "(60 s)" in lines[0] and lines[2].endswith("LEFT")
            and "q quit" in lines[23] and len(lines) == 24
            and any("alpha" in line for line in lines) and any("[###" in line for line in lines),
            "80 columns and 24 lines are enough", terminal.text())
        terminal.type("Tab")
        say(terminal.shows("view (jobs)"), "tab shows another view")
        terminal.type("Left", "Left")
        say(terminal.shows("view (lanes)") and "db" in terminal.text(), "so do arrows",
            terminal.text())
        terminal.type("2")
        say(terminal.shows("view (workers)"), "and numbers")
        terminal.tmux("resize-window", "-x", "100", "-y", "40")
        cluster.until(lambda: "q quit" in terminal.text().splitlines()[-1]
                      and len(terminal.text().splitlines()) == 40, "a larger window is filled")
        say(True, "a larger window is filled")
        terminal.type("p")
        say(terminal.shows("PAUSED"), "p pauses it")
        terminal.type("p")
        cluster.server.kill()
        say(terminal.shows("cannot reach the server"), "a server that is away is reported")
        cluster.serve()
        cluster.until(lambda: "away" not in terminal.text(), "it is back")
        say("alpha" in terminal.text(), "and asked again when it is back", terminal.text())
        terminal.type("q")
        say(terminal.is_restored(), "q leaves the terminal as it was", terminal.text())
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            terminal.type("clear", "Enter")
            terminal.run("top", "--db", cluster.database)
            terminal.shows("view (all)")
            os.kill(terminal.child(), number)
            say(terminal.is_restored(), f"so does {number.name}", terminal.text())


def frame_of(folder, columns):
    """One frame of a screen with this number of columns."""
    done = subprocess.run([ROTA_PATH, "top", "--db", os.path.join(folder, ".rota/rota.db"),
                           "--frame", f"{columns},24,0,0"], capture_output=True, text=True,
                          check=False)
    return done.stdout


def since_the_start(cluster):
    """The second task is assigned together with the first one."""
    cluster.work("one", 1)
    cluster.submit({"first": {"run": "sleep 0.5"}, "second": {"run": "sleep 600"}})
    running = "SELECT count(*) FROM sched_exec WHERE status = 'RUNNING' AND id = 1 << 32 | 2"
    cluster.until(lambda: cluster.sql(running) == [(1,)], "the second task runs")
    ended = cluster.sql("SELECT ended FROM sched_attempt")[0][0]
    assigned = cluster.sql("SELECT started FROM sched_exec")[0][0]
    rows = json.loads(cluster.rota("top", "--json").stdout)["tasks"]
    say([row["since"] >= ended > assigned for row in rows] == [True],
        "a running task is shown with the time since its start", (assigned, ended, rows))
    row = json.loads(cluster.rota("ps", "--json").stdout.splitlines()[0])
    say(row["since"] == rows[0]["since"], "as ps does", (row, rows))


def of_this_folder(cluster):
    folder = tempfile.mkdtemp(prefix="rota-top-")
    try:
        with open(os.path.join(folder, "job.yaml"), "w", encoding="utf-8") as file:
            file.write("lanes: {narrow: {}}\n"
                       "tasks:\n  slow: {run: sleep 600, lane: narrow, access: write}\n")
        with subprocess.Popen([ROTA_PATH, "run", "job.yaml"], cwd=folder,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as run:
            def look():
                done = subprocess.run([ROTA_PATH, "top", "--json"], cwd=folder, capture_output=True,
                                      text=True, check=False)
                if done.returncode:
                    return None
                return [row["name"] for row in json.loads(done.stdout)["tasks"]]
            cluster.until(lambda: look() == ["slow"], "the run of a folder")
            say(True, "without a server it is the run of this folder")
            narrow, wide = frame_of(folder, 80), frame_of(folder, 200)
            say(re.search(r"^\W?\.\.\.\S*:narrow +1  writers", narrow, re.M),
                "the end of a lane's name is not cut off", narrow)
            say(re.search(rf"^\W?{folder}/job.yaml:narrow +1  writers", wide, re.M),
                "a wide screen shows all of it", wide)
            run.terminate()
            run.wait(PATIENCE)
    finally:
        shutil.rmtree(folder)


with Cluster() as all_of_it:
    busy(all_of_it)
    one_picture(all_of_it)
    on_a_terminal(all_of_it)
    of_this_folder(all_of_it)
with Cluster() as small:
    since_the_start(small)
Tap.end()
