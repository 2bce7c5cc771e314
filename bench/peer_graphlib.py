#!/usr/bin/env python3
"""peer_graphlib - a peer: the graph on graphlib.TopologicalSorter of Python's library.

    peer_graphlib.py SHAPE TASKS
"""
import graphlib
import random
import sys
import time


def prerequisites(shape, task, draw):
    """The shapes of graph.c; the numbers drawn are others, which changes no figure."""
    if shape == "chain":
        return [task - 1] if task else []
    if shape == "random" and task:
        return [draw(task) for _ in range(3)]
    if shape == "layers" and task >= 1000:
        return [task // 1000 * 1000 - 1000 + draw(1000) for _ in range(3)]
    return []


def main():
    shape, count = sys.argv[1], int(sys.argv[2])
    draw = random.Random(1).randrange
    graph = [prerequisites(shape, task, draw) for task in range(count)]
    began = time.perf_counter()
    sorter = graphlib.TopologicalSorter()
    for task, before in enumerate(graph):
        sorter.add(task, *before)
    sorter.prepare()
    built = time.perf_counter()
    done = 0
    while sorter.is_active():
        for task in sorter.get_ready():
            sorter.done(task)
            done += 1
    walked = time.perf_counter()
    if done != count:
        sys.exit(1)
    scale = 1e9 / count
    print(f"{(walked - began) * scale:.1f} build={(built - began) * scale:.1f} "
          f"walk={(walked - built) * scale:.1f}")


main()
