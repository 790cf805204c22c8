#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests uring_echo over real sockets.

usage: uring_echo_test.py SERVER [TEST...]

No test sleeps to order events: the tests watch the server's replies and its open descriptors. Every operation has a
timeout, and every test starts its own server. If io_uring is missing or forbidden, the exit status is 77 (skipped), or
1 (failed) if the environment contains TRYST_NO_SKIP.
"""

import contextlib
import os
import random
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
NO_IO_URING = 77
COMPLAINT = "accept: Too many open files\n"
PROGRAM = sys.argv[1]


class Server:
    """A server on its own port. The end of `with` checks that all connections are closed, and stops the server."""

    def __init__(self, port=0, patience=60, files=None):
        def limit_files():
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([PROGRAM, str(port), str(patience)], stdout=subprocess.PIPE, stderr=self.errors,
                                        text=True, preexec_fn=limit_files)
        self.report = None
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
        words = self.process.stdout.readline().split() if ready else ["nothing"]
        assert words[:2] == ["listening", "on"], (words, self.error_output())
        self.port = int(words[-1])
        self.idle_files = self.files()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.process.kill()
            self.process.wait(TIMEOUT)
            print(self.error_output(), file=sys.stderr)
        elif self.report is None:
            self.until_files(0)
            self.stop()
        self.process.stdout.close()
        self.errors.close()

    def stop(self, number=signal.SIGTERM):
        """Stops the server by a signal. Returns its report: connections, bytes."""
        self.process.send_signal(number)
        status = self.process.wait(TIMEOUT)
        assert status == 0, f"exit status {status}: {self.error_output()}"
        words = self.process.stdout.read().split()
        self.report = int(words[0]), int(words[2])
        return self.report

    def error_output(self):
        self.errors.seek(0)
        return self.errors.read()

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
        end = time.monotonic() + TIMEOUT
        while self.files() - self.idle_files != more:
            assert time.monotonic() < end, f"{self.files() - self.idle_files} open, not {more}"
            time.sleep(0.001)

    def connect(self, receive_buffer=None):
        client = socket.socket()
        client.settimeout(TIMEOUT)
        if receive_buffer:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            client.connect(("127.0.0.1", self.port))
        except OSError:
            client.close()
            raise
        return client


def receive(client, size):
    data = bytearray()
    while len(data) < size:
        more = client.recv(size - len(data))
        if not more:
            raise EOFError(f"end after {len(data)} of {size} bytes")
        data += more
    return bytes(data)


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


class UringEcho(unittest.TestCase):
    def assert_echoes(self, client, data=b"are you there?", then=lambda client: None):
        """Sends and receives concurrently; otherwise both socket buffers would fill up."""
        sender = threading.Thread(target=lambda: (client.sendall(data), then(client)))
        sender.start()
        got = receive(client, len(data))
        sender.join()
        self.assertTrue(got == data, f"the {len(data)} bytes received differ from those sent")

    def fill(self, client):
        """Fills the buffers of both directions."""
        client.settimeout(0.2)
        with self.assertRaises(TimeoutError):
            client.sendall(bytes(100_000_000))

    def test_echoes(self):
        sizes = (1, 8191, 8192, 8193, 10_000_000)
        with Server() as server:
            for size in sizes:
                with server.connect() as client:
                    self.assert_echoes(client, noise(size), lambda client: client.shutdown(socket.SHUT_WR))
                    self.assertEqual(client.recv(1), b"")
            server.until_files(0)
            self.assertEqual(server.stop(), (len(sizes), sum(sizes)))

    def test_clients_that_leave_end_only_their_connections(self):
        with Server() as server, server.connect() as bystander:
            for i in range(100):
                server.connect().close()
                client = server.connect()
                client.sendall(noise(1 + 1000 * i))
                reset(client)
            full = server.connect(receive_buffer=4096)
            self.fill(full)
            reset(full)
            server.until_files(1)
            self.assert_echoes(bystander)

    def test_serves_a_thousand_connections(self):
        count = 1000
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        with Server(files=count + 100) as server, contextlib.ExitStack() as all_of_them:
            clients = [all_of_them.enter_context(server.connect()) for _ in range(count)]
            server.until_files(count)
            for i, client in enumerate(clients):
                client.sendall(noise(500, seed=i))
            for i, client in enumerate(clients):
                self.assertEqual(receive(client, 500), noise(500, seed=i))
                client.close()
            server.until_files(0)
            self.assertEqual(server.stop(), (count, 500 * count))

    def test_waits_until_descriptors_are_free(self):
        with Server(files=40) as server, contextlib.ExitStack() as all_of_them:
            room = 40 - server.idle_files
            inside = [all_of_them.enter_context(server.connect()) for _ in range(room)]
            server.until_files(room)
            outside = [all_of_them.enter_context(server.connect()) for _ in range(10)]
            for client in outside:
                client.sendall(b"let me in")
            for client in inside:
                self.assert_echoes(client)
            readable, _, _ = select.select(outside, [], [], 0.2)
            self.assertEqual(readable, [])
            self.assertIn(server.error_output(), ("", COMPLAINT))  # once, though it tried again
            for client in inside:
                client.close()
            for client in outside:
                self.assertEqual(receive(client, 9), b"let me in")
                client.close()
            self.assertIn(COMPLAINT, server.error_output())  # again, if it was full meanwhile

    def test_deadlines(self):
        with Server(patience=1) as server, server.connect() as client:
            start = time.monotonic()
            while time.monotonic() - start < 2:  # each read has its own
                self.assert_echoes(client, b"x")
                select.select([client], [], [], 0.05)  # and pause
            start = time.monotonic()
            self.assertEqual(client.recv(1), b"")
            self.assertGreaterEqual(time.monotonic() - start, 0.9)
            with server.connect(receive_buffer=4096) as full:
                with self.assertRaises((ConnectionResetError, BrokenPipeError)):
                    full.sendall(bytes(100_000_000))

    def test_a_signal_ends_the_server(self):
        for number, files in ((signal.SIGTERM, None), (signal.SIGINT, None), (signal.SIGTERM, 40)):
            with Server(files=files) as server, contextlib.ExitStack() as all_of_them:
                quiet = [all_of_them.enter_context(server.connect()) for _ in range(50)]
                if files:
                    server.until_files(files - server.idle_files)
                    server.stop()
                    continue
                stuck = all_of_them.enter_context(server.connect(receive_buffer=4096))
                self.fill(stuck)
                server.until_files(51)
                self.assertEqual(server.stop(number)[0], 51)
                for client in quiet:
                    self.assertEqual(client.recv(1), b"")

    def test_a_signal_ends_the_server_while_clients_connect(self):
        with Server() as server:
            done = threading.Event()

            def connect():
                with contextlib.suppress(OSError):
                    while not done.is_set():
                        with server.connect() as client:
                            client.sendall(b"x")

            connecting = [threading.Thread(target=connect) for _ in range(4)]
            for each in connecting:
                each.start()
            with server.connect() as client:
                self.assert_echoes(client, noise(100_000))
            server.stop()
            done.set()
            for each in connecting:
                each.join()

    def test_the_port(self):
        with Server() as first, first.connect() as client:
            self.assert_echoes(client)
            second = subprocess.run([PROGRAM, str(first.port)], text=True, capture_output=True, timeout=TIMEOUT,
                                    check=False)
            self.assertEqual((second.returncode, second.stdout), (1, ""))
            self.assertIn(f"cannot listen on port {first.port}: Address already in use", second.stderr)
            first.stop()  # closes the connection first, so that its side lingers
            with Server(first.port) as third, third.connect() as other:
                self.assert_echoes(other)
        for arguments in (["x"], ["65536"], ["0", "0"], ["0", "nan"]):
            bad = subprocess.run([PROGRAM, *arguments], text=True, capture_output=True, timeout=TIMEOUT, check=False)
            self.assertEqual((bad.returncode, bad.stderr), (2, "usage: uring_echo [PORT [SECONDS]]\n"))


def has_io_uring():
    with subprocess.Popen([PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        listens = server.stdout.readline() != ""
        if listens:
            server.terminate()
        return listens or "io_uring_setup" not in server.stderr.read()


if __name__ == "__main__":
    if not has_io_uring():
        print("io_uring is missing or forbidden")
        sys.exit(1 if "TRYST_NO_SKIP" in os.environ else NO_IO_URING)
    unittest.main(argv=sys.argv[:1], defaultTest=[f"UringEcho.test_{name}" for name in sys.argv[2:]] or None)
