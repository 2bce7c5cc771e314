#!/usr/bin/env python3
"""database_test - rota play --db with invalid files, failing disks, and plays that do not match.

Each is refused with a reason and status 2 (or 70 if the disk fails), and no file changes.
"""
import hashlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import seed
import kill  # noqa: E402
from end import change, lend, stand_still  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
GRAPH = os.path.join(HERE, "graph.play")
failed = number = 0


def say(fine, what, note=""):
    global failed, number
    number += 1
    failed += not fine
    print(f"{'' if fine else 'not '}ok {number} - {what}", flush=True)
    if not fine:
        print("# " + note.replace("\n", "\n# "))


def play(database, file=GRAPH, before=(), program=kill.ROTA, **more):
    return subprocess.run([*before, program, "play", "--log-pages", "24", "--db", database, file],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=kill.surroundings(),
                          stderr=subprocess.STDOUT, text=True, errors="replace", check=False,
                          timeout=300, **more)


def contents(database):
    """The bytes of the file and its log."""
    digests = []
    for suffix in ("", "-wal"):
        if os.path.isfile(database + suffix):
            with open(database + suffix, "rb") as file:
                digests.append(hashlib.sha256(file.read()).hexdigest())
    return digests


def refuses(what, database, text, file=GRAPH, status=2, **more):
    before = contents(database)
    done = play(database, file, **more)
    fine = done.returncode == status and re.search(text, done.stdout) is not None
    say(fine and contents(database) == before, what, f"status {done.returncode}: {done.stdout}")


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)
    return path


def read(path):
    with open(path, "rb") as file:
        return file.read()


# ---- Files -------------------------------------------------------------------------------------


def wrong_files(folder, sound):
    refuses("a text is not a database", write(f"{folder}/text", b"This is a text.\n" * 99),
            "is not a database")
    data = read(sound)
    refuses("a truncated file is refused", write(f"{folder}/short", data[:len(data) // 2]),
            "truncated|malformed|damaged")
    refuses("a file that ends in its header is refused", write(f"{folder}/head", data[:60]),
            "truncated")
    for page in (0, 1, 2, 5):
        damaged = bytearray(data)
        at = page * 2048 + (100 if page == 0 else 0)
        damaged[at] ^= 0x0f
        refuses(f"a flipped kind of page {page + 1} is refused",
                write(f"{folder}/flip{page}", bytes(damaged)), "damaged|malformed|not a database")
    for version in (99, 10, -2147483638, 0):
        other = shutil.copy(sound, f"{folder}/version{version}")
        change(other, f"PRAGMA user_version = {version}")
        refuses(f"version {version} of the tables is refused", other,
                f"has schema version {version}, but this rota uses version 1")
    link = sqlite3.connect(f"{folder}/other")
    link.execute("CREATE TABLE mine(a)")
    link.close()
    refuses("a database of another program is refused", f"{folder}/other", "of another program")
    os.link(shutil.copy(sound, f"{folder}/name"), f"{folder}/alias")
    refuses("a file with two names is refused", f"{folder}/alias", "several hard links")
    os.mkdir(f"{folder}/folder")
    refuses("a folder is not a database", f"{folder}/folder", "cannot be opened|not a regular file")
    refuses("a folder that is not there is named", f"{folder}/none/db", "No such file")


def flipped_bits(folder, sound):
    """Any single bit: refused, or harmless, or found by the comparison; never a crash."""
    data, choose, odd = read(sound), seed.chance(), []
    for _ in range(20 if os.environ.get("SANITIZED") else 60):
        at = choose.randrange(len(data) * 8)
        damaged = bytearray(data)
        damaged[at // 8] ^= 1 << at % 8
        path = write(f"{folder}/bit", bytes(damaged))
        before, done = contents(path), play(path)
        refused = done.returncode in (2, 70)
        if done.returncode not in (0, 1, 2, 70) or (refused and contents(path) != before):
            odd.append(f"bit {at}: status {done.returncode}: {done.stdout[-500:]}")
        for suffix in ("", "-wal", "-shm", "-lock"):
            if os.path.exists(path + suffix):
                os.unlink(path + suffix)
    say(not odd, "no flipped bit crashes the program or is written over when refused",
        "\n".join(odd[:3]))


def impossible_rows(folder):
    """A row that no core has ever written, on sound pages."""
    lanes = os.path.join(HERE, "lanes.play")
    for what, sql in (("a finished task that is being stopped",
                       "UPDATE sched_state SET flags = 1 WHERE id = (SELECT id"
                       " FROM sched_task WHERE name = 'a1')"),
                      ("an unknown status", "UPDATE sched_state SET status = 'ODD'"),
                      ("a submission that lost a task",
                       "DELETE FROM sched_task WHERE name = 'a2'")):
        database = f"{folder}/{re.sub(' .*', '', sql)}{len(sql)}"
        play(database, lanes)
        change(database, sql)
        refuses(what + " ends the program", database, "", lanes, status=70)


def read_only(folder, sound):
    place = f"{folder}/closed"
    os.mkdir(place)
    shutil.copy(sound, f"{place}/db")
    os.chmod(f"{place}/db", 0o444)
    os.chmod(place, 0o555)
    os.chmod(folder, 0o755)
    more = {"program": lend(folder), "file": shutil.copy(GRAPH, folder)}
    if os.getuid() == 0:
        more.update(user=65534, group=65534)
    refuses("a file that can only be read is refused", f"{place}/db", "Permission denied", **more)
    refuses("no file is made in a folder that can only be read", f"{place}/new",
            "Permission denied", **more)
    os.chmod(place, 0o755)


# ---- Others ------------------------------------------------------------------------------------


def in_use(folder):
    database, long = f"{folder}/used", f"{folder}/long.play"
    lines = ["worker w0"] + [f"task t{i}\nfinish t{i}" for i in range(300)]
    write(long, "\n".join(lines).encode())
    with subprocess.Popen([kill.ROTA, "play", "--no-check", "--db", database, long],
                          stdout=subprocess.PIPE, text=True) as first:
        first.stdout.readline()
        stand_still(first)
        refuses("a second program is refused, with the process of the first", database,
                rf"in use by another rota process \(pid {first.pid}\)", long)
        first.send_signal(signal.SIGCONT)
        rest = first.communicate(timeout=120)[0]
        say(first.returncode == 0 and "1 passed" in rest, "the first continues undisturbed", rest)


def other_plays(folder, sound):
    lines = read(GRAPH).decode().splitlines()
    os.mkdir(f"{folder}/edited")
    changed = f"{folder}/edited/graph.play"
    write(changed, "\n".join(lines).replace("cpus=2", "cpus=3", 1).encode())
    refuses("a changed play is not resumed", sound, "on record is another", changed)
    write(changed, "\n".join(lines[:20]).encode())
    refuses("a play that lost its end is not resumed", sound, "more on record than", changed)
    refuses("another play is not resumed", sound, "belongs to another play",
            os.path.join(HERE, "lanes.play"))
    write(changed, "\n".join(lines + ["task extra", "expect running = -"]).encode())
    copy = shutil.copy(sound, f"{folder}/longer")
    done = play(copy, changed)
    say(done.returncode == 1 and f"ok {len(lines) + 1}" in done.stdout,
        "a play that got longer resumes with its new lines", done.stdout[-500:])
    done = subprocess.run([kill.ROTA, "play", "--db", copy, GRAPH, GRAPH], capture_output=True,
                          text=True, check=False)
    say(done.returncode == 2 and "one play" in done.stderr, "a database keeps one play",
        done.stderr)


# ---- Disks -------------------------------------------------------------------------------------


def failing_disk(folder, wanted):
    """A call that fails ends the program; what it has acknowledged is there all the same."""
    program, wrong, stops = kill.Program("graph", []), [], 0
    for call, error in (("fdatasync", "EIO"), ("pwrite64", "EIO"), ("pwrite64", "ENOSPC")):
        for when in (5, 40, 60, 61, 62, 90, 150):
            database = f"{folder}/{call}-{error}-{when}"
            done = play(database, before=["strace", "-f", "-qq", "-o", "/dev/null", "-e",
                                          f"trace={call}", "-e",
                                          f"inject={call}:error={error}:when={when}"])
            stops += done.returncode == 70
            text = kill.complaint_after_kill(program, database, program.lines(done.stdout))
            if done.returncode not in (0, 70) or text:
                wrong.append(f"{call} {when} {error}: status {done.returncode}: {text}"
                             f"{done.stdout[-300:]}")
                continue
            program.words = [kill.ROTA, "play", "--log-pages", "24", "--db", "{database}", GRAPH]
            text = kill.complaint_at_end(program, database, wanted)
            if text:
                wrong.append(f"{call} {when} {error}: {text}")
    say(not wrong and stops > 5, f"a disk that fails ends the program with status 70 ({stops} of "
        "21), and a sound one lets it resume", "\n".join(wrong[:3]))


def main():
    with kill.folder() as folder:
        sound = f"{folder}/sound"
        done = play(sound)
        say(done.returncode == 0, "a play runs on a new database", done.stdout)
        done = play(sound)
        say(done.returncode == 0 and "ok " not in done.stdout, "run again it changes nothing",
            done.stdout)
        wanted = kill.dump(sound)
        # All of it in one file.
        link = sqlite3.connect(sound)
        link.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        link.close()
        wrong_files(folder, sound)
        flipped_bits(folder, sound)
        impossible_rows(folder)
        read_only(folder, sound)
        in_use(folder)
        other_plays(folder, sound)
        if kill.has_strace():
            failing_disk(folder, wanted)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
