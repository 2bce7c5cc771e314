"""slurm - starts a real Slurm with one node, all of it in a folder of its own. Needs root.

munged, slurmctld and slurmd run in the foreground as children of this process.
"""
import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from cluster import PATIENCE

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "scancel", "scontrol", "squeue")
STARTS = 3  # a port that was free may be taken before Slurm has it
CONF = """
ClusterName=rota
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
KillWait={kill_wait}
{more}
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=64 RealMemory=16000
"""


def lack():
    """Why Slurm cannot be started here; None: it can."""
    if os.geteuid() != 0:
        return "only root can start Slurm"
    missing = [program for program in PROGRAMS if not shutil.which(program)]
    return f"Slurm is not installed: there is no {missing[0]}" if missing else None


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Slurm:
    """Ends all its jobs and programs when it is left. `more`: lines of slurm.conf."""

    def __init__(self, more="PartitionName=main Nodes=ALL Default=YES State=UP", kill_wait=2):
        self.folder = tempfile.mkdtemp(prefix="rota-slurm-", dir="/tmp")
        self.conf = os.path.join(self.folder, "slurm.conf")
        self.environment = {**os.environ, "SLURM_CONF": self.conf}
        self.more, self.kill_wait, self.processes = more, kill_wait, []

    def __enter__(self):
        os.chmod(self.folder, 0o755)
        os.mkdir(os.path.join(self.folder, "state"))
        with open(os.path.join(self.folder, "munge.key"), "wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(os.urandom(128))
        self.spawn("munged", "-F", "--force", *(f"--{name}={self.folder}/munge.{end}" for name, end
                   in (("socket", "sock"), ("key-file", "key"), ("pid-file", "pid"),
                       ("log-file", "log"), ("seed-file", "seed"))))
        for _ in range(STARTS):
            if self.start():
                return self
        text = self.said()
        self.__exit__()
        raise RuntimeError("Slurm does not start\n" + text)

    def __exit__(self, *_):
        self.run("scancel", "--full", "--signal=KILL", "--user=root")
        self.run("scancel", "--user=root")  # those that wait, too
        self.wait_for(lambda: not self.run("squeue", "--noheader").stdout.strip(), PATIENCE / 4)
        self.end(0)
        # With this tracking Slurm does not know processes that outlive their batch script.
        for pid in self.survivors():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def survivors(self):
        """Processes that know this Slurm by their environment."""
        for number in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError), open(f"/proc/{number}/environ", "rb") as file:
                if f"SLURM_CONF={self.conf}".encode() in file.read():
                    yield int(number)

    def spawn(self, *words):
        log = open(os.path.join(self.folder, words[0] + ".out"), "ab")
        with log:
            self.processes.append(subprocess.Popen(words, stdout=log, stderr=log,
                                                   stdin=subprocess.DEVNULL, env=self.environment))

    def end(self, first):
        """Of the programs that run, this one and all after it."""
        for process in reversed(self.processes[first:]):
            process.kill()
            process.wait(PATIENCE)
        del self.processes[first:]

    def start(self):
        """False: one of its programs has ended."""
        with open(self.conf, "w", encoding="utf-8") as file:
            file.write(CONF.format(host=socket.gethostname(), folder=self.folder, more=self.more,
                                   ports=free_ports(2), kill_wait=self.kill_wait))
        self.spawn("slurmctld", "-D", "-c", "-f", self.conf)
        self.spawn("slurmd", "-D", "-N", "n1", "-f", self.conf)
        runs = lambda: all(process.poll() is None for process in self.processes)
        idle = lambda: "idle" in self.run("sinfo", "-h", "-o", "%T").stdout
        if self.wait_for(lambda: not runs() or idle(), PATIENCE / 4) and runs():
            return True
        self.end(1)
        return False

    def run(self, *words):
        return subprocess.run(words, capture_output=True, text=True, check=False, timeout=PATIENCE,
                              env=self.environment, stdin=subprocess.DEVNULL, cwd=self.folder)

    def batch(self, script, *options):
        """Submits a job; its number."""
        path = os.path.join(self.folder, "script")
        with open(path, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\n" + script + "\n")
        done = self.run("sbatch", "--parsable", "-o", os.path.join(self.folder, "job.%j.out"),
                        *options, path)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip()

    def state(self, job):
        """Such as RUNNING; "": Slurm has forgotten it."""
        return self.run("squeue", "-h", "-t", "all", "-o", "%T", "-j", job).stdout.strip()

    @staticmethod
    def wait_for(what, patience):
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if what():
                return True
            time.sleep(0.05)
        return False

    def said(self):
        text = ""
        for name in sorted(os.listdir(self.folder)):
            if name.endswith(".out") or name == "munge.log":
                with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as f:
                    text += f"{name}: {f.read()[-3000:]}\n"
        return text
