#!/usr/bin/env python3
"""soaks_test - a few rounds of the soaks with stopped agents, and with workers of one name.

    soaks_test.py [--seed N]

Their leases are short: a run that fails is repeated if the machine stalled for about as long as
their fences may be late (doc/guarantees.md, A-TIME).
"""
import concurrent.futures
import os
import subprocess
import sys

import seed
from end import Tap
from stalls import Stalls

ROUNDS, STALL, TRIES = 5, 0.1, 3
FOLDER = os.path.dirname(os.path.abspath(__file__))


def run(name):
    """Its output, and whether it ended with 0."""
    words = [sys.executable, os.path.join(FOLDER, name), "--rounds", str(ROUNDS), "--seed", SEED]
    for _ in range(TRIES):
        with Stalls() as stalls:
            done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, check=False)
        if not done.returncode or stalls.longest < STALL:
            break
        print(f"# {name} failed, but a processor stalled for {stalls.longest:.2f} s", flush=True)
    return done.stdout, not done.returncode


SEED = str(seed.take())
NAMES = ("stop_soak.py", "duplicate_workers_soak.py")
with concurrent.futures.ThreadPoolExecutor() as pool:
    for NAME, (text, is_fine) in zip(NAMES, pool.map(run, NAMES)):
        Tap.say(is_fine, f"{ROUNDS} rounds of {NAME}", text)
Tap.end()
