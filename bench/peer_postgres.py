#!/usr/bin/env python3
"""peer_postgres - runs a program against a PostgreSQL server of its own, and stops that again.

    peer_postgres.py PROGRAM TASKS BATCH
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

SETTINGS = "listen_addresses = ''\nunix_socket_directories = '{folder}'\nport = 5499\n"


def main():
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    if not found:
        sys.exit("PostgreSQL is not installed")
    programs = os.path.dirname(found[-1])
    folder = tempfile.mkdtemp(prefix="rota-postgres-", dir="/var/tmp")
    data = os.path.join(folder, "data")
    user = "postgres" if os.geteuid() == 0 else None  # it refuses to run as root
    if user:
        shutil.chown(folder, user)

    def run(name, *arguments):
        subprocess.run([os.path.join(programs, name), "-D", data, *arguments], check=True,
                       user=user, cwd=folder, stdout=subprocess.DEVNULL)
    try:
        run("initdb", "-A", "trust", "-U", "rota", "--no-sync", "--locale=C")
        with open(os.path.join(data, "postgresql.conf"), "a", encoding="utf-8") as file:
            file.write(SETTINGS.format(folder=folder))
        run("pg_ctl", "-w", "-l", os.path.join(folder, "log"), "start")
        try:
            connection = f"host={folder} port=5499 user=rota dbname=postgres"
            return subprocess.run([sys.argv[1], connection, *sys.argv[2:]], check=False).returncode
        finally:
            run("pg_ctl", "-w", "-m", "fast", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
