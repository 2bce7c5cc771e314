#!/usr/bin/env python3
"""partition_test - workers whose network fails: one way, both ways, completely, or now and then.

Each worker is a network namespace. Commands of a group hold a lock: a command that finds it taken
reports that, and that must never happen, with any fault of the network.
"""
import os
import time

from cluster import processes_with
from end import Tap
from net import Net, NetCluster, refusal

say = Tap.say
FAULTS = {"deaf": {"come": "drop"}, "mute": {"go": "drop"},
          "apart": {"come": "drop", "go": "drop"}, "down": None}

# The first attempt never ends by itself; later ones end at once.
HOLD = ("exec 9> {0}/group.{1} 8> {0}/class.{1}; flock -n 9 && flock -n 8 || echo {1} >> {0}/clash;"
        " echo $ROTA_ATTEMPT $ROTA_TOKEN >> {0}/held.{1};"
        " [ $ROTA_ATTEMPT -gt 1 ] || exec sleep 1000.{2}")
# Ends while it is cut off; the second attempt waits until the first is reported.
FREE = ("echo $ROTA_ATTEMPT >> {0}/freed.{1}; wait_for() {{ while [ ! -e {0}/$1 ]; do sleep 0.1;"
        " done; }}; if [ $ROTA_ATTEMPT = 1 ]; then wait_for cut; else wait_for healed; fi")
# Must not begin while a writer of its lane is alive.
READ = ("exec 8> {0}/class.{1}; flock -n -s 8 || echo {1} >> {0}/clash; wc -l < {0}/held.{1}"
        " > {0}/read.{1}")
SHORT = ("exec 9> {0}/group.{1}; flock -n 9 || echo {1} >> {0}/clash; sleep 0.0{2};"
         " echo {3} >> {0}/done")


def shell(script, *values):
    return ["sh", "-c", script.format(*values)]


def grouped(script, group, *values, lane="line", access="write"):
    return {"run": shell(script, *values), "lane": lane, "group": group, "access": access}


def statuses(cluster, name):
    return [status for task, status in cluster.ends() if task == name]


def begin_on(cluster, name):
    """One more worker, with a command that holds a group and one that holds nothing."""
    cluster.work(name, 2)
    tasks = {f"hold-{name}": grouped(HOLD, name, cluster.folder, name, os.getpid(), lane=name),
             f"free-{name}": {"run": shell(FREE, cluster.folder, name)},
             f"read-{name}": grouped(READ, "readers", cluster.folder, name, lane=name,
                                     access="read")}
    cluster.submit(tasks, lanes={name: {}})
    cluster.until(lambda: cluster.read(f"held.{name}") and cluster.read(f"freed.{name}"),
                  f"both run on {name}")


def cut_off(net, name):
    fault = FAULTS[name]
    if fault is None:
        net.down(name)
    else:
        net.fault(name, **fault)


def handed_on(cluster, name):
    """Checks the marks of this worker's task after another worker has taken over."""
    held = [line.split() for line in cluster.read(f"held.{name}").splitlines()]
    say([attempt for attempt, _ in held] == ["1", "2"],
        f"{name}: what held a group runs on another worker", held)
    say(int(held[0][1]) < int(held[1][1]), f"{name}: with a larger token", held)
    say(name not in cluster.read("clash").split(),
        f"{name}: and not before the first process is dead")
    say(cluster.read(f"read.{name}").strip() == "2", f"{name}: a reader enters after both",
        cluster.read(f"read.{name}"))
    say(cluster.read(f"freed.{name}").split() == ["1", "2"],
        f"{name}: what holds nothing runs again too")


def recorded_once(cluster, name):
    say(statuses(cluster, f"hold-{name}") == ["LOST", "SUCCESS"],
        f"{name}: the first attempt of a group is lost, the second recorded", cluster.ends())
    say(statuses(cluster, f"free-{name}") == ["LOST", "SUCCESS"],
        f"{name}: a success that is reported too late counts for nothing", cluster.ends())


def cut_and_healed():
    """Four workers, four kinds of fault, at the same time; a fifth takes over."""
    with Net() as net, NetCluster(net, "--ahead", "0") as cluster:
        for name in FAULTS:
            begin_on(cluster, name)
        cluster.work("spare", 16)
        cluster.until(lambda: "connected to" in cluster.workers["spare"].said(), "a fifth joins")
        for name in FAULTS:
            cut_off(net, name)
        cluster.until(lambda: all("half a lease" in cluster.workers[name].said()
                                  for name in FAULTS), "all notice it")
        cluster.touch("cut")
        cluster.until(lambda: all(cluster.read(f"freed.{name}").split() == ["1", "2"]
                                  and cluster.read(f"read.{name}")
                                  for name in FAULTS), "all is handed on")
        say(not processes_with(f"1000.{os.getpid()}"),
            "all that held a group is dead while its worker is cut off")
        for name in FAULTS:
            handed_on(cluster, name)
        for name in FAULTS:
            net.heal(name)
        cluster.until(lambda: all(cluster.workers[name].said().count("connected to") >= 2
                                  for name in FAULTS), "all come back")
        cluster.until(lambda: cluster.sql("SELECT count(*) FROM sched_worker")[0][0] == 5,
                      "all five are known again")
        time.sleep(1)  # reports of the first attempts come, and are refused
        cluster.touch("healed")
        cluster.until(lambda: cluster.sql("SELECT count(*) FROM sched_stage")[0][0] == 0,
                      "all is done")
        for name in FAULTS:
            recorded_once(cluster, name)
        work_again(cluster)


def work_again(cluster):
    tasks = {f"t{i}": grouped(SHORT, f"s{i % 8}", cluster.folder, f"s{i % 8}", i % 5, i)
             for i in range(60)}
    done = cluster.submit(tasks, "--wait", lanes={"line": {}})
    say(done.returncode == 0, "healed, they work as before", done.stdout + cluster.told())
    say(sorted(map(int, cluster.read("done").split())) == list(range(60)), "each task once")
    used = {row[0] for row in cluster.sql("SELECT DISTINCT worker FROM sched_history h JOIN"
                                          " sched_job j USING (id) WHERE j.name LIKE 't%'")}
    say(len(used) >= 4, "on those that were cut off too", used)
    say(cluster.read("clash") == "", "never two of one group at a time")


def packets_get_lost():
    """A quarter of all packets, both ways, on every machine."""
    with Net() as net, NetCluster(net, lease=6) as cluster:
        for name in ("one", "two", "three"):
            cluster.work(name, 2)
            net.loses(name, 25)
        tasks = {f"t{i}": grouped(SHORT, f"g{i % 3}", cluster.folder, f"g{i % 3}", i % 5, i)
                 for i in range(24)}
        tasks |= {f"make{i}": {"run": f"seq {i} 20000 > n{i}.txt", "out": [f"n{i}.txt"]}
                  for i in range(6)}
        tasks["sum"] = {"run": f"cat *.txt | wc -l > {cluster.path('sum')}",
                        "in": [f"n{i}.txt" for i in range(6)]}
        cluster.submit(tasks, lanes={"line": {}})
        cluster.until(lambda: cluster.sql("SELECT count(*) FROM sched_stage")[0][0] == 0,
                      "all is done", 120)
        fine = [name for name, status in cluster.ends() if status == "SUCCESS"]
        say(sorted(fine) == sorted(tasks), "with a quarter of all packets lost all succeed once",
            cluster.ends())
        say(cluster.read("sum").strip() == str(sum(20001 - i for i in range(6))),
            "and every byte of an object arrives", cluster.read("sum"))
        say(cluster.read("clash") == "", "with loss: never two of one group at a time")


def main():
    reason = refusal()
    for test in (cut_and_healed, packets_get_lost):
        if reason:
            Tap.skip(test.__name__, f"no network namespaces here: {reason}")
        else:
            test()
    Tap.end()


if __name__ == "__main__":
    main()
