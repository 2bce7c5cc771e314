"""cut_cluster - a cluster with a worker whose connection to the server can be cut."""
from cluster import Process
from proxy import Proxy, Way
from story import Story


class CutCluster(Story):
    """The way to worker w0 can be cut."""

    def __enter__(self):
        super().__enter__()
        self.way = Proxy(self.path("way.sock"), self.socket)
        self.workers["w0"] = Process(self.path("w0.log"), "worker", "--server",
                                     self.path("way.sock"), "--name", "w0", "--folder",
                                     self.path("w0"), "-j", "1", "--machine", "w0")
        self.until(lambda: "connected to" in self.workers["w0"].said(), "w0 joins")
        return self

    def __exit__(self, *rest):
        self.way.__exit__()
        super().__exit__(*rest)

    def cut(self):
        self.way.rule = lambda number: {"up": Way(stall=0), "down": Way(stall=0)}
        self.way.drop()

    def mend(self):
        self.way.rule = lambda number: {}
        self.way.drop()
