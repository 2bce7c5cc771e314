#!/usr/bin/env python3
"""late_run_test - a worker that hangs for a lease, just before it would start a command, does not.

strace stops the agent for 5 s in the call that sets the fence, as a signal or a debugger may. The
lease ends after 2 s, and the fence is due after 4 s.
"""
import os
import re

import kill
import workers
from end import Tap
from workers import SECOND, Cluster, check, run_tests, same, test


class Traced(Cluster):
    """The worker runs under strace, which writes down what is sent."""

    def start(self, *options, **environment):
        path = self.file("traced")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\nexec strace -f -qq -s 1 -o {self.file('calls')}"
                       " -e trace=timerfd_settime,sendto"
                       " -e inject=timerfd_settime:delay_enter=5000000:when=1"
                       f" {os.path.abspath(ROTA)} \"$@\"\n")
        os.chmod(path, 0o755)
        workers.ROTA = path
        return super().start(*options, **environment)


@test
def a_command_does_not_start_after_its_lease():
    with Traced() as cluster:
        cluster.start()
        peer = cluster.accept()
        peer.answers = False  # so that the RUN alone says how long the lease is
        peer.welcome(lease=24 * SECOND, beat=SECOND)
        peer.run_exclusive(1, f"touch {cluster.file('ran')}", peer.newest() - 22 * SECOND)
        check("the worker ends", cluster.ended() in (70, -9), cluster.said())
        calls = cluster.read("calls").partition("timerfd_settime")[2]
        sent = [line for line in calls.splitlines() if re.search(r"sendto\(.* = [1-9]", line)]
        check("it has set the fence", calls, cluster.said())
        same("it has sent nothing since", sent, [])
        check("the command has not run", not cluster.has("ran"))


if __name__ == "__main__":
    ROTA = workers.ROTA
    if kill.has_strace() and not os.environ.get("SANITIZED"):
        run_tests()
    Tap.skip("a late command", "strace cannot be used here")
    Tap.end()
