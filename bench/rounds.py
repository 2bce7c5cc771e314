"""rounds - cases that are measured in turns, and their ratios to the first of them.

Every round goes through the cases of a group, starting one further each time, and divides
each figure by that of the reference in the same round: a busy machine slows both.
"""
import statistics
import subprocess
import sys


class Case:
    """A program that prints a number first, then words of the form name=number."""

    def __init__(self, name, argv, figure=None):
        self.name, self.argv, self.figure = name, argv, figure  # figure: another of its numbers
        self.values, self.parts, self.lost = {}, {}, ""

    def run(self, turn):
        try:
            done = subprocess.run(self.argv, stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, check=True, timeout=1800)
            words = done.stdout.split()
            parts = dict(word.split("=", 1) for word in words[1:] if "=" in word)
            self.parts[turn] = {name: float(number) for name, number in parts.items()}
            self.values[turn] = self.parts[turn][self.figure] if self.figure else float(words[0])
        except (OSError, ValueError, LookupError) as error:
            self.lost = str(error)
        except subprocess.SubprocessError as error:
            self.lost = (getattr(error, "stderr", "") or str(error)).strip().split("\n")[-1]

    def median(self):
        return statistics.median(self.values.values()) if self.values else None

    def numbers(self, part=None):
        """By round: the figure, or one of the words after it."""
        if not part:
            return self.values
        return {turn: parts[part] for turn, parts in self.parts.items() if part in parts}

    def part(self, name):
        found = self.numbers(name).values()
        return statistics.median(found) if found else None


class Group:
    """Cases that are run in the same rounds; the first is the reference of the others."""

    def __init__(self, name, unit, cases, rounds=None, before=None, repeat=1):
        self.name, self.unit, self.cases, self.rounds = name, unit, cases, rounds
        self.repeat = repeat  # turns of short cases there are in a round
        self.before = before  # makes what the cases read
        self.load = ""

    def measure(self, rounds):
        if self.before:
            self.before()
        for turn in range(min(rounds, self.rounds or rounds) * self.repeat):
            for place in range(len(self.cases)):
                case = self.cases[(place + turn) % len(self.cases)]
                if not case.lost:
                    case.run(turn)
        with open("/proc/loadavg", encoding="utf-8") as file:
            self.load = file.read().split()[0]

    def case(self, name):
        return next((case for case in self.cases if case.name == name), None)

    def ratios(self, case, to=None, part=None):
        """To the figures of another case, the first if none is named, in the same rounds."""
        other = self.case(to) if to else self.cases[0]
        if not case or not other:
            return []
        mine, theirs = case.numbers(part), other.numbers(part)
        return [number / theirs[turn] for turn, number in mine.items() if theirs.get(turn)]

    def ratio(self, name, to=None, part=None):
        """The median ratio of the case with that name, or none."""
        found = self.ratios(self.case(name), to, part)
        return statistics.median(found) if found else None

    def value(self, name):
        return self.case(name).median() if self.case(name) else None

    def times(self, case, part=None):
        """The ratio and its range, as text."""
        ratios = self.ratios(case, None, part)
        if not ratios or len(self.cases) < 2:
            return ""
        return f"x{statistics.median(ratios):<7.2f} ({min(ratios):.2f} to {max(ratios):.2f})"

    def show(self):
        print(f"\n{self.name}  [{self.unit}]  load {self.load}")
        for case in self.cases:
            if not case.values:
                print(f"  {case.name:<34} left out: {case.lost}")
                continue
            names = sorted({name for parts in case.parts.values() for name in parts})
            rest = " ".join(f"{name}={case.part(name):.4g}" for name in names)
            if "cpu" in names:
                rest += " " + self.times(case, "cpu")
            print(f"  {case.name:<34} {case.median():>10.2f}  {self.times(case):<26} {rest}")
        sys.stdout.flush()

    def as_data(self):
        return {"unit": self.unit, "load": self.load, "cases": [
            {"name": case.name, "values": case.values, "parts": case.parts, "lost": case.lost,
             "ratios": self.ratios(case)} for case in self.cases]}
