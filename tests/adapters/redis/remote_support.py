# SPDX-License-Identifier: MIT
"""Shared by the fault tests: servers and processes of their own, and the check of what happened."""

import argparse
import contextlib
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from redis_server import TIMEOUT, Redis, end_process, until
from remote_history import History
from remote_proxy import Proxy

chosen = argparse.Namespace()


class Offer:
    """An operation of a process."""

    def __init__(self, node, name):
        self.node, self.name = node, name

    def end(self):
        """Waits for the end. Returns its record, without the time."""
        def find():
            for line in self.node.lines():
                words = line.split()
                if line.endswith("\n") and words[1] in ("got", "returned", "in_doubt") and words[2] == self.name:
                    return words[1:]
            return None
        return until(find, f"{self.name} ends")


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
        """Begins an operation. Patience is in milliseconds; -1: without limit."""
        self.offers += 1
        name = f"{self.name}-{self.offers}"
        self.process.stdin.write(f"offer {name} {kind} {room} {patience}\n")
        self.process.stdin.flush()
        return Offer(self, name)

    def has_worked(self):
        return self.operations == 0 or self.is_done.is_set() or self.process.poll() is not None

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

    def workers(self, url, count=3, operations=None):
        """Starts processes that offer items at random."""
        if operations is None:
            operations = chosen.operations // count
        for _ in range(count):
            self.node(url, seed=self.random.randrange(1 << 20), operations=operations)

    def all_worked(self):
        return all(node.has_worked() for node in self.nodes)

    def disturbed(self, longest_pause, disturb):
        """Disturbs the processes at random until they have worked. Returns the history, which is checked."""
        end = time.monotonic() + 10 * TIMEOUT
        while not self.all_worked():
            assert time.monotonic() < end, "the processes do not finish"
            self.pause(longest_pause)
            disturb()
        return self.check()

    def pause(self, longest):
        """Lets the processes work for a random time."""
        end = time.monotonic() + self.random.uniform(0, longest)
        while time.monotonic() < end and not self.all_worked():
            time.sleep(0.005)

    def until_it_waits(self, offer, server, kind="exchange", room="room"):
        """Waits until the only offer of its kind is in Redis. Returns it."""
        until(lambda: server.waiting(room, kind) == 1, f"{offer.name} waits")
        return offer

    def assert_got(self, offer, partner):
        self.assertEqual(offer.end()[:3], ["got", offer.name, partner.name])

    def assert_met(self, first, second):
        self.assert_got(second, first)
        self.assert_got(first, second)

    def assert_returned(self, offer, why):
        self.assertEqual(offer.end(), ["returned", offer.name, why])

    def assert_in_doubt(self, offer):
        self.assertEqual(offer.end()[0], "in_doubt")

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
