#!/usr/bin/env python3
"""pull_queues_test - under pull a worker takes its next task from a random non-empty queue.

The test fills three queues of one worker with one core while the worker is paused, each with tasks
that are in no other queue: results it has, readers of objects it has, and tasks for any worker. The
history of the database has the order in which it runs them.
"""
from math import comb

from end import Tap
from story import HOUR, Story, tells

# Of different lengths, so that a choice among tasks, not queues, would show. The second is the
# first to be empty, the others are never empty while the test counts.
NEAR, INPUT, GLOBAL = 1500, 600, 2100
THREE, TWO = 1400, 800  # picks that are counted: of three queues, and of two
ALL = 3050              # picks that include both: the second queue is empty after about 1800
# The odds that one of the five comparisons fails by chance, so below 1e-6 for all of them. That a
# queue is empty while it is counted is less likely still: more than 7 deviations away.
ODDS = 1e-7


def slack(picks, queues):
    """How far a queue's share may be from the mean: the smallest distance of those that a binomial
    variable exceeds with a probability below ODDS. The ways to get there are counted, not guessed:
    k of all picks in comb(picks, k) * (queues - 1) ** (picks - k) of queues ** picks ways."""
    mean, ways, far = picks / queues, 0, picks
    for k in sorted(range(picks + 1), key=lambda k: -abs(k - mean)):
        ways += comb(picks, k) * (queues - 1) ** (picks - k)
        if ways / queues ** picks >= ODDS:
            break
        far = abs(k - mean)
    return far


def results():
    return {f"near{i}": {"run": "true", "cache": True} for i in range(NEAR)}


def fill(story):
    """All queues; the worker is paused in the end."""
    story.join()
    story.done(results(), policy="pull")
    story.begin({"make": {"run": "echo x > o", "out": ["o"]},
                 "gate": {"run": story.waits_for("go"), "needs": ["make"]},
                 **{f"input{i}": {"run": "true", "in": ["o"], "needs": ["gate"]}
                    for i in range(INPUT)}}, policy="pull")
    story.until(lambda: story.running("gate"), "it is made")
    paused = story.rota("pause", "worker", "w0")
    story.begin({f"global{i}": {"run": "true"} for i in range(GLOBAL)}, policy="pull")
    story.server.kill()
    story.options += HOUR  # older tasks stay for every worker, and newer ones wait
    story.serve()
    story.touch("go")
    story.begin(results(), policy="pull")
    story.until(lambda: story.sql("SELECT count(*) FROM sched_ready")[0][0]
                == NEAR + INPUT + GLOBAL, "all wait for a worker")
    return paused.returncode == 0


def drawn(story):
    """The queue of each pick. Tasks end in the order of the picks: there is one core."""
    def ends():
        return story.sql("SELECT ends FROM sched_event WHERE ends IS NOT NULL"
                         " ORDER BY sequence DESC LIMIT 1")[0][0]
    before, known = len(story.history()), ends()
    story.rota("resume", "worker", "w0")
    story.until(lambda: ends() - known >= ALL, "enough has been drawn", 400)
    return ["nig".index(name[0]) for name, _, _ in story.history()[before:]]


def two_from(found):
    """Where the second queue is empty."""
    return len(found) - found[::-1].index(1)


def shares(found, queues, picks, what):
    allowed = slack(picks, queues)
    counts = [found.count(queue) for queue in sorted(set(found))]
    tells("BS-15", len(found) == picks and len(counts) == queues
          and all(abs(count - picks / queues) <= allowed for count in counts),
          f"{what}: {picks / queues:.0f} of {picks} picks each, give or take {allowed:.0f}", counts)


with Story("--ahead", "0", "--pull-cache", "0", "--pull-inputs", "0") as story:
    tells("BS-15", fill(story), "three queues have something to offer", story.told())
    order = drawn(story)
    shares(order[:THREE], 3, THREE, "three queues are drawn alike, long or short")
    two = order[two_from(order):][:TWO]
    shares(two, 2, TWO, "and so are two, when one is empty")
    inside = [name for name, _, _ in story.history() if name.startswith("global")]
    tells("BS-15", inside == [f"global{i}" for i in range(len(inside))],
          "in a queue the oldest is first", inside)
Tap.end()
