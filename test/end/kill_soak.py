#!/usr/bin/env python3
"""kill_soak - kills the program at random under load, again and again on the same database.

    kill_soak.py [--kills 2000] [--seed N] [--tasks 3000]

Each round writes a large play and runs it once undisturbed. Then it runs the play again and kills
it at random system calls, until it ends. After every kill all acknowledged changes are in the
database, and rota verify finds nothing. At the end the tables are those of the undisturbed run.
"""
import argparse
import concurrent.futures
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import seed
import kill  # noqa: E402
import load  # noqa: E402

PAGES = "200"
SPAN = 2500  # calls of one life, at most; a play makes some 80,000
SHORT = 60   # calls of a life that does not come much further than opening the file


class Progress:
    """Kills so far, of all rounds that run at one time."""

    def __init__(self, wanted):
        self.wanted, self.done, self.began = wanted, 0, time.monotonic()
        self.guard = threading.Lock()

    def add(self):
        with self.guard:
            self.done += 1
            if self.done % 100 == 0:
                print(f"kill: {self.done} kills in {time.monotonic() - self.began:.0f} s",
                      flush=True)

    def is_enough(self):
        return self.done >= self.wanted


def lives(program, killer, database, choose, progress):
    """Kills it again and again; what is wrong, or "" when it has come to its end."""
    acknowledged = set()
    while not progress.is_enough():
        when = choose.randrange(1, SHORT if choose.random() < 0.2 else SPAN)
        life = program.kill_with(killer, database, when)
        if not life.killed:
            return "" if "1 passed" in life.output else life.output[-2000:]
        progress.add()
        acknowledged |= program.lines(life.output)
        wrong = kill.complaint_after_kill(program, database, acknowledged)
        if wrong:
            return f"before call {when}: {wrong}"
    return ""


def round_of(number, tasks, killer, progress):
    with kill.folder() as folder:
        play, database = os.path.join(folder, "load.play"), os.path.join(folder, "db")
        with open(play, "w", encoding="utf-8") as file:
            file.write(load.play(number, tasks))
        program = kill.Program("load", [kill.ROTA, "play", "--no-check", "--log-pages", PAGES,
                                        "--db", "{database}", play])
        whole = program.run(database + "-whole")
        if whole.returncode:
            return f"seed {number}: undisturbed: {whole.stdout[-2000:]}"
        wanted = kill.dump(database + "-whole")
        wrong = lives(program, killer, database, random.Random(number), progress)
        wrong = wrong or kill.complaint_at_end(program, database, wanted)
        return f"seed {number}: {wrong}" if wrong else ""


def rounds_of(options, killer, progress):
    first, failed, rounds, jobs = options.seed, 0, 0, os.cpu_count() or 2
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        while not progress.is_enough() and failed < 5:
            seeds = range(first, first + jobs)
            for wrong in pool.map(lambda one: round_of(one, options.tasks, killer, progress),
                                  seeds):
                rounds += 1
                failed += bool(wrong)
                if wrong:
                    print("FAILED " + wrong, flush=True)
            first += jobs
    return failed, rounds


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=2000)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--tasks", type=int, default=3000)
    options = parser.parse_args()
    options.seed = seed.take()
    print(f"kill: {options.kills} kills from seed {options.seed}", flush=True)
    progress = Progress(options.kills)
    with kill.folder() as folder:
        failed, rounds = rounds_of(options, kill.killer_make(folder), progress)
    print(f"kill: {progress.done} kills in {rounds} rounds, {failed} failed, "
          f"{time.monotonic() - progress.began:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
