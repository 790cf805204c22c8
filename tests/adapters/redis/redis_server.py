# SPDX-License-Identifier: MIT
"""A redis-server of a test's own, and connections to it."""

import contextlib
import os
import socket
import subprocess
import time

TIMEOUT = 60


def until(holds, what, limit=TIMEOUT):
    """Waits until another process has made it true. @returns that. Otherwise `what`, or its result, says what is wrong."""
    end = time.monotonic() + limit
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < end, what() if callable(what) else f"it did not happen: {what}"
        time.sleep(0.005)


def end_process(process):
    """Kills a process, even a stopped one."""
    if process.poll() is None:
        process.kill()
    process.wait(TIMEOUT)


class Connection:
    """A connection to a server on a Unix socket."""

    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT)
        try:
            self.socket.connect(path)
        except OSError:
            self.socket.close()
            raise
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, *words):
        encoded = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        self.socket.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))

    def reply(self):
        line = self.file.readline()
        if not line:
            raise OSError("redis-server closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"-":
            raise ValueError(rest.decode())
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2]
        return [self.reply() for _ in range(int(rest))]

    def command(self, *words):
        """Executes a command. Returns its reply; an error as an exception."""
        self.send(*words)
        return self.reply()


class Redis:
    """A redis-server in a directory of its own, on a Unix socket, and on a port if it must have replicas."""

    def __init__(self, directory, name="redis", options=(), has_port=False, environment=None):
        self.directory = os.path.join(directory, name)
        os.mkdir(self.directory)
        self.path = os.path.join(self.directory, "socket")
        self.options = options
        self.has_port = has_port
        self.port = 0
        self.environment = environment
        self.process = None
        self.start()

    def start(self):
        until(self._try_start, "redis-server starts")

    def _try_start(self):
        if self.has_port and not self.port:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.port = free.getsockname()[1]
        with open(os.path.join(self.directory, "log"), "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                ["redis-server", "--unixsocket", self.path, "--dir", self.directory, "--save", "",
                 "--bind", "127.0.0.1", "--port", str(self.port), "--repl-diskless-sync-delay", "0",
                 "--repl-ping-replica-period", "1", *self.options],
                stdout=log, stderr=log, env={**os.environ, **(self.environment or {})})
        while self.process.poll() is None:
            with contextlib.suppress(OSError, ValueError):  # ValueError: it loads its data
                if self.command("PING") == b"PONG":
                    return True
            time.sleep(0.005)
        self.port = 0  # another program took it
        return False

    def url(self):
        return "unix://" + self.path

    def command(self, *words):
        """Executes a command. Returns its reply; an error as an exception."""
        with Connection(self.path) as connection:
            return connection.command(*words)

    def info(self, name):
        lines = self.command("INFO", "all").decode().split("\r\n")
        return dict(line.split(":", 1) for line in lines if ":" in line)[name]

    def waiting(self, room, kind="exchange"):
        """The number of parties of this kind that wait in Redis."""
        letter = {"exchange": "x", "red": "c", "blue": "c", "send": "s", "receive": "s"}[kind]
        side = 2 if kind in ("blue", "receive") else 1
        queue = self.command("HGET", f"tryst:2:{letter}:{{{room}}}", side)
        return int.from_bytes(queue[:6], "little") if queue else 0

    def kill(self):
        end_process(self.process)

    def replicate(self, master):
        """Becomes a replica, and waits until it has all that the master has now."""
        self.command("REPLICAOF", "127.0.0.1", master.port)
        until(lambda: self.info("master_link_status") == "up", "replication begins")
