"""wire - every message of src/net/wire/table.h in Python, read from the rows of that file.

    link = Link(socket)
    link.send("RUN", task=(1, 2), attempt=1, argv=["true"])
    kind, fields = link.take()

A message is a name and a dict; fields that are left out are 0, "" or []. Tasks are (job, task),
objects (high, low), contents (letter, hash) or None; texts are bytes once decoded and may be given
as str, rows are dicts. The constants of the enums are in WIRE: WIRE["RUN_EXCLUSIVE"]. VERSION is
that of the protocol.
"""
import os
import re
import socket
import struct

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/net/wire")
TABLES = ("fields.h", "table.h", "table_data.h", "table_handler.h")
NUMBERS = {"u32": "<I", "u64": "<Q", "i32": "<i", "time": "<q"}
PAIRS = {"task": "<II", "object": "<QQ"}
FRAME_MAX = 16 << 20


def _text():
    text = ""
    for name in TABLES:
        with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
            text += re.sub(r"//[^\n]*|/\*.*?\*/", "", file.read(), flags=re.S)
    return text.replace("\\\n", " ")


def _macro(text, name):
    return re.search(rf"^#define {name}\(\w\)(.*)$", text, re.M).group(1)


def _fields(text, name):
    return re.findall(r"F\((\w+), (\w+)\)", _macro(text, name))


def _constants(text):
    found = {}
    for body in re.findall(r"\benum \w+ \{(.*?)\}", text, re.S):
        value = -1
        for name, given in re.findall(r"\bWIRE_(\w+)\b\s*(?:=\s*(\d+))?", body):
            value = int(given) if given else value + 1
            found[name] = value
    return found


def _version():
    with open(os.path.join(FOLDER, "wire.h"), encoding="utf-8") as file:
        return int(re.search(r"WIRE_VERSION = (\d+)", file.read()).group(1))


VERSION = _version()
_TEXT = _text()
WIRE = _constants(_TEXT)
ROWS = {name + "s": _fields(_TEXT, f"WIRE_{upper}_ROW")
        for upper, name in re.findall(r"R\((\w+), (\w+)\)", _macro(_TEXT, "WIRE_ROWS"))}
KINDS = [upper for upper, _ in re.findall(r"M\((\w+), (\w+)\)", _macro(_TEXT, "WIRE_MESSAGES"))]
MESSAGES = {upper: _fields(_TEXT, f"WIRE_{upper}") for upper in KINDS}


class Bad(Exception):
    """These bytes are no message."""


# ---- To bytes ----------------------------------------------------------------------------------

def _put_text(value):
    raw = value.encode() if isinstance(value, str) else bytes(value)
    return struct.pack("<I", len(raw)) + raw + b"\0"


def _put(kind, value):
    if kind in NUMBERS:
        return struct.pack(NUMBERS[kind], value or 0)
    if kind in PAIRS:
        return struct.pack(PAIRS[kind], *(value or (0, 0)))
    if kind == "text":
        return _put_text(value or "")
    if kind == "content":
        return value[0].encode() + value[1] if value else b"\0"
    items = value or []
    head = struct.pack("<I", len(items))
    if kind == "texts":
        return head + b"".join(map(_put_text, items))
    return head + b"".join(_put_fields(ROWS[kind], item) for item in items)


def _put_fields(fields, values):
    unknown = set(values) - {name for _, name in fields}
    if unknown:
        raise KeyError(f"no such fields: {unknown}")
    return b"".join(_put(kind, values.get(name)) for kind, name in fields)


def encode(kind, **values):
    """The whole frame of a message."""
    body = bytes([KINDS.index(kind) + 1]) + _put_fields(MESSAGES[kind], values)
    return struct.pack("<I", len(body)) + body


# ---- From bytes ----------------------------------------------------------------------------------

class _Reader:
    def __init__(self, raw):
        self.raw, self.at = raw, 0

    def bytes(self, count):
        if count > len(self.raw) - self.at:
            raise Bad("too short")
        self.at += count
        return self.raw[self.at - count:self.at]

    def unpack(self, form):
        return struct.unpack(form, self.bytes(struct.calcsize(form)))

    def text(self):
        raw = self.bytes(self.unpack("<I")[0] + 1)
        if raw[-1]:
            raise Bad("a text without its end")
        return raw[:-1]

    def field(self, kind):
        if kind in NUMBERS:
            return self.unpack(NUMBERS[kind])[0]
        if kind in PAIRS:
            return self.unpack(PAIRS[kind])
        if kind == "text":
            return self.text()
        if kind == "content":
            letter = self.bytes(1).decode()
            return (letter, self.bytes(32)) if letter != "\0" else None
        count = self.unpack("<I")[0]
        if count > len(self.raw):
            raise Bad("a list that is too long")
        if kind == "texts":
            return [self.text() for _ in range(count)]
        return [self.fields(ROWS[kind]) for _ in range(count)]

    def fields(self, fields):
        return {name: self.field(kind) for kind, name in fields}


def decode(body):
    """The name and the fields of a frame without its length."""
    if not body or not 0 < body[0] <= len(KINDS):
        raise Bad("a message of no kind")
    kind = KINDS[body[0] - 1]
    reader = _Reader(body[1:])
    fields = reader.fields(MESSAGES[kind])
    if reader.at != len(reader.raw):
        raise Bad(f"more than {kind}")
    return kind, fields


class Link:
    """Messages over a socket."""

    def __init__(self, peer, timeout=120):
        self.socket, self.buffer = peer, b""
        peer.settimeout(timeout)

    @classmethod
    def connect(cls, path, timeout=120):
        peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer.connect(path)
        return cls(peer, timeout)

    def send(self, kind, **values):
        self.socket.sendall(encode(kind, **values))

    def _whole(self):
        if len(self.buffer) < 4:
            return None
        length = struct.unpack("<I", self.buffer[:4])[0]
        if not 0 < length <= FRAME_MAX:
            raise Bad(f"a frame of {length} bytes")
        return length + 4 if len(self.buffer) >= length + 4 else None

    def take(self):
        """The next message; EOFError: the other side is gone; TimeoutError: none came."""
        while (length := self._whole()) is None:
            more = self.socket.recv(1 << 16)
            if not more:
                raise EOFError
            self.buffer += more
        body, self.buffer = self.buffer[4:length], self.buffer[length:]
        return decode(body)

    def close(self):
        self.socket.close()
