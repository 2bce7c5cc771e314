#!/usr/bin/env python3
"""lost_files_test - a file of a database in use is deleted, replaced or overwritten.

The server or the run notices it, acknowledges nothing more, saves its records, and stops with
status 70 and a message. Files that others may read are restricted to their owner when they are
opened. Such files of another user are refused.
"""
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import time

from cluster import PATIENCE, ROTA_PATH, Cluster
from end import Tap, least, lend
from runs import Folder, kill_group

NAMES = {"": "the database", "-wal": "the log", "-shm": "the index", "-lock": "the lock file"}


def jobs_in(database):
    """The rows that a server recorded in this file."""
    link = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
    try:
        return link.execute("SELECT count(*) FROM sched_graph").fetchone()[0]
    finally:
        link.close()


def remove(path):
    os.remove(path)


def replace(path):
    shutil.copy(path, path + ".other")
    os.rename(path + ".other", path)


def is_accepted(cluster):
    """A client that lost its server keeps asking, so it is ended: that acknowledges nothing."""
    try:
        words = [ROTA_PATH, "submit", "--server", cluster.socket, cluster.path("job.json")]
        return subprocess.run(words, capture_output=True, check=False, timeout=2).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def lose(cluster, suffix, how):
    """How many jobs the server has acknowledged; more of them come until it ends."""
    accepted = 0
    for _ in range(3):
        accepted += cluster.submit({"t": {"run": "true"}}).returncode == 0
    how(cluster.database + suffix)
    lost_at = time.monotonic()
    while cluster.server.process.poll() is None:
        if time.monotonic() > lost_at + PATIENCE:
            raise RuntimeError("the server keeps running")
        accepted += is_accepted(cluster)
    return accepted


def second_server(cluster, database):
    """A submission that has to be refused."""
    start = [ROTA_PATH, "server", "--listen", cluster.path("second.sock"), "--db", database]
    return subprocess.run(["timeout", "10", *start], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)


def server_loses(suffix, how):
    with Cluster() as cluster:
        accepted = lose(cluster, suffix, how)
        said = cluster.server.said()
        where = f"{cluster.database}{suffix} was {'deleted' if how is remove else 'replaced'}"
        kept = cluster.database + ("" if suffix == "-lock" else "-saved")
        found = jobs_in(kept) if os.path.exists(kept) else -1
        status = cluster.server.process.returncode
        Tap.say(status == 70 and where in said and accepted <= found <= accepted + 1,
                f"a server stops when {NAMES[suffix]} is {how.__name__}d, and has all it accepted",
                f"status {status}, {found} of {accepted} jobs, {said}")
        if suffix == "-lock":
            return
        mode = stat.S_IMODE(os.stat(kept).st_mode)
        refused = second_server(cluster, cluster.database)
        Tap.say(refused.returncode == 2 and "-saved" in refused.stderr,
                "and is not started on what is left, as a supervisor would", refused)
        for name in ("", "-wal", "-shm"):
            if os.path.exists(cluster.database + name):
                os.remove(cluster.database + name)
        refused = second_server(cluster, cluster.database)
        os.rename(kept, cluster.database)
        cluster.serve()
        Tap.say(mode == 0o600 and refused.returncode == 2 and "-saved" in refused.stderr
                and jobs_in(cluster.database) == found, "and the saved file is a database",
                f"mode {mode:o}, {refused.returncode} {refused.stderr}")


def server_ends():
    """Also when it is told to end before it has noticed."""
    with Cluster() as cluster:
        cluster.submit({"t": {"run": "true"}})
        for suffix in ("", "-wal", "-shm"):
            os.remove(cluster.database + suffix)
        status = cluster.server.kill(signal.SIGTERM)
        Tap.say(status == 70 and jobs_in(cluster.database + "-saved") == 1
                and not os.path.exists(cluster.database),
                "a server whose files are deleted does not end as if all were well",
                f"status {status}, {cluster.server.said()}")


def backup_of_a_job(cluster):
    """The path of a backup that is made after the first submission."""
    cluster.submit({"t": {"run": "true"}})
    backup = cluster.path("backup.db")
    link = sqlite3.connect(cluster.database)
    link.execute(f"VACUUM INTO '{backup}'")
    link.close()
    return backup


def removed_while_no_server_runs(how):
    """Its first server was killed, so it never noted how it left the files."""
    with Cluster() as cluster:
        backup = backup_of_a_job(cluster)
        cluster.server.kill()
        for suffix in ("-wal", "-shm", ""):
            os.remove(cluster.database + suffix)
        if how == "emptied":
            cluster.touch("server.db")
        refused = second_server(cluster, cluster.database)
        names_it = f"remove {cluster.database}-lock" in refused.stderr
        Tap.say(refused.returncode == 2 and names_it and "--restored" in refused.stderr,
                f"a database that was {how} after its server was killed is not taken for a new one",
                refused)
        shutil.copy(backup, cluster.database)
        cluster.options.append("--restored")
        cluster.serve()
        Tap.say(jobs_in(cluster.database) == 1, "a backup takes its place",
                cluster.server.said())


def another_takes_its_place():
    """The log of the old database is not taken for one of the new."""
    with Cluster() as cluster:
        backup = backup_of_a_job(cluster)
        for _ in range(3):
            cluster.submit({"t": {"run": "true"}})
        os.rename(backup, cluster.database)
        status = cluster.server.process.wait(PATIENCE)
        left = os.path.exists(cluster.database + "-wal")
        found = jobs_in(cluster.database)
        os.rename(cluster.database + "-saved", cluster.path("aside"))
        cluster.serve()
        Tap.say(status == 70 and not left and found == 1 and jobs_in(cluster.database) == 1,
                "a backup that replaces a database in use stays unchanged",
                f"status {status}, log left: {left}, {found} jobs")


def no_copy_can_be_saved():
    """The next start says so, too."""
    with Cluster() as cluster:
        cluster.submit({"t": {"run": "true"}})
        for number in range(1, 100):
            with open(cluster.database + "-saved" + (f"-{number}" if number > 1 else ""), "wb"):
                pass
        os.remove(cluster.database + "-wal")
        status = cluster.server.process.wait(PATIENCE)
        refused = second_server(cluster, cluster.database)
        Tap.say(status == 70 and "--restored" in cluster.server.said() and refused.returncode == 2
                and "-lost" in refused.stderr, "a server that lost records is not started again",
                (status, cluster.server.said(), refused))
        os.remove(cluster.database + "-lost")
        cluster.serve()
        Tap.say(True, "until a person has removed the note")


def by_a_link():
    """All files are those beside the database, whatever name it is opened by."""
    with Cluster() as cluster:
        cluster.submit({"t": {"run": "true"}})
        link = cluster.path("link.db")
        os.symlink(cluster.database, link)
        refused = second_server(cluster, link)
        Tap.say(refused.returncode == 2 and "in use" in refused.stderr,
                "a second server does not come in by a link", refused)
        cluster.server.kill(signal.SIGTERM)
        real, cluster.database = cluster.database, link
        cluster.serve()
        cluster.submit({"t": {"run": "true"}})
        os.remove(real + "-wal")
        status = cluster.server.process.wait(PATIENCE)
        Tap.say(status == 70 and jobs_in(real + "-saved") == 2,
                "a server that was given a link notices a deleted log, too",
                (status, cluster.server.said()))
        os.remove(real)
        refused = second_server(cluster, link)
        Tap.say(refused.returncode == 2 and not os.path.exists(real),
                "a link to nothing is refused", refused)


def folder_is_renamed():
    with Cluster() as cluster:
        folder, moved = cluster.path("old"), cluster.path("new")
        os.mkdir(folder)
        cluster.server.kill(signal.SIGTERM)
        cluster.database = os.path.join(folder, "server.db")
        cluster.serve()
        cluster.submit({"t": {"run": "true"}})
        os.rename(folder, moved)
        status = cluster.server.process.wait(PATIENCE)
        said = cluster.server.said()
        cluster.database = os.path.join(moved, "server.db")
        cluster.serve()
        Tap.say(status == 70 and f"moved to {cluster.database}" in said and "lost" not in said
                and jobs_in(cluster.database) == 1, "a moved database is found where it is now",
                (status, said))


def truncate(path):
    os.truncate(path, 0)


def server_is_overwritten(suffix, end):
    """As `: > FILE` does it. Accepted jobs are found, or the next start says that they are lost."""
    with Cluster() as cluster:
        if end:
            accepted = cluster.submit({"t": {"run": "true"}}).returncode == 0
            truncate(cluster.database + suffix)
            cluster.server.kill(end)
        else:
            accepted = lose(cluster, suffix, truncate)
        status = cluster.server.process.returncode
        said, next_one = cluster.server.said(), second_server(cluster, cluster.database)
        if suffix == "-shm":
            found = jobs_in(cluster.database)
            fine = ("no record is lost" in said and accepted <= found <= accepted + 1
                    and next_one.returncode == 124)
        else:
            saved = cluster.database + "-saved"
            found = jobs_in(saved) if os.path.exists(saved) else None
            fine = (f"{cluster.database}{suffix} was overwritten" in said
                    and (found is None or accepted <= found <= accepted + 1)
                    and next_one.returncode == 2
                    and ("-lost" if found is None else "-saved") in next_one.stderr)
        Tap.say(fine and status == 70,
                f"a server stops when {NAMES[suffix]} is emptied"
                + (" just before it is to end" if end else ""),
                (status, accepted, found, said, next_one))


def backup_is_copied_back():
    """With cp, under a running server, after a checkpoint."""
    with Cluster() as cluster:
        backup = backup_of_a_job(cluster)
        old = os.path.getsize(cluster.database)
        while os.path.getsize(cluster.database) < old + 1000000:
            cluster.submit({f"t{i}": {"run": "true # " + "x" * 1000} for i in range(2000)})
        shutil.copyfile(backup, cluster.database)
        status = cluster.server.process.wait(PATIENCE)
        refused = second_server(cluster, cluster.database)
        Tap.say(status == 70 and "was overwritten" in cluster.server.said()
                and refused.returncode == 2, "a server stops when a backup is copied over its"
                " database", (status, cluster.server.said(), refused))


def folder_is_removed():
    """With all that is in it."""
    with Cluster() as cluster:
        folder = cluster.path("state")
        os.mkdir(folder)
        cluster.server.kill(signal.SIGTERM)
        cluster.database = os.path.join(folder, "server.db")
        cluster.serve()
        cluster.submit({"t": {"run": "true"}})
        shutil.rmtree(folder)
        status = cluster.server.process.wait(PATIENCE)
        saved = cluster.database + "-saved"
        found = jobs_in(saved) if os.path.exists(saved) else None
        refused = second_server(cluster, cluster.database)
        Tap.say(status == 70 and found == 1 and refused.returncode == 2
                and "-saved" in refused.stderr,
                "a server whose folder is removed makes it again, and saves all in it",
                (status, found, cluster.server.said(), refused))


def server_notices_in_time():
    def attempt():
        with Cluster() as cluster:
            cluster.submit({"t": {"run": "true"}})
            os.remove(cluster.database + "-wal")
            lost_at = time.monotonic()
            cluster.server.process.wait(PATIENCE)
            return time.monotonic() - lost_at
    took = least(1.2, attempt)
    Tap.say(took < 1.2, "within a second", f"{took} s")


def run_loses(suffix):
    wait = "while ! [ -e go ]; do sleep 0.01; done"
    with Folder(f"tasks:\n  a: {{run: 'true'}}\n  b: {{run: '{wait}', needs: [a]}}\n") as folder:
        process = folder.start("--json")
        database = os.path.join(folder.path, ".rota", "rota.db")
        while json.loads(process.stdout.readline())["event"] != "ended":
            pass
        os.remove(database + suffix)
        try:
            status = process.wait(PATIENCE)
        finally:
            kill_group(process)
        folder.write("go", "")
        link = sqlite3.connect(database + "-saved")
        rows = link.execute("SELECT name FROM sched_status WHERE status = 'SUCCESS'").fetchall()
        link.close()
        Tap.say(status == 70 and rows == [("a",)], f"a run stops when {NAMES[suffix]} is removed",
                f"status {status}, {rows}")


def run_loses_its_folder():
    """The advice is one for rota run, which has no backups to restore."""
    wait = "while ! [ -e go ]; do sleep 0.01; done"
    with Folder(f"tasks:\n  a: {{run: 'true'}}\n  b: {{run: '{wait}', needs: [a]}}\n") as folder:
        process = folder.start("--json")
        while json.loads(process.stdout.readline())["event"] != "ended":
            pass
        os.killpg(process.pid, signal.SIGSTOP)  # it does not notice one file after the other
        shutil.rmtree(os.path.join(folder.path, ".rota"))
        os.killpg(process.pid, signal.SIGCONT)
        try:
            status, told = process.wait(PATIENCE), process.stderr.read()
        finally:
            kill_group(process)
        folder.write("go", "")
        database = os.path.join(folder.path, ".rota/rota.db")
        Tap.say(status == 70 and f"saved in {database}-saved" in told and "--restored" not in told,
                "a run whose folder is removed says what to do", (status, told))
        for suffix in ("", "-wal", "-shm"):
            if os.path.exists(database + suffix):
                os.unlink(database + suffix)
        os.rename(database + "-saved", database)
        Tap.say(folder.ran() == ["b"], "which works, and what was done stays done")
    with Folder("tasks: {a: 'true'}") as folder:
        folder.run()
        folder.write(".rota/rota.db-lost", "x")
        done = folder.run()
        Tap.say(done.returncode == 2 and "--restored" not in done.stderr
                and "remove" in done.stderr and "run again" in done.stderr,
                "the run after one that lost records says what to do", done)


def run_is_superseded():
    """Its folder is removed, and another run makes a new one."""
    wait = "while ! [ -e go ]; do sleep 0.01; done"
    with Folder(f"tasks:\n  a: {{run: 'true'}}\n  b: {{run: '{wait}', needs: [a]}}\n") as folder:
        process = folder.start("--json")
        while json.loads(process.stdout.readline())["event"] != "ended":
            pass
        os.killpg(process.pid, signal.SIGSTOP)
        shutil.rmtree(os.path.join(folder.path, ".rota"))
        folder.write("other.yaml", "tasks: {c: 'true'}")
        words = [ROTA_PATH, "run", "other.yaml"]
        other = subprocess.run(words, cwd=folder.path, capture_output=True, text=True, check=False)
        os.killpg(process.pid, signal.SIGCONT)
        try:
            status, told = process.wait(PATIENCE), process.stderr.read()
        finally:
            kill_group(process)
        folder.write("go", "")
        database = os.path.join(folder.path, ".rota/rota.db")
        saved = database + "-replaced"
        Tap.say(other.returncode == 0 and status == 70 and f"saved in {saved}" in told
                and jobs_in(saved) == 1,
                "a run whose database another run replaced saves its own under another name",
                (other, status, told))
        again = subprocess.run(words, cwd=folder.path, capture_output=True, text=True, check=False)
        Tap.say(again.returncode == 0 and "nothing to do" in again.stdout + again.stderr,
                "and the new database is used", again)
        Tap.say(folder.ran() == ["a", "b"], "by every later run")


def modes():
    with Cluster() as cluster:
        cluster.submit({"t": {"run": "true"}})
        cluster.server.kill()
        suffixes = ("", "-wal", "-shm", "-lock")
        for suffix in suffixes:
            os.chmod(cluster.database + suffix, 0o644)
        cluster.serve()
        found = [stat.S_IMODE(os.stat(cluster.database + suffix).st_mode) for suffix in suffixes]
        Tap.say(found == [0o600] * 4, "files that others may read become the owner's",
                [f"{mode:o}" for mode in found])


def modes_of_another_user():
    """Only the owner can change them, so the file is refused and stays unchanged."""
    what = "files of another user that others may read are refused"
    if os.getuid() != 0:
        Tap.skip(what, "only root can give files to another user")
        return
    with Cluster() as cluster:
        cluster.submit({"t": {"run": "true"}})
        cluster.server.kill(signal.SIGTERM)
        os.chmod(cluster.folder, 0o777)
        os.chmod(cluster.database, 0o666)
        os.remove(cluster.database + "-lock")
        start = [lend(cluster.folder), "server", "--listen", cluster.path("second.sock"), "--db",
                 cluster.database]
        refused = subprocess.run(["timeout", "10", *start], capture_output=True, text=True,
                                 check=False, timeout=PATIENCE, user=65534, group=65534)
        mode = stat.S_IMODE(os.stat(cluster.database).st_mode)
        Tap.say(refused.returncode == 2 and mode == 0o666 and "mode 0666" in refused.stderr
                and "chmod 600" in refused.stderr, what, f"{refused}, mode {mode:o}")


for loss in ("", "-wal", "-shm", "-lock"):
    server_loses(loss, remove)
for loss in ("", "-wal"):
    server_loses(loss, replace)
server_ends()
removed_while_no_server_runs("removed")
removed_while_no_server_runs("emptied")
another_takes_its_place()
no_copy_can_be_saved()
by_a_link()
folder_is_renamed()
folder_is_removed()
for loss in ("-wal", "", "-shm"):
    server_is_overwritten(loss, None)
for loss in ("-wal", ""):
    server_is_overwritten(loss, signal.SIGTERM)
backup_is_copied_back()
server_notices_in_time()
run_loses("")
run_loses("-wal")
run_loses_its_folder()
run_is_superseded()
modes()
modes_of_another_user()
Tap.end()
