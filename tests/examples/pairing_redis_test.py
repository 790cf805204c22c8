#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests several pairing_servers that form one service through Redis.

    pairing_redis_test.py SERVER --client CLIENT [OPTION...] [TEST...]
"""

import os
import random
import signal
import subprocess
import tempfile
import time
import unittest

from pairing_support import (
    CLOSED, EXCHANGED, IN_DOUBT, TIMED_OUT, UNAVAILABLE, Client, Server, answer, ask, chosen, item, main, request)
from programs import TIMEOUT, Redis, run, until


class SeveralServers(unittest.TestCase):
    def setUp(self):
        self.redis = Redis(self.enterContext(tempfile.TemporaryDirectory(prefix="pairing-")))
        self.addCleanup(self.redis.kill)

    def start(self, count, *options, connected=1, lease="1s"):
        url = f"{self.redis.url()}?backoff_max=100ms&lease={lease}"
        servers = [self.enterContext(Server("--redis", url, *options)) for _ in range(count)]
        for server in servers:
            server.until(connected=connected)
        return servers

    def swap(self, one, other, room=b"room", size=100):
        """Checks that clients of two servers get each other's message."""
        mine, theirs = item(f"mine {time.monotonic_ns()}", size), item("theirs", size // 2)
        first, second = Client(one, request(room, mine)), Client(other, request(room, theirs))
        self.assertEqual((first.reply(), second.reply()), ((EXCHANGED, theirs), (EXCHANGED, mine)))

    def test_two_clients_swap_files(self):
        one, other = self.start(2, "--max-message=2000000")
        for size in (0, 1, 4096, 4097, 65536, 2_000_000):
            self.swap(one, other, size=size)
            self.swap(one, one, size=size)
        mine, theirs = os.urandom(2_000_000), os.urandom(70_000)
        clients = [subprocess.Popen([chosen.client, "--port", str(server.port), "--timeout=60", "files"], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE) for server in (one, other)]
        clients[0].stdin.write(mine)
        clients[0].stdin.close()
        self.assertTrue(clients[1].communicate(theirs, TIMEOUT)[0] == mine)
        with clients[0].stdout as output:
            self.assertTrue(output.read() == theirs)
        self.assertEqual([client.wait(TIMEOUT) for client in clients], [0, 0])

    def conserve(self, servers, frames):
        """Sends all at once. Each client gets the message of the client that gets its own. @returns the partners."""
        rng = random.Random(1)
        clients = [Client(rng.choice(servers), frame) for frame in frames]
        replies = [client.reply() for client in clients]
        self.assertEqual({status for status, _ in replies}, {EXCHANGED})
        partners = [int(body) for _, body in replies]
        for own, other in enumerate(partners):
            self.assertNotEqual(own, other)
            self.assertEqual(partners[other], own)
        self.assertEqual(sum(server.until(active=0, rooms=0)["exchanged"] for server in servers), len(frames))
        return partners

    def test_thousands_of_clients_conserve_their_messages(self):
        rooms = [room for room in range(chosen.clients // 50) for _ in range(10)]
        random.Random(1).shuffle(rooms)
        for own, other in enumerate(self.conserve(self.start(3), [request(b"room %d" % room, b"%d" % i)
                                                                  for i, room in enumerate(rooms)])):
            self.assertEqual(rooms[own], rooms[other])

    def test_clients_of_two_sides_conserve_their_messages(self):
        sides = [ask, answer] * 100
        random.Random(2).shuffle(sides)
        for own, other in enumerate(self.conserve(self.start(3, "--red-blue"),
                                                  [side(b"desk", b"%d" % i) for i, side in enumerate(sides)])):
            self.assertIsNot(sides[own], sides[other])

    def test_never_pairs_a_client_that_has_left_another_server(self):
        one, other = self.start(2)
        for leave in (Client.close, Client.reset, Client.hang_up_half):
            before = one.statistics()["disconnected"]
            ghost = Client(one, request(b"room", b"ghost"))
            one.until(waiting=1)
            leave(ghost)
            one.until(disconnected=before + 1, waiting=0)
            self.swap(other, one)

    def test_clients_of_a_server_that_shuts_down_are_withdrawn(self):
        one, other, third = self.start(3)
        waiting = [Client(one, request(b"room %d" % i, b"old")) for i in range(50)]
        one.until(waiting=50)
        one.signal(signal.SIGTERM)
        for client in waiting:
            self.assertEqual(client.status(), CLOSED)
        last = one.ended()
        self.assertEqual((last["closed"], last["in_doubt"]), (50, 0))
        for i in range(50):
            self.swap(other, third, room=b"room %d" % i)

    def test_clients_of_the_others_survive_the_death_of_a_server(self):
        servers = self.start(3)
        waiting = [Client(servers[i % 3], request(b"wait %d" % i, b"%d" % i)) for i in range(30)]
        for server in servers:
            server.until(waiting=10)
        servers[0].signal(signal.SIGKILL)
        servers[0].process.wait(TIMEOUT)
        for i, client in enumerate(waiting):
            if i % 3 == 0:
                self.assertRaises((ConnectionError, EOFError), client.reply)
            else:
                partner = Client(servers[1 + i % 2], request(b"wait %d" % i, b"partner"))
                self.assertEqual((client.reply(), partner.reply()), ((EXCHANGED, b"partner"), (EXCHANGED, b"%d" % i)))
        for i in range(30):
            self.swap(servers[1], servers[2], room=b"later %d" % i)

    def test_redis_is_killed_while_clients_wait(self):
        servers = self.start(2, "--admin-port=0")
        waiting = [Client(servers[i % 2], request(b"room %d" % i)) for i in range(100)]
        for server in servers:
            server.until(waiting=50)
            server.until_page("/readyz", 200)
        self.redis.kill()
        for client in waiting:
            self.assertIn(client.status(), (UNAVAILABLE, IN_DOUBT))
        for server in servers:
            last = server.until(active=0, rooms=0, connected=0)
            self.assertEqual(last["unavailable"] + last["in_doubt"], 50)
            server.until_page("/readyz", 503, f"Redis cannot be reached: {self.redis.path}")
            self.assertEqual(server.get("/livez"), (200, "ok\n"))
            self.assertEqual(Client(server, request(b"room \xf6\n")).status(), UNAVAILABLE)
        self.redis.start()
        for server in servers:
            server.until(connected=1)
        self.swap(*servers)

    def test_a_server_starts_without_redis_and_finds_it_later(self):
        self.redis.kill()
        one, other = self.start(2, connected=0)
        self.assertEqual(Client(one, request(b"room", b"mine")).status(), UNAVAILABLE)
        self.redis.start()
        for server in one, other:
            server.until(connected=1)
        self.swap(one, other)

    def test_shuts_down_while_redis_hangs(self):
        (server,) = self.start(1)
        client = Client(server, request(b"room"))
        server.until(waiting=1)
        self.redis.process.send_signal(signal.SIGSTOP)
        server.signal(signal.SIGTERM)
        self.assertIn(client.status(), (CLOSED, IN_DOUBT))
        server.ended()

    def test_keeps_its_times_while_redis_refuses(self):
        for option, end, statuses in (("--wait-time=1", None, (TIMED_OUT, IN_DOUBT)),
                                      ("--send-time=1", signal.SIGTERM, (CLOSED, IN_DOUBT))):
            (server,) = self.start(1, option, lease="1000s") # longer than this test may take
            waits = Client(server, request(b"room"))
            until(lambda: self.redis.waiting("room") == 1, "it waits in Redis")
            self.redis.command("CONFIG", "SET", "min-replicas-to-write", 1)
            if end:
                server.signal(end)
            self.assertIn(waits.status(), statuses)
            if end:
                server.ended()
            self.redis.command("CONFIG", "SET", "min-replicas-to-write", 0)

    def test_refuses_a_wrong_url_and_shows_no_part_of_it(self):
        for url, part in (("redis://user:secret@host:99999", "port"), ("http://user:secret@host", "scheme"),
                          ("redis://user:secret@host?lease=1ms", "lease"), ("redis://user:sec%zzret@host", "password")):
            for arguments, environment in ((["--redis", url], {}), ([], {"PAIRING_REDIS": url})):
                done = run(chosen.server, *arguments, text=True, env={**os.environ, **environment})
                self.assertEqual(done.returncode, 2, url)
                self.assertIn(part, done.stderr, url)
                self.assertNotIn("sec", done.stderr.replace("second", ""), url)


if __name__ == "__main__":
    main(SeveralServers, __doc__.splitlines()[0])
