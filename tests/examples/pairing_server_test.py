#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests pairing_server over real sockets, with a client that shares no code with it.

usage: pairing_server_test.py --server BINARY [options] [TEST...]
"""

import contextlib
import errno
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True # keeps the source tree clean

from pairing_support import (
    BAD_FRAME, BUSY, CLOSED, DISCONNECTED, EXCHANGED, FAILED, FORBIDDEN, HEADER, HEALTH_REQUEST,
    NO_SIDES, NOTIFIED, SIDE_NEEDED, SLOW, STATISTICS, STATISTICS_REQUEST, TIMED_OUT, TIMEOUT,
    TOO_LARGE, Client, Server, answer, ask, checked, chosen, close_room, item, main, notice, request)


def address_of_this_machine():
    """Returns an address other than the loopback address, or None."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9)) # sends nothing; chooses the address of this end
        except OSError:
            return None
        return probe.getsockname()[0]


def has_ipv6():
    with socket.socket(socket.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            return False
        return True


class PairingServer(unittest.TestCase):
    def swap(self, server, room=b"room", size=100):
        """Checks that two clients get each other's message."""
        mine, theirs = item(f"mine {time.monotonic_ns()}", size), item("theirs", size)
        with Client(server, request(room, mine)) as one:
            with Client(server, request(room, theirs)) as other:
                self.assertEqual(one.reply(), (EXCHANGED, theirs))
                self.assertEqual(other.reply(), (EXCHANGED, mine))

    # ---- Pairing

    def test_pairs_thousands_of_clients_in_as_many_rooms(self):
        count = chosen.clients
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        if hard != resource.RLIM_INFINITY and hard < 2 * count + 100:
            count = (hard - 100) // 2
            print(f"testing only {count} of {chosen.clients}: the limit of descriptors is {hard}")
        many = str(2 * count + 10)
        limits = [f"--max-{name}={many}" for name in
                  ("rooms", "waiting", "connections", "connections-per-address")]
        with Server(*limits, "--receive-time=60", "--send-time=60") as server, \
                contextlib.ExitStack() as all_of_them:
            before = server.memory()
            first = [all_of_them.enter_context(
                Client(server, request(b"room %d" % i, item(("first", i), 50 + i % 500))))
                for i in range(count)]
            server.until(waiting=count, rooms=count)
            after = server.memory()
            print(f"{count} waiting clients take {after:.1f} MB, none take {before:.1f} MB")
            if chosen.memory:
                self.assertLess(after, chosen.memory)
            second = [all_of_them.enter_context(
                Client(server, request(b"room %d" % i, item(("second", i), 50 + i % 300))))
                for i in range(count)]
            for i in range(count):
                self.assertEqual(first[i].reply(), (EXCHANGED, item(("second", i), 50 + i % 300)))
                self.assertEqual(second[i].reply(), (EXCHANGED, item(("first", i), 50 + i % 500)))
            server.until(exchanged=2 * count, active=0, rooms=0, waiting=0)

    def test_clients_in_one_room_get_each_others_messages(self):
        count = min(1000, chosen.clients)
        with Server() as server, contextlib.ExitStack() as all_of_them:
            clients = [all_of_them.enter_context(Client(server, request(b"room", b"%d" % i)))
                       for i in range(count)]
            got = []
            for client in clients:
                status, body = client.reply()
                self.assertEqual(status, EXCHANGED)
                got.append(int(body))
            for own, other in enumerate(got):
                self.assertNotEqual(own, other)
                self.assertEqual(got[other], own)
            server.until(exchanged=count, active=0)

    def test_delivers_messages_of_all_sizes(self):
        with Server("--max-message=9000000") as server:
            for size in (0, 1, 4095, 4096, 4097, 65536, 200000, 9000000):
                with Client(server, request(b"room", item("a", size))) as one:
                    # A different size, so that mixed-up messages would be noticed.
                    with Client(server, request(b"room", item("b", size // 2 + 1))) as other:
                        self.assertEqual(other.reply(), (EXCHANGED, item("a", size)))
                        self.assertEqual(one.reply(), (EXCHANGED, item("b", size // 2 + 1)))

    def test_pairs_only_clients_of_the_same_room(self):
        with Server() as server:
            with Client(server, request(b"a", b"1")) as a, Client(server, request(b"b", b"2")) as b:
                server.until(waiting=2, rooms=2)
                with Client(server, request(b"b", b"3")) as c:
                    self.assertEqual((b.reply(), c.reply()), ((EXCHANGED, b"3"), (EXCHANGED, b"2")))
                server.until(waiting=1, rooms=1)
                with Client(server, request(b"a", b"4")) as d:
                    self.assertEqual((a.reply(), d.reply()), ((EXCHANGED, b"4"), (EXCHANGED, b"1")))

    def test_room_names_may_contain_any_bytes(self):
        names = (b"\0", b"\0\0", b"a\0b", b"a\0c", "k\u00f6k".encode(), b"\xff" * 254 + b"\xfe",
                 b"\xff" * 255)
        with Server("--max-room-name=255") as server, contextlib.ExitStack() as stack:
            first = [stack.enter_context(Client(server, request(name, b"%d" % i)))
                     for i, name in enumerate(names)]
            server.until(waiting=len(names), rooms=len(names))
            for i, name in enumerate(names):
                with Client(server, request(name, b"to %d" % i)) as second:
                    self.assertEqual(second.reply(), (EXCHANGED, b"%d" % i))
                self.assertEqual(first[i].reply(), (EXCHANGED, b"to %d" % i))

    def test_reports_that_no_partner_came_in_time(self):
        with Server("--wait-time=0.3") as server:
            start = time.monotonic()
            with Client(server, request(b"room")) as client:
                self.assertEqual(client.status(), TIMED_OUT)
            self.assertGreaterEqual(time.monotonic() - start, 0.3)
            server.until(timed_out=1, rooms=0, waiting=0)
            self.swap(server)

    # ---- Two sides

    def test_pairs_clients_that_ask_only_with_clients_that_answer(self):
        for first, then in ((ask, answer), (answer, ask)):
            with Server("--red-blue") as server, contextlib.ExitStack() as stack:
                waiting = []
                for i in range(5):
                    waiting.append(stack.enter_context(Client(server, first(b"room", b"%d" % i))))
                    server.until(waiting=i + 1, asking=i + 1 if first is ask else 0, rooms=1)
                for i in range(5): # in the order of arrival
                    with Client(server, then(b"room", b"to %d" % i)) as client:
                        self.assertEqual(client.reply(), (EXCHANGED, b"%d" % i))
                    self.assertEqual(waiting[i].reply(), (EXCHANGED, b"to %d" % i))
                server.until(waiting=0, asking=0, rooms=0, exchanged=10, active=0)

    def test_many_clients_of_two_sides_get_each_others_messages(self):
        count = min(500, chosen.clients // 2)
        with Server("--red-blue") as server, contextlib.ExitStack() as all_of_them:
            sides = [ask] * count + [answer] * count
            random.Random(3).shuffle(sides)
            clients = [all_of_them.enter_context(Client(server, side(b"room", b"%d" % i)))
                       for i, side in enumerate(sides)]
            got = []
            for client in clients:
                status, body = client.reply()
                self.assertEqual(status, EXCHANGED)
                got.append(int(body))
            for own, other in enumerate(got):
                self.assertIsNot(sides[own], sides[other])
                self.assertEqual(got[other], own)
            server.until(exchanged=2 * count, active=0, rooms=0)

    def test_reports_a_missing_or_unexpected_side(self):
        with Server("--red-blue") as server:
            with Client(server, ask(b"room", b"1")) as asking:
                server.until(waiting=1)
                with Client(server, request(b"room")) as client:
                    self.assertEqual(client.status(), SIDE_NEEDED)
                with Client(server, answer(b"room", b"2")) as client:
                    self.assertEqual(client.reply(), (EXCHANGED, b"1"))
                self.assertEqual(asking.reply(), (EXCHANGED, b"2"))
            self.assertEqual(server.stop()["side_needed"], 1)
        with Server() as server:
            with Client(server, request(b"room", b"1")) as waiting:
                server.until(waiting=1)
                for side in (ask, answer):
                    with Client(server, side(b"room")) as client:
                        self.assertEqual(client.status(), NO_SIDES)
                with Client(server, request(b"room", b"2")) as client:
                    self.assertEqual(client.reply(), (EXCHANGED, b"1"))
                self.assertEqual(waiting.reply(), (EXCHANGED, b"2"))
            self.assertEqual(server.stop()["no_sides"], 2)

    def test_clients_that_leave_do_not_change_the_order_of_the_others(self):
        with Server("--red-blue") as server, contextlib.ExitStack() as stack:
            asking = []
            for i in range(100):
                asking.append(stack.enter_context(Client(server, ask(b"room", b"%d" % i))))
                server.until(waiting=i + 1)
            for i in range(100):
                if i % 5:
                    (Client.close, Client.reset)[i % 2](asking[i])
            server.until(waiting=20, disconnected=80, rooms=1)
            for i in range(0, 100, 5):
                with Client(server, answer(b"room")) as client:
                    self.assertEqual(client.reply(), (EXCHANGED, b"%d" % i))
            server.until(rooms=0)

    def test_an_answer_waits_no_longer_than_the_wait_time(self):
        with Server("--red-blue", "--wait-time=0.3") as server:
            with Client(server, answer(b"room")) as one, Client(server, answer(b"room")) as other:
                self.assertEqual((one.status(), other.status()), (TIMED_OUT, TIMED_OUT))
            server.until(timed_out=2, waiting=0, rooms=0)

    def test_limits_waiting_clients_per_room(self):
        with Server("--red-blue", "--max-waiting-per-room=2") as server, \
                contextlib.ExitStack() as stack:
            asking = [stack.enter_context(Client(server, ask(b"a", b"%d" % i))) for i in range(2)]
            server.until(waiting=2)
            with Client(server, ask(b"a")) as client:
                self.assertEqual(client.status(), BUSY)
            stack.enter_context(Client(server, ask(b"b", b"elsewhere")))
            server.until(waiting=3, rooms=2)
            got = set()
            for _ in range(2): # at the limit, a client can still be paired with a waiting one
                with Client(server, answer(b"a", b"yes")) as client:
                    got.add(client.reply())
            self.assertEqual(got, {(EXCHANGED, b"0"), (EXCHANGED, b"1")})
            for client in asking:
                self.assertEqual(client.reply(), (EXCHANGED, b"yes"))
            server.until(busy=1, waiting=1, rooms=1)

    def test_shutdown_notifies_both_sides(self):
        with Server("--red-blue") as server, contextlib.ExitStack() as stack:
            waiting = [stack.enter_context(Client(
                server, (ask, answer)[i % 2](b"room %d" % (i % 7 * 2 + i % 2))))
                for i in range(100)]
            server.until(waiting=100, rooms=14, asking=50)
            server.signal(signal.SIGTERM)
            for client in waiting:
                self.assertEqual(client.status(), CLOSED)
            self.assertEqual(server.ended()["closed"], 100)

    # ---- Slow senders and readers

    def test_a_request_may_arrive_byte_by_byte(self):
        with Server() as server, Client(server) as one:
            for byte in request(b"room", b"slowly"):
                one.send(bytes([byte]))
            server.until(waiting=1)
            with Client(server, request(b"room", b"fast")) as other:
                self.assertEqual(other.reply(), (EXCHANGED, b"slowly"))
                self.assertEqual(one.reply(), (EXCHANGED, b"fast"))

    def test_single_bytes_do_not_extend_the_receive_deadline(self):
        with Server("--receive-time=0.5") as server, Client(server) as client:
            start = time.monotonic()
            frame = request(b"room", bytes(10000))
            for byte in frame:
                if client.is_readable(0.02):
                    break
                client.send(bytes([byte]))
            self.assertEqual(client.status(), SLOW)
            self.assertGreaterEqual(time.monotonic() - start, 0.5)
            server.until(slow=1, active=0)

    def test_slow_senders_time_out_without_delaying_others(self):
        with Server("--receive-time=3") as server, contextlib.ExitStack() as stack:
            start = time.monotonic()
            slow = [stack.enter_context(Client(server)) for _ in range(200)]
            for byte in request(b"room", bytes(1000)):
                for client in slow:
                    client.send(bytes([byte]))
                self.swap(server, room=b"room")
                if slow[0].is_readable(1):
                    break
            for client in slow:
                self.assertEqual(client.status(), SLOW)
            self.assertGreaterEqual(time.monotonic() - start, 3)
            self.assertLess(time.monotonic() - start, 3 + TIMEOUT / 3)
            server.until(slow=200, active=0)

    def test_a_silent_client_times_out(self):
        with Server("--receive-time=0.2") as server, Client(server) as client:
            self.assertEqual(client.status(), SLOW)

    def test_a_client_that_does_not_read_its_reply_does_not_delay_its_partner(self):
        with Server("--send-time=0.5", "--max-message=32000000") as server:
            with Client(server, request(b"room", b"small"), receive_buffer=4096) as lazy:
                server.until(waiting=1)
                with Client(server, request(b"room", bytes(32000000))) as other:
                    self.assertEqual(other.reply(), (EXCHANGED, b"small"))
                server.until(exchanged=1, undelivered=1, active=0)
                lazy.close()

    # ---- Invalid requests

    def test_refuses_too_large_requests_after_the_header(self):
        with Server("--max-message=1000", "--max-room-name=10") as server:
            for frame in (HEADER.pack(1, 1, 4, 0, 1001), HEADER.pack(1, 1, 4, 0, 0xFFFFFFFF),
                          HEADER.pack(1, 1, 11, 0, 0), HEADER.pack(1, 1, 255, 0, 1)):
                with Client(server, frame) as client:
                    self.assertEqual(client.status(), TOO_LARGE)
            self.swap(server, room=b"0123456789", size=1000) # exactly the limits
            server.until(too_large=4)

    def test_a_client_that_keeps_sending_gets_the_refusal(self):
        with Server("--max-message=1000") as server:
            with Client(server, request(b"room", bytes(3000000))) as client:
                self.assertEqual(client.status(), TOO_LARGE)

    def test_refuses_malformed_requests(self):
        with Server() as server:
            bad = (b"GET / HTTP/1.1\r\n\r\n",
                   HEADER.pack(0, 1, 1, 0, 0), HEADER.pack(2, 1, 1, 0, 0),
                   HEADER.pack(1, 0, 1, 0, 0), HEADER.pack(1, 5, 1, 0, 0),
                   HEADER.pack(1, 1, 1, 1, 0), HEADER.pack(1, 1, 0, 0, 5),
                   HEADER.pack(1, 2, 1, 0, 0), HEADER.pack(1, 2, 0, 0, 1),
                   HEADER.pack(1, 3, 0, 0, 0), HEADER.pack(1, 4, 0, 0, 1),
                   HEADER.pack(1, 6, 1, 0, 0), HEADER.pack(1, 7, 0, 0, 0),
                   HEADER.pack(1, 7, 1, 0, 1), HEADER.pack(1, 8, 1, 0, 0))
            for frame in bad:
                with Client(server, frame) as client:
                    self.assertEqual(client.status(), BAD_FRAME, frame)
            server.until(bad_frame=len(bad))
            self.swap(server)

    def test_survives_random_bytes(self):
        rng = random.Random(1)
        with Server("--max-message=1000", "--receive-time=5") as server:
            for _ in range(500):
                # Some begin like a valid request.
                begin = rng.choice(
                    (b"", b"\1", b"\1\1", HEADER.pack(1, 1, rng.randrange(256), 0, 9)))
                with Client(server) as client:
                    with contextlib.suppress(ConnectionError):
                        client.send(begin + rng.randbytes(rng.randrange(100)))
                        if rng.random() < 0.5:
                            client.reset()
            server.until(active=0, waiting=0, rooms=0)
            self.swap(server)

    def test_bytes_after_a_request_withdraw_it(self):
        with Server() as server:
            with Client(server, request(b"room", b"one")) as client:
                server.until(waiting=1)
                client.send(b"!")
                self.assertEqual(client.status(), BAD_FRAME)
            with Client(server, request(b"room", b"two") + b"!") as client:
                self.assertEqual(client.status(), BAD_FRAME)
            server.until(bad_frame=2, waiting=0, rooms=0)
            self.swap(server)

    # ---- Clients that disconnect

    def test_a_client_may_disconnect_after_any_byte(self):
        frame = request(b"room", b"message")
        for leave in (Client.close, Client.reset):
            with Server() as server:
                for size in range(len(frame)):
                    leave(Client(server, frame[:size]))
                server.until(disconnected=len(frame), active=0, rooms=0)
                self.swap(server)

    def test_never_pairs_a_client_that_has_disconnected(self):
        for leave in (Client.close, Client.reset, Client.hang_up_half):
            with Server() as server:
                ghost = Client(server, request(b"room", b"ghost"))
                server.until(waiting=1)
                leave(ghost)
                server.until(disconnected=1, waiting=0, rooms=0)
                with Client(server, request(b"room", b"one")) as one:
                    server.until(waiting=1)
                    with Client(server, request(b"room", b"other")) as other:
                        self.assertEqual(one.reply(), (EXCHANGED, b"other"))
                        self.assertEqual(other.reply(), (EXCHANGED, b"one"))
                ghost.close()

    def test_a_half_closed_connection_gets_the_status_disconnected(self):
        frame = request(b"room", b"message")
        with Server() as server:
            for size in range(len(frame) + 1):
                with Client(server, frame[:size]) as client:
                    if size == len(frame):
                        server.until(waiting=1)
                    client.hang_up_half()
                    self.assertEqual(client.status(), DISCONNECTED)
            server.until(disconnected=len(frame) + 1, active=0, rooms=0)

    def test_a_half_closed_connection_is_paired_if_a_partner_is_waiting(self):
        with Server() as server, Client(server, request(b"room", b"one")) as one:
            server.until(waiting=1)
            with Client(server, request(b"room", b"other")) as other:
                other.hang_up_half()
                self.assertEqual(other.reply(), (EXCHANGED, b"one"))
            self.assertEqual(one.reply(), (EXCHANGED, b"other"))

    def test_survives_clients_that_disconnect_before_they_are_accepted(self):
        with Server() as server:
            server.signal(signal.SIGSTOP)
            for i in range(100):
                client = Client(server, request(b"room") if i % 4 < 2 else b"")
                (Client.close, Client.reset)[i % 2](client)
            server.signal(signal.SIGCONT)
            last = server.until(accepted=100, active=0, rooms=0)
            self.assertEqual(last["disconnected"] + last["undelivered"] + last["exchanged"], 100)
            self.swap(server)

    def test_random_disconnections_duplicate_no_message(self):
        rng = random.Random(4)
        count = min(2000, chosen.clients)
        with Server() as server, contextlib.ExitStack() as stack:
            staying, leaving = {}, []
            for i in range(count):
                client = Client(server, request(b"room %d" % rng.randrange(5), b"%d" % i))
                if rng.random() < 0.6:
                    staying[i] = stack.enter_context(client)
                else:
                    leaving.append(client)
                if leaving and rng.random() < 0.4:
                    leaver = leaving.pop(rng.randrange(len(leaving)))
                    rng.choice((Client.close, Client.reset))(leaver)
            for client in leaving:
                rng.choice((Client.close, Client.reset))(client)
            server.until(accepted=count)
            server.signal(signal.SIGTERM)
            got = {}
            for i, client in staying.items():
                status, body = client.reply()
                self.assertIn(status, (EXCHANGED, CLOSED))
                if status == EXCHANGED:
                    got[i] = int(body)
            self.assertEqual(len(set(got.values())), len(got), "a message was delivered twice")
            for own, other in got.items():
                self.assertNotEqual(own, other)
                if other in staying: # a client with the status CLOSED has kept its message
                    self.assertEqual(got.get(other), own)
            self.assertGreater(len(got), count / 4)
            self.assertLess(len(got), len(staying) + len(leaving))
            last = server.ended()
            self.assertGreater(last["disconnected"], 0)

    def test_a_client_may_disconnect_during_its_reply(self):
        with Server("--max-message=32000000") as server:
            client = Client(server, request(b"room", b"small"), receive_buffer=4096)
            server.until(waiting=1)
            with Client(server, request(b"room", bytes(32000000))) as other:
                self.assertEqual(other.reply(), (EXCHANGED, b"small"))
            self.assertTrue(client.is_readable(TIMEOUT)) # the reply has begun
            client.reset()
            server.until(exchanged=1, undelivered=1, active=0)

    def test_a_storm_of_reconnections_leaves_no_rooms_or_sessions(self):
        rng = random.Random(2)
        storm = min(3000, chosen.clients)
        with Server() as server:
            for i in range(storm):
                frame = request(b"room %d" % rng.randrange(3), item(i, rng.randrange(5000)))
                client = Client(server, frame[:rng.choice((len(frame), rng.randrange(len(frame))))])
                rng.choice((Client.close, Client.reset))(client)
            server.until(active=0, waiting=0, rooms=0)
            for room in range(3):
                self.swap(server, room=b"room %d" % room)

    # ---- Limits

    def test_at_the_limit_of_rooms_existing_rooms_still_work(self):
        with Server("--max-rooms=2") as server, contextlib.ExitStack() as stack:
            a = stack.enter_context(Client(server, request(b"a", b"1")))
            stack.enter_context(Client(server, request(b"b", b"2")))
            server.until(rooms=2, waiting=2)
            with Client(server, request(b"c")) as client:
                self.assertEqual(client.status(), BUSY)
            with Client(server, request(b"a", b"3")) as client:
                self.assertEqual((a.reply(), client.reply()),
                                 ((EXCHANGED, b"3"), (EXCHANGED, b"1")))
            server.until(rooms=1)
            self.swap(server, room=b"c")

    def test_at_the_limit_of_waiting_clients_those_that_wait_are_still_paired(self):
        with Server("--max-waiting=2") as server, contextlib.ExitStack() as stack:
            a = stack.enter_context(Client(server, request(b"a", b"1")))
            stack.enter_context(Client(server, request(b"b", b"2")))
            server.until(waiting=2)
            for room in (b"c", b"d"):
                with Client(server, request(room)) as client:
                    self.assertEqual(client.status(), BUSY)
            with Client(server, request(b"a", b"3")) as client:
                self.assertEqual((a.reply(), client.reply()),
                                 ((EXCHANGED, b"3"), (EXCHANGED, b"1")))
            server.until(busy=2, waiting=1, rooms=1)

    def test_rejects_connections_at_the_limit_until_others_leave(self):
        for limit in ("--max-connections=3", "--max-connections-per-address=3"):
            with Server(limit) as server, contextlib.ExitStack() as stack:
                clients = [stack.enter_context(Client(server, request(b"%d" % i, b"first")))
                           for i in range(3)]
                server.until(waiting=3)
                with Client(server) as client:
                    self.assertEqual(client.status(), BUSY)
                clients[0].close()
                server.until(refused=1, active=2)
                with Client(server, request(b"1", b"second")) as client:
                    self.assertEqual(client.reply(), (EXCHANGED, b"first"))
                self.assertEqual(clients[1].reply(), (EXCHANGED, b"second"))

    def test_limits_connections_of_each_address_separately(self):
        with Server("--max-connections-per-address=1") as server, \
                Client(server, request(b"room", b"one")) as one:
            server.until(waiting=1)
            with Client(server) as client:
                self.assertEqual(client.status(), BUSY)
            with Client(server, request(b"room", b"other"), source="127.0.0.2") as other:
                self.assertEqual(other.reply(), (EXCHANGED, b"one"))
            self.assertEqual(one.reply(), (EXCHANGED, b"other"))
            server.until(refused=1, active=0)

    def test_serves_ipv6_with_the_same_limits(self):
        if not has_ipv6():
            self.skipTest("no IPv6")
        with Server("--address=::1", "--max-connections-per-address=2") as server:
            self.assertEqual(server.host, "::1")
            self.swap(server)
            server.until(active=0)
            with Client(server, request(b"a")), Client(server, request(b"b")):
                server.until(waiting=2)
                with Client(server) as client:
                    self.assertEqual(client.status(), BUSY)
            server.until(active=0)
            with Client(server, STATISTICS_REQUEST) as client:
                self.assertEqual(client.reply()[0], STATISTICS)

    def test_recognises_ipv4_clients_on_a_dual_stack_socket(self):
        if not has_ipv6():
            self.skipTest("no IPv6")
        with Server("--address=::", "--max-connections-per-address=1") as server:
            with Client(server, request(b"room", b"6")) as six:
                server.until(waiting=1)
                server.host = "127.0.0.1"
                with Client(server, request(b"room", b"4")) as four: # counts separately
                    self.assertEqual(four.reply(), (EXCHANGED, b"6"))
                self.assertEqual(six.reply(), (EXCHANGED, b"4"))
            server.until(active=0)
            with Client(server, STATISTICS_REQUEST) as client:
                self.assertEqual(client.reply()[0], STATISTICS)

    def test_listens_on_the_loopback_address_by_default(self):
        with Server() as server:
            self.assertEqual(server.host, "127.0.0.1")
            address = address_of_this_machine()
            if not address:
                self.skipTest("this machine has no address but the loopback address")
            server.host = address
            with self.assertRaises(ConnectionRefusedError):
                Client(server)

    def test_resumes_accepting_when_descriptors_become_free(self):
        with Server(files=64) as server, contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Client(server, request(b"%d" % i, b"first")))
                       for i in range(80)]
            inside = server.until(pauses=lambda count: count >= 3)["waiting"]
            self.assertLess(inside, 64)
            for client in clients[:20]:
                client.close()
            server.until(disconnected=20, waiting=min(60, inside))
            for client in clients[20:40]:
                client.close()
            server.until(waiting=40)
            with Client(server, request(b"79", b"second")) as client:
                self.assertEqual(client.reply(), (EXCHANGED, b"first"))
            self.assertEqual(clients[79].reply(), (EXCHANGED, b"second"))
            self.assertEqual(server.error_output().count("cannot accept connections"), 1)

    def test_survives_a_closed_standard_error(self):
        reader, errors = os.pipe()
        os.close(reader)
        with Server(files=64, errors=os.fdopen(errors, "w")) as server, \
                contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Client(server, request(b"%d" % i))) for i in range(80)]
            server.until(pauses=lambda count: count >= 3)
            for client in clients[:40]:
                client.close()
            server.until(waiting=40)

    def test_survives_errors_of_accept(self):
        if not chosen.preload:
            self.skipTest("needs --preload, which does not work with sanitizers")
        scarce = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPERM)
        aborted = (errno.ECONNABORTED, errno.EPROTO)
        with Server(environment={"LD_PRELOAD": chosen.preload, "ACCEPT_ERRORS": " ".join(
                str(number) for number in scarce + aborted)}) as server:
            # Two connections are lost. The clients queued behind them must not have to wait until
            # other clients connect.
            server.signal(signal.SIGSTOP)
            with contextlib.ExitStack() as stack:
                lost = [stack.enter_context(Client(server)) for _ in aborted]
                one = stack.enter_context(Client(server, request(b"room", b"one")))
                other = stack.enter_context(Client(server, request(b"room", b"other")))
                server.signal(signal.SIGCONT)
                self.assertEqual(one.reply(), (EXCHANGED, b"other"))
                self.assertEqual(other.reply(), (EXCHANGED, b"one"))
                for client in lost:
                    with self.assertRaises((ConnectionError, EOFError)):
                        client.status()
            last = server.stop()
            self.assertEqual((last["accepted"], last["pauses"]), (2, len(scarce)))

    def test_a_message_that_does_not_fit_into_memory_fails_without_affecting_others(self):
        if not chosen.memory:
            self.skipTest("sanitizers need unlimited memory")
        with Server("--max-message=1000000000", memory=100_000_000) as server, \
                Client(server, request(b"room", b"one")) as one:
            server.until(waiting=1)
            with Client(server, HEADER.pack(1, 1, 4, 0, 1_000_000_000) + b"room") as client:
                while not client.is_readable(0):
                    client.send(bytes(65536))
                self.assertEqual(client.status(), FAILED)
            with Client(server, request(b"room", bytes(10_000_000))) as other:
                self.assertEqual(other.reply(), (EXCHANGED, b"one"))
            self.assertEqual(one.reply(), (EXCHANGED, bytes(10_000_000)))
            self.assertEqual(server.stop()["failed"], 1)

    # ---- Statistics

    def test_replies_with_statistics(self):
        with Server() as server:
            self.swap(server)
            server.until(active=0)
            with Client(server, STATISTICS_REQUEST) as client:
                status, line = client.reply()
            self.assertEqual(status, STATISTICS)
            counts = checked(line.decode("ascii"))
            self.assertEqual((counts["accepted"], counts["active"], counts["exchanged"]), (3, 1, 2))
            server.until(statistics=1, active=0)

    def test_refuses_an_administrators_requests_from_other_machines(self):
        address = address_of_this_machine()
        if not address:
            self.skipTest("this machine has no address but the loopback address")
        with Server("--address=0.0.0.0") as server:
            server.host = address
            for refused in (STATISTICS_REQUEST, notice(b"notice"), HEALTH_REQUEST,
                            close_room(b"room")):
                with Client(server, refused) as client:
                    self.assertEqual(client.status(), FORBIDDEN)
            self.swap(server)

    # ---- Notices

    def notify(self, server):
        with Client(server, notice(b"back at noon")) as administrator:
            status, line = administrator.reply()
        self.assertEqual(status, STATISTICS)
        checked(line.decode("ascii"))

    def test_a_notice_ends_all_waits(self):
        for red_blue, to in ((), request), (("--red-blue",), ask), (("--red-blue",), answer):
            with Server(*red_blue) as server, contextlib.ExitStack() as stack:
                clients = [stack.enter_context(Client(server, to(b"room %d" % i, b"mine")))
                           for i in range(100)]
                server.until(waiting=100)
                self.notify(server)
                for client in clients:
                    self.assertEqual(client.reply(), (NOTIFIED, b"back at noon"))
                server.until(active=0, rooms=0)
                with Client(server, to(b"room 0", b"later")) as later:
                    server.until(waiting=1)
                    self.assertFalse(later.is_readable(0))
                self.assertEqual(server.stop()["notified"], 100)

    def test_a_client_gets_either_a_partner_or_a_notice(self):
        with Server() as server:
            for i in range(50):
                with Client(server, request(b"room", b"one")) as one, \
                        Client(server, request(b"room", b"other")) as other:
                    while not (one.is_readable(0) and other.is_readable(0)):
                        self.notify(server)
                    end = (one.reply(), other.reply())
                    self.assertIn(end, (((EXCHANGED, b"other"), (EXCHANGED, b"one")),
                                        ((NOTIFIED, b"back at noon"),) * 2), i)

    # ---- Other requests of an administrator

    def test_closes_a_room(self):
        for red_blue, to in ((), request), (("--red-blue",), ask):
            with Server(*red_blue) as server, contextlib.ExitStack() as stack:
                count = 5
                inside = [stack.enter_context(Client(server, to(b"room", b"mine")))
                          for _ in range(count if red_blue else 1)]
                other = stack.enter_context(Client(server, to(b"other", b"mine")))
                server.until(waiting=len(inside) + 1)
                with Client(server, close_room(b"room")) as administrator:
                    status, line = administrator.reply()
                self.assertEqual(status, STATISTICS)
                checked(line.decode("ascii"))
                for client in inside:
                    self.assertEqual(client.status(), CLOSED)
                server.until(waiting=1, rooms=1, closed=len(inside))
                self.assertFalse(other.is_readable(0))
                # The room is there again, because nobody was left in it.
                stack.enter_context(Client(server, to(b"room", b"later")))
                server.until(waiting=2, rooms=2)
                with Client(server, close_room(b"nobody is here")) as administrator:
                    self.assertEqual(administrator.reply()[0], STATISTICS)

    def test_a_server_without_redis_is_healthy(self):
        with Server() as server:
            with Client(server, HEALTH_REQUEST) as client:
                status, line = client.reply()
            self.assertEqual(status, STATISTICS)
            self.assertNotIn("connected", checked(line.decode("ascii")))

    # ---- Shutdown

    def test_shutdown_notifies_clients_that_wait_or_send(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with Server() as server, contextlib.ExitStack() as stack:
                waiting = [stack.enter_context(Client(server, request(b"room %d" % i)))
                           for i in range(100)]
                frame = request(b"room", b"message")
                sending = [stack.enter_context(Client(server, frame[:size]))
                           for size in range(len(frame))]
                server.until(waiting=100, active=100 + len(frame))
                server.signal(number)
                for client in waiting + sending:
                    self.assertEqual(client.status(), CLOSED)
                last = server.ended()
                self.assertEqual(last["closed"], 100 + len(frame))
                with self.assertRaises(ConnectionRefusedError):
                    Client(server)

    def test_shutdown_notifies_clients_that_have_just_connected(self):
        for _ in range(4): # with two threads, either may get the last client
            with Server("--receive-time=1000") as server, contextlib.ExitStack() as stack:
                server.signal(signal.SIGSTOP)
                clients = [stack.enter_context(Client(server)) for _ in range(50)]
                server.signal(signal.SIGTERM)
                server.signal(signal.SIGCONT)
                notified = 0
                for client in clients:
                    with contextlib.suppress(ConnectionError):
                        self.assertEqual(client.status(), CLOSED)
                        notified += 1
                self.assertEqual(server.ended()["accepted"], notified)

    def test_ignores_sighup_under_nohup(self):
        with Server(ignored=signal.SIGHUP) as server: # as nohup does
            server.signal(signal.SIGHUP)
            self.swap(server)

    def test_shutdown_completes_replies_that_have_begun(self):
        body = item("large", 32000000)
        with Server("--max-message=32000000") as server:
            with Client(server, request(b"room", b"small"), receive_buffer=4096) as lazy:
                server.until(waiting=1)
                with Client(server, request(b"room", body)) as other:
                    self.assertEqual(other.reply(), (EXCHANGED, b"small"))
                self.assertTrue(lazy.is_readable(TIMEOUT))
                server.signal(signal.SIGTERM)
                self.assertEqual(lazy.reply(), (EXCHANGED, body))
            self.assertEqual(server.ended()["exchanged"], 2)

    def test_a_second_signal_kills_the_server(self):
        with Server("--max-message=32000000", "--send-time=1000") as server:
            with Client(server, request(b"room", b"small"), receive_buffer=4096) as lazy:
                server.until(waiting=1)
                with Client(server, request(b"room", bytes(32000000))) as other:
                    self.assertEqual(other.reply(), (EXCHANGED, b"small"))
                self.assertTrue(lazy.is_readable(TIMEOUT))
                server.signal(signal.SIGTERM)
                with self.assertRaises(ConnectionError): # once the server no longer listens
                    while True:
                        Client(server).status()
                server.signal(signal.SIGTERM)
                self.assertEqual(server.process.wait(TIMEOUT), -signal.SIGTERM)

    def test_shutdown_takes_no_longer_than_the_send_time(self):
        send_time = 2
        body = bytes(32000000)
        with Server("--receive-time=1000", "--wait-time=1000", f"--send-time={send_time}",
                    "--max-message=32000000") as server, contextlib.ExitStack() as stack:
            lazy = stack.enter_context(
                Client(server, request(b"room", b"small"), receive_buffer=4096))
            server.until(waiting=1)
            with Client(server, request(b"room", body)) as other:
                self.assertEqual(other.reply(), (EXCHANGED, b"small"))
            self.assertTrue(lazy.is_readable(TIMEOUT)) # but the client reads nothing
            stack.enter_context(Client(server)) # neither sends anything nor hangs up
            stack.enter_context(Client(server, request(b"room", body)[:1000000]))
            stack.enter_context(Client(server, request(b"another room")))
            server.until(active=4, waiting=1)
            start = time.monotonic()
            server.signal(signal.SIGTERM)
            last = server.ended()
            self.assertLess(time.monotonic() - start, send_time + TIMEOUT / 3)
            self.assertEqual((last["closed"], last["undelivered"]), (3, 1))

    # ---- Memory

    def test_returns_the_memory_of_large_messages_to_the_system(self):
        size, count = 3000000, 50
        with Server(f"--max-message={size}") as server:
            before = server.memory()
            with Client(server, request(b"another room", b"stays in memory")):
                with contextlib.ExitStack() as stack:
                    for i in range(count):
                        stack.enter_context(Client(server, request(b"%d" % i, bytes(size))))
                    server.until(waiting=count + 1)
                    self.assertGreater(server.memory(), before + size * count / 1e6)
                server.until(active=1)
                end = time.monotonic() + TIMEOUT # the server returns memory every second
                while server.memory() > before + 20:
                    self.assertLess(time.monotonic(), end,
                                    f"{server.memory()} MB, at first {before} MB")
                    time.sleep(0.05)

    # ---- The command line

    def run_server(self, *options):
        return subprocess.run([chosen.server, *options], capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)

    def test_prints_its_version(self):
        run = self.run_server("--version")
        self.assertEqual((run.returncode, run.stdout, run.stderr),
                         (0, f"pairing_server (tryst {chosen.version})\n", ""))

    def test_reports_invalid_options_and_addresses_at_the_start(self):
        with Server() as server:
            port = server.port
            for status, option, why in (
                    (1, f"--port={port}",
                     f"cannot listen on 127.0.0.1 port {port}: Address already in use"),
                    (1, "--address=192.0.2.1", "cannot listen on 192.0.2.1 port 0: Cannot assign"),
                    (2, "--address=nowhere", "nowhere"), (2, "--port=65536", "65536"),
                    (2, "--threads=0", "--threads"), (2, "--max-rooms=0", "--max-rooms"),
                    (2, "--max-message=-1", "--max-message"),
                    (2, "--max-waiting-per-room=0", "--max-waiting-per-room"),
                    (2, "--wait-time=-1", "--wait-time"), (2, "--wait-time=nan", "--wait-time"),
                    (2, "--redis=localhost", "--redis"), (2, "--nonsense", "--nonsense"), (2, "nonsense", "nonsense")):
                run = self.run_server(option)
                self.assertEqual(run.returncode, status, option)
                self.assertIn(why, run.stderr, option)


if __name__ == "__main__":
    main(PairingServer, __doc__.splitlines()[0])
