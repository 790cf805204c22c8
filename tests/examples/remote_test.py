#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the remote examples as pairs of processes that meet in a redis-server of the test.

usage: remote_test.py BINARY REDIS_SERVER [TEST...]

Also tests the user of docs/redis-reference.md: that its commands suffice, and that each is needed.
"""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
TIMEOUT = 60
ITEMS = {"remote_exchange": (["tea"], ["coffee"]), "remote_cbor": (["ann", "1830"], ["joe", "1790"]),
         "two_processes": ([], ["resize 17.png"])}
SEEN = {"remote_exchange": ("got coffee\n", "got tea\n"), "remote_cbor": ("plays joe, 1790\n", "plays ann, 1830\n"),
        "two_processes": ("got resize 17.png\n", "a worker has it\n")}
# The commands of the connection itself.
HANDSHAKE = {"hello", "ping", "select", "asking", "subscribe", "script|load", "evalsha", "eval"}


def acl_of_the_page():
    """The words after ACL SETUSER in docs/redis-reference.md."""
    text = (TOP / "docs/redis-reference.md").read_text(encoding="utf-8").replace("\\\n", " ")
    return re.search(r"^ACL SETUSER (.*)$", text, re.MULTILINE)[1].split()


class Remote(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tryst.")
        self.addCleanup(folder.cleanup)
        self.socket = f"{folder.name}/s"
        server = subprocess.Popen([REDIS_SERVER, "--port", "0", "--unixsocket", self.socket, "--save", "",
                                   "--appendonly", "no", "--dir", folder.name], stdout=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        limit = time.monotonic() + TIMEOUT
        while not self.accepts():
            self.assertIsNone(server.poll(), "redis-server has ended")
            self.assertLess(time.monotonic(), limit)
            time.sleep(0.01)

    def accepts(self):
        """Whether the server listens: its socket is there a moment earlier."""
        with socket.socket(socket.AF_UNIX) as link:
            return link.connect_ex(self.socket) == 0

    def start(self, url, items, room="lobby"):
        process = subprocess.Popen([PROGRAM, url, room, *items], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def meet(self, url):
        both = [self.start(url, items) for items in ITEMS[NAME]]
        for process, seen in zip(both, SEEN[NAME]):
            out, errors = process.communicate(timeout=TIMEOUT)
            self.assertEqual((process.returncode, out, errors), (0, seen, ""))

    def refuses(self, url, says, status, room="lobby"):
        process = self.start(url, ITEMS[NAME][0], room)
        out, errors = process.communicate(timeout=TIMEOUT)
        self.assertEqual((process.returncode, out, errors.count("\n")), (status, "", 1), errors)
        self.assertIn(says, errors)

    def redis(self, *words):
        """Sends a command as an array of bulk strings, and expects OK."""
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(TIMEOUT)
            link.connect(self.socket)
            encoded = [word.encode() for word in words]
            link.sendall(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in encoded))
            self.assertEqual(link.recv(4096), b"+OK\r\n", words)

    def test_two_processes_meet(self):
        self.meet(f"unix://{self.socket}")

    def test_names_the_problem(self):
        missing = f"{self.socket}.missing"
        self.refuses(f"unix://{missing}", f'room "lobby": {missing}: cannot connect: No such file', 1)
        self.refuses("http://localhost", "the Redis URL's scheme is not redis://", 2)
        self.refuses("redis://localhost:port", "port", 2)
        self.refuses(f"unix://{self.socket}", "the name of a room has 0 bytes", 2, room="")
        usage = subprocess.run([PROGRAM], capture_output=True, text=True, timeout=TIMEOUT, check=False)
        self.assertEqual((usage.returncode, usage.stdout), (2, ""))
        self.assertIn("usage: ", usage.stderr)

    def test_the_user_of_the_page_suffices(self):
        name, *rules = acl_of_the_page()
        password = next(rule[1:] for rule in rules if rule.startswith(">"))
        self.redis("ACL", "SETUSER", name, *rules)
        self.meet(f"unix://{name}:{password}@{self.socket}?db=1")
        self.refuses(f"unix://{name}:wrong@{self.socket}", f"refused user {name}", 1)
        self.redis("ACL", "SETUSER", name, "-subscribe")
        self.refuses(f"unix://{name}:{password}@{self.socket}", "cannot subscribe", 1)

    def test_the_user_of_the_page_has_only_the_commands_in_use(self):
        script = (TOP / "src/redis/rendezvous.lua").read_text(encoding="utf-8")
        used = {word.lower() for word in re.findall(r"'([A-Z]{3,})'", script)} - {"keepttl"}
        listed = {rule[1:] for rule in acl_of_the_page() if rule.startswith("+")}
        self.assertEqual(listed, used | HANDSHAKE)


if __name__ == "__main__":
    PROGRAM, REDIS_SERVER = (os.path.abspath(path) for path in sys.argv[1:3])
    NAME = os.path.basename(PROGRAM)
    unittest.main(argv=[*sys.argv[:1], *sys.argv[3:]])
