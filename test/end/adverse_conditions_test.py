#!/usr/bin/env python3
"""adverse_conditions_test - a server and a worker with odd inherited state, signals and lack of
resources.

The rows "inherited state", "signals" and "exhausted resources" of the table in doc/testing.md.
"""
import os
import shutil
import signal
import stat
import subprocess
import tempfile
import threading

from cluster import PATIENCE, Process
from end import WAKE, Tap
from hostile import Stranger, job_of
from net import run
from story import Story
from wire import WIRE, encode

say = Tap.say
NOISE = (signal.SIGPIPE, signal.SIGHUP, signal.SIGWINCH, signal.SIGCHLD, *WAKE)


class Odd(Story):
    """A cluster whose processes are started by a script that then executes them."""

    def __init__(self, script, lease=20):
        super().__init__(lease=lease)
        script = script.replace("FOLDER", self.folder)
        self.before = ["sh", "-c", script + '\nexec "$@"', "sh"]

    def serve(self):
        self.server = Process(self.path("server.log"), "server", "--listen", self.socket, "--db",
                              self.database, *self.options, before=self.before)
        self.until(lambda: os.path.exists(self.socket) and self.rota("ps").returncode != 4,
                   "the server listens")

    def work(self, name, cores=2, *options):
        self.workers[name] = Process(self.path(name + ".log"), "worker", "--server", self.socket,
                                     "--name", name, "--folder", self.path(name), "-j",
                                     str(cores), *options, before=self.before)
        return self.workers[name]

    def both(self):
        return [process.process for process in (self.server, *self.workers.values())]

    def is_sound(self):
        return self.rota("ps").returncode == 0 and " 0 broken" in subprocess.run(
            [self.program, "verify", self.database], capture_output=True, text=True, check=False,
            timeout=PATIENCE).stdout


# ---- What they inherit -------------------------------------------------------------------------

def files_closed():
    """Silent ones, so what they have said is not looked for."""
    with Odd("exec 0<&- 1>&- 2>&-") as cluster:
        cluster.work("w0", 2)
        done = cluster.submit({"a": {"run": "readlink /proc/self/fd/0 > o; echo out",
                                     "out": ["o"], "keep": True}}, "--wait")
        links = [os.readlink(f"/proc/{process.pid}/fd/{i}") for process in cluster.both()
                 for i in range(3)]
        say(done.returncode == 0 and links == ["/dev/null"] * 6,
            "without standard files they open none of their own in their place", (done, links))
        say(cluster.read("o") == "/dev/null\n" and cluster.rota("logs", "1.1").stdout == "out\n",
            "nor do commands", cluster.read("o"))
        say(cluster.is_sound(), "and the database is sound")


def loose_and_tight():
    for mask in ("0", "0777"):
        with Odd(f"umask {mask}") as cluster:
            cluster.join()
            done = cluster.submit({"a": {"run": "umask > m; seq 9 > o", "out": ["m", "o"],
                                         "keep": True}}, "--wait")
            say(done.returncode == 0 and cluster.read("o"), f"umask {mask}: jobs run",
                done.stderr + cluster.told())
            open_to_others = [path for path in (cluster.database, cluster.socket,
                                                cluster.path("w0"))
                              if stat.S_IMODE(os.lstat(path).st_mode) & 0o077]
            say(not open_to_others, f"umask {mask}: and nothing is for others", open_to_others)


def nowhere():
    with Odd("mkdir -p FOLDER/gone && cd FOLDER/gone && rmdir FOLDER/gone") as cluster:
        cluster.join()
        done = cluster.submit({"a": {"run": "pwd > o", "out": ["o"], "keep": True}}, "--wait")
        say(done.returncode == 0 and cluster.read("o"),
            "a folder that is gone is no place they need", done.stderr + cluster.told())


def loaded():
    # A program with a sanitizer wants to be loaded first; what it finds does not depend on it.
    order = "ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0"
    with Odd(f"export {order} LD_PRELOAD=libdl.so.2 LD_LIBRARY_PATH=/lib") as cluster:
        cluster.join()
        done = cluster.submit({"a": {"run": "echo ${LD_PRELOAD-none} ${LD_LIBRARY_PATH-none} > a",
                                     "out": ["a"], "keep": True},
                               "b": {"run": "echo ${LD_LIBRARY_PATH-none} > b", "out": ["b"],
                                     "keep": True, "env": {"LD_LIBRARY_PATH": "/asked"}}},
                              "--wait")
        say(done.returncode == 0 and cluster.read("a") == "none none\n",
            "variables of the loader are not handed on to commands", cluster.read("a"))
        say(cluster.read("b") == "/asked\n", "unless a job asks for it", cluster.read("b"))


# ---- What they hear ----------------------------------------------------------------------------

def storm(processes, over):
    while not over.is_set():
        for process in processes:
            for number in NOISE:
                process.send_signal(number)
        over.wait(0.001)


def noise():
    with Odd(":") as cluster:
        cluster.join(2)
        over = threading.Event()
        thread = threading.Thread(target=storm, args=(cluster.both(), over))
        thread.start()
        try:
            done = cluster.submit({f"t{i}": {"run": f"echo x >> {cluster.path(f'ran{i}')}"}
                                   for i in range(50)}, "--wait")
        finally:
            over.set()
            thread.join()
        ran = [cluster.read(f"ran{i}") for i in range(50)]
        say(done.returncode == 0 and ran == ["x\n"] * 50,
            "in a storm of signals that mean nothing all runs once", done.stderr + cluster.told())
        say(all(process.poll() is None for process in cluster.both()), "and neither process ends")
        ends = []
        for process in reversed(cluster.both()):
            for number in (*NOISE, signal.SIGTERM, *NOISE):
                process.send_signal(number)
            ends.append(process.wait(PATIENCE))
        say(ends == [0, 0], "one that means the end does, among all others", ends)


def unread_output():
    """Their output goes into a pipe whose other end is closed."""
    with Odd("mkfifo FOLDER/pipe$$; exec 9<> FOLDER/pipe$$ > FOLDER/pipe$$ 2>&1; exec 9<&-"
             ) as cluster:
        cluster.work("w0", 2)
        server = cluster.server.process
        done = cluster.submit({"a": {"run": "true"}}, "--wait")
        server.send_signal(signal.SIGHUP)  # it has something to say
        again = cluster.submit({"b": {"run": "no-such-command-here"}}, "--wait")
        say(done.returncode == 0 and again.returncode == 1 and server.poll() is None,
            "without a reader for their output they continue", (done, again))


# ---- What they lack ----------------------------------------------------------------------------

def worker_process(cluster):
    """The one that starts commands; its parent talks to the server."""
    parent = cluster.workers["w0"].process.pid
    with open(f"/proc/{parent}/task/{parent}/children", encoding="utf-8") as file:
        return [int(number) for number in file.read().split()]


def without_files():
    """A worker that can open nothing says so of each command, and stays."""
    with Odd(":") as cluster:
        cluster.join()
        fine = cluster.done({"first": {"run": "true"}})
        inner = worker_process(cluster)
        for number in inner:
            run("prlimit", f"--pid={number}", "--nofile=4:")
        bad = cluster.submit({"lacks": {"run": "true", "out": ["o"]}}, "--wait")
        told = cluster.rota("show", "2.1").stdout
        for number in inner:
            run("prlimit", f"--pid={number}", "--nofile=1024:")
        again = cluster.done({"after": {"run": "true"}})
        say(fine and bad.returncode == 1 and "open files" in told,
            "without files to open a command fails with that reason", told)
        say(again and cluster.workers["w0"].process.poll() is None
            and ("lacks", "w0", "LOST") not in cluster.history(),
            "the worker was there all the time, and is well later", cluster.told())


class Disk:
    """A small disk, visible only to processes that are started on it."""

    def __init__(self, folder, size):
        self.path = os.path.join(folder, "small")
        os.mkdir(self.path)
        script = f"mount -t tmpfs -o size={size} none {self.path} || exit 77; echo yes; cat"
        self.holder = subprocess.Popen(["unshare", "-m", "sh", "-c", script], text=True,
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.is_there = self.holder.stdout.readline() == "yes\n"
        self.enter = ["nsenter", "-t", str(self.holder.pid), "-m"]

    def do(self, script):
        return subprocess.run([*self.enter, "sh", "-c", script], cwd="/", capture_output=True,
                              text=True, check=False, timeout=PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.holder.stdin.close()
        self.holder.wait(PATIENCE)
        self.holder.stdout.close()


class OnDisk(Odd):
    """The server's database is on a small disk; the workers have another one."""

    def __init__(self, disk):
        super().__init__(":")
        shutil.rmtree(self.folder)
        self.folder, self.disk = os.path.dirname(disk.path), disk
        self.socket = self.path("server.sock")
        self.database = os.path.join(disk.path, "server.db")

    def serve(self):
        self.before = self.disk.enter
        super().serve()
        self.before = []


def without_disk():
    """Running tasks can end; new jobs are refused until there is room."""
    folder = tempfile.mkdtemp(prefix="rota-cluster-")
    with Disk(folder, "200m") as disk:
        if not disk.is_there:
            Tap.skip("a full disk", "no disk can be mounted here")
            shutil.rmtree(folder)
            return
        with OnDisk(disk) as cluster:
            cluster.join(2)
            job = cluster.begin({"early": {"run": cluster.waits_for("go")},
                                 "next": {"run": "true", "needs": ["early"]}})
            disk.do(f"cat /dev/zero > {disk.path}/big")
            # Tasks that no worker can run: accepted jobs only have to be kept.
            big = {f"t{i}": {"run": f"echo {'x' * 1000}{i}", "machine": "away"}
                   for i in range(5000)}
            told = cluster.submit(big)
            while told.returncode == 0:
                told = cluster.submit(big)
            say("disk is full" in told.stderr, "on a full disk no job is taken", told)
            cluster.touch("go")
            say(cluster.rota("wait", str(job)).returncode == 0,
                "one that was taken comes to its end", cluster.told())
            disk.do(f"rm {disk.path}/big")
            cluster.until(lambda: cluster.done({"late": {"run": "true"}}), "there is room")
            say(cluster.server.process.poll() is None, "with room again the same server takes more")
            sound = disk.do(f"{cluster.program} verify {cluster.database}").stdout
            say(" 0 broken" in sound, "and the database is sound", sound)


def without_memory():
    """No submission is half taken, and none that was taken is lost."""
    if os.environ.get("SANITIZED"):
        return
    with Odd(":") as cluster:
        cluster.join(2)
        job = cluster.begin({"early": {"run": cluster.waits_for("go")}})
        server = cluster.server.process
        with open(f"/proc/{server.pid}/statm", encoding="utf-8") as file:
            size = int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
        run("prlimit", f"--pid={server.pid}", f"--as={size + (1 << 20)}:")
        more = encode("SUBMIT", **job_of(1, [{"name": "x" * 250, "body": 1, "cores": 1}] * 4000,
                                         flags=WIRE["SUBMIT_MORE"]))
        with Stranger(cluster.socket, "CLIENT") as peer:
            for _ in range(40):
                peer.raw(more)
            told = peer.says("WATCH", job=4000).answer()
        say(told in ("refuse memory", "refuse request", "closed"),
            "without memory a job is not taken", told)
        run("prlimit", f"--pid={server.pid}", "--as=unlimited:")
        if server.poll() is not None:
            cluster.serve()
        cluster.touch("go")
        say(cluster.done({"late": {"run": "true"}})
            and cluster.rota("wait", str(job)).returncode == 0,
            "and what was taken before is done", cluster.told())


for test in (files_closed, loose_and_tight, nowhere, loaded, noise, unread_output, without_files,
             without_disk, without_memory):
    test()
Tap.end()
