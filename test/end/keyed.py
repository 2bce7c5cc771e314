"""keyed - sends any bytes to a server at its TCP port, with a key, and reads the answers."""
import ctypes
import ctypes.util
import socket
import struct

from hostile import Stranger
from wire import VERSION, WIRE, Link

SSL = ctypes.CDLL(ctypes.util.find_library("ssl"))
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p,
                            ctypes.c_uint, ctypes.c_void_p, ctypes.c_uint)
for name in ("TLS_client_method", "SSL_CTX_new", "SSL_new"):
    getattr(SSL, name).restype = ctypes.c_void_p
for name in ("SSL_CTX_new", "SSL_new", "SSL_free", "SSL_connect"):
    getattr(SSL, name).argtypes = [ctypes.c_void_p]
SSL.SSL_CTX_set_ciphersuites.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
SSL.SSL_CTX_set_psk_client_callback.argtypes = [ctypes.c_void_p, CALLBACK]
SSL.SSL_set_fd.argtypes = [ctypes.c_void_p, ctypes.c_int]
SSL.SSL_write.argtypes = SSL.SSL_read.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int]


class Key:
    """The first key of a file."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            role, number, secret = file.read().split()[1:4]
        identity, secret = f"{role}:{number}".encode(), bytes.fromhex(secret)

        @CALLBACK
        def use(_ssl, _hint, out, _out_size, key, _key_size):
            ctypes.memmove(out, identity + b"\0", len(identity) + 1)
            ctypes.memmove(key, secret, len(secret))
            return len(secret)

        self.use = use  # must live as long as the context
        self.context = SSL.SSL_CTX_new(SSL.TLS_client_method())
        SSL.SSL_CTX_set_ciphersuites(self.context, b"TLS_AES_128_GCM_SHA256")
        SSL.SSL_CTX_set_psk_client_callback(self.context, use)


class Tunnel:
    """As much of a socket as wire.Link uses, over TLS with a key."""

    def __init__(self, address, key, timeout=120, room=None, before=None):
        host, port = address.rsplit(":", 1)
        self.socket = socket.socket()
        if room:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.connect((host, int(port)))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if before:
            before()  # nothing of the handshake has been said
        self.key = key
        self.ssl = SSL.SSL_new(key.context)
        self.socket.setblocking(True)
        self.settimeout(timeout)
        SSL.SSL_set_fd(self.ssl, self.socket.fileno())
        if SSL.SSL_connect(self.ssl) != 1:
            self.close()
            raise ConnectionError("no handshake")

    def settimeout(self, seconds):
        time = struct.pack("@ll", int(seconds), int(seconds % 1 * 1e6))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, time)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, time)

    def sendall(self, data):
        data = bytes(data)
        for at in range(0, len(data), 1 << 14):
            piece = data[at:at + (1 << 14)]
            if SSL.SSL_write(self.ssl, piece, len(piece)) != len(piece):
                raise ConnectionError("not sent")

    def recv(self, size):
        room = ctypes.create_string_buffer(min(size, 1 << 16))
        count = SSL.SSL_read(self.ssl, room, len(room))
        return room.raw[:count] if count > 0 else b""

    def shutdown(self, how):
        self.socket.shutdown(how)

    def close(self):
        if self.ssl:
            SSL.SSL_free(self.ssl)
            self.ssl = None
            self.socket.close()


class Keyed(Stranger):
    """A connection with a key on which anything may be said."""

    def __init__(self, address, key, role=None, name="stranger", connection=1, room=None):
        # pylint: disable=super-init-not-called
        self.link = Link(Tunnel(address, key, room=room))
        self.reason = None
        if role:
            self.link.send("GREET", version=VERSION, role=WIRE[role], name=name, boot=7,
                           connection=connection)
            self.welcome = self.link.take()
