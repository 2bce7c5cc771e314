#!/usr/bin/env python3
"""certificate_test - connections with valid and invalid certificates that openssl has made."""
import os
import re
import signal
import subprocess
import time

from cluster import Cluster, KeyedCluster, PATIENCE, Process, ROTA_PATH
from end import Tap
from probe import ADMIN, CLIENT, DENIED, HANDLER, OK, Probe

say = Tap.say

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


# Certificates that the documented commands do not make: not valid now, revoked, or no whole file.
STRANGE = """
umask 077
openssl req -new -key alice.key -subj /O=rota/OU=client/CN=old -out o.csr
touch index
echo 01 > serial
cat > ca.conf <<END
[ca]
default_ca = d
[d]
database = index
serial = serial
new_certs_dir = .
default_md = sha256
policy = p
copy_extensions = copy
default_crl_days = 9
unique_subject = no
[p]
O = optional
OU = optional
CN = optional
END
authority() { openssl ca -batch -config ca.conf -cert ca.pem -keyfile ca.key "$@"; }
authority -in o.csr -out old.crt -startdate 20200101000000Z -enddate 20200102000000Z
cat alice.key old.crt ca.pem > old.pem
authority -in o.csr -out far.crt -startdate 20990101000000Z -enddate 20990102000000Z
cat alice.key far.crt ca.pem > future.pem
authority -in o.csr -out bad.crt -days 9
cat alice.key bad.crt ca.pem > revoked.pem
authority -revoke bad.crt
authority -gencrl -out crl.pem
cat night.key alice.crt ca.pem > mixed.pem
cat alice.key alice.crt > lonely.pem
openssl pkcs8 -topk8 -in alice.key -passout pass:x -out p.key
cat p.key alice.crt ca.pem > locked.pem
openssl req -new -key main.key -subj /O=rota/OU=server/CN=late -out l.csr \\
    -addext subjectAltName=IP:127.0.0.1
authority -in l.csr -out late.crt -startdate 20200101000000Z -enddate 20200102000000Z
cat main.key late.crt ca.pem > late.pem
"""


def documented():
    """The commands of doc/security.md."""
    with open(os.path.join(ROOT, "doc", "security.md"), encoding="utf-8") as file:
        block = re.search("<!-- begin of certificates -->\n```sh\n(.*?)```\n<!-- end", file.read(),
                          re.S).group(1)
    return block


def commands(folder, script):
    done = subprocess.run(["sh", "-ec", script], cwd=folder, capture_output=True, text=True,
                          check=False, timeout=PATIENCE)
    if done.returncode:
        raise RuntimeError(done.stderr)


class Certified(Cluster):
    """A cluster that also listens at a port with a certificate."""

    def __init__(self):
        super().__init__()
        self.certificates = self.path("certificates")
        os.mkdir(self.certificates, 0o700)
        commands(self.certificates, documented())

    def file(self, name):
        return os.path.join(self.certificates, name + ".pem")

    def issue(self, *calls, authority="ca"):
        """More of them, with the function of the documentation."""
        issue = documented()[documented().index("issue()"):documented().index("issue main")]
        script = "umask 077\n" + issue.replace("ca.pem", authority + ".pem").replace(
            "ca.key", authority + ".key") + "\n".join("issue " + call for call in calls)
        commands(self.certificates, script)

    def serve(self):
        self.options = [*self.options[:2], "--listen", "127.0.0.1:0", "--keys", self.file("main")]
        if os.path.exists(self.path("server.log")):
            os.remove(self.path("server.log"))
        super().serve()
        self.address = re.search(r"127\.0\.0\.1:\d+", self.server.said()).group(0)

    def ask(self, name, address=None):
        """Status 2 is an answer: there is no such job."""
        return subprocess.run([ROTA_PATH, "wait", "99", "--server", address or self.address,
                               "--key", self.file(name)], capture_output=True, text=True,
                              check=False, timeout=PATIENCE)


def accepted_peers(cluster):
    good = cluster.ask("alice")
    say(good.returncode == 2 and "no such job" in good.stderr, "a client is accepted", good)
    cluster.workers["night"] = Process(cluster.path("night.log"), "worker", "--server",
                                       cluster.address, "--key", cluster.file("night"), "--name",
                                       "night", "--folder", cluster.path("night"))
    with open(cluster.path("job.json"), "w", encoding="utf-8") as file:
        file.write('{"tasks": {"a": {"run": "true"}}}')
    done = subprocess.run([ROTA_PATH, "submit", "--wait", "--server", cluster.address, "--key",
                           cluster.file("alice"), cluster.path("job.json")], capture_output=True,
                          text=True, check=False, timeout=PATIENCE)
    say(done.returncode == 0, "and a worker, which runs what the client hands in", done)
    cluster.issue("ann worker 365 DNS:ann", "root admin 365 DNS:root", "pat peer 365 DNS:pat")
    say(cluster.ask("ann").returncode == 4 and "does not allow" in cluster.ask("ann").stderr,
        "a worker is no client", cluster.ask("ann"))
    wrong = Process(cluster.path("alice.log"), "worker", "--server", cluster.address, "--key",
                    cluster.file("alice"), "--name", "x", "--folder", cluster.path("x"))
    say(wrong.process.wait(PATIENCE) == 2 and "has no worker's key" in wrong.said(),
        "and a client no worker", wrong.said())


def the_library(cluster):
    """Programs have the same file where they would have a key."""
    with Probe() as probe:
        say(probe.connect(cluster.address, cluster.file("alice")) == (OK, ""),
            "a program connects with a certificate")
        probe.do("job", "-")
        probe.task("true")
        code, job = probe.submit()
        over = probe.do("wait", job, PATIENCE * 1000)
        say(code == OK and over == (OK, "1 1 0 0"), "and its job runs", (job, over))
    for name, role, code in (("root", ADMIN, OK), ("ann", HANDLER, OK), ("ann", CLIENT, DENIED),
                             ("alice", HANDLER, DENIED), ("alice", ADMIN, DENIED)):
        with Probe() as probe:
            told = probe.connect(cluster.address, cluster.file(name), role)
            say(told[0] == code, f"the program of {name}: role {role}", told)
    with Probe() as probe:
        told = probe.connect(cluster.address, cluster.path("keys/client.key"))
        say(told[0] != OK, "with a key it is refused", told)


def the_depot(cluster):
    """Files of a client go to the server, and from there to a worker, over the same port."""
    with open(cluster.path("in.txt"), "w", encoding="utf-8") as file:
        file.write("brought\n")
    job = cluster.job({"a": {"run": f"cat in.txt > {cluster.path('came')}", "in": ["in.txt"]}})
    done = subprocess.run([ROTA_PATH, "submit", "--wait", "--server", cluster.address, "--key",
                           cluster.file("alice"), job], capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    say(done.returncode == 0 and cluster.read("came") == "brought\n",
        "files of a client come to a worker with certificates, too", (done, cluster.told()))


def worker_ends(cluster, what, address, key):
    """A worker that the server refuses gives up after some attempts."""
    worker = Process(cluster.path("denied.log"), "worker", "--server", address, "--key", key,
                     "--name", "denied", "--folder", cluster.path("denied"))
    say(worker.process.wait(PATIENCE) == 2 and "rejects this" in worker.said()
        and "ask an admin" in worker.said(), f"a worker with {what} that is not taken ends",
        worker.said())


def refused_peers(cluster):
    commands(cluster.certificates, "umask 077\n"
             "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 9"
             " -keyout other.key -out other.pem -subj '/O=rota/CN=another'\n")
    cluster.issue("eve client 365 DNS:eve", authority="other")
    commands(cluster.certificates, "umask 077; cat eve.key eve.crt ca.pem > eve.pem")
    eve = cluster.ask("eve")
    say(eve.returncode == 4 and "rejects this certificate" in eve.stderr,
        "one of an authority that is not believed is refused", eve)
    cluster.issue("mallory server 365 IP:127.0.0.1", "nobody nothing 365 DNS:x",
                  "'two words' client 365 DNS:x")
    mallory = cluster.ask("mallory")
    say(mallory.returncode == 2 and "belongs to a server" in mallory.stderr
        and "trying again" not in mallory.stderr, "so is a server that comes as a client", mallory)
    for name in ("nobody", "two words"):
        done = cluster.ask(name)
        say(done.returncode == 2 and "names no role" in done.stderr, f"{name}: no role, or no id",
            done)
    commands(cluster.certificates, STRANGE)
    for name in ("old", "future"):
        done = cluster.ask(name)
        say(done.returncode == 4 and "certificate" in done.stderr, f"{name}: not valid now", done)
    for name, why in (("mixed", "private key"), ("lonely", "authority"), ("locked", "private key")):
        done = cluster.ask(name)
        say(done.returncode == 2 and why in done.stderr, f"{name}: no file that can be used", done)
    os.chmod(cluster.file("alice"), 0o644)
    say(cluster.ask("alice").returncode == 2, "one that others may read is refused",
        cluster.ask("alice"))
    os.chmod(cluster.file("alice"), 0o600)
    subprocess.run([ROTA_PATH, "keys", "make", cluster.path("keys")], check=True,
                   stdout=subprocess.DEVNULL)
    key = subprocess.run([ROTA_PATH, "wait", "99", "--server", cluster.address, "--key",
                          cluster.path("keys/client.key")], capture_output=True, text=True,
                         check=False, timeout=PATIENCE)
    say(key.returncode == 4 and "rejects this key" in key.stderr
        and "trying again" not in key.stderr, "a key is not taken where certificates are", key)
    worker_ends(cluster, "a key", cluster.address, cluster.path("keys/worker.key"))
    with KeyedCluster() as other:
        worker_ends(other, "a certificate", other.address, cluster.file("night"))
    for words in (["-tls1_2"], []):
        done = subprocess.run(["openssl", "s_client", "-ign_eof", "-connect", cluster.address,
                               *words], input="x", capture_output=True, text=True, check=False,
                              timeout=PATIENCE)
        say("alert" in done.stderr.lower(),
            f"a stranger without a certificate is refused {words}", done.stderr[-300:])


def files_of_keys_and_of_certificates(cluster):
    listed = [subprocess.run([ROTA_PATH, "keys", "list", cluster.file(name)], capture_output=True,
                             text=True, check=False).stdout for name in ("main", "night")]
    say(listed == ["server main\n", "worker night\n"], "rota keys list shows role and id", listed)
    with open(cluster.file("main"), "rb") as file:
        before = file.read()
    for words in (["add", "client"], ["revoke", "main"]):
        done = subprocess.run([ROTA_PATH, "keys", *words, cluster.file("main")],
                              capture_output=True, text=True, check=False)
        with open(cluster.file("main"), "rb") as file:
            say(done.returncode == 2 and file.read() == before, f"{words} changes nothing", done)


def follower(cluster, name):
    """A client that stays connected, and prints every event at once."""
    return Process(cluster.path(name + ".events"), "events", "--after", "0", "--server",
                   cluster.address, "--key", cluster.file(name))


def follower_for_seconds(cluster):
    """The same, with a certificate that is not valid any more when this returns."""
    seconds, said = 2, False
    while not said:
        seconds *= 2
        ends = time.time() + seconds
        commands(cluster.certificates, "umask 077; openssl ca -batch -config ca.conf -cert ca.pem"
                 " -keyfile ca.key -in o.csr -out brief.crt -startdate 20200101000000Z -enddate "
                 + time.strftime("%Y%m%d%H%M%SZ", time.gmtime(ends))
                 + "; cat alice.key brief.crt ca.pem > brief.pem")
        brief = follower(cluster, "brief")
        while not said and time.time() < ends:
            time.sleep(0.05)
            said = brief.said().startswith("{") or "job" in brief.said()
        if not said:
            brief.kill()
    time.sleep(max(0, ends + 1 - time.time()))
    return brief


def revoking(cluster):
    say(cluster.ask("revoked").returncode == 2, "one is good until it is revoked",
        cluster.ask("revoked"))
    followers = {name: follower(cluster, name) for name in ("alice", "revoked")}
    for name, process in followers.items():
        cluster.until(process.said, name + " follows")
    followers["brief"] = follower_for_seconds(cluster)
    commands(cluster.certificates, "umask 077; cat crl.pem >> main.pem")
    cluster.server.process.send_signal(signal.SIGHUP)
    cluster.until(lambda: "read again" in cluster.server.said(), "the server reads its file again")
    done = cluster.ask("revoked")
    say(done.returncode == 4 and cluster.ask("alice").returncode == 2,
        "and not from the next HUP on", (done, cluster.server.said()))
    ended = "2 connections closed: their keys were removed" in cluster.server.said()
    say(ended and followers["alice"].process.poll() is None,
        "which ends connections whose certificate is not valid any more, and no others",
        (cluster.server.said(), {name: process.said()[-300:] for name, process in
                                 followers.items()}))
    for process in followers.values():
        process.kill()


def fake_servers(cluster):
    """Other servers of the same authority, at which good clients look twice."""
    cluster.issue("elsewhere server 365 DNS:elsewhere.example")
    for name, why in (("elsewhere", "mismatch"), ("ann", "not for a server"),
                      ("late", "expired")):
        log = cluster.path(name + ".server")
        other = Process(log, "server", "--memory", "--listen", "127.0.0.1:0", "--keys",
                        cluster.file(name))
        cluster.until(lambda: "listening at" in other.said(), "it listens")
        if name == "ann":  # its name is right, its role is not
            other.kill()
            cluster.issue("ann worker 365 IP:127.0.0.1")
            other = Process(log + "2", "server", "--memory", "--listen", "127.0.0.1:0", "--keys",
                            cluster.file(name))
            cluster.until(lambda: "listening at" in other.said(), "it listens")
        done = cluster.ask("alice", re.search(r"127\.0\.0\.1:\d+", other.said()).group(0))
        other.kill()
        say(done.returncode == 4 and why in done.stderr, f"{name} is not believed", done)


def between_workers(cluster):
    cluster.issue("pat peer 365 IP:127.0.0.1")
    for name in ("here", "there"):
        cluster.work(name, 1, "--machine", name, "--listen", "127.0.0.1:0", "--peer-key",
                     cluster.file("pat"))
    done = cluster.submit(
        {"make": {"run": "echo made > out.txt", "out": ["out.txt"], "machine": "here"},
         "take": {"run": f"cat out.txt > {cluster.path('got')}", "in": ["out.txt"],
                  "machine": "there"}}, "--wait")
    say(done.returncode == 0 and cluster.read("got") == "made\n",
        "objects go from worker to worker with certificates, too", (done, cluster.told()))


with Certified() as all_of_it:
    accepted_peers(all_of_it)
    the_depot(all_of_it)
    refused_peers(all_of_it)
    the_library(all_of_it)
    files_of_keys_and_of_certificates(all_of_it)
    revoking(all_of_it)
    fake_servers(all_of_it)
    between_workers(all_of_it)
Tap.end()
