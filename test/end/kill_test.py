#!/usr/bin/env python3
"""kill_test - kill -9 right before every write and sync of five scenarios, then resuming.

    kill_test.py [--all] [--points N]        without --all some hundred points are tried

After each kill the acknowledged changes are in the database, rota verify finds nothing, the play
resumes and meets all its expectations, the tables are those of an undisturbed run, and no attempt
is in the history twice.
"""
import argparse
import concurrent.futures
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import kill  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
PLAYS = ("graph", "lanes", "bundles")
PAGES = "24"  # the log is folded now and then, so that the database file is written, too


def program_of(scenario):
    play = os.path.join(HERE, scenario + ".play")
    return kill.Program(scenario, [kill.ROTA, "play", "--log-pages", PAGES, "--db", "{database}",
                                   play])


DEFINE = [kill.ROTA, "define", os.path.join(HERE, "night.define"), "--db", "{database}"]


def define():
    """Definitions come in one turn. Names that are there already are not defined again."""
    again = ["sh", "-c", " ".join(DEFINE) + " || test -s {database}"]
    return kill.Program("define", DEFINE, acknowledged=r"^(5) done$", again=again,
                        recorded="SELECT count(*) FROM sched_define")


def calendar():
    """A night of bundles and a beat, on a clock that goes from one due time to the next."""
    words = [kill.ROTA, "allocator", "--db", "{database}", "--pretend", "--from",
             "2026-11-16T20:00Z", "--until", "2026-11-17T08:00Z"]
    return kill.Program("calendar", words, setup=DEFINE,
                        acknowledged=r"^(\S+Z ended (?:load|check|repair|beat)) ",
                        recorded="SELECT strftime('%Y-%m-%dT%H:%M:%SZ', h.ended / 1000000,"
                                 " 'unixepoch') || ' ended ' || j.name"
                                 " FROM sched_history h JOIN sched_job j ON j.id = h.id")


def points_of(counts, most):
    """Every call of every kind, or as many, evenly spread."""
    points = [(call, when) for call in kill.CALLS for when in range(1, counts[call] + 1)]
    step = max(1, len(points) / most) if most else 1
    return [points[int(i * step)] for i in range(int(len(points) / step))]


def try_point(program, wanted, point):
    with kill.folder() as folder:
        database = os.path.join(folder, "db")
        killed = program.kill(database, *point)
        if not killed.killed:
            return f"{point}: it was not killed"
        wrong = kill.complaint_after_kill(program, database, program.lines(killed.output))
        wrong = wrong or kill.complaint_at_end(program, database, wanted)
        return f"{program.name}, before {point[0]} {point[1]}: {wrong}" if wrong else ""


def try_scenario(program, most):
    with kill.folder() as folder:
        database = os.path.join(folder, "db")
        counts = program.count_calls(database)
        wanted = kill.dump(database)
    points = points_of(counts, most)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
        wrong = [text for text in pool.map(lambda one: try_point(program, wanted, one), points)
                 if text]
    return len(points), sum(counts.values()), wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--points", type=int, default=20 if os.environ.get("SANITIZED") else 70)
    options = parser.parse_args()
    if not kill.has_strace():
        print("ok 1 - nothing can be killed without strace # skip")
        return 0
    failed = 0
    for number, program in enumerate([*map(program_of, PLAYS), define(), calendar()], 1):
        tried, there, wrong = try_scenario(program, 0 if options.all else options.points)
        failed += len(wrong)
        print(f"{'not ' if wrong else ''}ok {number} - {program.name} survives {tried} kills at"
              f" {there} calls that write or sync", flush=True)
        for text in wrong[:5]:
            print("# " + text.replace("\n", "\n# "))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
