#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests the remote examples as pairs of processes that meet in a redis-server of the test.

    remote_test.py PROGRAM [TEST...]

Also tests the user of docs/redis-reference.md: that its commands suffice, and that each is needed.
"""

import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from programs import TIMEOUT, Redis, run

PROGRAM = Path(sys.argv[1]).resolve()
NAME = PROGRAM.name
TOP = Path(__file__).resolve().parents[2]
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
        self.redis = Redis(self.enterContext(tempfile.TemporaryDirectory(prefix="tryst.")))
        self.addCleanup(self.redis.kill)

    def meet(self, url):
        both = [subprocess.Popen([PROGRAM, url, "lobby", *items], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                for items in ITEMS[NAME]]
        for process in both:
            self.addCleanup(process.wait)
            self.addCleanup(process.kill)
        for process, seen in zip(both, SEEN[NAME]):
            out, errors = process.communicate(timeout=TIMEOUT)
            self.assertEqual((process.returncode, out, errors), (0, seen, ""))

    def refuses(self, url, says, status, room="lobby"):
        done = run(PROGRAM, url, room, *ITEMS[NAME][0], text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (status, "", 1), done.stderr)
        self.assertIn(says, done.stderr)

    def test_two_processes_meet(self):
        self.meet(self.redis.url())

    def test_names_the_problem(self):
        missing = f"{self.redis.path}.missing"
        self.refuses(f"unix://{missing}", f'room "lobby": {missing}: cannot connect: No such file', 1)
        self.refuses("http://localhost", "the Redis URL's scheme is not redis://", 2)
        self.refuses("redis://localhost:port", "port", 2)
        self.refuses(self.redis.url(), "the name of a room has 0 bytes", 2, room="")
        usage = run(PROGRAM, text=True)
        self.assertEqual((usage.returncode, usage.stdout), (2, ""))
        self.assertIn("usage: ", usage.stderr)

    def test_the_user_of_the_page_suffices(self):
        name, *rules = acl_of_the_page()
        password = next(rule[1:] for rule in rules if rule.startswith(">"))
        self.redis.command("ACL", "SETUSER", name, *rules)
        self.meet(f"unix://{name}:{password}@{self.redis.path}?db=1")
        self.refuses(f"unix://{name}:wrong@{self.redis.path}", f"refused user {name}", 1)
        self.redis.command("ACL", "SETUSER", name, "-subscribe")
        self.refuses(f"unix://{name}:{password}@{self.redis.path}", "cannot subscribe", 1)

    def test_the_user_of_the_page_has_only_the_commands_in_use(self):
        script = (TOP / "src/redis/rendezvous.lua").read_text(encoding="utf-8")
        used = {word.lower() for word in re.findall(r"'([A-Z]{3,})'", script)} - {"keepttl"}
        listed = {rule[1:] for rule in acl_of_the_page() if rule.startswith("+")}
        self.assertEqual(listed, used | HANDSHAKE)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
