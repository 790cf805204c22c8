# SPDX-License-Identifier: MIT
"""Shared by the tests of pairing_server and pairing_client: a client, a server to start, and the
command line.

No test sleeps to order events: it polls the server's statistics until they show the expected event.
Every operation has a timeout, and every test starts its own server.
"""

import argparse
import contextlib
import hashlib
import os
import queue
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TIMEOUT = 30
HEADER = struct.Struct(">BBBBI")
(EXCHANGED, TIMED_OUT, CLOSED, BAD_FRAME, TOO_LARGE, SLOW, BUSY, FORBIDDEN, FAILED,
 STATISTICS, SIDE_NEEDED, NO_SIDES, DISCONNECTED, NOTIFIED, UNAVAILABLE, IN_DOUBT) = range(16)
GAUGES = ("accepted", "refused", "active", "waiting", "asking", "rooms", "pauses", "connected")

chosen = argparse.Namespace()


# ---- The client


def request(room, body=b"", kind=1):
    return HEADER.pack(1, kind, len(room), 0, len(body)) + room + body


def ask(room, body=b""):
    return request(room, body, 3)


def answer(room, body=b""):
    return request(room, body, 4)


def notice(text):
    """Ends the waits of all clients."""
    return HEADER.pack(1, 5, 0, 0, len(text)) + text


def close_room(room):
    return HEADER.pack(1, 7, len(room), 0, 0) + room


STATISTICS_REQUEST = HEADER.pack(1, 2, 0, 0, 0)
HEALTH_REQUEST = HEADER.pack(1, 6, 0, 0, 0)


def item(name, size=100):
    """A unique message of any size."""
    seed = hashlib.sha256(str(name).encode()).digest()
    return (seed * (size // len(seed) + 1))[:size]


class Client:
    """One connection. `with` closes it at the end; `reset` closes it abruptly."""

    def __init__(self, server, data=b"", receive_buffer=None, source=None):
        self.socket = socket.socket(socket.AF_INET6 if ":" in server.host else socket.AF_INET)
        self.socket.settimeout(TIMEOUT)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if source:
            self.socket.bind((source, 0))
        try:
            self.socket.connect((server.host, server.port))
            self.send(data)
        except OSError:
            self.close()
            raise

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

    def reply(self):
        """Returns the status and the body of the reply. No bytes may follow it."""
        version, status, zero, also_zero, size = HEADER.unpack(self.receive(HEADER.size))
        assert (version, zero, also_zero) == (1, 0, 0)
        body = self.receive(size)
        assert self.socket.recv(1) == b"", "bytes after the reply"
        self.close()
        return status, body

    def status(self):
        """Returns the status of a reply whose body is a text."""
        status, text = self.reply()
        assert text.decode("ascii"), "the reply has no text"
        return status

    def is_readable(self, patience):
        return bool(select.select([self.socket], [], [], patience)[0])

    def close(self):
        self.socket.close()

    def hang_up_half(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


# ---- The server


class Server:
    """A server on its own port. The end of `with` stops it and checks its final statistics."""

    def __init__(self, *options, files=None, memory=None, ignored=None, errors=None,
                 environment=None):
        def prepare():
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
            if memory:
                resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
            if ignored:
                signal.signal(ignored, signal.SIG_IGN)

        self.errors = errors or tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [chosen.server, "--threads", str(chosen.threads), *options],
            stdout=subprocess.PIPE, stderr=self.errors, text=True, preexec_fn=prepare,
            env={**os.environ, **(environment or {})})
        self.lines = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        words = self.line().split()
        assert words[:2] == ["listening", "on"], words
        self.host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(words[2], words[2])
        self.port = int(words[-1])
        self.admin = None
        if any(option.startswith("--admin-port") for option in options):
            words = self.line().split()
            assert words[:2] == ["administration", "on"], words
            self.admin = (words[2], int(words[-1]))

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))

    def line(self):
        return self.lines.get(timeout=TIMEOUT)

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.kill()
            self.process.wait(TIMEOUT)
            print(self.error_output(), file=sys.stderr)
        elif self.process.poll() is None:
            try:
                self.stop()
            finally:
                self.process.kill()
        self.process.stdout.close()
        self.errors.close()

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Sends SIGTERM. Returns the final statistics, which must account for every connection."""
        self.signal(signal.SIGTERM)
        return self.ended()

    def ended(self):
        status = self.process.wait(TIMEOUT)
        self.reader.join(TIMEOUT)
        assert status == 0, f"exit status {status}: {self.error_output()}"
        last = checked(self.line())
        assert (last["active"], last["waiting"], last["rooms"]) == (0, 0, 0), last
        if "connected" not in last: # otherwise partners may be clients of other servers
            partners = last["exchanged"] + last["undelivered"]
            assert partners % 2 == 0, f"odd number of partners: {last}"
        return last

    def error_output(self):
        if not self.errors.seekable():
            return ""
        self.errors.seek(0)
        return self.errors.read()

    def statistics(self):
        """Asks by signal, because a connection would be counted as well."""
        self.signal(signal.SIGUSR1)
        return checked(self.line())

    def until(self, **expected):
        """Waits until each of the named statistics equals the value or satisfies the predicate."""
        end = time.monotonic() + TIMEOUT
        while True:
            now = self.statistics()
            if all(value(now[name]) if callable(value) else now[name] == value
                   for name, value in expected.items()):
                return now
            assert time.monotonic() < end, f"expected {expected}, the statistics are {now}"

    def admin_send(self, data):
        """Sends bytes to the administrator's port. Returns all that comes back."""
        with socket.create_connection(self.admin, TIMEOUT) as connection:
            connection.sendall(data)
            received = bytearray()
            while more := connection.recv(65536):
                received += more
        return bytes(received)

    def get(self, path):
        """Returns the status and the body of an administrator's page."""
        head, _, body = self.admin_send(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()).partition(b"\r\n\r\n")
        return int(head.split()[1]), body.decode("ascii")

    def metrics(self):
        """Returns the samples of /metrics by name, with the labels as in the text."""
        # The server may not have noticed yet that earlier connections were closed.
        text = self.until_page("/metrics", 200)
        samples = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                assert name not in samples, name
                samples[name] = float(value)
        return samples

    def until_page(self, path, status, text=""):
        """Waits until a page has the status, and the text in its body."""
        end = time.monotonic() + TIMEOUT
        while True:
            now = self.get(path)
            if now[0] == status and text in now[1]:
                return now[1]
            assert time.monotonic() < end, f"expected {status} {text!r}, but {path} is {now}"

    def memory(self):
        """Returns the resident memory in MB."""
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            line = next(line for line in status if line.startswith("VmRSS:"))
        return int(line.split()[1]) * 1024 / 1e6


class Redis:
    """A redis-server on a Unix socket in a temporary directory."""

    def __init__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="pairing-")
        self.path = os.path.join(self.directory.name, "redis.sock")
        self.process = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()
        self.directory.cleanup()

    def url(self, more=""):
        return f"unix://{self.path}?lease=1s&backoff_max=100ms{more}"

    def start(self):
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "",
             "--dir", self.directory.name], stdout=subprocess.DEVNULL)
        end = time.monotonic() + TIMEOUT
        while True:
            with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
                probe.connect(self.path)
                return
            assert self.process.poll() is None and time.monotonic() < end, "no redis-server"
            time.sleep(0.01)

    def command(self, *words):
        subprocess.run(["redis-cli", "-s", self.path, *words], stdout=subprocess.DEVNULL, timeout=TIMEOUT, check=True)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait(TIMEOUT)
            self.process = None


def checked(line):
    """Parses a line of statistics and checks that it counts every connection exactly once."""
    counts = {name: int(value) for name, value in (word.split("=") for word in line.split())}
    outcomes = sum(value for name, value in counts.items() if name not in GAUGES)
    assert counts["accepted"] == counts["refused"] + counts["active"] + outcomes, line
    return counts


# ---- The command line


def main(case, description):
    """Runs the tests of `case` that the command line names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--server", required=True, help="the binary of pairing_server")
    parser.add_argument("--client", help="the binary of pairing_client")
    parser.add_argument("--version", help="the version of tryst that the programs should print")
    parser.add_argument("--clients", type=int, default=8000,
                        help="the number of clients that wait at the same time")
    parser.add_argument("--memory", type=float, default=100,
                        help="MB that the server may use meanwhile; 0: no limit (for sanitizers)")
    parser.add_argument("--threads", type=int, default=1, help="the server's number of threads")
    parser.add_argument("--preload", help="the library failing_accept")
    parser.add_argument("--list", action="store_true", help="print the names of the tests")
    parser.add_argument("tests", nargs="*", help="names of tests (default: all)")
    parser.parse_args(namespace=chosen)
    if chosen.list:
        print(*(name.removeprefix("test_")
                for name in unittest.defaultTestLoader.getTestCaseNames(case)), sep="\n")
        return
    names = [f"{case.__name__}.test_{name}" for name in chosen.tests] or None
    unittest.main(argv=sys.argv[:1] + (["-v"] if not names else []), defaultTest=names)
