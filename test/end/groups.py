"""groups - checks groups without the server: each command of a group holds a lock on a file.

The lock belongs to the open file, which every process of the command inherits. It is free when the
last of them is gone.
"""

PROBE = ("exec 9> {0}/group.{1}; flock -n 9 || echo clash {1} $ROTA_ID.$ROTA_ATTEMPT >> {0}/clash;"
         " {2}; echo {3} >> {0}/done")
HOLD = "python3 -c 'import time; b = b\"x\" * ({1} << 20); open(\"{2}\", \"w\"); time.sleep({0})'"


def probe(folder, group, seconds, word, memory=0):
    """A command that holds the lock of its group for some seconds.

    The kernel takes a while to end a process with much memory (in MiB). When it has touched all of
    it, the file up.WORD exists.
    """
    up = f"{folder}/up.{word}"
    hold = HOLD.format(seconds, memory, up) if memory else f"sleep {seconds}"
    return ["sh", "-c", PROBE.format(folder, group, hold, word)]


def probes(folder, prefix, count, groups, seconds, memory=lambda: 0):
    """Tasks of a lane, in this many groups; `seconds()` says how long each takes."""
    return {f"{prefix}t{i}": {"run": probe(folder, i % groups, seconds(), f"{prefix}t{i}",
                                           memory()),
                              "lane": "line", "group": f"g{i % groups}", "access": "write"}
            for i in range(count)}


def clashes(cluster):
    """The marks of two commands of one group that overlapped; "" if none did."""
    return cluster.read("clash")
