"""proxy - a proxy between two processes that delays, cuts and reorders their bytes like a bad
network.

    with Proxy("/front.sock", "/back.sock") as proxy:
        proxy.rule = lambda number: {"up": Way(most=1), "down": Way(cut=100)}

The rule is called for each connection with its number from 0; "up" is towards the back socket.
"""
import os
import select
import socket
import struct
import threading
import time

RESET = struct.pack("ii", 1, 0)  # close() sends RST instead of FIN


class Way:
    """The faults of one direction.

    most: bytes per piece.    delay: seconds before each piece.    cut: bytes after which both
    directions end.    stall: bytes after which nothing more passes, silently.    flip: the position
    of a byte that changes.    reset: a cut sends RST.
    """

    def __init__(self, most=1 << 16, delay=0, cut=None, stall=None, flip=None, reset=False):
        self.most, self.delay, self.cut, self.stall = most, delay, cut, stall
        self.flip, self.reset, self.passed = flip, reset, 0

    def limit(self):
        ends = [end - self.passed for end in (self.cut, self.stall) if end is not None]
        return min([self.most, *ends])

    def stalls(self):
        """Also when it was told to while a piece was on its way."""
        return self.stall is not None and self.passed >= self.stall

    def changed(self, piece):
        at = -1 if self.flip is None else self.flip - self.passed
        if 0 <= at < len(piece):
            piece = piece[:at] + bytes([piece[at] ^ 1]) + piece[at + 1:]
        return piece


def connected(address):
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    peer = socket.socket(family, socket.SOCK_STREAM)
    peer.connect(address)
    return peer


class Proxy:
    """Addresses are paths, or (host, port); port 0 is any, and `address` tells which."""

    def __init__(self, front, back):
        self.back, self.rule = back, lambda number: {}
        self.count, self.passed, self.ways = 0, {"up": 0, "down": 0}, {}
        self.open, self.ended = [], False
        family = socket.AF_UNIX if isinstance(front, str) else socket.AF_INET
        self.listener = socket.socket(family, socket.SOCK_STREAM)
        self.listener.bind(front)
        self.listener.listen(128)
        name = self.listener.getsockname()
        self.address = name if isinstance(front, str) else f"{name[0]}:{name[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended = True
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.drop()
        if isinstance(self.address, str) and os.path.exists(self.address):
            os.unlink(self.address)

    def drop(self):
        """All connections that are open end."""
        for peer in self.open:
            try:
                peer.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def _accept(self):
        while True:
            try:
                peer = self.listener.accept()[0]
            except OSError:
                return
            number, self.count = self.count, self.count + 1
            try:
                other = connected(self.back)
            except OSError:
                peer.close()
                continue
            self.open += [peer, other]
            threading.Thread(target=self._carry, args=(peer, other, number), daemon=True).start()

    def _carry(self, peer, other, number):
        ways = {"up": Way(), "down": Way(), **self.rule(number)}
        self.ways[number] = ways
        sides = {peer: (other, ways["up"], "up"), other: (peer, ways["down"], "down")}
        try:
            while not self.ended and self._pass(sides):
                pass
        except OSError:
            pass
        reset = any(way.reset for way in ways.values())
        for side in (peer, other):
            if reset and side.family == socket.AF_INET:
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            side.close()

    def _pass(self, sides):
        """Forwards the bytes that have arrived. False: the connection has ended."""
        waiting = [side for side, (_, way, _) in sides.items() if not way.stalls()]
        ready = select.select(waiting, [], [], 0.5)[0]
        for side in ready:
            other, way, name = sides[side]
            if way.stalls():
                continue
            if way.cut == way.passed:
                return False
            piece = side.recv(way.limit())
            if not piece:
                return False
            if way.delay:
                time.sleep(way.delay)
            piece = way.changed(piece)
            way.passed += len(piece)  # before the one it is for can have ended
            self.passed[name] += len(piece)
            other.sendall(piece)
        return True
