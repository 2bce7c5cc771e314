#!/usr/bin/env python3
"""worker_test - `rota worker` runs and reports the tasks that a server sends."""
import os
import time

from cluster import seconds_marked
from kill import killer_make
from wire import WIRE
from workers import PATIENCE, Cluster, Gone, check, run_tests, same, test


# ---- Running -----------------------------------------------------------------------------------

@test
def a_command_is_run_and_reported():
    with Cluster() as cluster:
        peer = cluster.join("--memory", "2G", "--machine", "m7")
        same("GREET: the role", peer.greet["role"], WIRE["WORKER"])
        same("GREET: the name", peer.greet["name"], b"w1")
        join = peer.joined
        same("JOIN: what it has", (join["cores"], join["memory_mib"], join["machine"]),
             (2, 2048, b"m7"))
        same("JOIN: nothing was given", join["attempts"], [])
        peer.run(1, f"echo hello; echo $ROTA_TOKEN >{cluster.file('token')}; exit 3", token=77)
        started = peer.expect("STARTED", task=(1, 1), attempt=1)
        check("STARTED has a process", started["pid"] > 0)
        done = peer.finished(1)
        same("FINISHED: how it ended", (done["end"], done["status"]), (WIRE["EXITED"], 3))
        same("FINISHED: the token", done["token"], 77)
        same("the token is in its environment", cluster.read("token"), "77\n")
        peer.recorded(1)
        peer.run(2, "no-such-command-anywhere")
        same("a shell that finds nothing", peer.finished(2)["status"], 127)
        peer.send("RUN", task=(1, 3), attempt=1, argv=["no-such-command"], cwd="/")
        done = peer.finished(3)
        same("a command that is not there", done["end"], WIRE["NOT_STARTED"])
        check("with a reason", b"no-such-command" in done["reason"], done)


@test
def logs_come_in_pieces():
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, "head -c 150000 /dev/zero | tr '\\0' x; echo end")
        peer.finished(1)
        whole, raw, sizes = 0, b"", []
        while not whole and len(sizes) < 10:
            peer.send("LOG", request=5, task=(1, 1), attempt=1, offset=len(raw))
            logged = peer.expect("LOGGED", request=5, offset=len(raw))
            raw, whole = raw + logged["bytes"], logged["whole"]
            sizes.append(len(logged["bytes"]))
        same("the whole log", raw, b"x" * 150000 + b"end\n")
        check("in pieces of at most 64 KiB", max(sizes) <= 65536 and len(sizes) > 2, sizes)
        peer.send("LOG", request=6, task=(1, 1), attempt=1, offset=149999)
        same("from any place", peer.expect("LOGGED", request=6)["bytes"], b"xend\n")
        peer.send("LOG", request=7, task=(9, 9), attempt=1, offset=0)
        logged = peer.expect("LOGGED", request=7)
        same("of a task that is not known", (logged["bytes"], logged["whole"]), (b"", 1))
        go = cluster.file("go")
        peer.run(2, f"echo one; until test -e {go}; do sleep 0.02; done; echo two")
        peer.expect("STARTED", task=(1, 2))
        raw, end = b"", time.monotonic() + PATIENCE
        while not raw and time.monotonic() < end:
            peer.send("LOG", request=8, task=(1, 2), attempt=1, offset=0)
            logged = peer.expect("LOGGED", request=8)
            raw = logged["bytes"]
        same("of a command that runs", (raw, logged["whole"]), (b"one\n", 0))
        open(go, "w", encoding="utf-8").close()
        peer.finished(2)
        peer.send("LOG", request=9, task=(1, 2), attempt=1, offset=4)
        logged = peer.expect("LOGGED", request=9)
        same("and of the rest", (logged["bytes"], logged["whole"]), (b"two\n", 1))


@test
def objects_are_reported_again():
    with Cluster() as cluster:
        peer = cluster.join()
        output = {"kind": WIRE["FILE"], "name": "out", "object": (5, 6)}
        other = {"kind": WIRE["FILE"], "name": "more", "object": (5, 7)}
        peer.run(1, "echo 12345 >out; echo 1 >more", flags=WIRE["RUN_PRIVATE"], cwd="",
                 outputs=[output, other])
        done = peer.finished(1)
        same("its outputs", sorted((row["object"], row["bytes"]) for row in done["outputs"]),
             [((5, 6), 6), ((5, 7), 2)])
        peer.recorded(1)
        peer.close()
        peer = cluster.accept().welcome()
        held = peer.expect("HELD")["objects"]
        same("HELD on the next connection", sorted((row["object"], row["bytes"]) for row in held),
             [((5, 6), 6), ((5, 7), 2)])
        peer.send("DROP", objects=[{"object": (5, 7)}])
        peer.run(2, "true")
        peer.finished(2)
        peer.recorded(2)
        cluster.term()
        same("TERM", cluster.ended(), 0)
        peer = cluster.join()
        same("HELD by the next agent", [row["object"] for row in peer.expect("HELD")["objects"]],
             [(5, 6)])
        peer.send("FETCH", object=(1, 1), bytes=5, addresses=["x:1"], ticket="t")
        same("a failed fetch is reported", peer.expect("MISSED")["object"], (1, 1))


@test
def the_same_run_twice_runs_once():
    with Cluster() as cluster:
        peer = cluster.join()
        script = f"echo x >>{cluster.file('ran')}; sleep 0.2"
        for _ in range(3):
            peer.run(1, script)
        peer.finished(1)
        peer.recorded(1)
        peer.run(1, script)
        peer.run(2, "true")
        peer.finished(2)
        check("one report", peer.none("FINISHED"))
        same("one run", cluster.read("ran"), "x\n")


@test
def an_older_attempt_of_a_task_is_killed_first():
    with Cluster() as cluster:
        peer = cluster.join()
        pid, sleeps = cluster.file("pid"), seconds_marked(1000)
        peer.run(1, f"trap '' TERM; echo $$ >{pid}; sleep {sleeps}")
        cluster.wait_for("pid")
        peer.expect("STARTED", attempt=1)
        mark = f"[{sleeps[0]}]{sleeps[1:]}"  # which the process that looks for it has not
        peer.run(1, f"grep -l '{mark}' /proc/[0-9]*/cmdline 2>/dev/null | wc -l"
                    f" >{cluster.file('left')}", attempt=2)
        first = peer.finished(1, attempt=1)
        same("the first is stopped", (first["end"], first["token"]), (WIRE["STOPPED"], 11))
        same("the second runs", peer.finished(1, attempt=2)["end"], WIRE["EXITED"])
        same("after it", cluster.read("left"), "0\n")


# ---- Reports -------------------------------------------------------------------------------------

@test
def a_report_is_sent_until_it_is_recorded():
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, "exit 4")
        peer.finished(1)
        for round_number in range(2):
            peer.close()
            before = peer.greet
            peer = cluster.accept().welcome()
            same(f"JOIN {round_number}: it is listed", peer.listed(),
                 {(1, 1): (11, WIRE["ATTEMPT_SPOOLED"])})
            check("the number of the connection has grown",
                  peer.greet["connection"] > before["connection"])
            same("the boot is the same", peer.greet["boot"], before["boot"])
            same("and its end is sent again", peer.finished(1)["status"], 4)
        peer.recorded(1, how=["NOW_RECORDED", "WAS_RECORDED", "IS_STALE"][2])
        peer.run(2, "true")
        peer.finished(2)
        peer.close()
        peer = cluster.accept().welcome()
        same("then no more", list(peer.listed()), [(2, 1)])
        peer.finished(2)
        check("nor told", peer.none("FINISHED"))


@test
def reports_survive_the_agent():
    with Cluster() as cluster:
        peer = cluster.join()
        for task in range(1, 21):
            peer.run(task, f"exit {task}")
        for task in range(1, 21):
            peer.finished(task)
        for task in range(1, 11):
            peer.recorded(task)
        peer.run(21, "true")
        peer.finished(21)
        peer.recorded(21)
        peer.run(22, "true")
        peer.finished(22)
        cluster.kill()
        peer_before = peer
        peer = cluster.join()
        check("another boot", peer.greet["boot"] != peer_before.greet["boot"])
        check("a larger connection", peer.greet["connection"] > peer_before.greet["connection"])
        missing = {(task, 1) for task in [*range(11, 21), 22]} - set(peer.listed())
        same("all that was not recorded is listed", missing, set())
        for task in range(11, 21):
            same(f"the end of task {task} is sent", peer.finished(task)["status"], task)


@test
def a_kill_at_any_moment_loses_no_report():
    with Cluster() as cluster:
        told, lost = set(), set()
        for life in range(12):
            peer = cluster.join()
            lost |= told - {task for task, _ in peer.listed()}
            first = 100 * life + 1
            for task in range(first, first + 30):
                peer.run(task, "true")
            end = time.monotonic() + 0.01 + 0.01 * life
            while time.monotonic() < end:
                try:
                    told.add(peer.expect("FINISHED", seconds=0.01)["task"][1])
                except TimeoutError:
                    pass
            cluster.kill()
            peer.wait_closed()
            told |= {fields["task"][1] for kind, fields in peer.came if kind == "FINISHED"}
        check("something was told", told)
        same("and the next one sends it", lost, set())


def life_until_killed(cluster, first):
    """Gives six tasks, one after the other; those that were told, and of them, recorded."""
    told, recorded = set(), set()
    peer = cluster.accept_alive()
    try:
        if peer:
            peer.welcome()
        for task in range(first, first + 6 if peer else first):
            peer.run(task, "true")
            peer.finished(task)
            told.add(task)
            if task % 2:
                peer.recorded(task)
                recorded.add(task)
    except (Gone, OSError):
        pass
    return told, recorded


@test
def a_kill_before_any_write_or_sync_loses_no_report():
    with Cluster() as cluster:
        killer = killer_make(cluster.path)
        lost, when, killed = set(), 0, True
        while killed and when < 100:
            when += 1
            cluster.start(LD_PRELOAD=killer, KILL_AT=str(when),
                          ASAN_OPTIONS="verify_asan_link_order=0:detect_leaks=0")
            told, recorded = life_until_killed(cluster, 100 * when)
            killed = cluster.process.poll() is not None or cluster.ends_by_itself()
            if not killed:
                cluster.kill()
            peer = cluster.join()
            listed = {task for task, _ in peer.listed()}
            lost |= told - recorded - listed
            for task in listed:
                peer.finished(task)
                peer.recorded(task)
            cluster.term()
            cluster.ended()
        check("it was killed often", 10 < when < 100, when)
        same("and nothing was lost", lost, set())


@test
def a_broken_spool_is_put_aside():
    with Cluster() as cluster:
        peer = cluster.join()
        for task in (1, 2):
            peer.run(task, "true")
            peer.finished(task)
        cluster.kill()
        spool = os.path.join(cluster.folder, "spool")
        with open(spool, "r+b") as file:
            file.seek(60)
            file.write(b"????")
        same("it does not start", cluster.start().wait(timeout=PATIENCE), 70)
        check("and says why", "is damaged at byte 32 and was moved to spool.damaged-1"
              in cluster.said(), cluster.said())
        check("the file is kept", os.path.exists(spool + ".damaged-1"))
        same("then it starts without", cluster.join().listed(), {})


@test
def another_database_gets_no_reports():
    with Cluster() as cluster:
        peer = cluster.join(server=1)
        go = cluster.file("go")
        peer.run(1, f"until test -e {go}; do sleep 0.02; done")
        peer.expect("STARTED")
        peer.close()
        peer = cluster.accept()
        try:
            peer.welcome(server=2)
            check("another server is not joined while commands run", False)
        except Gone:
            check("another server is not joined while commands run", True)
        peer = cluster.accept().welcome(server=1)
        same("their own is", list(peer.listed()), [(1, 1)])
        open(go, "w", encoding="utf-8").close()
        peer.finished(1)
        peer.close()
        peer = cluster.accept().welcome(server=2)
        same("later the other one is, and hears nothing of it", peer.listed(), {})
        check("the reports are kept", os.path.exists(cluster.folder + "/spool.foreign-1"))


run_tests()
