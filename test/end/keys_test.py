#!/usr/bin/env python3
"""keys_test - rota keys on real files: modes, refused files, and no secret is ever shown."""
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile

from end import ROTA, Tap

say = Tap.say
folder = tempfile.mkdtemp(prefix="rota-keys-")
LINE = re.compile(r"rota-key (client|worker|admin|peer) ([a-z2-7]{10}) ([0-9a-f]{64})\n")
said = []


def keys(*words):
    done = subprocess.run([ROTA, "keys", *words], capture_output=True, text=True, check=False,
                          timeout=120)
    said.append(done.stdout + done.stderr)
    return done


def path_of(*names):
    return os.path.join(folder, *names)


def lines(*names):
    with open(path_of(*names), encoding="ascii") as file:
        return [LINE.fullmatch(line) for line in file]


def mode_of(*names):
    return stat.S_IMODE(os.lstat(path_of(*names)).st_mode)


def refused(what, reason, *words):
    done = keys(*words)
    say(done.returncode == 2 and reason in done.stderr and not done.stdout, what,
        f"{done.returncode} {done.stdout} {done.stderr}")


def keys_are_made():
    before = os.umask(0)
    done = keys("make", path_of("made"))
    os.umask(before)
    names = ["client.key", "worker.key", "admin.key", "peer.key", "server.keys"]
    say(done.returncode == 0 and done.stdout.split() == [path_of("made", name) for name in names],
        "make says which files it made", done.stderr)
    say(mode_of("made") == 0o700 and all(mode_of("made", name) == 0o600 for name in names),
        "they are for their owner only, whatever the umask")
    say(sorted(os.listdir(path_of("made"))) == sorted(names), "and nothing else is left there")
    server = lines("made", "server.keys")
    say([line[1] for line in server] == ["client", "worker", "admin", "peer"]
        and len({line[3] for line in server}) == 4, "the server has a key of each role")
    say(all(lines("made", line[1] + ".key")[0][0] == line[0] for line in server),
        "each role has its own")
    before = [line[0] for line in server]
    refused("nothing is overwritten", "contains keys already", "make", path_of("made"))
    say([line[0] for line in lines("made", "server.keys")] == before, "and all is as it was")


def folders_are_refused():
    os.mkdir(path_of("wide"))
    os.chmod(path_of("wide"), 0o750)
    refused("a folder that others may read is refused", "chmod 700", "make", path_of("wide"))
    say(not os.listdir(path_of("wide")), "and nothing was written")
    with open(path_of("file"), "w", encoding="ascii"):
        pass
    refused("a file is not a folder", "it exists and is not a folder", "make", path_of("file"))
    os.symlink(path_of("made"), path_of("link"))
    refused("nor is a link to one", "not a folder", "make", path_of("link"))
    refused("a folder in a folder that is not there", "No such file", "make", path_of("a", "b"))


def keys_are_listed():
    server = path_of("made", "server.keys")
    ids = [(line[1], line[2]) for line in lines("made", "server.keys")]
    done = keys("list", server)
    say(done.returncode == 0 and [tuple(line.split()) for line in done.stdout.splitlines()] == ids,
        "list has roles and ids", done.stdout + done.stderr)
    done = keys("list", server, "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    say([(row["role"], row["id"]) for row in rows] == ids and set(rows[0]) == {"role", "id"},
        "list --json has them too, and nothing else", done.stdout + done.stderr)


def keys_are_added_and_revoked():
    server, far = path_of("made", "server.keys"), path_of("made", "far.key")
    done = keys("add", "worker", server, far)
    role, name = done.stdout.split()
    say(done.returncode == 0 and role == "worker" and lines("made", "far.key")[0][2] == name
        and lines("made", "server.keys")[4][0] == lines("made", "far.key")[0][0]
        and mode_of("made", "far.key") == 0o600 and mode_of("made", "server.keys") == 0o600,
        "a key is added to both files", done.stdout + done.stderr)
    say(keys("add", "peer", far, far).returncode == 0 and len(lines("made", "far.key")) == 2,
        "once, also when a file is named twice")
    say(keys("revoke", name, server, far).returncode == 0
        and all(line[2] != name for line in lines("made", "server.keys") + lines("made", "far.key"))
        and len(lines("made", "server.keys")) == 4, "and revoked in both")
    refused("a revoked key cannot be revoked again", f"no such key: {name}", "revoke", name, server)
    last = lines("made", "far.key")[0][2]
    refused("the last key of a file stays, and the message says what to do",
            "add another first (rota keys add ROLE FILE), then revoke this one; or stop every"
            " process that uses the file, and remove it", "revoke", last, far)
    os.chmod(far, 0o640)
    before = len(lines("made", "server.keys"))
    refused("a file that others may read gets no key", "chmod 600", "add", "worker", server, far)
    say(len(lines("made", "server.keys")) == before, "nor do the files named with it")
    refused("it is not listed", "chmod 600", "list", far)
    refused("and nothing is revoked in it", "chmod 600", "revoke", last, far)
    os.chmod(far, 0o600)
    os.symlink(far, path_of("made", "soft.key"))
    refused("a symbolic link is refused", "must not be a symbolic link", "list",
            path_of("made", "soft.key"))
    os.chmod(path_of("made"), 0o770)
    refused("nor is one where others may write", "its folder", "list", far)
    os.chmod(path_of("made"), 0o700)


def many_at_once():
    server = path_of("made", "server.keys")
    running = [subprocess.Popen([ROTA, "keys", "add", "worker", server],
                                stdout=subprocess.DEVNULL) for _ in range(20)]
    statuses = [process.wait() for process in running]
    say(not any(statuses) and len(lines("made", "server.keys")) == 24 and all(
        lines("made", "server.keys")), "twenty commands at once add twenty keys", statuses)


def words_are_checked():
    for words in ([], ["mak"], ["make"], ["make", "a", "b"], ["add"], ["add", "worker"], ["list"],
                  ["list", "a", "b"], ["list", "--yaml"], ["revoke", "x"]):
        refused(f"'rota keys {' '.join(words)}' is refused", "see 'rota keys --help'", *words)
    refused("there are four roles", "unknown role 'master'", "add", "master", path_of("x"))
    done = keys("--help")
    say(done.returncode == 0 and "rota keys revoke ID" in done.stdout, "--help lists the commands")
    done = subprocess.run([ROTA, "completion", "bash"], capture_output=True, text=True, check=True)
    say('values="make add list revoke"' in done.stdout, "the words are completed")


def no_secret_is_shown():
    secrets = []
    for name in os.listdir(path_of("made")):
        secrets += [line[3] for line in lines("made", name)]
    told = "".join(said)
    say(secrets and not any(secret in told for secret in secrets)
        and not re.search("[0-9a-f]{64}", told), "no secret was ever shown")


try:
    keys_are_made()
    folders_are_refused()
    keys_are_listed()
    keys_are_added_and_revoked()
    many_at_once()
    words_are_checked()
    no_secret_is_shown()
finally:
    shutil.rmtree(folder)
Tap.end()
