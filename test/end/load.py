"""load - writes a large play: graphs with failures, lanes, bundles, and workers that come and go.

It knows which tasks must be running at each point, because its workers have space for all of them.
"""
import random


class Load:
    """Statements so far, and what runs."""

    def __init__(self, seed, tasks):
        self.choose, self.tasks = random.Random(seed), tasks
        self.lines = ["config lease=30s", "lane strict strict", "lane plain"]
        self.count = 0
        self.running, self.failed = [], []
        self.needs, self.wanted = {}, {}   # by task: what it lacks; who wants it
        self.lanes = {"strict": [], "plain": []}  # one group each: the first one runs
        self.retried = set()

    def write(self):
        for number in range(3):
            self.lines.append(f"worker w{number} cpus=100000")
        while self.count < self.tasks:
            self.choose.choice((self.graph, self.graph, self.lane, self.bundle))()
            while self.running and self.choose.random() < 0.97:
                self.something()
        while self.running or self.failed:
            self.something()
        self.lines.append("expect sql \"select count(*) from sched_stage\" = \"0\"")
        self.lines.append("expect running = -")
        return "\n".join(self.lines) + "\n"

    def name(self):
        self.count += 1
        return f"t{self.count}"

    def add(self, task, after):
        self.needs[task] = len(after)
        for need in after:
            self.wanted.setdefault(need, []).append(task)
        if not after:
            self.running.append(task)

    def graph(self):
        self.lines.append("begin")
        fresh = []
        for _ in range(self.choose.randrange(5, 40)):
            task = self.name()
            after = self.choose.sample(fresh, min(len(fresh), self.choose.randrange(3)))
            words = f" after={','.join(after)}" if after else ""
            self.lines.append(f"task {task}{words} priority={self.choose.randrange(9)}")
            fresh.append(task)
            self.add(task, after)
        self.lines.append("submit")

    def lane(self):
        lane = self.choose.choice(("strict", "plain"))
        self.lines.append("begin")
        for _ in range(self.choose.randrange(2, 12)):
            task = self.name()
            self.lines.append(f"task {task} lane={lane} group={lane} access=write")
            self.needs[task] = 0
            self.lanes[lane].append(task)
            if len(self.lanes[lane]) == 1:
                self.running.append(task)
        self.lines.append("submit")

    def bundle(self):
        bundle, before = self.name(), None
        self.lines += ["begin", f"bundle {bundle}"]
        for _ in range(self.choose.randrange(2, 6)):
            task = self.name()
            when = f" when=\"su({before})\"" if before else ""
            self.lines.append(f"task {task} bundle={bundle}{when}")
            self.add(task, [before] if before else [])
            before = task
        self.lines.append("submit")

    def something(self):
        luck = self.choose.random()
        if self.failed and (luck < 0.2 or not self.running):
            task = self.failed.pop(self.choose.randrange(len(self.failed)))
            self.lines.append(f"retry {task}")
            self.running.append(task)
        elif luck < 0.23:
            self.lines.append(f"advance {self.choose.randrange(1, 2000)}ms")
        elif luck < 0.24:
            self.lines += [f"silent w{self.choose.randrange(3)}", "advance 1s"]
            self.lines.append(self.lines[-2].replace("silent", "heard"))
        else:
            self.end(self.running.pop(self.choose.randrange(len(self.running))))

    def end(self, task):
        lane = next((each for each in self.lanes.values() if each and each[0] == task), None)
        if not lane and task not in self.retried and self.choose.random() < 0.1:
            self.retried.add(task)
            self.failed.append(task)
            self.lines.append(f"finish {task} exit={self.choose.randrange(1, 9)}")
            return
        self.lines.append(f"finish {task}")
        for waiting in self.wanted.get(task, []):
            self.needs[waiting] -= 1
            if not self.needs[waiting]:
                self.running.append(waiting)
        if lane:
            lane.pop(0)
            if lane:
                self.running.append(lane[0])


def play(seed, tasks):
    return Load(seed, tasks).write()
