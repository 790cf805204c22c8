# SPDX-License-Identifier: MIT
"""Shared by the tests of pairing_server: its protocol, its statistics, and the command line."""

import argparse
import hashlib
import resource
import signal
import socket
import struct
import sys
import unittest

import programs
from programs import TIMEOUT, until

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


class Client(programs.Client):
    def reply(self):
        """Returns the status and the body of the reply. No bytes may follow it."""
        version, status, zero, also_zero, size = HEADER.unpack(self.receive(HEADER.size))
        assert (version, zero, also_zero) == (1, 0, 0)
        body = self.receive(size)
        assert self.has_ended(), "bytes after the reply"
        self.close()
        return status, body

    def status(self):
        """Returns the status of a reply whose body is a text."""
        status, text = self.reply()
        assert text and text.decode("ascii").isprintable(), f"status {status}: {text}"
        return status


class Server(programs.Server):
    """Its final statistics must account for every connection."""

    def __init__(self, *options, **limits):
        super().__init__(chosen.server, "--threads", chosen.threads, *options, **limits)
        self.admin = self.place("administration") if "--admin-port=0" in options else None

    def report(self):
        last = self._counts()
        assert (last["active"], last["waiting"], last["rooms"]) == (0, 0, 0), last
        if "connected" not in last: # otherwise partners may be clients of other servers
            assert (last["exchanged"] + last["undelivered"]) % 2 == 0, f"odd number of partners: {last}"
        return last

    def _counts(self):
        """Reads a line of statistics, which counts every connection exactly once."""
        line = self.line()
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
        now = {}

        def holds():
            now.update(self.statistics())
            return all(value(now[name]) if callable(value) else now[name] == value for name, value in expected.items())
        until(holds, lambda: f"expected {expected}, the statistics are {now}")
        return now

    def get(self, path, head="Host: localhost\r\n"):
        """Returns the status and the body of an administrator's page."""
        with socket.create_connection(self.admin, TIMEOUT) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\n{head}\r\n".encode())
            reply = b"".join(iter(lambda: connection.recv(65536), b""))
        return int(reply.split()[1]), reply.partition(b"\r\n\r\n")[2].decode("ascii")

    def until_page(self, path, status, text=""):
        """Waits until a page has the status, and the text in its body."""
        until(lambda: (now := self.get(path))[0] == status and text in now[1],
              lambda: f"expected {status} {text!r}, but {path} is {self.get(path)}")

    def memory(self):
        """Returns the resident memory in MB."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as pages:
            return int(pages.read().split()[1]) * resource.getpagesize() / 1e6


def main(case, description):
    """Runs the tests of `case` that the command line names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("server", help="the binary of pairing_server")
    parser.add_argument("--client", help="the binary of pairing_client")
    parser.add_argument("--clients", type=int, default=10000, help="how many clients wait at the same time")
    parser.add_argument("--sanitizer", action="store_true", help="the memory is not measured, and nothing preloaded")
    parser.add_argument("--threads", type=int, default=1, help="the server's number of threads")
    parser.add_argument("--preload", help="the library failing_accept")
    parser.add_argument("--list", action="store_true", help="print the names of the tests")
    parser.add_argument("tests", nargs="*", help="names of tests (default: all)")
    parser.parse_intermixed_args(namespace=chosen)
    if chosen.list:
        print(*(name.removeprefix("test_") for name in unittest.defaultTestLoader.getTestCaseNames(case)), sep="\n")
        return
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    names = [f"{case.__name__}.test_{name}" for name in chosen.tests] or None
    unittest.main(argv=sys.argv[:1] + (["-v"] if not names else []), defaultTest=names)
