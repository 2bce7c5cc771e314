#!/usr/bin/env python3
"""proxy_test - clients, workers, servers and peers with connections that misbehave."""
import os

import seed
from cluster import Cluster, KeyedCluster
from end import Tap
from proxy import Proxy, Way

say = Tap.say
SMALL = 1 << 20


class Proxied(Cluster):
    """Workers reach the server through a proxy; `direct` is where it listens."""

    def __init__(self, *options, lease=4):
        super().__init__(*options, lease=lease)
        self.direct, self.proxy = self.socket, None

    def __enter__(self):
        super().__enter__()
        self.proxy = Proxy(self.path("proxy.sock"), self.direct)
        return self

    def __exit__(self, *what):
        self.proxy.__exit__()
        super().__exit__(*what)

    def work(self, name, cores=2, *options):
        self.socket = self.path("proxy.sock")
        worker = super().work(name, cores, *options)
        self.socket = self.direct
        return worker

    def submit_through(self, tasks):
        self.socket = self.path("proxy.sock")
        done = self.submit(tasks)
        self.socket = self.direct
        return done

    def done(self):
        return self.sql("SELECT count(*) FROM sched_stage")[0][0] == 0

    def jobs(self):
        """How many tasks each job has."""
        return [row[0] for row in self.sql("SELECT count(*) FROM sched_job GROUP BY job")]


def one_byte_at_a_time():
    with Proxied() as cluster:
        cluster.proxy.rule = lambda _: {"up": Way(most=1), "down": Way(most=1)}
        cluster.work("one")
        tasks = {f"t{i}": {"run": "true"} for i in range(5)}
        done = cluster.submit_through(tasks)
        say(done.returncode == 0, "a job comes in byte by byte", done)
        cluster.until(cluster.done, "all is done")
        say(sorted(cluster.ends()) == [(f"t{i}", "SUCCESS") for i in range(5)],
            "a worker gets its order and reports the end byte by byte", cluster.ends())


def a_submission_is_cut_anywhere():
    """Whole or not at all, and never twice, wherever the connection ends."""
    with Proxied() as cluster:
        tasks = {"a": {"run": "true"}, "b": {"run": "true", "needs": ["a"]}, "c": {"run": "true"}}
        cluster.submit_through(tasks)
        up, down = (cluster.proxy.ways[0][way].passed for way in ("up", "down"))
        say(up > 200 and down > 50 and cluster.jobs() == [3],
            "the bytes of a submission", (up, down))
        before, odd = 1, []
        for way, most in (("up", up), ("down", down)):
            for at in [*range(0, most, 17), most - 1]:
                first = cluster.proxy.count
                cluster.proxy.rule = (lambda number, way=way, at=at, first=first:
                                      {way: Way(cut=at)} if number == first else {})
                status = cluster.submit_through(tasks).returncode
                jobs = cluster.jobs()
                new, before = len(jobs) - before, len(jobs)
                fine = new == 1 if status == 0 else status == 4 and new <= 1
                if not fine or set(jobs) != {3}:
                    odd.append((way, at, status, new, jobs))
        say(not odd, "cut after any byte it is there as a whole, or not at all; never twice", odd)


def a_worker_is_cut_again_and_again():
    """At random bytes, in the middle of frames."""
    choose = seed.chance(5)
    with Proxied(lease=10) as cluster:
        # Each goes a little further: what a worker says first gets longer with what it has.
        cluster.proxy.rule = lambda number: {
            "up": Way(cut=choose.randrange(300, 1500) + 50 * number),
            "down": Way(cut=choose.randrange(300, 3000) + 50 * number)}
        cluster.work("one", 4)
        cluster.submit({f"t{i}": {"run": f"sleep 0.{i % 3}; echo {i} >> {cluster.path('ran')}"}
                        for i in range(30)})
        cluster.until(cluster.done, "all is done", 120)
        fine = sorted(name for name, status in cluster.ends() if status == "SUCCESS")
        say(fine == sorted(f"t{i}" for i in range(30)), "a worker is cut off again and again:"
            f" {cluster.proxy.count} connections, each task is recorded once", cluster.ends())
        lost = sum(status == "LOST" for _, status in cluster.ends())
        ran = cluster.read("ran").split()
        say(len(ran) <= 30 + lost, "and runs again only if it was lost", (len(ran), lost))


def a_connection_stalls():
    """Neither side learns that the connection is dead. The next one is made within the lease."""
    for way in ("up", "down"):
        with Proxied(lease=6) as cluster:
            cluster.work("one")
            cluster.submit({"long": {"run": f"echo x >> {cluster.path('ran')}; sleep 5",
                                     "lane": "line", "group": "g", "access": "write"}},
                           lanes={"line": {}})
            cluster.until(lambda: cluster.read("ran"), "it runs")
            ways = cluster.proxy.ways[0][way]
            ways.stall = ways.passed
            cluster.until(cluster.done, "all is done")
            say(cluster.ends() == [("long", "SUCCESS")] and cluster.read("ran") == "x\n",
                f"{way}: what runs outlives a connection that is stuck", cluster.ends())
            say("half a lease" in cluster.workers["one"].said() and cluster.proxy.count > 1,
                f"{way}: which its worker has noticed, and made another", cluster.told())


class ProxiedTls(Proxied, KeyedCluster):
    """The same over TCP and TLS."""

    def __enter__(self):
        Cluster.__enter__(self)
        host, port = self.address.rsplit(":", 1)
        self.proxy = Proxy(("127.0.0.1", 0), (host, int(port)))
        return self

    def work(self, name, cores=2, *options):
        self.socket = self.proxy.address
        worker = Cluster.work(self, name, cores, *self.key("worker"), *options)
        self.socket = self.direct
        return worker


def bytes_are_changed_or_reset_on_their_way():
    choose = seed.chance(7)
    for name, rule in (("changed", lambda: {"flip": choose.randrange(2000)}),
                       ("reset", lambda: {"cut": choose.randrange(2000), "reset": True})):
        with ProxiedTls(lease=10) as cluster:
            cluster.proxy.rule = lambda number: {} if number > 4 else {
                choose.choice(("up", "down")): Way(**rule())}
            cluster.work("one", 4)
            cluster.submit({f"t{i}": {"run": "sleep 0.1"} for i in range(20)})
            cluster.until(cluster.done, "all is done", 120)
            fine = sorted(task for task, status in cluster.ends() if status == "SUCCESS")
            say(fine == sorted(f"t{i}" for i in range(20)) and cluster.proxy.count > 1,
                f"TLS: with bytes that are {name}, {cluster.proxy.count} connections,"
                " each task is recorded once", (cluster.ends(), cluster.told()))


# ---- From worker to worker -----------------------------------------------------------------------

def carried(cluster, rule, size, name):
    """Moves an object between workers through a proxy, and returns how many bytes passed."""
    socket_path = cluster.path("here/data/sock")
    cluster.until(lambda: os.path.exists(socket_path), "it listens")
    os.rename(socket_path, socket_path + ".real")
    with Proxy(socket_path, socket_path + ".real") as proxy:
        proxy.rule = rule
        got = cluster.path("got")
        done = cluster.submit({
            "make": {"run": f"head -c {size} /dev/urandom > big; sha256sum < big > {got}.1",
                     "machine": "here", "out": ["big"]},
            "use": {"run": f"sha256sum < big > {got}.2", "machine": "there", "in": ["big"]}},
            "--wait")
        same = cluster.read("got.1") == cluster.read("got.2") != ""
        say(done.returncode == 0 and same, f"{name}: every byte arrives",
            done.stdout + cluster.told())
        return proxy


def a_transfer(rule, size, name):
    with Cluster(lease=10) as cluster:
        for machine in ("here", "there"):
            cluster.work(machine, 2, "--machine", machine)
        return carried(cluster, rule, size, name)


def objects_through_bad_connections():
    proxy = a_transfer(lambda _: {"up": Way(most=1), "down": Way(most=1)}, 3000,
                       "an object, byte by byte")
    say(proxy.passed["down"] >= 3000, "an object, byte by byte: through the proxy")
    proxy = a_transfer(lambda number: {"down": Way(cut=300000 * (number + 1))}, 3 * SMALL,
                       "an object that is cut off twice")
    say(proxy.count >= 3 and proxy.passed["down"] < 4 * SMALL,
        "an object whose transfer is cut twice: it resumes where it was cut",
        (proxy.count, proxy.passed))
    proxy = a_transfer(lambda number: {"down": Way(flip=100000)} if number == 0 else {}, SMALL,
                       "an object with a wrong byte")
    say(proxy.count >= 2, "an object with a wrong byte is fetched again", proxy.count)


for test in (one_byte_at_a_time, a_submission_is_cut_anywhere, a_worker_is_cut_again_and_again,
             a_connection_stalls, bytes_are_changed_or_reset_on_their_way,
             objects_through_bad_connections):
    test()
Tap.end()
