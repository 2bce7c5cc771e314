#!/usr/bin/env python3
"""worker_test - `rota worker` against a server that does what these tests say."""
import os
import signal
import time

from end import Tap
from wire import WIRE
from workers import SECOND, Cluster, Gone

TESTS = []


def test(function):
    TESTS.append(function)
    return function


def same(what, got, expected):
    Tap.say(got == expected, what, f"{got!r} instead of {expected!r}")


def check(what, fine, note=""):
    Tap.say(bool(fine), what, note)


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
        raw, end = b"", time.monotonic() + 10
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
def objects_are_told_again():
    with Cluster() as cluster:
        peer = cluster.join()
        output = {"kind": WIRE["FILE"], "name": "out", "object": (5, 6)}
        other = {"kind": WIRE["FILE"], "name": "more", "object": (5, 7)}
        peer.run(1, "echo 12345 >out; echo 1 >more", flags=WIRE["RUN_PRIVATE"], cwd="",
                 outputs=[output, other])
        done = peer.finished(1)
        same("what it made", sorted((row["object"], row["bytes"]) for row in done["outputs"]),
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
        same("TERM", cluster.process.wait(timeout=20), 0)
        peer = cluster.join()
        same("HELD by the next agent", [row["object"] for row in peer.expect("HELD")["objects"]],
             [(5, 6)])
        peer.send("FETCH", object=(1, 1), bytes=5, addresses=["x:1"], ticket="t")
        same("what cannot be fetched is missed", peer.expect("MISSED")["object"], (1, 1))


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
        pid = cluster.file("pid")
        peer.run(1, f"trap '' TERM; echo $$ >{pid}; sleep 100")
        cluster.wait_for("pid")
        peer.expect("STARTED", attempt=1)
        peer.run(1, f"ps -e -o args= | grep -c '[s]leep 100' >{cluster.file('left')}; true",
                 attempt=2)
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
            same("and it is told again", peer.finished(1)["status"], 4)
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
            same(f"task {task} is told", peer.finished(task)["status"], task)


@test
def a_kill_at_any_moment_loses_nothing_that_was_told():
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
        same("and is told by the next", lost, set())


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
        same("it does not start", cluster.start().wait(timeout=20), 70)
        check("and says why", "is damaged at byte 32 and was put aside as spool.damaged-1"
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


# ---- A server that is away -----------------------------------------------------------------------

@test
def a_command_goes_on_without_a_server():
    with Cluster() as cluster:
        peer = cluster.join()
        go = cluster.file("go")
        wait = f"until test -e {go}; do sleep 0.02; done"
        peer.run(1, f"{wait}; exit 9")
        peer.expect("STARTED", task=(1, 1))
        peer.run(2, f"{wait}; exit 8")
        peer.expect("STARTED", task=(1, 2))
        peer.run(3, "exit 7")
        time.sleep(0.1)
        cluster.leave()
        time.sleep(0.5)
        cluster.listen()
        peer = cluster.accept().welcome()
        running, queued = WIRE["ATTEMPT_RUNNING"], WIRE["ATTEMPT_QUEUED"]
        same("JOIN lists what runs and what waits", peer.listed(),
             {(1, 1): (11, running), (2, 1): (21, running), (3, 1): (31, queued)})
        cluster.leave()
        open(go, "w", encoding="utf-8").close()
        time.sleep(0.5)
        cluster.listen()
        peer = cluster.accept().welcome()
        same("JOIN lists what has ended", {state for _, state in peer.listed().values()},
             {WIRE["ATTEMPT_SPOOLED"]})
        same("and it is reported", [peer.finished(task)["status"] for task in (1, 2, 3)],
             [9, 8, 7])


@test
def exclusive_commands_end_with_the_lease_and_others_do_not():
    with Cluster() as cluster:
        peer = cluster.join(lease=2 * SECOND)
        peer.run_exclusive(1, "trap '' TERM; sleep 100", peer.newest())
        peer.run(2, "sleep 100")
        peer.expect("STARTED", task=(1, 1))
        peer.expect("STARTED", task=(1, 2))
        time.sleep(2.5)
        check("BEATs that are answered keep it", peer.none("FINISHED", 0.1))
        peer.answers = False
        last, begin = peer.newest(), time.monotonic()
        cluster.leave()
        cluster.listen()
        peer = cluster.accept()
        peer.answers = False
        peer.welcome(lease=2 * SECOND)
        while True:
            try:
                done = peer.finished(1, seconds=10)
                break
            except Gone:  # it looks for a server that answers
                peer = cluster.accept()
                peer.answers = False
                peer.welcome(lease=2 * SECOND)
        took = time.monotonic() - begin
        same("the exclusive one is stopped", done["end"], WIRE["STOPPED"])
        check("with a reason", b"lease" in done["reason"], done["reason"])
        check("when the lease is over", 1.2 < took < 4, (took, last))
        check("the worker lives", cluster.process.poll() is None)
        peer.recorded(1)
        peer.close()
        peer = cluster.accept().welcome()
        same("the other one goes on", peer.listed(), {(2, 1): (21, WIRE["ATTEMPT_RUNNING"])})


@test
def commands_end_when_no_server_comes_for_too_long():
    with Cluster() as cluster:
        peer = cluster.join("--alone", "1s")
        peer.run(1, f"trap 'echo bye >{cluster.file('bye')}; exit' TERM; sleep 100 & wait")
        peer.expect("STARTED")
        cluster.leave()
        check("they get SIGTERM", cluster.wait_for("bye", 10))
        cluster.listen()
        same("and are reported", cluster.accept().welcome().finished(1)["end"], WIRE["STOPPED"])


@test
def an_exclusive_run_that_comes_late_is_refused():
    with Cluster() as cluster:
        peer = cluster.join(lease=2 * SECOND)
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        ran = cluster.file("ran")
        for task, beat in enumerate((0, now - 3 * SECOND, now + 60 * SECOND), 1):
            peer.run_exclusive(task, f"echo {task} >>{ran}", beat)
            done = peer.finished(task)
            same(f"refused {task}", (done["end"], done["token"]),
                 (WIRE["NOT_STARTED"], 10 * task + 1))
            check("with a reason", b"late" in done["reason"], done["reason"])
        check("nothing ran", not cluster.has("ran"))
        peer.run(4, "true", beat=now - 3 * SECOND)
        same("one that is not exclusive runs", peer.finished(4)["end"], WIRE["EXITED"])
        peer.run_exclusive(5, "true", peer.newest())
        same("one in time too", peer.finished(5)["end"], WIRE["EXITED"])


# ---- Being told to end ---------------------------------------------------------------------------

@test
def stop_stops():
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, "sleep 100")
        peer.run(2, "sleep 100")
        peer.run(3, "sleep 100")
        peer.expect("STARTED", task=(1, 2))
        peer.send("STOP", task=(1, 3), attempt=1, grace=0)
        same("what waits", peer.finished(3)["end"], WIRE["STOPPED"])
        peer.send("STOP", task=(1, 1), attempt=1, grace=SECOND)
        same("what runs", peer.finished(1)["end"], WIRE["STOPPED"])
        peer.send("STOP", task=(1, 2), attempt=9, grace=0)
        check("not another attempt", peer.none("FINISHED"))


@test
def drain_ends_what_waits_and_keeps_what_runs():
    with Cluster() as cluster:
        peer = cluster.join()
        go = cluster.file("go")
        for task in (1, 2, 3):
            peer.run(task, f"until test -e {go}; do sleep 0.02; done")
        peer.expect("STARTED", task=(1, 2))
        peer.send("DRAIN")
        done = peer.finished(3)
        same("what waits is told", (done["end"], done["token"]), (WIRE["NOT_STARTED"], 31))
        peer.run(4, "true")
        same("so is what comes", peer.finished(4)["end"], WIRE["NOT_STARTED"])
        open(go, "w", encoding="utf-8").close()
        same("what runs goes on", [peer.finished(task)["end"] for task in (1, 2)],
             [WIRE["EXITED"]] * 2)
        check("and the worker stays", cluster.process.poll() is None)


@test
def term_drains():
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, f"trap 'echo bye >{cluster.file('bye')}; exit 0' TERM; sleep 100 & wait")
        peer.run(2, "sleep 100")
        peer.run(3, "sleep 100")
        peer.expect("STARTED", task=(1, 2))
        time.sleep(0.2)
        cluster.term()
        for task in (1, 2, 3):
            same(f"{task} is stopped and told", peer.finished(task)["end"], WIRE["STOPPED"])
            peer.recorded(task)
        same("exit status", cluster.process.wait(timeout=20), 0)
        same("commands had time", cluster.has("bye"), True)
        same("nothing is left to tell", cluster.join().listed(), {})


@test
def a_second_term_kills():
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, "trap '' TERM; sleep 100")
        peer.expect("STARTED")
        time.sleep(0.2)
        begin = time.monotonic()
        cluster.term()
        check("it waits for the command", peer.none("FINISHED", 0.5))
        cluster.term()
        same("then no more", peer.finished(1)["end"], WIRE["STOPPED"])
        peer.recorded(1)
        same("exit status", cluster.process.wait(timeout=20), 0)
        check("at once", time.monotonic() - begin < 4)


@test
def term_without_a_server_keeps_the_reports():
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, "sleep 100")
        peer.expect("STARTED")
        cluster.leave()
        time.sleep(0.2)
        cluster.term()
        same("exit status", cluster.process.wait(timeout=20), 0)
        cluster.listen()
        peer = cluster.join()
        same("the next one tells", peer.finished(1)["end"], WIRE["STOPPED"])


@test
def quit_ends_the_worker():
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, "sleep 100")
        peer.expect("STARTED")
        peer.send("QUIT", grace=SECOND)
        same("what runs is stopped", peer.finished(1)["end"], WIRE["STOPPED"])
        peer.recorded(1)
        same("exit status", cluster.process.wait(timeout=20), 0)


# ---- What goes wrong -----------------------------------------------------------------------------

@test
def garbage_ends_the_connection_and_nothing_else():
    garbage = [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\0" * 64, b"\x02\0\0\0\x02\x00",
               b"\x01\0\0\0\xee"]
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, "sleep 100")
        peer.expect("STARTED")
        for raw in garbage:
            peer.link.socket.sendall(raw)
            check(f"{raw[:8]} closes it", peer.wait_closed())
            peer = cluster.accept()
            peer.link.socket.sendall(raw)
            check("before WELCOME too", peer.wait_closed())
            peer = cluster.accept().welcome()
            same("the command goes on", peer.listed(), {(1, 1): (11, WIRE["ATTEMPT_RUNNING"])})
        for kind in ("GREET", "JOIN", "FINISHED", "WELCOME", "ACCEPTED"):
            peer.send(kind)
            check(f"{kind} closes it", peer.wait_closed())
            peer = cluster.accept().welcome()
        peer.run(2, "true", attempt=0)
        check("attempt 0 closes it", peer.wait_closed())
        peer = cluster.accept().welcome()
        same("and still", list(peer.listed()), [(1, 1)])


@test
def a_welcome_that_makes_no_sense_is_none():
    with Cluster() as cluster:
        cluster.start()
        for values in ({"version": 9, "lease": SECOND, "beat": SECOND // 10},
                       {"version": 1, "lease": SECOND, "beat": SECOND},
                       {"version": 1, "lease": SECOND, "beat": 0}):
            peer = cluster.accept()
            peer.expect("GREET")
            peer.send("WELCOME", server=1, **values)
            check(f"{values}", peer.wait_closed())
        peer = cluster.accept()
        peer.expect("GREET")
        peer.send("REFUSE", code=WIRE["REFUSED_ROLE"], reason="go\x1baway")
        check("REFUSE", peer.wait_closed())
        cluster.accept().welcome()
        check("is told to people", "go?away" in cluster.said(), cluster.said())


@test
def no_process_survives_the_agent():
    for options in ((), ("--contain", "tree")):
        with Cluster() as cluster:
            peer = cluster.join(*options)
            peer.run(1, "trap '' TERM; sleep 100 & sleep 101")
            peer.run(2, "setsid sleep 102 & wait")
            peer.expect("STARTED", task=(1, 2))
            time.sleep(0.3)
            check("there are some", len(cluster.processes()) > 4, cluster.processes())
            cluster.kill()
            same(f"none is left {options}", cluster.wait_gone(5), [])
            same("and none is listed", cluster.join(*options).listed(), {})


@test
def a_lost_process_ends_the_worker():
    with Cluster() as cluster:
        peer = cluster.join("--contain", "tree")
        peer.run(1, "sleep 100")
        pid = peer.expect("STARTED")["pid"]
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            parent = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(parent, signal.SIGKILL)
        same("exit status", cluster.process.wait(timeout=20), 70)
        check("with a sentence", "ended unexpectedly" in cluster.said(), cluster.said())


@test
def a_worker_that_hangs_is_killed_with_all_exclusive_commands():
    with Cluster() as cluster:
        peer = cluster.join("--contain", "tree", lease=SECOND)
        peer.run_exclusive(1, "sleep 100", peer.newest())
        pid = peer.expect("STARTED")["pid"]
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            parent = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(parent, signal.SIGSTOP)  # it will do nothing that it is told
        peer.answers = False
        same("exit status", cluster.process.wait(timeout=20), 70)
        same("nothing is left", cluster.wait_gone(5), [])


@test
def two_workers_cannot_share_a_folder():
    with Cluster() as cluster:
        cluster.join()
        first = cluster.process
        same("the second one ends", cluster.start().wait(timeout=20), 70)
        check("with a reason", "another rota worker is at work" in cluster.said())
        cluster.process = first


@test
def servers_are_tried_in_turn():
    with Cluster() as first, Cluster() as second:
        first.leave()
        second.start("--server", f"{first.address},{second.address}")
        peer = second.accept().welcome()
        check("the one that is there is found", peer.open)
        second.leave()
        first.listen()
        peer = first.accept().welcome()
        check("and the other one later", peer.open)


@test
def bad_options_are_refused():
    with Cluster() as cluster:
        for words in (("--memory", "much"), ("--memory", "0G"), ("-j", "0"), ("--name", "a/b"),
                      ("--name", ".."), ("--contain", "box"), ("--alone", "soon"), ("extra",),
                      ("--server", "here"), ("--server", "/a,,/b"), ("--server", "host:1"),
                      ("--key", "/no/such/file"), ("--what",)):
            status = cluster.start(*words).wait(timeout=20)
            same(f"{' '.join(words)}", status, 2)
        check("each with a reason", "--memory takes a size" in cluster.said(), cluster.said())


def main():
    for function in TESTS:
        try:
            function()
        except (Gone, TimeoutError, OSError) as error:
            check(function.__name__, False, repr(error))
    Tap.end()


main()
