#!/usr/bin/env python3
"""readme_test - what the documents show can be done as it stands there, and is there.

Blocks of YAML with a name (`# NAME.yaml` in their first line; the first of README.md is
words.yaml) are checked and, if commands of the same document name them, written to a folder.
Blocks of a console are run there line by line: each must end with 0, unless the line says
`# exit N`; the lines below it are what it prints, unless there are none. Links lead somewhere.
"""
import glob
import os
import re
import subprocess

from end import BUILD, ROTA, Tap
from runs import Folder

say = Tap.say
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAKE_TARGETS = re.compile(r"^    make ([a-z]+)", re.M)
LINKS = re.compile(r"\]\((?!http)([^)#]+)\)")


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def blocks(text, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)


def name_of(block):
    found = re.match(r"# (\S+\.yaml)\b", block)
    return found.group(1) if found else "words.yaml"


def commands(block):
    """(command, what it should print, its exit status) of a console."""
    for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
        line, _, output = part.partition("\n")
        status = re.search(r"\s+# exit (\d+)$", line)
        yield (line[:status.start()] if status else line), output, \
            int(status.group(1)) if status else 0


def run(command, folder, environment):
    return subprocess.run(["sh", "-c", command], cwd=folder, env=environment, check=False,
                          capture_output=True, text=True, timeout=120)


def document_try(name):
    text = text_of(name)
    path = f"{os.path.abspath(BUILD)}:{os.environ['PATH']}"
    with Folder() as folder:
        for block in blocks(text, "yaml"):
            folder.write(name_of(block), block)
            done = subprocess.run([ROTA, "check", os.path.join(folder.path, name_of(block))],
                                  capture_output=True, text=True, check=False)
            say(done.returncode == 0, f"{name}: {name_of(block)} is a job file", done.stderr)
        for block in blocks(text, "console"):
            for command, output, status in commands(block):
                done = run(command, folder.path, dict(os.environ, PATH=path))
                fine = done.returncode == status and (not output or done.stdout == output)
                say(fine, f"{name}: {command}",
                    f"exit {done.returncode}\n{done.stdout}{done.stderr}")
    folder_of = os.path.join(ROOT, os.path.dirname(name))
    lost = [link for link in LINKS.findall(text)
            if not os.path.exists(os.path.join(folder_of, link))]
    say(not lost, f"{name}: all links lead somewhere", lost)


readme = text_of("README.md")
say(len(blocks(readme, "yaml")[0].splitlines()) == 10, "the first job file has ten lines")
for target in MAKE_TARGETS.findall(readme):
    say(re.search(rf"^{target}:", text_of("Makefile"), re.M), f"there is a make {target}")
for document in ("README.md", "doc/run.md"):
    document_try(document)

named = set(re.findall(r"`(\w+/[\w*.-]+\.(?:play|py|c))`", text_of("doc/guarantees.md")))
missing = [one for one in named if not glob.glob(os.path.join(ROOT, "test", one))]
say(len(named) > 20 and not missing, "doc/guarantees.md names tests that are there", missing)

usage = subprocess.run([ROTA, "run", "--help"], capture_output=True, text=True, check=False).stdout
for document in ("doc/run.md", "doc/man/rota-run.1.scd"):
    missing = [word for word in re.findall(r"--[a-z]+[a-z-]*", usage)
               if word not in text_of(document)]
    say(not missing, f"{document} has all options of rota run --help", missing)

Tap.end()
