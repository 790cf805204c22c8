#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests uring_echo over real sockets.

usage: uring_echo_test.py --server BINARY [options] [TEST...]

No test sleeps to order events: the tests watch the server's replies and its open descriptors. Every
operation has a timeout, and every test starts its own server. If io_uring is missing or forbidden,
the exit status is 77 (skipped), or 1 (failed) if the environment contains TRYST_NO_SKIP.
"""

import argparse
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
chosen = argparse.Namespace()


class Server:
    """A server on its own port. The end of `with` checks that all connections are closed, and stops
    the server."""

    def __init__(self, *options, files=None):
        def limit_files():
            if files:
                resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen([chosen.server, *options], stdout=subprocess.PIPE,
                                        stderr=self.errors, text=True, preexec_fn=limit_files,
                                        env=chosen.environment)
        self.report = None
        ready, _, _ = select.select([self.process.stdout], [], [], TIMEOUT)
        words = self.process.stdout.readline().split() if ready else ["nothing"]
        assert words[:2] == ["listening", "on"], (words, self.error_output())
        self.host, self.port = words[2], int(words[-1])
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
        """Stops the server by a signal. Returns its report: connections, refused, bytes."""
        self.process.send_signal(number)
        status = self.process.wait(TIMEOUT)
        assert status == 0, f"exit status {status}: {self.error_output()}"
        words = self.process.stdout.read().split()
        self.report = dict(zip((word.rstrip(",") for word in words[1::2]), map(int, words[::2])))
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
            client.connect((self.host, self.port))
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


def receive_all(client):
    data = bytearray()
    while more := client.recv(1 << 16):
        data += more
    return bytes(data)


def reset(client):
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()


def is_over(client):
    """Returns whether the server closes the connection, with an end of stream or a reset."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


class UringEcho(unittest.TestCase):
    def assert_echoes(self, client, data=b"are you there?"):
        """Sends and receives concurrently; otherwise both socket buffers would fill up."""
        sender = threading.Thread(target=client.sendall, args=(data,))
        sender.start()
        got = receive(client, len(data))
        sender.join()
        self.assertTrue(got == data, f"the {len(data)} bytes received differ from those sent")

    # ---- Bytes

    def test_echoes_messages_of_all_sizes(self):
        sizes = (1, 2, 8191, 8192, 8193, 1_000_000, 10_000_000)
        with Server() as server:
            for size in sizes:
                with server.connect() as client:
                    self.assert_echoes(client, noise(size))
            server.until_files(0)
            self.assertEqual(server.stop(),
                             {"connections": len(sizes), "refused": 0, "bytes": sum(sizes)})

    def test_echoes_single_bytes_at_once(self):
        with Server() as server, server.connect() as client:
            for byte in noise(300):
                client.sendall(bytes([byte]))
                self.assertEqual(client.recv(10), bytes([byte]))

    def test_a_slow_reader_gets_all_bytes(self):
        data = noise(3_000_000)
        with Server() as server, server.connect(receive_buffer=4096) as client:
            sender = threading.Thread(target=client.sendall, args=(data,))
            sender.start()
            got = bytearray()
            while len(got) < len(data):
                got += client.recv(1000)
            sender.join()
            self.assertTrue(got == data)

    def test_a_half_closed_connection_gets_all_bytes(self):
        data = noise(200_000)
        with Server() as server, server.connect() as client:
            def send():
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
            sender = threading.Thread(target=send)
            sender.start()
            self.assertTrue(receive_all(client) == data)
            sender.join()

    def test_survives_clients_that_send_nothing(self):
        with Server() as server:
            for _ in range(100):
                server.connect().close()
            with server.connect() as client:
                self.assert_echoes(client)

    def test_a_reset_ends_only_its_connection(self):
        with Server() as server, server.connect() as bystander:
            for i in range(100):
                client = server.connect()
                client.sendall(noise(1 + 1000 * i))
                reset(client)
            server.until_files(1)
            self.assert_echoes(bystander)

    def test_survives_a_reset_while_it_sends(self):
        with Server() as server, server.connect() as bystander:
            client = server.connect(receive_buffer=4096)
            client.settimeout(0.2)
            with self.assertRaises(TimeoutError):  # both directions are full
                client.sendall(bytes(100_000_000))
            reset(client)
            server.until_files(1)
            self.assert_echoes(bystander)

    # ---- Many connections

    def test_serves_a_thousand_connections(self):
        count = chosen.clients
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        with Server(files=count + 100) as server, contextlib.ExitStack() as all_of_them:
            clients = [all_of_them.enter_context(server.connect()) for _ in range(count)]
            server.until_files(count)
            for i, client in enumerate(clients):
                client.sendall(noise(500, seed=i))
            for i, client in enumerate(clients):
                self.assertEqual(receive(client, 500), noise(500, seed=i))
            for client in clients:
                client.close()
            server.until_files(0)
            self.assertEqual(server.stop(),
                             {"connections": count, "refused": 0, "bytes": 500 * count})

    def test_closes_connections_above_the_limit(self):
        with Server("--max-connections=2") as server:
            with server.connect() as one, server.connect() as two:
                self.assert_echoes(one)
                self.assert_echoes(two)
                for _ in range(10):
                    with server.connect() as third:
                        self.assertTrue(is_over(third))
                self.assert_echoes(one)
            server.until_files(0)
            with server.connect() as fourth:
                self.assert_echoes(fourth)
            server.until_files(0)
            report = server.stop()
            self.assertEqual((report["connections"], report["refused"]), (3, 10))

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
            complaint = "accept: Too many open files\n"
            self.assertIn(server.error_output(), ("", complaint))  # once, though it tried again
            for client in inside:
                client.close()
            for client in outside:
                self.assertEqual(receive(client, 9), b"let me in")
                client.close()
            self.assertIn(complaint, server.error_output())  # again, if it was full meanwhile
            server.until_files(0)
            server.stop()

    # ---- Deadlines

    def test_closes_a_connection_that_sends_nothing(self):
        with Server("--idle=0.3") as server, server.connect() as client:
            start = time.monotonic()
            self.assertEqual(client.recv(1), b"")
            self.assertGreaterEqual(time.monotonic() - start, 0.29)

    def test_each_read_has_its_own_deadline(self):
        with Server("--idle=1") as server, server.connect() as client:
            start = time.monotonic()
            while time.monotonic() - start < 2:
                self.assert_echoes(client, b"x")
                select.select([client], [], [], 0.05)  # and pause
            start = time.monotonic()
            self.assertEqual(client.recv(1), b"")
            self.assertGreaterEqual(time.monotonic() - start, 0.9)

    def test_closes_a_connection_that_receives_nothing(self):
        with Server("--idle=0.5") as server, server.connect(receive_buffer=4096) as client:
            with self.assertRaises((ConnectionResetError, BrokenPipeError)):
                client.sendall(bytes(100_000_000))

    # ---- Shutdown and errors

    def test_a_signal_ends_the_server_with_open_connections(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with Server() as server, contextlib.ExitStack() as all_of_them:
                quiet = [all_of_them.enter_context(server.connect()) for _ in range(50)]
                stuck = all_of_them.enter_context(server.connect(receive_buffer=4096))
                stuck.settimeout(0.2)
                with self.assertRaises(TimeoutError):
                    stuck.sendall(bytes(100_000_000))
                server.until_files(51)
                start = time.monotonic()
                self.assertEqual(server.stop(number)["connections"], 51)
                self.assertLess(time.monotonic() - start, 5)
                for client in quiet:
                    self.assertEqual(client.recv(1), b"")

    def test_a_signal_ends_the_server_without_free_descriptors(self):
        with Server(files=40) as server, contextlib.ExitStack() as all_of_them:
            for _ in range(60):
                all_of_them.enter_context(server.connect())
            server.until_files(40 - server.idle_files)
            server.stop()

    def test_a_signal_ends_the_server_while_clients_connect(self):
        for _ in range(5):
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

    def test_reports_that_the_port_is_in_use(self):
        with Server() as server:
            second = subprocess.run([chosen.server, "--port", str(server.port)], text=True,
                                    capture_output=True, timeout=TIMEOUT, check=False)
            self.assertEqual((second.returncode, second.stdout), (1, ""))
            self.assertIn(f"cannot listen on 127.0.0.1 port {server.port}: Address already in use",
                          second.stderr)

    def test_refuses_invalid_options(self):
        for options in (["--address=nowhere"], ["--address=203.0.113.1"], ["--port=99999"],
                        ["--idle=0"], ["--idle=x"], ["--max-connections=0"], ["--what"]):
            bad = subprocess.run([chosen.server, *options], text=True, capture_output=True,
                                 timeout=TIMEOUT, check=False)
            self.assertGreater(bad.returncode, 0, options)
            self.assertNotEqual(bad.stderr, "", options)

    def test_reports_that_io_uring_is_missing(self):
        if not chosen.preload:
            self.skipTest("needs --preload")
        bad = subprocess.run([chosen.server], text=True, capture_output=True, timeout=TIMEOUT,
                             check=False, env=dict(chosen.environment, REFUSE="all"))
        self.assertEqual((bad.returncode, bad.stdout), (1, ""))
        self.assertRegex(bad.stderr, "io_uring_setup: .*: Operation not permitted")

    def test_the_port_can_be_reused_at_once(self):
        with Server() as first, first.connect() as client:
            self.assert_echoes(client)
            first.stop()  # closes the connection first, so that its side lingers
            with Server(f"--port={first.port}") as second:
                self.assertEqual(second.port, first.port)
                with second.connect() as other:
                    self.assert_echoes(other)


def has_io_uring():
    with subprocess.Popen([chosen.server], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=chosen.environment) as server:
        listens = server.stdout.readline() != ""
        if listens:
            server.terminate()
        return listens or "io_uring_setup" not in server.stderr.read()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", required=True, help="the binary of uring_echo")
    parser.add_argument("--preload", help="the library older_io_uring, which simulates old kernels")
    parser.add_argument("--refuse", default="0",
                        help="flags of io_uring_setup that older_io_uring refuses in all tests")
    parser.add_argument("--clients", type=int, default=1000,
                        help="the number of concurrent connections")
    parser.add_argument("--list", action="store_true", help="print the names of the tests")
    parser.add_argument("tests", nargs="*", help="names of tests (default: all)")
    parser.parse_args(namespace=chosen)
    chosen.environment = dict(os.environ)
    if chosen.preload:
        chosen.environment.update(LD_PRELOAD=chosen.preload, REFUSE=chosen.refuse)
    if chosen.list:
        print(*(name.removeprefix("test_")
                for name in unittest.defaultTestLoader.getTestCaseNames(UringEcho)), sep="\n")
        return
    if not has_io_uring():
        print("io_uring is missing or forbidden")
        sys.exit(1 if "TRYST_NO_SKIP" in os.environ else NO_IO_URING)
    names = [f"UringEcho.test_{name}" for name in chosen.tests] or None
    unittest.main(argv=sys.argv[:1] + (["-v"] if not names else []), defaultTest=names)


if __name__ == "__main__":
    main()
