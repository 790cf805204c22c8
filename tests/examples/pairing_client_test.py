#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of pairing_client, with a real server.

usage: pairing_client_test.py --server BINARY --client BINARY [TEST...]
"""

import os
import stat
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True # in the source tree

from pairing_support import (
    EXCHANGED, SIDE_NEEDED, TIMED_OUT, TIMEOUT, TOO_LARGE, Client, Server, chosen, item, main, request)


class PairingClient(unittest.TestCase):
    def client(self, server, *arguments, **options):
        return subprocess.Popen([chosen.client, "--port", str(server.port), *arguments],
                                stderr=subprocess.DEVNULL, **options)

    def test_two_terminals_swap_two_files(self):
        with Server("--max-message=5000000") as server, tempfile.TemporaryDirectory() as folder:
            def path(name):
                return os.path.join(folder, name)

            def contents(name):
                with open(path(name), "rb") as file:
                    return file.read()

            for name, size in (("mine", 4000000), ("theirs", 300)):
                with open(path(name), "wb") as file:
                    file.write(item(name, size))
            with open(path("mine"), "rb") as mine, open(path("got"), "wb") as got:
                one = self.client(server, "room", stdin=mine, stdout=got)
                other = self.client(server, "room", "--send", path("theirs"),
                                    "--receive", path("came"))
                self.assertEqual((one.wait(TIMEOUT), other.wait(TIMEOUT)), (0, 0))
            self.assertEqual(contents("got"), contents("theirs"))
            self.assertEqual(contents("came"), contents("mine"))
            self.assertEqual(sorted(os.listdir(folder)), ["came", "got", "mine", "theirs"])

    def test_a_client_asks_and_another_answers(self):
        with Server("--red-blue") as server:
            def run(*arguments):
                return self.client(server, "room", *arguments, stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE)

            asking, waiting = run("--ask"), run("--ask")
            with asking, waiting:
                asking.stdin.write(b"question")
                asking.stdin.close()
                server.until(waiting=1)
                waiting.stdin.close()
                server.until(waiting=2)
                with run("--answer") as answering:
                    self.assertEqual(answering.communicate(b"answer", TIMEOUT)[0], b"question")
                self.assertEqual(asking.stdout.read(), b"answer")
                self.assertEqual(asking.wait(TIMEOUT), 0)
                with run("--answer") as answering:
                    self.assertEqual(answering.communicate(b"late", TIMEOUT)[0], b"")
                self.assertEqual(waiting.stdout.read(), b"late")
            with run() as neither:
                neither.communicate(b"", TIMEOUT)
            self.assertEqual(neither.returncode, 10 + SIDE_NEEDED)
            with run("--ask", "--answer") as both:
                both.communicate(b"", TIMEOUT)
            self.assertEqual(both.returncode, 2)

    def test_the_client_says_why_and_leaves_no_file(self):
        with Server("--wait-time=0.2", "--max-message=10") as server, \
                tempfile.TemporaryDirectory() as folder:
            large, small, got = (os.path.join(folder, name) for name in ("large", "small", "got"))
            for name, size in ((large, 1000000), (small, 5)):
                with open(name, "wb") as file:
                    file.write(bytes(size))

            def status(*arguments):
                return self.client(server, *arguments, "--receive", got).wait(TIMEOUT)

            self.assertEqual(status("room", "--send", small), 10 + TIMED_OUT)
            self.assertEqual(status("room", "--send", large), 10 + TOO_LARGE)
            self.assertEqual(status("x" * 100, "--send", small), 10 + TOO_LARGE)
            self.assertEqual(status("room", "--send", got), 1) # no such file
            self.assertEqual(self.client(server, "room", "--host", "nowhere.invalid", "--send",
                                         small).wait(TIMEOUT), 3)
            self.assertEqual(status("", "--send", small), 2)
            self.assertEqual(status("--nonsense"), 2)
            server.stop()
            self.assertEqual(status("room", "--send", small), 3) # nobody listens
            self.assertEqual(sorted(os.listdir(folder)), ["large", "small"])

    def test_a_client_that_cannot_keep_what_comes_gives_nothing_away(self):
        with Server() as server, tempfile.TemporaryDirectory() as folder, \
                Client(server, request(b"room", b"one")) as one:
            server.until(waiting=1)
            for bad in (os.path.join(folder, "missing", "file"), folder):
                self.assertEqual(self.client(server, "room", "--receive", bad,
                                             stdin=subprocess.DEVNULL).wait(TIMEOUT), 1)
            server.until(waiting=1, accepted=1)
            with Client(server, request(b"room", b"other")) as other:
                self.assertEqual(other.reply(), (EXCHANGED, b"one"))
            self.assertEqual(one.reply(), (EXCHANGED, b"other"))
            self.assertEqual(os.listdir(folder), [])

    def test_a_client_writes_into_what_is_no_file_and_does_not_replace_it(self):
        with Server() as server, tempfile.TemporaryDirectory() as folder, \
                Client(server, request(b"room", b"one")):
            server.until(waiting=1)
            pipe = os.path.join(folder, "pipe")
            os.mkfifo(pipe)
            reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
            self.assertEqual(self.client(server, "room", "--receive", pipe,
                                         stdin=subprocess.DEVNULL).wait(TIMEOUT), 0)
            self.assertEqual(os.read(reader, 100), b"one")
            os.close(reader)
            self.assertEqual(os.listdir(folder), ["pipe"])
            self.assertTrue(stat.S_ISFIFO(os.stat(pipe).st_mode))


if __name__ == "__main__":
    main(PairingClient, __doc__.splitlines()[0])
