#!/usr/bin/env python3
"""reconnect_test - clients that wait for a job survive a restart of the server."""
import os
import signal
import socket
import subprocess
import threading

from cluster import PATIENCE, ROTA_PATH, Cluster
from end import Tap

say = Tap.say


class Client:
    """A command that runs in parallel to the test."""

    number = 0

    def __init__(self, cluster, command, *words, server=None):
        Client.number += 1
        self.files = [cluster.path(f"{kind}{Client.number}") for kind in ("out", "errors")]
        with open(self.files[0], "wb") as out, open(self.files[1], "wb") as errors:
            self.process = subprocess.Popen(
                [ROTA_PATH, command, "--server", server or cluster.socket, *words], stdout=out,
                stderr=errors, cwd=cluster.folder)

    def said(self, which):
        with open(self.files[which], encoding="utf-8") as file:
            return file.read()

    def end(self):
        status = self.process.wait(PATIENCE)
        return status, self.said(0), self.said(1)


class Gap:
    """Between clients and a server; the answers of the first connections never arrive."""

    def __init__(self, cluster, lost=0):
        self.path, self.target, self.lost = cluster.path("gap.sock"), cluster.socket, lost
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listening.bind(self.path)
        self.listening.listen()
        self.came, self.asking = 0, set()  # asking: after WELCOME, and open
        threading.Thread(target=self._serve, daemon=True).start()

    def heard(self, cluster, count):
        """So many have asked something that the server has read, and wait for what comes of it."""
        cluster.until(lambda: len(self.asking) == count, f"{count} are connected")
        cluster.until(lambda: cluster.rota("ps").returncode == 0, "and were heard")

    def _serve(self):
        while True:
            client = self.listening.accept()[0]
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                server.connect(self.target)
            except OSError:  # between two servers
                client.close()
                continue
            self.came += 1
            threading.Thread(target=self._back, args=(server, client, self.came),
                             daemon=True).start()

    def _forth(self, client, server, number):
        try:
            while data := client.recv(65536):
                server.sendall(data)
                self.asking.add(number)
        except OSError:
            pass
        self._end(client, server, number)

    def _back(self, server, client, number):
        """WELCOME passes; later messages may be lost, and the connection with them."""
        loses = number <= self.lost
        try:
            server.sendall(client.recv(65536))
            client.sendall(server.recv(65536))
            threading.Thread(target=self._forth, args=(client, server, number),
                             daemon=True).start()
            while data := server.recv(65536):
                if loses:
                    break
                client.sendall(data)
        except OSError:
            pass
        self._end(client, server, number)

    def _end(self, client, server, number):
        self.asking.discard(number)
        for end in (client, server):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


def restart(cluster):
    cluster.server.kill()
    os.unlink(cluster.socket)
    cluster.serve()


def runs(cluster, count):
    return cluster.until(lambda: cluster.sql("SELECT count(*) FROM sched_exec WHERE status ="
                                             " 'RUNNING'") == [(count,)], f"{count} run")


def go_file(cluster):
    """A command that ends when the file is there."""
    return f"while [ ! -e {cluster.path('go')} ]; do sleep 0.05; done"


def a_restart_while_clients_wait():
    with Cluster() as cluster:
        cluster.work("one", 4)
        bad = cluster.path("bad.json")
        os.rename(cluster.job({"fails": {"run": "exit 3"}, "slow": {"run": go_file(cluster)}},
                              on_failure="block"), bad)
        good = cluster.job({"first": {"run": "true"},
                            "slow": {"run": go_file(cluster), "needs": ["first"]}})
        gap = Gap(cluster)
        clients = [Client(cluster, "submit", "--wait", bad, server=gap.path),
                   Client(cluster, "submit", "--wait", "--json", good, server=gap.path)]
        runs(cluster, 2)
        cluster.until(lambda: ("fails", "FAILED") in cluster.ends(), "one has failed")
        numbers = sorted(row[0] for row in
                         cluster.sql("SELECT DISTINCT job FROM sched_job WHERE name = 'slow'"))
        clients += [Client(cluster, "wait", str(number), server=gap.path) for number in numbers]
        gap.heard(cluster, 4)
        for _ in range(2):
            restart(cluster)
            gap.heard(cluster, 4)
        with open(cluster.path("go"), "w", encoding="utf-8"):
            pass
        (status, out, _), good_end, *waits = [client.end() for client in clients]
        say(status == 1 and out.count("FAILED fails") == 1 and "1 ok, 1 failed" in out,
            "submit --wait resumes after restarts, and reports a failure once", (status, out))
        status, out, _ = good_end
        say(status == 0 and out.count('"ended"') == 2 and '"ok":2' in out,
            "and ends with 0 when all went well", good_end)
        say(sorted(end[0] for end in waits) == [0, 1], "so does rota wait", waits)


def a_job_that_is_forgotten_meanwhile():
    with Cluster() as cluster:
        cluster.work("one")
        waits = Client(cluster, "submit", "--wait", cluster.job({"slow": {"run":
                                                                          go_file(cluster)}}))
        runs(cluster, 1)
        waits.process.send_signal(signal.SIGSTOP)
        with open(cluster.path("go"), "w", encoding="utf-8"):
            pass
        cluster.until(lambda: not cluster.sql("SELECT 1 FROM sched_graph"), "it is forgotten")
        restart(cluster)
        waits.process.send_signal(signal.SIGCONT)
        ended = waits.end()
        say(ended[0] == 0 and "1 ok" in ended[1], "how a forgotten job ended is still known", ended)
        again = cluster.rota("wait", "1")
        say(again.returncode == 0 and "1 ok" in again.stdout, "also to a later client", again)
        say(cluster.rota("wait", "9").returncode == 2, "and a job that never was is unknown")


def an_answer_that_is_lost():
    with Cluster() as cluster:
        cluster.work("one")
        gap = Gap(cluster, 2)
        file = cluster.job({"once": {"run": f"echo x >> {cluster.path('ran')}"}})
        status, out, _ = Client(cluster, "submit", "--wait", file, server=gap.path).end()
        say(status == 0 and gap.came == 3 and "1 ok" in out, "a submission is handed in again",
            (status, out, gap.came))
        say(cluster.read("ran") == "x\n", "and carried out once", cluster.read("ran"))
        cluster.submit({"stays": {"run": "sleep 1000"}})
        runs(cluster, 1)
        gap.lost = gap.came + 1
        cancel = Client(cluster, "cancel", "2.1", server=gap.path).end()
        say(cancel[0] == 0 and "cancelled" in cancel[1], "so is a change", cancel)


def logs_over_a_restart():
    with Cluster() as cluster:
        cluster.work("one")
        cluster.submit({"talks": {"run": "for i in 1 2 3; do echo line $i; sleep 0.2; done; "
                                         + go_file(cluster) + "; echo last"}})
        runs(cluster, 1)
        follows = Client(cluster, "logs", "-f", "1.1")
        cluster.until(lambda: "line 1" in follows.said(0), "the first line")
        restart(cluster)
        with open(cluster.path("go"), "w", encoding="utf-8"):
            pass
        ended = follows.end()
        say(ended[:2] == (0, "line 1\nline 2\nline 3\nlast\n"),
            "logs -f resumes where it was", ended)


def another_database():
    with Cluster() as cluster:
        cluster.submit({"never": {"run": "true"}})
        gap = Gap(cluster)
        waits = Client(cluster, "wait", "1", server=gap.path)
        gap.heard(cluster, 1)
        cluster.database = cluster.path("other.db")
        restart(cluster)
        ended = waits.end()
        say(ended[0] == 4 and "another database" in ended[2], "another database is no answer",
            ended)


a_restart_while_clients_wait()
a_job_that_is_forgotten_meanwhile()
an_answer_that_is_lost()
logs_over_a_restart()
another_database()
Tap.end()
