#!/usr/bin/env python3
"""client_test - rota_client.h against real servers and workers; the program of doc/embedding.md."""
import os
import re
import signal
import subprocess
import tempfile
import time

from cluster import PATIENCE, ROTA_PATH, Cluster, Process
from end import Tap
from installed import ROOT, flags, install
from probe import (ADMIN, DENIED, GONE, HANDLER, NOTHING, NOT_FOUND, NOT_NOW, NO_MEMORY, OK,
                   REFUSED, STALE, TIMED_OUT, UNREACHABLE, WRONG, Probe)

say = Tap.say
CLAIM, PULL = 1, 2
DELIVERED_OK, NOFETCH_OK = 4, 8


def jobs(cluster):
    cluster.work("one")
    with Probe() as probe:
        say(probe.connect(cluster.socket) == (OK, ""), "a program connects to a socket")
        probe.do("job", "story")
        made = [probe.task("sh", "-c", "echo 4 > four", name="a", makes="four")[0],
                probe.task("sh", "-c", "expr 38 + $(cat input)", name="b", reads="1:four")[0],
                probe.task("false", name="c", needs="1")[0],
                probe.task("true", name="d", needs="2,3")[0]]
        code, job = probe.submit()
        say(made == [1, 2, 3, 4] and code == OK, "it submits a job of four tasks", (made, job))
        over = probe.do("wait", job, 60000)
        say(over == (OK, "4 2 1 0"), "and waits until none of its tasks can run", over)
        log = probe.do("log", f"{job}.2")
        say(log == (OK, "3 42"), "the log of a task is there, and it had its input", log)
        states = [probe.do("look", f"{job}.{task}") for task in (1, 3, 4)]
        say(states[0][1].startswith("SUCCEEDED 1 0 1 'a'") and states[1][1].startswith("FAILED 2 1")
            and states[2][1].startswith("BLOCKED"), "each task has its state", states)
        say(probe.do("look", job) == (OK, "over 4 2 1 0 0"), "and the job its sums")
        code, why = probe.do("ask", "why", f"{job}.4")
        say(code == OK and "d waits for c; c failed with exit 1" in why,
            "it asks why a task does not run", why)
        say(probe.do("retry", f"{job}.3")[0] == OK, "a failed task is tried again")
        cluster.until(lambda: " 2 'c'" in probe.do("look", f"{job}.3")[1], "a second attempt")
        cluster.until(lambda: probe.do("log", f"{job}.3")[0] == OK, "which has a log")
        say(probe.do("log", f"{job}.3", 1) == (OK, "0 ") and probe.do("log", f"{job}.3", 9)[0],
            "each attempt has its log")
        say(probe.submit() == (OK, job), "the same job again is the same job")
        say(probe.do("forget", job)[0] == OK and probe.do("look", f"{job}.1")[0] == NOT_FOUND,
            "a job is forgotten")
        probe.do("job", "-")
        probe.do("chain", 3000)
        code, job = probe.submit()
        paused = [probe.do("pause", job)[0], probe.do("pause", job)[0], probe.do("look", job)[1]]
        say(paused[:2] == [OK, NOT_NOW] and paused[2].startswith("paused "), "a job is paused",
            paused)
        say(probe.do("resume", job)[0] == OK and "active" in probe.do("look", job)[1],
            "and resumed")
        cancelled = probe.do("cancel", job)
        over = probe.do("wait", job, 60000)
        say(code == OK and cancelled[0] == OK and over[1].startswith("3000 "),
            "a long job is cancelled", (cancelled, over))
    say(probe.status == 0, "the program ends as it likes")


def hands(cluster):
    with Probe() as client, Probe() as probe:
        client.connect(cluster.socket)
        client.do("job", "hands", CLAIM)
        client.task("first", "word", name="a")
        client.task("second", name="b", needs="1")
        client.task("third", name="c")
        job = client.submit()[1]
        say(client.do("fetch", job)[0] == DENIED, "a client may not fetch")
        probe.connect(cluster.socket, role=HANDLER)
        say(probe.do("look", job)[0] == DENIED, "and a handler does nothing else")
        code, grant = probe.do("fetch", f"{job}.1", 0, 60000)
        say(code == OK and re.fullmatch(rf"{job}\.1 \d+ 1 a first word", grant),
            "a handler fetches a task and has its words", grant)
        say(probe.do("again") == (OK, grant), "the same request again has the same task")
        say(probe.do("renew")[0] == OK and probe.do("deliver", "fine")[0] == OK,
            "it renews the lease, and delivers")
        say(probe.do("deliver")[0] == OK, "a repeated delivery is the same delivery")
        code, grant = probe.do("fetch", job)
        ended = probe.do("fail", 7)
        say(code == OK and ended[0] == OK, "it fails another one", (grant, ended))
        failed = grant.split()[0]
        say("FAILED" in (seen := client.do("look", failed)[1]) and " 7 1 " in seen,
            "which ends with its status", seen)
        code, grant = probe.do("fetch", job, 0, 1000)
        task = grant.split()[0]
        cluster.until(lambda: not client.do("look", task)[1].startswith("RUNNING"), "it is lost")
        say(probe.do("renew")[0] == STALE and probe.do("deliver")[0] == STALE,
            "a late handler is refused")
        nothing = probe.do("fetch", f"{int(job) + 100}")
        say(nothing[0] in (NOTHING, NOT_FOUND), "of a job that is not there nothing is fetched",
            nothing)
        before = int(grant.split()[1])
        code, grant = probe.do("fetch", job, 30000, 60000)
        token = int(grant.split()[1]) if code == OK else 0
        say(token > before, "the next one has a larger token", grant)
        say(probe.do("fetch", job)[0] == NOTHING, "then nothing is left")
        probe.begin("fetch", job, 60000)
        client.do("retry", failed)
        code, grant = probe.end()
        say(code == OK and grant.startswith(failed + " "), "a handler that waits gets it",
            grant)
        client.do("job", "unasked", CLAIM)
        client.task("fourth")
        client.task("fifth")  # keeps the job: the server forgets a finished one
        task = client.submit()[1] + ".1"
        ends = [(probe.do("held", task, 0, flags), probe.do("deliver")[0])[1]
                for flags in (0, NOFETCH_OK, 0, DELIVERED_OK)]
        say(ends[1] == ends[3] == OK and OK not in (ends[0], ends[2]),
            "a flag allows to deliver a task that was not fetched, or is delivered", ends)


def events(cluster):
    with Probe() as probe, Probe() as follower:
        probe.connect(cluster.socket)
        follower.connect(cluster.socket)
        say(follower.do("event", 10)[0] == WRONG, "without a subscription there are no events")
        probe.do("job", "-")
        probe.task("true", name="seen")
        job = probe.submit()[1]
        probe.do("wait", job, 60000)
        follower.do("follow", "0.0", f"job={job}")
        told = []
        while not told or "SUCCESS" not in told[-1]:
            code, text = follower.do("event", 60000)
            told.append(text)
            if code:
                break
        places = [line.split()[0] for line in told]
        say(any(" seen" in line and "ASSIGNED" in line for line in told) and len(set(places))
            == len(places), "events have states, names and places", told)
        while (last := follower.do("event", 100))[0] == OK:
            pass
        say(last == (TIMED_OUT, "no event came in time"), "then there is nothing for a while", last)
        say(follower.do("look", job)[0] == WRONG, "that connection is for events only")
        with Probe() as later:
            later.connect(cluster.socket)
            later.do("follow", places[-2], f"job={job}")
            text = [later.do("event", 60000)[1] for _ in range(2)]
            say(text[1] == told[-1], "and resumes after any of them", (text, told))


def mistakes(cluster):
    with Probe() as probe:
        say(probe.do("look", 1)[0] == GONE, "without a connection nothing is asked")
        say(probe.connect("-") == (WRONG, "the address is missing"), "an address is needed")
        code, text = probe.connect(cluster.path("nobody.sock"), patience=500)
        say(code == UNREACHABLE and "no server is listening there" in text,
            "a socket without a server", text)
        code, text = probe.connect("127.0.0.1:1")
        say(code == UNREACHABLE and "key" in text, "a host needs a key", text)
        code, text = probe.connect(cluster.socket, key=cluster.path("none.key"))
        say(code == WRONG and "none.key" in text, "a file of keys that is not there", text)
        probe.connect(cluster.socket)
        probe.do("job", "wrong")
        say(probe.submit() == (WRONG, "the job has no tasks"), "an empty job")
        wrong = [probe.task(), probe.task("true", needs="1"), probe.task("true", reads="1:x")]
        say([number for number, _ in wrong] == [0, 0, 0] and "command" in wrong[0][1]
            and "not added before" in wrong[1][1] and "has no output" in wrong[2][1],
            "invalid tasks are refused with a reason", wrong)
        say(probe.task("true")[0] == 1 and probe.submit()[0] == OK, "and the job runs without them")
        probe.do("job", "n" * 300)
        probe.task("true")
        code, text = probe.submit()
        say(code == REFUSED and "name" in text, "the server gives reasons", text)
        probe.do("job", "many")
        probe.do("chain", 100001)
        probe.do("after", "last", 100001)
        code, text = probe.submit()
        say(code == REFUSED
            and text == 'task 100002 "last": a task may have at most 100,000 dependencies',
            "and names the task", text)
        say([probe.do(verb, "4000000000")[0] for verb in ("look", "cancel", "wait")]
            == [NOT_FOUND] * 3, "a job that is not there")
        code, text = probe.do("ask", "server")
        say(code == REFUSED and "does not answer" in text, "a command that is no query", text)


def rests():
    with Cluster(lease=60) as cluster, Probe() as probe, Probe() as admin:
        worker = cluster.work("one")
        probe.connect(cluster.socket)
        admin.connect(cluster.socket, role=ADMIN)
        probe.do("job", "-")
        probe.task("true", lane="street")
        gate = cluster.path("gate")
        probe.task("sh", "-c", f"while ! test -e {gate}; do sleep 0.05; done", needs="1")
        first = probe.submit()[1]
        cluster.until(lambda: probe.do("look", f"{first}.2")[1].startswith("RUNNING"), "it runs")
        paused = [probe.do("pause", "lane", "street") for _ in range(2)]
        say([code for code, _ in paused] == [OK, NOT_NOW], "a lane is paused, once", paused)
        probe.do("job", "-")
        probe.task("true", lane="street")
        held = probe.submit()[1]
        code, why = probe.do("ask", "why", f"{held}.1")
        say(code == OK and "paused" in why, "it admits no task", why)
        say(probe.do("resume", "lane", "street")[0] == OK
            and probe.do("wait", held, 60000) == (OK, "1 1 0 0"), "until it is resumed")
        say(probe.do("pause", "lane", "none")[0] == NOT_FOUND
            and probe.do("pause", "lane", "-")[0] == WRONG, "a lane that is not there")
        code, text = probe.do("pause", "worker", "one")
        say(code == DENIED and "admin" in text and probe.do("look", first)[0] == OK,
            "a client may not pause a worker, and stays connected", text)
        say(admin.do("pause", "worker", "one")[0] == OK, "an admin pauses one")
        probe.do("job", "-")
        probe.task("true")
        held = probe.submit()[1]
        code, why = probe.do("ask", "why", f"{held}.1")
        say(code == OK and "paused" in why, "it gets nothing new", why)
        say(admin.do("resume", "worker", "one")[0] == OK
            and probe.do("wait", held, 60000) == (OK, "1 1 0 0"), "until it is resumed")
        say(admin.do("drain", "worker", "none")[0] == NOT_FOUND, "a worker that is not there")
        code, text = admin.do("drain", "worker", "one")
        say(code == OK and probe.do("look", f"{first}.2")[1].startswith("RUNNING"),
            "a worker that drains keeps running its tasks", text)
        cluster.touch("gate")
        say(worker.process.wait(PATIENCE) == 0, "and ends after the last of them", worker.said())
        say(probe.do("wait", first, 60000) == (OK, "2 2 0 0"), "and its result counts")


def memory(cluster):
    if os.environ.get("SANITIZED"):
        Tap.skip("a lack of memory is an error", "sanitizers need all addresses")
        return
    with Probe() as probe:
        probe.connect(cluster.socket)
        probe.do("job", "large")
        probe.do("limit", 60)
        last = probe.do("chain", 1000000)[0]
        code, text = probe.submit()
        say(last == 0 and code == NO_MEMORY and "out of memory" in text,
            "a lack of memory is an error",
            (last, code, text))
        probe.do("limit", 0)
        probe.do("job", "small")
        probe.do("chain", 2)
        say(probe.submit()[0] == OK, "after which the program can submit again")
    say(probe.status == 0, "and is not ended by it")


def server_dies(cluster):
    cluster.work("two")
    with Probe() as probe:
        probe.connect(cluster.socket)
        probe.do("job", "long")
        probe.task("sh", "-c", f"while ! test -e {cluster.path('go')}; do sleep 0.1; done")
        job = probe.submit()[1]
        cluster.until(lambda: probe.do("look", f"{job}.1")[1].startswith("RUNNING"), "it runs")
        seen = probe.do("look", f"{job}.1")[1]
        say("'two'" in seen, "a task that runs has a worker", seen)
        say(probe.do("wait", job, 50)[0] == TIMED_OUT, "waiting ends with its timeout")
        probe.begin("wait", job)
        time.sleep(0.2)
        cluster.server.kill(signal.SIGKILL)
        code, text = probe.end()
        say(code == GONE and text, "a server that is killed ends the waiting only", text)
        say(probe.do("look", job)[0] == GONE, "until there is a new connection")
        cluster.serve()
        say(probe.connect(cluster.socket)[0] == OK and probe.submit() == (OK, job),
            "over which the same job is the same")
        cluster.touch("go")
        say(probe.do("wait", job, 60000) == (OK, "1 1 0 0"), "and is waited for to its end")


def keys():
    with tempfile.TemporaryDirectory(prefix="rota-client-") as folder:
        path = lambda name: os.path.join(folder, name)  # noqa: E731
        for name in ("keys", "other"):
            subprocess.run([ROTA_PATH, "keys", "make", path(name)], check=True,
                           stdout=subprocess.DEVNULL)
        server = Process(path("log"), "server", "--memory", "--listen", "127.0.0.1:0", "--keys",
                         path("keys/server.keys"))
        try:
            end = time.monotonic() + PATIENCE
            while not (found := re.search(r"127\.0\.0\.1:\d+", server.said())):
                if time.monotonic() > end:
                    raise RuntimeError(server.said())
                time.sleep(0.02)
            with Probe() as probe:
                code, text = probe.connect(found[0], path("other/client.key"))
                say(code == UNREACHABLE and "rejects this key" in text, "a wrong key", text)
                code, text = probe.connect(found[0], path("keys/client.key"), HANDLER)
                say(code == DENIED and "key" in text, "a key of another role", text)
                say(probe.connect(found[0], path("keys/client.key"))[0] == OK, "the right key")
                probe.do("job", "-")
                probe.task("true")
                say(probe.submit() == (OK, "1"), "over TLS it is the same")
                port = int(found[0].split(":")[1])
                say(probe.connect(f"localhost:{port}", path("keys/worker.key"), HANDLER)[0] == OK,
                    "a name of a host is looked up")
        finally:
            server.kill()


def program_of_the_page(cluster):
    if os.environ.get("SANITIZED"):
        Tap.skip("doc/embedding.md: its program", "the plain build is the one to install")
        return
    with open(os.path.join(ROOT, "doc", "embedding.md"), encoding="utf-8") as file:
        text, output = re.search(r"program: client -->\n```c\n(.*?)```\n\nIt prints\n\n"
                                 r"((?:    [^\n]*\n)+)", file.read(), re.S).groups()
    with tempfile.TemporaryDirectory(prefix="rota-client-") as folder:
        source, program = os.path.join(folder, "client.c"), os.path.join(folder, "client")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        surroundings = install(os.path.join(folder, "root"))
        built = subprocess.run(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source, "-o",
                                program, *flags(surroundings, "--cflags", "--libs")],
                               capture_output=True, text=True, check=False)
        say(built.returncode == 0, "doc/embedding.md: its program is built with what is installed",
            built.stderr)
        done = subprocess.run([program, cluster.socket], env=surroundings, capture_output=True,
                              text=True, timeout=PATIENCE, check=False)
        say(done.stdout == re.sub(r"^    ", "", output, flags=re.M) and done.returncode == 0,
            "and prints what it says", done)


with Cluster(lease=60) as all_of_it:
    mistakes(all_of_it)
    memory(all_of_it)
    hands(all_of_it)
    jobs(all_of_it)
    events(all_of_it)
    program_of_the_page(all_of_it)
with Cluster(lease=60) as all_of_it:
    server_dies(all_of_it)
rests()
keys()
Tap.end()
