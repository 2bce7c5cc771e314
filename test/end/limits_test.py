#!/usr/bin/env python3
"""limits_test - rota run with extreme input: options, output, exit statuses, environment."""
import contextlib
import os
import signal
import stat
import subprocess

from end import ROTA, Tap, WAKE, lend, process_state
from runs import Folder

say = Tap.say
ONE = "tasks: {a: touch ran}"
SLOW = "tasks: {a: 'touch began; until test -e go; do sleep 0.02; done; touch ran'}"


def modes(folder):
    """Of all that rota keeps, by path."""
    found = {}
    for path, below, names in os.walk(folder.path + "/.rota"):
        for name in [".", *below, *names]:
            one = os.path.join(path, name)
            found[one] = stat.S_IMODE(os.lstat(one).st_mode)
    return found


def sh(folder, script, program=ROTA, **more):
    """A script in the folder, with "$ROTA" in it."""
    environment = dict(more.pop("env", os.environ), ROTA=os.path.abspath(program))
    return subprocess.run(["sh", "-c", script], cwd=folder.path, capture_output=True, text=True,
                          errors="surrogateescape", check=False, timeout=120, env=environment,
                          **more)


# ---- Options and files -------------------------------------------------------------------------

for words in (["-j", "-1"], ["-j", ""], ["-j", "1e3"], ["-j", "2 "], ["-j", "100001"],
              ["-j", "99999999999999999999"], ["--jobs"], ["--only", ""], ["--only", ","],
              ["--contain", "well"], ["--unknown"], ["-x"], ["-qv"], ["job.yaml"]):
    with Folder(ONE) as folder:
        done = folder.run(*words)
        say(done.returncode == 2 and done.stderr and not folder.has("ran"),
            f"{' '.join(map(repr, words))} is refused and nothing runs", done.stderr)
with Folder(ONE) as folder:
    done = sh(folder, '"$ROTA" run')
    say(done.returncode == 2 and "rota run: missing argument FILE" in done.stderr,
        "a run without a file is refused", done.stderr)
    done = sh(folder, 'echo "tasks: {a: touch ran}" | "$ROTA" run -')
    say(done.returncode == 2 and "from the standard input" in done.stderr, "nor can one be given"
        " to its standard input", done.stderr)
    for words, reason in (("-j x job.yaml", "option -j needs a number from 1 to 100000, not 'x'"),
                          ("--json -xk job.yaml", "unknown option -x"),
                          ("-kx job.yaml", "unknown option -x"),
                          ("--jsom job.yaml", "unknown option --jsom (did you mean --json?)"),
                          ("--json=x job.yaml", "option --json takes no value"),
                          ("job.yaml more.yaml", "unexpected argument 'more.yaml'"),
                          ("--only", "option --only needs names of tasks")):
        done = sh(folder, f'"$ROTA" run {words}')
        say(done.returncode == 2 and f"rota run: {reason}\n" in done.stderr,
            f"{words} is refused with a reason", done.stderr)
    done = sh(folder, '"$ROTA" run .')
    say(done.returncode == 2 and "not a regular file" in done.stderr, "a folder is no job file")
    os.mkfifo(folder.path + "/fifo")
    done = sh(folder, 'timeout 20 "$ROTA" run fifo')
    say(done.returncode == 2 and "not a regular file" in done.stderr, "nor is a FIFO waited for",
        done.stderr)
    done = sh(folder, 'timeout 20 "$ROTA" run /dev/zero')
    say(done.returncode == 2 and not os.path.exists("/dev/.rota"), "nor is /dev/zero read")

for name, make in (("a file", lambda path: open(path, "w", encoding="utf-8").close()),
                   ("a link to nowhere", lambda path: os.symlink("/no/where", path))):
    with Folder(ONE) as folder:
        make(folder.path + "/.rota")
        done = folder.run()
        say(done.returncode == 2 and ".rota: " in done.stderr and not folder.has("ran"),
            f"{name} called .rota is refused", done.stderr)
with Folder(ONE) as folder:
    os.mkdir(folder.path + "/.rota")
    folder.write(".rota/rota.db", "this is a text, " * 100)
    done = folder.run()
    say(done.returncode == 2 and "is not a database" in done.stderr and not folder.has("ran")
        and "this is a text" in folder.read(".rota/rota.db"),
        "a file that is not a database is refused and not changed", done.stderr)
with Folder(ONE) as folder:
    user = {"user": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    program = lend(folder.path)
    os.chmod(folder.path, 0o555)
    done = sh(folder, '"$ROTA" run job.yaml', program, **user)
    os.chmod(folder.path, 0o755)
    say(done.returncode == 2 and f"cannot create {folder.path}/.rota: Permission denied ("
        in done.stderr, "a folder that cannot be written is refused", done.stderr)
with Folder(ONE) as folder:
    done = sh(folder, 'exec env -i "$ROTA" run job.yaml')
    say(done.returncode == 0 and folder.has("ran"), "an empty environment is enough", done.stderr)
with Folder(ONE) as folder:
    odd = dict(os.environ, LC_ALL="xx_YY", TERM="none", COLUMNS="-1", TZ="No/Where", HOME="/none",
               TMPDIR="/none", ROTA_TASK="x", ROTA_TOKEN="x", POSIXLY_CORRECT="1")
    done = folder.run(env=odd)
    say(done.returncode == 0, "odd variables do no harm", done.stderr)

# ---- What commands print -------------------------------------------------------------------------

with Folder("tasks: {a: 'head -c 300000 /dev/urandom; exit 1'}") as folder:
    done = subprocess.run(folder.words(), cwd=folder.path, capture_output=True, check=False)
    harm = [c for c in done.stdout if (c < 32 and c not in b"\n\t") or c == 127]
    say(done.returncode == 1 and len(done.stdout) > 300000 and not harm,
        "bytes of any kind are shown without harm to a terminal", set(harm))
with Folder("tasks: {a: [printf, 'no end'], b: {run: [sh, -c, 'printf last; exit 1'], needs: a}}"
            ) as folder:
    done = folder.run()
    say("\nlast\n1 ok, 1 failed" in done.stdout,
        "output without a newline ends with one", done.stdout)
HARM = r"""tasks:
  a:
    run: |
      printf 'A\033[2J\033]0;title\007B\302\2332JC\2332JD \303\244 \r<script>\n'
      exit 1
"""
with Folder(HARM) as folder:
    done = folder.run(errors="surrogateescape")
    say(r"A\x1b[2J\x1b]0;title\x07B\xc2\x9b2JC\x9b2JD ä \x0d<script>" in done.stdout,
        "sequences for terminals are shown as text, letters as letters", repr(done.stdout))
LETTERS = """tasks:
  a:
    run: |
      python3 -c "print('x' + 30000 * '\\u00e4\\u20ac')"
      exit 1
"""
with Folder(LETTERS) as folder:
    done = folder.run()
    say("x" + 30000 * "\u00e4\u20ac" + "\n" in done.stdout,
        "letters stay whole in any amount of output", repr(done.stdout[:99]))
ESCAPED = """tasks:
  a:
    run: |
      echo mine
      setsid sh -c 'trap "" HUP TERM; touch out; while :; do echo late; done' &
      until test -e out; do sleep 0.01; done
      exit 1
  b: {run: 'for i in 1 2 3 4 5; do echo other; sleep 0.02; done; exit 1', when: fa(a)}
"""
with Folder(ESCAPED) as folder:
    done = folder.run("-k", "-j1", env=dict(os.environ, MARK=folder.path))
    parts = done.stdout.split("FAILED: b")
    say(done.returncode == 1 and not folder.wait_gone() and "mine\n" in parts[0],
        "a process that still writes when its task has ended is ended, too", done.stdout[-300:])
    say(len(parts) == 2 and parts[1].count("other\n") == 5 and "late" not in parts[1],
        "and nothing of it is in the output of the next", done.stdout[-300:])

# ---- How commands end -------------------------------------------------------------------------

for command, words, record in (
        ("kill -SEGV $$", "signal 11 (Segmentation fault", 267),
        ("kill -KILL $$", "signal 9 (Killed", 265), ("kill -TERM $$", "signal 15 (Termin", 271),
        ("kill -PIPE $$", "signal 13 (Broken pipe", 269), ("kill -64 $$", "signal 64 (", 320),
        ("exit 255", "exit 255", 255), ("exit 128", "exit 128", 128),
        ("exit 137", "exit 137", 137)):
    with Folder(f"tasks: {{a: '{command}'}}") as folder:
        done = folder.run()
        say(done.returncode == 1 and "(" + words in done.stdout,
            f"'{command}' is reported as {words.rstrip(' (')}", done.stdout)
        rows = sh(folder, '"$ROTA" sql .rota/rota.db "SELECT exit FROM sched_history"').stdout
        say(rows.split()[-1:] == [str(record)], f"and recorded as {record}", rows)
CORE = "ulimit -c unlimited; kill -ABRT $$"
with Folder(f"tasks: {{a: '{CORE}'}}") as folder:
    plain = subprocess.run(["sh", "-c", CORE], cwd=folder.path, check=False)
    dumped = any(name.startswith("core") for name in os.listdir(folder.path))
    done = folder.run()
    say("signal 6 (Aborted" in done.stdout and plain.returncode == -6
        and ("core dumped" in done.stdout or not dumped), "a core is told of", done.stdout)
STOPPED = "tasks: {a: {run: 'touch began; kill -STOP $$; touch ran', %s}}"
with Folder(STOPPED % "timeout: 300ms, grace: 100ms") as folder:
    done = folder.run()
    say(done.returncode == 1 and "timed out" in done.stdout and not folder.has("ran"),
        "a command that is stopped has not ended, and its time runs", done.stdout)
with Folder(STOPPED % "cpus: 1") as folder:
    process = folder.start(env=dict(os.environ, MARK=folder.path))
    folder.wait_for("began")
    while not folder.has("ran") and process.poll() is None:
        for pid in filter(lambda one: process_state(one) == "T", folder.processes()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
    out, err = process.communicate(timeout=120)
    say(process.returncode == 0 and folder.has("ran"), "and continues when it can", out + err)

# ---- What is inherited ------------------------------------------------------------------------

for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
    with Folder("tasks: {a: 'ls -l /proc/self/fd > files; echo out; echo err >&2; exit 1'}"
                ) as folder:
        done = sh(folder, f'"$ROTA" run job.yaml {closed}')
        sound = folder.verify()
        say(done.returncode == 1 and sound.returncode == 0 and "0 -> /dev/null" in
            folder.read("files") and folder.read("files").count("pipe:") == 1,
            f"with {closed} it runs, and so does its command", done.stdout + sound.stdout)
with Folder(SLOW) as folder:
    process = subprocess.Popen(["sh", "-c", f'exec "{os.path.abspath(ROTA)}" run job.yaml'
                                            " 0<&- 1>&- 2>&-"], cwd=folder.path)
    folder.wait_for("began")
    links = [os.readlink(f"/proc/{process.pid}/fd/{i}") for i in range(3)]
    folder.write("go", "")
    say(process.wait(timeout=120) == 0 and links == ["/dev/null"] * 3,
        "and what it opens itself is never taken for standard output", links)
with Folder("tasks: {a: 'umask > mask; touch made'}") as folder:
    done = sh(folder, 'umask 0; "$ROTA" run job.yaml')
    loose = {path: oct(mode) for path, mode in modes(folder).items()
             if path.endswith("/.rota/.") and mode & 0o077}
    say(done.returncode == 0 and not loose and int(folder.read("mask"), 8) == 0,
        "without a umask other users cannot read the files of rota", loose)
with Folder("tasks: {a: 'umask > mask; echo x; exit 1'}") as folder:
    os.chmod(folder.path, 0o777)
    user = {"user": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    done = sh(folder, 'umask 0777; "$ROTA" run job.yaml; "$ROTA" run job.yaml', lend(folder.path),
              **user)
    say(done.returncode == 1 and done.stdout.count("\nx\n") == 2,
        "a umask of 0777 does not lock it out of its own files", done.stdout + done.stderr)
with Folder(ONE) as folder:
    away = 'mkdir gone && cd gone && rmdir ../gone && "$ROTA" run'
    done = sh(folder, f'{away} {folder.path}/job.yaml')
    say(done.returncode == 0 and folder.has("ran"), "a folder that is gone is no place to need",
        done.stderr)
    done = sh(folder, f'{away} job.yaml')
    say(done.returncode == 2 and "No such file" in done.stderr, "and has no job file", done.stderr)
LOADER = """tasks:
  a: 'echo ${LD_PRELOAD-none} ${LD_LIBRARY_PATH-none} > a'
  b: {run: 'echo ${LD_LIBRARY_PATH-none} > b', env: {LD_LIBRARY_PATH: /asked}}
"""
with Folder(LOADER) as folder:
    done = folder.run(env=dict(os.environ, LD_PRELOAD="libdl.so.2", LD_LIBRARY_PATH="/lib",
                               ASAN_OPTIONS="verify_asan_link_order=0"))
    say(done.returncode == 0 and folder.read("a") == "none none\n",
        "variables of the loader are not handed on", done.stderr)
    say(folder.has("b") and folder.read("b") == "/asked\n", "unless the job file asks for it")
with Folder("tasks: {a: 'grep ^Sig[BI] /proc/self/status > signals'}") as folder:
    done = sh(folder, """trap '' HUP INT PIPE USR1; "$ROTA" run job.yaml""")
    say(done.returncode == 0 and folder.read("signals").split()[1::2] == ["0" * 16] * 2,
        "commands have all signals at their defaults", folder.read("signals"))
# The search for leaks needs files and threads of its own, and never stops trying to get them; a
# storm of signals keeps it from stopping the threads. Other tests look for leaks.
os.environ["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
for limit in ("-n 6", "-n 12", "-n 20", "-f 0", "-u 0", "-v 20000", "-s 64"):
    with Folder(ONE) as folder:
        done = sh(folder, f'ulimit {limit}; exec "$ROTA" run job.yaml')
        fine = done.returncode == 0 and folder.has("ran")
        refused = done.returncode in (1, 2, 70, 127) and (done.stdout + done.stderr)
        if not (os.environ.get("SANITIZED") and limit.startswith(("-v", "-s"))):
            say(fine or refused, f"with ulimit {limit} it works or says why not",
                f"{done.returncode}: {done.stdout}{done.stderr}")

# ---- Signals ----------------------------------------------------------------------------------

for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
    with Folder("tasks: {a: 'touch began; exec sleep 1000', b: {run: touch b, needs: a}}"
                ) as folder:
        process = folder.start(env=dict(os.environ, MARK=folder.path))
        folder.wait_for("began")
        process.send_signal(number)
        out, err = process.communicate(timeout=120)
        say(process.returncode == 130 and not folder.wait_gone() and not folder.has("b")
            and folder.verify().returncode == 0, f"{number.name} stops what runs, and is told", err)
with Folder(SLOW) as folder:
    process = folder.start(preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    folder.wait_for("began")
    process.send_signal(signal.SIGHUP)
    folder.write("go", "")
    out, err = process.communicate(timeout=120)
    say(process.returncode == 0 and folder.has("ran"),
        "a signal that was ignored before stays so, as nohup wants it", err)
with Folder("tasks: {a: 'trap \"\" TERM INT HUP; touch began; while :; do sleep 0.05; done'}"
            ) as folder:
    process = folder.start(env=dict(os.environ, MARK=folder.path))
    folder.wait_for("began")
    while process.poll() is None:
        for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGWINCH,
                       signal.SIGPIPE, *WAKE):
            process.send_signal(number)
    out, err = process.communicate(timeout=120)
    say(process.returncode == 130 and not folder.wait_gone() and folder.verify().returncode == 0,
        "a storm of signals ends it, once and cleanly", err[-300:])
with Folder("tasks: {" + ", ".join(f"a{i}: echo x >> ran{i}" for i in range(50)) + "}") as folder:
    done = sh(folder, '{ "$ROTA" run job.yaml; echo $? > status; } | true')
    say(folder.read("status") == "0\n" and all(folder.read(f"ran{i}") == "x\n" for i in range(50)),
        "without a reader for its output it continues", folder.read("status") + done.stderr)
with Folder(ONE) as folder:
    done = sh(folder, '"$ROTA" run job.yaml > /dev/full')
    say(folder.has("ran") and folder.verify().returncode == 0, "nor does a full disk for it matter",
        done.stderr)

Tap.end()
