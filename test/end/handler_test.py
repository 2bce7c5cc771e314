#!/usr/bin/env python3
"""handler_test - rota fetch, deliver and fail: any program can be an external worker."""
import json
import os
import signal
import subprocess
import sys
import time

from cluster import (PATIENCE, ROTA_PATH, Cluster, KeyedCluster, processes_with,
                     seconds_marked)
from end import Tap

say = Tap.say


class Handlers(Cluster):
    """A server whose jobs are run by handlers."""

    def graph(self, needs, **rest):
        """A job of tasks by name, with what each needs."""
        tasks = {name: {"run": "true", "needs": list(before)} if before else {"run": "true"}
                 for name, before in needs.items()}
        done = self.submit(tasks, "--policy", "claim", **rest)
        if done.returncode:
            raise RuntimeError(done.stderr)
        self.job_number = int(done.stdout.split()[1])
        self.names = {f"{self.job_number}.{at}": name for at, name in enumerate(tasks, 1)}

    def number(self, name):
        return next(number for number, other in self.names.items() if other == name)

    def fetch(self, *words):
        done = self.rota("fetch", "--json", *words)
        return json.loads(done.stdout) if done.stdout else done

    def available(self):
        """All that can be fetched, by name; they are given back."""
        got = []
        while isinstance(one := self.fetch(str(self.job_number)), dict):
            got.append(one)
        for one in got:
            self.rota("fail", "--again", one["task"], str(one["token"]))
        return sorted(self.names[one["task"]] for one in got)

    def run(self, name, verb="deliver", *words):
        one = self.fetch(self.number(name), *words)
        return self.rota(verb, one["task"], str(one["token"]))

    def state(self, name):
        for line in self.rota("ps", "-a", "--job", str(self.job_number)).stdout.splitlines():
            words = line.split()
            if words and words[0] == self.number(name):
                return words[2]
        return None


G5 = {"t0": ["t1", "t2", "t3", "t4"], "t1": ["t3", "t4"], "t2": ["t3", "t4"], "t3": ["t4"],
      "t4": []}


def connections_of(process):
    folder = f"/proc/{process}/fd"
    links = [os.readlink(os.path.join(folder, name)) for name in os.listdir(folder)]
    return [link for link in links if link.startswith("socket:")]


def rounds():
    with Handlers(lease=60) as cluster:
        cluster.graph(G5)
        seen = []
        for names in (["t4"], ["t3"], ["t1", "t2"], ["t0"]):
            seen.append(cluster.available())
            for name in names:
                cluster.run(name)
        say(seen == [["t4"], ["t3"], ["t1", "t2"], ["t0"]], "DS-1: what is available, in rounds",
            seen)
        over = cluster.rota("fetch", str(cluster.job_number))
        say(over.returncode == 2 and "no such job" in over.stderr, "a finished job is removed",
            over)


def failing():
    with Handlers(lease=60) as cluster:
        cluster.graph(G5)
        for name in ("t4", "t3", "t1"):
            cluster.run(name)
        done = cluster.run("t2", "fail")
        say(done.returncode == 0 and cluster.available() == [], "DS-2: what failed is not there")
        why = cluster.rota("why", cluster.number("t0")).stdout
        say("t0 waits for t2; t2 failed with exit 1" in why, "and why names the failed task", why)
        plain = cluster.rota("fetch", cluster.number("t2"))
        say(plain.returncode == 3 and "failed" in plain.stderr,
            "DS-8: without a flag it is not fetched again", plain)
        cluster.run("t2", "fail", "--failed-ok")
        say(cluster.available() == [], "DS-10: it may fail again")
        cluster.run("t2", "deliver", "--failed-ok")
        say(cluster.available() == ["t0"], "DS-3: after its delivery its dependents are available")
        again = cluster.rota("fetch", cluster.number("t2"), "--failed-ok", "--fetched-ok")
        say(again.returncode == 3 and "delivered" in again.stderr, "DS-7: no flag is for that",
            again)
        early = cluster.rota("fetch", cluster.number("t0"), "--failed-ok")
        say(early.returncode == 0, "an available task can be fetched by its id", early)


def refusals():
    with Handlers(lease=60) as cluster:
        cluster.graph(G5)
        early = cluster.rota("fetch", cluster.number("t3"))
        say(early.returncode == 3, "DS-12: what is not available is not fetched", early)
        untouched = cluster.rota("deliver", cluster.number("t4"), "1")
        say(untouched.returncode == 3, "nor delivered before it was fetched", untouched)
        one = cluster.fetch(cluster.number("t4"))
        task, token = one["task"], str(one["token"])
        second = cluster.rota("fetch", task)
        say(second.returncode == 3, "DS-4: what is fetched is not fetched again", second)
        fine = cluster.rota("fetch", task, "--fetched-ok")
        say(fine.returncode == 0 and fine.stdout == "", "unless that is fine: nothing happens",
            fine)
        wrong = cluster.rota("deliver", task, str(one["token"] + 1))
        say(wrong.returncode == 3 and "stale" in wrong.stderr, "DS-21: another's token is refused",
            wrong)
        say(cluster.rota("deliver", task, token, "--message", "all well").returncode == 0,
            "and the right one taken")
        twice = cluster.rota("deliver", task, token)
        say(twice.returncode == 3, "DS-5: delivering twice is an error", twice)
        fine = cluster.rota("deliver", task, token, "--delivered-ok")
        say(fine.returncode == 0 and cluster.available() == ["t3"], "unless that is fine", fine)
        shown = cluster.rota("show", task).stdout
        say("all well" in shown, "the message about it is shown", shown)
        one = cluster.fetch(cluster.number("t3"))
        cluster.rota("fail", one["task"], str(one["token"]), "--status", "7")
        for verb in ("fail", "deliver"):
            done = cluster.rota(verb, one["task"], str(one["token"]))
            say(done.returncode == 3, f"DS-6: {verb} after fail is an error", done)
        shown = cluster.rota("show", one["task"]).stdout
        say("exit 7" in shown, "the status is kept", shown)
        none = cluster.rota("fetch", "99.1")
        say(none.returncode == 2 and "no such task" in none.stderr, "an unknown task", none)
        for words in (["fetch", "x"], ["fetch", "--lease", "-1"], ["fetch", "--failed-ok"],
                      ["deliver"], ["deliver", "7", "1"], ["fail", "1.1", "x"], ["renew", "1.1"]):
            done = cluster.rota(*words)
            say(done.returncode == 2 and done.stderr, f"rota {' '.join(words)} is refused",
                done)
        short = cluster.rota("fetch", "--lease", "0.1")
        say(short.returncode == 2 and "lease" in short.stderr, "a lease has limits", short)


def one_of_many():
    """DS-13: of sixteen handlers exactly one gets it, and exactly one delivery counts."""
    with Handlers(lease=60) as cluster:
        cluster.graph({"only": [], "next": ["only"]})
        words = [ROTA_PATH, "fetch", "--json", "--server", cluster.socket]
        some = [subprocess.Popen([*words, cluster.number("only")], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL) for _ in range(16)]
        said = [one.communicate(timeout=PATIENCE)[0] for one in some]
        granted = [json.loads(text) for text in said if text]
        say(len(granted) == 1, "DS-13: one of sixteen is granted the task", said)
        words = [ROTA_PATH, "deliver", "--server", cluster.socket, granted[0]["task"],
                 str(granted[0]["token"])]
        some = [subprocess.Popen(words, stderr=subprocess.DEVNULL) for _ in range(16)]
        ends = sorted(one.wait(PATIENCE) for one in some)
        say(ends == [0] + [3] * 15, "and one of sixteen deliveries counts", ends)
        say(cluster.available() == ["next"], "the next is there once")


def lanes():
    with Handlers(lease=60) as cluster:
        inside = {"run": "true", "lane": "l"}
        done = cluster.submit({"a": {**inside, "group": "g1", "access": "read"},
                               "b": {**inside, "group": "g1", "access": "read"},
                               "c": {**inside, "group": "g2", "access": "read"},
                               "w": {**inside, "group": "g3", "access": "write"}},
                              lanes={"l": {}}, policy="claim")
        say(done.returncode == 0, "the file may set the policy", done)
        one = cluster.fetch("1")
        none = cluster.fetch("1")
        say(one["name"] == "a" and not isinstance(none, dict), "TS-1: the group is taken", one)
        waits = subprocess.Popen([ROTA_PATH, "fetch", "--wait", "--json", "--server",
                                  cluster.socket], stdout=subprocess.PIPE)
        cluster.rota("deliver", one["task"], str(one["token"]))
        two = json.loads(waits.communicate(timeout=PATIENCE)[0])
        three = cluster.fetch("1")
        say((two["name"], three["name"]) == ("b", "c"), "then the others come, in order")
        say(not isinstance(cluster.fetch("1"), dict), "TS-2: no writer beside readers")
        waits = subprocess.Popen([ROTA_PATH, "fetch", "--wait", "--json", "--server",
                                  cluster.socket], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL)
        cluster.until(lambda: connections_of(waits.pid), "it is connected")
        time.sleep(0.5)
        cluster.server.kill()
        cluster.serve()
        cluster.rota("fail", two["task"], str(two["token"]))
        cluster.rota("fail", three["task"], str(three["token"]), "--again")
        again = json.loads(waits.communicate(timeout=PATIENCE)[0])
        say(again["name"] == "c", "TS-14: a failure frees its place, a returned task comes first",
            again)


def leases():
    with Handlers(lease=4) as cluster:
        cluster.graph({"a": []})
        one = cluster.fetch("--lease", "4")
        words = [ROTA_PATH, "renew", "--keep", "--server", cluster.socket, one["task"],
                 str(one["token"])]
        keeper = subprocess.Popen(words, stderr=subprocess.DEVNULL)
        time.sleep(6)
        say(cluster.state("a") == "RUNNING", "a renewed lease stays valid", cluster.ends())
        keeper.kill()
        keeper.wait()
        two = cluster.fetch("--wait", "--lease", "60")
        say(two["token"] > one["token"] and two["attempt"] == 2,
            "one that is not renewed ends, and the next token is larger", two)
        for verb in ("renew", "deliver", "fail"):
            late = cluster.rota(verb, one["task"], str(one["token"]))
            say(late.returncode == 3 and "stale" in late.stderr, f"TS-15: a late {verb} is refused",
                late)
        say(("a", "LOST") in cluster.ends(), "the attempt is recorded as lost", cluster.ends())
        cluster.server.kill()
        cluster.serve()
        time.sleep(4)
        say(cluster.state("a") == "RUNNING", "a long lease is as long after a restart")
        say(cluster.rota("deliver", two["task"], str(two["token"])).returncode == 0,
            "and the token still counts")


def commands():
    with Handlers(lease=4) as cluster:
        cluster.graph({"a": [], "b": [], "c": [], "d": []})
        script = ("import sys,json,os; it=json.load(sys.stdin);"
                  " open('got','w').write(it['name']+os.environ['ROTA_NAME']+it['command'][0])")
        done = cluster.rota("fetch", "--", sys.executable, "-c", script)
        say(done.returncode == 0 and cluster.read("got") == "aatrue", "a command gets the task, and"
            " delivers it by ending well", (done, cluster.read("got")))
        done = cluster.rota("fetch", "--", "sh", "-c", "exit 3")
        say(done.returncode == 5 and cluster.state("b") == "FAILED", "and fails it otherwise", done)
        inner = cluster.rota("fetch", "--", "sh", "-c",
                             f"{ROTA_PATH} deliver --server {cluster.socket} --message mine")
        say(inner.returncode == 0 and cluster.state("c") == "SUCCESS",
            "a command may say so itself", inner)
        missing = cluster.rota("fetch", "--", "/no/such/command")
        say(missing.returncode == 2 and cluster.available() == ["d"],
            "a task whose command cannot start is returned", missing)
        words = [ROTA_PATH, "fetch", "--server", cluster.socket, "--lease"]
        mark = seconds_marked(1000)
        keeper = subprocess.Popen([*words, "20", "--", "sleep", mark], stderr=subprocess.DEVNULL)
        cluster.until(lambda: cluster.state("d") == "RUNNING", "it is fetched")
        cluster.server.kill()
        cluster.serve()
        time.sleep(1)
        say(cluster.state("d") == "RUNNING" and keeper.poll() is None,
            "a command outlives a restart of the server", cluster.ends())
        keeper.send_signal(signal.SIGTERM)
        say(keeper.wait(PATIENCE) == 5 and cluster.available() == ["d"],
            "TERM ends it, and the task is given back", cluster.ends())
        keeper = subprocess.Popen([*words, "6", "--", "sleep", mark], stderr=subprocess.PIPE)
        cluster.until(lambda: cluster.state("d") == "RUNNING", "it is fetched")
        cluster.rota("cancel", cluster.number("d"))
        say(keeper.wait(PATIENCE) == 3, "a task that is cancelled ends its command",
            keeper.stderr.read())
        cluster.rota("retry", cluster.number("d"))
        keeper = subprocess.Popen([*words, "8", "--", "sleep", mark], stderr=subprocess.PIPE)
        cluster.until(lambda: cluster.state("d") == "RUNNING", "it is fetched")
        cluster.server.kill()
        status, said = keeper.wait(PATIENCE), keeper.stderr.read()
        say(status == 3 and b"lease has expired" in said, "and one that cannot be renewed does too",
            (status, said))
        cluster.until(lambda: not processes_with(mark), "no command is left")
        cluster.serve()


def roles():
    with KeyedCluster(lease=60) as cluster:
        cluster.socket = cluster.address
        key = {role: cluster.key(role) for role in ("client", "worker", "admin")}
        done = cluster.rota("submit", cluster.job({"a": {"run": "true"}, "b": {"run": "true"}}),
                            "--policy", "claim", *key["client"])
        say(done.returncode == 0, "a client's key submits", done)
        done = cluster.rota("fetch", *key["client"])
        say(done.returncode == 4 and "does not allow" in done.stderr, "and does not fetch", done)
        for role in ("worker", "admin"):
            done = cluster.rota("fetch", *key[role], "--", "true")
            say(done.returncode == 0, f"{'an' if role == 'admin' else 'a'} {role}'s key fetches",
                done)


def workers_leave_it_alone():
    with Handlers(lease=4) as cluster:
        cluster.work("one")
        cluster.graph({"a": []})
        cluster.submit({"mine": {"run": "true"}}, "--wait")
        say(cluster.state("a") == "OFFERED", "a worker does not take what handlers are for",
            (cluster.state("a"), cluster.ends()))
        why = cluster.rota("why", cluster.number("a")).stdout
        say("handler" in why, "why says that it waits for a handler", why)
        cluster.submit({"i": {"run": "cat job.json", "in": ["job.json"]}}, "--policy", "claim")
        got = cluster.fetch("3")
        say(got["inputs"] == [{"name": "job.json", "path": cluster.path("job.json")}],
            "files it reads are named by their paths", got)
        refused = cluster.submit({"o": {"run": "touch x", "out": ["x"]}}, "--policy", "claim")
        say(refused.returncode == 2 and "outputs" in refused.stderr, "handlers make no objects",
            refused)
        start = time.monotonic()
        none = cluster.rota("fetch", "--timeout", "0.4", cluster.number("a"))
        say(none.returncode == 0, "an available task needs no wait")
        none = cluster.rota("fetch", "--timeout", "0.4")
        say(none.returncode == 1 and time.monotonic() - start >= 0.4,
            "otherwise the wait ends with its timeout", none)


for test in (rounds, failing, refusals, one_of_many, lanes, leases, commands, roles,
             workers_leave_it_alone):
    test()
Tap.end()
