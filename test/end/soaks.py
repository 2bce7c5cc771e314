"""soaks - helpers of the soaks: options, a load of jobs with groups, and the final checks."""
import argparse
import time

import seed
from cluster_soak import all_done, open_tasks, tell
from groups import probes


class Soak:
    """Jobs whose tasks are in groups, submitted whenever few tasks are left."""

    def __init__(self, backlog, tasks, groups, seconds):
        parser = argparse.ArgumentParser()
        parser.add_argument("--rounds", type=int, default=200)
        parser.add_argument("--seed", type=int)
        self.rounds = parser.parse_args().rounds
        self.choose = seed.chance()
        # A few rounds have a small load, so that its end is soon, but long tasks, and room to run
        # one that is lost at once.
        most = 2 * self.rounds
        self.backlog, self.tasks = min(backlog, most), min(tasks, most)
        self.groups = min(groups, self.rounds)
        self.seconds = seconds if most >= backlog else seconds[-1:]
        self.accepted, self.began, self.wrong, self.told = [], time.monotonic(), [], ""

    def load(self, cluster):
        if open_tasks(cluster) >= self.backlog:
            return
        tasks = probes(cluster.folder, f"j{len(self.accepted)}", self.tasks, self.groups,
                       lambda: self.choose.choice(self.seconds))
        done = cluster.submit(tasks, lanes={"line": {}})
        if done.returncode == 0:
            self.accepted.append(int(done.stdout.split()[1]))

    def settle(self, cluster, wrong):
        """All jobs are to end. Before the cluster is left."""
        self.wrong = wrong + all_done(cluster, self.accepted)
        attempts, lost = cluster.sql("SELECT count(*), sum(status != 'SUCCESS')"
                                     " FROM sched_history")[0]
        self.told = f"{len(self.accepted)} jobs, {attempts} attempts, {lost} of them lost"

    def end(self, cluster, what):
        """Prints the result after the end of the cluster, and returns the exit status."""
        return tell(self.wrong, cluster.folder, f"{what}, {self.told}", self.began)
