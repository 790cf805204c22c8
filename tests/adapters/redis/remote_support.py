# SPDX-License-Identifier: MIT
"""Shared by the fault tests: redis-servers and processes of their own, and the check of what happened."""

import argparse
import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from remote_history import History

TIMEOUT = 60

chosen = argparse.Namespace()


def until(holds, what, limit=TIMEOUT):
    """Waits until another process has made it true."""
    end = time.monotonic() + limit
    while True:
        found = holds()
        if found:
            return found
        assert time.monotonic() < end, f"it did not happen: {what}"
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

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        end_process(self.process)

    def replicate(self, master):
        """Becomes a replica, and waits until it has all that the master has now."""
        self.command("REPLICAOF", "127.0.0.1", master.port)
        until(lambda: self.info("master_link_status") == "up", "replication begins")


class Node:
    """A process that offers items, and its log."""

    def __init__(self, scene, url, lease=1000, item_format="1", seed=0, operations=0, workers=8):
        self.name = f"n{len(scene.nodes)}"
        self.log = os.path.join(scene.directory, self.name)
        self.killed = False
        self.operations = operations  # that it does at random
        self.offers = 0
        self.is_done = threading.Event()
        words = [chosen.node, f"{url}?timeout={scene.timeout}&backoff_max=100ms", self.log, self.name,
                 str(lease), item_format]
        if operations:
            words += [str(seed), str(operations), str(workers)]
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        if self.process.stdout.readline():
            self.is_done.set()

    def offer(self, kind="exchange", room="room", patience=-1):
        """Begins an operation and returns its name. Patience is in milliseconds; -1: without limit."""
        self.offers += 1
        name = f"{self.name}-{self.offers}"
        self.process.stdin.write(f"offer {name} {kind} {room} {patience}\n")
        self.process.stdin.flush()
        return name

    def end_of(self, name):
        """Waits for the end of an operation. Returns its record, without the time."""
        def find():
            for line in self.lines():
                words = line.split()
                if line.endswith("\n") and words[1] in ("got", "returned", "in_doubt") and \
                        words[2] == name:
                    return words[1:]
            return None
        return until(find, f"{name} ends")

    def has_worked(self):
        return self.operations == 0 or self.is_done.is_set() or self.process.poll() is not None

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.killed = True
        end_process(self.process)

    def finish(self):
        """Waits for the end of all operations."""
        if not self.killed:
            self.process.stdin.close()
            status = self.process.wait(2 * TIMEOUT)
            assert status == 0, f"{self.name} ended with status {status}"
        self.reader.join(TIMEOUT)

    def lines(self):
        if not os.path.exists(self.log):
            return []  # it has not yet begun
        with open(self.log, encoding="utf-8") as file:
            return file.readlines()


class Scene(unittest.TestCase):
    """A test with a directory, servers and processes, which end with it."""

    lease = 1000
    timeout = "1s"

    def setUp(self):
        self.random = random.Random(f"{chosen.seed} {self.id()}")
        directory = tempfile.TemporaryDirectory(prefix="tryst-redis-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.nodes = []

    def redis(self, **more):
        server = Redis(self.directory, **more)
        self.addCleanup(lambda: end_process(server.process))
        return server

    def proxy(self, server):
        from remote_proxy import Proxy
        proxy = Proxy(server.path + ".proxy", server.path)
        self.addCleanup(proxy.close)
        return proxy

    def node(self, url, **more):
        more.setdefault("lease", self.lease)
        node = Node(self, url, **more)
        self.nodes.append(node)

        def clean_up():
            end_process(node.process)
            node.reader.join(TIMEOUT)
            node.process.stdout.close()
            with contextlib.suppress(OSError):
                node.process.stdin.close()
        self.addCleanup(clean_up)
        return node

    def workers(self, url, count=3, operations=None, **more):
        """Starts processes that offer items at random."""
        if operations is None:
            operations = self.operations() // count
        return [self.node(url, seed=self.random.randrange(1 << 20), operations=operations, **more)
                for _ in range(count)]

    @staticmethod
    def operations():
        """How many operations of all processes make a scene."""
        return chosen.operations

    def all_worked(self):
        return all(node.has_worked() for node in self.nodes)

    def while_working(self, disturb):
        """Disturbs the processes at random until they have worked. Returns how often."""
        count = 0
        end = time.monotonic() + 10 * TIMEOUT
        while not self.all_worked():
            assert time.monotonic() < end, "the processes do not finish"
            disturb()
            count += 1
        return count

    def pause(self, longest):
        """Lets the processes work for a random time."""
        end = time.monotonic() + self.random.uniform(0, longest)
        while time.monotonic() < end and not self.all_worked():
            time.sleep(0.005)

    def check(self):
        """Ends the processes, and checks what happened. Returns the history."""
        until(self.all_worked, "the processes finish", 10 * TIMEOUT)
        history = History()
        for node in self.nodes:
            node.finish()
            history.read(node.lines(), node.killed)
        problems = history.check()
        print(f"{self.id().split('.')[-1]}: {history.summary()}", flush=True)
        if problems:
            for node in self.nodes:
                sys.stdout.writelines(f"{node.name}: {line}" for line in node.lines()[-20:])
        self.assertEqual(problems[:10], [], f"{len(problems)} problems; seed {chosen.seed}")
        return history


def main(case, description):
    """Runs the tests of `case` that the command line names."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--node", required=True, help="the program remote_node")
    parser.add_argument("--seed", type=int, default=1, help="the seed of the first round")
    parser.add_argument("--rounds", type=int, default=1, help="how often, each time with another seed")
    parser.add_argument("--operations", type=int, default=3000, help="operations of a scene at random")
    parser.add_argument("--clock", required=True, help="the library stepped_clock")
    parser.add_argument("--list", action="store_true", help="print the names of the tests")
    parser.add_argument("tests", nargs="*", help="names of tests (default: all)")
    parser.parse_args(namespace=chosen)
    loader = unittest.defaultTestLoader
    if chosen.list:
        print(*(name.removeprefix("test_") for name in loader.getTestCaseNames(case)), sep="\n")
        return
    names = [f"test_{name}" for name in chosen.tests] or loader.getTestCaseNames(case)
    for _ in range(chosen.rounds):
        print(f"seed {chosen.seed}", flush=True)
        result = unittest.TextTestRunner(verbosity=2).run(unittest.TestSuite(map(case, names)))
        if not result.wasSuccessful():
            sys.exit(1)
        chosen.seed += 1
