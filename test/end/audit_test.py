#!/usr/bin/env python3
"""audit_test - rota server --audit FILE: the requests of each client, and refused connections."""
import json
import os
import signal
import sqlite3
import subprocess

from cluster import ROTA_PATH, Cluster, KeyedCluster, PATIENCE, Process
from end import Tap
from hostile import Stranger
from wire import WIRE

say = Tap.say


class Audited(KeyedCluster):
    def __init__(self):
        super().__init__(lease=60)
        self.log = self.path("audit.log")
        with open(self.log, "w", encoding="utf-8"):
            os.chmod(self.log, 0o644)  # as an earlier server or a person left it
        self.options += ["--audit", self.log]

    def lines(self, name=None):
        with open(name or self.log, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def noted(self, **wanted):
        return [line for line in self.lines()
                if all(line.get(key) == value for key, value in wanted.items())]

    def remote(self, command, *words, role="client"):
        return subprocess.run([ROTA_PATH, command, "--server", self.address, *self.key(role),
                               *words], capture_output=True, text=True, check=False,
                              timeout=PATIENCE)


def requests(cluster):
    job = cluster.job({"a": {"run": "true"}}, name="night")
    cluster.rota("submit", job)
    cluster.rota("ps")
    uid = os.getuid()
    found = cluster.noted(verb="submit", uid=uid, job=1, outcome="done", role="client")
    say(len(found) == 1, "a job and its user", cluster.lines())
    remote = cluster.remote("submit", job)
    found = cluster.noted(verb="submit", job=2, outcome="done")
    key = open(cluster.path("keys/client.key"), encoding="utf-8").read().split()
    say(remote.returncode == 0 and len(found) == 1 and found[0]["key"] == key[2]
        and found[0]["address"].startswith("127.0.0.1:"), "with the key and the address",
        cluster.lines())
    cluster.rota("cancel", "1")
    say(cluster.noted(verb="cancel", job=1, outcome="done"), "a change", cluster.lines())
    cluster.rota("cancel", "99")
    found = cluster.noted(verb="cancel", job=99, outcome="refused")
    say(found and found[0]["reason"], "a refused request, and why", cluster.lines())
    cluster.remote("pause", "worker", "one")
    found = cluster.noted(verb="greet", outcome="refused", key=key[2])
    say(found, "a request that the key does not allow", cluster.lines())
    cluster.rota("fetch", "--json")
    found = cluster.noted(verb="fetch", role="handler")
    say(found, "a handler", cluster.lines())
    names = {line["verb"] for line in cluster.lines()}
    say(not names & {"ask", "other"}, "questions are not noted", names)


def workers(cluster):
    cluster.work("one", 1)
    gate = cluster.path("gate")
    cluster.submit({"held": {"run": f"until test -e {gate}; do sleep 0.05; done"}})
    cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_exec WHERE status = 'RUNNING'"), "runs")
    say(cluster.noted(verb="join", name="one", role="worker"), "a worker that comes",
        cluster.lines())
    with Stranger(cluster.socket, "WORKER", "thief") as peer:
        peer.says("JOIN", cores=1, machine="nowhere")
        job, task, attempt = cluster.sql("SELECT j.job, j.task, e.attempt FROM sched_exec e"
                                         " JOIN sched_job j USING (id) WHERE j.name = 'held'")[0]
        for _ in range(12):
            peer.says("FINISHED", task=(job, task), attempt=attempt, end=WIRE["EXITED"])
        told = peer.answer("REFUSE")
        say(told == "refuse role" and peer.answer("REFUSE") == "closed",
            "a worker that reports the task of another is refused", told)
    found = cluster.noted(verb="report", name="thief", outcome="refused")
    say(len(found) == 10, "after ten times, all noted", cluster.lines())
    cluster.touch("gate")
    cluster.until(lambda: ("held", "SUCCESS") in cluster.ends(), "the other one is not disturbed")
    say(True, "the other one is not disturbed")


def strangers(cluster):
    wrong = cluster.path("wrong")
    subprocess.run([ROTA_PATH, "keys", "make", wrong], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([ROTA_PATH, "ps", "--server", cluster.address, "--key", wrong + "/client.key"],
                   capture_output=True, check=False, timeout=PATIENCE)
    cluster.until(lambda: cluster.noted(verb="connect", outcome="refused"), "it is noted")
    found = cluster.noted(verb="connect", outcome="refused")[0]
    say(found["address"].startswith("127.0.0.1:") and found["reason"],
        "a client without a key", found)


def the_file(cluster):
    say(os.stat(cluster.log).st_mode & 0o777 == 0o600, "is its owner's", os.stat(cluster.log))
    with open(cluster.log, encoding="utf-8") as file:
        text = file.read()
    secrets = [word for role in ("client", "worker", "admin")
               for word in open(cluster.path(f"keys/{role}.key"), encoding="utf-8").read().split()
               if len(word) == 64]
    say(secrets and not any(secret in text for secret in secrets), "has no secrets", text)
    old = cluster.path("old")
    os.rename(cluster.log, old)
    cluster.server.process.send_signal(signal.SIGHUP)
    cluster.until(lambda: os.path.exists(cluster.log), "it is opened again")
    cluster.rota("cancel", "98")
    say(cluster.noted(job=98) and not any(line.get("job") == 98 for line in cluster.lines(old)),
        "is opened again on HUP", cluster.lines())
    before = len(cluster.lines())
    cluster.server.kill()
    cluster.serve()
    cluster.rota("cancel", "97")
    say(len(cluster.lines()) > before, "is continued by the next server", cluster.lines())


def table(cluster):
    return [json.loads(line) for line, in cluster.sql("SELECT line FROM sched_audit"
                                                      " ORDER BY number")]


def the_table(cluster):
    files = [line for name in ("old", "audit.log") for line in cluster.lines(cluster.path(name))]
    say(table(cluster) == [line for line in files if line["outcome"] == "done"],
        "the database has all that was done, and the file is a copy", (table(cluster), files))
    apart = cluster.sql("SELECT line FROM sched_audit WHERE line LIKE '%\"submit\"%'"
                        " AND turn NOT IN (SELECT turn FROM sched_request)")
    say(not apart and any(line["verb"] == "submit" for line in table(cluster)),
        "in the transaction of the change itself", apart)
    cluster.server.kill()
    verified = subprocess.run([ROTA_PATH, "verify", cluster.database], capture_output=True,
                              text=True, check=False, timeout=PATIENCE)
    say(verified.returncode == 0, "rota verify is content", verified)
    for change in ("UPDATE sched_audit SET line = '{}'", "DELETE FROM sched_audit"):
        link = sqlite3.connect(cluster.database)
        try:
            link.execute(change)
            reason = "it was done"
        except sqlite3.Error as error:
            reason = str(error)
        link.close()
        say(reason == "the audit log can only be added to", f"{change.split()[0]} is refused",
            reason)


def taken_away(cluster):
    """Removing the copy removes nothing from the log in the database."""
    os.remove(cluster.log)
    os.symlink("/dev/full", cluster.log)
    cluster.server.process.send_signal(signal.SIGHUP)
    cluster.until(lambda: "the old file stays in use" in cluster.server.said(), "it is told")
    cluster.rota("submit", cluster.job({"b": {"run": "true"}}))
    say([line["verb"] for line in table(cluster)] == ["submit"],
        "the database has what the file has not", table(cluster))


def nothing_is_asked_for():
    with Cluster() as cluster:
        cluster.submit({"a": {"run": "true"}})
        say(not cluster.sql("SELECT 1 FROM sqlite_master WHERE name LIKE 'sched_audit%'"),
            "without --audit there is no such table")


def trouble():
    for path in ("/dev/null", "/nowhere/audit", "/tmp"):
        wrong = Process("/dev/null", "server", "--memory", "--audit", path)
        say(wrong.process.wait(PATIENCE) == 2, f"{path} is refused")


with Audited() as audited:
    for test in (requests, workers, strangers, the_file, the_table):
        test(audited)
with Audited() as audited:
    taken_away(audited)
nothing_is_asked_for()
trouble()
Tap.end()
