#!/usr/bin/env python3
"""socket_folder_test - the default folder of the server's socket, if another user has created it.
"""
import os
import subprocess

from cluster import PATIENCE, ROTA_PATH
from end import Tap

OTHER = 12345
# The program is opened before the mount, which hides it if it was built below /tmp.
SCRIPT = (f"exec 3< {ROTA_PATH} && mount -t tmpfs none /tmp && mkdir -m 777 /tmp/rota-0"
          f" && chown {OTHER} /tmp/rota-0 && exec timeout 5 /proc/self/fd/3 server --memory")


def start(script):
    """In a /tmp of its own."""
    return subprocess.run(["unshare", "-m", "sh", "-c", script], capture_output=True, text=True,
                          check=False, timeout=PATIENCE, env={"PATH": os.environ["PATH"]})


if os.geteuid() != 0 or start("mount -t tmpfs none /tmp").returncode != 0:
    Tap.skip("folder", "needs root, and a mount namespace")
else:
    done = start(SCRIPT)
    Tap.say(done.returncode == 2 and "/tmp/rota-0 belongs to another user" in done.stderr,
            "a server does not listen in the folder of another user", done)
    done = start(SCRIPT.replace(str(OTHER), "0"))
    Tap.say("listening at /tmp/rota-0/" in done.stdout, "but in its own", done)
Tap.end()
