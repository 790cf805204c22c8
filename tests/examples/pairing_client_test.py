#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests pairing_client with a real server.

usage: pairing_client_test.py --server BINARY --client BINARY [TEST...]
"""

import contextlib
import os
import pty
import socket
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True # keeps the source tree clean

from pairing_support import (
    BUSY, EXCHANGED, HEADER, SIDE_NEEDED, TIMED_OUT, TIMEOUT, TOO_LARGE, Client, Server, chosen, item, main, request)

# Sets the title of a terminal, clears it, and makes it send a reply as if the user had typed it.
HOSTILE, SHOWN = b"\x1b]0;title\x07\x1b[2J\x9b6n\x7f\r\x08ok\n\t", b"?]0;title??[2J?6n???ok\n\t"


class PairingClient(unittest.TestCase):
    def run_client(self, port, *arguments, message=b"", **more):
        return subprocess.run([chosen.client, "--port", str(port), *arguments], input=message, capture_output=True,
                              timeout=TIMEOUT, check=False, **more)

    def listen(self, backlog=5):
        """A socket with which a test plays the server."""
        listener = self.enterContext(socket.create_server(("127.0.0.1", 0), backlog=backlog))
        listener.settimeout(TIMEOUT)
        return listener, listener.getsockname()[1]

    def test_two_clients_swap(self):
        mine, theirs = item("mine", 4_000_000), item("theirs", 300)
        for kinds in (((), ()), (("--ask",), ("--answer",))):
            options = ("--red-blue",) if kinds[0] else ()
            with Server("--max-message=5000000", *options) as server, \
                    subprocess.Popen([chosen.client, "--port", str(server.port), "room", *kinds[0]], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE) as first:
                first.stdin.write(theirs)
                first.stdin.close()
                server.until(waiting=1)
                second = self.run_client(server.port, "room", *kinds[1], "--timeout=1000", message=mine)
                self.assertEqual((second.returncode, second.stdout), (0, theirs), second.stderr)
                self.assertTrue(first.stdout.read() == mine)
                self.assertEqual(first.wait(TIMEOUT), 0)

    def test_each_failure_has_its_exit_status(self):
        with Server("--wait-time=0.2", "--max-message=10") as server:
            for status, arguments, message in ((10 + TIMED_OUT, ["room"], b""), (10 + TOO_LARGE, ["room"], bytes(1_000_000)),
                                               (10 + TOO_LARGE, ["x" * 100], b""), (2, [""], b""), (2, ["--nonsense"], b""),
                                               (2, ["room", "--ask", "--answer"], b""), (2, ["room", "--timeout=0"], b""),
                                               (2, ["room", "--timeout=nan"], b""), (3, ["room", "--host", "no.invalid"], b"")):
                done = self.run_client(server.port, *arguments, message=message)
                self.assertEqual((done.returncode, done.stdout), (status, b""), (arguments, done.stderr))
                self.assertNotEqual(done.stderr, b"")
            server.stop()
            self.assertEqual(self.run_client(server.port, "room").returncode, 3)
        with Server("--red-blue") as server:
            self.assertEqual(self.run_client(server.port, "room").returncode, 10 + SIDE_NEEDED)
        with Server() as server, Client(server, request(b"room", b"theirs")), open("/dev/full", "wb") as full:
            server.until(waiting=1)
            done = subprocess.run([chosen.client, "--port", str(server.port), "room"], stdin=subprocess.DEVNULL, stdout=full,
                                  stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)
            self.assertEqual((done.returncode, done.stderr), (1, b"pairing_client: cannot write standard output\n"))

    def test_the_timeout(self):
        def times_out(port):
            done = self.run_client(port, "room", "--timeout=0.3")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (4, b"", b"pairing_client: timed out (--timeout)\n"))

        with Server() as server: # waiting for a partner
            times_out(server.port)
            server.until(disconnected=1, active=0)
        _, port = self.listen(backlog=0) # connecting: the queue is full after one or two
        for _ in range(3):
            waiting = self.enterContext(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        times_out(port)

    def test_servers_that_lie(self):
        for reply, status, why in ((HEADER.pack(1, EXCHANGED, 0, 0, 10) + b"half", 3, b"End of file"),
                                   (HEADER.pack(1, EXCHANGED, 0, 0, 2**32 - 1), 3, b"End of file"),
                                   (b"HTTP/1.1 400 Bad Request\r\n\r\n", 3, b"not of this protocol"), (b"", 3, b"End of file"),
                                   (HEADER.pack(1, BUSY, 0, 0, len(HOSTILE)) + HOSTILE, 10 + BUSY, SHOWN)):
            listener, port = self.listen()
            with subprocess.Popen([chosen.client, "--port", str(port), "room"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
                with listener.accept()[0] as accepted:
                    self.assertEqual(accepted.recv(len(request(b"room")), socket.MSG_WAITALL), request(b"room"))
                    accepted.sendall(reply)
                self.assertIn(why, client.stderr.read())
                self.assertEqual((client.stdout.read(), client.wait(TIMEOUT)), (b"", status))

    def test_a_message_cannot_control_a_terminal(self):
        with Server() as server, Client(server, request(b"room", HOSTILE)):
            server.until(waiting=1)
            ours, theirs = pty.openpty()
            with subprocess.Popen([chosen.client, "--port", str(server.port), "room"], stdin=subprocess.DEVNULL,
                                  stdout=theirs) as client:
                os.close(theirs)
                shown = b""
                with contextlib.suppress(OSError): # raised at the end of the output
                    while more := os.read(ours, 1000):
                        shown += more
                os.close(ours)
                self.assertEqual(client.wait(TIMEOUT), 0)
        self.assertEqual(shown.replace(b"\r\n", b"\n"), SHOWN)


if __name__ == "__main__":
    main(PairingClient, __doc__.splitlines()[0])
