# SPDX-License-Identifier: MIT
"""Shared by the tests of pairing_server: a client that shares no code with it, servers to start, and the command line.

No test sleeps to order events: it polls the server's statistics. Every operation has a timeout.
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
EXCHANGED, TIMED_OUT, CLOSED, BAD_FRAME, TOO_LARGE, SLOW, BUSY = range(7)
FAILED, SIDE_NEEDED, NO_SIDES, DISCONNECTED, UNAVAILABLE, IN_DOUBT = 8, 10, 11, 12, 14, 15
chosen = argparse.Namespace()


def request(room, body=b"", kind=1):
    return HEADER.pack(1, kind, len(room), 0, len(body)) + room + body


def ask(room, body=b""):
    return request(room, body, 3)


def answer(room, body=b""):
    return request(room, body, 4)


def item(name, size=100):
    """A unique message of any size."""
    seed = hashlib.sha256(str(name).encode()).digest()
    return (seed * (size // len(seed) + 1))[:size]


class Client:
    """One connection, which the end of its server closes at the latest; `reset` closes it abruptly."""

    def __init__(self, server, data=b"", receive_buffer=None):
        self.socket = socket.socket(socket.AF_INET6 if ":" in server.host else socket.AF_INET)
        self.socket.settimeout(TIMEOUT)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        server.clients.append(self)
        self.socket.connect((server.host, server.port))
        self.send(data)

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
        assert text and text.decode("ascii").isprintable(), f"status {status}: {text}"
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


class Server:
    """A server on its own port. The end of `with` stops it and checks its final statistics."""

    def __init__(self, *options, files=None, memory=None, environment=None):
        def prepare():
            for which, limit in ((resource.RLIMIT_NOFILE, files), (resource.RLIMIT_DATA, memory)):
                if limit:
                    resource.setrlimit(which, (limit, limit))

        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([chosen.server, "--threads", str(chosen.threads), *options], stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, preexec_fn=prepare,
                                        env={**os.environ, **(environment or {})})
        self.clients = []
        self.lines = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.host, self.port = self._place("listening")
        self.admin = self._place("administration") if "--admin-port=0" in options else None

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def _place(self, what):
        words = self.lines.get(timeout=TIMEOUT).split()
        assert words[0] == what, words
        return words[2], int(words[-1])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for client in self.clients:
            client.close()
        try:
            if kind is None and self.process.poll() is None:
                self.stop()
        finally:
            self.process.kill()
            self.process.wait(TIMEOUT)
            self.process.stdout.close()
            self.errors.seek(0)
            print(self.errors.read(), end="", file=sys.stderr)
            self.errors.close()

    def signal(self, number):
        self.process.send_signal(number)

    def stop(self):
        """Sends SIGTERM. Returns the final statistics, which must account for every connection."""
        self.signal(signal.SIGTERM)
        return self.ended()

    def ended(self):
        status = self.process.wait(TIMEOUT)
        assert status == 0, f"exit status {status}"
        last = self._counts()
        assert (last["active"], last["waiting"], last["rooms"]) == (0, 0, 0), last
        if "connected" not in last: # otherwise partners may be clients of other servers
            assert (last["exchanged"] + last["undelivered"]) % 2 == 0, f"odd number of partners: {last}"
        return last

    def _counts(self):
        """Reads a line of statistics, which counts every connection exactly once."""
        line = self.lines.get(timeout=TIMEOUT)
        counts = {name: int(value) for name, value in (word.split("=") for word in line.split())}
        names = list(counts)
        assert counts["accepted"] == (counts["refused"] + counts["active"]
                                      + sum(counts[name] for name in names[names.index("exchanged"):])), line
        return counts

    def statistics(self):
        """Asks by signal, because a connection would be counted as well."""
        self.signal(signal.SIGUSR1)
        return self._counts()

    def until(self, **expected):
        """Waits until each of the named statistics equals the value or satisfies the predicate."""
        end = time.monotonic() + TIMEOUT
        while True:
            now = self.statistics()
            if all(value(now[name]) if callable(value) else now[name] == value for name, value in expected.items()):
                return now
            assert time.monotonic() < end, f"expected {expected}, the statistics are {now}"

    def get(self, path, head="Host: localhost\r\n"):
        """Returns the status and the body of an administrator's page."""
        with socket.create_connection(self.admin, TIMEOUT) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
            reply = b"".join(iter(lambda: connection.recv(65536), b""))
        return int(reply.split()[1]), reply.partition(b"\r\n\r\n")[2].decode("ascii")

    def until_page(self, path, status, text=""):
        """Waits until a page has the status, and the text in its body."""
        end = time.monotonic() + TIMEOUT
        while (now := self.get(path))[0] != status or text not in now[1]:
            assert time.monotonic() < end, f"expected {status} {text!r}, but {path} is {now}"

    def memory(self):
        """Returns the resident memory in MB."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as pages:
            return int(pages.read().split()[1]) * resource.getpagesize() / 1e6


class Redis:
    """A redis-server on a Unix socket in a temporary directory."""

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="pairing-")
        self.path = os.path.join(self.directory.name, "redis.sock")
        self.start()
        return self

    def __exit__(self, *_):
        self.kill()
        self.directory.cleanup()

    def url(self, more="lease=1s"):
        return f"unix://{self.path}?backoff_max=100ms&{more}"

    def start(self):
        self.process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", self.path, "--save", "",
                                         "--dir", self.directory.name], stdout=subprocess.DEVNULL)
        end = time.monotonic() + TIMEOUT
        while True:
            with socket.socket(socket.AF_UNIX) as probe, contextlib.suppress(OSError):
                probe.connect(self.path)
                return
            assert self.process.poll() is None and time.monotonic() < end, "no redis-server"
            time.sleep(0.01)

    def refuse_to_write(self, yes):
        subprocess.run(["redis-cli", "-s", self.path, "CONFIG", "SET", "min-replicas-to-write", str(int(yes))],
                       stdout=subprocess.DEVNULL, timeout=TIMEOUT, check=True)

    def kill(self):
        self.process.kill()
        self.process.wait(TIMEOUT)


def main(case, description):
    """Runs the tests of `case` that the command line names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--server", required=True, help="the binary of pairing_server")
    parser.add_argument("--client", help="the binary of pairing_client")
    parser.add_argument("--clients", type=int, default=10000, help="how many clients wait at the same time")
    parser.add_argument("--sanitizer", action="store_true", help="the memory is not measured, and nothing preloaded")
    parser.add_argument("--threads", type=int, default=1, help="the server's number of threads")
    parser.add_argument("--preload", help="the library failing_accept")
    parser.add_argument("--list", action="store_true", help="print the names of the tests")
    parser.add_argument("tests", nargs="*", help="names of tests (default: all)")
    parser.parse_args(namespace=chosen)
    if chosen.list:
        print(*(name.removeprefix("test_") for name in unittest.defaultTestLoader.getTestCaseNames(case)), sep="\n")
        return
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    names = [f"{case.__name__}.test_{name}" for name in chosen.tests] or None
    unittest.main(argv=sys.argv[:1] + (["-v"] if not names else []), defaultTest=names)
