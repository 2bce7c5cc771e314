"""net - machines as network namespaces on a switch of their own, and faults of their links.

Nothing of it is visible outside: the switch is in a namespace, too. Commands share all files.
"""
import itertools
import os
import subprocess

from cluster import PATIENCE, Cluster, Process, ROTA_PATH

PORT = 7450
KERNEL_SAYS = ("not permitted", "Permission denied", "not supported", "Unknown device type")
NUMBERS = itertools.count(1)
RULES = """
table inet fault {{
    chain come {{ type filter hook input priority 0; iifname "eth0" {come}; }}
    chain go {{ type filter hook output priority 0; oifname "eth0" {go}; }}
}}
"""


def run(*words, given=None):
    done = subprocess.run(words, input=given, capture_output=True, text=True, check=False,
                          timeout=PATIENCE)
    if done.returncode:
        raise OSError(f"{' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def refusal():
    """The kernel's reason for refusing namespaces here, or None. Other errors are raised."""
    try:
        with Net() as net:
            net.host("try")
            net.fault("try", come="drop")
    except OSError as error:
        if any(word in str(error) for word in KERNEL_SAYS):
            return str(error).splitlines()[0]
        raise
    return None


class Net:
    """A switch with the server's machine at it, 10.9.0.1, and others that are added."""

    def __init__(self):
        self.mark = f"rota-{os.getpid()}-{next(NUMBERS)}"
        self.hosts = {}

    def __enter__(self):
        try:
            run("ip", "netns", "add", self.mark)
            # A switch without an address of its own has the least of its machines', and another
            # one whenever a machine is added: packets to the old one are lost.
            self.inside("ip", "link", "add", "eth0", "address", "02:00:00:00:00:01", "type",
                        "bridge", "forward_delay", "0")
            self.inside("ip", "address", "add", "10.9.0.1/24", "dev", "eth0")
            self.inside("ip", "link", "set", "eth0", "up")
            self.inside("ip", "link", "set", "lo", "up")
        except OSError:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for space in [*(self.space(name) for name in self.hosts), self.mark]:
            subprocess.run(["ip", "netns", "delete", space], capture_output=True, check=False)

    def space(self, name):
        return f"{self.mark}-{name}" if name else self.mark

    def words(self, name=""):
        """The words before a command that runs it on that machine (by default the server's)."""
        # As `ip netns exec` would, but also where the root is no mount, as in a chroot.
        return ["nsenter", f"--net=/run/netns/{self.space(name)}"]

    def inside(self, *words, name="", given=None):
        return run(*self.words(name), *words, given=given)

    def host(self, name):
        """Another machine; returns its address."""
        self.hosts[name] = f"10.9.0.{len(self.hosts) + 2}"
        run("ip", "netns", "add", self.space(name))
        port = f"port{len(self.hosts)}"
        self.inside("ip", "link", "add", port, "type", "veth", "peer", "name", "eth0", "netns",
                    self.space(name))
        self.inside("ip", "link", "set", port, "master", "eth0", "up")
        self.inside("ip", "address", "add", self.hosts[name] + "/24", "dev", "eth0", name=name)
        self.inside("ip", "link", "set", "eth0", "up", name=name)
        self.inside("ip", "link", "set", "lo", "up", name=name)
        return self.hosts[name]

    def fault(self, name, come="accept", go="accept"):
        """Sets the faults of packets that arrive at this machine and leave it."""
        self.inside("nft", "-f", "-", name=name,
                    given="flush ruleset\n" + RULES.format(come=come, go=go))

    def loses(self, name, percent):
        rule = f"numgen random mod 100 < {percent} drop"
        self.fault(name, rule, rule)

    def down(self, name):
        self.inside("ip", "link", "set", "eth0", "down", name=name)

    def heal(self, name):
        self.inside("nft", "flush", "ruleset", name=name)
        self.inside("ip", "link", "set", "eth0", "up", name=name)


class NetCluster(Cluster):
    """The server and each worker on machines of their own, with keys; clients at a Unix socket."""

    def __init__(self, net, *options, lease=4):
        super().__init__(*options, lease=lease)
        self.net = net
        run(ROTA_PATH, "keys", "make", self.path("keys"))

    def serve(self):
        self.server = Process(self.path("server.log"), "server", "--listen", self.socket,
                              "--listen", f"10.9.0.1:{PORT}", "--keys",
                              self.path("keys/server.keys"), "--db", self.database, *self.options,
                              before=self.net.words())
        self.until(lambda: os.path.exists(self.socket) and self.rota("ps").returncode != 4,
                   "the server listens")

    def work(self, name, cores=2, *options):
        address = self.net.hosts.get(name) or self.net.host(name)
        self.workers[name] = Process(
            self.path(name + ".log"), "worker", "--server", f"10.9.0.1:{PORT}", "--key",
            self.path("keys/worker.key"), "--listen", f"{address}:{PORT}", "--peer-key",
            self.path("keys/peer.key"), "--name", name, "--folder", self.path(name), "-j",
            str(cores), *options, before=self.net.words(name))
        return self.workers[name]
