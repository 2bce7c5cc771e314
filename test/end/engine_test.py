#!/usr/bin/env python3
"""engine_test - a batch system that ends a worker or a run does not make its commands fail.

Slurm (time limit, requeue, preemption) and systemd (stop) send SIGTERM to all processes of a job,
in any order, and batch systems send other signals as a warning before. Here a script does the same.

The first attempt waits; the others fail. With one retry that makes three attempts if the engine's
end does not count, and two if it does: retries alone would not tell, because some losses are
allowed beside them.
"""
import os
import signal
import time

from cluster import PATIENCE, Cluster
from cluster_soak import open_tasks
from end import Tap
from runs import Folder

say = Tap.say


def descendants(pid):
    """All processes below this one, the deepest first."""
    found = []
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", encoding="utf-8") as file:
                for word in file.read().split():
                    found += [*descendants(int(word)), int(word)]
    except OSError:
        pass
    return found


def send(pids, number=signal.SIGTERM):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def end_all(pid, order, pause, number=signal.SIGTERM):
    """A signal to all processes of a job, its commands before or after the first of them."""
    below = descendants(pid)
    for group in ([below, [pid]] if order == "commands" else [[pid], below]):
        send(group, number)
        time.sleep(pause)


def begin(cluster, trap=""):
    """A worker that runs the first attempt of a task with one retry."""
    worker = cluster.work("w0")
    task = {"run": f"test $ROTA_ATTEMPT = 1 || exit 1; cd {cluster.folder}; {trap} echo > a.began;"
                   " while :; do sleep 0.02; done", "retries": 1}
    cluster.submit({"a": task})
    cluster.until(lambda: os.path.exists(cluster.path("a.began")), "the task runs")
    return worker


def is_lost(cluster, worker, what):
    """The first attempt is lost and does not count, so that two more run elsewhere."""
    status = worker.process.wait(PATIENCE)
    cluster.until(lambda: len(cluster.ends()) == 1, "the end is recorded")
    cluster.work("w1")
    cluster.until(lambda: not open_tasks(cluster), "the task ends")
    ends = [end for _, end in cluster.ends()]
    say(status == 0 and ends == ["LOST", "FAILED", "FAILED"],
        f"{what}: the attempt is lost, uses no retry, and the task runs elsewhere",
        (status, ends, cluster.told()))


def ended_by_an_engine(order, pause, trap="", number=signal.SIGTERM):
    with Cluster() as cluster:
        worker = begin(cluster, trap)
        end_all(worker.process.pid, order, pause, number)
        is_lost(cluster, worker, f"{number.name}, {order} first, {pause} s apart {trap}")


def ended_after_a_warning(order, trap=""):
    """The script of doc/deployment.md: its --signal=B:TERM@120 is a first signal for the worker."""
    with Cluster() as cluster:
        worker = begin(cluster, trap)
        send([worker.process.pid])
        cluster.until(lambda: "ends after 1 running command (signal again to stop it)\n"
                      in worker.said(), "the worker drains")
        end_all(worker.process.pid, order, 0)
        is_lost(cluster, worker, f"SIGTERM after a warning, {order} first {trap}")


TIDIES_UP = "trap 'exit 143' TERM;"  # as the Java machine and many scripts do
# It ends after the worker has told it to, with the status of a success.
SUCCEEDS = "trap 'until grep -q ending: w0.log; do sleep 0.02; done; sleep 1; exit 0' TERM;"
STAYS = "trap '' TERM;"

for PAUSE in (0, 0.1):
    for ORDER in ("commands", "worker"):
        ended_by_an_engine(ORDER, PAUSE)
ended_by_an_engine("commands", 0.1, TIDIES_UP)
# Warnings before a time limit: srun --signal=USR1@60, qsub -notify, bsub -W.
for NUMBER in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU, signal.SIGQUIT, signal.SIGALRM):
    ended_by_an_engine("worker", 0, number=NUMBER)
for ORDER in ("commands", "worker"):
    for TRAP in ("", TIDIES_UP, SUCCEEDS):
        ended_after_a_warning(ORDER, TRAP)
ended_after_a_warning("worker", STAYS)

with Cluster() as cluster:
    worker = begin(cluster)
    send(descendants(descendants(worker.process.pid)[-1]))
    cluster.until(cluster.ends, "the end is recorded")
    say(cluster.ends()[0][1] not in ("LOST", "SUCCESS") and worker.process.poll() is None,
        "a signal for a command alone is its failure", cluster.ends())
    send([worker.process.pid])
    say(worker.process.wait(PATIENCE) == 0, "and the worker ends as always")



def ticks_of_worker(run):
    """The processor time of the process that runs the commands of a run."""
    with open(f"/proc/{run.pid}/task/{run.pid}/children", encoding="utf-8") as file:
        worker = file.read().split()[0]
    with open(f"/proc/{worker}/stat", encoding="utf-8") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13]))


def slow_reader(folder):
    return (f"{{run: 'exec 3<p; until test -e {folder}/go; do sleep 0.1; done; cat <&3 >/dev/null',"
            " in: [p]}")


# The writer's end is held for a moment, and reported only when its readers have taken everything.
with Folder() as folder:
    folder.write("job.yaml", "tasks:\n"
                 "  w: {run: 'head -c 400000 /dev/zero >p & p=$!; sleep 0.5; kill $p;"
                 f" touch {folder.path}/ended; exit 143', out: [{{name: p, kind: stream}}]}}\n"
                 f"  r1: {slow_reader(folder.path)}\n  r2: {slow_reader(folder.path)}\n")
    run = folder.start("-j", "4")
    while not folder.has("ended"):
        time.sleep(0.02)
    time.sleep(1)
    before = ticks_of_worker(run)
    time.sleep(2)
    spent = ticks_of_worker(run) - before
    folder.write("go", "")
    text = "".join(run.communicate(timeout=PATIENCE))
    say(spent < 10, "a worker sleeps while the end of a writer waits for its readers",
        (spent, "of 200 ticks", text))

for ORDER in ("commands", "run"):
    with Folder("tasks:\n  a: {run: 'echo > began; until test -e go; do sleep 0.02; done'}\n"
                ) as folder:
        run = folder.start()
        while not folder.has("began"):
            time.sleep(0.02)
        end_all(run.pid, ORDER, 0.1)
        text = "".join(run.communicate(timeout=PATIENCE))
        say(run.returncode == 130 and "failed" not in text,
            f"rota run, {ORDER} first: no task has failed", (run.returncode, text))
        open(os.path.join(folder.path, "go"), "w", encoding="utf-8").close()
        again = folder.run()
        say(again.returncode == 0, "and the next run does the rest", again.stdout + again.stderr)

Tap.end()
