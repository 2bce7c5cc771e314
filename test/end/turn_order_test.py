#!/usr/bin/env python3
"""turn_order_test - of messages that arrive together, those of workers and admins come first."""
import json
import signal

from cluster import Cluster
from end import Tap, stand_still
from hostile import Stranger, job_of

say = Tap.say


def changes(cluster):
    """Roles and changes, in the order in which the server recorded them."""
    lines = map(json.loads, cluster.read("audit").splitlines())
    return [(line["role"], line["verb"]) for line in lines if line["outcome"] == "done"]


with Cluster() as end:
    end.options += ["--audit", end.path("audit")]
    end.server.kill()
    end.serve()
    clients = [Stranger(end.socket, "CLIENT") for _ in range(3)]
    workers = [Stranger(end.socket, "WORKER", f"worker{number}") for number in range(2)]
    admin = Stranger(end.socket, "ADMIN")
    before = len(changes(end))
    stand_still(end.server.process)
    for number, client in enumerate(clients):
        client.says("SUBMIT", **job_of(number + 1))
    for number, worker in enumerate(workers):
        worker.says("JOIN", cores=1, machine=f"machine{number}")
    admin.says("SUBMIT", **job_of(10))
    end.server.process.send_signal(signal.SIGCONT)
    end.until(lambda: len(changes(end)) >= before + 6, "all of them are recorded")
    order = changes(end)[before:]
    say(order[3:] == [("client", "submit")] * 3,
        "workers and admins are processed before clients that came earlier", order)
Tap.end()
