#!/usr/bin/env python3
"""hostile_test - a real server refuses invalid messages of its peers, and keeps running.

The rows of invalid input in doc/testing.md: greeting, frames, wrong role, requests, graphs,
submissions in parts, uploads, workers, registration.
"""
import hashlib
import itertools
import struct

from cluster import Cluster
from end import Tap
from hostile import RUN, Stranger, frame, job_of
from wire import VERSION, WIRE, encode

say = Tap.say
NUMBERS = itertools.count(100)
U32, U64 = 0xffffffff, 0xffffffffffffffff


def same(what, got, expected):
    say(got == expected, what, f"{got!r} instead of {expected!r}")


def rows(cluster):
    return cluster.sql("SELECT count(*) FROM sched_job")[0][0]


def greetings(cluster):
    def greeted(**values):
        with Stranger(cluster.socket) as peer:
            return peer.says("GREET", **values).turned_away()

    for version in (0, 1, VERSION + 1, U32):
        same(f"hello: version {version} is not spoken", greeted(version=version, role=1),
             "refuse version")
    for role in (0, 3, 32, 1 << 31, U32):
        same(f"hello: {role} is no role here", greeted(version=VERSION, role=role), "refuse role")
    for name in (b"", b"x" * 201, b"x" * (1 << 20), b"a\0b", b"a\nb", b"\xff"):
        same(f"hello: a worker's name of {len(name)} bytes, {name[:3]}",
             greeted(version=VERSION, role=WIRE["WORKER"], name=name), "refuse request")
    with Stranger(cluster.socket, "CLIENT") as peer:
        same("hello: once is enough", peer.says("GREET", version=VERSION, role=1).turned_away(),
             "refuse state")
    with Stranger(cluster.socket) as peer:
        same("hello: comes first", peer.says("SUBMIT", **job_of(1)).turned_away(),
             "refuse state")


def frames(cluster):
    watch = encode("WATCH", job=1)[4:]
    bad = {"of length 0": struct.pack("<I", 0),
           "of more than 16 MiB": struct.pack("<I", (16 << 20) + 1) + b"x" * 100,
           "of 4 GiB": struct.pack("<I", U32),
           "of no kind": frame(b"\0" + watch[1:]),
           "of an unknown kind": frame(b"\xfa" + watch[1:]),
           "with bytes after it": frame(watch + b"\0"),
           "that is too short": frame(watch[:-1]),
           "with a text that is longer than it": frame(
               bytes([encode("ASK")[4]]) + struct.pack("<QII", 1, 1, U32)),
           "with a text without its end": frame(
               bytes([encode("ASK")[4]]) + struct.pack("<QII", 1, 1, 1) + b"ps"),
           "with more items than bytes": frame(
               bytes([encode("ASK")[4]]) + struct.pack("<QI", 1, U32)),
           "of HTTP": b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"}
    for name, data in bad.items():
        with Stranger(cluster.socket, "CLIENT") as peer:
            same(f"a frame {name}", peer.raw(data).turned_away(), "refuse frame")
    half = encode("SUBMIT", **job_of(next(NUMBERS)))
    before = rows(cluster)
    for cut in (1, 3, 4, 5, len(half) // 2, len(half) - 1):
        with Stranger(cluster.socket, "CLIENT") as peer:
            same(f"a frame of which {cut} bytes come", peer.raw(half[:cut]).ends_here().answer(),
                 "closed")
    same("frames: nothing has happened", rows(cluster), before)


def wrong_words(cluster):
    """Messages that only the other kind of peer sends."""
    for kind, values in (("BEAT", {}), ("JOIN", {"cores": 1}), ("FINISHED", {"task": (1, 1)}),
                         ("RUN", {"argv": ["true"]}), ("ACCEPTED", {}), ("PIECE", {})):
        with Stranger(cluster.socket, "CLIENT") as peer:
            same(f"a client does not say {kind}", peer.says(kind, **values).turned_away(),
                 "refuse frame")
    for kind, values in (("SUBMIT", job_of(3)), ("CHANGE", {"verb": 1}), ("ASK", {}),
                         ("WATCH", {}), ("STOP", {})):
        with Stranger(cluster.socket, "WORKER", f"odd {kind}") as peer:
            peer.says("JOIN", cores=1, machine="nowhere")
            same(f"a worker does not say {kind}", peer.says(kind, **values).turned_away(),
                 "refuse frame")


def requests(cluster):
    with Stranger(cluster.socket, "CLIENT") as peer:
        def changed(**values):
            return peer.says("CHANGE", high=2, low=next(NUMBERS), **values).answer()

        same("a task that is not there", changed(verb=WIRE["CANCEL"], task=(999, 1)),
             "refuse not_found")
        same("a task of no job", changed(verb=WIRE["RETRY"], task=(0, 0)), "refuse not_found")
        for verb in (0, 99, U32):
            same(f"verb {verb}", changed(verb=verb, task=(1, 1)), "refuse request")
        first = peer.says("SUBMIT", **job_of(7)).answer("ACCEPTED", "REFUSE")
        again = peer.says("SUBMIT", **job_of(7)).answer("ACCEPTED", "REFUSE")
        say(first == again and first[0] == "ACCEPTED", "the same request gets the same answer",
            (first, again))
        other = job_of(7, [{"name": "b", "body": 1, "cores": 1}])
        same("another request with its id", peer.says("SUBMIT", **other).answer(),
             "refuse conflict")
        same("a job that is not there", peer.says("SUBMIT", **job_of(8, job=4000)).answer(),
             "refuse not_found")
        same("a watch of it", peer.says("WATCH", job=4000).answer(), "refuse not_found")
        done = peer.says("SUBMIT", **job_of(next(NUMBERS), [
            {"name": "held", "body": 1, "cores": 1, "machine": 1}], machines=["away"]))
        held = (done.answer("ACCEPTED")[1]["job"], 1)
        for verb in ("RETRY", "RESET"):
            same(f"{verb} of a task that waits", changed(verb=WIRE[verb], task=held),
                 "refuse state")
        same("its end", changed(verb=WIRE["CANCEL"], task=held)[0], "DONE")
        jobs = [peer.says("SUBMIT", **job_of(next(NUMBERS), [
            {"name": "held", "body": 1, "cores": 1, "machine": 1}], machines=["away"])
        ).answer("ACCEPTED")[1]["job"] for _ in range(65)]
        with Stranger(cluster.socket, "CLIENT") as other:
            for job in jobs:
                other.says("WATCH", job=job)
            same("more jobs to watch than 64", other.answer(), "refuse request")
        for job in jobs:
            changed(verb=WIRE["CLOSE"], task=(job, 0))
        same("an object that is not there", peer.says(
            "DATA", high=2, low=next(NUMBERS), verb=WIRE["DATA_READ"], object=(held[0], 1)
        ).answer(), "refuse not_found")


def many(kind, count, **row):
    """A SUBMIT with `count` rows of a kind, which are written once."""
    bare = {"high": 1, "low": 1, "flags": WIRE["SUBMIT_MORE"]}
    whole, bare = encode("SUBMIT", **bare, **{kind: [row]}), encode("SUBMIT", **bare)
    at = next(i for i in range(4, len(bare)) if whole[i] != bare[i])
    size = len(whole) - len(bare)
    body = whole[4:at] + struct.pack("<I", count) + whole[at + 4:at + 4 + size] * count \
        + whole[at + 4 + size:]
    return frame(body)


def sizes(cluster):
    """More than a job may have is refused before it is looked at."""
    before = rows(cluster)
    for kind, count, row in (("tasks", 100000, {"name": "a", "body": 1, "cores": 1}),
                             ("edges", 1000000, {"before": 1, "after": 2})):
        piece = many(kind, count, **row)
        with Stranger(cluster.socket, "CLIENT") as peer:
            for _ in range(10):
                peer.raw(piece)
            same(f"graph: ten times {count} {kind} may come",
                 peer.says("WATCH", job=4000).answer(), "refuse not_found")
            same("graph: and no more", peer.raw(many(kind, 1, **row)).answer(), "refuse request")
    same("graph: of which nothing is there", rows(cluster), before)


def beats_go_on(cluster):
    """A chain of `count` tasks is taken while a worker's heartbeats are answered."""
    count = 20000
    tasks = [{"name": "", "body": 1, "cores": 1, "machine": 1}] * count
    chain = [{"before": i, "after": i + 1} for i in range(1, count)]
    with Stranger(cluster.socket, "CLIENT") as peer, \
            Stranger(cluster.socket, "WORKER", "beats") as worker:
        worker.says("JOIN", cores=1, machine="beats")
        values = job_of(next(NUMBERS), tasks, machines=["away"])
        peer.says("SUBMIT", **{**values, "flags": WIRE["SUBMIT_MORE"]})
        back = {**values, "tasks": [], "bodies": [], "commands": [], "machines": []}
        peer.says("SUBMIT", **{**back, "edges": chain})
        answered = sum(worker.says("BEAT", sent=i).answer("BEATEN") == ("BEATEN", {"sent": i})
                       for i in range(1, 31))
        told = peer.answer("ACCEPTED", "REFUSE")
        same("graph: a chain of twenty thousand is taken", told[0], "ACCEPTED")
        same("graph: and heartbeats are answered meanwhile", answered, 30)
        ring = chain + [{"before": count, "after": 1}]
        peer.says("SUBMIT", **{**values, "low": next(NUMBERS), "edges": ring})
        same("graph: closed to a ring it is refused", peer.answer("ACCEPTED", "REFUSE"),
             "refuse request")
        same("graph: with one way around it", peer.reason,
             "the tasks wait for each other in a cycle: 1 waits for 20000 waits for 19999 "
             "waits for 19998 waits for ... and 19996 more, the last of which waits for 1")
        cluster.rota("close", str(told[1]["job"]))


def with_run(**values):
    return job_of(0, bodies=[encode("RUN", **values)])


def graphs(cluster):
    """Refused as one, on a connection that stays open."""
    plain = [{"name": name, "body": 1, "cores": 1} for name in "abc"]
    one = {"name": "a", "body": 1, "cores": 1}
    edge = lambda before, after: {"before": before, "after": after}
    bad = {"a cycle": job_of(0, plain, edges=[edge(1, 2), edge(2, 3), edge(3, 1)]),
           "a task that waits for itself": job_of(0, plain, edges=[edge(2, 2)]),
           "an edge to an unknown task": job_of(0, plain, edges=[edge(1, 9)]),
           "an edge from an unknown task": job_of(0, plain, edges=[edge(0, 1)]),
           "a body that is not there": job_of(0, [{**one, "body": 2}]),
           "a body that is no message": job_of(0, bodies=["x"]),
           "a body that is not a command": job_of(0, bodies=[encode("WATCH", job=1)]),
           "a command with too many files": with_run(
               argv=["true"], inputs=[{"kind": WIRE["SOURCE"], "name": "x", "path": "/x"}] * 5001,
               outputs=[{"kind": WIRE["FILE"], "name": "y"}] * 5000),
           "a command with too many streams": with_run(
               argv=["true"], outputs=[{"kind": WIRE["STREAM"], "name": "y"}] * 1001),
           "a body without words": job_of(0, bodies=[encode("RUN")]),
           "a body with more bytes after it": job_of(0, bodies=[RUN + b"x"]),
           "bodies without commands": job_of(0, commands=[]),
           "a lane that is not there": job_of(0, [{**one, "lane": 1, "access": 1}]),
           "an invalid access": job_of(0, [{**one, "access": 77}]),
           "a machine that is not there": job_of(0, [{**one, "machine": 3}]),
           "a bundle that is not there": job_of(0, [{**one, "bundle": 5}]),
           "a priority of 1000": job_of(0, [{**one, "priority": 1000}]),
           "a priority of -1000": job_of(0, [{**one, "priority": -1000}]),
           "more retries than can be": job_of(0, [{**one, "retries": U32}]),
           "an invalid policy": job_of(0, policy=99),
           "an invalid rule for failures": job_of(0, on_failure=99),
           "clauses that are not there": job_of(0, [{**one, "clause_first": 5,
                                                     "clause_count": U32}]),
           "a clause of no kind": job_of(0, [{**one, "clause_count": 1}],
                                         clauses=[{"kind": 99, "task": (0, 1)}]),
           "an input of an unknown task": job_of(0, inputs=[{"task": 9, "object": (1, 1)}]),
           "an input that no task makes": job_of(0, inputs=[{"task": 1, "object": (5, 5)}]),
           "an output of an unknown task": job_of(0, outputs=[{"task": 9, "object": (1, 1)}]),
           "a name that is not UTF-8": job_of(0, [{**one, "name": b"\xff\xfe"}]),
           "a name with a zero": job_of(0, [{**one, "name": b"a\0b"}]),
           "a name with control characters": job_of(0, [{**one, "name": "a\x1b[31m\n"}]),
           "a name of 256 bytes": job_of(0, [{**one, "name": "x" * 256}]),
           "details that are not UTF-8": job_of(0, [{**one, "details": b"\xc3"}]),
           "a lane without a name": job_of(0, lanes=[{"name": ""}]),
           "a group of 100,000 bytes": job_of(0, groups=["x" * 100000]),
           "a machine with a newline": job_of(0, machines=["a\nb"]),
           "an invalid command for people": job_of(0, commands=[b"\xff"]),
           "a word with a zero": with_run(argv=["echo", "a\0b"]),
           "a first word that is empty": with_run(argv=["", "a"]),
           "words of more than 128 KiB": with_run(argv=["echo", "x" * 200000]),
           "an environment without values": with_run(argv=["true"], env=["A"]),
           "a directory that is not absolute": with_run(argv=["true"], cwd="a/b"),
           "a time before all time": with_run(argv=["true"], timeout=-1),
           "a time of a million years": with_run(argv=["true"], grace=1 << 62),
           "an estimate before all time": job_of(0, [{**one, "estimate": -5}]),
           "an output outside of its directory": with_run(argv=["true"], outputs=[
               {"kind": 1, "name": "a/../../b", "object": (1, 2)}]),
           "an output anywhere": with_run(argv=["true"], outputs=[
               {"kind": 1, "name": "/etc/passwd", "object": (1, 2)}]),
           "an input below a link": with_run(argv=["true"], flags=WIRE["RUN_PRIVATE"], inputs=[
               {"kind": 4, "name": "d/a", "path": "/a"}, {"kind": 4, "name": "d-", "path": "/b"},
               {"kind": 4, "name": "d", "path": "/tmp"}]),
           "an output below a link": with_run(
               argv=["true"], flags=WIRE["RUN_PRIVATE"],
               inputs=[{"kind": 4, "name": "a/d", "path": "/tmp"}],
               outputs=[{"kind": 1, "name": "a/d/b/c", "object": (1, 2)}]),
           "a task of a lane that outlives its lease": job_of(
               0, [{**one, "lane": 1, "access": 1}], lanes=[{"name": "line"}]),
           "an unknown flag of a job": job_of(0, flags=1 << 31),
           "an unknown flag of a task": job_of(0, [{**one, "flags": 1 << 31}]),
           "an unknown flag of a lane": job_of(0, lanes=[{"name": "l", "flags": 1 << 31}]),
           "an unknown flag of an input": job_of(
               0, plain, outputs=[{"task": 1, "object": (6, 7)}],
               inputs=[{"task": 2, "object": (6, 7), "flags": 1 << 31}]),
           "an unknown flag of an output": job_of(
               0, outputs=[{"task": 1, "object": (6, 7), "flags": 1 << 31}]),
           "an unknown flag of a command": with_run(argv=["true"], flags=1 << 31),
           "an unknown flag of a file": with_run(argv=["true"], outputs=[
               {"kind": 1, "flags": 1 << 31, "name": "o", "object": (6, 7)}]),
           "an unknown kind of file": with_run(argv=["true"], outputs=[
               {"kind": 77, "name": "o", "object": (6, 7)}]),
           "an output that is a source": with_run(argv=["true"], outputs=[
               {"kind": 4, "name": "o", "object": (6, 7)}]),
           "a pause before all time": job_of(0, bodies=[RUN + encode("REPEAT", rest=-1)]),
           "a pause of a million years": job_of(0, bodies=[RUN + encode("REPEAT", rest=1 << 62)]),
           "pauses that grow without end": job_of(0, bodies=[
               RUN + encode("REPEAT", rest=1, percent=U32)]),
           "two tasks with the same output": job_of(0, plain, outputs=[
               {"task": 1, "object": (6, 6)}, {"task": 2, "object": (6, 6)}])}
    before = rows(cluster)
    with Stranger(cluster.socket, "CLIENT") as peer:
        for name, values in bad.items():
            values["low"] = next(NUMBERS)
            told = peer.says("SUBMIT", **values).answer("ACCEPTED", "REFUSE")
            say(str(told).startswith("refuse"), f"graph: {name} is refused", told)
        same("graph: nothing of them is there", rows(cluster), before)
        for name, told in (
                ("a cycle", 'the tasks wait for each other in a cycle: 1 "a" waits for 3 "c" '
                            'waits for 2 "b" waits for 1'),
                ("a task that waits for itself", 'task 2 "b": an edge from a task to itself'),
                ("an edge to an unknown task",
                 'task 9: an edge must end at a new task (task 1 "a")'),
                ("a body without words", 'task 1 "a": a command needs at least one word')):
            peer.says("SUBMIT", **{**bad[name], "low": next(NUMBERS)}).answer("ACCEPTED", "REFUSE")
            same(f"graph: {name} is reported with its task", peer.reason, told)
        fine = peer.says("SUBMIT", **job_of(next(NUMBERS), plain, edges=[edge(1, 2), edge(1, 2)]))
        same("graph: an edge twice is one edge", fine.answer("ACCEPTED", "REFUSE")[0], "ACCEPTED")
        huge = [{**one, "cores": U32, "memory_mib": U32, "priority": 127}] * 9
        big = peer.says("SUBMIT", **job_of(next(NUMBERS), huge, outputs=[
            {"task": 1, "object": (6, i), "bytes": U64} for i in range(1, 4)]))
        job = big.answer("ACCEPTED")[1]["job"]
        why = cluster.rota("why", f"{job}.1").stdout
        say("unschedulable" in why,
            "graph: a task that fits no worker waits, whatever the sums", why)
        cluster.rota("close", str(job))


def uploads(cluster):
    more, before = WIRE["SUBMIT_MORE"], rows(cluster)
    with Stranger(cluster.socket, "CLIENT") as peer:
        whole = next(NUMBERS)
        peer.says("SUBMIT", **job_of(whole, flags=more))
        peer.says("SUBMIT", **job_of(next(NUMBERS))).says("SUBMIT", **job_of(whole))
        same("upload: a piece of another one between", peer.turned_away(), "refuse request")
    with Stranger(cluster.socket, "CLIENT") as peer:
        peer.says("SUBMIT", **job_of(next(NUMBERS), flags=more))
    same("upload: what never ended is nowhere", rows(cluster), before)


def contents(cluster):
    """Files for the store of the server: out of order, wrong, twice, and never ended."""
    data = b"data of some user" * 100
    entry = f"f:{len(data)}:{hashlib.sha256(data).hexdigest()}"
    other = f"f:{len(data)}:{'0' * 64}"

    def piece(name, offset, count, sent=b""):
        with Stranger(cluster.socket, "PEER") as peer:
            peer.says("PIECE", entry=name, offset=offset, bytes=count).raw(sent)
            return peer.turned_away()

    def bound(name, number=1):
        with Stranger(cluster.socket, "PEER") as peer:
            return peer.says("BIND", object=(77, 1 << 62 | number), entry=name).answer()

    same("upload: a piece from the middle", piece(entry, 5, len(data) - 5), "refuse request")
    same("upload: a piece that is longer than all", piece(entry, 0, len(data) + 1),
         "refuse request")
    same("upload: a piece beyond the end", piece(entry, len(data) + 1, 0), "refuse request")
    same("upload: a piece of nothing that has a name", piece("x", 0, 1), "refuse request")
    same("upload: other bytes than were named", piece(other, 0, len(data), data),
         "refuse conflict")
    say(str(bound(entry)).startswith("refuse"), "upload: what has not come cannot be bound")
    with Stranger(cluster.socket, "PEER") as peer:
        peer.says("PIECE", entry=entry, offset=0, bytes=len(data)).raw(data[:100])
    with Stranger(cluster.socket, "PEER") as peer:
        told = peer.says("OFFER", entries=[entry]).answer()
        same("upload: what never ended is wanted from its beginning",
             (told[0], told[1]["offset"]), ("WANT", 0))
        same("upload: and is all that is wanted", peer.answer(), ("OFFERED", {"wanted": 1}))
        peer.says("PIECE", entry=entry, offset=0, bytes=len(data)).raw(data)
        same("upload: then it is stored", peer.answer()[0], "STORED")
        told = peer.says("BIND", object=(77, 1 << 62 | 1), entry=entry).answer()
        same("upload: and bound", told[0], "BOUND")
    with Stranger(cluster.socket, "PEER") as peer:
        same("upload: it is not wanted twice", peer.says("OFFER", entries=[entry]).answer(),
             ("OFFERED", {"wanted": 0}))
    same("upload: the same name twice is one", bound(entry)[0], "BOUND")
    say(str(bound(f"f:0:{hashlib.sha256().hexdigest()}")).startswith("refuse"),
        "upload: a name is not for another content")


def workers(cluster):
    """A worker that reports attempts it was never given."""
    cluster.submit({"honest": {"run": f"while [ ! -e {cluster.path('go')} ]; do sleep 0.1; done"}})
    cluster.until(lambda: cluster.sql("SELECT 1 FROM sched_exec e JOIN sched_job j USING (id)"
                                      " WHERE j.name = 'honest' AND e.status = 'RUNNING'"), "runs")
    job, task, attempt = cluster.sql("SELECT j.job, j.task, e.attempt FROM sched_exec e JOIN"
                                     " sched_job j USING (id) WHERE j.name = 'honest'")[0]
    with Stranger(cluster.socket, "WORKER", "liar") as peer:
        peer.says("JOIN", cores=1, machine="nowhere")
        for name, row in {"of another worker": (job, task, attempt),
                          "that has ended": (1, 1, 1), "that never was": (77, 7, 1),
                          "of the future": (job, task, 4000)}.items():
            told = peer.says("FINISHED", task=row[:2], attempt=row[2], end=1).answer("RECORDED")
            say(told[0] == "RECORDED" and told[1]["how"] != WIRE["NOW_RECORDED"],
                f"worker: the end of an attempt {name} is not recorded", told)
            peer.says("STARTED", task=row[:2], attempt=row[2])
        peer.says("FINISHED", task=(job, task), attempt=attempt, end=U32, status=-1, began=-1,
                  ended=-(1 << 63), user=-1, memory_bytes=U64, log_bytes=U64)
        same("worker: an invalid end", peer.answer("RECORDED", "REFUSE")[0], "RECORDED")
        peer.says("HELD", objects=[{"object": (i, i), "bytes": U64} for i in range(1, 2000)])
        peer.says("LOST", objects=[{"object": (U64, i)} for i in range(1, 2000)])
        peer.says("MISSED", object=(9, 9), reason="x" * 100000)
        peer.says("LOGGED", request=U64, offset=U64, bytes="x")
        for sent in range(1, 20001):
            peer.says("BEAT", sent=sent)
        beats, told = -1, ("BEATEN", {})
        while told[0] == "BEATEN":
            beats, told = beats + 1, peer.answer("BEATEN", "REFUSE")
        same("worker: twenty thousand heartbeats are refused", told, "refuse state")
        say(100 <= beats < 20000, "worker: and the others are not answered", beats)
    for cores, memory in ((100000, 1 << 30), (0, 0)):
        with Stranger(cluster.socket, "WORKER", f"absurd{cores}") as peer:
            peer.says("JOIN", cores=cores, memory_mib=memory, machine="nowhere")
            same(f"worker: one with {cores} cores", peer.says("BEAT", sent=1).answer()[0],
                 "BEATEN")
    for name, values in (("cores", {"cores": 100001}), ("memory", {"memory_mib": U32}),
                         ("a long address", {"address": "a" * 513})):
        with Stranger(cluster.socket, "WORKER", f"absurd {name}") as peer:
            same(f"worker: one with too much of {name}",
                 peer.says("JOIN", machine="nowhere", **values).turned_away(), "refuse request")
    cluster.touch("go")
    cluster.until(lambda: ("honest", "SUCCESS") in cluster.ends(), "the honest one ends")
    same("worker: an honest one is not disturbed",
         [end for end in cluster.ends() if end[0] == "honest"], [("honest", "SUCCESS")])


def registration(cluster):
    with Stranger(cluster.socket, "WORKER", "duplicate", 5) as old:
        old.says("JOIN", cores=1, machine="nowhere").says("BEAT", sent=1).answer("BEATEN")
        with Stranger(cluster.socket, "WORKER", "duplicate", 6) as new:
            same("registration: the older of two is closed", old.answer(), "closed")
            new.says("JOIN", cores=1, machine="nowhere", attempts=[
                {"task": (1, 7), "attempt": 3, "state": WIRE["ATTEMPT_RUNNING"]}])
            told = new.answer("STOP")
            same("registration: what the server does not know is to be stopped",
                 (told[1]["task"], told[1]["attempt"]), ((1, 7), 3))
            with Stranger(cluster.socket) as late:
                late.says("GREET", version=VERSION, role=WIRE["WORKER"], name="duplicate", boot=7,
                          connection=4)
                same("registration: one that comes late is not taken", late.turned_away(),
                     "refuse state")
            same("registration: the first one stays", new.says("BEAT", sent=9).answer("BEATEN"),
                 ("BEATEN", {"sent": 9}))


with Cluster(lease=60) as alive:
    alive.work("good", 4)
    alive.submit({"before": {"run": "true"}}, "--wait")
    for test in (greetings, frames, wrong_words, requests, graphs, sizes, beats_go_on, uploads,
                 contents, workers, registration):
        test(alive)
    done = alive.submit({"after": {"run": "true"}}, "--wait")
    say(done.returncode == 0, "at the end jobs run as before", done.stdout + alive.told())
    say(alive.server.process.poll() is None, "by the same server")
    said = alive.server.said().replace("listening at", "")
    say("error" not in said.lower() and "runtime" not in said, "which has nothing to say", said)
Tap.end()
