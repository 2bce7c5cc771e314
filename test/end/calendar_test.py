#!/usr/bin/env python3
"""calendar_test - calendars over days of virtual time: staged tasks, and their rows in the
database."""
from end import Base, Tap, callable_text as task

say = Tap.say

with Base() as base:  # 2040-03-19 is a Monday, and Europe changes its clocks on the 25th
    base.define(task("late", "start_times: 23:59")
                + task("window", "run_window: 22:00-02:00", "start_mins: 20")
                + task("monday", "run_days: mo", "start_times: 10:00")
                + task("berlin", "start_times: 02:30", "zone: Europe/Berlin")
                + task("beat", "cron: @hourly", "zone: Europe/Berlin")
                + "insert_task: shift\n    type: bundle\n    run_days: fr\n    start_times: 08:00\n"
                + task("member", "parent: shift")
                + task("never", "cron: 0 0 30 2 *") + task("manual"))
    fired = base.week("2040-03-19T00:00:00", "2040-03-25T23:59:59")
    times = {}
    for at, name in fired:
        times.setdefault(name, []).append(at)
    say(times["late"] == [f"2040-03-{day}T23:59" for day in range(19, 26)],
        "WS-22: 23:59 fires every day", times["late"])
    nights = [f"2040-03-{day}T{hour}:20" for day in range(19, 26) for hour in ("00", "01", "22",
                                                                              "23")]
    say(times["window"] == nights, "WS-22: a window across midnight", times["window"])
    say(times["monday"] == ["2040-03-19T10:00"], "WS-22: monday is no other day", times["monday"])
    say(times["berlin"] == [f"2040-03-{day}T01:30" for day in range(19, 25)] + ["2040-03-25T01:00"],
        "a time that is left out fires after the jump", times["berlin"])
    say(len(times["beat"]) == 7 * 24 and len(set(times["beat"])) == 7 * 24,
        "a beat fires every hour, once", len(times["beat"]))
    say(times["shift"] == ["2040-03-23T08:00"], "a bundle has a calendar", times["shift"])
    say("never" not in times and "manual" not in times and "member" not in times,
        "others do not fire", list(times))
    say(len(set(fired)) == len(fired), "WS-22: no second firing in one minute")
    rows = dict(base.sql("select j.name, count(*) from sched_history h join sched_job j"
                         " on j.id = h.id group by 1"))
    counts = {name: len(at) for name, at in times.items() if name != "shift"} | {"member": 1}
    say(rows == counts, "the history has every firing, and nothing else", rows)
    say(not base.sql("select * from sched_stage"), "nothing is left in the tables")
    again = base.week("2040-03-25T23:59:10", "2040-03-25T23:59:50")
    say(not again, "another allocator in the same minute fires nothing", again)
    autumn = base.week("2040-10-27T12:00:00", "2040-10-29T00:00:00")
    say([at for at, name in autumn if name == "berlin"]
        == ["2040-10-28T00:30"],
        "a time that comes twice fires the first time", autumn)
    hours = [at for at, name in autumn if name == "beat" and "10-28T0" in at]
    say(hours == [f"2040-10-28T0{hour}:00" for hour in (0, 2, 3, 4, 5, 6, 7, 8, 9)],
        "a beat fires once in the hour that comes twice", hours)
    base.verified("a week")

with Base() as base:  # overlap: each run takes 150 s
    base.define(task("skip", "cron: * * * * *", command="sleep 150")
                + task("queue", "cron: * * * * *", "overlap: queue", command="sleep 150"))
    fired = base.week("2041-01-01T00:00:00", "2041-01-01T00:09:59")
    skip = [at[-5:] for at, name in fired if name == "skip"]
    queue = [at[-5:] for at, name in fired if name == "queue"]
    say(skip == ["00:00", "00:03", "00:06", "00:09"], "skip drops what comes while it runs", skip)
    say(queue == ["00:00", "00:03", "00:06", "00:09"], "queue keeps one for later", queue)
    say(base.sql("select count(*) from sched_stage") == [[2]], "WS-15: never staged twice")
    waits = dict(base.sql("select name, remembered is not null from sched_define"))
    say(waits["skip"] == 0, "a dropped firing is not remembered", waits)
    base.verified("overlap")

with Base() as base:  # a firing that came once while it ran
    base.define(task("queue", "start_times: 00:00,00:01", "overlap: queue", command="sleep 90"))
    fired = base.week("2041-01-01T00:00:00", "2041-01-01T00:30:00")
    say([at[-5:] for at, _ in fired] == ["00:00", "00:02"], "queue runs it after the end", fired)

with Base() as base:  # down for a while
    base.define(task("skip", "start_times: 06:00") + task("once", "start_times: 06:00",
                                                          "catch_up: once"))
    base.week("2041-01-01T00:00:00", "2041-01-01T12:00:00")
    fired = base.week("2041-01-04T12:00:30", "2041-01-05T12:00:00")
    say([row for row in fired if row[1] == "once"]
        == [("2041-01-04T12:00", "once"), ("2041-01-05T06:00", "once")],
        "catch_up: one run makes up for all", fired)
    say([row for row in fired if row[1] == "skip"] == [("2041-01-05T06:00", "skip")],
        "catch_up: skip leaves them out", fired)
    fired = base.week("2041-01-02T00:00:00", "2041-01-03T00:00:00")
    say(not fired, "a clock that goes back fires nothing twice", fired)

with Base() as base:  # frozen
    base.define(task("a", "cron: * * * * *"))
    base.act("freeze", "a")
    say(not base.week("2041-01-01T00:00:00", "2041-01-01T00:05:00"), "frozen does not fire")
    base.act("reset", "a")
    fired = base.week("2041-01-01T01:00:00", "2041-01-01T01:01:30")
    say(len(fired) == 2, "and does when it is released", fired)
Tap.end()
