# SPDX-License-Identifier: MIT
"""Shared by the tests of the examples: programs that serve clients, clients that share no code with them, and Redis.

No test sleeps to order events: it polls what the program shows. Every operation has a timeout.
"""

import os
import queue
import resource
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from signal import SIGTERM

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "adapters/redis"))
from redis_server import Redis, until  # noqa: E402, F401: for the tests

TIMEOUT = 30
NO_IO_URING = 77


def run(*command, **more):
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": TIMEOUT, "check": False, **more}
    return subprocess.run([*map(str, command)], **more)


def main_with_io_uring(errors):
    """Runs the tests. Exits with 77, skipped, if these error messages of the program say that io_uring is missing or
    forbidden; with 1 if then the environment contains TRYST_NO_SKIP."""
    if "io_uring_setup" in errors:
        print(errors)
        sys.exit(1 if "TRYST_NO_SKIP" in os.environ else NO_IO_URING)
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])


class Client:
    """One connection; `reset` closes it abruptly."""

    def __init__(self, server, data=b"", receive_buffer=None):
        self.socket = socket.socket(socket.AF_INET6 if ":" in server.host else socket.AF_INET)
        self.socket.settimeout(TIMEOUT)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.clients.append(self)
        self.socket.connect((server.host, server.port))
        self.send(data)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, data):
        self.socket.sendall(data)

    def receive(self, size):
        data = bytearray()
        while len(data) < size:
            more = self.socket.recv(size - len(data))
            if not more:
                raise EOFError(f"end after {len(data)} of {size} bytes")
            data += more
        return bytes(data)

    def has_ended(self):
        return self.socket.recv(1) == b""

    def is_readable(self, patience):
        return bool(select.select([self.socket], [], [], patience)[0])

    def close(self):
        self.socket.close()

    def hang_up_half(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Server:
    """A server on its own port. The end of `with` closes its clients, and stops it if it runs."""

    def __init__(self, *command, files=None, memory=None, environment=None):
        def prepare():
            for which, limit in ((resource.RLIMIT_NOFILE, files), (resource.RLIMIT_DATA, memory)):
                if limit:
                    resource.setrlimit(which, (limit, limit))

        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, stderr=self.errors, text=True,
                                        preexec_fn=prepare, env={**os.environ, **(environment or {})})
        self.clients = []
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.host, self.port = self.place("listening")

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put("nothing")

    def line(self):
        return self.lines.get(timeout=TIMEOUT)

    def place(self, what):
        """Reads `listening on 127.0.0.1 port 80`, and returns the address and the port."""
        words = self.line().split()
        assert words[0] == what, (words, self.error_output())
        return words[2], int(words[-1])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for client in self.clients:
            client.close()
        try:
            if kind is None and self.process.poll() is None:
                self.until_idle()
                self.stop()
        finally:
            self.process.kill()
            self.process.wait(TIMEOUT)
            self.process.stdout.close()
            print(self.error_output(), end="", file=sys.stderr)
            self.errors.close()

    def error_output(self):
        self.errors.seek(0)
        return self.errors.read()

    def until_idle(self):
        """Waits until no client is left, if the server shows it."""

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self, number=SIGTERM):
        """Sends a signal. Returns what the server reports at its end."""
        self.signal(number)
        return self.ended()

    def ended(self):
        status = self.process.wait(TIMEOUT)
        assert status == 0, f"exit status {status}: {self.error_output()}"
        return self.report()
