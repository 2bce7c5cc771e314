#!/usr/bin/env python3
"""cluster_soak - kills a server and workers at random, under load.

    cluster_soak.py [--servers N] [--workers N] [--seed S]

Every job ends; accepted jobs are not lost; no task succeeds twice; no two commands of one group run
at the same time (each holds a lock that the others would find taken); no command is left at the
end.
"""
import argparse
import sqlite3
import sys
import time

import seed
from cluster import Cluster, processes_with
from groups import clashes, probes

MEMORY = 300  # MiB of a few tasks: the kernel needs long to end them
BACKLOG = 400  # tasks: more wait for those that are killed again and again


def job_of(cluster, number, choose):
    """A graph with lanes: readers and writers of groups, and a task that waits for all."""
    tasks = probes(cluster.folder, f"j{number}", 30, 4, lambda: choose.randrange(1, 9) / 100,
                   lambda: MEMORY if choose.random() < 0.1 else 0)
    plain = {f"j{number}p{i}": {"run": f"sleep 0.0{choose.randrange(1, 5)}",
                                "needs": [f"j{number}t{i}"]} for i in range(10)}
    return {**tasks, **plain}


def kill_some(cluster, choose, left):
    """Kills a process, starts another one in its place, and returns which it was."""
    if left["server"] and (not left["worker"] or choose.random() < left["server"]
                           / (left["server"] + left["worker"])):
        cluster.server.kill()
        time.sleep(choose.random() * 0.1)
        cluster.serve()
        return "server"
    name = choose.choice(list(cluster.workers))
    cluster.workers[name].kill()
    time.sleep(choose.random() * 0.1)
    cluster.work(name, 2)
    return "worker"


def open_tasks(cluster):
    """How many tasks are left; the last known number while no server answers."""
    try:
        open_tasks.last = cluster.sql("SELECT count(*) FROM sched_stage")[0][0]
    except sqlite3.OperationalError:
        pass
    return open_tasks.last


open_tasks.last = 0


def verdict(cluster, accepted):
    """A line for each broken rule."""
    wrong = []
    clash = clashes(cluster)
    if clash:
        wrong.append("two of a group ran at a time: " + clash[:200])
    twice = cluster.sql("SELECT j.name, count(*) FROM sched_history h JOIN sched_job j USING (id)"
                        " WHERE h.status = 'SUCCESS' GROUP BY h.id HAVING count(*) > 1")
    if twice:
        wrong.append(f"recorded twice: {twice[:5]}")
    there = {row[0] for row in cluster.sql("SELECT DISTINCT job FROM sched_job")}
    if not set(accepted) <= there:
        wrong.append(f"accepted and not there: {sorted(set(accepted) - there)}")
    if open_tasks(cluster):
        wrong.append(f"{open_tasks.last} tasks are still to do")
        wrong += waiting(cluster)
    return wrong


def waiting(cluster):
    """Why the tasks that are left wait, and what the processes said last."""
    lines = [f"{name} has ended with {worker.process.poll()}"
             for name, worker in cluster.workers.items() if worker.process.poll() is not None]
    lines += [str(row) for row in cluster.sql("SELECT * FROM sched_worker")]
    for (task,) in cluster.sql("SELECT id FROM sched_stage LIMIT 5"):
        lines += [str(row) for row in cluster.sql(f"SELECT * FROM sched_state WHERE id = {task}")]
        for words in (["why", "--json"], ["show"]):
            done = cluster.rota(*words, f"{task >> 32}.{task & 0xffffffff}")
            lines += (done.stdout + done.stderr).splitlines()[-40:]
    return lines + cluster.told().splitlines()[-200:]


def all_done(cluster, accepted):
    """Waits for all that was submitted, or until nothing has ended for a minute; what is wrong."""
    least, since = open_tasks(cluster), time.monotonic()
    while least and time.monotonic() - since < 60:
        time.sleep(0.1)
        if open_tasks(cluster) < least:
            least, since = open_tasks.last, time.monotonic()
    return verdict(cluster, accepted)


def tell(wrong, folder, what, began):
    """Prints the result after the end of the cluster, and returns the exit status."""
    left_over = processes_with(folder)
    if left_over:
        wrong.append(f"processes are left: {left_over}")
    print(f"{'not ok' if wrong else 'ok'} 1 - {what}, {time.monotonic() - began:.0f} s")
    for line in wrong:
        print("# " + line)
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--servers", type=int, default=20)
    parser.add_argument("--workers", type=int, default=10)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    choose = seed.chance()
    left = {"server": options.servers, "worker": options.workers}
    accepted, killed = [], {"server": 0, "worker": 0}
    began = time.monotonic()
    with Cluster(lease=2) as cluster:
        for number in range(3):
            cluster.work(f"w{number}", 2)
        while left["server"] or left["worker"]:
            if open_tasks(cluster) < BACKLOG:
                done = cluster.submit(job_of(cluster, len(accepted), choose), lanes={"line": {}})
                if done.returncode == 0:
                    accepted.append(int(done.stdout.split()[1]))
            for _ in range(3):
                time.sleep(choose.random() * 0.3)
                if not (left["server"] or left["worker"]):
                    break
                who = kill_some(cluster, choose, left)
                left[who] -= 1
                killed[who] += 1
                if sum(killed.values()) % 100 == 0:
                    print(f"{killed} in {time.monotonic() - began:.0f} s", flush=True)
        wrong = all_done(cluster, accepted)
    return tell(wrong, cluster.folder, f"{killed['server']} servers and {killed['worker']} workers"
                f" killed, {len(accepted)} jobs done", began)


if __name__ == "__main__":
    sys.exit(main())
