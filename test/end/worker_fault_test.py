#!/usr/bin/env python3
"""worker_fault_test - `rota worker` when its server is away, slow or broken, and when it must end.
"""
import errno
import fcntl
import os
import signal
import socket
import subprocess
import time

from end import ROTA, least
from wire import VERSION, WIRE
from workers import PATIENCE, SECOND, Cluster, Gone, check, run_tests, same, test


# ---- A server that is away -----------------------------------------------------------------------

@test
def a_command_continues_without_a_server():
    with Cluster() as cluster:
        peer = cluster.join()
        before = set(cluster.processes())
        go = cluster.file("go")
        wait = f"until test -e {go}; do sleep 0.02; done"
        peer.run(1, f"{wait}; exit 9")
        peer.expect("STARTED", task=(1, 1))
        peer.run(2, f"{wait}; exit 8")
        peer.expect("STARTED", task=(1, 2))
        peer.run(3, f"touch {cluster.file('third')}; exit 7")
        peer.send("LOG", request=1, task=(1, 3), attempt=1)
        peer.expect("LOGGED", request=1)  # so what was sent before has come, too
        cluster.leave()
        time.sleep(0.5)
        cluster.listen()
        peer = cluster.accept().welcome()
        running, queued = WIRE["ATTEMPT_RUNNING"], WIRE["ATTEMPT_QUEUED"]
        same("JOIN lists what runs and what waits", peer.listed(),
             {(1, 1): (11, running), (2, 1): (21, running), (3, 1): (31, queued)})
        cluster.leave()
        open(go, "w", encoding="utf-8").close()
        cluster.wait_for("third")
        cluster.until(lambda: set(cluster.processes()) <= before)
        cluster.listen()
        peer = cluster.accept().welcome()
        while running in {state for _, state in peer.listed().values()}:  # it hears of it just now
            cluster.leave()
            cluster.listen()
            peer = cluster.accept().welcome()
        same("JOIN lists what has ended", {state for _, state in peer.listed().values()},
             {WIRE["ATTEMPT_SPOOLED"]})
        same("and it is reported", [peer.finished(task)["status"] for task in (1, 2, 3)],
             [9, 8, 7])


def seconds_of_a_lease():
    """A lease of four seconds, when no server answers any more."""
    with Cluster() as cluster:
        peer = cluster.join(lease=4 * SECOND)
        peer.run_exclusive(1, "trap '' TERM; sleep 1000", peer.newest())
        peer.run(2, "sleep 1000")
        peer.expect("STARTED", task=(1, 1))
        peer.expect("STARTED", task=(1, 2))
        time.sleep(4.5)
        check("BEATs that are answered keep it", peer.none("FINISHED", 0.1))
        peer.answers = False
        begin = time.monotonic()
        cluster.leave()
        cluster.listen()
        peer = cluster.accept()
        peer.answers = False
        peer.welcome(lease=4 * SECOND)
        while True:
            try:
                done = peer.finished(1)
                break
            except Gone:  # it looks for a server that answers
                peer = cluster.accept()
                peer.answers = False
                peer.welcome(lease=4 * SECOND)
        took = time.monotonic() - begin
        same("the exclusive one is stopped", done["end"], WIRE["STOPPED"])
        check("with a reason", b"lease" in done["reason"], done["reason"])
        check("the worker lives", cluster.process.poll() is None)
        peer.recorded(1)
        peer.close()
        peer = cluster.accept().welcome()
        same("the other one continues", peer.listed(), {(2, 1): (21, WIRE["ATTEMPT_RUNNING"])})
        return took


@test
def exclusive_commands_end_with_the_lease_and_others_do_not():
    took = least(6, seconds_of_a_lease)
    check("when the lease has ended", 3.2 < took < 6, took)


@test
def commands_end_when_no_server_comes_for_too_long():
    with Cluster() as cluster:
        peer = cluster.join("--alone", "1s")
        peer.run(1, f"trap 'echo bye >{cluster.file('bye')}; exit' TERM;"
                    f" touch {cluster.file('waits')}; sleep 1000 & wait")
        peer.expect("STARTED")
        cluster.wait_for("waits")
        cluster.leave()
        check("they get SIGTERM", cluster.wait_for("bye"))
        cluster.listen()
        same("and are reported", cluster.accept().welcome().finished(1)["end"], WIRE["STOPPED"])


@test
def a_late_exclusive_run_is_refused():
    with Cluster() as cluster:
        peer = cluster.join(lease=4 * SECOND)
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000
        ran = cluster.file("ran")
        for task, beat in enumerate((0, now - 5 * SECOND, now + 600 * SECOND), 1):
            peer.run_exclusive(task, f"echo {task} >>{ran}", beat)
            done = peer.finished(task)
            same(f"refused {task}", (done["end"], done["token"]),
                 (WIRE["NOT_STARTED"], 10 * task + 1))
            check("with a reason", b"late" in done["reason"], done["reason"])
        check("nothing ran", not cluster.has("ran"))
        peer.run(4, "true", beat=now - 5 * SECOND)
        same("one that is not exclusive runs", peer.finished(4)["end"], WIRE["EXITED"])
        peer.run_exclusive(5, "true", peer.newest())
        same("one in time too", peer.finished(5)["end"], WIRE["EXITED"])


# ---- Being told to end ---------------------------------------------------------------------------

@test
def stop_stops():
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, "sleep 1000")
        peer.run(2, "sleep 1000")
        peer.run(3, "sleep 1000")
        peer.expect("STARTED", task=(1, 2))
        peer.send("STOP", task=(1, 3), attempt=1, grace=0)
        same("a waiting one", peer.finished(3)["end"], WIRE["STOPPED"])
        peer.send("STOP", task=(1, 1), attempt=1, grace=SECOND)
        same("a running one", peer.finished(1)["end"], WIRE["STOPPED"])
        peer.send("STOP", task=(1, 2), attempt=9, grace=0)
        check("not another attempt", peer.none("FINISHED"))


@test
def drain_returns_waiting_tasks_and_keeps_running_ones():
    with Cluster() as cluster:
        peer = cluster.join()
        go = cluster.file("go")
        for task in (1, 2, 3):
            peer.run(task, f"until test -e {go}; do sleep 0.02; done")
        peer.expect("STARTED", task=(1, 2))
        peer.send("DRAIN")
        done = peer.finished(3)
        same("a waiting one is reported", (done["end"], done["token"]), (WIRE["NOT_STARTED"], 31))
        peer.run(4, "true")
        same("so is what comes", peer.finished(4)["end"], WIRE["NOT_STARTED"])
        open(go, "w", encoding="utf-8").close()
        same("running commands continue", [peer.finished(task)["end"] for task in (1, 2)],
             [WIRE["EXITED"]] * 2)
        check("and the worker stays", cluster.process.poll() is None)


@test
def term_lets_commands_end():
    with Cluster() as cluster:
        peer, go = cluster.join(), cluster.file("go")
        for task in (1, 2, 3):
            peer.run(task, f"until test -e {go}; do sleep 0.05; done")
        for task in (1, 2):
            peer.expect("STARTED", task=(1, task))
        cluster.term()
        peer.expect("DRAIN")
        for task in (3, 4):
            if task == 4:
                peer.run(task, "true")
            done = peer.finished(task)
            same(f"{task} is not started", (done["end"], done["status"]),
                 (WIRE["NOT_STARTED"], errno.ECANCELED))
            peer.recorded(task)
        peer.close()
        peer = cluster.accept().welcome()
        same("running commands continue", sorted(peer.listed()), [(1, 1), (2, 1)])
        check("each connection gets DRAIN", peer.expect("DRAIN"))
        open(go, "w", encoding="utf-8").close()
        for task in (1, 2):
            same(f"{task} ends as it would", peer.finished(task)["end"], WIRE["EXITED"])
            peer.recorded(task)
        same("then the worker ends", cluster.ended(), 0)
        same("nothing is left to tell", cluster.join().listed(), {})


def seconds_of_an_idle_end(leave):
    with Cluster() as cluster:
        cluster.join()
        if leave:
            cluster.leave()
        begin = time.monotonic()
        cluster.term()
        same("exit status", cluster.ended(), 0)
        return time.monotonic() - begin


@test
def a_worker_that_runs_nothing_ends_at_once():
    for leave in (False, True):
        check(f"without a server: {leave}", least(2, lambda: seconds_of_an_idle_end(leave)) < 2)


@test
def a_command_that_waits_for_its_inputs_is_not_waited_for():
    with Cluster() as cluster, socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        peer = cluster.join()
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        peer.send("FETCH", object=(5, 6), bytes=6, addresses=[address], ticket="t")
        peer.run(1, "true", flags=WIRE["RUN_PRIVATE"], cwd="",
                 inputs=[{"object": (5, 6), "path": "in"}])
        check("it waits", peer.none("FINISHED"))
        cluster.term()
        same("no longer", peer.finished(1)["end"], WIRE["NOT_STARTED"])
        peer.recorded(1)
        same("the worker ends", cluster.ended(), 0)


@test
def a_second_term_stops_commands():
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, f"trap 'echo bye >{cluster.file('bye')}; exit 0' TERM;"
                    f"touch {cluster.file('ready')}; sleep 1000 & wait")
        peer.run(2, "sleep 1000")
        peer.expect("STARTED", task=(1, 2))
        cluster.wait_for("ready")
        cluster.term()
        peer.expect("DRAIN")
        cluster.term()
        for task in (1, 2):
            same(f"{task} is stopped and told", peer.finished(task)["end"], WIRE["STOPPED"])
            peer.recorded(task)
        same("exit status", cluster.ended(), 0)
        same("commands had time", cluster.has("bye"), True)
        same("nothing is left to tell", cluster.join().listed(), {})


def seconds_after_a_third_term():
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, f"trap '' TERM; touch {cluster.file('ready')}; sleep 1000")
        cluster.wait_for("ready")
        cluster.term()
        peer.expect("DRAIN")
        begin = time.monotonic()
        cluster.term()
        check("it waits for the command", peer.none("FINISHED", 0.5))
        cluster.process.send_signal(signal.SIGINT)
        same("then no more", peer.finished(1)["end"], WIRE["STOPPED"])
        peer.recorded(1)
        same("exit status", cluster.ended(), 0)
        return time.monotonic() - begin


@test
def a_third_term_kills():
    check("at once", least(4, seconds_after_a_third_term) < 4)


@test
def term_without_a_server_keeps_the_reports():
    with Cluster() as cluster:
        peer, go = cluster.join(), cluster.file("go")
        peer.run(1, f"until test -e {go}; do sleep 0.05; done")
        peer.expect("STARTED")
        cluster.leave()
        cluster.term()
        check("it waits for running commands", not cluster.ends_by_itself(0.5))
        open(go, "w", encoding="utf-8").close()
        check("and a server that comes back", not cluster.ends_by_itself(1))
        cluster.term()
        same("but not after another signal", cluster.ended(), 0)
        cluster.listen()
        peer = cluster.join()
        same("the next one tells", peer.finished(1)["end"], WIRE["EXITED"])


@test
def term_waits_for_a_server_that_comes_back():
    with Cluster() as cluster:
        peer, go = cluster.join(), cluster.file("go")
        peer.run(1, f"until test -e {go}; do sleep 0.05; done")
        peer.expect("STARTED")
        cluster.leave()
        cluster.term()
        open(go, "w", encoding="utf-8").close()
        check("the command ends", not cluster.ends_by_itself(1))
        cluster.listen()
        peer = cluster.accept().welcome()
        same("and is reported", peer.finished(1)["end"], WIRE["EXITED"])
        peer.recorded(1)
        same("exit status", cluster.ended(), 0)


@test
def term_without_a_server_ends_with_the_patience():
    with Cluster() as cluster:
        peer = cluster.join("--alone", "1s")
        peer.run(1, f"trap 'touch {cluster.file('bye')}; exit 0' TERM;"
                    f"touch {cluster.file('ready')}; sleep 1000 & wait")
        cluster.wait_for("ready")
        cluster.leave()
        cluster.term()
        check("the command is stopped", cluster.wait_for("bye"))
        cluster.term()
        same("exit status", cluster.ended(), 0)
        cluster.listen()
        same("it was stopped", cluster.join().finished(1)["end"], WIRE["STOPPED"])


@test
def quit_ends_the_worker():
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, "sleep 1000")
        peer.expect("STARTED")
        peer.send("QUIT", grace=SECOND)
        same("running commands are stopped", peer.finished(1)["end"], WIRE["STOPPED"])
        peer.recorded(1)
        same("exit status", cluster.ended(), 0)


# ---- What goes wrong -----------------------------------------------------------------------------

@test
def garbage_ends_the_connection_and_nothing_else():
    garbage = [b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 64, b"\0" * 64, b"\x02\0\0\0\x02\x00",
               b"\x01\0\0\0\xee"]
    with Cluster() as cluster:
        peer = cluster.join()
        peer.run(1, "sleep 1000")
        peer.expect("STARTED")
        for raw in garbage:
            peer.link.socket.sendall(raw)
            check(f"{raw[:8]} closes it", peer.wait_closed())
            peer = cluster.accept()
            peer.link.socket.sendall(raw)
            check("before WELCOME too", peer.wait_closed())
            peer = cluster.accept().welcome()
            same("the command continues", peer.listed(), {(1, 1): (11, WIRE["ATTEMPT_RUNNING"])})
        for kind in ("GREET", "JOIN", "FINISHED", "WELCOME", "ACCEPTED"):
            peer.send(kind)
            check(f"{kind} closes it", peer.wait_closed())
            peer = cluster.accept().welcome()
        peer.run(2, "true", attempt=0)
        check("attempt 0 closes it", peer.wait_closed())
        peer = cluster.accept().welcome()
        same("and still", list(peer.listed()), [(1, 1)])


@test
def an_invalid_welcome_is_refused():
    with Cluster() as cluster:
        cluster.start()
        for values in ({"version": 9, "lease": SECOND, "beat": SECOND // 10},
                       {"version": VERSION, "lease": SECOND, "beat": SECOND},
                       {"version": VERSION, "lease": SECOND, "beat": 0}):
            peer = cluster.accept()
            peer.expect("GREET")
            peer.send("WELCOME", server=1, **values)
            check(f"{values}", peer.wait_closed())
        peer = cluster.accept()
        peer.expect("GREET")
        peer.send("REFUSE", code=WIRE["REFUSED_ROLE"], reason="go\x1baway")
        check("REFUSE", peer.wait_closed())
        cluster.accept().welcome()
        check("is printed", "go?away" in cluster.said(), cluster.said())


@test
def no_process_survives_the_agent():
    for options in ((), ("--contain", "tree")):
        with Cluster() as cluster:
            peer = cluster.join(*options)
            peer.run(1, "trap '' TERM; sleep 1000 & sleep 1001")
            peer.run(2, "setsid sleep 1002 & wait")
            peer.expect("STARTED", task=(1, 2))
            check("there are some", cluster.until(lambda: len(cluster.processes()) > 4),
                  cluster.processes())
            cluster.kill()
            same(f"none is left {options}", cluster.wait_gone(), [])
            same("and none is listed", cluster.join(*options).listed(), {})


@test
def a_lost_process_ends_the_worker():
    with Cluster() as cluster:
        peer = cluster.join("--contain", "tree")
        peer.run(1, "sleep 1000")
        pid = peer.expect("STARTED")["pid"]
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            parent = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(parent, signal.SIGKILL)
        same("exit status", cluster.ended(), 70)
        check("with a sentence", "ended unexpectedly" in cluster.said(), cluster.said())


@test
def a_worker_that_hangs_is_killed_with_all_exclusive_commands():
    with Cluster() as cluster:
        peer = cluster.join("--contain", "tree", lease=3 * SECOND)
        peer.run_exclusive(1, "sleep 1000", peer.newest())
        pid = peer.expect("STARTED")["pid"]
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            parent = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(parent, signal.SIGSTOP)  # it will do nothing that it is told
        peer.answers = False
        same("exit status", cluster.ended(), 70)
        same("nothing is left", cluster.wait_gone(), [])


@test
def two_workers_cannot_share_a_folder():
    with Cluster() as cluster:
        cluster.join()
        first = cluster.process
        same("the second one ends", cluster.start().wait(timeout=PATIENCE), 2)
        check("with a reason", "another rota worker is running" in cluster.said())
        cluster.process = first


@test
def a_folder_that_is_about_to_be_free_is_waited_for():
    with Cluster() as cluster:
        os.makedirs(cluster.folder, exist_ok=True)
        lock = os.open(os.path.join(cluster.folder, "lock"), os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        cluster.start()
        told = cluster.until(lambda: "waiting 5 s for it to end" in cluster.said()
                             or cluster.process.poll() is not None)
        os.close(lock)
        peer = cluster.accept_alive()
        check("it says so, and joins", told and peer, cluster.said())


@test
def closed_files_and_a_bad_umask_do_no_harm():
    with Cluster() as cluster:
        words = ["sh", "-c", 'umask 777; exec "$@" 0<&- 1>&- 2>&-', "sh", os.path.abspath(ROTA),
                 "worker", "--server", cluster.address, "--folder", cluster.folder]
        with subprocess.Popen(words) as cluster.process:
            peer = cluster.accept().welcome()
            peer.run(1, "echo hello; exit 5")
            same("a command is run", peer.finished(1)["status"], 5)
            peer.close()
            cluster.accept().welcome()
            cluster.kill()
        with open(os.path.join(cluster.folder, "spool"), "rb") as file:
            same("and the spool has no text in it", file.read(12), b"rota spool 2")


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
            status = cluster.start(*words).wait(timeout=PATIENCE)
            same(f"{' '.join(words)}", status, 2)
        check("each with a reason", "option --memory needs a size" in cluster.said(),
              cluster.said())


run_tests()
