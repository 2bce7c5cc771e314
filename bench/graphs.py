"""graphs - one graph of commands in the language of each program that is to run it."""
import json
import os
import random

TRUE = "/bin/true"
MASK = (1 << 64) - 1


def needs_of(shape, count):
    """For each task the numbers of its dependencies; layers have 60 tasks with three each."""
    chance, width = random.Random(7), 60
    if shape == "independent":
        return [[] for _ in range(count)]
    if shape == "chain":
        return [[i - 1] if i else [] for i in range(count)]
    return [sorted(chance.sample(range(i // width * width - width, i // width * width), 3))
            if i >= width else [] for i in range(count)]


def put(folder, name, lines):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.writelines(line + "\n" for line in lines)


def names(numbers):
    return " ".join(f"t{i}" for i in numbers)


def write(folder, shape, count):
    """Tasks that do nothing."""
    tasks = list(enumerate(needs_of(shape, count)))
    put(folder, "graph.txt", (" ".join(map(str, needs)) for _, needs in tasks))
    put(folder, "numbers.txt", (str(i) for i, _ in tasks))
    put(folder, "build.ninja", ["rule run", f"  command = {TRUE}"]
        + [f"build t{i}: run {names(needs)}".rstrip() for i, needs in tasks])
    put(folder, "Makefile", ["MAKEFLAGS += -rR", ".SUFFIXES:", f"all: {names(range(count))}",
                             f".PHONY: all {names(range(count))}"]
        + [f"t{i}: {names(needs)}\n\t@{TRUE}" for i, needs in tasks])
    put(folder, "job.jsonl", (json.dumps({"name": f"t{i}", "run": TRUE}
                                         | ({"needs": [f"t{k}" for k in needs]} if needs else {}))
                              for i, needs in tasks))
    put(folder, "Snakefile", snakes(tasks))


def snakes(tasks):
    yield f"rule all:\n    input: {[f't{i}' for i, _ in tasks]}"
    for i, needs in tasks:
        inputs = f"    input: {[f't{k}' for k in needs]}\n" if needs else ""
        yield f"rule r{i}:\n{inputs}    output: touch('t{i}')\n    shell: '{TRUE}'"


def write_finished(folder, count):
    """Chains of ten tasks, each of which makes a file from the one before; all files exist."""
    made = [f"d{i % 100}/f{i}" for i in range(count)]
    source = ["source" if i % 10 == 0 else made[i - 1] for i in range(count)]
    for i in range(100):
        os.makedirs(os.path.join(folder, f"d{i}"), exist_ok=True)
    for name in ["source"] + made:
        put(folder, name, [])
    put(folder, "names.txt", ["source"] + made)
    put(folder, "build.ninja", ["rule make", "  command = touch $out"]
        + [f"build {out}: make {of}" for out, of in zip(made, source)])
    put(folder, "Makefile", ["MAKEFLAGS += -rR", ".SUFFIXES:", "all: " + " ".join(made)]
        + [f"{out}: {of}\n\ttouch {out}" for out, of in zip(made, source)])
    put(folder, "job.jsonl", (json.dumps({"name": f"t{i}", "run": f"touch {out}"}
                                         | ({"needs": [f"t{i - 1}"]} if i % 10 else {}))
                              for i, out in enumerate(made)))
    # The order of the files' times is that of the names: each is younger than its source.
    put(folder, ".ninja_log", ["# ninja log v5"] + [
        f"0\t1\t{os.stat(os.path.join(folder, out)).st_mtime_ns}\t{out}\t"
        f"{murmur(f'touch {out}'.encode()):x}" for out in made])


def murmur(data):
    """MurmurHash64A, by which ninja knows a command again."""
    factor, size = 0xc6a4a7935bd1e995, len(data)
    value = 0xdecafbaddecafbad ^ (size * factor & MASK)
    for at in range(0, size - size % 8, 8):
        word = int.from_bytes(data[at:at + 8], "little") * factor & MASK
        word = (word ^ word >> 47) * factor & MASK
        value = (value ^ word) * factor & MASK
    if size % 8:
        rest = int.from_bytes(data[size - size % 8:], "little")
        value = (value ^ rest) * factor & MASK
    value = (value ^ value >> 47) * factor & MASK
    return value ^ value >> 47
