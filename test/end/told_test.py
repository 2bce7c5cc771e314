#!/usr/bin/env python3
"""told_test - what a run and those who ask about it tell, where a user has to act on it."""
from asked import Asked
from end import Tap

say = Tap.say

# ---- Why ---------------------------------------------------------------------------------------

DEAD = """\
lanes: {line: {order: submit}}
tasks:
  one: "true"
  two: {run: "true", needs: one}
  never: {run: "true", when: done(one) & fa(two), lane: line}
  behind: {run: "true", lane: line}
"""
with Asked(DEAD) as folder:
    status = folder.rota("run", "night.yaml").returncode
    done = folder.rota("why", "never")
    say(status == 5 and done.stdout
        == "never will not run: done(one) & fa(two) can no longer be true\n",
        "a condition that cannot come true is told, with names", done.stdout)
    done = folder.rota("why", "behind")
    say("behind never" in done.stdout and "never will not run" in done.stdout,
        "also to who stands behind it", done.stdout)
    say("done(one) & fa(two)\n" in folder.rota("show", "never").stdout
        and folder.json("show", "--json", "never")[0]["condition"] == "done(one) & fa(two)",
        "show has the names, too")

ROOM = """\
tasks:
  first: {run: "touch began; until test -e go; do sleep 0.02; done", priority: 1}
  second: "true"
  third: {run: "true", when: done(first) & su(second)}
"""
with Asked(ROOM) as folder:
    folder.beside("run", "-j1", "night.yaml")
    folder.wait_for("began")
    answer = "second waits for room on local behind first; first runs since "
    say(folder.until(lambda: folder.rota("why", "second").stdout.startswith(answer)),
        "who waits for room is told who has it", folder.rota("why", "second").stdout)
    answer = "third waits until done(first) & su(second) is true; first runs"
    say(folder.until(lambda: folder.rota("why", "third").stdout.startswith(answer)),
        "a condition that waits is told with names", folder.rota("why", "third").stdout)
    folder.write("go", "")

Tap.end()
