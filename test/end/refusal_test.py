#!/usr/bin/env python3
"""refusal_test - a refused request stays refused, even if the server is killed before it answers
and the reason no longer holds."""
import itertools
import time

import seed
from cluster import Cluster
from end import Tap
from hostile import Stranger, job_of
from wire import WIRE

say = Tap.say
NUMBERS = itertools.count(1000)
ROUNDS = 8


def waiting_task(peer):
    """A task that waits for a machine that does not exist: it can be cancelled, not retried."""
    tasks = [{"name": "held", "body": 1, "cores": 1, "machine": 1}]
    peer.says("SUBMIT", **job_of(next(NUMBERS), tasks, machines=["away"]))
    return (peer.answer("ACCEPTED")[1]["job"], 1)


def change(peer, low, verb, task):
    """The answer as it can be compared: what, and in which words."""
    told = peer.says("CHANGE", high=3, low=low, verb=WIRE[verb], task=task).answer("DONE", "REFUSE")
    return (told, peer.reason) if isinstance(told, str) else told[0]


def again(cluster, low, verb, task):
    with Stranger(cluster.socket, "CLIENT") as peer:
        return change(peer, low, verb, task)


def heard_and_killed(cluster):
    low = next(NUMBERS)
    with Stranger(cluster.socket, "CLIENT") as peer:
        task = waiting_task(peer)
        first = change(peer, low, "RETRY", task)
        say(first[0] == "refuse state", "a retry of what waits is refused", first)
        cluster.server.kill()
    cluster.serve()
    say(again(cluster, next(NUMBERS), "CANCEL", task) == "DONE", "the obstacle is removed")
    say(again(cluster, low, "RETRY", task) == first, "the same request gets the same refusal")
    cluster.server.kill()
    cluster.serve()
    say(again(cluster, low, "RETRY", task) == first, "also in the next life")
    say(again(cluster, low, "CANCEL", task)[0] == "refuse conflict",
        "another request with its id is another one")
    say(again(cluster, next(NUMBERS), "RETRY", task) == "DONE", "and with an id of its own is done")


def killed_in_between(cluster):
    """The server is killed at any time after the request is sent. For every first answer
    that a client gets, it is the only one."""
    mixed, choose = [], seed.chance()
    for _ in range(ROUNDS):
        low = next(NUMBERS)
        with Stranger(cluster.socket, "CLIENT") as peer:
            task = waiting_task(peer)
            peer.says("CHANGE", high=3, low=low, verb=WIRE["RETRY"], task=task)
            time.sleep(choose.choice((0, 0.0005, 0.002, 0.01)))
            cluster.server.kill()
        cluster.serve()
        name = ((low << 64) + 3).to_bytes(16, "little").hex()
        kept = cluster.sql(f"SELECT count(*) FROM sched_refusal WHERE request = x'{name}'")
        again(cluster, next(NUMBERS), "CANCEL", task)
        answers = [again(cluster, low, "RETRY", task) for _ in range(2)]
        # Not kept means that no client can have heard it: then it is a new request, and is done.
        expected = "refuse state" if kept[0][0] else "DONE"
        told = {answer if answer == "DONE" else answer[0] for answer in answers}
        if told != {expected}:
            mixed.append((kept, answers))
    say(not mixed, "the answer after a crash is the decision before it", mixed)


with Cluster() as here:
    heard_and_killed(here)
    killed_in_between(here)
Tap.end()
