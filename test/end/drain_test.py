#!/usr/bin/env python3
"""drain_test - a server that is told to end answers its requests first; and limits of a server."""
import json
import signal
import subprocess
import time

from cluster import Cluster, PATIENCE, Process, ROTA_PATH
from end import Tap, least
from wire import Link, VERSION, WIRE, encode

say = Tap.say


def client(cluster):
    link = Link.connect(cluster.socket, PATIENCE)
    link.send("GREET", version=VERSION, role=WIRE["CLIENT"], name="drain")
    link.take()
    return link


def client_is_let_in(cluster, held):
    """Waits until earlier connections are closed."""
    try:
        held.append(client(cluster))
        return True
    except (EOFError, OSError):
        return False


def submission(number):
    """A whole job of one bundle without members, so that no worker is needed."""
    run = encode("RUN", name="a", argv=["true"], cwd="/")
    return encode("SUBMIT", high=7, low=number, name=f"j{number}", bodies=[run], commands=["true"],
                  tasks=[{"name": "a", "body": 1, "cores": 1}])


def received_requests_are_answered():
    with Cluster() as cluster:
        link = client(cluster)
        # All of it is in the socket buffer when the signal comes.
        cluster.server.process.send_signal(signal.SIGSTOP)
        link.socket.sendall(b"".join(submission(number) for number in range(1, 41)))
        cluster.server.process.send_signal(signal.SIGTERM)
        cluster.server.process.send_signal(signal.SIGCONT)
        accepted = []
        try:
            while True:
                kind, fields = link.take()
                accepted += [fields["job"]] if kind == "ACCEPTED" else []
        except (EOFError, ConnectionResetError):
            pass
        status = cluster.server.process.wait(PATIENCE)
        say(len(accepted) == 40 and status == 0, "requests from before the signal are answered",
            (len(accepted), status, cluster.server.said()))
        jobs = [row[0] for row in cluster.sql("SELECT job FROM sched_graph")]
        say(set(accepted) <= set(jobs), "and is there", (accepted, jobs))
        cluster.serve()
        cluster.work("one")
        cluster.until(lambda: len(cluster.ends()) == 40, "the next server has it run")
        say(True, "the next server has it run")


def answers_are_finished():
    with Cluster() as cluster:
        tasks = {f"task-{number:05}": {"run": "true " + "x" * 200} for number in range(8000)}
        cluster.submit(tasks)
        with subprocess.Popen([ROTA_PATH, "ps", "-a", "--json", "--server", cluster.socket],
                              stdout=subprocess.PIPE, text=True) as asks:
            first = asks.stdout.readline()
            cluster.server.process.send_signal(signal.SIGTERM)
            rest = asks.stdout.read()
            lines = (first + rest).splitlines()
            say(asks.wait(PATIENCE) == 0 and sum("task-" in line for line in lines) == 8000
                and all(json.loads(line) for line in lines), "an answer is given to its end",
                (asks.returncode, len(lines)))
        say(cluster.server.process.wait(PATIENCE) == 0, "before the server ends")


def seconds_to_end(cluster, signals):
    """The seconds until a server ends whose answer no client reads. It is started again."""
    link = client(cluster)
    link.send("ASK", request=1, words=["ps", "-a", "--json"])
    cluster.until(lambda: link.take()[0] == "ANSWER", "the answer begins")
    begun = time.monotonic()
    for _ in range(signals):
        cluster.server.process.send_signal(signal.SIGTERM)
        time.sleep(0.2)
    status, took = cluster.server.process.wait(PATIENCE), time.monotonic() - begun
    say(status == 0, "it ends with 0", status)
    link.close()
    cluster.serve()
    return took


def a_peer_that_does_not_read_delays_no_other():
    with Cluster() as cluster:
        tasks = {f"task-{number:05}": {"run": "true " + "x" * 200} for number in range(8000)}
        cluster.submit(tasks)
        took = least(10, lambda: seconds_to_end(cluster, 1))
        say(4 < took < 10, "for longer than 5 s", took)
        took = least(4, lambda: seconds_to_end(cluster, 2))
        say(took < 4, "and not at all when asked twice", took)


def submitted(cluster, count):
    """Tries again while connections that were just closed still count."""
    done = []

    def is_let_in():
        done[:] = [cluster.submit({f"t{i}": {"run": "true"} for i in range(count)})]
        return done[0].returncode != 4

    cluster.until(is_let_in, "a job is heard")
    return done[0]


def limits():
    with Cluster("--connections", "3", "--tasks", "10") as cluster:
        held = []
        cluster.until(lambda: client_is_let_in(cluster, held) and len(held) == 3,
                      "there are enough")
        late = cluster.rota("wait", "1")
        say(late.returncode == 4, "connections above the limit are refused", late)
        held.pop().close()
        cluster.until(lambda: cluster.rota("wait", "1").returncode == 2, "and let in later")
        say(True, "and accepted when another one has left")
        held.pop().close()
        many = submitted(cluster, 11)
        say(many.returncode == 2 and many.stderr.startswith("rota submit: "),
            "a job that has no room is refused", many)
        few = submitted(cluster, 10)
        say(few.returncode == 0, "one that has is not", few)
    for words in (["--connections", "0"], ["--connections", "x"], ["--tasks", "-1"], ["--tasks"]):
        wrong = Process("/dev/null", "server", "--memory", *words)
        say(wrong.process.wait(PATIENCE) == 2, f"{words} is refused")


received_requests_are_answered()
answers_are_finished()
a_peer_that_does_not_read_delays_no_other()
limits()
Tap.end()
