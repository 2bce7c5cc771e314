#!/usr/bin/env python3
"""inputs_test - inputs that can never be fetched: attempts are limited, and the reason is shown."""
from cluster import KeyedCluster
from end import Tap

ATTEMPTS_MAX = 6  # five losses, and no retries
REASON = "cannot fetch an input"


def never(cache, policy):
    """The workers serve no peer: over TCP they would have to listen, with a key for peers."""
    with KeyedCluster() as cluster:
        for name in ("alpha", "beta"):
            process = cluster.work(name, 1, "--server", cluster.address, "--machine", name,
                                   *cluster.key("worker"))
            cluster.until(lambda p=process: "connected to" in p.said(), name + " works")
        steps = {"a": {"run": "echo 1 > a", "out": ["a"], "machine": "alpha"},
                 "b": {"run": "echo 2 > b", "out": ["b"], "machine": "beta"},
                 "join": {"run": "cat a b", "in": ["a", "b"]}}
        for step in steps.values() if cache else ():
            step["cache"] = True
        done = cluster.submit(steps, "--wait", *policy)
        what = f"cache {cache}, {policy[-1] if policy else 'plan'}: "
        count = cluster.sql("SELECT max(attempt) FROM sched_history WHERE id ="
                            " (SELECT id FROM sched_job WHERE name = 'join')")[0][0]
        Tap.say(done.returncode == 1 and count <= ATTEMPTS_MAX, what + "attempts have an end",
                (count, done))
        Tap.say(REASON in done.stdout + done.stderr, what + "submit --wait tells the reason", done)
        for verb in (["why", "join"], ["ps", "-a"], ["show", "join"]):
            told = cluster.rota(*verb)
            Tap.say(REASON in told.stdout, what + f"{verb[0]} tells the reason", told)
        seen = cluster.rota("wait", "1")
        Tap.say(seen.returncode == 1, what + "wait knows that it failed", seen)
        if cache:
            return
        shown = cluster.submit(steps, "--attach", *policy)
        last = shown.stdout.rsplit("failed: join", 1)[-1]
        Tap.say(shown.returncode == 1 and REASON in last, what + "so does the summary of --attach",
                shown)


never(True, [])
never(True, ["--policy", "pull"])
never(False, [])
Tap.end()
