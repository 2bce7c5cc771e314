#!/usr/bin/env python3
"""partition_soak - links of workers fail at random, under load.

    partition_soak.py [--faults N] [--seed S]

It checks the rules of cluster_soak; here a process is killed only by its own lease.
"""
import argparse
import sys
import time

from cluster_soak import all_done, job_of, tell
import seed
from net import Net, NetCluster, refusal

NAMES = ("one", "two", "three", "four")


def fault(net, name, choose):
    """Some fault of this machine's link, for less or longer than a lease."""
    kind = choose.choice(("deaf", "mute", "apart", "down", "loss"))
    if kind == "down":
        net.down(name)
    elif kind == "loss":
        net.loses(name, choose.randrange(10, 60))
    else:
        net.fault(name, "accept" if kind == "mute" else "drop",
                  "accept" if kind == "deaf" else "drop")
    return time.monotonic() + choose.random() * 8


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--faults", type=int, default=20)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    choose, left, accepted, until = seed.chance(), options.faults, [], {}
    began = time.monotonic()
    if reason := refusal():
        print(f"ok 1 - partitions # skip no network namespaces here: {reason}")
        return 0
    with Net() as net, NetCluster(net, lease=3) as cluster:
        for name in NAMES:
            cluster.work(name, 2)
        while left or until:
            if len(accepted) < 2 or not cluster.sql("SELECT 1 FROM sched_stage"):
                done = cluster.submit(job_of(cluster, len(accepted), choose), lanes={"line": {}})
                accepted.append(int(done.stdout.split()[1]))
            for name in [name for name, end in until.items() if time.monotonic() > end]:
                net.heal(name)
                del until[name]
            whole = [name for name in NAMES if name not in until]
            if left and whole:
                name = choose.choice(whole)
                until[name] = fault(net, name, choose)
                left -= 1
            time.sleep(choose.random())
        wrong = all_done(cluster, accepted)
    return tell(wrong, cluster.folder,
                f"{options.faults} faults, {len(accepted)} jobs done", began)


if __name__ == "__main__":
    sys.exit(main())
