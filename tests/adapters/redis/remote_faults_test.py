#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests that remote exchangers keep their promises while processes, connections and servers fail.

usage: remote_faults_test.py --node BINARY [OPTION...] [TEST...]

Real processes, real redis-servers. Some scenes are deterministic, the others disturb processes that
offer items at random, as the seed says. In the end each scene checks the records of all processes
(remote_history.py).
"""

import os
import signal
import struct
import sys
import time

sys.dont_write_bytecode = True # keeps the source tree clean

from redis_server import until
from remote_support import Scene, chosen, main


class RemoteFaults(Scene):
    # ---- Without faults

    def test_without_faults_nothing_is_in_doubt(self):
        self.workers(self.redis().url())
        history = self.check()
        self.assertEqual(history.count("in_doubt"), 0)
        self.assertGreater(history.remote_exchanges(), 0)

    def meet(self, server, first, second):
        """Lets two processes exchange items. After that they are connected and have joined the room."""
        self.assert_met(self.until_it_waits(first.offer(), server), second.offer())

    # ---- Processes

    def test_processes_are_killed(self):
        server = self.redis()
        self.workers(server.url())
        for _ in range(max(2, chosen.operations // 1000)):
            self.pause(0.5)
            victim = self.random.choice([node for node in self.nodes if not node.killed])
            victim.kill()
            self.workers(server.url(), 1, victim.operations // 2 + 1)
        self.check()

    def test_processes_are_stopped_for_longer_than_their_lease(self):
        self.lease = 300
        self.workers(self.redis().url())

        def disturb():
            victim = self.random.choice(self.nodes)
            victim.process.send_signal(signal.SIGSTOP)
            time.sleep(self.random.uniform(0, 2 * self.lease / 1000))
            victim.process.send_signal(signal.SIGCONT)
        self.disturbed(0.3, disturb)

    def stopped(self):
        """A process that is stopped while its offer waits, the offer, and another process."""
        server = self.redis()
        stopped, other = self.node(server.url()), self.node(server.url())
        first = self.until_it_waits(stopped.offer(), server)
        stopped.process.send_signal(signal.SIGSTOP)
        return stopped, first, other

    def test_a_stopped_process_is_no_partner_after_its_lease(self):
        self.lease = 300
        stopped, first, other = self.stopped()
        time.sleep(self.lease / 1000 + 0.01)  # the lease began before
        self.assert_returned(other.offer(patience=300), "timed_out")
        stopped.process.send_signal(signal.SIGCONT)
        self.assert_met(first, other.offer())
        self.check()

    def test_a_stopped_process_gets_what_was_matched_during_its_lease(self):
        self.lease = 10_000
        stopped, first, other = self.stopped()
        second = other.offer()
        self.assert_got(second, first)
        stopped.process.send_signal(signal.SIGCONT)
        self.assert_got(first, second)
        self.check()

    def test_another_format_of_items_is_in_doubt(self):
        server = self.redis()
        old, new = self.node(server.url()), self.node(server.url(), item_format="2")
        for kind, opposite in (("exchange", "exchange"), ("red", "blue")):
            first = self.until_it_waits(old.offer(kind), server, kind)
            second = new.offer(opposite)
            self.assertIn("decoded:", first.end())
            self.assert_in_doubt(first)
            self.assert_in_doubt(second)
        self.assert_met(new.offer(), new.offer())
        self.check()

    # ---- Connections

    def test_connections_break(self):
        self.lease = 500
        proxy = self.proxy(self.redis())
        proxy.random.seed(self.random.random())
        self.workers(proxy.url())
        late = []

        def disturb():
            if self.random.random() < 0.5:
                proxy.hold(self.random.choice(("arrive", "withdraw", "renew", "join")))
                self.pause(0.2)
            alive = [each for each in list(proxy.connections) if not each.is_cut]
            for each in self.random.sample(alive, min(len(alive), 2)):
                if self.random.random() < 0.3:
                    each.half_close()
                else:
                    each.cut()
                    late.append(each)
            self.pause(0.2)
            for each in late[:]:
                if self.random.random() < 0.5:
                    late.remove(each)
                    each.release()
            proxy.longest_delay = self.random.choice((0, 0, 0.002))
        self.disturbed(0.2, disturb)

    def proxied(self, lease=1000, timeout="1s", server=None):
        """A server, a proxy, a process behind it, and another without."""
        self.lease, self.timeout = lease, timeout
        server = server or self.redis()
        proxy = self.proxy(server)
        return server, proxy, self.node(proxy.url()), self.node(server.url())

    def late_request(self, verb, patience):
        """An offer of a connection that broke; its request comes to Redis when all is over."""
        server, proxy, cut, other = self.proxied()
        self.meet(server, cut, other)
        proxy.hold(verb)
        offer = cut.offer(patience=patience)
        held = proxy.held()
        proxy.cut()
        return server, cut, other, offer, held

    def assert_has_no_effect(self, server, cut, other, held):
        """The bytes that were held back neither meet a waiting party nor begin to wait."""
        third = self.until_it_waits(other.offer(), server)
        self.assertIn(b"rejoin", held.release())
        self.assertEqual(server.waiting("room"), 1)
        self.assert_met(third, cut.offer())
        self.check()

    def test_a_late_arrival_has_no_effect_after_an_exchange(self):
        server, cut, other, first, held = self.late_request("arrive", -1)
        self.assert_met(self.until_it_waits(first, server), other.offer())
        self.assert_has_no_effect(server, cut, other, held)

    def late_request_after_the_item_was_returned(self, verb, patience):
        server, cut, other, first, held = self.late_request(verb, patience)
        self.assert_returned(first, "timed_out")
        self.assert_has_no_effect(server, cut, other, held)

    def test_a_late_arrival_has_no_effect_after_the_item_was_returned(self):
        self.late_request_after_the_item_was_returned("arrive", 2000)

    def test_a_late_withdrawal_has_no_effect(self):
        self.late_request_after_the_item_was_returned("withdraw", 500)

    def test_a_late_arrival_has_no_effect_after_its_process_has_left(self):
        server, cut, other, first, held = self.late_request("arrive", 2000)
        self.assert_returned(first, "timed_out")
        cut.finish()
        third = self.until_it_waits(other.offer(patience=3000), server)
        self.assertIn(b"rejoin", held.release())
        self.assert_returned(third, "timed_out")
        self.assertEqual(server.waiting("room"), 0)
        self.check()

    def test_a_connection_breaks_again_before_it_learns_of_lost_data(self):
        server, proxy, cut, other = self.proxied(60_000, "60s")
        first = self.until_it_waits(cut.offer(patience=30_000), server)
        # A partner is found, but neither the message nor the result arrives.
        proxy.drop_replies()
        self.assert_got(other.offer(), first)
        server.command("FLUSHALL")
        # The next connection learns that the room is new, and breaks before it can ask for the offer.
        proxy.cut("renew")
        proxy.held()
        proxy.cut()
        self.assert_in_doubt(first)
        self.check()

    def test_a_try_is_not_refused_before_its_end_is_known(self):
        server, proxy, cut, other = self.proxied(60_000, "60s")
        self.meet(server, cut, other)
        second = self.until_it_waits(other.offer(), server)
        # The try is matched, but its reply does not arrive.
        proxy.drop_replies()
        first = cut.offer(patience=0)
        self.assert_got(second, first)
        proxy.cut("join")
        held = proxy.held()
        server.command("CONFIG", "SET", "maxmemory", "1")
        held.resume()
        self.assert_returned(cut.offer(patience=0), "unavailable")
        server.command("CONFIG", "SET", "maxmemory", "0")
        cut.offer(patience=100)  # the room joins at once
        self.assert_got(first, second)
        self.check()

    def test_a_room_whose_record_was_removed_joins_twice(self):
        server, step = self.redis_with_clock()
        server, proxy, cut, other = self.proxied(60_000, "60s", server)
        first = self.until_it_waits(cut.offer(patience=30_000), server)
        proxy.drop_replies()
        self.assert_got(other.offer(), first)
        # After years, by the clock, a new process joins and removes the record and its result.
        server.command("PERSIST", "tryst:2:x:{room}")
        step(1 << 28)
        third = self.node(server.url())
        self.until_it_waits(third.offer(), server)
        third.kill()
        # The reply to the first join does not arrive. To the second join, the record is known.
        proxy.cut("join")
        held = proxy.held()
        held.cut()
        self.assertIn(b"joined", held.release())
        self.assert_in_doubt(first)
        self.check()

    # ---- Servers

    def restart(self, *options):
        self.lease = 500
        server = self.redis(options=options)
        self.workers(server.url())
        for _ in range(max(2, chosen.operations // 1000)):
            self.pause(0.5)
            server.kill()
            self.pause(0.3)
            server.start()
        self.check()

    def test_redis_restarts_with_an_append_only_file_after_each_write(self):
        self.restart("--appendonly", "yes", "--appendfsync", "always")

    def test_redis_restarts_with_an_append_only_file_every_second(self):
        self.restart("--appendonly", "yes", "--appendfsync", "everysec")

    def test_redis_restarts_without_data(self):
        self.restart()

    def test_redis_stays_away(self):
        self.lease = 300
        server = self.redis()
        node = self.node(server.url())
        waits = self.until_it_waits(node.offer(room="a"), server, room="a")
        server.kill()
        self.assert_in_doubt(waits)
        self.assert_returned(node.offer(room="b"), "unavailable")
        server.start()
        first = self.until_it_waits(self.node(server.url()).offer(room="a"), server, room="a")
        second = node.offer(room="a")
        while second.end()[0] == "returned":  # not yet connected
            second = node.offer(room="a")
        self.assert_met(first, second)
        self.check()

    def pair(self):
        """Starts a master and its replica. Returns them and the URL that names both."""
        master = self.redis(name="master", has_port=True)
        replica = self.redis(name="replica", has_port=True)
        replica.replicate(master)
        return master, replica, f"redis://127.0.0.1:{master.port},127.0.0.1:{replica.port}"

    def test_a_replica_takes_over(self):
        self.lease = 500
        master, replica, url = self.pair()
        self.workers(url)
        self.pause(0.5)
        master.kill()
        self.pause(0.3)
        replica.command("REPLICAOF", "NO", "ONE")
        self.check()

    def test_a_replica_takes_over_without_the_last_writes(self):
        self.lease = 500
        master, replica, url = self.pair()
        self.workers(url)
        self.pause(0.3)
        replica.command("REPLICAOF", "NO", "ONE")  # nobody uses it yet, but it gets nothing more
        self.pause(0.3)
        master.kill()
        self.check()

    def test_a_master_becomes_a_replica(self):
        self.lease = 500
        master, replica, url = self.pair()
        self.workers(url)
        for _ in range(2):
            self.pause(0.5)
            replica.command("REPLICAOF", "NO", "ONE")
            self.pause(0.1)
            master.replicate(replica)
            master, replica = replica, master
        self.check()

    def test_an_offer_withdrawn_in_lost_writes_is_not_matched(self):
        master, replica, url = self.pair()
        before, after = self.node(url), self.node(url)
        met, withdrawn, left = (self.until_it_waits(before.offer(room=room), replica, room=room) for room in "abc")
        replica.command("REPLICAOF", "NO", "ONE")
        self.assert_met(met, after.offer(room="a"))
        self.assert_got(withdrawn, before.offer(room="b"))  # the offer comes home to meet it
        until(lambda: master.waiting("b") == 0, "the offer is withdrawn")
        master.kill()
        self.assert_in_doubt(left)
        for room in "abc":
            self.assert_returned(after.offer(room=room, patience=300), "timed_out")
        self.check()

    # ---- Data

    def test_data_is_lost(self):
        server = self.redis()
        self.workers(server.url())

        def evict():
            server.command("CONFIG", "SET", "maxmemory-policy", "allkeys-random")
            server.command("CONFIG", "SET", "maxmemory", "1mb")
            self.pause(0.02)
            server.command("CONFIG", "SET", "maxmemory", "0")

        def lose_a_key():
            if key := server.command("RANDOMKEY"):
                server.command("DEL", key.decode())
        losses = (evict, lose_a_key, lambda: server.command("FLUSHALL"))
        self.disturbed(0.1, lambda: self.random.choice(losses)())

    def test_memory_is_exhausted(self):
        server = self.redis()
        self.workers(server.url())

        def disturb():
            server.command("CONFIG", "SET", "maxmemory", "1")
            self.pause(0.05)
            server.command("CONFIG", "SET", "maxmemory", "0")
        self.assertEqual(self.disturbed(0.2, disturb).count("in_doubt"), 0)

    def test_scripts_are_flushed(self):
        server = self.redis()
        self.workers(server.url())
        history = self.disturbed(0.05, lambda: server.command("SCRIPT", "FLUSH"))
        self.assertEqual(history.count("in_doubt"), 0)

    def doubt_while_joining(self, lose, regain):
        """Redis loses something before a room that has joined again can ask for its offer that waited."""
        server, proxy, first, second = self.proxied(3000, "60s")
        self.meet(server, first, second)
        waits = self.until_it_waits(first.offer("red"), server, "red")
        proxy.cut("renew")
        held = proxy.held()
        server.command(*lose)
        held.resume()
        self.assert_in_doubt(waits)
        server.command(*regain)
        # The room works again. The offer in doubt may find a partner before it is withdrawn.
        red = first.offer("red")

        def met():
            blue = second.offer("blue", patience=500)
            return blue.end()[:3] == ["got", blue.name, red.name]
        until(met, "the two meet")
        self.check()

    def test_data_is_lost_while_a_room_joins(self):
        self.doubt_while_joining(["FLUSHALL"], ["PING"])

    def test_memory_is_exhausted_while_a_room_joins(self):
        setting = ["CONFIG", "SET", "maxmemory"]
        self.doubt_while_joining([*setting, "1"], [*setting, "0"])  # in doubt after one lease

    # ---- Clocks

    def redis_with_clock(self):
        """Returns a server, and a function that sets its clock to so many seconds after the system's."""
        path = self.directory + "/clock"

        def step(seconds):
            with open(path, "r+b" if os.path.exists(path) else "wb") as file:
                file.write(struct.pack("@q", seconds))
        step(0)
        return self.redis(environment={"LD_PRELOAD": chosen.clock, "TRYST_CLOCK": path}), step

    def test_the_clock_of_redis_is_stepped(self):
        server, step = self.redis_with_clock()
        begin = int(server.command("TIME")[0])
        step(3600)
        self.assertGreater(int(server.command("TIME")[0]), begin + 3599)  # it works
        self.workers(server.url())
        self.disturbed(0.3, lambda: step(self.random.choice((0, 3600, -3600, 1, 50))))


if __name__ == "__main__":
    main(RemoteFaults, __doc__)
