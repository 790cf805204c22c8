#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests uring_echo over real sockets.

    uring_echo_test.py SERVER [TEST...]   a TEST is as UringEcho.test_echoes

The tests watch the server's replies and its open descriptors. Every test starts its own server.
"""

import contextlib
import os
import random
import resource
import select
import signal
import sys
import threading
import time
import unittest

import programs
from programs import Client, main_with_io_uring, run, until

COMPLAINT = "accept: Too many open files\n"
PROGRAM = sys.argv[1]


class Server(programs.Server):
    """The end of `with` checks that all connections are closed."""

    def __init__(self, port=0, patience=60, files=None):
        super().__init__(PROGRAM, port, patience, files=files)
        self.idle_files = self.files()

    def report(self):
        """@returns the numbers of connections and of bytes."""
        words = self.line().split()
        return int(words[0]), int(words[2])

    def files(self):
        """Counts the server's open files, except pipes: sanitizers open pipes for a short time."""
        folder = f"/proc/{self.process.pid}/fd"
        count = 0
        for number in os.listdir(folder):
            with contextlib.suppress(FileNotFoundError):
                kind = os.readlink(f"{folder}/{number}")
                count += int(number) <= 2 or not kind.startswith("pipe:")
        return count

    def until_files(self, more):
        """Waits until the server has `more` open files in addition to those at the start."""
        until(lambda: self.files() - self.idle_files == more, lambda: f"{self.files() - self.idle_files} open, not {more}")

    def until_idle(self):
        self.until_files(0)


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


class UringEcho(unittest.TestCase):
    def assert_echoes(self, client, data=b"are you there?", then=lambda client: None):
        """Sends and receives concurrently; otherwise both socket buffers would fill up."""
        sender = threading.Thread(target=lambda: (client.send(data), then(client)))
        sender.start()
        got = client.receive(len(data))
        sender.join()
        self.assertTrue(got == data, f"the {len(data)} bytes received differ from those sent")

    def fill(self, client):
        """Fills the buffers of both directions."""
        client.socket.settimeout(0.2)
        with self.assertRaises(TimeoutError):
            client.send(bytes(100_000_000))

    def test_echoes(self):
        sizes = (1, 8191, 8192, 8193, 10_000_000)
        with Server() as server:
            for size in sizes:
                with Client(server) as client:
                    self.assert_echoes(client, noise(size), Client.hang_up_half)
                    self.assertTrue(client.has_ended())
            server.until_files(0)
            self.assertEqual(server.stop(), (len(sizes), sum(sizes)))

    def test_clients_that_leave_end_only_their_connections(self):
        with Server() as server, Client(server) as bystander:
            for i in range(100):
                Client(server).close()
                client = Client(server)
                client.send(noise(1 + 1000 * i))
                client.reset()
            full = Client(server, receive_buffer=4096)
            self.fill(full)
            full.reset()
            server.until_files(1)
            self.assert_echoes(bystander)

    def test_serves_a_thousand_connections(self):
        count = 1000
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        with Server(files=count + 100) as server, contextlib.ExitStack() as all_of_them:
            clients = [all_of_them.enter_context(Client(server)) for _ in range(count)]
            server.until_files(count)
            for i, client in enumerate(clients):
                client.send(noise(500, seed=i))
            for i, client in enumerate(clients):
                self.assertEqual(client.receive(500), noise(500, seed=i))
                client.close()
            server.until_files(0)
            self.assertEqual(server.stop(), (count, 500 * count))

    def test_waits_until_descriptors_are_free(self):
        with Server(files=40) as server, contextlib.ExitStack() as all_of_them:
            room = 40 - server.idle_files
            inside = [all_of_them.enter_context(Client(server)) for _ in range(room)]
            server.until_files(room)
            outside = [all_of_them.enter_context(Client(server)) for _ in range(10)]
            for client in outside:
                client.send(b"let me in")
            for client in inside:
                self.assert_echoes(client)
            self.assertFalse(select.select([client.socket for client in outside], [], [], 0.2)[0])
            self.assertIn(server.error_output(), ("", COMPLAINT))  # once, though it tried again
            for client in inside:
                client.close()
            for client in outside:
                self.assertEqual(client.receive(9), b"let me in")
                client.close()
            self.assertIn(COMPLAINT, server.error_output())  # again, if it was full meanwhile

    def test_deadlines(self):
        with Server(patience=1) as server, Client(server) as client:
            start = time.monotonic()
            while time.monotonic() - start < 2:  # each read has its own
                self.assert_echoes(client, b"x")
                client.is_readable(0.05)  # and pause
            start = time.monotonic()
            self.assertTrue(client.has_ended())
            self.assertGreaterEqual(time.monotonic() - start, 0.9)
            with Client(server, receive_buffer=4096) as full:
                with self.assertRaises((ConnectionResetError, BrokenPipeError)):
                    full.send(bytes(100_000_000))

    def test_a_signal_ends_the_server(self):
        for number, files in ((signal.SIGTERM, None), (signal.SIGINT, None), (signal.SIGTERM, 40)):
            with Server(files=files) as server, contextlib.ExitStack() as all_of_them:
                quiet = [all_of_them.enter_context(Client(server)) for _ in range(50)]
                if files:
                    server.until_files(files - server.idle_files)
                    server.stop()
                    continue
                stuck = all_of_them.enter_context(Client(server, receive_buffer=4096))
                self.fill(stuck)
                server.until_files(51)
                self.assertEqual(server.stop(number)[0], 51)
                for client in quiet:
                    self.assertTrue(client.has_ended())

    def test_a_signal_ends_the_server_while_clients_connect(self):
        with Server() as server:
            done = threading.Event()

            def connect():
                with contextlib.suppress(OSError):
                    while not done.is_set():
                        with Client(server) as client:
                            client.send(b"x")

            connecting = [threading.Thread(target=connect) for _ in range(4)]
            for each in connecting:
                each.start()
            with Client(server) as client:
                self.assert_echoes(client, noise(100_000))
            server.stop()
            done.set()
            for each in connecting:
                each.join()

    def test_the_port(self):
        with Server() as first, Client(first) as client:
            self.assert_echoes(client)
            second = run(PROGRAM, first.port, text=True)
            self.assertEqual((second.returncode, second.stdout), (1, ""))
            self.assertIn(f"cannot listen on port {first.port}: Address already in use", second.stderr)
            first.stop()  # closes the connection first, so that its side lingers
            with Server(first.port) as third, Client(third) as other:
                self.assert_echoes(other)
        for arguments in (["x"], ["65536"], ["0", "0"], ["0", "nan"]):
            bad = run(PROGRAM, *arguments, text=True)
            self.assertEqual((bad.returncode, bad.stderr), (2, "usage: uring_echo [PORT [SECONDS]]\n"))


if __name__ == "__main__":
    errors = ""
    try:
        with Server():
            pass
    except AssertionError as failed:
        errors = str(failed)
    main_with_io_uring(errors)
