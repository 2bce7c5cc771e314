"""pages - README.md and doc/*.md as blocks, and a shell that runs the commands of one page.

A page is run from top to bottom by one shell, in a fresh folder that holds a copy of examples/. A
block is one of these:

    ```console                 lines after "$ " are commands, "> " continues one; the lines below a
                               command are what it prints, standard output and error together
    ```sh                      a script: run as a whole with sh -e, it must exit with 0
    ```yaml, json, jsonl, ini  a file, if "<!-- file: NAME -->" is above it; YAML without a name
                               must be a valid job file
    ```c, python, sql          programs and queries that another test runs (ELSEWHERE)
    ```text                    anything that is not a command

A command must exit with 0, or with N if its line ends with "# exit N". "..." in its output stands
for any text, and a line "..." for any number of lines. A page shows real values of what varies from
run to run, and any others match: durations ("0.03 s", "12 ms"; "3 s" is exact), times before 2030
("2026-11-18T20:48:27Z"), widths of columns, blanks at the end of a line, and the order of tasks in
lines such as "[2/5] name 0.03 s" and in a critical path. Output that is not shown is not compared.
A command that ends with "&" runs until the end of the page; its shown output is waited for.
"<!-- not run: REASON -->" above a block says why it is not run.
"""
import fcntl
import os
import re
import select
import shutil
import signal
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
SECONDS_MAX = 180
PORTS = "/tmp/rota-doc-ports.lock"
RUN, FILES = ("console", "sh"), ("yaml", "json", "jsonl", "ini")
ELSEWHERE = {"c": "pool/install_test, end/client_test.py", "python": "pool/install_test",
             "sql": "store/doc_test.c"}
PROGRESS = re.compile(r"^\[\d+/\d+\] (\S+) ", re.M)
VARYING = ((r"\.\.\.", r".*"), (r"\d+\.\d+ s\b|\d+ ms\b", r"[\d.]+ (?:us|ms|s|min)"),
           (r"20[0-2]\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", r"\S+Z"), (r"(?<=\S)  +", r"  +"))
COMMAND = re.compile(r"(?:[$#] )?(?:rota|make|tool/\w+|sqlite3|systemctl|openssl|eval|export) ")


class Block:
    """A fenced or indented block of a page: where it begins, its kind and the note above it."""

    def __init__(self, line, kind, note):
        self.line, self.kind, self.note, self.lines = line, kind, note, []

    def text(self):
        return "".join(line + "\n" for line in self.lines)

    def marked(self, word):
        """The rest of the note above it, if that begins with this word."""
        found = re.fullmatch(rf"<!-- {word}: (.+) -->", self.note)
        return found.group(1) if found else None


def names():
    """The pages, as paths from the root of the repository."""
    folder = os.path.join(ROOT, "doc")
    return ["README.md"] + sorted(f"doc/{name}" for name in os.listdir(folder)
                                  if name.endswith(".md"))


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def blocks(text):
    """All blocks of a page. Lines of a list that are continued are not a block."""
    block, before = None, ""
    for number, line in enumerate(text.split("\n"), 1):
        if block and block.kind != "indented":
            if line == "```":
                yield block
                block, before = None, ""
            else:
                block.lines.append(line)
            continue
        if line.startswith("    ") and (block or not before):
            block = block or Block(number, "indented", "")
            block.lines.append(line[4:])
            continue
        if block and line:
            yield block
            block = None
        if line.startswith("```"):
            block = Block(number, line[3:], before)
        before = line
    if block:
        yield block


def commands(text):
    """(command, the output that is shown, exit status) of a console."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        lines = part.split("\n")[:-1]
        more = 1
        while more < len(lines) and lines[more].startswith("> "):
            more += 1
        command = "\n".join([lines[0], *(line[2:] for line in lines[1:more])])
        status = re.search(r"\s+# exit (\d+)$", command)
        shown = "".join(line + "\n" for line in lines[more:])
        yield (command[:status.start()] if status else command), shown, \
            int(status.group(1)) if status else 0


def pattern(shown):
    """A regular expression for what is shown."""
    out, names = "", "|".join(re.escape(name) for name in PROGRESS.findall(shown))
    for line in shown.split("\n")[:-1]:
        varying = VARYING
        if names and (PROGRESS.match(line) or line.startswith("    critical path")):
            varying += ((rf"(?<= )(?:{names})(?= |$)", rf"(?:{names})"),)
        out += r"(?:.*\n)*" if line == "..." else line_pattern(line, varying) + r" *\n"
    return out


def line_pattern(line, varying):
    """A regular expression for a line: (what it may show, what stands for it) of what varies."""
    out, end = "", 0
    for found in re.finditer("|".join(f"({shown})" for shown, _ in varying), line):
        out += re.escape(line[end:found.start()]) + varying[found.lastindex - 1][1]
        end = found.end()
    return out + re.escape(line[end:])


class Shell:
    """One bash in a fresh folder, which runs commands one after the other."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="rota-doc-", dir="/tmp")
        self.folder = os.path.join(self.home, "work")
        shutil.copytree(os.path.join(ROOT, "examples"), os.path.join(self.folder, "examples"))
        os.mkdir(os.path.join(self.home, "run"), 0o700)
        kept = {name: value for name, value in os.environ.items()  # also of sanitizers, coverage
                if not name.startswith(("ROTA_", "XDG_", "SLURM_", "LISTEN_", "NOTIFY_"))}
        environment = dict(kept, PATH=f"{BUILD}:{os.environ['PATH']}", HOME=self.home,
                           XDG_RUNTIME_DIR=os.path.join(self.home, "run"), LC_ALL="C.UTF-8",
                           USER=os.environ.get("USER", "user"), TERM="dumb")
        self.bash = subprocess.Popen(["bash", "--norc", "--noprofile"], cwd=self.folder,
                                     env=environment, stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                     start_new_session=True)
        self.count = 0

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def output(self):
        """The output of the last command until now."""
        path = os.path.join(self.home, f"output-{self.count}")
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def run(self, command):
        """The exit status of a command, or None if it takes too long."""
        self.count += 1
        script = os.path.join(self.home, f"command-{self.count}")
        with open(script, "w", encoding="utf-8") as file:
            file.write(command + "\n")
        self.bash.stdin.write(f'eval "$(cat {script})" </dev/null >{self.home}/output-{self.count}'
                              f" 2>&1; echo $?\n".encode())
        self.bash.stdin.flush()
        if not select.select([self.bash.stdout], [], [], SECONDS_MAX)[0]:
            return None
        line = self.bash.stdout.readline()
        return int(line) if line else None

    def shows(self, expected):
        """Waits until a command in the background has printed this."""
        end = time.monotonic() + SECONDS_MAX
        while not re.match(expected, self.output()):
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def close(self):
        """Ends all that the page has started."""
        self.run("kill $(jobs -p); wait")
        try:
            os.killpg(self.bash.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.bash.wait()
        self.bash.stdin.close()
        self.bash.stdout.close()
        shutil.rmtree(self.home, ignore_errors=True)


def command_try(shell, command, shown, status):
    """Runs one command: whether all is as the page shows it, and what happened."""
    ended = shell.run(command)
    expected = pattern(shown)
    if command.rstrip().endswith("&"):
        return ended == 0 and shell.shows(expected), shell.output()
    output = shell.output()
    if output and not output.endswith("\n"):
        output += "\n"
    fine = ended == status and (not shown or re.fullmatch(expected, output))
    return bool(fine), f"exit {ended}\n{output}"


def block_try(shell, block):
    """(fine, name, note) of each thing that is tried in a block."""
    place = f"line {block.line}"
    if block.marked("not run"):
        yield None, place, block.marked("not run")
    elif block.kind in FILES and block.marked("file"):
        shell.write(block.marked("file"), block.text())
    elif block.kind == "yaml":
        shell.write("unnamed.yaml", block.text())
        ended = shell.run("rota check unnamed.yaml; status=$?; rm unnamed.yaml; (exit $status)")
        yield ended == 0, f"{place}: a valid job file", shell.output()
    elif block.kind == "console":
        for command, shown, status in commands(block.text()):
            yield (*swap(command_try(shell, command, shown, status), command),)
    elif block.kind == "sh":
        shell.write("../script", block.text())
        ended = shell.run("sh -e ../script")
        yield ended == 0, f"{place}: script", f"exit {ended}\n{shell.output()}"
    elif block.kind in FILES or block.kind in ELSEWHERE:
        pass
    else:
        found = [line for line in block.lines if COMMAND.match(line)]
        if found or block.kind not in ("text", "indented"):
            yield False, f"{place}: a block that is neither run nor marked", found


def swap(result, name):
    fine, note = result
    return fine, name.split("\n")[0], note


def ports_lock(text):
    """Pages that listen at a port are run one at a time on this machine."""
    if "127.0.0.1:" not in text:
        return None
    if not os.path.exists(PORTS):
        os.close(os.open(PORTS, os.O_RDONLY | os.O_CREAT, 0o644))
    file = os.open(PORTS, os.O_RDONLY)  # of any user
    fcntl.flock(file, fcntl.LOCK_EX)
    return file


def page_try(text):
    """Runs a page: (fine, name, note) of each thing; fine is None for a block that is not run."""
    lock = ports_lock(text)
    shell = Shell()
    try:
        for block in blocks(text):
            yield from block_try(shell, block)
    finally:
        shell.close()
        if lock is not None:
            os.close(lock)
