#!/usr/bin/env python3
"""command_test - rota sql, jobs, history and verify: output and exit status."""
import json
import os
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BUILD", "build")
ROTA = os.path.join(BUILD, "rota")
BENCH = os.path.join(BUILD, "bench", "rota-bench")
failed = number = 0


def say(fine, what, note=""):
    global failed, number
    number += 1
    failed += not fine
    print(f"{'' if fine else 'not '}ok {number} - {what}")
    if not fine:
        print("# " + note.replace("\n", "\n# "))


def rota(*words):
    return subprocess.run([ROTA, *words], capture_output=True, text=True, check=False)


def refuses(what, words, *texts):
    done = rota(*words)
    fine = done.returncode == 2 and all(text in done.stderr for text in texts)
    say(fine, what, f"status {done.returncode}: {done.stdout}{done.stderr}")


with tempfile.TemporaryDirectory() as folder:
    text, file = os.path.join(folder, "text"), os.path.join(folder, "db")
    with open(text, "w", encoding="utf-8") as out:
        out.write("This is a text and no database, and it is long enough to have a header of one."
                  * 3)
    refuses("a missing file is refused", ["sql", file, "select 1"], "No such file")
    refuses("a text is refused", ["sql", text, "select 1"], "not a database")
    refuses("a text cannot be verified", ["verify", text], "not a database")
    refuses("a question needs a statement", ["sql", text], "missing argument STATEMENT")
    refuses("an option must exist", ["jobs", "--odd", text], "--odd")
    refuses("a task is named by job and number", ["history", "--task", "7", text], "needs JOB.TASK")
    if not os.access(BENCH, os.X_OK):
        print(f"ok {number + 1} - the rest needs rota-bench to make a file # skip")
        sys.exit(1 if failed else 0)
    subprocess.run([BENCH, "waiting", file, "10"], check=True, stdout=subprocess.DEVNULL)
    done = rota("sql", file, "select status, count(*) as tasks from sched_stage group by status")
    say(done.stdout == "status\ttasks\nASSIGNED\t1\nWAITING\t9\n", "a table has a head",
        done.stdout)
    done = rota("sql", "--json", file, "select id, name, command from sched_job limit 1")
    row = json.loads(done.stdout)
    say(row == {"id": 4294967297, "name": None, "command": "compile src/module/file.c"},
        "a row is an object", done.stdout)
    refuses("a statement that writes is refused", ["sql", file, "pragma user_version = 7"],
            "does more than read")
    refuses("a statement that writes another table is refused",
            ["sql", file, "delete from sched_history"], "only definitions in sched_job")
    done = rota("jobs", "--json", file)
    say(json.loads(done.stdout)["tasks"] == 10, "a job has its tasks", done.stdout)
    done = rota("history", file)
    say(done.stdout.startswith("seq\tjob\ttask"), "there is a history", done.stdout)
    done = rota("verify", file)
    say(done.returncode == 0 and "0 broken" in done.stdout, "a sound file is sound", done.stdout)
sys.exit(1 if failed else 0)
