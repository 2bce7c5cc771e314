"""local - section A: commands on this machine, against the limit and the tools that run them.

Graphs of commands that do nothing, two at a time. rota keeps what they print and what has become
of them, on disk; its state is removed before each run, which is not timed, unless said otherwise.
"""
import os
import shutil
import subprocess

import graphs
from rounds import Case, Group

HERE = os.path.dirname(os.path.abspath(__file__))
SIZES = {"independent": 2000, "layers": 3000, "chain": 1000}
FEW = 200  # commands for peers that take milliseconds for each
FRESH = "rota run"


class Place:
    """A folder with a graph, below BUILD/bench/a, and how long programs take in it."""

    def __init__(self, build, name, tasks, times=1):
        self.build = os.path.abspath(build)
        self.folder = os.path.join(self.build, "bench", "a", name)
        self.tasks, self.times = tasks, times
        self.rota = os.path.join(self.build, "rota")

    def program(self, name):
        return os.path.join(self.build, "bench", name)

    def case(self, name, *words, before="", tasks=None):
        return Case(name, [self.program("stopwatch"), str(self.times), str(tasks or self.tasks),
                           self.folder, before, *words])

    def limit(self):
        return self.case("limit: posix_spawn, wait", self.program("limit_run"), "2", "graph.txt",
                         graphs.TRUE)

    def ninja(self):
        return self.case("ninja -j2", "ninja", "-j2", "--quiet", before="rm -f .ninja_log")

    def make(self):
        return self.case("make -j2", "make", "-s", "-j2")

    def xargs(self):
        return self.case("xargs -P2", "xargs", "-a", "numbers.txt", "-P2", "-n1", graphs.TRUE)

    def rota_run(self, name=FRESH, *words, before="rm -rf .rota"):
        return self.case(name, self.rota, "run", "-j2", *words, "job.jsonl", before=before)


def have(cases):
    """The cases whose program is installed."""
    return [case for case in cases if shutil.which(case.argv[5])]


def slow_peers(place):
    """Peers that have no graphs, or take long for each command."""
    few = f"seq {FEW} | parallel --will-cite -j2 -n1 {graphs.TRUE}"
    spool = (f"export TS_SOCKET=$PWD/spool.{os.getpid()}; tsp -S 2; "
             f"for i in $(seq {FEW}); do tsp -n {graphs.TRUE}; done; "
             "while tsp -l | grep -Eq 'queued|running'; do tsp -w; done; tsp -K")
    yield from (place.case(name, "sh", "-c", script, tasks=FEW)
                for name, program, script in ((f"parallel -j2, {FEW} commands", "parallel", few),
                                              (f"tsp, two slots, {FEW} commands", "tsp", spool))
                if shutil.which(program))


def snakemake(place, shape):
    """In a folder of its own: it needs most of a second before it begins."""
    small = Place(place.build, f"{shape}-few", FEW)
    graphs.write(small.folder, shape, FEW)
    return small.case(f"snakemake -j2, {FEW} commands", "snakemake", "-j2", "-q", "--nolock",
                      before="rm -rf .snakemake t[0-9]*")


def shape_group(build, shape, quick):
    place = Place(build, shape, SIZES[shape] // (10 if quick else 1))
    graphs.write(place.folder, shape, place.tasks)
    cases = [place.limit(), place.ninja(), place.make(), place.rota_run()]
    if shape == "independent":
        cases += [place.xargs(), *slow_peers(place)]
    if shape != "chain" and shutil.which("snakemake"):
        cases.append(snakemake(place, shape))
    return Group(f"local, {shape}", "us per command", have(cases))


def start_group(build, quick):
    place = Place(build, "one", 1, 5)
    graphs.write(place.folder, "chain", 1)
    return Group("local, start-up", "us for a file of one task", have([
        place.limit(), place.ninja(), place.make(), place.xargs(), place.rota_run(),
        place.rota_run("rota run --fresh", "--fresh", before="")]), repeat=2 if quick else 10)


def finished_prepare(place):
    """Runs what is not done yet; after the first time that is nothing."""
    if not os.path.exists(os.path.join(place.folder, ".ninja_log")):
        graphs.write_finished(place.folder, place.tasks)
    for words in ([place.rota, "run", "-q", "-j2", "job.jsonl"], ["ninja", "--quiet"]):
        if shutil.which(words[0]):
            subprocess.run(words, cwd=place.folder, check=True, stdout=subprocess.DEVNULL)


def finished_group(build, count):
    place = Place(build, f"finished-{count}", 1)
    place.tasks = count
    cases = [place.case("limit: read, and stat all", place.program("limit_idle"), "build.ninja",
                        "names.txt", tasks=1),
             place.case("ninja", "ninja", "--quiet", tasks=1),
             place.case("make", "make", "-s", tasks=1),
             place.case("rota run", place.rota, "run", "-j2", "job.jsonl", tasks=1),
             place.case("rota run, by its database", place.rota, "run", "-j2", "job.jsonl", tasks=1,
                        before="rm -f .rota/done-*")]
    return Group(f"local, {count:,} finished", "us for all", have(cases),
                 before=lambda: finished_prepare(place))


def groups(build, quick):
    for shape in SIZES:
        yield shape_group(build, shape, quick)
    yield start_group(build, quick)
    for count in (10000,) if quick else (10000, 100000):
        yield finished_group(build, count)


def goals(found):
    """Yields what is asked for, the figure, and the bound it must not pass."""
    def ratio(group, case, to=None, part=None):
        return found[group].ratio(case, to, part) if group in found else None
    for shape in ("independent", "layers"):
        yield (f"CPU of a command, {shape}, times limit",
               ratio(f"local, {shape}", FRESH, None, "cpu"), 1.15)
        yield (f"a command, {shape}, times make",
               ratio(f"local, {shape}", FRESH, "make -j2"), 1.1)
    yield "a command, chain, times limit", ratio("local, chain", FRESH), 1.25
    yield "start-up in a new folder, times limit", ratio("local, start-up", FRESH), 3
    yield ("start-up with --fresh, times limit",
           ratio("local, start-up", "rota run --fresh"), 3)


def goals_at_least(found):
    group = found.get("local, 100,000 finished")
    yield ("100,000 finished tasks, times faster than ninja", 1.5,
           group.ratio("ninja", "rota run") if group else None)


def extra(build):
    """Our cases in the form other benchmarks take: a whole run each time."""
    cases = {}
    for shape, count in SIZES.items():
        place = Place(build, shape, count)
        graphs.write(place.folder, shape, count)
        cases[f"A.{shape}"] = [{"name": "rota run -j2", "scale": 1e6 / count,
                                "argv": [os.path.join(HERE, "again"), place.rota,
                                         os.path.join(place.folder, "job.jsonl")]}]
    one = Place(build, "one", 1)
    graphs.write(one.folder, "chain", 1)
    cases["A.start-up"] = [{"name": "rota run --fresh", "scale": 1e3,
                            "argv": [one.rota, "run", "-q", "--fresh",
                                     os.path.join(one.folder, "job.jsonl")]}]
    for count in (10000, 100000):
        place = Place(build, f"finished-{count}", count)
        finished_prepare(place)
        cases[f"A.idle-{count}"] = [{"name": "rota run", "scale": 1e3,
                                     "argv": [place.rota, "run",
                                              os.path.join(place.folder, "job.jsonl")]}]
    return cases
