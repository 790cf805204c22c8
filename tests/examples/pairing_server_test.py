#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests pairing_server and pairing_client over real sockets.

    pairing_server_test.py SERVER --client CLIENT [OPTION...] [TEST...]
"""

import contextlib
import errno
import os
import pty
import random
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

from pairing_support import (
    BAD_FRAME, BUSY, CLOSED, DISCONNECTED, EXCHANGED, FAILED, HEADER, NO_SIDES, SIDE_NEEDED, SLOW, TIMED_OUT, TOO_LARGE,
    Client, Server, answer, ask, chosen, item, main, request)
from programs import TIMEOUT, run, until

# Sets the title of a terminal, clears it, and makes it send a reply as if the user had typed it.
HOSTILE, SHOWN = b"\x1b]0;title\x07\x1b[2J\x9b6n\x7f\r\x08ok\n\t", b"?]0;title??[2J?6n???ok\n\t"
LARGE = 32_000_000 # more than the system buffers for a client that reads nothing


class PairingServer(unittest.TestCase):
    def swap(self, server, room=b"room", size=100):
        """Checks that two clients get each other's message."""
        mine, theirs = item(f"mine {time.monotonic_ns()}", size), item("theirs", size // 2 + 1)
        one, other = Client(server, request(room, mine)), Client(server, request(room, theirs))
        self.assertEqual((one.reply(), other.reply()), ((EXCHANGED, theirs), (EXCHANGED, mine)))

    def returns_memory(self, server, before, tolerance):
        """The server does so every second."""
        until(lambda: chosen.sanitizer or server.memory() <= before + tolerance,
              lambda: f"{server.memory()} MB, at first {before} MB")

    def lazy_client(self, server):
        """A client that has been paired, and whose reply has begun, but that does not read it."""
        lazy = Client(server, request(b"room", b"small"), receive_buffer=4096)
        server.until(waiting=1)
        self.assertEqual(Client(server, request(b"room", bytes(LARGE))).reply(), (EXCHANGED, b"small"))
        self.assertTrue(lazy.is_readable(TIMEOUT))
        return lazy

    # ---- Pairing

    def test_pairs_thousands_of_clients_in_as_many_rooms(self):
        count = chosen.clients // 2
        with Server(f"--max-connections={2 * count}", "--receive-time=60", "--send-time=60") as server:
            before = server.memory()
            first = [Client(server, request(b"%d" % i, item(("first", i), 50 + i % 500))) for i in range(count)]
            server.until(waiting=count, rooms=count)
            print(f"a waiting client takes {(server.memory() - before) * 1e6 / count:.0f} bytes")
            second = [Client(server, request(b"%d" % i, item(("second", i), 50 + i % 300))) for i in range(count)]
            for i in range(count):
                self.assertEqual(first[i].reply(), (EXCHANGED, item(("second", i), 50 + i % 300)))
                self.assertEqual(second[i].reply(), (EXCHANGED, item(("first", i), 50 + i % 500)))
            server.until(exchanged=2 * count, active=0, rooms=0, waiting=0)

    def test_thousands_hang_up_at_once(self):
        with Server() as server:
            before = server.memory()
            clients = [Client(server, request(b"%d" % i, bytes(50))) for i in range(chosen.clients)]
            server.until(waiting=len(clients), rooms=len(clients))
            server.signal(signal.SIGSTOP)
            for i, client in enumerate(clients):
                (Client.close, Client.reset)[i % 2](client)
            server.signal(signal.SIGCONT)
            server.until(disconnected=len(clients), active=0, rooms=0)
            self.swap(server)
            self.returns_memory(server, before, 12)

    def test_clients_that_come_and_leave_conserve_the_messages(self):
        rng = random.Random(4)
        count = chosen.clients // 5
        with Server() as server:
            staying, leaving = {}, []
            for i in range(count):
                client = Client(server, request(b"room %d" % rng.randrange(5), b"%d" % i))
                if rng.random() < 0.6:
                    staying[i] = client
                else:
                    leaving.append(client)
                if leaving and rng.random() < 0.4:
                    rng.choice((Client.close, Client.reset))(leaving.pop(rng.randrange(len(leaving))))
            for client in leaving:
                client.close()
            server.until(accepted=count)
            server.signal(signal.SIGTERM)
            replies = {i: client.reply() for i, client in staying.items()}
            got = {i: int(body) for i, (status, body) in replies.items() if status == EXCHANGED}
            self.assertTrue(all(status in (EXCHANGED, CLOSED) for status, _ in replies.values()))
            self.assertEqual(len(set(got.values())), len(got), "a message was delivered twice")
            for own, other in got.items():
                self.assertNotEqual(own, other)
                if other in staying: # a client with the status CLOSED has kept its message
                    self.assertEqual(got.get(other), own)
            self.assertGreater(len(got), count / 4)
            self.assertGreater(server.ended()["disconnected"], 0)

    def test_delivers_messages_of_all_sizes_in_rooms_of_all_names(self):
        names = (b"\0", b"\0\0", b"a\0b", "k\u00f6k".encode(), b"\xff" * 254 + b"\xfe", b"\xff" * 255)
        with Server("--max-message=9000000", "--max-room-name=255", "--address=::1") as server:
            waiting = [Client(server, request(name, b"%d" % i)) for i, name in enumerate(names)]
            server.until(waiting=len(names), rooms=len(names))
            for size in (0, 1, 65535, 65536, 65537, 200_000, 9_000_000):
                self.swap(server, size=size)
            for i, name in enumerate(names):
                self.assertEqual(Client(server, request(name, b"to %d" % i)).reply(), (EXCHANGED, b"%d" % i))
                self.assertEqual(waiting[i].reply(), (EXCHANGED, b"to %d" % i))

    def test_pairs_two_sides_in_the_order_of_arrival(self):
        for first, then in ((ask, answer), (answer, ask)):
            with Server("--red-blue") as server:
                waiting = []
                for i in range(20):
                    waiting.append(Client(server, first(b"room", b"%d" % i)))
                    server.until(waiting=i + 1, rooms=1)
                for i in range(0, 20, 2): # those that leave do not change the order of the others
                    (Client.close, Client.reset)[i % 4 // 2](waiting[i])
                server.until(disconnected=10)
                self.assertEqual(Client(server, request(b"room")).status(), SIDE_NEEDED)
                for i in range(1, 20, 2):
                    self.assertEqual(Client(server, then(b"room", b"to %d" % i)).reply(), (EXCHANGED, b"%d" % i))
                    self.assertEqual(waiting[i].reply(), (EXCHANGED, b"to %d" % i))
                server.until(active=0, rooms=0)
        with Server() as server:
            self.assertEqual(Client(server, ask(b"room")).status(), NO_SIDES)

    def test_a_wait_has_a_deadline(self):
        for options, frame in ((), request(b"room")), (("--red-blue",), ask(b"room")):
            with Server("--wait-time=0.3", *options) as server:
                start = time.monotonic()
                self.assertEqual(Client(server, frame).status(), TIMED_OUT)
                self.assertGreaterEqual(time.monotonic() - start, 0.3)
                server.until(timed_out=1, rooms=0, waiting=0)

    # ---- Slow senders and readers

    def test_slow_senders_time_out_without_delaying_others(self):
        with Server("--receive-time=2") as server:
            start = time.monotonic()
            slow = [Client(server) for _ in range(100)]
            patient = Client(server) # a request may arrive byte by byte
            for byte in request(b"slow", b"slowly"):
                patient.send(bytes([byte]))
            self.assertEqual(Client(server, request(b"slow")).reply(), (EXCHANGED, b"slowly"))
            for byte in request(b"room", bytes(1000)): # which does not extend the time
                for client in slow[1:]:
                    client.send(bytes([byte]))
                self.swap(server)
                if slow[0].is_readable(1):
                    break
            for client in slow:
                self.assertEqual(client.status(), SLOW)
            self.assertGreaterEqual(time.monotonic() - start, 2)
            self.assertLess(time.monotonic() - start, 2 + TIMEOUT / 3)
            server.until(slow=100)

    def test_a_client_that_does_not_read_its_reply_delays_nobody(self):
        for how in (None, Client.reset):
            with Server("--send-time=0.5" if how is None else "--send-time=1000", f"--max-message={LARGE}") as server:
                lazy = self.lazy_client(server)
                if how:
                    how(lazy)
                server.until(exchanged=1, undelivered=1, active=0)

    # ---- Invalid requests

    def test_refuses_large_requests_before_they_take_memory(self):
        with Server("--max-message=1000000000", "--max-room-name=10") as server:
            before = server.memory()
            for frame in (HEADER.pack(1, 1, 4, 0, 1_000_000_001), HEADER.pack(1, 1, 4, 0, 0xFFFFFFFF),
                          HEADER.pack(1, 1, 11, 0, 0), HEADER.pack(1, 1, 255, 0, 1)):
                self.assertEqual(Client(server, frame).status(), TOO_LARGE)
            # Nor does a length within the limit take memory before the bytes have arrived.
            announced = [Client(server, HEADER.pack(1, 1, 4, 0, 1_000_000_000) + b"room") for _ in range(2000)]
            self.swap(server, room=b"0123456789")
            server.until(active=len(announced))
            self.assertLess(server.memory(), before + 20 + chosen.sanitizer * 1000)
        with Server("--max-message=1000") as server: # one that keeps sending gets the refusal
            self.assertEqual(Client(server, request(b"room", bytes(3_000_000))).status(), TOO_LARGE)

    def test_refuses_malformed_requests(self):
        rng = random.Random(1)
        with Server("--receive-time=5") as server:
            bad = (b"GET / HTTP/1.1\r\n\r\n", HEADER.pack(0, 1, 1, 0, 0), HEADER.pack(2, 1, 1, 0, 0), HEADER.pack(1, 0, 1, 0, 0),
                   HEADER.pack(1, 2, 1, 0, 0), HEADER.pack(1, 5, 1, 0, 0), HEADER.pack(1, 1, 1, 1, 0), HEADER.pack(1, 1, 0, 0, 5))
            for frame in bad:
                self.assertEqual(Client(server, frame).status(), BAD_FRAME, frame)
            server.until(bad_frame=len(bad))
            for _ in range(300): # some begin like a valid request
                begin = rng.choice((b"", b"\1", b"\1\1", HEADER.pack(1, 1, rng.randrange(256), 0, 9)))
                client = Client(server)
                with contextlib.suppress(ConnectionError):
                    client.send(begin + rng.randbytes(rng.randrange(100)))
                client.close()
            server.until(active=0, waiting=0, rooms=0)
            self.swap(server)

    # ---- Clients that leave

    def test_never_pairs_a_client_that_has_left(self):
        frame = request(b"room", b"message")
        for leave, status in ((Client.close, None), (Client.reset, None), (Client.hang_up_half, DISCONNECTED),
                              (lambda client: client.send(b"!"), BAD_FRAME)):
            with Server() as server:
                for size in range(len(frame) + 1): # after any byte
                    if status == BAD_FRAME and size != len(frame):
                        continue
                    client = Client(server, frame[:size])
                    server.until(active=1, waiting=int(size == len(frame)))
                    leave(client)
                    if status:
                        self.assertEqual(client.status(), status)
                    server.until(active=0, rooms=0)
                self.swap(server)
                one = Client(server, request(b"room", b"one"))
                server.until(waiting=1)
                leave(Client(server, request(b"room", b"other"))) # too late: a partner has waited
                self.assertEqual(one.reply(), (EXCHANGED, b"other"))

    # ---- Too many connections, and too few descriptors or bytes

    def test_rejects_connections_at_the_limit_until_others_leave(self):
        with Server("--max-connections=3") as server:
            clients = [Client(server, request(b"%d" % i, b"first")) for i in range(3)]
            server.until(waiting=3)
            for _ in range(100):
                self.assertEqual(Client(server).status(), BUSY)
            clients[0].close()
            server.until(refused=100, active=2)
            self.assertEqual(Client(server, request(b"1", b"second")).reply(), (EXCHANGED, b"first"))
            self.assertEqual(clients[1].reply(), (EXCHANGED, b"second"))

    def test_descriptors_run_out(self):
        with Server("--admin-port=0", files=64) as server:
            clients = [Client(server, request(b"%d" % i, b"first")) for i in range(80)]
            inside = server.until(pauses=lambda count: count >= 3)["waiting"]
            self.assertLess(inside, 64)
            server.until_page("/readyz", 503, "descriptors")
            self.assertEqual(server.get("/livez"), (200, "ok\n"))
            for begin, end in ((0, inside // 2), (inside // 2, 79)): # those in the queue come in as others leave
                for client in clients[begin:end]:
                    client.close()
                server.until(disconnected=end, waiting=min(80 - end, inside))
            server.until_page("/readyz", 200)
            self.assertEqual(Client(server, request(b"79", b"second")).reply(), (EXCHANGED, b"first"))
            self.assertEqual(clients[79].reply(), (EXCHANGED, b"second"))

    @unittest.skipUnless("--preload" in sys.argv, "needs --preload, which does not work with sanitizers")
    def test_survives_errors_of_accept(self):
        scarce = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPERM)
        aborted = (errno.ECONNABORTED, errno.EPROTO)
        fail = {"LD_PRELOAD": chosen.preload, "ACCEPT_ERRORS": " ".join(str(number) for number in scarce + aborted)}
        with Server(environment=fail) as server:
            # Clients queued behind those that are lost must not have to wait until others connect.
            server.signal(signal.SIGSTOP)
            lost = [Client(server) for _ in aborted]
            one, other = Client(server, request(b"room", b"one")), Client(server, request(b"room", b"other"))
            server.signal(signal.SIGCONT)
            self.assertEqual((one.reply(), other.reply()), ((EXCHANGED, b"other"), (EXCHANGED, b"one")))
            for client in lost:
                self.assertRaises((ConnectionError, EOFError), client.status)
            last = server.stop()
            self.assertEqual((last["accepted"], last["pauses"]), (2, len(scarce)))
        with Server("--admin-port=0", environment=fail) as server:
            def is_alive():
                with contextlib.suppress(ConnectionError, IndexError): # the first connections are lost
                    return server.get("/livez") == (200, "ok\n")
            until(is_alive, lambda: "/livez is not ok")

    def test_the_memory_of_large_messages(self):
        if chosen.sanitizer:
            self.skipTest("sanitizers need more memory")
        with Server("--max-message=1000000000", memory=400_000_000) as server:
            before = server.memory()
            one = Client(server, request(b"room", b"one"))
            many = [Client(server, request(b"%d" % i, bytes(3_000_000))) for i in range(30)]
            server.until(waiting=31)
            client = Client(server, HEADER.pack(1, 1, 4, 0, 1_000_000_000) + b"room")
            while not client.is_readable(0):
                client.send(bytes(65536))
            self.assertEqual(client.status(), FAILED)
            self.assertEqual(Client(server, request(b"room", bytes(LARGE))).reply(), (EXCHANGED, b"one"))
            self.assertEqual(one.reply(), (EXCHANGED, bytes(LARGE)))
            for client in many:
                client.close()
            server.until(active=0)
            self.returns_memory(server, before, 10)

    # ---- Shutdown

    def test_shutdown_closes_clients_that_wait_send_or_have_just_connected(self):
        frame = request(b"room", b"message")
        for number, options, kind in ((signal.SIGTERM, (), request), (signal.SIGINT, ("--red-blue",), ask)):
            with Server("--receive-time=1000", *options) as server:
                clients = [Client(server, kind(b"room %d" % i)) for i in range(1000)]
                clients += [Client(server, frame[:size]) for size in range(len(frame) if kind is request else 8)]
                server.until(waiting=1000, active=len(clients))
                server.signal(signal.SIGSTOP)
                late = [Client(server) for _ in range(20)]
                server.signal(number)
                server.signal(signal.SIGCONT)
                for client in clients:
                    self.assertEqual(client.status(), CLOSED)
                notified = 0
                for client in late:
                    with contextlib.suppress(ConnectionError):
                        self.assertEqual(client.status(), CLOSED)
                        notified += 1
                self.assertEqual(server.ended()["accepted"], len(clients) + notified)
                self.assertRaises(ConnectionRefusedError, Client, server)

    def test_shutdown_completes_replies_that_have_begun(self):
        with Server(f"--max-message={LARGE}", "--admin-port=0", "--send-time=1000") as server:
            lazy = self.lazy_client(server)
            server.signal(signal.SIGTERM)
            server.until_page("/readyz", 503, "shutting down")
            server.signal(signal.SIGUSR1)
            self.assertEqual(server.get("/livez"), (200, "ok\n"))
            self.assertEqual(lazy.reply(), (EXCHANGED, bytes(LARGE)))
            self.assertEqual(server.ended()["exchanged"], 2)

    def test_shutdown_takes_no_longer_than_the_send_time_or_the_second_signal(self):
        for send_time in (2, 1000):
            with Server("--receive-time=1000", "--wait-time=1000", f"--send-time={send_time}",
                        f"--max-message={LARGE}") as server:
                self.lazy_client(server)
                Client(server, request(b"another room")) # does not hang up after its reply
                server.until(active=2, waiting=1)
                start = time.monotonic()
                server.signal(signal.SIGTERM)
                if send_time == 2:
                    self.assertEqual((server.ended()["undelivered"]), 1)
                else:
                    with self.assertRaises(ConnectionError): # once the server no longer listens
                        while True:
                            Client(server).status()
                    server.signal(signal.SIGTERM)
                    self.assertEqual(server.process.wait(TIMEOUT), -signal.SIGTERM)
                self.assertLess(time.monotonic() - start, 2 + TIMEOUT / 3)

    # ---- The administrator's pages

    def test_health_under_idle_connections(self):
        with Server("--admin-port=0") as server:
            self.swap(server)
            idle, times, end = [], [], time.monotonic() + 5
            while time.monotonic() < end:
                for each in list(idle): # renewed as soon as the server ends them
                    with contextlib.suppress(BlockingIOError):
                        each.recv(1)
                        each.close()
                        idle.remove(each)
                while len(idle) < 16:
                    idle.append(self.enterContext(socket.create_connection(server.admin, TIMEOUT)))
                    idle[-1].setblocking(False)
                start = time.monotonic()
                self.assertEqual(server.get("/livez"), (200, "ok\n"))
                times.append(time.monotonic() - start)
            self.assertLess(statistics.median(times), 1) # as long as Kubernetes waits
            self.assertEqual(server.get("/readyz"), (200, "ok\n"))
            self.assertIn("\npairing_exchanged 2\n", server.get("/metrics")[1])

    def test_lists_who_waits(self):
        with Server("--admin-port=0") as server:
            self.assertEqual(server.get("/waiters"), (200, "0 parties wait\n\n"))
            waiting = [Client(server, request(room)) for room in (b"one\nroom", b"two")]
            server.until(waiting=2, rooms=2)
            text = server.get("/waiters")[1]
            self.assertRegex(text, r"\A2 parties wait\n(1 at .* for \d+\.\d{3} s, .*local_room\.cpp:\d+ in .*\n){2}\n\Z")
            self.assertIn("1 at one?room for ", text)
            del waiting

    def test_refuses_other_requests_of_http(self):
        with Server("--admin-port=0") as server:
            self.assertEqual(server.get("/livez", "Host: a\r\nHost: b\r\n")[0], 400)
            self.assertEqual(server.get("/livez", "")[0], 400)
            self.assertEqual(server.get("/other")[0], 404)
            with socket.create_connection(server.admin, TIMEOUT) as connection:
                connection.sendall(b"POST /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n")
                self.assertTrue(connection.recv(100).startswith(b"HTTP/1.1 405 "))
            again = run(chosen.server, f"--admin-port={server.admin[1]}")
            self.assertEqual(again.returncode, 1)
            self.assertIn(b"cannot listen on 127.0.0.1 port", again.stderr)

    # ---- The command lines and the client

    def run_client(self, port, *arguments, **more):
        return run(chosen.client, "--port", port, *arguments, **(more or {"input": b""}))

    def test_invalid_options(self):
        with Server() as server:
            self.assertEqual(server.host, "127.0.0.1")
            for status, option in ((1, f"--port={server.port}"), (1, "--address=192.0.2.1"), (2, "--address=nowhere"),
                                   (2, "--threads=0"), (2, "--max-message=-1"), (2, "--wait-time=nan"), (2, "--nonsense")):
                done = run(chosen.server, option)
                self.assertEqual(done.returncode, status, option)
                self.assertNotEqual(done.stderr, b"")

    def test_two_clients_swap_files(self):
        mine, theirs = os.urandom(4_000_000), os.urandom(300)
        for options, one, other in (((), (), ()), (("--red-blue",), ("--ask",), ("--answer",))):
            with Server("--max-message=4000000", *options) as server, tempfile.TemporaryFile() as file:
                file.write(theirs)
                file.seek(0)
                with subprocess.Popen([chosen.client, "--port", str(server.port), "room", *one], stdin=file,
                                      stdout=subprocess.PIPE) as first:
                    server.until(waiting=1)
                    second = self.run_client(server.port, "room", *other, "--timeout=1000", input=mine)
                    self.assertEqual((second.returncode, second.stdout), (0, theirs), second.stderr)
                    self.assertTrue(first.stdout.read() == mine)
                    self.assertEqual(first.wait(TIMEOUT), 0)

    def test_each_failure_of_the_client_has_its_exit_status(self):
        with Server("--wait-time=1", "--max-message=10") as server:
            for status, arguments, message in (
                    (10 + TIMED_OUT, ["room"], b""), (10 + TOO_LARGE, ["room"], bytes(1_000_000)), (10 + TOO_LARGE, ["x" * 100], b""),
                    (2, [""], b""), (2, ["room", "--ask", "--answer"], b""), (2, ["room", "--timeout=0"], b""),
                    (3, ["room", "--host", "no.invalid"], b""), (4, ["room", "--timeout=0.1"], b"")):
                done = self.run_client(server.port, *arguments, input=message)
                self.assertEqual((done.returncode, done.stdout), (status, b""), (arguments, done.stderr))
                self.assertNotEqual(done.stderr, b"")
        with Server() as server, open("/dev/full", "wb") as full:
            Client(server, request(b"room", b"theirs"))
            server.until(waiting=1)
            folder = os.open("/", os.O_RDONLY) # which cannot be read
            self.addCleanup(os.close, folder)
            for streams in {"input": b"", "stdout": full}, {"stdin": folder}:
                self.assertEqual(self.run_client(server.port, "room", **streams).returncode, 1)

    def test_servers_that_lie_to_the_client(self):
        for reply, status, why in ((HEADER.pack(1, EXCHANGED, 0, 0, 10) + b"half", 3, b"End of file"),
                                   (HEADER.pack(1, EXCHANGED, 0, 0, 2**32 - 1), 3, b"End of file"),
                                   (b"HTTP/1.1 400 Bad Request\r\n\r\n", 3, b"not of this protocol"), (b"", 3, b"End of file"),
                                   (HEADER.pack(1, BUSY, 0, 0, len(HOSTILE)) + HOSTILE, 10 + BUSY, SHOWN)):
            listener = self.enterContext(socket.create_server(("127.0.0.1", 0)))
            listener.settimeout(TIMEOUT)
            with subprocess.Popen([chosen.client, "--port", str(listener.getsockname()[1]), "room"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE) as client:
                with listener.accept()[0] as accepted:
                    self.assertEqual(accepted.recv(len(request(b"room")), socket.MSG_WAITALL), request(b"room"))
                    accepted.sendall(reply)
                self.assertIn(why, client.stderr.read())
                self.assertEqual((client.stdout.read(), client.wait(TIMEOUT)), (b"", status))

    def test_a_message_cannot_control_a_terminal(self):
        with Server() as server:
            Client(server, request(b"room", HOSTILE))
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
    main(PairingServer, __doc__.splitlines()[0])
