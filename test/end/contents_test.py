#!/usr/bin/env python3
"""contents_test - forged contents: every receiver refuses them, and the job still ends correctly.

    contents_test.py --rounds 100 --seed N     many more rounds, with this seed
"""
import argparse
import hashlib
import os
import signal

import seed
from cluster import PATIENCE
from contents import Liar, Scene, entry_of, forge, plant
from end import Tap
from hostile import Stranger
from probe import Probe
from wire import WIRE, encode

options = argparse.ArgumentParser()
options.add_argument("--rounds", type=int, default=4)
options.add_argument("--seed", type=int)
OPTIONS = options.parse_args()
DICE = seed.chance()
say = Tap.say
KNOWS = {True: ", of the right name", "own": ", of its own name", False: ""}


def size():
    """Random bytes of this many never repeat: a content that a worker has is not fetched again."""
    return DICE.choice((16, 1000, 70000, 300000))


def forging_client(scene, moment):
    """Binds other bytes to an output of another user's job, before, while and after it is made."""
    many = size()
    job = scene.begin(many)
    answers = []

    def now(name, task="make"):
        if name != moment:
            return
        target = scene.object(job, task)[0]
        answers.append((target, forge(scene.socket, target, DICE.randbytes(many))))

    now("before")
    scene.until(lambda: scene.state(job, "make") == "RUNNING" or moment == "before", "it runs")
    now("running")
    now("dependent", "use")
    scene.open("make")
    scene.until(lambda: scene.state(job, "make") == "SUCCESS", "it is made")
    now("made")
    scene.open("use")
    fault = scene.is_right(job)
    now("over", "use")
    target, answer = answers[0]
    name = f"{target[0]:016x}{target[1]:016x}"
    scene.until(lambda: scene.noted(verb="bind", object=name), "it is noted")
    noted = scene.noted(verb="bind", object=name, outcome="refused")
    if moment == "over" and not fault:
        fault = scene.is_right(job)
    say(answer == "refuse request" and len(noted) == 1 and not fault,
        f"a client's forgery, {moment}: refused, noted, and the job ends right",
        (answer, noted, fault))


def forging_command(scene):
    """A client's command names the output of another user's task as its own output or input."""
    job = scene.begin(size())
    scene.open("make")
    scene.until(lambda: scene.state(job, "make") == "SUCCESS", "it is made")
    target = scene.object(job, "make")[0]
    answers = []
    own = (target[0] ^ 1, target[1])
    for low, wrong in ((1, "outputs"), (2, "inputs"), (3, "outputs")):
        file = {"kind": WIRE["FILE"], "name": "o", "object": target}
        body = encode("RUN", argv=["sh", "-c", "echo forged > o"], flags=WIRE["RUN_PRIVATE"],
                      **{wrong: [file]})
        rest = {} if low < 3 else {"outputs": [{"task": 1, "object": own}]}
        with Stranger(scene.socket, "CLIENT") as peer:
            answers.append(peer.says("SUBMIT", high=9, low=low, bodies=[body], commands=["sh"],
                                     machines=["w1" if wrong == "inputs" else "w0"],
                                     tasks=[{"name": "a", "body": 1, "cores": 1, "machine": 1}],
                                     flags=WIRE["SUBMIT_WATCH"], **rest)
                           .answer("REFUSE", "OVER"))
    scene.open("use")
    fault = scene.is_right(job)
    say(answers == ["refuse request"] * 3 and not fault,
        "a command that names an object which its task does not declare is refused",
        (answers, fault))


def forged_here(scene):
    """The worker that makes and reads an object has other bytes under its id when it reads it."""
    many = size()
    job = scene.begin(many, reader="w0")
    scene.open("make")
    scene.until(lambda: scene.state(job, "make") == "SUCCESS", "it is made")
    target = scene.object(job, "make")[0]
    data = DICE.randbytes(many)
    os.unlink(scene.path(f"w0/cache/object/{target[0]:016x}-{target[1]:016x}"))
    plant(scene.path("w0"), target, data, entry_of(data))
    scene.open("use")
    fault = scene.is_right(job)
    say(not fault, "a forged copy on the worker that reads it is not read", fault)


def forging_worker(scene, moment, knows):
    """Says that it holds what another worker makes, and sends other bytes."""
    many = size()
    job = scene.begin(many)
    with Liar(scene, knows, DICE) as liar:
        if moment == "before":
            liar.claim(scene.object(job, "make")[0], None, many)
        scene.open("make")
        scene.until(lambda: scene.state(job, "make") == "SUCCESS", "it is made")
        target, (content, _) = scene.object(job, "make")
        if moment != "before":
            liar.claim(target, content, many)
        if moment == "alone":  # it is the only one that says so
            scene.until(lambda: not knows or len(scene.holders(target)) == 2, "it is believed")
            scene.wipe("w0")
        scene.open("use")
        fault = scene.is_right(job)
        noted = scene.noted(verb="refuse_content", holder=liar.path, outcome="done")
        say(not fault and len(noted) == liar.asked <= 1,
            f"a worker's forgery, {moment}{KNOWS[knows]}: asked"
            f" {liar.asked} times, refused, and the job ends right", (fault, noted, liar.asked))
        return len(noted)


def forging_without_server(scene):
    """The wrong bytes come while the server is away: it hears of them when it is back."""
    many = size()
    job = scene.begin(many)
    scene.open("make")
    scene.until(lambda: scene.state(job, "make") == "SUCCESS", "it is made")
    target, (content, _) = scene.object(job, "make")
    with Liar(scene, True, DICE) as liar:
        liar.may_answer.clear()
        liar.claim(target, content, many)
        scene.until(lambda: len(scene.holders(target)) == 2, "it is believed")
        scene.wipe("w0")
        scene.open("use")
        scene.until(lambda: liar.asked, "it is asked")
        scene.server.kill()
        worker, gone = scene.workers["w1"], f"{scene.address}: "
        scene.until(lambda: gone in worker.said().rsplit("connected to", 1)[1], "w1 has noticed")
        liar.may_answer.set()
        liar.parted.wait(PATIENCE)
        scene.serve_again()
        scene.until(lambda: scene.noted(verb="refuse_content", holder=liar.path), "it is noted")
        scene.rota("cancel", str(job))
        noted = scene.noted(verb="refuse_content", holder=liar.path)
        say(len(noted) == liar.asked == 1,
            "a worker's forgery while the server is away: noted when it is back",
            (noted, liar.asked))


def forging_worker_with_keys(scene, moment, knows):
    """A real one, over TCP with keys, whose cached files were exchanged."""
    many = size()
    job = scene.begin(many)
    scene.open("make")
    scene.until(lambda: scene.state(job, "make") == "SUCCESS", "it is made")
    target, (content, _) = scene.object(job, "make")
    data, name = DICE.randbytes(many), f"evil{scene.rounds}"
    plant(scene.path(name), target, data,
          f"f:{many}:{content[2:]}" if knows else entry_of(data))
    scene.join(name)
    scene.until(lambda: not knows or len(scene.holders(target)) == 2, "it is believed")
    if moment == "alone":
        scene.wipe("w0")
    scene.open("use")
    fault = scene.is_right(job)
    scene.workers.pop(name).kill()
    noted = [line for line in scene.noted(verb="refuse_content")
             if line["object"] == f"{target[0]:016x}{target[1]:016x}"]
    wanted = 1 if knows and moment == "alone" else 0
    say(not fault and len(noted) >= wanted,
        f"a worker with keys, {moment}{', of the right name' if knows else ''}: refused"
        f" {len(noted)} times, and the job ends right", (fault, noted))
    return len(noted)


def forging_to_clients(scene, program, knows):
    """The only one that says it holds what is kept: a client on this machine asks it directly."""
    many = size()
    job = scene.begin(many)
    scene.open("make")
    scene.open("use")
    fault = scene.is_right(job)
    with Liar(scene, knows, DICE) as liar:
        target, (content, _) = scene.object(job, "use")
        scene.wipe("w1", lambda: liar.claim(target, content, many))
        scene.until(lambda: len(scene.holders(target)) == 1, "the maker's copy is gone")
        place = scene.path(f"client{scene.rounds}")
        told = program(f"{job}/r", place)
        with open(place, "rb") as file:
            got = hashlib.sha256(file.read()).hexdigest()
        used = scene.read(f"r{scene.rounds}.used").split()[:1]
        say(not fault and [got] == used and liar.asked,
            f"{program.__name__}: a client refuses what a worker sends ({liar.asked} times asked"
            f"{', its own content' if knows == 'own' else ''}), and gets what is made again",
            (told, got, used, fault))


def forged_result(scene):
    """A task with a content key is lost once; a worker that never had it reports an attempt."""
    scene.rounds += 1
    gate, runs = scene.path("keyed.go"), scene.path("keyed.runs")
    done = scene.submit({"keyed": {
        "run": f"echo $ROTA_ATTEMPT >> {runs}; while [ ! -e {gate} ]; do sleep 0.02; done;"
               " echo right > k", "out": ["k"], "keep": True, "cache": True, "machine": "w0"}})
    job = int(done.stdout.split()[1])
    scene.until(lambda: scene.read("keyed.runs").split() == ["1"], "it runs")
    scene.wipe("w0")
    scene.until(lambda: scene.read("keyed.runs").split() == ["1", "2"], "it runs again")
    target = scene.object(job, "keyed")[0]
    with Stranger(scene.socket, "WORKER", "forger") as peer:
        peer.says("JOIN", cores=1, machine="nowhere", address="/nowhere")
        for attempt in (1, 0, 3, 1 << 31):
            peer.says("FINISHED", task=(job, 1), attempt=attempt, end=WIRE["EXITED"],
                      outputs=[{"kind": WIRE["FILE"], "name": "k", "object": target, "bytes": 6,
                                "content": ("f", hashlib.sha256(b"wrong\n").digest())}])
            told = peer.answer("RECORDED")
            say(told[1]["how"] == WIRE["IS_STALE"] and scene.state(job, "keyed") == "RUNNING",
                f"a result of attempt {attempt} that it was never given counts for nothing", told)
    scene.touch("keyed.go")
    done = scene.rota("wait", str(job))
    scene.rota("data", "get", f"{job}/k", scene.path("k"))
    say(done.returncode == 0 and scene.read("k") == "right\n", "and the task ends right", done)


def accused_maker(scene):
    """A worker says that the only copy is forged. Made again there, the bytes are the same."""
    scene.rounds += 1
    gate = scene.path("accused.go")
    maker = scene.work("maker", 2, "--machine", "maker")  # whose address is known
    scene.until(lambda: "connected to" in maker.said(), "it joins")
    done = scene.submit({
        "make": {"run": "echo same > a", "out": ["a"], "machine": "maker"},
        "wait": {"run": f"while [ ! -e {gate} ]; do sleep 0.02; done", "needs": ["make"]},
        "use": {"run": "cat a > b", "in": ["a"], "out": ["b"], "keep": True, "needs": ["wait"],
                "machine": "w1"}})
    job = int(done.stdout.split()[1])
    scene.until(lambda: scene.state(job, "make") == "SUCCESS", "it is made")
    target = scene.object(job, "make")[0]
    with Stranger(scene.socket, "WORKER", "accuser") as peer:
        peer.says("JOIN", cores=1, machine="nowhere", address="/nowhere")
        peer.says("FORGED", object=target, address=scene.path("maker/data/sock"), reason="no")
        scene.until(lambda: scene.noted(verb="refuse_content", fault="no"), "it is noted")
    scene.touch("accused.go")
    done = scene.rota("wait", str(job))
    scene.rota("data", "get", f"{job}/b", scene.path("b"))
    say(done.returncode == 0 and scene.read("b") == "same\n",
        "a maker that was accused falsely, and makes the same again, is asked again",
        (done, scene.ends()))
    maker.kill(signal.SIGTERM)


class Forged(Scene):
    def holders(self, target):
        name = f"{target[0]:x}-{target[1]:x}"
        return self.sql(f"SELECT worker FROM sched_replica WHERE object = '{name}'"
                        " AND flags & 1")

    def wipe(self, name, meanwhile=lambda: None):
        """All that it had is gone, and it is back."""
        self.workers[name].kill()
        self.remove(os.path.join(name, "cache"))
        meanwhile()
        os.rename(self.path(name + ".log"), self.path(f"{name}.{self.rounds}.log"))
        self.join(name)


def main():
    with Forged() as scene:
        for name in ("w0", "w1"):
            scene.join(name)
        moments = ["before", "running", "dependent", "made", "over"]
        for number in range(max(OPTIONS.rounds, len(moments))):
            forging_client(scene, moments[number] if number < 5 else DICE.choice(moments))
        forging_command(scene)
        forged_here(scene)
        forged_result(scene)
        forging_without_server(scene)
        accused_maker(scene)

        def command_line(name, place):
            return scene.rota("data", "get", name, place)

        def library(name, place):
            with Probe() as probe:
                probe.connect(scene.socket)
                return probe.do("get", name, place, 60000, 0)

        for _ in range(max(1, OPTIONS.rounds // 10)):
            for knows in (True, "own"):
                forging_to_clients(scene, command_line, knows)
                forging_to_clients(scene, library, knows)
        asked = 0
        moments = ["alone", "made", "before"]
        for number in range(OPTIONS.rounds):
            knows = (True, "own", True, False)[number % 4]
            asked += forging_worker(scene, moments[number % 3], knows)
        for number in range(max(2, OPTIONS.rounds // 4)):
            asked += forging_worker_with_keys(scene, ("alone", "made")[number % 2], number % 3 < 2)
        say(asked >= max(2, OPTIONS.rounds // 3), f"forgers were found out {asked} times")
        made = scene.sql("SELECT count(*), count(content) FROM sched_object WHERE bytes > 0")[0]
        say(made[0] == made[1] > 0, "each object that was made has a hash", made)


main()
Tap.end()
