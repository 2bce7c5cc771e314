#!/usr/bin/env python3
"""id_test - every command refuses what is not exactly a job or a task, and changes nothing."""
import os
import subprocess
import tempfile

from cluster import ROTA_PATH, Cluster
from end import Tap

say = Tap.say

JOB, TASK = "a job such as 7", "a task such as 7.3"
NO_JOBS = ("1x", "1,2", "1.", "1.0", " 1", "1 ", "+1", "01", "0", "0x1", "", "x", "1..1", "1.1.1",
           "1.1x", "1.1 ", "1. 1", "1.-1", "1.+1", "1.01", ".1", "4294967297", "4294967296",
           "18446744073709551617", "1.4294967297")
# The words before the id, those after it, and what the command takes.
COMMANDS = (
    (("close",), (), JOB),
    (("pause", "job"), (), JOB),
    (("resume", "job"), (), JOB),
    (("cancel",), (), f"{JOB} or {TASK}"),
    (("wait",), (), f"{JOB} or {TASK}"),
    (("fetch",), (), f"{JOB} or {TASK}"),
    *(((verb,), (), TASK) for verb in ("retry", "stage", "start", "green", "red", "reset", "freeze",
                                       "abort", "logs")),
    *(((verb,), ("17",), TASK) for verb in ("deliver", "fail", "renew")),
)


def refused(cluster, words, id_, after, expected):
    """None, or the command if it did more than to refuse."""
    # Words after the "--" of rota fetch are a command.
    dashes = () if words[0] == "fetch" else ("--",)
    done = cluster.rota(words[0], *words[1:], *dashes, id_, *after)
    said = f"rota {words[0]}: expected {expected}, not '{id_}'\n"
    return None if done.returncode == 2 and done.stderr.startswith(said) else done


def forms(cluster):
    for words, after, expected in COMMANDS:
        others = () if words[0] == "fetch" else ("-1.2", "-1")
        others += ("1.1", "12.77") if expected == JOB else ()
        others += ("1",) if expected == TASK else ()
        wrong = [refused(cluster, words, id_, after, expected) for id_ in NO_JOBS + others]
        say(not any(wrong), f"rota {' '.join(words)} refuses what is not exactly {expected}",
            [done for done in wrong if done][:3])


def several(cluster):
    for verb, good in (("cancel", "1"), ("close", "1"), ("retry", "1.2"), ("wait", "1.2")):
        done = cluster.rota(verb, good, "1x")
        say(done.returncode == 2 and "not '1x'" in done.stderr and not done.stdout,
            f"rota {verb} does nothing if one of its arguments is wrong", done)


def options(cluster):
    for words, expected in ((("events", "--once", "--job"), "option --job needs a job such as 7"),
                            (("ps", "--job"), "option --job needs a number")):
        wrong = [cluster.rota(words[0], *words[1:], id_) for id_ in ("1x", "1.1", "4294967297")]
        say(all(done.returncode == 2 and expected in done.stderr + done.stdout
                for done in wrong),
            f"so does the option of rota {words[0]}", wrong)
    history = [subprocess.run([ROTA_PATH, "history", "--task", id_, cluster.database], check=False,
                              capture_output=True, text=True)
               for id_ in ("1", "1.x", " 1.2", "-1.2", "1.0", "4294967297.2")]
    say(all(done.returncode == 2 and "option --task needs JOB.TASK" in done.stderr
            for done in history), "so does that of rota history", history)


def outputs(cluster):
    """Outputs are named JOB/NAME, JOB.TASK/NAME or JOB."""
    wrong = [cluster.rota("data", verb, "--", id_) for verb in ("locate", "unkeep", "keep")
             for id_ in ("1x/sum", " 1/sum", "-1/sum", "+1/sum", "1.0/sum", "1. 1/sum", "01/sum",
                         "1.-1/sum", "4294967297/sum", "1.4294967297/sum", "4294967297", "1/")]
    wrong = [done for done in wrong if done.returncode != 2
             or "an object is given as JOB/NAME, such as 7/sum" not in done.stderr]
    say(not wrong, "outputs are named in one form, too", wrong[:3])
    right = [cluster.rota("data", "locate", id_) for id_ in ("1/sum", "1.1/sum", "1.4294967295/x")]
    say(all(done.returncode == 1 and "no task has this output" in done.stderr for done in right),
        "what is in this form is looked up", right)


def job_option(cluster):
    """--job of rota cancel names a job of the server, and other options are refused by name."""
    one = "with --server, option --job needs one job, such as --job=7"
    for words, said in ((("cancel", "--job"), one), (("cancel", "--job", "1", "2"), one),
                        (("cancel", "1", "--job"), one), (("cancel", "--json", "--job=1"), one),
                        (("cancel", "--job=1.1"), "expected a job such as 7, not '1.1'"),
                        (("cancel", "--job", "1x"), "expected a job such as 7, not '1x'"),
                        (("cancel", "--json", "1"), "option --json cannot be used with --server"),
                        (("retry", "--job", "1", "1.1"),
                         "option --job cannot be used with --server"),
                        (("retry", "--json", "1.1"), "option --json cannot be used with --server"),
                        (("freeze", "--db", "x", "1.1"),
                         "option --db cannot be used with --server")):
        done = cluster.rota(*words)
        say(done.returncode == 2 and f"rota {words[0]}: {said}" in done.stderr and not done.stdout,
            f"rota {' '.join(words)} is refused with the reason", done)
    done = subprocess.run([ROTA_PATH, "cancel", "--job", "1"], capture_output=True, text=True,
                          check=False)
    say(done.returncode == 2 and "write --job=N" in done.stderr,
        "without a server, rota cancel --job 1 is refused with what to write", done)
    cluster.submit({"held": {"run": "true"}})
    for job, words in ((1, ("--job", "1")), (3, ("--job=3",))):
        done = cluster.rota("cancel", *words)
        say(done.returncode == 0 and done.stdout == f"job {job}: cancelled\n",
            f"rota cancel {' '.join(words)} cancels a job of the server", done)


def in_a_folder():
    """Commands about a run of this folder find tasks by name or number."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "job.yaml"), "w", encoding="utf-8") as file:
            file.write('tasks:\n  - {name: a, run: "exit 1"}\n')
        run = [subprocess.run([ROTA_PATH, *words], cwd=folder, check=False, capture_output=True,
                              text=True)
               for words in (["run", "job.yaml"], ["retry", "01.1"], ["retry", "1.1x"],
                             ["cancel", "1.0"], ["retry", "1.1"])]
        say([done.returncode for done in run] == [1, 2, 2, 2, 0],
            "without a server a number has one form, too", run)


with Cluster(lease=20) as here:
    here.submit({"held": {"run": "true"}, "after": {"run": "true", "needs": ["held"]}})
    before = here.rota("ps", "-a", "--job", "1").stdout
    forms(here)
    several(here)
    options(here)
    outputs(here)
    say(here.rota("ps", "-a", "--job", "1").stdout == before, "nothing has changed", before)
    here.submit({"held": {"run": "true"}, "after": {"run": "true", "needs": ["held"]}})
    right = [here.rota("cancel", "2.2").stdout, here.rota("cancel", "2").stdout,
             here.rota("close", "2").stdout]
    say(right == ["2.2: cancelled\n", "job 2: cancelled\n", "job 2: closed\n"],
        "what is exactly a job or a task is accepted", right)
    job_option(here)
in_a_folder()
Tap.end()
