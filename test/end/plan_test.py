#!/usr/bin/env python3
"""plan_test - a server plans ahead: tasks that share data run on one worker, and less data moves.
"""
import json
import os
import re

from cluster import Cluster
from end import Tap, least

say = Tap.say
GROUPS, MAKERS, SIZE = 3, 4, 4 << 20


def start(cluster):
    """Three workers, and a job whose readers each read what four others make."""
    for name in ("w0", "w1", "w2"):
        cluster.work(name, 1, "--listen", cluster.path(name + ".sock"))
    joined(cluster)
    wait = f"until test -e {cluster.path('go')}; do sleep 0.02; done"
    tasks, reads = {"gate": {"run": wait}}, {}
    for group in range(GROUPS):
        makers = [f"m{group}-{i}" for i in range(MAKERS)]
        for name in makers:
            tasks[name] = {"run": f"head -c {SIZE} /dev/zero > o-{name}", "needs": ["gate"],
                           "out": [f"o-{name}"]}
        reads[f"r{group}"] = makers
    for name, makers in reads.items():
        tasks[name] = {"run": f"cat o-* | wc -c > s-{name}", "out": [f"s-{name}"],
                       "in": [f"o-{maker}" for maker in makers]}
    os.makedirs(cluster.path("home"), exist_ok=True)
    path = cluster.path("home/job.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"tasks": tasks}, file)
    done = cluster.rota("submit", path)
    assert done.returncode == 0, done.stderr
    return reads


def joined(cluster):
    cluster.until(lambda: cluster.sql("SELECT count(*) FROM sched_worker WHERE silent_since IS NULL"
                                      " OR silent_since = 9223372036854775807")[0][0] == 3,
                  "three workers are there")


def finish(cluster, reads):
    """The bytes that had to move."""
    cluster.touch("go")
    waited = cluster.rota("wait", "1")
    assert waited.returncode == 0, waited.stdout + waited.stderr + cluster.told()
    places = dict(cluster.sql("SELECT j.name, h.worker FROM sched_history h JOIN sched_job j"
                              " USING (id) WHERE h.status = 'SUCCESS'"))
    return SIZE * sum(places[maker] != places[reader]
                      for reader, makers in reads.items() for maker in makers)


def planned(cluster):
    """The worker for which each reader is planned, as rota why says."""
    found = {}
    for group in range(GROUPS):
        why = cluster.rota("why", f"r{group}")
        match = re.search(r"planned for (w\d)", why.stdout)
        if match:
            found[f"r{group}"] = match[1]
    return found


# On a busy machine one worker may be much slower than others, which then take its tasks: what moves
# is what moves when that does not happen.

def moved_without_plans():
    with Cluster("--no-plan") as cluster:
        reads = start(cluster)
        say(not planned(cluster), "without plans nothing is planned ahead", planned(cluster))
        return finish(cluster, reads)


def moved_as_planned():
    with Cluster() as cluster:
        reads = start(cluster)
        cluster.until(lambda: len(planned(cluster)) == GROUPS, "all readers are planned")
        first = planned(cluster)
        say(len(set(first.values())) == GROUPS, "rota why names the worker of a planned task",
            first)
        row = json.loads(cluster.rota("why", "r0", "--json").stdout)
        say(f"planned for {first['r0']}" in row["chain"][0]["why"], "in JSON too", row)
        return finish(cluster, reads)


def moved_after_a_restart():
    with Cluster() as cluster:
        reads = start(cluster)
        cluster.until(lambda: len(planned(cluster)) == GROUPS, "all readers are planned")
        cluster.server.kill()
        cluster.serve()
        joined(cluster)
        cluster.until(lambda: len(planned(cluster)) == GROUPS,
                      "a server that is restarted plans again")
        return finish(cluster, reads)


plain = -least(1 - 4 * SIZE, lambda: -moved_without_plans())
say(plain >= 4 * SIZE, "then what belongs together is made apart", plain)
moved = least(plain / 4 + 1, moved_as_planned, tries=10)
say(moved <= plain / 4, "a plan moves less than a quarter of that", (moved, plain))
moved = least(plain / 2 + 1, moved_after_a_restart, tries=10)
say(moved <= plain / 2, "and the job ends as it was planned", (moved, plain))
Tap.end()
