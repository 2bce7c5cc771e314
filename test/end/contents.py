"""contents - a cluster over TCP with keys, and peers that send wrong contents of objects."""
import hashlib
import json
import os
import socket
import threading

from cluster import KeyedCluster, Process
from hostile import Stranger
from wire import VERSION, WIRE, Link


def hash_of(data):
    return hashlib.sha256(data).hexdigest()


def entry_of(data):
    return f"f:{len(data)}:{hash_of(data)}"


class Scene(KeyedCluster):
    """Two honest workers. A job makes random bytes on the first and reads them on the second."""

    def __init__(self, lease=20):
        super().__init__(lease=lease)
        self.log = self.path("audit.log")
        self.options += ["--audit", self.log]
        self.rounds = 0

    def join(self, name, cores=2):
        self.workers[name] = Process(
            self.path(name + ".log"), "worker", "--server", self.address, *self.key("worker"),
            "--listen", "127.0.0.1:0", "--peer-key", self.path("keys/peer.key"), "--name", name,
            "--machine", name, "--folder", self.path(name), "-j", str(cores))
        said = self.workers[name].said
        self.until(lambda: "connected to" in said(), f"{name} joins")

    def serve_again(self):
        """Where it was, so that its workers find it."""
        self.options[self.options.index("--listen") + 1] = self.address
        self.serve()

    def begin(self, size, reader="w1"):
        """The number of a new job: `make`, then `use`, each once its gate is open."""
        self.rounds += 1
        here, gate = self.path(f"r{self.rounds}"), "while [ ! -e {} ]; do sleep 0.02; done; "
        tasks = {"make": {"run": gate.format(here + ".make") + f"head -c {size} /dev/urandom > o;"
                                 f" sha256sum < o >> {here}.made", "out": ["o"], "machine": "w0"},
                 "wait": {"run": gate.format(here + ".use"), "needs": ["make"], "machine": "w0"},
                 "use": {"run": f"sha256sum < o > {here}.used; cp o r", "in": ["o"], "out": ["r"],
                         "keep": True, "needs": ["wait"], "machine": reader}}
        done = self.submit(tasks)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return int(done.stdout.split()[1])

    def open(self, gate):
        self.touch(f"r{self.rounds}.{gate}")

    def object(self, job, task):
        """The outputs of a task as (high, low), and the content if it is known."""
        outputs = self.sql(f"SELECT outputs FROM sched_job WHERE job = {job} AND name = '{task}'")
        name = outputs[0][0].split(":")[0]
        row = self.sql(f"SELECT content, bytes FROM sched_object WHERE object = '{name}'")
        high, low = (int(half, 16) for half in name.split("-"))
        return (high, low), row[0] if row else (None, 0)

    def state(self, job, task):
        return self.sql("SELECT status FROM sched_status WHERE"
                        f" job = {job} AND name = '{task}'")[0][0]

    def is_right(self, job):
        """None, or what is wrong with a job that was waited for."""
        done = self.rota("wait", str(job))
        made = self.read(f"r{self.rounds}.made").split()[::2]
        used = self.read(f"r{self.rounds}.used").split()[::2]
        place = self.path("got")
        got = self.rota("data", "get", f"{job}/r", place)
        if done.returncode or got.returncode:
            return f"it fails: {done.stdout} {done.stderr} {got.stderr}"
        with open(place, "rb") as file:
            brought = hash_of(file.read())
        os.unlink(place)
        if used != made[-1:] or brought != used[0]:
            return f"made {made}, used {used}, brought {brought}"
        return None

    def noted(self, **wanted):
        with open(self.log, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        return [line for line in lines
                if all(line.get(key) == value for key, value in wanted.items())]


def forge(socket, target, data):
    """A client puts these bytes into the store of the server, and binds them to an object."""
    with Stranger(socket, "PEER") as peer:
        peer.says("OFFER", entries=[entry_of(data)])
        if peer.answer()[0] == "WANT":
            peer.answer()
            peer.says("PIECE", entry=entry_of(data), offset=0, bytes=len(data)).raw(data)
            peer.answer()
        return peer.says("BIND", object=target, entry=entry_of(data)).answer()


class Liar:
    """A worker that claims to hold an object, and sends other bytes to its peers.

    With `knows` it names the right content and sends wrong bytes; else it names theirs. With "own"
    it claims to hold the right content, and then names and sends its own, whose hash is right.
    """

    def __init__(self, scene, knows, dice):
        self.scene, self.knows, self.dice, self.asked = scene, knows, dice, 0
        self.may_answer, self.parted = threading.Event(), threading.Event()
        self.may_answer.set()
        self.path = scene.path(f"liar{scene.rounds}.sock")
        self.target = self.data = self.right = None
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        self.listener.listen()
        self.peer = Stranger(scene.socket, "WORKER", f"liar{scene.rounds}", scene.rounds)
        self.peer.says("JOIN", cores=1, machine="nowhere", address=self.path)
        self.peer.says("HELD_ALL")
        threading.Thread(target=self.serve, daemon=True).start()
        threading.Thread(target=self.hear, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.close()
        self.peer.link.close()

    def claim(self, target, content, size):
        """`content` is the row of the object, or None if it is not made yet."""
        self.target, self.data = target, self.dice.randbytes(size)
        self.right = content
        self.tell()

    def tell(self):
        knows = self.knows and self.right
        content = (self.right[0], bytes.fromhex(self.right[2:])) if knows \
            else ("f", hashlib.sha256(self.data).digest())
        self.peer.says("HELD", objects=[{"kind": WIRE["FILE"], "object": self.target,
                                         "bytes": len(self.data), "content": content}])

    def hear(self):
        """Sends the same answer whenever it is asked to look."""
        try:
            while True:
                kind, fields = self.peer.link.take()
                if kind == "SHOW" and fields["objects"][0]["object"] == self.target:
                    self.tell()
        except (OSError, EOFError, ValueError):
            pass

    def serve(self):
        try:
            while True:
                self.answer(Link(self.listener.accept()[0]))
        except OSError:
            pass

    def answer(self, link):
        knows = self.knows is True and self.right
        entry = f"f:{len(self.data)}:{self.right[2:]}" if knows else entry_of(self.data)
        try:
            while True:
                kind, fields = link.take()
                if kind == "GREET":
                    link.send("WELCOME", version=VERSION)
                elif kind == "GET":
                    self.asked += 1
                    self.may_answer.wait()
                    link.send("CONTENT", entry=entry)
                elif kind == "WANT":
                    rest = self.data[fields["offset"]:]
                    link.send("PIECE", entry=entry, offset=fields["offset"], bytes=len(rest))
                    link.socket.sendall(rest)
        except (OSError, EOFError):
            pass
        link.close()
        self.parted.set()


def plant(folder, target, data, name):
    """Into the cache of a worker that is not there: these bytes, under the name of a content."""
    letter, size, digest = name.split(":")
    content = os.path.join(folder, "cache", "content", digest[:2])
    objects = os.path.join(folder, "cache", "object")
    for path in (content, objects):
        os.makedirs(path, exist_ok=True)
    with open(os.path.join(content, digest[2:]), "wb") as file:
        file.write(data)
    os.symlink(f"{letter}:{size}:{digest}",
               os.path.join(objects, f"{target[0]:016x}-{target[1]:016x}"))
