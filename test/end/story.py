"""story - a cluster that a test queries for what ran where; for the scenarios of doc/testing.md."""
import json

from cluster import Cluster
from end import Tap

HOUR = ("--pull-cache", "3600", "--pull-inputs", "3600")  # longer than any test
WAIT = "while [ ! -e {0} ]; do sleep 0.05; done"


def tells(name, fine, what, note=""):
    """A line of TAP that names its scenario."""
    Tap.say(bool(fine), f"{name}: {what}", note)


class Story(Cluster):
    """Workers by name; the machine of each has that name too."""

    def __init__(self, *options, lease=20):
        super().__init__(*options, lease=lease)

    def join(self, cores=1, **more):
        """One more worker, which has joined."""
        name = more.get("name", f"w{len(self.workers)}")
        self.work(name, cores, "--machine", more.get("machine", name))
        self.until(lambda: "connected to" in self.workers[name].said(), f"{name} joins")
        return name

    def begin(self, tasks, **rest):
        """The number of a job that was accepted."""
        done = self.submit(tasks, **rest)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return int(done.stdout.split()[1])

    def done(self, tasks, **rest):
        """A job to its end; whether all succeeded."""
        return self.submit(tasks, "--wait", **rest).returncode == 0

    def history(self):
        """(task, worker, status) of all attempts that have ended, as they did."""
        return self.sql("SELECT j.name, n.name, h.status FROM sched_history h JOIN sched_job j"
                        " USING (id) LEFT JOIN sched_name n ON n.kind = 'worker'"
                        " AND n.number = h.worker WHERE h.status <> 'RETURNED' ORDER BY h.seq")

    def where(self, task):
        """The workers on which it has succeeded."""
        return [worker for name, worker, status in self.history()
                if name == task and status == "SUCCESS"]

    def changes(self):
        """(turn, task, state, worker) of all changes of tasks in the journal."""
        told = self.rota("events", "--after", "0", "--once", "--json").stdout.splitlines()
        rows = [row for row in map(json.loads, told) if row["event"] == "task"]
        return [(int(row["sequence"].split(".")[0]), row["name"], row["state"], row.get("worker"))
                for row in rows]

    def turn_of(self, task, state):
        """The turn in which a task first was in a state; none: it never was."""
        return next((turn for turn, name, into, _ in self.changes()
                     if (name, into) == (task, state)), None)

    def status(self, task):
        rows = self.sql(f"SELECT status FROM sched_status WHERE name = '{task}'"
                        " ORDER BY id DESC LIMIT 1")
        return rows[0][0] if rows else None

    def stays(self, task, other):
        """Whether it is offered, and stays so while this worker does other things, for longer than
        a server waits that was not told to."""
        self.until(lambda: self.status(task) == "OFFERED", f"{task} is offered")
        fine = all(self.done({f"{other}-{i}": {"run": "sleep 0.2", "machine": other}})
                   for i in range(5))
        return fine and self.status(task) == "OFFERED"

    def idle(self):
        return not self.sql("SELECT 1 FROM sched_stage")

    def running(self, *tasks):
        found = {row[0] for row in self.sql("SELECT j.name FROM sched_exec e JOIN sched_job j"
                                            " USING (id) WHERE e.status = 'RUNNING'")}
        return set(tasks) <= found

    def lines(self, name):
        return self.read(name).split()

    def waits_for(self, name):
        """A command that ends when this file is there."""
        return WAIT.format(self.path(name))
