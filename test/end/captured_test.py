#!/usr/bin/env python3
"""captured_test - captured bytes of a connection are useless when they are sent again."""
import socket
import subprocess

from cluster import PATIENCE, ROTA_PATH, KeyedCluster
from end import Tap
from proxy import Proxy, Way


class Recorder(Way):
    """Keeps what passes."""

    def __init__(self):
        super().__init__()
        self.bytes = b""

    def changed(self, piece):
        self.bytes += piece
        return piece


def sent_again(address, data, most):
    """Everything that comes back, until the other side closes; None: it stays open."""
    host, port = address.split(":")
    with socket.create_connection((host, int(port)), timeout=60) as peer:
        answer = b""
        try:
            for at in range(0, len(data), most):
                peer.sendall(data[at:at + most])
            while piece := peer.recv(1 << 16):
                answer += piece
        except TimeoutError:
            return None
        except OSError:  # it was closed while we spoke
            pass
        return answer


def submitted(cluster, address, path):
    words = [ROTA_PATH, "submit", "--server", address, *cluster.key("client"), path]
    return subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)


with KeyedCluster() as cluster:
    host, port = cluster.address.split(":")
    recorder = Recorder()
    path = cluster.job({"once": {"run": "true"}})
    with Proxy(("127.0.0.1", 0), (host, int(port))) as proxy:
        proxy.rule = lambda number: {"up": recorder} if number == 0 else {}
        first = submitted(cluster, proxy.address, path)
    jobs = cluster.sql("SELECT count(*) FROM sched_job")
    Tap.say(first.returncode == 0 and jobs == [(1,)] and len(recorder.bytes) > 500,
            "TLS: a submission is captured", (first, len(recorder.bytes)))
    for most in (1 << 16, 100):
        answer = sent_again(cluster.address, recorder.bytes, most)
        Tap.say(answer is not None and len(answer) < 4096,
                f"TLS: sent again, {most} bytes at a time, it is refused", answer)
    Tap.say(cluster.sql("SELECT count(*) FROM sched_job") == jobs,
            "TLS: and nothing has happened")
    Tap.say(submitted(cluster, cluster.address, path).returncode == 0
            and cluster.server.process.poll() is None, "TLS: others are served as before")
Tap.end()
