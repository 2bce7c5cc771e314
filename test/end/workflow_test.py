#!/usr/bin/env python3
"""workflow_test - workflows through the real program: tables, conditions, bundles, manual actions
(WS)."""
from end import Base, Tap, callable_text as task

say = Tap.say

with Base() as base:  # WS-1
    base.define(task("one"))
    say(base.status("one") == "IDLE" and not base.tables(), "WS-1: defined is idle, in no table")
    base.act("stage", "one")
    say(base.tables() == {"one": ["ready"]}, "WS-1: staged is in sched_ready", base.tables())
    lines = base.pretend()
    say(lines == [("ended", "one", "SUCCESS")], "WS-1: it runs once", lines)
    say(not base.tables() and base.status("one") == "SUCCESS", "WS-1: the tables are empty")
    words = " ".join(row[0] for row in base.sql("select lines from sched_event"))
    seen = [word for word in ("OFFERED", "ASSIGNED", "SUCCESS") if word in words]
    say(seen == ["OFFERED", "ASSIGNED", "SUCCESS"], "WS-1: the journal has its way", words)
    say(base.runs("one") == ["SUCCESS"], "WS-1: one row of history")
    base.verified("WS-1")

with Base() as base:  # WS-2, WS-3
    base.define(task("b", "condition: su(a)") + task("a", command="exit 4"))
    base.act("stage", "b")
    say(base.tables() == {"b": ["wait"]}, "WS-2: it waits for what never ran", base.tables())
    base.act("stage", "a")
    say(base.tables() == {"a": ["ready"], "b": ["wait"]}, "WS-2: it waits while the other is due")
    base.pretend()
    say(base.status("a") == "FAILED" and base.tables() == {"b": ["wait"]},
        "WS-3: a failure leaves it waiting", base.tables())
    base.act("green", "a")
    say(base.tables() == {"b": ["ready"]}, "WS-2: success makes it ready", base.tables())
    base.pretend()
    say(base.runs("b") == ["SUCCESS"], "WS-3: it runs in the end", base.runs("b"))
    base.verified("WS-3")

with Base() as base:  # WS-4
    base.define(task("a") + task("c") + task("b", "condition: su(a) & su(c)"))
    for name in "ba":
        base.act("stage", name)
    base.pretend()
    say(base.tables() == {"b": ["wait"]}, "WS-4: one of two is not enough", base.tables())
    base.act("stage", "c")
    base.pretend()
    say(base.runs("b") == ["SUCCESS"] and not base.tables(), "WS-4: both are, once")

with Base() as base:  # WS-6, WS-23
    base.define(task("a", command="sleep 1000") + task("b", "condition: nr(a)"))
    base.act("stage", "a")
    base.act("stage", "b")
    say(base.tables() == {"a": ["ready"], "b": ["wait"]}, "WS-6: nr waits while it is staged")
    base.pretend()
    say(base.tables() == {"a": ["exec"], "b": ["wait"]}, "WS-6: nr waits while it runs",
        base.tables())
    done = base.act("start", "a")
    say(done.returncode == 2 and "active" in done.stderr, "WS-21: start on RUNNING is an error")
    for word in ("green", "red", "reset", "freeze"):
        done = base.act(word, "a")
        say(done.returncode == 2 and "not possible while the task is active" in done.stderr,
            f"WS-21: {word} on RUNNING is an error", done.stderr)
    for action in ("update_task: a\n    cores: 2\n", "delete_task: a\n"):
        done = base.define(action)
        say(done.returncode == 2 and "not possible while task" in done.stderr,
            "an active task cannot be changed", done.stderr)
    base.act("abort", "a")
    say(base.tables()["a"] == ["exec"], "WS-23: what runs has to stop first")
    base.pretend()
    say(base.status("a") == "ABORTED" and base.runs("a") == ["ABORTED"], "WS-23: it is aborted")
    say(base.runs("b") == ["SUCCESS"], "WS-6: an abort makes nr true", base.tables())
    base.verified("WS-6")

with Base() as base:  # WS-7
    base.define(task("a", command="exit 1") + task("b", "condition: fa(a)"))
    base.act("stage", "b")
    base.act("stage", "a")
    base.act("abort", "a")
    say(base.tables() == {"b": ["wait"]}, "WS-7: fa is not true of an abort", base.tables())
    base.act("green", "a")
    say(base.tables() == {"b": ["wait"]}, "WS-7: nor of success")
    base.act("stage", "a")
    base.pretend()
    say(base.runs("b") == ["SUCCESS"], "WS-7: it is of a failure", base.tables())

with Base() as base:  # WS-9
    base.define(task("a") + task("b") + task("c")
                + task("left", "condition: su(a) | su(b) & su(c)")
                + task("paren", "condition: su(a) | (su(b) & su(c))")
                + "".join(task(f"t{i}") for i in range(1, 8))
                + task("long", "condition: su(t1)|(((su(t2)&su(t3)|fa(t4))|nr(t5))|nr(t6))&su(t7)"))
    for word, name in (("green", "a"), ("red", "b"), ("red", "c"), ("stage", "left"),
                       ("stage", "paren"), ("stage", "long")):
        base.act(word, name)
    say(base.tables() == {"left": ["wait"], "long": ["wait"], "paren": ["ready"]},
        "WS-9: conditions are read from left to right", base.tables())
    base.act("green", "t7")
    say(base.tables()["long"] == ["ready"], "WS-9: a long condition", base.tables())

with Base() as base:  # WS-10
    conditions = {3: "su(t1)", 4: "su(t2)", 5: "su(t3) & su(t4)", 6: "su(t5)"}
    text = "insert_task: B\n    type: bundle\n"
    for i in range(1, 7):
        keys = [f"condition: {conditions[i]}"] if i in conditions else []
        text += task(f"t{i}", "parent: B", *keys)
    base.define(text)
    base.act("stage", "B")
    say(len(base.tables()) == 6 and base.status("B") == "RUNNING",
        "WS-10: all six are staged together", base.tables())
    say(base.tables()["t1"] == ["ready"] and base.tables()["t6"] == ["wait"],
        "WS-10: as their conditions say")
    lines = base.pretend()
    say(lines[-2:] == [("ended", "t6", "SUCCESS"), ("ended", "B", "SUCCESS")],
        "WS-10: the bundle ends with the last", lines)
    say(not base.sql("select * from sched_stage"), "WS-10: and leaves the stage")
    done = base.define("update_task: t1\n    cores: 2\n")
    say(done.returncode == 0 and base.status("t6") == "SUCCESS",
        "an update keeps the last status of all that comes along", done.stderr)
    base.act("stage", "B")
    base.pretend()
    say(base.runs("t6") == ["SUCCESS"] * 2, "the changed bundle runs")
    base.verified("WS-10")

with Base() as base:  # WS-11
    base.define("insert_task: B\n    type: bundle\n" + task("a", "parent: B", command="exit 1")
                + task("b", "parent: B", command="sleep 60"))
    base.act("stage", "B")
    base.pretend()
    say((base.status("a"), base.status("b"), base.status("B")) == ("FAILED", "RUNNING", "RUNNING"),
        "WS-11: a bundle runs while a member does")
    base.act("abort", "b")
    base.pretend()
    say(base.status("B") == "FAILED", "WS-11: and has failed with one of them")

with Base() as base:  # WS-14
    base.define("insert_task: E\n    type: bundle\n")
    base.act("stage", "E")
    say(base.status("E") == "SUCCESS", "WS-14: an empty bundle succeeds", base.status("E"))
    before = base.dump()
    done = base.define("insert_task: N\n    type: bundle\n    parent: E\n")
    say(done.returncode == 2 and "a bundle cannot have parent" in done.stderr
        and base.dump() == before, "WS-14: a bundle in a bundle is refused", done.stderr)

with Base() as base:  # WS-15
    base.define(task("a"))
    base.act("stage", "a")
    done = base.act("stage", "a")
    say(done.returncode == 2 and len(base.sql("select * from sched_stage")) == 1,
        "WS-15: what is staged is not staged again", done.stderr)
    base.pretend()
    say(base.act("stage", "a").returncode == 0, "WS-15: a finished one may be")
    base.act("abort", "a")
    say(base.status("a") == "ABORTED" and not base.tables(), "WS-23: what waits is aborted at once")

with Base() as base:  # WS-21
    base.define(task("a") + task("b", "condition: su(a)") + task("c", "condition: fa(a)"))
    done = base.act("start", "b")
    say(base.tables() == {"b": ["ready"]}, "WS-21: start goes past the condition", done.stderr)
    base.act("stage", "c")
    base.act("red", "a")
    say(base.tables() == {"b": ["ready"], "c": ["ready"]},
        "WS-21: red releases the tasks that wait for it")
    base.act("reset", "a")
    say(base.status("a") == "IDLE", "WS-21: reset")
    base.act("freeze", "a")
    say(base.status("a") == "FROZEN", "WS-21: freeze")
    done = base.act("stage", "a")
    say(done.returncode == 2 and "frozen" in done.stderr, "WS-21: frozen does not run")
    done = base.act("green", "nobody")
    say(done.returncode == 2 and "no such task: nobody" in done.stderr, "a name must be there",
        done)
    base.verified("WS-21")
Tap.end()
