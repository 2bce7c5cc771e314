#!/usr/bin/env python3
"""token_test - tokens of `rota run` grow: in a group, from run to run, and in a new database."""
import shutil

from end import Tap
from runs import Folder

say = Tap.say

JOB = """\
lanes: {book: {}}
defaults: {lane: book, access: write, group: pen}
tasks:
  first: {run: "echo $ROTA_TOKEN >> tokens; exit 1", retries: {max: 3, backoff: 1ms}}
  second: {run: "echo $ROTA_TOKEN >> tokens", when: done(first)}
  third: {run: "echo $ROTA_TOKEN >> tokens", needs: second}
"""


def tokens(folder):
    return [int(line) for line in folder.read("tokens").split()]


with Folder(JOB) as folder:
    folder.run()
    found = tokens(folder)
    say(len(found) == 6 and found == sorted(set(found)),
        "later attempts of one group have larger tokens", f"{found}")
    folder.run("--fresh")
    found = tokens(folder)
    say(len(found) == 12 and found == sorted(set(found)), "and those of the next run", f"{found}")
    shutil.rmtree(folder.path + "/.rota")
    folder.run()
    found = tokens(folder)
    say(len(found) == 18 and found == sorted(set(found)), "and those of a new database",
        f"{found}")
Tap.end()
