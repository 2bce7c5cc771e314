#!/usr/bin/env python3
"""define_test - rota define and SQL that writes: a file is applied completely, or refused with a
reason."""
import os
import signal
import subprocess
import time

from end import ROTA, Base, Tap, callable_text as task

say = Tap.say
GOOD = (task("load", "retries: 2") + task("report", "condition: su(load)")
        + "insert_task: night\n    type: bundle\n    start_times: 23:30\n"
        + task("sweep", "parent: night"))

# Each follows a valid action; the words of the reason, and the line it must name.
BAD = [
    ("insert_task: load\n    command: x\n", "task \"load\" already exists", 3),
    ("update_task: none\n    cores: 2\n", "no such task: \"none\"", 3),
    ("delete_task: none\n", "no such task: \"none\"", 3),
    ("delete_task: load\n", "\"load\" is needed by report", 3),
    ("delete_task: night\n", "\"night\" is needed by sweep", 3),
    ("update_task: load\n", "changes nothing", 3),
    (task("x", "condition: su(nobody)"), "condition: no such task: \"nobody\"", 3),
    (task("x", "parent: nobody"), "parent: no such task: \"nobody\"", 3),
    (task("x", "parent: load"), "\"load\" is not a bundle", 3),
    (task("x", "condition: su(x)"), "names its own task", 3),
    (task("x", "condition: su(y)") + task("y", "condition: fa(x)"), "cycle", 3),
    (task("x", "condition: su(y)") + task("y", "condition: nr(z)")
     + task("z", "condition: done(x)"), "cycle", 3),
    ("update_task: load\n    condition: su(report)\n", "cycle", 3),
    (task("x", "zone: Europe/Atlantis", "cron: @daily"), "is not a time zone in ", 3),
    (task("x", "zone: ../../etc/passwd", "cron: @daily"), "zone", 5),
    ("update_task: load\n    lane: disk\n", "lane needs access", 3),
    ("update_task: load\n    start_mins: 5\n", "start_mins", 3),
    ("update_task: night\n    cron: @daily\n", "start_times", 3),
    ("update_task: night\n    command: x\n", "a bundle cannot have command", 3),
    ("insert_task: x\n", "has no command", 3),
    ("insert_task: N\n    type: bundle\n    parent: night\n", "a bundle cannot have parent", 5),
    (task("x", "start_times: 24:10"), "invalid time", 5),
    (task("x", "comand: y"), "did you mean command?", 5),
    (task("x", "condition: su(load"), "", 5),
    (task("x") + task("x"), "first in line 3", 5),
    ("    cores: 2\n" * 2, "", 4),
    ("drop table sched_job;\n", "", 3),
]

with Base() as base:
    done = base.rota("define", "/nowhere", "--db", base.file)
    say(done.returncode == 2 and "No such file" in done.stderr, "a file must be there")
    done = base.define("insert_task: x\n")
    say(done.returncode == 2 and not os.path.exists(base.file),
        "a file that is wrong by itself makes no database", done.stderr)
    done = base.act("stage", "x")
    say(done.returncode == 2 and not os.path.exists(base.file), "nor does any other command")
    done = base.define(GOOD)
    say(done.returncode == 0 and done.stdout == "4 definitions changed\n",
        "a good file is taken", done.stderr)
    base.act("stage", "load")
    base.pretend()
    before = base.dump()
    for text, words, line in BAD:
        done = base.define(task("good") + text)
        named = done.stderr.startswith(f"-:{line}:")
        same = base.dump() == before
        say(done.returncode == 2 and words in done.stderr and named and same,
            f"refused, and nothing has changed: {words or text!r}",
            f"{done.returncode} same={same}\n{text}{done.stderr}")
    base.verified("after the refusals")

with Base() as base:  # what can be done
    base.define(GOOD)
    base.act("stage", "load")
    base.pretend()
    done = base.define("update_task: load\n    command: exit 3\n    retries:\ndelete_task: sweep\n")
    say(done.returncode == 0, "updates and deletes are one turn", done.stderr)
    say(base.status("load") == "SUCCESS" and base.status("sweep") is None,
        "a changed task keeps its status, a deleted one is gone")
    say(base.sql("select definition from sched_define where name = 'load'")
        == [["insert_task: load\n    command: exit 3\n    retries: 0\n"]], "its text says so",
        base.sql("select definition from sched_define where name = 'load'"))
    base.act("stage", "report")
    say(base.tables() == {"report": ["ready"]}, "conditions see the status it kept", base.tables())
    base.pretend()
    done = base.define("delete_task: report\ndelete_task: load\ndelete_task: night\n")
    say(done.returncode == 0 and not base.sql("select * from sched_graph"), "all can go",
        done.stderr)
    base.define(task("load"))
    say(base.status("load") == "IDLE" and len(base.runs("load")) == 1,
        "the name is free again; the history stays")
    base.verified("after updates and deletes")

with Base() as base:  # bundles that name each other without a cycle
    text = "".join(f"insert_task: {name}\n    type: bundle\n" for name in "AB")
    text += task("a1", "parent: A", "condition: su(b1)") + task("a2", "parent: A")
    text += task("b1", "parent: B") + task("b2", "parent: B", "condition: su(a2)")
    done = base.define(text)
    say(done.returncode == 0, "bundles may name each other's members", done.stderr)
    base.act("stage", "A")
    base.act("stage", "B")
    base.pretend()
    say((base.status("A"), base.status("B")) == ("SUCCESS", "SUCCESS"), "and run")
    done = base.define("delete_task: b2\n")
    say(done.returncode == 0 and base.status("a1") == "SUCCESS", "and shrink", done.stderr)
    base.verified("bundles that name each other")

with Base() as base:  # names have numbers that stay
    lanes = [task(f"t{i}", f"lane: {lane}", "group: g", "access: write", f"machine: {machine}")
             for i, (lane, machine) in enumerate([("disk", "m1"), ("net", "m2"), ("disk", "m2")])]
    base.define(lanes[0] + lanes[1])
    base.define("delete_task: t0\n")
    base.define(lanes[2])
    say(base.sql("select kind, number, name from sched_name") == [
        ["group", 1, "g"], ["lane", 1, "disk"], ["lane", 2, "net"], ["machine", 1, "m1"],
        ["machine", 2, "m2"]], "names have numbers", base.sql("select * from sched_name"))
    say(base.sql("select lane, grp, machine from sched_job where name = 't2'") == [[1, 1, 2]],
        "a name has the number it had")
    for name in ("t1", "t2"):
        base.act("stage", name)
    base.pretend()
    say(base.runs("t1") + base.runs("t2") == ["SUCCESS"] * 2, "each on its machine")
    base.verified("names")

with Base() as base:  # SQL
    base.define(task("load"))
    done = base.rota("sql", base.file, "INSERT INTO sched_job(name, command, condition, memory_mib,"
                     " run_days, start_times) VALUES ('a', 'true', 'su(load)', 512, 'mo', '10:00'),"
                     " ('b', 'exit 2', null, null, null, null)")
    say(done.returncode == 0, "an insert is a submission", done.stderr)
    say(base.sql("select condition, memory_mib, on_demand, status from sched_job where name = 'a'")
        == [["su(1.1)", 512, 1, "IDLE"]], "with all that a definition has")
    say(base.rota("sql", base.file, "update sched_job set command = 'exit 3', cores = 2 where"
                  " name = 'b'").returncode == 0, "an update is one")
    base.act("stage", "b")
    base.pretend()
    say(base.sql("select exit from sched_history") == [[3]], "the changed command runs")
    say(base.rota("sql", base.file, "delete from sched_job where name = 'b'").returncode == 0
        and base.status("b") is None, "a delete is one")
    say(base.sql("select pow(2, 10), round(sin(1), 6), round(atan2(1, 2), 6), sqrt(16), mod(7, 4),"
                 " floor(-1.5), ceil(1.5), trunc(-1.5), round(exp(1), 6), round(ln(10), 6),"
                 " round(log10(1000), 6), log2(8)")
        == [[1024, 0.841471, 0.463648, 4, 3, -2, 2, -1, 2.718282, 2.302585, 3, 3]],
        "queries know mathematics", base.sql("select pow(2, 10), mod(7, 4)"))
    before = base.dump()
    for sql, words in [
            ("insert into sched_job(name, command) values ('load', 'x')", "already"),
            ("insert into sched_job(name) values ('x')", "has no command"),
            ("insert into sched_job(command) values ('x')", "a definition needs a name"),
            ("insert into sched_job(name, command) values ('x', 'a' || char(10) || 'b')",
             "line break"),
            ("insert into sched_job(name, command) values ('x\ninsert_task: y', 'true')",
             "line break"),
            ("insert into sched_job(name, command, zone) values ('x', 'y', '#')",
             "must not contain #"),
            ("insert into sched_job(name, command, cron) values ('x', 'y', '61 * * * *')", "cron"),
            ("insert into sched_job(name, command, status) values ('x', 'y', 'READY')", "status"),
            ("insert into sched_history values (1)", "only definitions in sched_job"),
            ("update sched_job set name = 'y'", "cannot be renamed"),
            ("update sched_job set kind = 'bundle'", "the type of a task cannot be changed"),
            ("delete from sched_job where name = 'load'", "is needed by a"),
            ("delete from sched_job; select 1", "only one statement"),
            ("delete from before", "only definitions"),
            ("with x as (select 1) insert into sched_job(name) select 'x'", "more than read"),
            ("create table x(y)", "more than read"),
            ("attach 'x' as y", "more than read"),
    ]:
        done = base.rota("sql", base.file, sql)
        say(done.returncode == 2 and words in done.stderr and base.dump() == before,
            f"refused: {words}: {sql!r}", done.stderr)
    base.verified("SQL")



def until(question):
    """Waits for what another process does."""
    deadline = time.monotonic() + 120
    while not question() and time.monotonic() < deadline:
        time.sleep(0.05)
    return question()


with Base() as base:  # beside an allocator
    base.define(task("long", command="sleep 1000"))
    with subprocess.Popen([ROTA, "allocator", "--pretend", "--db", base.file],
                          stdout=subprocess.PIPE, text=True) as process:
        done = base.define(task("late"))
        say(done.returncode == 0, "definitions can be made beside an allocator", done.stderr)
        base.act("stage", "late")
        say(process.stdout.readline().endswith("ended late SUCCESS\n")
            and base.runs("late") == ["SUCCESS"], "which has stored what it says")
        process.send_signal(signal.SIGTERM)
        say(process.wait(120) == 0, "and ends on TERM")
    with subprocess.Popen([ROTA, "allocator", "--pretend", "--db", base.file],
                          stdout=subprocess.DEVNULL) as process:
        base.act("stage", "long")
        base.act("stage", "late")
        say(until(lambda: base.tables() == {"long": ["exec"]}), "one runs, one has ended")
        process.kill()
    say(base.status("long") == "RUNNING" and base.runs("late") == ["SUCCESS"] * 2,
        "kill -9 loses nothing")
    base.verified("a killed allocator")
    base.act("abort", "long")
    say(base.pretend() == [("ended", "long", "ABORTED")] and base.runs("long") == ["ABORTED"],
        "the next one resumes where it ended", base.dump())
    with subprocess.Popen([ROTA, "allocator", "--db", base.file, "--from", "2041-01-01", "--until",
                           "2042-01-01"]) as process:
        say(process.wait(120) == 0, "with nothing due it ends")
    base.verified("at the end")
Tap.end()
