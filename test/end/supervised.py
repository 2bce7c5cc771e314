"""supervised - a supervisor like systemd: a notification socket, and sockets that are passed on."""
import os
import select
import signal
import socket
import struct
import subprocess
import time

from end import ROTA

ROTA_PATH = os.path.abspath(ROTA)
PATIENCE = 120
SO_TIMESTAMP = 29  # of Linux; Python has no name for it


class Supervisor:
    """Hears what processes tell it."""

    def __init__(self, path):
        self.path = path
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind("\0" + path[1:] if path[0] == "@" else path)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMP, 1)
        self.heard, self.times, self.children = [], [], []

    def listen(self, seconds=0):
        """Takes the messages that have arrived, and arrive within these seconds."""
        end = time.monotonic() + seconds
        while select.select([self.socket], [], [], max(0, end - time.monotonic()))[0]:
            told, notes, _, _ = self.socket.recvmsg(4096, 64)
            seconds, micros = struct.unpack("qq", notes[0][2])  # when it was sent, not when heard
            told = told.decode().splitlines()
            self.heard += told
            self.times += [seconds + micros / 1e6] * len(told)
        return self.heard

    def until(self, line):
        """Waits until a line begins so."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            if any(told.startswith(line) for told in self.listen()):
                return True
            select.select([self.socket], [], [], 0.1)
        return False

    def start(self, *words, sockets=(), watchdog=0, pid=None, log=None):
        """Starts rota with sockets as files 3, 4, ... and with what it needs to know."""
        environment = {**os.environ, "NOTIFY_SOCKET": self.path}
        if watchdog:
            environment["WATCHDOG_USEC"] = str(watchdog)
        numbers = [held.fileno() for held in sockets]

        def prepare():
            # Files of our own may have the numbers that are wanted: all go out of the way first.
            high = [os.dup2(number, 100 + place) for place, number in enumerate(numbers)]
            for place, number in enumerate(high):
                os.dup2(number, 3 + place)

        # A shell becomes the program: only the process itself knows its number.
        script = "exec \"$@\""
        if sockets:
            script = f"export LISTEN_PID={pid or '$$'} LISTEN_FDS={len(numbers)}; " + script
        with open(log or os.devnull, "ab") as file:
            child = subprocess.Popen(["sh", "-c", script, "sh", ROTA_PATH, *words], env=environment,
                                     preexec_fn=prepare, close_fds=False, stdout=file, stderr=file,
                                     stdin=subprocess.DEVNULL)
        self.children.append(child)
        return child

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for child in self.children:
            if child.poll() is None:
                child.send_signal(signal.SIGKILL)
                child.wait(PATIENCE)
        self.socket.close()
