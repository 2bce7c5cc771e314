"""hostile - sends any bytes to a server over its Unix socket, and reads the answers."""
import socket
import struct

from wire import VERSION, WIRE, Link, encode

RUN = encode("RUN", argv=["true"])
CODES = {WIRE[name]: name[8:].lower() for name in WIRE if name.startswith("REFUSED_")}


def frame(body):
    return struct.pack("<I", len(body)) + body


class Stranger:
    """A connection on which anything may be said."""

    def __init__(self, path, role=None, name="stranger", connection=1):
        self.link = Link.connect(path)
        self.reason = None  # of the last answer
        if role:
            self.link.send("GREET", version=VERSION, role=WIRE[role], name=name, boot=7,
                           connection=connection)
            self.welcome = self.link.take()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.link.close()

    def raw(self, data):
        try:
            self.link.socket.sendall(data)
        except OSError:
            pass
        return self

    def says(self, kind, **values):
        return self.raw(encode(kind, **values))

    def answer(self, *kinds, seconds=120):
        """The next message of these kinds, or of any; "closed" or "nothing" if none comes."""
        self.link.socket.settimeout(seconds)
        try:
            while True:
                kind, fields = self.link.take()
                if not kinds or kind in kinds:
                    break
        except (EOFError, ConnectionError):
            return "closed"
        except TimeoutError:
            return "nothing"
        self.reason = fields.get("reason", b"").decode()
        return f"refuse {CODES[fields['code']]}" if kind == "REFUSE" else (kind, fields)

    def turned_away(self):
        """Why, if that was the last it was told."""
        told = self.answer()
        return told if self.answer() == "closed" else f"{told}, and stays open"

    def ends_here(self):
        self.link.socket.shutdown(socket.SHUT_WR)
        return self


def job_of(low, tasks=None, **rest):
    """Values of a SUBMIT: one task that runs `true`, unless others are given."""
    rest = {"bodies": [RUN], "commands": ["true"], **rest}
    return {"high": 1, "low": low, "tasks": tasks or [{"name": "a", "body": 1, "cores": 1}], **rest}
