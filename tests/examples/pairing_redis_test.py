#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests several pairing_servers that form one service through Redis.

usage: pairing_redis_test.py --server BINARY [options] [TEST...]
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True # keeps the source tree clean

from pairing_support import (
    BUSY, CLOSED, EXCHANGED, HEALTH_REQUEST, IN_DOUBT, NOTIFIED, STATISTICS, STATISTICS_REQUEST,
    TIMEOUT, UNAVAILABLE, Client, Redis, Server, answer, ask, checked, chosen, close_room, item,
    main, notice, request)

EVERYBODY = ("--max-connections=100000", "--max-connections-per-address=100000")


def total(servers, name):
    return sum(server.statistics()[name] for server in servers)


class SeveralServers(unittest.TestCase):
    def setUp(self):
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)
        self.redis = self.stack.enter_context(Redis())

    def start(self, count, *options, connected=1, url=None):
        servers = [self.stack.enter_context(
            Server("--redis", url or self.redis.url(), *EVERYBODY, *options))
            for _ in range(count)]
        for server in servers:
            server.until(connected=connected)
        return servers

    def client(self, server, frame):
        return self.stack.enter_context(Client(server, frame))

    def ends(self, clients, expected, **options):
        """Each client gets this reply."""
        for client in clients:
            self.assertEqual(client.reply(**options), expected)

    def swap(self, one, other, room=b"room", size=100):
        """Checks that clients of two servers get each other's message."""
        mine, theirs = item(f"mine {time.monotonic_ns()}", size), item("theirs", size // 2)
        first = self.client(one, request(room, mine))
        second = self.client(other, request(room, theirs))
        self.assertEqual(first.reply(), (EXCHANGED, theirs))
        self.assertEqual(second.reply(), (EXCHANGED, mine))

    def wait_until(self, holds):
        end = time.monotonic() + TIMEOUT
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.01)

    def health(self, server):
        with Client(server, HEALTH_REQUEST) as client:
            status, text = client.reply()
        return status, text.decode("ascii")

    # ---- Pairing

    def test_pairs_clients_of_two_servers(self):
        one, other = self.start(2, "--max-message=2000000")
        for size in (0, 1, 100, 4096, 4097, 65536, 1_000_000, 2_000_000):
            self.swap(one, other, size=size)
            self.swap(one, one, size=size)
        self.assertEqual(one.until(active=0)["exchanged"], 24)
        self.assertEqual(other.until(active=0)["exchanged"], 8)

    def test_pairs_clients_that_ask_with_clients_that_answer(self):
        one, other = self.start(2, "--red-blue")
        asking = []
        for i in range(5):
            asking.append(self.client(one, ask(b"desk", b"question %d" % i)))
            one.until(waiting=i + 1, asking=i + 1)
        got = set()
        for i in range(5):
            with Client(other, answer(b"desk", b"answer %d" % i)) as client:
                got.add(client.reply())
        self.assertEqual(got, {(EXCHANGED, b"question %d" % i) for i in range(5)})
        self.assertEqual({client.reply() for client in asking},
                         {(EXCHANGED, b"answer %d" % i) for i in range(5)})

    def test_two_hundred_clients_of_three_servers_get_messages_of_their_room(self):
        servers = self.start(3)
        rng = random.Random(1)
        rooms = [room for room in range(20) for _ in range(10)]
        rng.shuffle(rooms)
        clients = [self.client(rng.choice(servers), request(b"room %d" % room, b"%d" % i))
                   for i, room in enumerate(rooms)]
        got = []
        for client in clients:
            status, body = client.reply()
            self.assertEqual(status, EXCHANGED)
            got.append(int(body))
        for own, other in enumerate(got):
            self.assertNotEqual(own, other)
            self.assertEqual(got[other], own)
            self.assertEqual(rooms[own], rooms[other])
        for server in servers:
            server.until(active=0, rooms=0)
        self.assertEqual(total(servers, "exchanged"), len(rooms))

    def test_two_hundred_clients_of_two_sides_get_messages_of_the_other_side(self):
        servers = self.start(3, "--red-blue")
        rng = random.Random(2)
        sides = [ask, answer] * 100
        rng.shuffle(sides)
        clients = [self.client(rng.choice(servers), side(b"desk", b"%d" % i))
                   for i, side in enumerate(sides)]
        got = []
        for client in clients:
            status, body = client.reply()
            self.assertEqual(status, EXCHANGED)
            got.append(int(body))
        for own, other in enumerate(got):
            self.assertIsNot(sides[own], sides[other])
            self.assertEqual(got[other], own)

    def test_at_its_limit_a_server_pairs_with_clients_that_wait_elsewhere(self):
        one, other = self.start(2, "--max-waiting=1")
        waiting = self.client(one, request(b"room", b"first"))
        one.until(waiting=1)
        self.client(other, request(b"elsewhere", b""))
        other.until(waiting=1)
        with Client(other, request(b"empty", b"")) as client:
            self.assertEqual(client.status(), BUSY)
        replies = []
        def is_paired(): # the first client may still be on its way to Redis
            with Client(other, request(b"room", b"second")) as client:
                replies.append(client.reply())
            return replies[-1][0] != BUSY
        self.wait_until(is_paired)
        self.assertEqual(replies[-1], (EXCHANGED, b"first"))
        self.assertEqual(waiting.reply(), (EXCHANGED, b"second"))

    def test_never_pairs_a_client_that_has_left_another_server(self):
        one, other = self.start(2)
        for leave in (Client.close, Client.reset, Client.hang_up_half):
            before = one.statistics()["disconnected"]
            ghost = Client(one, request(b"room", b"ghost"))
            one.until(waiting=1)
            leave(ghost)
            one.until(disconnected=before + 1, waiting=0)
            self.swap(other, one)
            ghost.close()

    def test_reports_that_no_partner_came_in_time(self):
        (server,) = self.start(1, "--wait-time=0.3")
        with Client(server, request(b"room")) as client:
            client.status()
        server.until(timed_out=1, rooms=0, waiting=0)

    # ---- An administrator's requests

    def test_a_notice_reaches_the_servers_own_clients(self):
        one, other = self.start(2)
        own = [self.client(one, request(b"own %d" % i)) for i in range(100)]
        theirs = self.client(other, request(b"theirs"))
        one.until(waiting=100)
        other.until(waiting=1)
        with Client(one, notice(b"back at noon")) as administrator:
            self.assertEqual(administrator.reply()[0], STATISTICS)
        self.ends(own, (NOTIFIED, b"back at noon"))
        one.until(active=0, rooms=0, notified=100)
        self.assertFalse(theirs.is_readable(0))
        other.until(waiting=1)
        # Nothing of them is left in Redis.
        with Client(other, request(b"own 7", b"new")) as new:
            other.until(waiting=2)
            self.assertFalse(new.is_readable(0.2))

    def test_a_client_gets_either_a_partner_or_a_notice(self):
        one, other = self.start(2)
        for i in range(30):
            with Client(one, request(b"room", b"one")) as first, \
                    Client(other, request(b"room", b"other")) as second:
                while not (first.is_readable(0) and second.is_readable(0)):
                    for server in one, other:
                        with Client(server, notice(b"stop")) as administrator:
                            administrator.reply()
                self.assertIn((first.reply(), second.reply()),
                              (((EXCHANGED, b"other"), (EXCHANGED, b"one")),
                               ((NOTIFIED, b"stop"),) * 2), i)

    def test_a_room_is_closed_on_all_servers(self):
        for sides in False, True:
            with self.subTest(sides=sides):
                url = self.redis.url("&prefix=sides" if sides else "")
                servers = self.start(3, *(("--red-blue",) if sides else ()), url=url)
                to = ask if sides else request
                inside = [self.client(server, to(b"room")) for server in servers[:3 if sides else 1]]
                other = self.client(servers[0], to(b"other"))
                self.wait_until(lambda: total(servers, "waiting") == len(inside) + 1)
                with Client(servers[2], close_room(b"room")) as administrator:
                    self.assertEqual(administrator.reply()[0], STATISTICS)
                for client in inside:
                    self.assertEqual(client.status(), CLOSED)
                for server in servers: # and nobody waits there again
                    with Client(server, to(b"room")) as client:
                        self.assertEqual(client.status(), CLOSED)
                self.assertFalse(other.is_readable(0))

    # ---- Failures

    def test_clients_of_a_server_that_shuts_down_are_withdrawn(self):
        one, other, third = self.start(3)
        waiting = [self.client(one, request(b"room %d" % i, b"old")) for i in range(50)]
        one.until(waiting=50)
        one.signal(signal.SIGTERM)
        for client in waiting:
            self.assertEqual(client.status(), CLOSED)
        last = one.ended()
        self.assertEqual((last["closed"], last["in_doubt"]), (50, 0))
        for i in range(50):
            self.swap(other, third, room=b"room %d" % i)

    def test_redis_is_killed_while_clients_wait(self):
        servers = self.start(2)
        waiting = [self.client(servers[i % 2], request(b"room %d" % i)) for i in range(100)]
        self.wait_until(lambda: total(servers, "waiting") == 100)
        self.assertEqual(self.health(servers[0])[0], STATISTICS)
        self.redis.kill()
        for client in waiting:
            self.assertIn(client.status(), (UNAVAILABLE, IN_DOUBT))
        for server in servers:
            last = server.until(active=0, rooms=0, connected=0)
            self.assertEqual(last["unavailable"] + last["in_doubt"], 50)
            with Client(server, STATISTICS_REQUEST) as client:
                status, line = client.reply()
            self.assertEqual(status, STATISTICS)
            self.assertEqual(checked(line.decode("ascii"))["connected"], 0)
            status, text = self.health(server)
            self.assertEqual(status, UNAVAILABLE)
            self.assertIn(self.redis.path, text)
            with Client(server, close_room(b"closed")) as client:
                self.assertEqual(client.status(), UNAVAILABLE)
            with Client(server, request(b"room \xf6\n", b"")) as client:
                status, text = client.reply()
            self.assertEqual(status, UNAVAILABLE)
            self.assertTrue(text.decode("ascii").isprintable(), text)
        self.redis.start()
        for server in servers:
            server.until(connected=1)
        self.swap(*servers)
        def is_closed(): # the server makes up for it as soon as it can
            with Client(servers[0], request(b"closed")) as client:
                return client.is_readable(1) and client.status() == CLOSED
        self.wait_until(is_closed)

    def test_shuts_down_while_redis_hangs(self):
        (server,) = self.start(1)
        client = self.client(server, request(b"room"))
        server.until(waiting=1)
        self.redis.process.send_signal(signal.SIGSTOP)
        server.signal(signal.SIGTERM)
        self.assertIn(client.status(), (CLOSED, IN_DOUBT))
        server.ended()

    def test_keeps_its_times_while_redis_refuses(self):
        url = f"unix://{self.redis.path}"  # the lease is longer than this test may take
        (server,) = self.start(1, "--wait-time=1", url=url + "?lease=1000s")
        waits = self.client(server, request(b"room"))
        server.until(waiting=1)
        self.redis.command("CONFIG", "SET", "min-replicas-to-write", "1")
        self.assertIn(waits.status(), (TIMEOUT, IN_DOUBT))
        self.redis.command("CONFIG", "SET", "min-replicas-to-write", "0")
        (server,) = self.start(1, "--send-time=1", url=url + "?lease=1000s")
        waits = self.client(server, request(b"room"))
        server.until(waiting=1)
        self.redis.command("CONFIG", "SET", "min-replicas-to-write", "1")
        server.signal(signal.SIGTERM)
        self.assertIn(waits.status(), (CLOSED, IN_DOUBT))
        server.ended()

    def test_a_server_starts_without_redis_and_finds_it_later(self):
        self.redis.kill()
        one, other = self.start(2, connected=0)
        for server in one, other:
            with Client(server, request(b"room", b"mine")) as client:
                status, text = client.reply()
            self.assertEqual(status, UNAVAILABLE)
            self.assertIn(self.redis.path, text.decode("ascii"))
        self.wait_until(lambda: f"Redis cannot be reached: {self.redis.path}" in one.error_output())
        self.redis.start()
        for server in one, other:
            server.until(connected=1)
            self.assertEqual(self.health(server)[0], STATISTICS)
        self.swap(one, other)
        self.wait_until(lambda: "connected to Redis" in one.error_output())

    def test_is_not_ready_while_redis_cannot_be_reached(self):
        self.redis.kill()
        server, = self.start(1, "--admin-port=0", connected=0)
        server.until_page("/readyz", 503, "Redis cannot be reached: ")
        self.assertEqual(server.get("/livez"), (200, "ok\n"))
        samples = server.metrics()
        self.assertEqual((samples["pairing_redis_connected"], samples["pairing_ready"]), (0, 0))
        self.redis.start()
        server.until_page("/readyz", 200)
        samples = server.metrics()
        self.assertEqual((samples["pairing_redis_connected"], samples["pairing_ready"]), (1, 1))
        # Rooms in Redis have no counters of their own.
        self.assertFalse([name for name in samples if name.startswith("tryst_")])

    def test_refuses_a_wrong_url(self):
        for url, part in (("redis://user:secret@host:99999", "port"),
                          ("http://user:secret@host", "scheme"),
                          ("redis://user:secret@host/x", "database"),
                          ("redis://user:secret@host?lease=1ms", "lease"),
                          ("redis://user:secret@host?lase=1s", "lase"),
                          ("redis://user:sec%zzret@host", "password")):
            for how in ({"args": ["--redis", url]}, {"env": {"PAIRING_REDIS": url}}):
                run = subprocess.run(
                    [chosen.server, *how.get("args", ())], capture_output=True, text=True,
                    timeout=TIMEOUT, check=False, env={**os.environ, **how.get("env", {})})
                self.assertEqual(run.returncode, 2, url)
                self.assertIn("--redis", run.stderr, url)
                self.assertIn(part, run.stderr, url)
                self.assertNotIn("sec", run.stderr.replace("second", ""), url)

    def test_clients_of_the_others_survive_the_death_of_a_server(self):
        servers = self.start(3)
        victim, survivors = servers[0], servers[1:]
        waiting = [self.client(servers[i % 3], request(b"wait %d" % i, b"%d" % i)) for i in range(30)]
        self.wait_until(lambda: total(servers, "waiting") == 30)
        victim.signal(signal.SIGKILL)
        victim.process.wait(TIMEOUT)
        for i, client in enumerate(waiting):
            if i % 3 == 0:
                with self.assertRaises((ConnectionError, EOFError)):
                    client.reply()
                continue
            with Client(survivors[i % 2], request(b"wait %d" % i, b"partner")) as partner:
                self.assertEqual(client.reply(), (EXCHANGED, b"partner"))
                self.assertEqual(partner.reply(), (EXCHANGED, b"%d" % i))
        for i in range(30):
            self.swap(*survivors, room=b"later %d" % i)


if __name__ == "__main__":
    main(SeveralServers, __doc__.splitlines()[0])
