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

from remote_support import Scene, chosen, main, until


class RemoteFaults(Scene):
    # ---- Without faults

    def test_without_faults_nothing_is_in_doubt(self):
        self.workers(self.redis().url())
        history = self.check()
        self.assertEqual(history.count("in_doubt"), 0)
        self.assertGreater(history.remote_exchanges(), 0)

    def meet(self, server, first, second):
        """Lets two processes exchange items. After that they are connected and have joined the room."""
        mine = first.offer()
        until(lambda: server.waiting("room") == 1, "the first waits")
        theirs = second.offer()
        self.assertEqual(second.end_of(theirs)[:3], ["got", theirs, mine])
        self.assertEqual(first.end_of(mine)[:3], ["got", mine, theirs])

    # ---- Processes

    def test_processes_are_killed(self):
        server = self.redis()
        self.workers(server.url())
        for _ in range(max(2, self.operations() // 1000)):
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
            victim.signal(signal.SIGSTOP)
            time.sleep(self.random.uniform(0, 2 * self.lease / 1000))
            victim.signal(signal.SIGCONT)
            self.pause(0.3)
        self.while_working(disturb)
        self.check()

    def test_a_stopped_process_is_no_partner_after_its_lease(self):
        self.lease = 300
        server = self.redis()
        stopped, other = self.node(server.url()), self.node(server.url())
        first = stopped.offer()
        until(lambda: server.waiting("room") == 1, "the first waits")
        stopped.signal(signal.SIGSTOP)
        time.sleep(self.lease / 1000 + 0.01)  # the lease began before
        late = other.offer(patience=300)
        self.assertEqual(other.end_of(late), ["returned", late, "timed_out"])
        stopped.signal(signal.SIGCONT)
        second = other.offer()
        self.assertEqual(other.end_of(second)[:3], ["got", second, first])
        self.assertEqual(stopped.end_of(first)[:3], ["got", first, second])
        self.check()

    def test_a_stopped_process_gets_what_was_matched_during_its_lease(self):
        server = self.redis()
        self.lease = 10_000
        stopped, other = self.node(server.url()), self.node(server.url())
        first = stopped.offer()
        until(lambda: server.waiting("room") == 1, "the first waits")
        stopped.signal(signal.SIGSTOP)
        second = other.offer()
        self.assertEqual(other.end_of(second)[:3], ["got", second, first])
        stopped.signal(signal.SIGCONT)
        self.assertEqual(stopped.end_of(first)[:3], ["got", first, second])
        self.check()

    def test_another_format_of_items_is_in_doubt(self):
        server = self.redis()
        old, new = self.node(server.url()), self.node(server.url(), item_format="2")
        for kind, opposite in (("exchange", "exchange"), ("red", "blue")):
            first = old.offer(kind)
            until(lambda: server.waiting("room", kind) == 1, "the first waits")
            second = new.offer(opposite)
            self.assertIn("decoded:", old.end_of(first))
            self.assertEqual(old.end_of(first)[0], "in_doubt")
            self.assertEqual(new.end_of(second)[0], "in_doubt")
        first, second = new.offer(), new.offer()
        self.assertEqual(new.end_of(first)[:3], ["got", first, second])
        self.check()

    # ---- Connections

    def test_connections_break(self):
        self.lease = 500
        server = self.redis()
        proxy = self.proxy(server)
        proxy.random.seed(self.random.random())
        self.workers(proxy.url())
        late = []

        def disturb():
            proxy.longest_delay = self.random.choice((0, 0, 0.002))
            self.pause(0.2)
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
        self.while_working(disturb)
        self.check()

    def late_request(self, verb, patience):
        """An offer of a connection that broke; its request comes to Redis when all is over."""
        server = self.redis()
        proxy = self.proxy(server)
        cut, other = self.node(proxy.url()), self.node(server.url())
        self.meet(server, cut, other)
        proxy.hold(verb)
        name = cut.offer(patience=patience)
        held = proxy.held()
        proxy.cut()
        return server, cut, other, name, held

    def assert_has_no_effect(self, server, cut, other, held):
        """The bytes that were held back neither meet a waiting party nor begin to wait."""
        third = other.offer()
        until(lambda: server.waiting("room") == 1, "the third waits")
        self.assertIn(b"rejoin", held.release())
        self.assertEqual(server.waiting("room"), 1)
        fourth = cut.offer()
        self.assertEqual(other.end_of(third)[:3], ["got", third, fourth])
        self.assertEqual(cut.end_of(fourth)[:3], ["got", fourth, third])
        self.check()

    def test_a_late_arrival_has_no_effect_after_an_exchange(self):
        server, cut, other, first, held = self.late_request("arrive", -1)
        until(lambda: server.waiting("room") == 1, "the first waits")
        second = other.offer()
        self.assertEqual(other.end_of(second)[:3], ["got", second, first])
        self.assertEqual(cut.end_of(first)[:3], ["got", first, second])
        self.assert_has_no_effect(server, cut, other, held)

    def test_a_late_arrival_has_no_effect_after_the_item_was_returned(self):
        server, cut, other, first, held = self.late_request("arrive", 2000)
        self.assertEqual(cut.end_of(first), ["returned", first, "timed_out"])
        self.assert_has_no_effect(server, cut, other, held)

    def test_a_late_withdrawal_has_no_effect(self):
        server, cut, other, first, held = self.late_request("withdraw", 500)
        self.assertEqual(cut.end_of(first), ["returned", first, "timed_out"])
        self.assert_has_no_effect(server, cut, other, held)

    def test_a_late_arrival_has_no_effect_after_its_process_has_left(self):
        server, cut, other, first, held = self.late_request("arrive", 2000)
        self.assertEqual(cut.end_of(first), ["returned", first, "timed_out"])
        cut.finish()
        third = other.offer(patience=3000)
        until(lambda: server.waiting("room") == 1, "the third waits")
        self.assertIn(b"rejoin", held.release())
        self.assertEqual(other.end_of(third), ["returned", third, "timed_out"])
        self.assertEqual(server.waiting("room"), 0)
        self.check()

    def test_a_connection_breaks_again_before_it_learns_of_lost_data(self):
        self.lease = 60_000
        self.timeout = "60s"
        server = self.redis()
        proxy = self.proxy(server)
        cut, other = self.node(proxy.url()), self.node(server.url())
        first = cut.offer(patience=30_000)
        until(lambda: server.waiting("room") == 1, "the first waits")
        # A partner is found, but neither the message nor the result arrives.
        proxy.drop_replies()
        second = other.offer()
        self.assertEqual(other.end_of(second)[:3], ["got", second, first])
        server.command("FLUSHALL")
        # The next connection learns that the room is new, and breaks before it can ask for the offer.
        proxy.hold("renew")
        proxy.cut()
        proxy.held()
        proxy.cut()
        self.assertEqual(cut.end_of(first)[:2], ["in_doubt", first])
        self.check()

    def test_a_try_is_not_refused_before_its_end_is_known(self):
        self.lease = 60_000
        self.timeout = "60s"
        server = self.redis()
        proxy = self.proxy(server)
        cut, other = self.node(proxy.url()), self.node(server.url())
        self.meet(server, cut, other)
        second = other.offer()
        until(lambda: server.waiting("room") == 1, "the second waits")
        # The try is matched, but its reply does not arrive.
        proxy.drop_replies()
        first = cut.offer(patience=0)
        self.assertEqual(other.end_of(second)[:3], ["got", second, first])
        proxy.hold("join")
        proxy.cut()
        held = proxy.held()
        server.command("CONFIG", "SET", "maxmemory", "1")
        held.resume()
        refused = cut.offer(room="room", kind="exchange", patience=0)
        self.assertEqual(cut.end_of(refused), ["returned", refused, "unavailable"])
        server.command("CONFIG", "SET", "maxmemory", "0")
        cut.offer(patience=100)  # the room joins at once
        self.assertEqual(cut.end_of(first)[:3], ["got", first, second])
        self.check()

    def test_a_room_whose_record_was_removed_joins_twice(self):
        self.lease = 60_000
        self.timeout = "60s"
        server, step = self.redis_with_clock()
        proxy = self.proxy(server)
        cut, other = self.node(proxy.url()), self.node(server.url())
        first = cut.offer(patience=30_000)
        until(lambda: server.waiting("room") == 1, "the first waits")
        proxy.drop_replies()
        second = other.offer()
        self.assertEqual(other.end_of(second)[:3], ["got", second, first])
        # After years, by the clock, a new process joins and removes the record and its result.
        server.command("PERSIST", "tryst:2:x:{room}")
        step(1 << 28)
        third = self.node(server.url())
        third.offer()
        until(lambda: server.waiting("room") == 1, "the third waits")
        third.kill()
        # The reply to the first join does not arrive. To the second join, the record is known.
        proxy.hold("join")
        proxy.cut()
        held = proxy.held()
        held.cut()
        self.assertIn(b"joined", held.release())
        self.assertEqual(cut.end_of(first)[:2], ["in_doubt", first])
        self.check()

    # ---- Servers

    def restart(self, *options):
        self.lease = 500
        server = self.redis(options=options)
        self.workers(server.url())
        for _ in range(max(2, self.operations() // 1000)):
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
        waits = node.offer(room="a")
        until(lambda: server.waiting("a") == 1, "it waits")
        server.kill()
        self.assertEqual(node.end_of(waits)[:2], ["in_doubt", waits])
        refused = node.offer(room="b")
        self.assertEqual(node.end_of(refused), ["returned", refused, "unavailable"])
        server.start()
        other = self.node(server.url())
        first = other.offer(room="a")
        until(lambda: server.waiting("a") == 1, "the first waits")
        second = None
        while second is None:
            second = node.offer(room="a")
            if node.end_of(second)[0] == "returned":
                second = None  # not yet connected
        self.assertEqual(other.end_of(first)[:3], ["got", first, second])
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
        met, withdrawn, left = (before.offer(room=room) for room in "abc")
        for room in "abc":
            until(lambda: replica.waiting(room) == 1, "the replica knows the offer")
        replica.command("REPLICAOF", "NO", "ONE")
        partner = after.offer(room="a")
        self.assertEqual(after.end_of(partner)[:3], ["got", partner, met])
        self.assertEqual(before.end_of(met)[:3], ["got", met, partner])
        at_home = before.offer(room="b")  # the offer comes home to meet it
        self.assertEqual(before.end_of(withdrawn)[:3], ["got", withdrawn, at_home])
        until(lambda: master.waiting("b") == 0, "the offer is withdrawn")
        master.kill()
        self.assertEqual(before.end_of(left)[:2], ["in_doubt", left])
        for room in "abc":
            late = after.offer(room=room, patience=300)
            self.assertEqual(after.end_of(late), ["returned", late, "timed_out"])
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

        def disturb():
            self.pause(0.1)
            self.random.choice((evict, lose_a_key, lambda: server.command("FLUSHALL")))()
        self.while_working(disturb)
        self.check()

    def test_memory_is_exhausted(self):
        server = self.redis()
        self.workers(server.url())

        def disturb():
            self.pause(0.2)
            server.command("CONFIG", "SET", "maxmemory", "1")
            self.pause(0.05)
            server.command("CONFIG", "SET", "maxmemory", "0")
        self.while_working(disturb)
        self.assertEqual(self.check().count("in_doubt"), 0)

    def test_scripts_are_flushed(self):
        server = self.redis()
        self.workers(server.url())

        def disturb():
            self.pause(0.05)
            server.command("SCRIPT", "FLUSH")
        self.while_working(disturb)
        self.assertEqual(self.check().count("in_doubt"), 0)

    def joining(self):
        """A room that has joined again, and asks for an offer that waited; the question is held back."""
        self.lease = 3000
        self.timeout = "60s"
        server = self.redis()
        proxy = self.proxy(server)
        first, second = self.node(proxy.url()), self.node(server.url())
        self.meet(server, first, second)
        waits = first.offer("red")
        until(lambda: server.waiting("room", "red") == 1, "the first waits")
        proxy.hold("renew")
        proxy.cut()
        return server, first, second, waits, proxy.held()

    def meet_colours(self, first, second):
        """The room works again. The offer in doubt may find a partner before it is withdrawn."""
        red = first.offer("red")

        def met():
            blue = second.offer("blue", patience=500)
            return second.end_of(blue)[:3] == ["got", blue, red]
        until(met, "the two meet")
        self.check()

    def test_data_is_lost_while_a_room_joins(self):
        server, first, second, waits, held = self.joining()
        server.command("FLUSHALL")
        held.resume()
        self.assertEqual(first.end_of(waits)[:2], ["in_doubt", waits])
        self.meet_colours(first, second)

    def test_memory_is_exhausted_while_a_room_joins(self):
        server, first, second, waits, held = self.joining()
        server.command("CONFIG", "SET", "maxmemory", "1")
        held.resume()
        self.assertEqual(first.end_of(waits)[:2], ["in_doubt", waits])  # after one lease
        server.command("CONFIG", "SET", "maxmemory", "0")
        self.meet_colours(first, second)

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

        def disturb():
            self.pause(0.3)
            step(self.random.choice((0, 3600, -3600, 1, 50)))
        self.while_working(disturb)
        self.check()


if __name__ == "__main__":
    main(RemoteFaults, __doc__)
