"""shapes - task graphs of our own in the format tg-1, for machines without others'.

Each is drawn from a seed: the same seed is the same graph, whatever the machine.
"""
import random


def graph(name, tasks):
    """tasks: (kind, seconds, cores, sizes of outputs, inputs)."""
    rows = [{"n": kind, "d": seconds, "e_d": None, "cpus": cores,
             "outputs": [{"s": size, "e_s": None} for size in sizes],
             "inputs": [list(read) for read in inputs]}
            for kind, seconds, cores, sizes, inputs in tasks]
    by_kind = {}
    for row in rows:
        by_kind.setdefault(row["n"], []).append(row)
    for alike in by_kind.values():
        seconds = sum(row["d"] for row in alike) / len(alike)
        sizes = [output["s"] for row in alike for output in row["outputs"]]
        for row in alike:
            row["e_d"] = seconds
            for output in row["outputs"]:
                output["e_s"] = sum(sizes) / len(sizes)
    return {"format": "tg-1", "name": name, "set": "own", "tasks": rows}


def layers(seed, depth=6, width=20, mib=60.0):
    """Each task reads some of the layer before."""
    draw = random.Random(seed)
    tasks = []
    for level in range(depth):
        for _ in range(width):
            before = range((level - 1) * width, level * width) if level else []
            reads = sorted(draw.sample(list(before), min(len(before), draw.randint(1, 3))))
            tasks.append((f"level{level}", draw.uniform(5, 40), draw.choice((1, 1, 1, 2, 4)),
                          [draw.expovariate(1 / mib)], [(at, 0) for at in reads]))
    return graph(f"layers-{seed}", tasks)


def reduction(seed, maps=60, reduces=12, mib=20.0):
    """Every reducer reads a piece of every mapper."""
    draw = random.Random(seed)
    tasks = [("map", draw.uniform(10, 30), 1, [draw.uniform(0, mib) for _ in range(reduces)], [])
             for _ in range(maps)]
    tasks += [("reduce", draw.uniform(5, 50), 1, [1.0], [(at, which) for at in range(maps)])
              for which in range(reduces)]
    tasks.append(("collect", 3.0, 1, [0.0], [(maps + at, 0) for at in range(reduces)]))
    return graph(f"reduction-{seed}", tasks)


def pipelines(seed, lines=40, length=5, mib=100.0):
    """Many chains of unlike stages, and one task that reads all their ends."""
    draw = random.Random(seed)
    tasks = []
    for _ in range(lines):
        for stage in range(length):
            reads = [(len(tasks) - 1, 0)] if stage else []
            tasks.append((f"stage{stage}", draw.uniform(1, 10) * (stage + 1), 1 + stage % 2,
                          [draw.uniform(0, mib)], reads))
    ends = [(line * length + length - 1, 0) for line in range(lines)]
    tasks.append(("end", 10.0, 1, [], ends))
    return graph(f"pipelines-{seed}", tasks)


def tree(seed, depth=7, mib=80.0):
    """Splits in two again and again, sometimes without data."""
    draw = random.Random(seed)
    tasks = []
    for at in range(2 ** depth - 1):
        reads = [((at - 1) // 2, 0)] if at else []
        tasks.append((f"depth{(at + 1).bit_length()}", draw.uniform(2, 20), 1,
                      [draw.choice((0.0, draw.uniform(0, mib)))], reads))
    return graph(f"tree-{seed}", tasks)


def all_shapes(seed=1):
    return [layers(seed), reduction(seed), pipelines(seed), tree(seed),
            layers(seed + 1, 12, 8, 200.0)]


def independent(count):
    """Many tasks without data, as JSON lines that need no memory here."""
    yield '{"format":"tg-1","name":"independent","set":"own","tasks":[\n'
    for at in range(count):
        seconds = 1 + at * 7919 % 1000 / 100
        comma = "," if at + 1 < count else ""
        yield f'{{"n":"t","d":{seconds},"e_d":null,"cpus":1,"outputs":[],"inputs":[]}}{comma}\n'
    yield "]}\n"
