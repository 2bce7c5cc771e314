#!/usr/bin/env python3
"""send_blocked_test - a command reads while it sends: it neither spins nor hangs."""
import json
import os
import socket
import subprocess
import tempfile
import threading
import time

from cluster import ROTA_PATH
from end import Tap
from wire import VERSION, WIRE, Link

say = Tap.say
TASKS, WORD, ANSWERS, HOLD, PATIENCE = 2000, 2000, 4000, 3, 20


class Server(threading.Thread):
    """Sends answers that the command has not asked for, then reads a submission and accepts it."""

    def __init__(self, path, answers, hold):
        super().__init__(daemon=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen()
        self.answers, self.hold = answers, hold
        self.start()

    def run(self):
        link = Link(self.listener.accept()[0])
        while True:
            kind, fields = link.take()
            if kind == "GREET":
                link.send("WELCOME", version=VERSION, server=7)
                link.socket.recv(1, socket.MSG_PEEK)  # it has begun to send
                for _ in range(self.answers):  # blocks until the command has read most of them
                    link.send("ANSWER", request=99, bytes="x" * 1000)
                time.sleep(self.hold)
            elif not fields["flags"] & WIRE["SUBMIT_MORE"]:
                link.send("ACCEPTED", high=fields["high"], low=fields["low"], job=5)
                return


def submit(folder, name, answers=0, hold=0):
    """The output of the command, and its processor time in seconds."""
    place, path = os.path.join(folder, name), os.path.join(folder, "job.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"tasks": {f"t{i}": {"run": "echo " + "x" * WORD} for i in range(TASKS)}}, file)
    Server(place, answers, hold)
    command = [ROTA_PATH, "submit", "--shared", "--server", place, path]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        timer = threading.Timer(PATIENCE, process.kill)
        timer.start()
        out = process.stdout.read()
        usage = os.wait4(process.pid, 0)[2]
        timer.cancel()
        process.returncode = 0
    return out, usage.ru_utime + usage.ru_stime


with tempfile.TemporaryDirectory() as top:
    first, usual = submit(top, "reads")
    say(first == "job 5\n", "a server that reads at once gets the job", first)
    sent, spent = submit(top, "talks", answers=ANSWERS)
    say(sent == "job 5\n", "so does one that is read from before it reads", (sent, spent))
    sent, spent = submit(top, "waits", answers=1, hold=HOLD)
    say(sent == "job 5\n" and spent < 2 * usual + HOLD / 20,
        "while a server does not read, the command waits without work", (sent, spent, usual))
Tap.end()
