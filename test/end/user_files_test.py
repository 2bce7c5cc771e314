#!/usr/bin/env python3
"""user_files_test - a worker with --user does not use root's rights on files for a client.

The test makes the messages itself: a client need not use rota submit, and a server may be older.
"""
import os

from end import Tap
from workers import Cluster, check, run_tests, same, test
from wire import WIRE

PRIVATE, CACHE = WIRE["RUN_PRIVATE"], WIRE["RUN_CACHE"]
FILE, STREAM, SOURCE = WIRE["FILE"], WIRE["STREAM"], WIRE["SOURCE"]


class Closed(Cluster):
    """A worker with --user, and a folder that only root can enter, with a file in it."""

    def __init__(self):
        super().__init__()
        os.chmod(self.path, 0o755)
        self.closed = self.file("closed")
        os.mkdir(self.closed, 0o700)
        os.chmod(self.closed, 0o700)
        self.secret = os.path.join(self.closed, "secret")
        with open(self.secret, "w", encoding="utf-8") as file:
            file.write("root's\n")
        os.chmod(self.secret, 0o644)
        self.peer, self.number = self.join("--user", "nobody"), 0

    def ended(self, script="true", flags=PRIVATE, **values):
        """How it ends: whether it succeeded, and the reason."""
        self.number += 1
        self.peer.run(self.number, script, flags=flags, **{"name": "a", "cwd": "", **values})
        end = self.peer.finished(self.number)
        is_success = end["end"] == WIRE["EXITED"] and end["status"] == 0
        return is_success, end["reason"].decode(), end["outputs"]

    def refuses(self, what, word, **values):
        is_success, reason, _ = self.ended(**values)
        check(f"{what} is refused", not is_success and word in reason,
              (is_success, reason))
        same(f"{what}: the folder is as it was", os.listdir(self.closed), ["secret"])


@test
def nothing_is_written_outside_of_the_folder_of_a_task():
    with Closed() as it:
        made = {"kind": FILE, "name": "o", "object": (1, 1)}
        is_success, reason, _ = it.ended("echo evil > o", PRIVATE | CACHE, outputs=[made])
        check("a result is kept", is_success, reason)
        kept = {**made, "flags": WIRE["KEEP"], "path": os.path.join(it.closed, "cron")}
        it.refuses("a kept output of a known result", "--user", script="echo evil > o",
                   flags=PRIVATE | CACHE, outputs=[kept])
        it.refuses("a folder for an output in any directory", "--user", flags=0, cwd=it.closed,
                   outputs=[{"kind": FILE, "name": "made/by/x", "object": (1, 2)}])


@test
def nothing_is_created_through_a_link():
    with Closed() as it, open(it.file("open"), "w", encoding="utf-8"):
        seen = it.file("seen")  # the user can look into it, but not write
        os.mkdir(seen)
        os.chmod(seen, 0o755)
        for kind, folder in (("closed", it.closed), ("seen", seen)):
            link = {"kind": SOURCE, "name": "d", "path": folder}
            below = {"kind": SOURCE, "name": "d/link", "path": it.file("open")}
            why = "below a link"
            it.refuses(f"{kind}: an input", why, inputs=[link, below])
            it.refuses(f"{kind}: a stream that is written", why, inputs=[link], outputs=[
                {"kind": STREAM, "name": "d/out", "object": (1, 4)}])
            it.refuses(f"{kind}: a folder of an output", why, inputs=[link], outputs=[
                {"kind": FILE, "name": "d/more/x", "object": (1, 5)}])
        same("nothing is in the other folder", os.listdir(seen), [])


@test
def a_client_reads_nothing_that_the_user_cannot_read():
    with Closed() as it:
        source = {"kind": SOURCE, "name": "s", "path": it.secret}
        for name, flags in (("an input", PRIVATE), ("an input of a cached task", PRIVATE | CACHE)):
            it.refuses(name, "Permission denied", flags=flags, inputs=[source])
        it.refuses("an output that root alone can reach", "--user", flags=0, cwd=it.path,
                   outputs=[{"kind": FILE, "name": "closed/secret", "object": (1, 6)}])


@test
def actions_of_the_user_still_work():
    with Closed() as it:
        path = it.file("mine")
        with open(path, "w", encoding="utf-8") as file:
            file.write("mine\n")
        os.chmod(path, 0o644)
        source = {"kind": SOURCE, "name": "deep/s", "path": path}
        made = {"kind": FILE, "name": "far/down/o", "object": (1, 7)}
        for turn in ("first", "second"):
            is_success, reason, outputs = it.ended("cat deep/s > far/down/o", PRIVATE | CACHE,
                                                   inputs=[source], outputs=[made])
            check(f"{turn}: inputs and outputs below folders", is_success and len(outputs) == 1
                  and outputs[0]["bytes"] == 5, (reason, outputs))


if __name__ == "__main__":
    if os.geteuid() != 0:
        Tap.skip("files of others", "only root can run commands as another user")
        Tap.end()
    run_tests()
