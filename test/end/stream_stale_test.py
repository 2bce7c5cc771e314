#!/usr/bin/env python3
"""stream_stale_test - readers of what an attempt wrote that the server no longer counts.

A worker comes back after another of its name has run the writer again, and gets the reader. It must
not read the stream that the first attempt left here: it would wait for its end forever.
"""
import errno

from wire import WIRE
from workers import Cluster, run_tests, same, test

STREAM = {"kind": WIRE["STREAM"], "name": "s", "object": (1, 1)}
BROKEN = (WIRE["STOPPED"], errno.ENOLINK)


def write(peer, script):
    peer.run(1, script, flags=WIRE["RUN_PRIVATE"], cwd="", outputs=[STREAM])


def read(peer, script="cat $ROTA_IN_s"):
    peer.run(2, script, flags=WIRE["RUN_PRIVATE"], cwd="", inputs=[STREAM])


def how_reader_ended(peer):
    told = peer.finished(2)
    return told["end"], told["status"]


@test
def a_failed_attempt_has_no_readers():
    with Cluster() as cluster:
        peer = cluster.join()
        write(peer, "exit 3")
        peer.finished(1)
        read(peer)
        same("a reader of a writer that has failed is refused", how_reader_ended(peer), BROKEN)


@test
def a_reader_ends_with_a_stale_attempt():
    with Cluster() as cluster:
        peer = cluster.join()
        write(peer, f"echo some > $ROTA_OUT_s; touch {cluster.file('wrote')}; sleep 1000")
        read(peer, f"cat $ROTA_IN_s; touch {cluster.file('read')}")
        cluster.wait_for("wrote")
        peer.send("STOP", task=(1, 1), attempt=1, grace=0)
        peer.finished(1)
        peer.recorded(1, how="IS_STALE")
        same("a reader whose writer does not count is ended", how_reader_ended(peer), BROKEN)
        same("and has not taken the gap for the end", cluster.has("read"), False)


@test
def a_good_attempt_may_be_read():
    with Cluster() as cluster:
        peer = cluster.join()
        write(peer, "echo all > $ROTA_OUT_s")
        read(peer, f"cat $ROTA_IN_s > {cluster.file('all')}")
        told = peer.finished(1)
        peer.recorded(1, how="IS_STALE")
        same("the writer succeeds", told["status"], 0)
        same("a complete stream is read to its end", (peer.finished(2)["status"],
                                                      cluster.read("all")), (0, "all\n"))


if __name__ == "__main__":
    run_tests()
