"""workers - a server that a test controls, and the real `rota worker` that talks to it."""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from end import ROTA, Tap
from marked_processes import MarkedProcesses
from wire import VERSION, WIRE, Bad, Link

SECOND = 1000000
PATIENCE = 120  # longer than any machine is busy
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def same(what, got, expected):
    Tap.say(got == expected, what, f"{got!r} instead of {expected!r}")


def check(what, fine, note=""):
    Tap.say(bool(fine), what, note)


class Gone(Exception):
    """The other side has closed the connection."""


class Peer:
    """One connection of a worker. BEATs are answered while `answers` is true."""

    def __init__(self, link):
        self.link, self.answers, self.open = link, True, True
        self.beats, self.greet, self.joined = [], None, None
        self.came, self.news = [], threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            while True:
                kind, fields = self.link.take()
                with self.news:
                    if kind == "BEAT":
                        self.beats.append(fields["sent"])
                        if self.answers:
                            self.link.send("BEATEN", sent=fields["sent"])
                    else:
                        self.came.append((kind, fields))
                    self.news.notify_all()
        except (EOFError, OSError, Bad):
            with self.news:
                self.open = False
                self.news.notify_all()

    def expect(self, kind, seconds=PATIENCE, **wanted):
        """Takes the first message of this kind with these values."""
        end = time.monotonic() + seconds
        with self.news:
            while True:
                for at, (name, fields) in enumerate(self.came):
                    if name == kind and all(fields[key] == wanted[key] for key in wanted):
                        return self.came.pop(at)[1]
                if not self.open:
                    raise Gone(kind)
                if not self.news.wait(max(0, end - time.monotonic())):
                    raise TimeoutError(f"{kind} {wanted}; came: {self.came}")

    def none(self, kind, seconds=0.4):
        """True when no such message comes."""
        try:
            self.expect(kind, seconds)
            return False
        except (TimeoutError, Gone):
            return True

    def newest(self):
        """The time of the newest BEAT; waits for the first."""
        end = time.monotonic() + PATIENCE
        with self.news:
            while not self.beats:
                if not self.news.wait(max(0, end - time.monotonic())):
                    raise TimeoutError("BEAT")
            return self.beats[-1]

    def wait_closed(self, seconds=PATIENCE):
        end = time.monotonic() + seconds
        with self.news:
            while self.open and self.news.wait(max(0, end - time.monotonic())):
                pass
            return not self.open

    def welcome(self, server=1, lease=4 * SECOND, beat=SECOND // 5):
        self.greet = self.expect("GREET")
        self.link.send("WELCOME", version=VERSION, server=server, peer=1, lease=lease, beat=beat)
        self.joined = self.expect("JOIN")
        return self

    def send(self, kind, **values):
        self.link.send(kind, **values)

    def run(self, task, script, attempt=1, **more):
        values = {"token": 10 * task + attempt, "name": f"t{task}", "grace": SECOND, "cwd": "/",
                  "argv": ["/bin/sh", "-c", script]}
        self.send("RUN", task=(1, task), attempt=attempt, **{**values, **more})

    def run_exclusive(self, task, script, beat, **more):
        self.run(task, script, flags=WIRE["RUN_EXCLUSIVE"], beat=beat, **more)

    def finished(self, task, attempt=1, **more):
        return self.expect("FINISHED", task=(1, task), attempt=attempt, **more)

    def recorded(self, task, attempt=1, how="NOW_RECORDED"):
        self.send("RECORDED", task=(1, task), attempt=attempt, how=WIRE[how])

    def listed(self):
        """The attempts that JOIN has listed: {(task, attempt): (token, state)}."""
        return {(row["task"][1], row["attempt"]): (row["token"], row["state"])
                for row in self.joined["attempts"]}

    def close(self):
        # A thread waits in recv: only this wakes it, and tells the other side.
        try:
            self.link.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self.link.close()


class Cluster(MarkedProcesses):
    """A folder with the socket of a server and the folder of a worker."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="rota-worker-")
        self.address = os.path.join(self.path, "socket")
        self.folder = os.path.join(self.path, "state")
        self.listening, self.process, self.peers = None, None, []
        self.errors = os.path.join(self.path, "errors")
        self.listen()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.leave()
        self.wait_gone()
        shutil.rmtree(self.path, ignore_errors=True)

    def listen(self):
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listening.bind(self.address)
        self.listening.listen(8)
        self.listening.settimeout(PATIENCE)

    def leave(self):
        """The server is gone, with all its connections."""
        if self.listening:
            self.listening.close()
            os.unlink(self.address)
        self.listening = None
        for peer in self.peers:
            peer.close()
        self.peers = []

    def accept(self):
        peer = Peer(Link(self.listening.accept()[0], timeout=None))
        self.peers.append(peer)
        return peer

    def accept_alive(self):
        """The same, or None when the worker has ended before it came."""
        self.listening.settimeout(0.05)
        try:
            while self.process.poll() is None:
                try:
                    return self.accept()
                except TimeoutError:
                    pass
            return None
        finally:
            self.listening.settimeout(PATIENCE)

    def start(self, *options, **environment):
        words = [ROTA, "worker", "--server", self.address, "--folder", self.folder, "--name", "w1",
                 "-j", "2", "--env", "MARK", *options]
        with open(self.errors, "a", encoding="utf-8") as errors:
            # A group of its own, with its parent in the same session, as a shell does it: else the
            # kernel may drop the signals of a terminal instead of stopping the worker.
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=errors,
                                            process_group=0,
                                            env={**os.environ, "MARK": self.path,
                                                 **environment})
        return self.process

    def join(self, *options, **more):
        """A new worker, and its connection."""
        self.start(*options)
        return self.accept().welcome(**more)

    def said(self):
        with open(self.errors, encoding="utf-8") as file:
            return file.read()

    def kill(self):
        self.process.kill()
        self.process.wait()

    def ends_by_itself(self, seconds=0.1):
        """Whether something else has just killed it."""
        try:
            self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def file(self, name):
        return os.path.join(self.path, name)

    def has(self, name):
        return os.path.exists(self.file(name))

    def read(self, name):
        with open(self.file(name), encoding="utf-8") as file:
            return file.read()

    def wait_for(self, name, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while not self.has(name) and time.monotonic() < end:
            time.sleep(0.01)
        return self.has(name)

    def until(self, what):
        """Waits until it is so, and says whether it is."""
        end = time.monotonic() + PATIENCE
        while not what() and time.monotonic() < end:
            time.sleep(0.02)
        return bool(what())

    def ended(self):
        """The exit status of the command."""
        return self.process.wait(timeout=PATIENCE)

    def term(self):
        self.process.send_signal(signal.SIGTERM)


def run_tests():
    """Runs all marked tests; one that waits without success has failed."""
    for function in TESTS:
        try:
            function()
        except (Gone, TimeoutError, OSError) as error:
            check(function.__name__, False, repr(error))
    Tap.end()
