#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests pairing_client with a real server.

usage: pairing_client_test.py --server BINARY --client BINARY [TEST...]
"""

import contextlib
import os
import pty
import select
import socket
import stat
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True # keeps the source tree clean

from pairing_support import (
    BUSY, EXCHANGED, HEADER, SIDE_NEEDED, TIMED_OUT, TIMEOUT, TOO_LARGE, Client, Server, chosen,
    item, main, request)

# Exit statuses.
FILE_ERROR, WRONG_USAGE, NO_CONNECTION, TIMED_OUT_LOCALLY, REFUSED = 1, 2, 3, 4, 10

# Sets the title of a terminal, clears it, and makes it send a reply as if the user had typed it.
HOSTILE = b"\x1b]0;title\x07\x1b[2J\x9b6n\x7f\r\x08"
HOSTILE_ESCAPED = rb"\x1b]0;title\x07\x1b[2J\x9b6n\x7f\x0d\x08"


class Listener:
    """A listening socket with which a test plays the server."""

    def __init__(self, backlog=5):
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=backlog)
        self.socket.settimeout(TIMEOUT)
        self.port = self.socket.getsockname()[1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def accept(self, expected=b""):
        """Accepts a client and receives the expected request."""
        client = self.socket.accept()[0]
        client.settimeout(TIMEOUT)
        for byte in expected:
            assert client.recv(1) == bytes([byte])
        return client


def write(path, data=b""):
    with open(path, "wb") as file:
        file.write(data)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


class PairingClient(unittest.TestCase):
    def client(self, server, *arguments, **options):
        options.setdefault("stderr", subprocess.DEVNULL)
        return subprocess.Popen([chosen.client, "--port", str(server.port), *arguments], **options)

    def receive(self, server, path, message, **options):
        """Returns the exit status of a client that receives the message into a file."""
        with Client(server, request(b"room", message)) as partner:
            server.until(waiting=1)
            with self.client(server, "room", "--receive", path, stdin=subprocess.DEVNULL,
                             **options) as client:
                status = client.wait(TIMEOUT)
            if status == 0:
                self.assertEqual(partner.reply(), (EXCHANGED, b""))
            return status

    def run_client(self, *arguments, **environment):
        return subprocess.run([chosen.client, *arguments], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False,
                              env={**os.environ, **environment})

    def test_two_clients_swap_two_files(self):
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

    def test_each_failure_has_its_exit_status_and_creates_no_file(self):
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
            self.assertEqual(status("room", "--send", small), 3) # no server listens
            self.assertEqual(sorted(os.listdir(folder)), ["large", "small"])

    def test_sends_nothing_if_the_output_cannot_be_created(self):
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

    def test_writes_to_a_pipe_without_replacing_it(self):
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

    # ---- The output file

    def test_a_replaced_file_keeps_its_mode_and_a_new_file_has_the_default_mode(self):
        with Server() as server, tempfile.TemporaryDirectory() as folder:
            for bits in (0o600, 0o640, 0o666, 0o700):
                path = os.path.join(folder, f"file {bits:o}")
                write(path, b"old, and longer than the new one")
                os.chmod(path, bits)
                self.assertEqual(self.receive(server, path, b"new", umask=0o022), 0)
                self.assertEqual((read(path), oct(mode(path))), (b"new", oct(bits)))
            if os.geteuid() == 0:
                os.chown(path, 12345, 54321)
                self.assertEqual(self.receive(server, path, b"newer"), 0)
                status = os.stat(path)
                self.assertEqual((status.st_uid, status.st_gid), (12345, 54321))
            for umask in (0o022, 0o077):
                path = os.path.join(folder, f"new {umask:o}")
                self.assertEqual(self.receive(server, path, b"new", umask=umask), 0)
                self.assertEqual(oct(mode(path)), oct(0o666 & ~umask))
            self.assertEqual(len(os.listdir(folder)), 6)

    def test_replaces_a_file_atomically(self):
        with Server() as server, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            write(path, b"old")
            with open(path, "rb") as reader:
                self.assertEqual(self.receive(server, path, b"new"), 0)
                self.assertEqual(reader.read(), b"old")
            self.assertEqual(read(path), b"new")

    def test_follows_symbolic_links_and_keeps_them(self):
        with Server() as server, tempfile.TemporaryDirectory() as folder:
            def path(*names):
                return os.path.join(folder, *names)

            os.mkdir(path("elsewhere"))
            write(path("elsewhere", "file"), b"old")
            os.chmod(path("elsewhere", "file"), 0o600)
            links = {"relative": "elsewhere/file", "absolute": path("elsewhere", "file"),
                     "to a link": "relative", "elsewhere/up": "../absolute"}
            for link, target in links.items():
                os.symlink(target, path(link))
                self.assertEqual(self.receive(server, path(link), link.encode()), 0)
                self.assertEqual(read(path("elsewhere", "file")), link.encode())
                self.assertEqual(mode(path("elsewhere", "file")), 0o600)
            os.symlink("elsewhere/new", path("to nothing"))
            self.assertEqual(self.receive(server, path("to nothing"), b"new"), 0)
            self.assertEqual(read(path("elsewhere", "new")), b"new")
            for link in (*links, "to nothing"):
                self.assertTrue(os.path.islink(path(link)), link)
            self.assertEqual(sorted(os.listdir(path("elsewhere"))), ["file", "new", "up"])
            self.assertEqual(sorted(os.listdir(folder)),
                             ["absolute", "elsewhere", "relative", "to a link", "to nothing"])

    def test_sends_nothing_if_the_output_is_a_circular_link_or_in_a_missing_folder(self):
        with Server() as server, tempfile.TemporaryDirectory() as folder:
            for target in ("link", "missing/file"):
                link = os.path.join(folder, "link")
                os.symlink(target, link)
                self.assertEqual(self.receive(server, link, b"kept"), FILE_ERROR)
                self.assertEqual(os.listdir(folder), ["link"])
                os.remove(link)
            server.until(disconnected=2, exchanged=0)

    def test_writes_to_a_descriptor_and_keeps_the_contents_of_its_file(self):
        with Server() as server, tempfile.TemporaryDirectory() as folder:
            log, link = (os.path.join(folder, name) for name in ("log", "link"))
            os.symlink("/dev/stdout", link)
            for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1", link):
                for flags in (os.O_APPEND, 0):
                    write(log)
                    out = os.open(log, os.O_WRONLY | flags)
                    os.write(out, b"begin ")
                    self.assertEqual(self.receive(server, name, b"message", stdout=out), 0)
                    os.write(out, b" end")
                    os.close(out)
                    self.assertEqual(read(log), b"begin message end", name)
                    self.assertEqual(sorted(os.listdir(folder)), ["link", "log"])
            write(log, b"old ")
            with open(log, "ab") as out:
                self.assertEqual(self.receive(server, f"/dev/fd/{out.fileno()}", b"new",
                                              pass_fds=[out.fileno()]), 0)
                # A descriptor of another process: the client opens the file again.
                self.assertEqual(
                    self.receive(server, f"/proc/{os.getpid()}/fd/{out.fileno()}", b"er"), 0)
            self.assertEqual(read(log), b"old newer")

    def test_sends_nothing_if_the_descriptor_is_not_writable(self):
        with Server() as server, tempfile.TemporaryFile() as file:
            with open(f"/proc/self/fd/{file.fileno()}", "rb") as reading:
                self.assertEqual(self.receive(server, f"/dev/fd/{reading.fileno()}", b"kept",
                                              pass_fds=[reading.fileno()]), FILE_ERROR)
            for name in ("/dev/fd/99", "/dev/fd/1x", "/dev/fd/-1"):
                self.assertEqual(self.receive(server, name, b"kept"), FILE_ERROR)
            server.until(disconnected=4, exchanged=0)

    def test_sends_nothing_if_standard_output_is_not_writable(self):
        with Server() as server, Client(server, request(b"room", b"kept")):
            server.until(waiting=1)
            for redirection in (">&-", "1</dev/null"):
                run = subprocess.run(
                    ["sh", "-c", f'exec "$0" "$@" {redirection}', chosen.client, "--port",
                     str(server.port), "room"], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                    timeout=TIMEOUT, check=False)
                self.assertEqual(
                    (run.returncode, run.stderr),
                    (FILE_ERROR, b"pairing_client: cannot write standard output: it is not open "
                                 b"for writing; redirect it, or name a file with --receive\n"))
            server.until(waiting=1, accepted=1)

    def test_needs_no_standard_output_to_write_a_file(self):
        with Server() as server, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            self.assertEqual(self.receive(server, path, b"one", preexec_fn=lambda: os.close(1)), 0)
            self.assertEqual(read(path), b"one")

    # ---- The timeout

    @staticmethod
    def timeout_message(step, timeout):
        return f"pairing_client: timed out while {step} (--timeout {timeout})\n"

    def assert_times_out(self, port, timeout, step, **environment):
        run = self.run_client("--port", str(port), "--timeout", timeout, "room", **environment)
        self.assertEqual((run.returncode, run.stdout, run.stderr),
                         (TIMED_OUT_LOCALLY, "", self.timeout_message(step, timeout)))

    def assert_times_out_once_connected(self, step, run):
        """`run` takes a timeout and returns the exit status and the error message of a client. On a
        busy machine a short timeout may expire before the client is connected. Then this tries a
        longer timeout."""
        for timeout in ("0.5", "2", "8", "20"):
            status, error = run(timeout)
            self.assertEqual(status, TIMED_OUT_LOCALLY, error)
            if error == self.timeout_message(step, timeout):
                return
        self.fail(error)

    def test_the_timeout_includes_the_wait_for_a_partner(self):
        with Server() as server:
            def run(timeout):
                done = self.run_client("--port", str(server.port), "--timeout", timeout, "room")
                self.assertEqual(done.stdout, "")
                return done.returncode, done.stderr

            self.assert_times_out_once_connected("waiting for a partner", run)
            server.until(disconnected=lambda count: count >= 1, active=0)

    def test_the_timeout_includes_connecting(self):
        with Listener(backlog=0) as listener, contextlib.ExitStack() as stack:
            for _ in range(3): # the queue is full after one or two; further connections hang
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(("127.0.0.1", listener.port))
            self.assert_times_out(listener.port, "0.3", "connecting to the server")

    def test_the_timeout_includes_the_host_look_up(self):
        if not chosen.preload_lookup:
            self.skipTest("needs --preload-lookup, which does not work with sanitizers")
        self.assert_times_out(1, "0.3", "connecting to the server",
                              LD_PRELOAD=chosen.preload_lookup)

    def test_the_timeout_includes_receiving_the_reply(self):
        with Listener() as listener, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")

            def run(timeout):
                with contextlib.ExitStack() as sockets, self.client(
                        listener, "--timeout", timeout, "room", "--receive", path,
                        stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as client:
                    while client.poll() is None: # the client may end before it is connected
                        if select.select([listener.socket], [], [], 0.01)[0]:
                            accepted = sockets.enter_context(listener.accept())
                            with contextlib.suppress(ConnectionError): # if the client has ended
                                accepted.sendall(HEADER.pack(1, EXCHANGED, 0, 0, 10) + b"half")
                    return client.returncode, client.stderr.read()

            self.assert_times_out_once_connected("receiving the reply", run)
            self.assertEqual(os.listdir(folder), [])

    def test_does_not_time_out_if_a_partner_is_waiting(self):
        with Server() as server, Client(server, request(b"room", b"one")) as one:
            server.until(waiting=1)
            run = self.run_client("--port", str(server.port), "--timeout=1000", "room")
            self.assertEqual((run.returncode, run.stdout), (0, "one"))
            self.assertEqual(one.reply(), (EXCHANGED, b""))

    # ---- Hostile messages

    def print_on_terminal(self, message, locale):
        """Returns the bytes that a client prints for the message on a terminal."""
        with Server() as server, Client(server, request(b"room", message)):
            server.until(waiting=1)
            ours, theirs = pty.openpty()
            with self.client(server, "room", stdin=subprocess.DEVNULL, stdout=theirs,
                             env={**os.environ, "LC_ALL": locale}) as client:
                os.close(theirs)
                shown = b""
                with contextlib.suppress(OSError): # raised at the end of the output
                    while more := os.read(ours, 1000):
                        shown += more
                os.close(ours)
                self.assertEqual(client.wait(TIMEOUT), 0)
        return shown.replace(b"\r\n", b"\n") # undoes the terminal's conversion

    def test_escapes_control_characters_on_a_terminal(self):
        self.assertEqual(self.print_on_terminal(HOSTILE, "C.UTF-8"), HOSTILE_ESCAPED)
        self.assertEqual(self.print_on_terminal(b"a line\n\tand a tab\n", "C.UTF-8"),
                         b"a line\n\tand a tab\n")

    def test_shows_characters_that_the_locale_can_print(self):
        text = "gr\u00fc\u00df dich, \U0001f642".encode()
        self.assertEqual(self.print_on_terminal(text, "C.UTF-8"), text)
        self.assertEqual(self.print_on_terminal("\u009b6n\0".encode(), "C.UTF-8"),
                         rb"\xc2\x9b6n\x00")
        self.assertEqual(self.print_on_terminal(b"cut: \xf0\x9f", "C.UTF-8"), rb"cut: \xf0\x9f")
        self.assertEqual(self.print_on_terminal("\u00fc".encode(), "C"), rb"\xc3\xbc")

    def test_escapes_characters_that_reorder_or_hide_others(self):
        for first, last in ((0x61c, 0x61c), (0x200b, 0x200f), (0x202a, 0x202e), (0x2060, 0x2064),
                            (0x2066, 0x206f), (0xfeff, 0xfeff), (0xfff9, 0xfffb),
                            (0xe0001, 0xe0001), (0xe0020, 0xe007f)):
            hostile = "".join(map(chr, range(first, last + 1))).encode()
            escaped = "".join(f"\\x{byte:02x}" for byte in hostile).encode()
            self.assertEqual(self.print_on_terminal(b"a" + hostile + b"b", "C.UTF-8"),
                             b"a" + escaped + b"b")
        text = "\u05e9\u05dc\u05d5\u05dd \u2010".encode() # Hebrew letters and a hyphen
        self.assertEqual(self.print_on_terminal(text, "C.UTF-8"), text)

    def test_writes_unchanged_bytes_to_pipes_and_files(self):
        with Server() as server, tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file")
            self.assertEqual(self.receive(server, path, HOSTILE), 0)
            self.assertEqual(read(path), HOSTILE)
            with Client(server, request(b"room", HOSTILE)):
                server.until(waiting=1)
                with self.client(server, "room", stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE) as client:
                    self.assertEqual(client.stdout.read(), HOSTILE)

    def test_escapes_error_messages_of_the_server(self):
        with Listener() as listener, self.client(
                listener, "room", stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as client, \
                listener.accept(request(b"room")) as accepted:
            text = HOSTILE + b"\nsecond line"
            accepted.sendall(HEADER.pack(1, BUSY, 0, 0, len(text)) + text)
            self.assertEqual(client.stderr.read(),
                             b"pairing_client: " + HOSTILE_ESCAPED + rb"\x0asecond line" + b"\n")
            self.assertEqual(client.wait(TIMEOUT), REFUSED + BUSY)

    # ---- The command line

    def test_prints_its_version(self):
        run = self.run_client("--version")
        self.assertEqual((run.returncode, run.stdout, run.stderr),
                         (0, f"pairing_client (tryst {chosen.version})\n", ""))

    def test_wrong_usage_has_its_own_exit_status(self):
        for arguments, why in ((("room",), "--port"), (("--port=1",), "ROOM"),
                               (("--port=1", ""), "1 to 255 bytes"),
                               (("--port=1", "room", "--timeout=0"), "--timeout"),
                               (("--port=1", "room", "--timeout=-1"), "--timeout"),
                               (("--port=1", "room", "--timeout=nan"), "--timeout"),
                               (("--port=1", "room", "--timeout=soon"), "--timeout"),
                               (("--port=1", "room", "--nonsense"), "--nonsense")):
            run = self.run_client(*arguments)
            self.assertEqual((run.returncode, run.stdout), (WRONG_USAGE, ""), arguments)
            self.assertIn(why, run.stderr, arguments)


if __name__ == "__main__":
    main(PairingClient, __doc__.splitlines()[0])
