#!/usr/bin/env python3
"""run_test - rota run: order, failures, resuming, changes, interruption, exit codes."""
import json
import os
import signal
import subprocess

from end import ROTA, Tap
from runs import Folder

say = Tap.say

GRAPH = """\
tasks:
  one: echo one >> order
  two: {run: echo two >> order, needs: one}
  three: {run: echo three >> order, needs: [one, two]}
"""

with Folder(GRAPH) as folder:
    done = folder.run()
    say(done.returncode == 0 and folder.read("order") == "one\ntwo\nthree\n",
        "tasks run in the order of their needs", done.stderr)
    say("[3/3] three" in done.stdout and "3 ok" in done.stdout,
        "each has a line, and there is a summary", done.stdout)
    done = folder.run()
    say(done.returncode == 0 and done.stdout == "nothing to do\n"
        and folder.read("order") == "one\ntwo\nthree\n", "finished tasks are not run again")
    folder.write("job.yaml", GRAPH.replace("echo two", "echo TWO") + "# and a comment\n")
    say(folder.ran() == ["three", "two"], "a changed command and what needs it run again")
    folder.write("job.yaml", GRAPH.replace("echo two", "echo TWO"))
    say(folder.ran() == [], "a changed comment runs nothing")
    done = folder.run("--fresh")
    say("3 ok" in done.stdout, "--fresh forgets what was done", done.stdout)
    say(folder.verify().returncode == 0, "the database is sound", folder.verify().stdout)

MANY = "tasks:\n" + "".join(f"  t{i}: 'echo {i} >> done{i}'\n" for i in range(20))
with Folder(MANY) as folder:
    folder.run()
    shortcut = [name for name in os.listdir(folder.path + "/.rota") if name.startswith("done-")]
    say(len(shortcut) == 1 and folder.run().stdout == "nothing to do\n",
        "a larger file leaves a shortcut")
    os.remove(folder.path + "/.rota/" + shortcut[0])
    say(folder.run().stdout == "nothing to do\n", "the database knows it without the shortcut")
    folder.run()
    events, status = folder.events()
    say(status == 0 and events == [{"event": "over", "exit": 0, "ok": 0, "nothing_to_do": True}],
        "--json says so too", events)
    say(all(folder.read(f"done{i}") == f"{i}\n" for i in range(20)), "and it is true")

FAILS = """\
tasks:
  good: sleep 0.1
  bad: {run: "echo before; echo why >&2; exit 3"}
  after: {run: "true", needs: bad}
  other: {run: "true", needs: good}
"""
with Folder(FAILS) as folder:
    done = folder.run("-j1", "-k")
    say(done.returncode == 1 and "FAILED: bad (exit 3" in done.stdout
        and "before\nwhy\n" in done.stdout, "a failure is shown with all it printed", done.stdout)
    say("2 ok, 1 failed, 1 not run" in done.stdout, "-k runs what does not need it", done.stdout)
    done = folder.run("-j1", "-n")
    say(done.stdout.endswith("2 of 4 would run\n") and "after: true" in done.stdout,
        "-n says what is left", done.stdout)
    folder.write("job.yaml", FAILS.replace("exit 3", "exit 0"))
    say(folder.ran() == ["after", "bad"], "after the fix it resumes where it stopped")
    say(folder.run().returncode == 0, "and is done")

with Folder("tasks: {a: exit 1, b: sleep 0.2; touch b, c: {run: touch c, needs: b}}") as folder:
    done = folder.run("-j2")
    say(done.returncode == 1 and folder.has("b") and not folder.has("c"),
        "without -k nothing is started after a failure, and what runs may end", done.stdout)

with Folder("""
tasks:
  flaky:
    run: 'echo x >> tries; test $(wc -l < tries) -ge 3'
    retries: {max: 5, backoff: 10ms}
""") as folder:
    done = folder.run()
    say(done.returncode == 0 and folder.read("tries") == "x\n" * 3,
        "a task is repeated as often as it may be", done.stdout)

CODES = "tasks: {a: {run: 'echo x >> tries; exit 4', retries: {max: 5, codes: [3]}}}"
with Folder(CODES) as folder:
    say(folder.run().returncode == 1 and folder.read("tries") == "x\n",
        "but only after the exit codes that are listed")

with Folder("""
tasks:
  env: {run: 'echo $ROTA_TASK $ROTA_ATTEMPT $ROTA_CPUS $GREETING > env', cpus: 1,
        env: {GREETING: hello}}
  where: {run: 'pwd > where', cwd: sub}
  stdin: {run: 'cat > copy', stdin: job.yaml}
  direct: [touch, 'a name with spaces']
""") as folder:
    os.mkdir(os.path.join(folder.path, "sub"))
    done = folder.run()
    say(folder.read("env") == "env 1 1 hello\n", "the environment is set", done.stdout)
    say(folder.read("sub/where") == os.path.realpath(folder.path) + "/sub\n",
        "cwd is where it runs")
    say(folder.read("copy") == folder.read("job.yaml"), "stdin is a file")
    say(folder.has("a name with spaces"), "a list is run without a shell")

for text, words in (("tasks: {a: 'kill -9 $$'}", "signal 9 (Killed)"),
                    ("tasks: {a: {run: sleep 1000, timeout: 200ms, grace: 100ms}}", "timed out"),
                    ("tasks: {a: [/no/such/program]}", "/no/such/program"),
                    ("tasks: {a: exit 255}", "exit 255")):
    with Folder(text) as folder:
        done = folder.run()
        say(done.returncode == 1 and words in done.stdout, f"an end is reported: {words}",
            done.stdout + done.stderr)

with Folder("tasks: {a: {run: 'true', machine: elsewhere}, b: 'true'}") as folder:
    done = folder.run()
    say(done.returncode == 5 and "1 ok, 1 not run" in done.stdout,
        "exit 5: no task can run", done.stdout + done.stderr)

for name in ("run", "done"):  # which machines of our own are called
    with Folder(f"tasks: {{a: {{run: 'true', machine: {name}}}}}") as folder:
        done = folder.run()
        say(done.returncode == 5 and f"it needs the machine {name}" in done.stdout,
            f"a machine that is called {name} is not this one", done.stdout + done.stderr)

with Folder("tasks: {a: {run: 'true', cpus: 999}, b: {run: 'true', machine: moon},"
            " c: {run: 'true', mem: 9000G}, d: {run: 'true', needs: a}}") as folder:
    done = folder.run("-j2")
    say(done.returncode == 5
        and "cannot run: a    (it needs 999 cpus, but there are only 2)" in done.stdout
        and "cannot run: b    (it needs the machine moon; this machine is " in done.stdout
        and "cannot run: c    (it needs 9216000 MiB of memory, but there are only " in done.stdout
        and "cannot run: d" not in done.stdout,
        "and the output says what each task lacks", done.stdout + done.stderr)
    events, status = folder.events("-j2")
    say([event.get("task") for event in events] == ["a", "b", "c", None] and status == 5,
        "also as events", str(events))
    told = [subprocess.run([os.path.abspath(ROTA), "why", name], cwd=folder.path, text=True,
                           capture_output=True, check=False).stdout for name in "abd"]
    say("it needs 997 cpus more" in told[0] and "machine moon is unknown" in told[1]
        and told[2].startswith("d waits for a; a is unschedulable")
        and not any("rota run" in text for text in told),
        "and afterwards rota why says it", str(told))

with Folder("lanes: {db: {}}\ntasks:\n" + "".join(
        f"  w{i}: {{run: 'test ! -e busy && touch busy && sleep 0.1 && rm busy && echo {i} >> l',"
        f" lane: db, group: all, access: write}}\n" for i in range(8))) as folder:
    done = folder.run("-j4")
    say(done.returncode == 0 and folder.read("l").split() == [str(i) for i in range(8)],
        "tasks of a group run one at a time, in order", done.stdout)

with Folder("tasks: {a: 'touch began; sleep 1000', b: {run: 'true', needs: a}}") as folder:
    process = folder.start(env=dict(os.environ, MARK=folder.path))
    folder.wait_for("began")
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    say(process.returncode == 130 and not folder.wait_gone() and "STOPPED: a" in out,
        "interrupted, it stops what runs and says so", out + err)
    folder.write("job.yaml", "tasks: {a: 'touch began', b: {run: 'true', needs: a}}")
    say(folder.run().returncode == 0, "and can be resumed")

with Folder("tasks: {a: 'trap : TERM; touch began; while :; do sleep 0.05; done'}") as folder:
    process = folder.start(env=dict(os.environ, MARK=folder.path))
    folder.wait_for("began")
    os.kill(process.pid, signal.SIGINT)
    os.kill(process.pid, signal.SIGINT) if process.poll() is None else None
    out, err = process.communicate(timeout=120)
    say(process.returncode == 130 and not folder.wait_gone(), "twice kills it", out + err)

with Folder("tasks: {a: 'setsid sh -c \"touch began; exec sleep 1000\" & wait'}") as folder:
    process = folder.start(env=dict(os.environ, MARK=folder.path))
    folder.wait_for("began")
    os.kill(process.pid, signal.SIGTERM)
    out, err = process.communicate(timeout=120)
    say(not folder.wait_gone(), "a grandchild in a session of its own ends too", folder.processes())

with Folder("tasks: {a: 'touch began; sleep 1000', b: sleep 1000}") as folder:
    process = folder.start("-j2", env=dict(os.environ, MARK=folder.path))
    folder.wait_for("began")
    second = folder.run()
    say(second.returncode == 2 and "in use" in second.stderr, "one run at a time", second.stderr)
    process.kill()
    process.communicate()
    say(not folder.wait_gone(), "killed alone, it leaves nothing running", folder.processes())

with Folder("tasks: {a: echo hello, b: exit 2}") as folder:
    events, status = folder.events("-k")
    kinds = [(e["event"], e.get("task"), e.get("status")) for e in events]
    say(status == 1 and ("ended", "a", "SUCCESS") in kinds and ("ended", "b", "FAILED") in kinds
        and kinds[-1][0] == "over" and events[-1]["exit"] == 1, "--json tells every event", kinds)

HANDLERS = """
tasks:
  bad: exit 1
  slow: {run: sleep 0.3, needs: []}
  tell: {run: touch told, when: fa(bad)}
  clean: {run: touch cleaned, when: done(bad)}
  calm: {run: touch calm, when: fa(slow)}
"""
with Folder(HANDLERS) as folder:
    done = folder.run("-j1")
    say(done.returncode == 1 and folder.has("told") and folder.has("cleaned")
        and not folder.has("calm") and "1 not needed" in done.stdout,
        "handlers of failures run without -k, and only when they are needed", done.stdout)

PIPED = "tasks: {a: {run: 'seq 3 > $ROTA_OUT_s', out: [{name: s, kind: stream}]}, " \
        "b: {run: 'cat s > got', in: [s], out: [{name: got, keep: true}]}}"
with Folder(PIPED) as folder:
    done = folder.run("-j1")
    say(done.returncode == 2 and "try -j 2" in done.stderr and not folder.has("got"),
        "tasks that share a stream need room side by side", done.stderr)
    done = folder.run("-j2")
    say(done.returncode == 0 and folder.read("got") == "1\n2\n3\n", "and then it flows",
        done.stdout + done.stderr)

with Folder("tasks: {w: {run: seq 100000 > s, out: [{name: s, kind: stream}]}, x: exit 1,"
            " r: {run: cat, stdin: s, needs: x}}") as folder:
    done = folder.run("-j2", "-k")
    say(done.returncode == 1 and "0 ok, 1 failed, 2 not run" in done.stdout,
        "no task writes to a stream whose reader will not run", done.stdout)

with Folder("on_failure: fail_job\ntasks: {a: 'true', b: {run: test -e ok, needs: a}}") as folder:
    say(folder.run().returncode == 1, "a job can fail as a whole")
    folder.write("ok", "")
    done = folder.run()
    say(done.returncode == 0 and "1 ok, 1 done before" in done.stdout, "and is done again",
        done.stdout)

with Folder("tasks: {a: 'echo a >> l', b: {run: 'echo b >> l', needs: a}, c: 'echo c >> l',"
            " d: {run: 'echo d >> l', needs: [b, c]}, n: {tasks: {e: 'echo e >> l'}}}") as folder:
    done = folder.run("--only", "b")
    say(done.returncode == 0 and folder.read("l") == "a\nb\n" and "[2/2] b" in done.stdout
        and done.stdout.count("\n[") == 1 and "2 ok in" in done.stdout,
        "--only runs a task and what it needs, and counts no others", done.stdout)
    say(folder.ran("--only", "b,n") == ["e"], "several names, and a bundle")
    say(folder.ran() == ["c", "d"], "the rest is for the next run")

for words, reason in ((["--only", "nobody"], "no such task in job.yaml: nobody"),
                      (["-j", "0"], "'0'"),
                      (["--frish"], "--frish"), (["-j", "x"], "'x'")):
    with Folder(GRAPH) as folder:
        done = folder.run(*words)
        say(done.returncode == 2 and reason in done.stderr and not folder.has("order"),
            f"{' '.join(words)} is refused", done.stderr)
with Folder("tasks: {a: {runn: x}}") as folder:
    done = folder.run()
    say(done.returncode == 2 and "job.yaml:1:" in done.stderr, "a bad file is refused", done.stderr)
done = subprocess.run([ROTA, "run", "/no/file"], capture_output=True, text=True, check=False)
say(done.returncode == 2 and "/no/file: No such file" in done.stderr, "a file must be there")

with Folder("tasks: {a: 'printf \"\\033[31mred\\007\"; exit 1'}") as folder:
    done = folder.run()
    say("\\x1b[31mred\\x07" in done.stdout and "\033" not in done.stdout,
        "control characters are shown as text", repr(done.stdout))

Tap.end()
