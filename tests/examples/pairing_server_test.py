#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of pairing_server over real sockets, by a client that shares no code with it.

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

sys.dont_write_bytecode = True # in the source tree

from pairing_support import (
    BAD_FRAME, BUSY, CLOSED, DISCONNECTED, EXCHANGED, FAILED, FORBIDDEN, HEADER, NO_SIDES, SIDE_NEEDED,
    SLOW, STATISTICS, STATISTICS_REQUEST, TIMED_OUT, TIMEOUT, TOO_LARGE, Client, Server, answer, ask,
    checked, chosen, item, main, request)



def address_of_this_machine():
    """One that is not the loopback's, or none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9)) # sends nothing: which address would be ours?
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
        """Two clients meet, and each gets the other's message."""
        mine, theirs = item(f"mine {time.monotonic_ns()}", size), item("theirs", size)
        with Client(server, request(room, mine)) as one:
            with Client(server, request(room, theirs)) as other:
                self.assertEqual(one.reply(), (EXCHANGED, theirs))
                self.assertEqual(other.reply(), (EXCHANGED, mine))

    # ---- Meeting

    def test_thousands_wait_in_as_many_rooms_and_are_all_met(self):
        count = chosen.clients
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        if hard != resource.RLIM_INFINITY and hard < 2 * count + 100:
            count = (hard - 100) // 2
            print(f"only {count} of {chosen.clients}: the limit of descriptors is {hard}")
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
            print(f"{count} clients wait in {after:.1f} MB, {before:.1f} MB without them")
            if chosen.memory:
                self.assertLess(after, chosen.memory)
            second = [all_of_them.enter_context(
                Client(server, request(b"room %d" % i, item(("second", i), 50 + i % 300))))
                for i in range(count)]
            for i in range(count):
                self.assertEqual(first[i].reply(), (EXCHANGED, item(("second", i), 50 + i % 300)))
                self.assertEqual(second[i].reply(), (EXCHANGED, item(("first", i), 50 + i % 500)))
            server.until(exchanged=2 * count, active=0, rooms=0, waiting=0)

    def test_in_one_room_everybody_leaves_with_the_message_of_somebody_who_has_theirs(self):
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

    def test_messages_of_all_sizes_arrive_whole(self):
        with Server("--max-message=9000000") as server:
            for size in (0, 1, 4095, 4096, 4097, 65536, 200000, 9000000):
                with Client(server, request(b"room", item("a", size))) as one:
                    # Of another size, so that nothing fits by chance.
                    with Client(server, request(b"room", item("b", size // 2 + 1))) as other:
                        self.assertEqual(other.reply(), (EXCHANGED, item("a", size)))
                        self.assertEqual(one.reply(), (EXCHANGED, item("b", size // 2 + 1)))

    def test_rooms_keep_apart(self):
        with Server() as server:
            with Client(server, request(b"a", b"1")) as a, Client(server, request(b"b", b"2")) as b:
                server.until(waiting=2, rooms=2)
                with Client(server, request(b"b", b"3")) as c:
                    self.assertEqual((b.reply(), c.reply()), ((EXCHANGED, b"3"), (EXCHANGED, b"2")))
                server.until(waiting=1, rooms=1)
                with Client(server, request(b"a", b"4")) as d:
                    self.assertEqual((a.reply(), d.reply()), ((EXCHANGED, b"4"), (EXCHANGED, b"1")))

    def test_the_name_of_a_room_is_any_bytes(self):
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

    def test_who_waits_too_long_is_told(self):
        with Server("--wait-time=0.3") as server:
            start = time.monotonic()
            with Client(server, request(b"room")) as client:
                self.assertEqual(client.status(), TIMED_OUT)
            self.assertGreaterEqual(time.monotonic() - start, 0.3)
            server.until(timed_out=1, rooms=0, waiting=0)
            self.swap(server)

    # ---- Two sides

    def test_those_who_ask_meet_those_who_answer_and_nobody_else(self):
        for first, then in ((ask, answer), (answer, ask)):
            with Server("--red-blue") as server, contextlib.ExitStack() as stack:
                waiting = []
                for i in range(5):
                    waiting.append(stack.enter_context(Client(server, first(b"room", b"%d" % i))))
                    server.until(waiting=i + 1, asking=i + 1 if first is ask else 0, rooms=1)
                for i in range(5): # in turn
                    with Client(server, then(b"room", b"to %d" % i)) as client:
                        self.assertEqual(client.reply(), (EXCHANGED, b"%d" % i))
                    self.assertEqual(waiting[i].reply(), (EXCHANGED, b"to %d" % i))
                server.until(waiting=0, asking=0, rooms=0, exchanged=10, active=0)

    def test_in_a_crowd_everybody_gets_the_message_of_one_of_the_other_side_who_has_theirs(self):
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

    def test_who_names_no_side_where_there_are_two_is_told_and_the_other_way_round(self):
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

    def test_those_who_ask_may_leave_from_anywhere_and_the_others_keep_their_turn(self):
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

    def test_an_answer_waits_for_a_question_no_longer_than_the_wait_time(self):
        with Server("--red-blue", "--wait-time=0.3") as server:
            with Client(server, answer(b"room")) as one, Client(server, answer(b"room")) as other:
                self.assertEqual((one.status(), other.status()), (TIMED_OUT, TIMED_OUT))
            server.until(timed_out=2, waiting=0, rooms=0)

    def test_one_room_may_have_fewer_seats_than_there_are(self):
        with Server("--red-blue", "--max-waiting-per-room=2") as server, \
                contextlib.ExitStack() as stack:
            asking = [stack.enter_context(Client(server, ask(b"a", b"%d" % i))) for i in range(2)]
            server.until(waiting=2)
            with Client(server, ask(b"a")) as client:
                self.assertEqual(client.status(), BUSY)
            stack.enter_context(Client(server, ask(b"b", b"elsewhere")))
            server.until(waiting=3, rooms=2)
            got = set()
            for _ in range(2): # who has no seat may still meet
                with Client(server, answer(b"a", b"yes")) as client:
                    got.add(client.reply())
            self.assertEqual(got, {(EXCHANGED, b"0"), (EXCHANGED, b"1")})
            for client in asking:
                self.assertEqual(client.reply(), (EXCHANGED, b"yes"))
            server.until(busy=1, waiting=1, rooms=1)

    def test_the_end_is_announced_to_both_sides(self):
        with Server("--red-blue") as server, contextlib.ExitStack() as stack:
            waiting = [stack.enter_context(Client(server, (ask, answer)[i % 2](b"room %d" % (i % 7 * 2 + i % 2))))
                       for i in range(100)]
            server.until(waiting=100, rooms=14, asking=50)
            server.signal(signal.SIGTERM)
            for client in waiting:
                self.assertEqual(client.status(), CLOSED)
            self.assertEqual(server.ended()["closed"], 100)

    # ---- Senders and readers that are slow

    def test_a_request_may_come_byte_by_byte(self):
        with Server() as server, Client(server) as one:
            for byte in request(b"room", b"slowly"):
                one.send(bytes([byte]))
            server.until(waiting=1)
            with Client(server, request(b"room", b"fast")) as other:
                self.assertEqual(other.reply(), (EXCHANGED, b"slowly"))
                self.assertEqual(one.reply(), (EXCHANGED, b"fast"))

    def test_a_byte_now_and_then_does_not_extend_the_deadline(self):
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

    def test_many_that_send_a_byte_a_second_hold_up_nobody_and_are_told(self):
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

    def test_who_says_nothing_is_told_to_hurry(self):
        with Server("--receive-time=0.2") as server, Client(server) as client:
            self.assertEqual(client.status(), SLOW)

    def test_who_does_not_read_its_reply_is_dropped_and_the_partner_is_not_held_up(self):
        with Server("--send-time=0.5", "--max-message=32000000") as server:
            with Client(server, request(b"room", b"small"), receive_buffer=4096) as lazy:
                server.until(waiting=1)
                with Client(server, request(b"room", bytes(32000000))) as other:
                    self.assertEqual(other.reply(), (EXCHANGED, b"small"))
                server.until(exchanged=1, undelivered=1, active=0)
                lazy.close()

    # ---- Frames that are none

    def test_what_is_too_large_is_refused_at_the_header(self):
        with Server("--max-message=1000", "--max-room-name=10") as server:
            for frame in (HEADER.pack(1, 1, 4, 0, 1001), HEADER.pack(1, 1, 4, 0, 0xFFFFFFFF),
                          HEADER.pack(1, 1, 11, 0, 0), HEADER.pack(1, 1, 255, 0, 1)):
                with Client(server, frame) as client:
                    self.assertEqual(client.status(), TOO_LARGE)
            self.swap(server, room=b"0123456789", size=1000) # exactly the limits
            server.until(too_large=4)

    def test_a_refusal_is_read_by_a_client_that_goes_on_sending(self):
        with Server("--max-message=1000") as server:
            with Client(server, request(b"room", bytes(3000000))) as client:
                self.assertEqual(client.status(), TOO_LARGE)

    def test_what_is_not_this_protocol_is_refused(self):
        with Server() as server:
            bad = (b"GET / HTTP/1.1\r\n\r\n", HEADER.pack(0, 1, 1, 0, 0), HEADER.pack(2, 1, 1, 0, 0),
                   HEADER.pack(1, 0, 1, 0, 0), HEADER.pack(1, 5, 1, 0, 0), HEADER.pack(1, 1, 1, 1, 0),
                   HEADER.pack(1, 1, 0, 0, 5), HEADER.pack(1, 2, 1, 0, 0), HEADER.pack(1, 2, 0, 0, 1),
                   HEADER.pack(1, 3, 0, 0, 0), HEADER.pack(1, 4, 0, 0, 1))
            for frame in bad:
                with Client(server, frame) as client:
                    self.assertEqual(client.status(), BAD_FRAME, frame)
            server.until(bad_frame=len(bad))
            self.swap(server)

    def test_random_bytes_do_no_harm(self):
        rng = random.Random(1)
        with Server("--max-message=1000", "--receive-time=5") as server:
            for _ in range(500):
                # Half of them begin well.
                begin = rng.choice((b"", b"\1", b"\1\1", HEADER.pack(1, 1, rng.randrange(256), 0, 9)))
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

    # ---- Clients that leave

    def test_a_client_may_leave_at_every_byte(self):
        frame = request(b"room", b"message")
        for leave in (Client.close, Client.reset):
            with Server() as server:
                for size in range(len(frame)):
                    leave(Client(server, frame[:size]))
                server.until(disconnected=len(frame), active=0, rooms=0)
                self.swap(server)

    def test_nobody_is_paired_with_a_client_that_left(self):
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

    def test_who_hangs_up_half_is_told_that_it_was_not_paired(self):
        frame = request(b"room", b"message")
        with Server() as server:
            for size in range(len(frame) + 1):
                with Client(server, frame[:size]) as client:
                    if size == len(frame):
                        server.until(waiting=1)
                    client.hang_up_half()
                    self.assertEqual(client.status(), DISCONNECTED)
            server.until(disconnected=len(frame) + 1, active=0, rooms=0)

    def test_who_finds_a_partner_at_once_may_have_hung_up_half(self):
        with Server() as server, Client(server, request(b"room", b"one")) as one:
            server.until(waiting=1)
            with Client(server, request(b"room", b"other")) as other:
                other.hang_up_half()
                self.assertEqual(other.reply(), (EXCHANGED, b"one"))
            self.assertEqual(one.reply(), (EXCHANGED, b"other"))

    def test_who_is_gone_before_it_is_accepted_does_no_harm(self):
        with Server() as server:
            server.signal(signal.SIGSTOP)
            for i in range(100):
                (Client.close, Client.reset)[i % 2](Client(server, request(b"room") if i % 4 < 2 else b""))
            server.signal(signal.SIGCONT)
            last = server.until(accepted=100, active=0, rooms=0)
            self.assertEqual(last["disconnected"] + last["undelivered"] + last["exchanged"], 100)
            self.swap(server)

    def test_whoever_leaves_when_nobody_gets_a_message_twice_or_its_own(self):
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
                    rng.choice((Client.close, Client.reset))(leaving.pop(rng.randrange(len(leaving))))
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
                if other in staying: # who was told that the server closes has kept its message
                    self.assertEqual(got.get(other), own)
            self.assertGreater(len(got), count / 4)
            self.assertLess(len(got), len(staying) + len(leaving))
            last = server.ended()
            self.assertGreater(last["disconnected"], 0)

    def test_a_client_may_leave_during_its_reply(self):
        with Server("--max-message=32000000") as server:
            client = Client(server, request(b"room", b"small"), receive_buffer=4096)
            server.until(waiting=1)
            with Client(server, request(b"room", bytes(32000000))) as other:
                self.assertEqual(other.reply(), (EXCHANGED, b"small"))
            self.assertTrue(client.is_readable(TIMEOUT)) # the reply has begun
            client.reset()
            server.until(exchanged=1, undelivered=1, active=0)

    def test_a_storm_of_reconnections_leaves_nothing_behind(self):
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

    def test_a_full_house_makes_no_room_but_lets_guests_into_those_there_are(self):
        with Server("--max-rooms=2") as server, contextlib.ExitStack() as stack:
            a = stack.enter_context(Client(server, request(b"a", b"1")))
            stack.enter_context(Client(server, request(b"b", b"2")))
            server.until(rooms=2, waiting=2)
            with Client(server, request(b"c")) as client:
                self.assertEqual(client.status(), BUSY)
            with Client(server, request(b"a", b"3")) as client:
                self.assertEqual((a.reply(), client.reply()), ((EXCHANGED, b"3"), (EXCHANGED, b"1")))
            server.until(rooms=1)
            self.swap(server, room=b"c")

    def test_when_nobody_else_may_wait_those_who_do_are_still_met(self):
        with Server("--max-waiting=2") as server, contextlib.ExitStack() as stack:
            a = stack.enter_context(Client(server, request(b"a", b"1")))
            stack.enter_context(Client(server, request(b"b", b"2")))
            server.until(waiting=2)
            for room in (b"c", b"d"):
                with Client(server, request(room)) as client:
                    self.assertEqual(client.status(), BUSY)
            with Client(server, request(b"a", b"3")) as client:
                self.assertEqual((a.reply(), client.reply()), ((EXCHANGED, b"3"), (EXCHANGED, b"1")))
            server.until(busy=2, waiting=1, rooms=1)

    def test_too_many_connections_are_turned_away_until_others_leave(self):
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

    def test_the_limit_for_one_address_is_nothing_to_another(self):
        with Server("--max-connections-per-address=1") as server, \
                Client(server, request(b"room", b"one")) as one:
            server.until(waiting=1)
            with Client(server) as client:
                self.assertEqual(client.status(), BUSY)
            with Client(server, request(b"room", b"other"), source="127.0.0.2") as other:
                self.assertEqual(other.reply(), (EXCHANGED, b"one"))
            self.assertEqual(one.reply(), (EXCHANGED, b"other"))
            server.until(refused=1, active=0)

    def test_it_serves_ipv6_with_the_same_limits(self):
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

    def test_ipv4_is_what_it_is_where_ipv6_listens_for_both(self):
        if not has_ipv6():
            self.skipTest("no IPv6")
        with Server("--address=::", "--max-connections-per-address=1") as server:
            with Client(server, request(b"room", b"6")) as six:
                server.until(waiting=1)
                server.host = "127.0.0.1"
                with Client(server, request(b"room", b"4")) as four: # has a place of its own
                    self.assertEqual(four.reply(), (EXCHANGED, b"6"))
                self.assertEqual(six.reply(), (EXCHANGED, b"4"))
            server.until(active=0)
            with Client(server, STATISTICS_REQUEST) as client:
                self.assertEqual(client.reply()[0], STATISTICS)

    def test_only_this_machine_can_come_unless_told_otherwise(self):
        with Server() as server:
            self.assertEqual(server.host, "127.0.0.1")
            address = address_of_this_machine()
            if not address:
                self.skipTest("no network but the loopback")
            server.host = address
            with self.assertRaises(ConnectionRefusedError):
                Client(server)

    def test_without_descriptors_it_goes_on_when_others_leave(self):
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
            self.assertEqual(server.complaints().count("cannot accept"), 1)

    def test_that_nobody_hears_it_complain_of_descriptors_does_not_end_it(self):
        nobody, errors = os.pipe()
        os.close(nobody)
        with Server(files=64, errors=os.fdopen(errors, "w")) as server, \
                contextlib.ExitStack() as stack:
            clients = [stack.enter_context(Client(server, request(b"%d" % i))) for i in range(80)]
            server.until(pauses=lambda count: count >= 3)
            for client in clients[:40]:
                client.close()
            server.until(waiting=40)

    def test_what_accept_fails_with_is_survived(self):
        if not chosen.preload:
            self.skipTest("nothing to preload, or a sanitizer that it would have to come before")
        scarce = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EPERM)
        aborted = (errno.ECONNABORTED, errno.EPROTO)
        with Server(environment={"LD_PRELOAD": chosen.preload, "ACCEPT_ERRORS": " ".join(
                str(number) for number in scarce + aborted)}) as server:
            # Two connections are lost, and those behind them in the queue are not to wait for others to come.
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

    def test_what_there_is_no_memory_for_is_refused_and_the_others_go_on(self):
        if not chosen.memory:
            self.skipTest("a sanitizer takes as much as it needs")
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

    def test_statistics_can_be_asked_for(self):
        with Server() as server:
            self.swap(server)
            server.until(active=0)
            with Client(server, STATISTICS_REQUEST) as client:
                status, line = client.reply()
            self.assertEqual(status, STATISTICS)
            counts = checked(line.decode("ascii"))
            self.assertEqual((counts["accepted"], counts["active"], counts["exchanged"]), (3, 1, 2))
            server.until(statistics=1, active=0)

    def test_statistics_are_for_this_machine_only(self):
        address = address_of_this_machine()
        if not address:
            self.skipTest("no network but the loopback")
        with Server("--address=0.0.0.0") as server:
            server.host = address
            with Client(server, STATISTICS_REQUEST) as client:
                self.assertEqual(client.status(), FORBIDDEN)
            self.swap(server)

    # ---- The end

    def test_the_end_is_announced_to_all_who_wait_or_are_still_sending(self):
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

    def test_who_comes_while_it_ends_is_told_or_was_never_let_in(self):
        for _ in range(4): # of two threads, now one and now the other has the last client
            with Server("--receive-time=1000") as server, contextlib.ExitStack() as stack:
                server.signal(signal.SIGSTOP)
                clients = [stack.enter_context(Client(server)) for _ in range(50)]
                server.signal(signal.SIGTERM)
                server.signal(signal.SIGCONT)
                told = 0
                for client in clients:
                    with contextlib.suppress(ConnectionError):
                        self.assertEqual(client.status(), CLOSED)
                        told += 1
                self.assertEqual(server.ended()["accepted"], told)

    def test_it_outlives_its_terminal_if_it_was_told_to(self):
        with Server(ignored=signal.SIGHUP) as server: # as nohup does
            server.signal(signal.SIGHUP)
            self.swap(server)

    def test_a_reply_that_has_begun_is_finished_at_the_end(self):
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

    def test_the_second_signal_kills(self):
        with Server("--max-message=32000000", "--send-time=1000") as server:
            with Client(server, request(b"room", b"small"), receive_buffer=4096) as lazy:
                server.until(waiting=1)
                with Client(server, request(b"room", bytes(32000000))) as other:
                    self.assertEqual(other.reply(), (EXCHANGED, b"small"))
                self.assertTrue(lazy.is_readable(TIMEOUT))
                server.signal(signal.SIGTERM)
                with self.assertRaises(ConnectionError): # until it does not listen any more
                    while True:
                        Client(server).status()
                server.signal(signal.SIGTERM)
                self.assertEqual(server.process.wait(TIMEOUT), -signal.SIGTERM)

    def test_shutdown_takes_no_longer_than_the_send_time(self):
        send_time = 2
        body = bytes(32000000)
        with Server("--receive-time=1000", "--wait-time=1000", f"--send-time={send_time}",
                    "--max-message=32000000") as server, contextlib.ExitStack() as stack:
            lazy = stack.enter_context(Client(server, request(b"room", b"small"), receive_buffer=4096))
            server.until(waiting=1)
            with Client(server, request(b"room", body)) as other:
                self.assertEqual(other.reply(), (EXCHANGED, b"small"))
            self.assertTrue(lazy.is_readable(TIMEOUT)) # and reads none of it
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

    def test_the_memory_of_large_messages_is_given_back_when_their_clients_have_left(self):
        size, count = 3000000, 50
        with Server(f"--max-message={size}") as server:
            before = server.memory()
            with Client(server, request(b"a small message", b"keeps its place")):
                with contextlib.ExitStack() as stack:
                    for i in range(count):
                        stack.enter_context(Client(server, request(b"%d" % i, bytes(size))))
                    server.until(waiting=count + 1)
                    self.assertGreater(server.memory(), before + size * count / 1e6)
                server.until(active=1)
                end = time.monotonic() + TIMEOUT # soon, not at once
                while server.memory() > before + 20:
                    self.assertLess(time.monotonic(), end, f"{server.memory()} MB, {before} MB at first")
                    time.sleep(0.05)

    # ---- The command line

    def run_server(self, *options):
        return subprocess.run([chosen.server, *options], capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)

    def test_it_tells_its_version(self):
        run = self.run_server("--version")
        self.assertEqual((run.returncode, run.stdout, run.stderr),
                         (0, f"pairing_server (tryst {chosen.version})\n", ""))

    def test_the_load_test_has_the_same_command_line(self):
        def run(option):
            return subprocess.run([chosen.load, option], capture_output=True, text=True, timeout=TIMEOUT,
                                  check=False)

        version = run("--version")
        self.assertEqual((version.returncode, version.stdout),
                         (0, f"pairing_load (tryst {chosen.version})\n"))
        for option in ("--clients=1", "--nonsense", "--swaps=2"):
            self.assertEqual(run(option).returncode, 2, option)

    def test_what_it_cannot_do_it_says_at_the_start(self):
        with Server() as server:
            for status, option, why in (
                    (1, f"--port={server.port}", "in use"), (1, "--address=192.0.2.1", "Cannot assign"),
                    (2, "--address=nowhere", "nowhere"), (2, "--port=65536", "65536"),
                    (2, "--threads=0", "--threads"), (2, "--max-rooms=0", "--max-rooms"),
                    (2, "--max-message=-1", "--max-message"),
                    (2, "--max-waiting-per-room=0", "--max-waiting-per-room"),
                    (2, "--wait-time=-1", "--wait-time"), (2, "--wait-time=nan", "--wait-time"),
                    (2, "--nonsense", "--nonsense"), (2, "nonsense", "nonsense")):
                run = self.run_server(option)
                self.assertEqual(run.returncode, status, option)
                self.assertIn(why, run.stderr, option)


if __name__ == "__main__":
    main(PairingServer, __doc__.splitlines()[0])
