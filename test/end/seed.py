"""seed - the seed of a random test: a fresh one in each run, unless one is asked for.

`--seed N` on the command line comes first, then $SEED, which tool/test and tool/soak set for
everything they run, then chance. The seed is printed as a comment of TAP: this is how tool/test
knows that a test depends on it. test/seed.h does the same for C.
"""
import os
import random
import sys

MOST = 1000000000


def given():
    """The seed that was asked for, or None."""
    words = sys.argv[1:]
    if "--seed" in words[:-1]:
        return int(words[words.index("--seed") + 1])
    return int(os.environ["SEED"]) if os.environ.get("SEED") else None


def in_ci():
    """Whether others wait for this run: then chance must not hold them up."""
    return os.environ.get("CI") in ("1", "true")


def draw():
    return random.SystemRandom().randrange(1, MOST)


def take():
    seed = given()
    seed = draw() if seed is None else seed
    print(f"# seed {seed}", flush=True)
    return seed


def chance(number=0):
    """Random numbers of a test; of its part with this number, if it has several."""
    return random.Random(take() + number)
