#!/usr/bin/env python3
"""query_test - queries about a finished run, and about one that is running."""
import hashlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile

from query_folder import ROTA, QueryFolder
from end import Tap, change

say = Tap.say

NIGHT = """
lanes:
  db: {}
tasks:
  - {name: load, run: "echo loading; echo 1 2 3 >data.txt", out: [data.txt]}
  - {name: read, run: "true", needs: [load], lane: db, access: read}
  - name: write
    run: test -e once || { touch once; echo failing; exit 3; }
    needs: [load]
    lane: db
    access: write
    group: g
    retries: 1
  - {name: bad, run: "printf 'bad \\\\033[31m thing'; exit 4", needs: [load]}
  - {name: after, run: "true", needs: [bad]}
  - {name: after2, run: "true", needs: [after]}
  - {name: m1, bundle: b, run: "true"}
  - {name: m2, bundle: b, run: "true", needs: [m1]}
  - {name: "<script>alert(1)<b>", run: "echo '<i>'"}
"""


def refused(folder, what, words, *sentences):
    done = folder.rota(*words)
    fine = done.returncode == 2 and all(text in done.stderr for text in sentences)
    say(fine and not done.stdout, what, f"{done.returncode} {done.stdout} {done.stderr}")


def ps(folder):
    done = folder.rota("ps")
    rows = [line.split() for line in done.stdout.splitlines()]
    names = [row[1] for row in rows[1:-1]]
    say(done.returncode == 0 and names == ["bad", "after", "after2"],
        "ps lists what failed or waits, and nothing else", done.stdout + done.stderr)
    say("6 succeeded, 1 failed, 2 blocked; rota run is not running" in done.stdout,
        "ps counts the states, and says that rota run is not running", done.stdout)
    rows = {row["name"]: row for row in folder.json("ps", "-a", "--json")}
    say(len(rows) == 10 and rows["bad"]["status"] == "FAILED" and rows["bad"]["end"] == "exit 4"
        and rows["write"]["attempt"] == 2 and rows["after"]["status"] == "BLOCKED"
        and rows["b"]["kind"] == "bundle" and rows["m1"]["bundle"] == "b",
        "ps -a --json has all of it", rows)
    say(rows["load"]["time_us"] > 0 and rows["load"]["cpu_us"] > 0
        and rows["load"]["since"] > 1e15, "with times", rows["load"])
    elsewhere = [folder.rota("ps", *words, cwd="/").stdout.splitlines()[1].split()[:3]
                 for words in ([folder.file], ["--db", folder.database],
                               ["--job", "1", "--db", folder.database])]
    say(elsewhere == [["1.4", "bad", "FAILED"]] * 3,
        "a job file, --db and --job say where to look", elsewhere)
    say("\033[31mFAILED" in folder.on_terminal("ps") and "\033" not in done.stdout,
        "colours are for terminals", folder.on_terminal("ps"))


def show(folder):
    done = folder.rota("show", "write", "1.1")
    say(all(text in done.stdout for text in
            ("write (1.3)", "needs      load", "lane       db, to write, group g",
             "attempt 1  exit 3", "attempt 2  exit 0", "up to 1 retry", "load (1.1)",
             "out        data.txt")),
        "show tells everything, by name or number", done.stdout + done.stderr)
    task = folder.json("show", "--json", "write")[0]
    ends = [(one["attempt"], one["end"], one["code"], one["status"]) for one in task["attempts"]]
    say(ends == [(1, "exit", 3, "FAILED"), (2, "exit", 0, "SUCCESS")] and task["lane"] == "db"
        and task["needs"] == ["load"], "show --json has the attempts", task)
    first = task["attempts"][0]
    say(first["memory_bytes"] > 0 and first["ended"] >= first["began"] and first["log_bytes"] == 8
        and os.path.exists(os.path.join(folder.path, first["log"])),
        "with memory, times and a log that is there", first)
    load = folder.json("show", "--json", "load")[0]
    say(load["outputs"] == [{"name": "data.txt", "kind": "file"}], "and the objects", load)
    done = folder.rota("show", "b")
    say("members    m1, m2" in done.stdout, "a bundle has members", done.stdout)


def logs(folder):
    done = folder.rota("logs", "bad")
    say(done.stdout == "bad \033[31m thing", "logs are raw where no terminal is", repr(done.stdout))
    say(folder.on_terminal("logs", "bad") == "bad \\x1b[31m thing\r\n",
        "on a terminal nothing gets through", repr(folder.on_terminal("logs", "bad")))
    say(folder.on_terminal("logs", "--raw", "bad") == "bad \033[31m thing",
        "unless it is asked for")
    done = folder.rota("logs", "write")
    say(done.stdout == "" and done.returncode == 0, "the last attempt is shown", done)
    done = folder.rota("logs", "--attempt", "1", "write")
    say(done.stdout == "failing\n", "or the one that is named", done)
    done = folder.rota("logs", "load", "bad")
    say(done.stdout.startswith("==> load <==\nloading\n\n==> bad <==\nbad "), "or those of several",
        done.stdout)
    say(folder.json("logs", "--json", "load")
        == [{"task": "load", "attempt": 1, "text": "loading\n"}],
        "logs --json has the text")
    done = folder.rota("logs", "-f", "load")
    say(done.stdout == "loading\n", "logs -f of a finished task ends at once", done)
    done = folder.rota("logs", "after")
    say(done.returncode == 0 and "has not run yet" in done.stderr,
        "a task that never ran has no log", done)
    refused(folder, "an attempt that never was is refused", ["logs", "--attempt", "9", "load"],
            "no such attempt: 9")
    for way in ([], ["--server", "/none"]):
        refused(folder, f"an attempt is a number {way}", ["logs", *way, "--attempt", "x", "7.3"],
                "option --attempt needs a number, not 'x'")


def why(folder):
    done = folder.rota("why", "after2")
    say(done.stdout == "after2 waits for after; after waits for bad; bad failed with exit 4"
        " (rota logs bad; rota retry bad)\n", "why follows the chain to what failed", done.stdout)
    answer = folder.json("why", "--json", "after2")[0]
    say([part["name"] for part in answer["chain"]] == ["after2", "after", "bad"]
        and answer["status"] == "BLOCKED", "why --json has the chain", answer)
    done = folder.rota("why", "load", "b")
    say(done.stdout == "load has succeeded\n"
        "b is a bundle, SUCCESS: 2 of 2 members have succeeded\n",
        "why of a finished task and of a bundle", done.stdout)


def others(folder):
    lanes = folder.json("lanes", "--json")
    say(len(lanes) == 1 and lanes[0]["lane"] == "db" and lanes[0]["over"] == 2
        and lanes[0]["inside"] == [] and lanes[0]["waiting"] == [],
        "lanes, without their path", lanes)
    say(folder.rota("lanes").stdout.startswith("db (as they become ready): 0 inside, 0 waiting, "
                                               "0 not ready, 2 finished\n"),
        "also as text")
    objects = folder.json("data", "ls", "--json")
    say(objects == [{"name": "data.txt", "kind": "file", "id": "1.1", "task": "load", "bytes": 6,
                     "state": "there", "keep": True, "object": "0000000100000001-0000000000000001",
                     "where": objects[0]["where"]}], "data has the objects", objects)
    say("data.txt  file  load  6 B    there" in folder.rota("data").stdout, "also as text",
        folder.rota("data").stdout)


def trace(folder):
    done = folder.rota("trace", "-o", "trace.json")
    with open(os.path.join(folder.path, "trace.json"), encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    bars = [event for event in events if event["ph"] == "X"]
    say(done.stdout == "trace.json\n" and len(bars) == 8, "trace has every attempt", len(bars))
    slots = {}
    for bar in bars:
        slots.setdefault(bar["tid"], []).append((bar["ts"], bar["ts"] + bar["dur"]))
    fine = all(one[1] <= other[0] for line in slots.values()
               for one, other in zip(sorted(line), sorted(line)[1:]))
    say(fine, "bars of a line do not overlap", slots)
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    say(starts.keys() == ends.keys() and len(starts) == 4
        and all(starts[key]["ts"] <= ends[key]["ts"] for key in starts),
        "arrows lead from what was needed to what needed it", starts)
    say(json.loads(folder.rota("trace").stdout)["otherData"]["job"] == 1, "or to the output")


def wrong(folder):
    refused(folder, "an unknown task is refused, with the nearest name", ["show", "wirte"],
            'no such task in job 1: wirte (did you mean write?)')
    refused(folder, "an unlike name has no nearest", ["why", "xyzzy"],
            'no such task in job 1: xyzzy\n')
    refused(folder, "an option of others", ["ps", "--raw"], "rota ps: unknown option --raw")
    refused(folder, "an unknown option", ["lanes", "--bogus"], "unknown option --bogus")
    refused(folder, "an option without its value", ["ps", "--job"], "option --job needs a number")
    refused(folder, "an invalid number", ["ps", "--job", "none"],
            "option --job needs a number, not 'none'")
    refused(folder, "a job that is not there", ["ps", "--job", "99"], "no such job: 99")
    refused(folder, "no task", ["show"], "missing argument TASK")
    refused(folder, "cancel without anything", ["cancel"], "missing argument TASK", "--job")
    refused(folder, "cancel with both", ["cancel", "--job", "load"],
            "option --job and tasks exclude each other")
    refused(folder, "two job files", ["ps", folder.file, folder.file], "unexpected argument")
    refused(folder, "a file that is not there", ["ps", "nowhere.yaml"],
            "nowhere.yaml: No such file")
    refused(folder, "a database that is not there", ["ps", "--db", "none"], "none: No such file")
    empty = tempfile.mkdtemp(dir=folder.path)
    done = folder.rota("ps", cwd=empty)
    say(done.returncode == 2 and "nothing has been run here yet" in done.stderr,
        "a folder without a run",
        done.stderr)
    for word in ("ps", "show", "logs", "why", "lanes", "data", "retry", "cancel", "trace", "report",
                 "completion"):
        done = folder.rota(word, "--help")
        say(done.returncode == 0 and done.stdout.startswith(f"rota {word} - "),
            f"{word} --help starts with what it does", done.stdout)


def completion(folder):
    said = folder.rota("help", "all").stdout
    commands = [line.split()[0] for line in said.splitlines() if line.startswith("    ")]
    for shell in ("bash", "zsh", "fish"):
        text = folder.rota("completion", shell).stdout
        say(all(command in text for command in commands), f"{shell} learns every command", text)
        if shell != "zsh" and shutil.which(shell):
            done = subprocess.run([shell, "-n"], input=text, text=True, capture_output=True,
                                  check=False)
            say(done.returncode == 0, f"{shell} can read it", done.stderr)
    text = folder.rota("completion", "bash").stdout
    known = dict(re.findall(r'^ +([a-z]+)\) options="([^"]*)"', text, re.M))
    for command in sorted(known):
        said = re.findall(r"(?<![\w-])--[a-z][a-z-]*", folder.rota(command, "--help").stdout)
        missing = sorted(set(said) - set(known[command].split()))
        say(not missing, f"completion knows the options of {command} --help", missing)
    script = ('eval "$(rota completion bash)"; COMP_WORDS=(rota show wr); COMP_CWORD=2; _rota;'
              ' echo "${COMPREPLY[@]}"; COMP_WORDS=(rota ps --j); _rota; echo "${COMPREPLY[@]}"')
    path = os.path.dirname(ROTA) + ":" + os.environ["PATH"]
    done = subprocess.run(["bash", "-c", script], cwd=folder.path, text=True, capture_output=True,
                          env={**os.environ, "PATH": path}, check=False)
    say(done.stdout == "write\n--json --job\n", "bash finds tasks and options", done)
    refused(folder, "an unknown shell", ["completion", "tcsh"],
            "expected bash, zsh or fish, not 'tcsh'")


def files(folder):
    """The hashes of the database and its log."""
    found = {}
    for name in ("rota.db", "rota.db-wal"):
        with open(os.path.join(folder.path, ".rota", name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


def strange_names(folder):
    """No job file can say them, but another program may have."""
    change(folder.database, "UPDATE sched_task SET name = 'a' || char(27) || '[2J' || char(10) ||"
           " 'b' || char(8238) || 'c', command = char(7) || 'x' WHERE id & 65535 = 5")
    texts = [folder.rota(*words).stdout for words in
             (["ps"], ["why", "1.5"], ["why", "after2"], ["show", "1.5"], ["lanes"])]
    say(not any(bad in text for text in texts for bad in "\033\007\u202e"),
        "control characters in names never get through", texts)
    say("a\\x1b[2J\\x0ab\\u202ec" in texts[0], "they are shown as escapes", texts[0])
    rows = {row["id"]: row["name"] for row in folder.json("ps", "--json")}
    say(rows["1.5"] == "a\033[2J\nb\u202ec", "JSON has the original characters", rows)
    json.loads(folder.rota("trace").stdout)
    json.loads(folder.rota("report", "--json").stdout)


def over():
    with QueryFolder(NIGHT) as folder:
        done = folder.rota("run", "-k", "night.yaml")
        say(done.returncode == 1, "the run has failed", done.stdout + done.stderr)
        before = files(folder)
        for part in (ps, show, logs, why, others, trace, wrong, completion):
            part(folder)
        say(files(folder) == before, "questions change nothing in the database")
        done = folder.rota("verify", folder.database)
        say(done.returncode == 0, "every promise about it holds", done.stdout)
        done = folder.rota("verify", "--json", folder.database)
        say(done.returncode == 0
            and json.loads(done.stdout) == {"file": folder.database, "count": 0},
            "verify has JSON, too", done)
        broken = os.path.join(folder.path, "broken.db")
        whole, link = sqlite3.connect(folder.database), sqlite3.connect(broken)
        whole.backup(link)
        link.close()
        whole.close()
        change(broken, "DELETE FROM sched_task")
        done = folder.rota("verify", "--json", broken)
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        say(done.returncode == 1 and rows[0]["broken"].endswith("but no definition")
            and rows[-1] == {"file": broken, "count": len(rows) - 1}, "with what is broken", done)
        by_hand(folder)
        strange_names(folder)


def by_hand(folder):
    """Without a running rota run, the commands change the database themselves."""
    refused(folder, "a task that has succeeded is not retried", ["retry", "load"], "load: ")
    done = folder.rota("retry", "bad")
    say(done.returncode == 0 and done.stdout == "bad runs again with the next rota run\n",
        "retry changes the database", done)
    say(folder.status("bad") not in ("FAILED", None) and folder.status("after") == "WAITING",
        "and what was blocked waits again")
    done = folder.rota("why", "bad")
    say("rota run is not running (rota run " in done.stdout, "why says what is missing",
        done.stdout)
    done = folder.rota("run", "-k", "night.yaml")
    ran = [one["end"] for one in folder.json("show", "--json", "bad")[0]["attempts"]]
    say(done.returncode == 1 and ran.count("exit") == 2, "the next run tries it, once", ran)
    done = folder.rota("cancel", "after2")
    say(done.returncode == 0 and folder.status("after2") == "ABORTED", "cancel does, too", done)
    say(done.stdout == "after2 is cancelled; the next rota run starts it again\n",
        "and says for how long", done)
    done = folder.rota("retry", "--json", "bad")
    say(json.loads(done.stdout) == {"retry": "bad", "error": None}, "also as JSON", done)


GATE = """
lanes:
  db: {}
tasks:
  - {name: first, run: "echo started"}
  - {name: gate, run: "echo begun; read word <fifo; echo $word", needs: [first]}
  - {name: after, run: "true", needs: [gate]}
  - {name: inside, run: "read word <fifo2", lane: db, access: write, group: g, priority: 5}
  - {name: queued, run: "true", lane: db, access: write, group: g, needs: [first]}
  - {name: flop, run: "test -e mended"}
"""


def at_work():
    with QueryFolder(GATE, "gate.yaml") as folder:
        folder.fifo("fifo"), folder.fifo("fifo2")
        run = folder.beside("run", "-k", "-j", "6", "gate.yaml")
        ready = folder.until(lambda: [folder.status(name) for name in
                                      ("gate", "inside", "queued", "flop")]
                             == ["RUNNING", "RUNNING", "HELD", "FAILED"])
        say(ready, "a running rota run answers queries", folder.rota("ps", "-a").stdout)
        done = folder.rota("ps")
        say("no rota run" not in done.stdout and "2 running, 1 failed" in done.stdout,
            "ps sees that it is running", done.stdout)
        done = folder.rota("why", "after")
        say(done.stdout.startswith("after waits for gate; gate has been running for "),
            "why sees it, too", done.stdout)
        done = folder.rota("why", "queued")
        said = ("queued is held in lane db: group g is busy, held by inside;"
                " inside has been running for ")
        say(done.stdout.startswith(said),
            "and knows lanes", done.stdout)
        lane = folder.json("lanes", "--json")[0]
        say([one["name"] for one in lane["inside"]] == ["inside"]
            and [one["name"] for one in lane["waiting"]] == ["queued"],
            "lanes lists the tasks inside and waiting", lane)
        done = folder.rota("lanes")
        say("inside  inside (write)" in done.stdout and "head    queued (write)" in done.stdout,
            "also as text", done.stdout)
        bars = json.loads(folder.rota("report", "--json").stdout)
        say(bars["atWork"] and any(bar[2] == "RUNNING" for bar in bars["attempts"]),
            "a report has what runs", bars["attempts"])
        answers(folder)
        follow = folder.beside("logs", "-f", "gate")
        say(follow.stdout.readline() == "begun\n", "logs -f shows what is there")
        folder.release("fifo", "further"), folder.release("fifo2")
        say(follow.stdout.read() == "further\n" and follow.wait() == 0,
            "and what comes, to the end")
        run.communicate(timeout=120)
        say(folder.status("after") == "SUCCESS", "the run continues meanwhile")
        done = folder.rota("verify", folder.database)
        say(done.returncode == 0, "every promise about its database holds", done.stdout)


def answers(folder):
    """retry and cancel go to the run."""
    with open(os.path.join(folder.path, "mended"), "w", encoding="utf-8"):
        pass
    done = folder.rota("retry", "flop")
    say(done.returncode == 0 and done.stdout == "flop runs again\n",
        "retry reaches the run", done)
    say(folder.until(lambda: folder.status("flop") == "SUCCESS"), "which does it")
    refused(folder, "its refusal is reported", ["retry", "flop"], "rota: flop: ")
    done = folder.rota("cancel", "queued")
    say(done.returncode == 0 and folder.until(lambda: folder.status("queued") == "ABORTED"),
        "cancel reaches it, too", done)
    say(done.stdout == "queued is cancelled\n", "and says so", done)


def killed():
    with QueryFolder(GATE, "gate.yaml") as folder:
        folder.fifo("fifo"), folder.fifo("fifo2")
        run = folder.beside("run", "-k", "-j", "6", "gate.yaml", start_new_session=True)
        say(folder.until(lambda: folder.status("gate") == "RUNNING"), "a run that will be killed")
        follow = folder.beside("logs", "-f", "gate")
        say(follow.stdout.readline() == "begun\n", "a reader follows its log")
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        say("rota run is not running" in follow.stdout.read(), "and hears that no more will come")
        done = folder.rota("why", "after")
        say("gate was running when its rota run ended" in done.stdout,
            "why knows of it", done.stdout)


def many():
    lines = [json.dumps({"name": f"task-{i:04}", "run": ["true"],
                         **({"needs": [f"task-{i // 2:04}"]} if i > 1 else {})})
             for i in range(2000)]
    with QueryFolder("\n".join(lines) + "\n", "many.jsonl") as folder:
        done = folder.rota("run", "-q", "many.jsonl")
        say(done.returncode == 0, "2,000 tasks have run", done.stdout + done.stderr)
        say(len(folder.json("ps", "-a", "--json")) == 2000, "ps -a lists all of them")
        done = folder.rota("ps")
        say(done.stdout == "job 1: 2000 succeeded; rota run is not running\n",
            "ps has nothing to list when all is done", done.stdout)
        data = json.loads(folder.rota("report", "--json").stdout)
        say(len(data["attempts"]) == 2000 and 10 <= len(data["critical"]) <= 11,
            "the critical path leads through the tree", data["critical"])
        events = json.loads(folder.rota("trace").stdout)["traceEvents"]
        say(sum(event["ph"] == "X" for event in events) == 2000, "trace has all of them")


over()
at_work()
killed()
many()
Tap.end()
