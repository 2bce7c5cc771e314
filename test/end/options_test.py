#!/usr/bin/env python3
"""options_test - the options of each help page are those that the command accepts.

An option is accepted if the command prints its help page when --help follows the option. The test
tries every option of the page, every option of other commands, and every word such as "--name" in
the sources of the commands: each one must be in the page, or be refused.
"""
import glob
import os
import re
import stat
import subprocess
import tempfile

from end import ROTA, Tap

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# One of these is a valid value of every option.
VALUES = ("1", "16", "x", "8G", "1h", "/x", "a:1", "1.1", "best", "plan", "tree", "fair", "maker",
          "exact", "1x4", "fail=0.1", "client", "80,24,0,0", "1,2,3", "2026-11-16T23:59")

# rota adds these to queries of its own; users do not see them.
HIDDEN = {("why",): {"planned": "7.3=4", "waits": "1,2", "mark-server": None},
          ("top",): {"frame": "80,24,0,0", "planner": "1,2,3"}}
LEFT_MAX = 34  # where the second column of a page may begin

say = Tap.say


def run(rota, *words):
    return subprocess.run([rota, *words], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)


def commands(rota):
    text = run(rota, "help", "all").stdout
    return [tuple(name.split()) for name in re.findall(r"^    ([a-z]+(?: [a-z]+)?)  +", text, re.M)]


def options(page):
    """The options of a help page: {name: whether it takes a value}, and the letters."""
    part = page.partition("\nOptions:\n")[2].partition("\n\n")[0]
    rows = re.findall(r"^    (?:-(\w), )?--([a-z-]+)( \S+|\[=\S+\])?", part, re.M)
    return {name: bool(value) for _, name, value in rows}, {row[0] for row in rows if row[0]}


def accepts(rota, command, page, option, takes_value):
    tries = [[f"--{option}={value}"] for value in VALUES] if takes_value else [[f"--{option}"]]
    return any(run(rota, *command, *words, "--help").stdout == page for words in tries)


def differences(rota, command, candidates):
    """Options that are only accepted, or only in the page."""
    page = run(rota, *command, "--help").stdout
    named, _ = options(page)
    found = [f"--{name} is not accepted" for name, takes_value in named.items()
             if not accepts(rota, command, page, name, takes_value)]
    for name in sorted(candidates - set(named) - set(HIDDEN.get(command, ()))):
        done = run(rota, *command, f"--{name}", "--help")
        refused = done.returncode == 2 and "--" + name in done.stderr
        if not refused:
            found.append(f"--{name} is not in the help page")
    return found


def in_sources():
    found = set()
    row = r'"--([a-z][a-z-]+)"|\{\s*(?:0|\'\w\'),\s*"([a-z][a-z-]+)"'
    for path in glob.glob(os.path.join(ROOT, "src", "cli", "*.[ch]")):
        with open(path, encoding="utf-8") as file:
            found |= {name for names in re.findall(row, file.read()) for name in names if name}
    return found


def wrapper(folder, lines):
    path = os.path.join(folder, "rota")
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/bash\nwords=()\nfor word in \"$@\"; do\n{lines}\ndone\n"
                   f"exec {ROTA} \"${{words[@]}}\"\n")
    os.chmod(path, stat.S_IRWXU)
    return path


def help_pages(all_commands):
    for command in all_commands:
        name = " ".join(command)
        page = run(ROTA, *command, "--help")
        parts = [page.stdout.find(f"\n{part}:\n") for part in ("Usage", "Options", "Exit status")]
        say(page.returncode == 0 and page.stdout.startswith(f"rota {name} - ")
            and -1 < parts[0] < parts[1] < parts[2], f"{name}: the parts of the page", page)
        say(run(ROTA, "help", *command).stdout == page.stdout, f"{name}: rota help is --help")
        manual = run(ROTA, "help", "--man", *command).stdout.replace("\\-", "-")
        missing = [option for option in options(page.stdout)[0] if f"--{option}" not in manual]
        say(not missing and manual.startswith(".TH ROTA-"), f"{name}: the manual page has all",
            missing)
        long = [line for line in page.stdout.splitlines() if len(line) > 100]
        say(not long, f"{name}: the lines are short", long)
        narrow = re.findall(rf"^ {{{LEFT_MAX + 1},}}.*", page.stdout, re.M)
        say(not narrow, f"{name}: the second column has room", narrow)


def hidden():
    completion = run(ROTA, "completion", "bash").stdout + run(ROTA, "completion", "fish").stdout
    for command, values in HIDDEN.items():
        page = run(ROTA, *command, "--help").stdout
        manual = run(ROTA, "help", "--man", *command).stdout.replace("\\-", "-")
        places = {"help": page, "manual": manual, "completion": completion}
        for name, value in values.items():
            equals = f"={value}" if value else ""
            taken = run(ROTA, *command, f"--{name}{equals}", "--help")
            say(taken.stdout == page, f"--{name} is an option of {command[0]}", taken)
            seen = [where for where, text in places.items()
                    if re.search(rf"--{name}\b|-l {name}\b", text)]
            say(not seen, f"--{name} is hidden", seen)
            part = run(ROTA, *command, f"--{name[:-1]}{equals}")
            say(part.returncode == 2 and "unknown option" in part.stderr
                and f"mean --{name}" not in part.stderr, f"--{name[:-1]} is not", part)


def values_of(command, option):
    page = run(ROTA, command, "--help").stdout
    return re.search(rf"--{option} (\S+)", page)[1]


def planted(command):
    """A comparison that finds nothing wrong with these programs would be worth nothing."""
    with tempfile.TemporaryDirectory() as folder:
        hidden = wrapper(folder, '[[ $word == --planted ]] || words+=("$word")')
        found = differences(hidden, command, {"planted"})
        say(found == ["--planted is not in the help page"], "a planted hidden option is found",
            found)
        refusing = wrapper(folder, '[[ $word == --json ]] && word=--jsom; words+=("$word")')
        found = differences(refusing, command, set())
        say(found == ["--json is not accepted"], "a planted refusal is found", found)


known = commands(ROTA)
say(len(known) > 40 and ("worker", "drain") in known, "rota help all lists the commands", known)
help_pages(known)
made = os.listdir(os.path.dirname(ROTA))
missing_pages = [one for one in known if f"rota-{'-'.join(one)}.1" not in made]
say(not missing_pages, "the build makes a manual page for each command", missing_pages)
everyday = run(ROTA, "help").stdout
say(10 <= len(re.findall(r"^    [a-z]+  +", everyday.partition("Examples")[0], re.M)) <= 14,
    "rota help lists a dozen commands", everyday)
words = in_sources()
for one in known:
    words |= set(options(run(ROTA, *one, "--help").stdout)[0])
for one in known:
    differs = differences(ROTA, one, words)
    say(not differs, f"{' '.join(one)}: the help page has the options that are accepted", differs)
hidden()
say(values_of("run", "contain") == values_of("worker", "contain"),
    "--contain of run and worker have the same values")
planted(("check",))
for wrong, message in ((["chekc"], "unknown command 'chekc' (did you mean check?)"),
                       (["ps", "--jobb"], "unknown option --jobb (did you mean --job?)"),
                       (["run", "--job", "2", "f"], "unknown option --job (did you mean --jobs?)"),
                       (["run", "--keep", "f"], "option --keep (did you mean --keep-going?)"),
                       (["run", "--hel"], "unknown option --hel (did you mean --help?)"),
                       (["ps", "--server"], "option --server needs an address such as HOST:PORT"),
                       (["ps", "--job"], "option --job needs a number"),
                       (["ps", "a", "b"], "unexpected argument 'b'"),
                       (["check", "--json=1"], "option --json takes no value"),
                       (["run"], "missing argument FILE"),
                       (["help", "nothing"], "unknown command 'nothing'")):
    refused = run(ROTA, *wrong)
    say(refused.returncode == 2 and message in refused.stderr, f"rota {' '.join(wrong)}", refused)
Tap.end()
