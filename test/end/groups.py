"""groups - checks groups without the server: each command of a group holds a lock on a file.

The lock belongs to the open file, which every process of the command inherits. It is free when the
last of them is gone.
"""

PROBE = ("exec 9> {0}/group.{1}; flock -n 9 || echo clash {1} $ROTA_ID.$ROTA_ATTEMPT >> {0}/clash;"
         " sleep {2}; echo {3} >> {0}/done")


def probe(folder, group, seconds, word):
    """A command that holds the lock of its group for some seconds."""
    return ["sh", "-c", PROBE.format(folder, group, seconds, word)]


def probes(folder, prefix, count, groups, seconds):
    """Tasks of a lane, in this many groups; `seconds()` says how long each takes."""
    return {f"{prefix}t{i}": {"run": probe(folder, i % groups, seconds(), f"{prefix}t{i}"),
                              "lane": "line", "group": f"g{i % groups}", "access": "write"}
            for i in range(count)}


def clashes(cluster):
    """The marks of two commands of one group that overlapped; "" if none did."""
    return cluster.read("clash")
