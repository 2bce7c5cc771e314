#!/usr/bin/env python3
"""order_test - a worker refuses invalid orders of a server."""
import os

from wire import WIRE
from workers import Cluster, check, run_tests, same, test

BAD = {
    "no words": {"argv": []},
    "a first word that is empty": {"argv": ["", "x"]},
    "a program that is not there": {"argv": ["/no/such/program"]},
    "a directory that is not there": {"cwd": "/no/such/directory"},
    "more cores than there are": {"cores": 0xffffffff},
    "an input that is not there": {"inputs": [
        {"kind": WIRE["SOURCE"], "name": "in", "path": "/no/such/file"}]},
}


@test
def bad_orders_are_refused():
    with Cluster() as cluster:
        peer = cluster.join()
        for number, (name, values) in enumerate(BAD.items(), 1):
            peer.run(number, f"touch {cluster.file('ran')}", **{"flags": WIRE["RUN_PRIVATE"],
                                                                **values})
            told = peer.finished(number)
            check(f"{name}: {told['reason'].decode() or told['end']}",
                  told["end"] != WIRE["EXITED"] or told["status"], told)
            peer.recorded(number)
        same("nothing was executed", cluster.has("ran"), False)
        peer.run(100, "true")
        same("and what makes sense is", peer.finished(100)["end"], WIRE["EXITED"])


@test
def outputs_stay_inside():
    """No name of a job reads or changes a file outside of its directory."""
    with Cluster() as cluster:
        with open(cluster.file("canary"), "w", encoding="utf-8") as file:
            file.write("untouched")
        peer = cluster.join()
        for number, name in enumerate(("../../../canary", cluster.file("canary"), "a/../../x",
                                       "..", ""), 1):
            row = {"kind": WIRE["FILE"], "name": name, "object": (1, number)}
            peer.run(number, "true", flags=WIRE["RUN_PRIVATE"], cwd="", outputs=[row])
            told = peer.finished(number)
            check(f"the output {name[-20:]!r} is refused: {told['reason'].decode()}",
                  told["end"] != WIRE["EXITED"] and not told["outputs"], told)
            peer.recorded(number)
            row = {**row, "kind": WIRE["SOURCE"], "path": "/etc/hostname", "object": (0, 0)}
            peer.run(50 + number, "true", flags=WIRE["RUN_PRIVATE"], cwd="", inputs=[row])
            told = peer.finished(50 + number)
            check(f"so is the input {name[-20:]!r}: {told['reason'].decode()}",
                  told["end"] != WIRE["EXITED"], told)
            peer.recorded(50 + number)
        same("files outside are unchanged", (cluster.read("canary"), sorted(
            name for name in os.listdir(cluster.path))), (
                "untouched", ["canary", "errors", "socket", "state"]))


if __name__ == "__main__":
    run_tests()
