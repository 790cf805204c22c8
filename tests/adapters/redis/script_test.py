# SPDX-License-Identifier: MIT
"""Tests src/redis/rendezvous.lua in a real server. With --mutants: each change of it must fail a test."""

import os
import random
import re
import sys
import tempfile
import time
import unittest

from redis_server import Connection, Redis, end_process

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../src/redis/rendezvous.lua")
ROOM, TWO_SIDES = "tryst:2:x:{room}", "tryst:2:c:{room}"
MINUTE = 60_000


def text(reply):
    return list(map(text, reply)) if isinstance(reply, list) else reply.decode("latin1") if isinstance(reply, bytes) else reply


def packed(data):
    """The numbers of 6 bytes in a field."""
    return [int.from_bytes(data[i:i + 6], "little") for i in range(0, len(data), 6)]


class Member:
    """A room of a process, as far as the script knows it."""

    def __init__(self, name, room=ROOM, epoch=1, lease=MINUTE, via=None):
        self.name, self.room, self.epoch, self.lease, self.via = name, room, epoch, lease, via or ScriptTest.server
        self.generation = self.birth = None
        self.join()

    def words(self, verb, *rest, key=None):
        return ["EVALSHA", ScriptTest.sha, 1, key or self.room, verb, self.epoch, self.name, self.generation, *rest]

    def call(self, verb, *rest, acks=""):
        rest = [*rest, *acks.split()] if verb == "arrive" else [acks] if verb == "leave" else rest
        return text(self.via.command(*self.words(verb, *rest)))

    def join(self, low=1, high=150):
        words = self.words("join")[:7] + [self.lease, f"{random.getrandbits(64):x}", "tryst:", low, high]
        reply = text(self.via.command(*words))
        if reply[0] == "joined":
            self.generation, self.birth = reply[1:3]
        return reply

    def arrival(self, number, side=1, waits=1, item=None, accepts=100, largest=50):
        opposite = side if self.room == ROOM else 3 - side
        item = f"{self.name}:{number}" if item is None else item
        return ["arrive", number, side, opposite, waits, f"{number:x}abc", item, accepts, largest, "tryst:"]

    def arrive(self, number, *rest, acks="", **more):
        return self.call(*self.arrival(number, *rest, **more), acks=acks)

    def withdraw(self, number):
        return self.call("withdraw", number)

    def collect(self, *numbers, acks=""):
        if acks:
            self.renew(acks=acks)
        return self.call("collect", *numbers)[1:]

    def renew(self, *numbers, low=1, acks=""):
        return self.call("renew", acks, low, 150, " ".join(map(str, numbers)))[1]

    def count(self):
        return self.call("count")[1]

    def record(self):
        """epoch, end of the lease, its length, low, high, birth"""
        epoch, record = self.via.command("HMGET", self.room, "e:" + self.name, "m:" + self.name)
        return [int(epoch), *packed(record[:24]), record[24:].decode()]

    def set_lease_end(self, end):
        record = self.via.command("HGET", self.room, "m:" + self.name)
        self.via.command("HSET", self.room, "m:" + self.name, end.to_bytes(6, "little") + record[6:])


class ScriptTest(unittest.TestCase):
    script = server = sha = None

    def setUp(self):
        self.server.command("FLUSHALL")
        ScriptTest.sha = self.server.command("SCRIPT", "LOAD", self.script)

    def hash(self, prefix="", room=ROOM):
        found = text(self.server.command("HGETALL", room))
        return {field: value for field, value in zip(found[::2], found[1::2]) if field.startswith(prefix)}

    def fields(self, *prefixes, room=ROOM):
        return [field for field in self.hash(room=room) if field.startswith(prefixes)]

    def now(self):
        seconds, micros = self.server.command("TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    def steps(self, call):
        """Returns the reply of a call, and how many commands it has executed, without those that depend on the clock."""
        self.server.command("CONFIG", "RESETSTAT")
        reply = call()
        stats = text(self.server.command("INFO", "commandstats")).split("\r\n")
        calls = {line.split(":")[0]: int(line.split("calls=")[1].split(",")[0]) for line in stats if "calls=" in line}
        others = ("cmdstat_evalsha", "cmdstat_config", "cmdstat_info", "cmdstat_pexpire", "cmdstat_pttl")
        return reply, sum(count for name, count in calls.items() if not name.startswith(others))

    def listen(self, channel):
        connection = Connection(self.path)
        self.addCleanup(connection.__exit__)
        connection.command("SUBSCRIBE", channel)

        def heard():
            self.server.command("PUBLISH", channel, "end")
            return list(iter(lambda: text(connection.reply())[2], "end"))
        return heard

    def limited(self, *rights):
        """A connection of a user who has not all rights."""
        self.server.command("ACL", "SETUSER", "ada", "reset", "on", ">secret", "~*", "&*", "+@all", *rights)
        connection = Connection(self.path)
        self.addCleanup(connection.__exit__)
        connection.command("AUTH", "ada", "secret")
        return connection

    def fill(self, member, numbers, **more):
        for start in range(0, len(numbers), 200):
            part = numbers[start:start + 200]
            for number in part:
                self.server.send(*member.words(*member.arrival(number, **more)))
            for number in part:
                self.assertEqual(self.server.reply(), [b"waiting"])

    def begin_generation(self, *members):
        self.server.command("HDEL", members[0].room, "generation")
        for member in members:
            member.join()

    # ---- Matches

    def test_pair(self):
        a, b = Member("a.1"), Member("b.1")
        self.assertEqual(a.arrive(7), ["waiting"])
        self.assertEqual((a.renew(7, 8), a.count()), (["", "w?"], "1 0 2 0"))
        self.assertEqual(b.arrive(3), ["matched", "a.1:7"])
        self.assertEqual((a.collect(7, 8), b.collect(3)), (["b.1:3", None], ["a.1:7"]))
        self.assertEqual((a.renew(6, 7), b.renew(3)), (["", "?m"], ["", "m"]))
        self.assertEqual((a.withdraw(7), a.count()), (["matched", "b.1:3"], "0 0 2 1"))
        self.assertEqual(b.arrive(4), ["waiting"])

    def test_order_on_two_sides(self):
        a, b, c = (Member(name, TWO_SIDES) for name in ("a.1", "b.1", "c.1"))
        for number in range(3):
            self.assertEqual((a.arrive(number), b.arrive(number)), (["waiting"], ["waiting"]))
        self.assertEqual(c.count(), "6 0 3 0")
        got = [c.arrive(number, 2)[1] for number in range(6)]
        self.assertEqual(got, ["a.1:0", "b.1:0", "a.1:1", "b.1:1", "a.1:2", "b.1:2"])
        self.assertEqual((c.arrive(6, 2), c.count()), (["waiting"], "0 1 3 6"))

    def test_try(self):
        a, b = Member("a.1"), Member("b.1")
        self.assertEqual((a.arrive(1, waits=0), self.fields("1:", "w:", "i:")), (["no_partner"], []))
        self.assertEqual((b.arrive(1), a.arrive(2, waits=0), b.collect(1)), (["waiting"], ["matched", "b.1:1"], ["a.1:2"]))

    def test_history(self):
        """Parties of three members arrive and withdraw at random. A list for each side knows who must meet."""
        chance = random.Random(1)
        for room, sides in ((ROOM, 1), (TWO_SIDES, 2)):
            members = [Member(f"{name}.1", room) for name in "abc"]
            waiting, number, met = {1: [], 2: []}, 0, 0
            for _ in range(300):
                member, side, number = chance.choice(members), chance.randint(1, sides), number + 1
                queue, own = waiting[side if sides == 1 else 3 - side], waiting[side]
                if own and chance.random() < 0.2:
                    gone = own.pop(chance.choice([0, -1, chance.randrange(len(own))]))
                    self.assertEqual(gone[0].withdraw(gone[1]), ["withdrawn"])
                elif queue:
                    other, its_number = queue.pop(0)
                    met += 1
                    self.assertEqual(member.arrive(number, side), ["matched", f"{other.name}:{its_number}"])
                    self.assertEqual(other.withdraw(its_number), ["matched", f"{member.name}:{number}"])
                else:
                    waits = int(chance.random() < 0.8)
                    self.assertEqual(member.arrive(number, side, waits), ["waiting" if waits else "no_partner"])
                    own.extend([(member, number)] * waits)
                self.assertEqual(member.count(), f"{len(waiting[1])} {len(waiting[2])} 3 {met}")

    def test_withdrawals_in_each_order(self):
        a, b = Member("a.1", TWO_SIDES), Member("b.1", TWO_SIDES)
        numbers = list(range(120))
        for order in (numbers, numbers[::-1], random.Random(2).sample(numbers, 120)):
            self.fill(a, numbers)
            for number in order[:110]:
                self.assertEqual(a.withdraw(number), ["withdrawn"])
            self.assertEqual(a.withdraw(order[0]), ["withdrawn"])
            self.assertTrue(a.count().startswith("10 0"))
            met = sum((b.arrive(number, 2, waits=0)[1:] for number in range(12)), [])
            self.assertEqual(met, [f"a.1:{number}" for number in sorted(order[110:])])
            self.assertEqual(self.fields("1:", "w:", "i:", room=TWO_SIDES), [])
            a.collect(acks=" ".join(map(str, numbers)))

    def test_message(self):
        a, b = Member("a.17", TWO_SIDES), Member("b.1", TWO_SIDES)
        hear = self.listen("tryst:wake:a")
        self.fill(a, [10, 11, 12, 13])
        b.arrive(1, 2, item="x" * 5, largest=5)
        b.arrive(2, 2, item="x" * 6, largest=5)
        b.arrive(3, 2, item="x", largest=0)
        b.arrive(4, 2, item="", largest=0)
        Member("a.18", TWO_SIDES)
        self.assertEqual(hear(), ["17:10 aabc xxxxx", "17:11", "17:12", "17:13 dabc ", ""])

    def test_too_large(self):
        a, b = Member("a.1"), Member("b.1")
        a.arrive(1, item="x" * 5, accepts=4)
        self.assertEqual(b.arrive(1, item="y", accepts=4), ["too_large", 5, 4])
        self.assertEqual(b.arrive(2, item="y" * 5, accepts=5), ["too_large", 5, 4])
        self.assertEqual((a.count(), a.renew(1), b.renew(1, 2), self.fields("r:")), ("1 0 2 0", ["", "w"], ["", "??"], []))
        self.assertEqual(b.arrive(3, item="y" * 4, accepts=5), ["matched", "x" * 5])
        self.assertEqual(a.arrive(2, accepts=2 ** 64 - 1), ["waiting"])
        self.assertEqual(b.arrive(4, accepts=2 ** 64 - 1), ["matched", "a.1:2"])

    # ---- Rules

    def test_only_a_current_member_changes_anything(self):
        a, b = Member("a.1"), Member("b.1")
        a.arrive(1)
        b.arrive(1)
        b.arrive(2)
        a.epoch = 10
        a.join()
        before = self.hash()
        for epoch, generation, name in ((9, a.generation, "a.1"), (10, "other", "a.1"), (10, a.generation, "z.1")):
            a.epoch, a.name, generation, a.generation = epoch, name, a.generation, generation
            for call in (a.arrival(5), ["withdraw", 1], ["collect", 1], ["close", "tryst:"], ["leave"], ["count"]):
                self.assertEqual(a.call(*call, acks="1"), ["rejoin"])
            self.assertEqual(a.renew(), ["rejoin"])
            a.name, a.generation = "a.1", generation
        a.epoch = 9
        self.assertEqual((a.join(), self.hash()), (["stale"], before))

    def test_another_generation(self):
        run, replication = (re.search(name + ":(.*?)\r", text(self.server.command("INFO", "all")))[1] for name in ("run_id", "master_replid"))
        for past in (f"{'f' * 40}.{replication}", f"{run}.{'f' * 40}", None):
            a, b, c = Member("a.1"), Member("b.1"), Member("c.1")
            for each, number in ((a, 1), (b, 1), (a, 2)):
                each.arrive(number)
            self.server.command(*(["HSET", ROOM, "generation", past + ":1"] if past else ["HDEL", ROOM, "generation"]))
            c.join()
            self.assertTrue(c.generation.startswith(f"{run}.{replication}:") and c.generation != a.generation)
            self.assertEqual((c.arrive(1, waits=0), c.count(), a.arrive(3), b.collect(1)), (["no_partner"], "0 0 3 1", ["rejoin"], []))
            self.assertEqual(a.join(), ["joined", c.generation, a.birth, ""])
            self.assertEqual((a.renew(1, 2), a.collect(1)), (["", "m?"], ["b.1:1"]))
            self.server.command("FLUSHALL")

    def test_lease(self):
        a, b = Member("a.1"), Member("b.1")
        for end in (self.now() - 1, self.now() + 3 * MINUTE):  # it has ended; the clock was stepped back
            a.arrive(1)
            a.set_lease_end(end)
            self.assertEqual((b.arrive(1, waits=0), b.count()), (["no_partner"], "0 0 2 0"))
            self.assertEqual((self.fields("1:", "w:", "i:", "r:"), a.renew(1)), ([], ["", "?"]))
        short = Member("c.1", lease=1)
        short.arrive(1)
        time.sleep(0.01)
        self.assertEqual(b.arrive(2), ["waiting"])

    def test_lease_is_renewed(self):
        a, hour = Member("a.1"), 60 * MINUTE
        a.renew()
        for call in (a.renew, a.join):
            for end in (0, self.now() + MINUTE // 3, self.now() + hour):
                a.set_lease_end(end)
                before = self.now()
                call()
                self.assertTrue(before + MINUTE <= a.record()[1] <= self.now() + MINUTE)

    def test_expiry(self):
        a = Member("a.1", lease=20_000)
        b = Member("b.1", lease=1000)  # it does not shorten the life of the room
        for call, low, high in ((b.renew, 60_000, 120_000), (b.join, 60_000, 120_000), (None, 1000, 60_000), (a.renew, 60_000, 120_000)):
            if not call:
                self.server.command("PEXPIRE", ROOM, 1000)
                b.renew()
            else:
                call()
            for key in (ROOM, "tryst:x:{room}")[:1 if not call else 2]:
                self.assertTrue(low < self.server.command("PTTL", key) <= high)

    def test_results_stay_until_acknowledged(self):
        a, b = Member("a.1"), Member("b.1")
        a.arrive(1)
        b.arrive(2)
        self.assertEqual(a.collect(1, acks="2 3"), a.collect(1))
        self.assertEqual((a.collect(1, acks="1"), b.collect(2)), ([None], ["a.1:1"]))
        b.renew(acks="2")
        self.assertEqual(self.fields("r:"), [])
        self.assertEqual((a.arrive(2), b.arrive(3)[0], b.arrive(5, waits=0, acks="3")), (["waiting"], "matched", ["no_partner"]))
        self.assertEqual((b.collect(3), a.collect(2, acks="2"), self.fields("r:")), ([None], [None], []))
        a.arrive(4)
        b.arrive(4)
        many = " ".join(map(str, range(20_000)))
        self.assertEqual((a.call("leave", acks=many), self.fields("r:")), (["left"], ["r:b.1:4"]))
        self.assertEqual((a.count() if a.join() else "", Member("c.1").count()), ("0 0 2 3", "0 0 3 3"))

    def test_leave(self):
        a, b = Member("a.1"), Member("b.1")
        self.assertEqual((a.call("leave"), b.count(), a.arrive(1)), (["left"], "0 0 1 0", ["rejoin"]))
        birth = a.birth
        self.assertNotEqual(a.join(low=5)[2], birth)
        self.assertEqual(a.record()[3:5], [5, 150])

    def test_collect_ends_early(self):
        a, b = Member("a.1", TWO_SIDES), Member("b.1", TWO_SIDES)
        self.fill(a, [1, 2, 3], accepts=40_000)
        for number in range(3):
            b.arrive(number, 2, item="x" * 40_000)
        self.assertEqual([len(each) for each in a.collect(1, 2, 3)], [40_000] * 2)

    def test_close(self):
        a, b = Member("a.1", TWO_SIDES), Member("b.1", TWO_SIDES)
        hear = self.listen("tryst:closed")
        self.fill(a, [1, 2])
        b.arrive(1, 2)
        self.assertEqual((b.call("close", "tryst:"), hear()), (["closed"], [TWO_SIDES]))
        self.assertEqual((a.renew(1, 2), a.arrive(3), b.arrive(3, 2, waits=0)), (["1", "m?"], ["closed"], ["closed"]))
        self.assertEqual((a.collect(1), a.withdraw(2), a.count(), a.join()[3]), (["b.1:1"], ["withdrawn"], "0 0 2 1", "1"))

    def test_version(self):
        for words in (("HSET", "tryst:x:{room}", "run", "1"), ("SET", "tryst:x:{room}", "3")):
            self.server.command("FLUSHALL")
            self.server.command(*words)
            with self.assertRaisesRegex(ValueError, "another version of the protocol"):
                Member("a.1")
            self.assertEqual(self.server.command("EXISTS", ROOM), 0)
        self.server.command("FLUSHALL")
        Member("a.1")
        self.assertEqual(self.server.command("GET", "tryst:x:{room}"), b"2")

    def test_missing_permission(self):
        with self.assertRaisesRegex(ValueError, "perm|can't"):
            Member("a.1", via=self.limited("resetchannels"))
        self.assertEqual(self.server.command("DBSIZE"), 0)
        a, b = Member("a.1"), Member("b.1", via=self.limited())
        self.limited("-hdel")
        a.arrive(1)
        self.assertEqual((b.arrive(1), a.collect(1), a.count()), (["matched", "a.1:1"], ["b.1:1"], "0 0 2 1"))

    def test_several_rooms(self):
        a, b = Member("a.1"), Member("a.2", TWO_SIDES)
        b.arrive(5)
        parts = [[a.name, a.generation, "", 1, 9, ""], ["z.1", a.generation, "", 1, 9, ""], [b.name, b.generation, "", 4, 9, "4 5"]]
        words = ["EVALSHA", self.sha, 3, ROOM, ROOM, TWO_SIDES, "renew", 1, *sum(parts, [])]
        self.assertEqual(text(self.server.command(*words)), ["renewed", ["", ""], ["rejoin"], ["", "?w"]])
        self.assertEqual((a.record()[3], b.record()[3]), (1, 4))

    # ---- Steps

    def test_void_entries_are_swept(self):
        a, b = Member("a.1", TWO_SIDES), Member("b.1", TWO_SIDES)
        self.fill(a, range(250))
        self.begin_generation(b, a)
        self.assertEqual((a.arrive(7), a.withdraw(8), b.count()), (["waiting"], ["withdrawn"], "1 0 2 0"))
        for left in (151, 51, 1):
            reply, steps = self.steps(lambda: a.renew(7, 249))
            self.assertEqual((reply, len(self.fields("1:", room=TWO_SIDES))), (["", "w?"], left))
            self.assertLessEqual(steps, 320)
        self.assertEqual(sorted(self.fields("w:", "i:", room=TWO_SIDES)), ["i:a.1:7", "w:a.1:7"])
        self.assertEqual((b.arrive(1, 2), a.collect(7), b.arrive(2, 2)), (["matched", "a.1:7"], ["b.1:1"], ["waiting"]))
        b.call("close", "tryst:")
        a.renew()
        self.assertEqual(self.fields("1:", "2:", "w:", "i:", room=TWO_SIDES), [])

    def test_parties_of_the_dead_are_dropped(self):
        a, b = Member("a.1", TWO_SIDES), Member("b.1", TWO_SIDES)
        self.fill(a, range(250))
        a.set_lease_end(0)
        for reply, count in ((["again"], 150), (["again"], 50), (["no_partner"], 0)):
            got, steps = self.steps(lambda: b.arrive(1, 2, waits=0))
            self.assertEqual((got, b.count()), (reply, f"{count} 0 2 0"))
            self.assertLessEqual(steps, 320)
        self.assertEqual(self.fields("1:", "w:", "i:", room=TWO_SIDES), [])

    def test_dead_members_are_retired(self):
        dead, b = [Member(f"a.{number}") for number in range(4)], Member("b.1")
        for number in range(1, 151):
            dead[0].arrive(number)
            dead[1].arrive(number)
        dead[2].renew(low=2000)
        keep = 6 * MINUTE
        self.assertEqual((b.renew() and b.count(), len(self.fields("r:"))), ("0 0 5 150", 300))
        for member in dead[:3]:
            member.set_lease_end(self.now() - keep - 1)
        dead[3].set_lease_end(self.now() - keep + MINUTE)
        self.assertEqual(dead[2].record()[3:5], [2000, 150])
        for _ in range(40):
            before = len(self.fields("r:"))
            self.assertLessEqual(self.steps(b.renew)[1], 12)
            self.assertLessEqual(before - len(self.fields("r:")), 100)
        self.assertEqual((self.fields("r:"), set(self.fields("m:")), len(self.fields("p:"))), ([], {"m:a.3", "m:b.1"}, 2))
        self.assertEqual(b.count(), "0 0 2 150")
        dead[3].set_lease_end(self.now() + keep + 2 * MINUTE)  # the clock was stepped back by long
        b.join()
        b.renew()
        self.assertEqual((self.fields("m:"), b.count()), (["m:b.1"], "0 0 1 150"))

    def test_a_member_comes_back_while_it_is_retired(self):
        """What is left must not look like a record that knows all results."""
        a, b = Member("a.1"), Member("b.1")
        a.arrive(5)
        b.arrive(1)
        birth = a.birth
        a.set_lease_end(self.now() - 6 * MINUTE - 1)
        while a.name in self.hash("p:").values() and "r:a.1:5" in self.fields("r:"):
            b.renew()
        self.assertEqual(a.renew(5), ["rejoin"])
        a.join()
        self.assertNotEqual(a.birth, birth)
        self.assertEqual((a.renew(5), b.count()), (["", "?"], "0 0 2 1"))

    def test_an_empty_queue_has_no_holes(self):
        a, b = Member("a.1", TWO_SIDES), Member("b.1", TWO_SIDES)
        self.fill(a, range(300))
        for number in range(1, 300):
            a.withdraw(number)
        self.assertEqual((b.arrive(1, 2), a.arrive(400)), (["matched", "a.1:0"], ["waiting"]))
        self.assertEqual(b.arrive(2, 2), ["matched", "a.1:400"])

    def test_a_renewal_of_many_rooms_is_bounded(self):
        rooms = [Member("a.1", f"tryst:2:c:{{{number}}}") for number in range(5)]
        for each in rooms:
            self.fill(each, range(150))
            each.call("close", "tryst:")
        parts = sum(([each.name, each.generation, "", 1, 150, ""] for each in rooms), [])
        words = ["EVALSHA", self.sha, 5, *(each.room for each in rooms), "renew", 1, *parts]
        left = [len(self.fields("1:", room=each.room)) for each in rooms]
        while any(left):
            steps = self.steps(lambda: self.server.command(*words))[1]
            now = [len(self.fields("1:", room=each.room)) for each in rooms]
            self.assertTrue(0 < sum(left) - sum(now) <= 100)
            self.assertLessEqual(steps, 400)
            left = now

    def test_cost(self):
        """Each call takes the same number of commands however many strangers wait."""
        costs = []
        for strangers in (2, 1000, 20_000):
            self.server.command("FLUSHALL")
            members = [Member(f"a.{number}", TWO_SIDES) for number in range(max(2, strangers // 100))]
            for member in members:
                self.fill(member, range(strangers // len(members)))
            b = Member("b.1", TWO_SIDES)
            calls = [b.join, b.renew, lambda: b.arrive(1), lambda: b.renew(1), lambda: b.withdraw(1), lambda: b.collect(1), b.count,
                     lambda: b.arrive(2, 2), lambda: b.arrive(3, 2, waits=0, acks="2"), lambda: b.withdraw(3)]
            costs.append([self.steps(call)[1] for call in calls])
        self.assertEqual((costs[0], costs[0]), (costs[1], costs[2]))
        self.assertLessEqual(max(costs[0]), 24)
        for member in members:
            member.set_lease_end(0)
        self.assertEqual([b.arrive(number, 2)[0] for number in range(201)].count("again"), 199)
        self.assertEqual(self.fields("1:", "w:a", "i:a", room=TWO_SIDES), [])


class Server:
    """Runs the tests in one server."""

    def __enter__(self):
        self.directory = tempfile.TemporaryDirectory(prefix="tryst-redis-")
        self.redis = Redis(self.directory.name)
        ScriptTest.path, ScriptTest.server = self.redis.path, Connection(self.redis.path)
        with open(PATH, encoding="utf-8") as file:
            ScriptTest.script = file.read()
        return self

    def __exit__(self, *_):
        ScriptTest.server.__exit__()
        end_process(self.redis.process)
        self.directory.cleanup()


# The test that finds it, what is wrong, the script's text, and another text.
MUTANTS = (
    ("only_a_current_member_changes_anything", "R1: any epoch", "known[1] == generation and known[2] == epoch", "known[1] == generation and known[2]"),
    ("only_a_current_member_changes_anything", "R1: any generation", "return known[1] == generation and ", "return "),
    ("only_a_current_member_changes_anything", "R1: arrivals of any epoch", " or known[2] ~= epoch then", " then"),
    ("only_a_current_member_changes_anything", "R1: arrivals of any generation", "known[1] ~= ARGV[4] or ", ""),
    ("only_a_current_member_changes_anything", "R1: renewals of any epoch", "        if is_current() then", "        if known[3] then"),
    ("only_a_current_member_changes_anything", "R1: stale joins", "tonumber(known[2]) > tonumber(epoch)", "false"),
    ("only_a_current_member_changes_anything", "R1: epochs compared as text", "tonumber(known[2]) > tonumber(epoch)", "known[2] > epoch"),
    ("another_generation", "R2: the queues stay", "        drop_queues() -- R2\n", ""),
    ("another_generation", "R2: the run id is not compared", "string.match(call('INFO', 'server'), 'run_id:(%w+)')", "''"),
    ("another_generation", "R2: the replication id is not compared", "string.match(call('INFO', 'replication'), 'master_replid:(%w+)')", "''"),
    ("another_generation", "R2: generations have no names", "present = server .. ':' .. fresh", "present = server .. ':1'"),
    ("void_entries_are_swept", "R2: a void entry is said to wait", "if side and tonumber(position) >= heads[side] then", "if side then"),
    ("lease", "R3: any lease", "= has_lease(call('HGET', room, 'm:' .. string.match(id, '^[^:]*')), time)", "= true"),
    ("lease", "R3: a lease from before a step of the clock", " and lease_end <= time + lease\n", "\n"),
    ("pair", "R4: no result of the arrival", "'r:' .. me, partners, opposite", "opposite"),
    ("pair", "R4: no result of the waiter", "'r:' .. id, item, 'r:'", "'r:'"),
    ("pair", "R4: one item for both", "'r:' .. me, partners, opposite", "'r:' .. me, item, opposite"),
    ("pair", "matches are not counted", "queue.matched + 1", "queue.matched"),
    ("pair", "a renewal does not tell of a match", "state = 'm'", "state = '?'"),
    ("pair", "a withdrawal does not look for a result", "    if result then\n", "    if false then\n"),
    ("results_stay_until_acknowledged", "R4: an acknowledgement removes nothing", "        fields[#fields + 1] = 'r:' .. offer(number)\n", "        fields[#fields + 1] = 'r'\n"),
    ("results_stay_until_acknowledged", "an acknowledgement of others' results", "        fields[#fields + 1] = 'r:' .. offer(number)\n", "        fields[#fields + 1] = 'r:b.1:' .. number\n"),
    ("results_stay_until_acknowledged", "too many acknowledgements", "        if #fields == LARGEST_STEP then", "        if false then"),
    ("results_stay_until_acknowledged", "a renewal acknowledges nothing", "acknowledge(ARGV[first + 2])", ""),
    ("results_stay_until_acknowledged", "an arrival acknowledges nothing", "'r:' .. prefix .. ARGV[i]", "'r'"),
    ("message", "R5: no token", "' ' .. token .. ' ' .. item", "'  ' .. item"),
    ("message", "R5: the partner's token", "' ' .. token .. ' ' .. item", "' ' .. ARGV[9] .. ' ' .. item"),
    ("message", "a large item in a message", "if #item <= tonumber(ARGV[12]) then", "if true then"),
    ("message", "a join sends no message", "publish(prefix .. 'wake:' .. string.match(member, '^[^.]*'), '')", "0"),
    ("too_large", "an item is too large for the arrival", "size > accepts or ", ""),
    ("too_large", "an item is too large for the waiter", " or #item > limit", ""),
    ("too_large", "an item of the largest size", "size > accepts", "size >= accepts"),
    ("too_large", "the arrival waits behind a waiter that does not suit", "reply = {'too_large', size, limit}", "reply = {'no_partner'}"),
    ("close", "a close does not close", "change('closed', '1')", ""),
    ("close", "a close leaves the queues", "    change('closed', '1')\n    drop_queues()\n", "    change('closed', '1')\n"),
    ("close", "a close sends no message", "publish(ARGV[5] .. 'closed', room)", ""),
    ("version", "any version", "version and version ~= '2'", "false"),
    ("version", "the version is not written", "    call('SET', version_key(), '2', 'KEEPTTL')\n", ""),
    ("expiry", "another member's retention is shortened", "call('PTTL', key) < retention(record.lease)", "true"),
    ("expiry", "a join ends the retention of the version", ", '2', 'KEEPTTL'", ", '2'"),
    ("expiry", "nothing is retained", "math.max(6 * lease, 60000)", "60000"),
    ("missing_permission", "a join writes first", "        return published --", "        call('SET', room, '') return published --"),
    ("missing_permission", "a match that can fail", "redis.pcall('HDEL', room, unpack(removed))", "call('HDEL', room, unpack(removed))"),
    ("history", "the newest first", "local field = opposite .. ':' .. queue.head", "local field = opposite .. ':' .. queue.tail - 1"),
    ("history", "a match leaves the count", "            queue.count = queue.count - 1\n            removed", "            removed"),
    ("withdrawals_in_each_order", "the head does not advance", "        end\n        queue.head = queue.head + 1\n    end\n    if known[3]", "        end\n    end\n    if known[3]"),
    ("history", "a withdrawal leaves the count", "            queue.count = queue.count - 1\n            if queue.count", "            if queue.count"),
    ("withdrawals_in_each_order", "a withdrawal leaves the entry", "        call('HDEL', room, field, 'w:' .. me, 'i:' .. me)\n", ""),
    ("history", "a withdrawal takes the head", "elseif position == queue.head then", "elseif true then"),
    ("history", "a try waits", " or ARGV[8] == '0' then", " then"),
    ("history", "both sides are one", "side == opposite and queue or read_queue(side, known[5])", "queue"),
    ("order_on_two_sides", "another's entry is replaced", "    own.tail = own.tail + 1\n", ""),
    ("void_entries_are_swept", "a sweep removes the new entry", "if id and call('HGET', room, 'w:' .. id) == field then", "if id then"),
    ("void_entries_are_swept", "a sweep leaves the items", "if id and call('HGET', room, 'w:' .. id) == field then", "if false then"),
    ("void_entries_are_swept", "R6: a sweep without bound", "queue.first < queue.last and steps > 0", "queue.first < queue.last"),
    ("void_entries_are_swept", "void entries are forgotten", "            queue.first = queue.head\n", "            queue.first = queue.tail\n"),
    ("void_entries_are_swept", "a withdrawal of a void entry is counted", "        if position >= queue.head then", "        if true then"),
    ("parties_of_the_dead_are_dropped", "R6: an arrival without bound", "for _ = 1, LARGEST_STEP do", "for _ = 1, 1e9 do"),
    ("parties_of_the_dead_are_dropped", "the dead stay", "    if #removed > 0 then\n        call('HDEL', room, unpack(removed))\n    end\n", ""),
    ("parties_of_the_dead_are_dropped", "an arrival does not come again", "local reply = {'again'} -- R6", "local reply = {'no_partner'}"),
    ("dead_members_are_retired", "R6: results without bound", "record.low + steps - 1)", "record.low + 1e9)"),
    ("dead_members_are_retired", "results of the dead stay", "removed[#removed + 1] = 'r:' .. other .. ':' .. number", "removed[#removed + 1] = 'r'"),
    ("dead_members_are_retired", "some results of the dead stay", "if record.low <= record.high then", "if false then"),
    ("dead_members_are_retired", "the living are retired", "record.lease_end + keep < time or", "true or"),
    ("dead_members_are_retired", "the ring does not turn", "            members.tail = members.tail + 1\n        else", "        else"),
    ("dead_members_are_retired", "members from before a step of the clock stay", " or record.lease_end > time + record.lease + keep\n", "\n"),
    ("dead_members_are_retired", "the retired are counted", "            members.count = members.count - 1\n        end\n    end\n", "        end\n    end\n"),
    ("several_rooms", "a renewal ignores the lowest number", "record.low, record.high = tonumber(ARGV[first + 3])", "record.low, record.high = record.low"),
    ("several_rooms", "a renewal ends at a room of another epoch", "replies[#replies + 1] = {'rejoin'}", "return replies"),
    ("leave", "a join ignores the lowest number", "or {low = tonumber(ARGV[7])", "or {low = 1"),
    ("leave", "who leaves stays", "    call('HDEL', room, 'm:' .. member, 'e:' .. member)\n", ""),
    ("leave", "a new record has the old birth", "known[2] and record.birth or fresh", "record.birth or '1'"),
    ("a_member_comes_back_while_it_is_retired", "R4: its epoch stays", "removed = {'e:' .. other}", "removed = {'e'}"),
    ("a_member_comes_back_while_it_is_retired", "R4: its birth stays", "known[2] and record.birth or fresh", "record.birth or fresh"),
    ("a_renewal_of_many_rooms_is_bounded", "R6: a bound for each room", "        enter(KEYS[i],", "        steps = LARGEST_STEP\n        enter(KEYS[i],"),
    ("an_empty_queue_has_no_holes", "holes of an empty queue stay", "        own.head = own.tail -- none", "        --"),
    ("collect_ends_early", "a long reply", "if bytes > 65536 then", "if false then"),
    ("cost", "a count of all fields", "if verb == 'count' then", "if verb == 'count' then for i = 1, queue_of('1').count do call('HGET', room, '1:' .. i) end"),
)


def check_mutants():
    """Whether each mutant fails its test."""
    correct, wrong = ScriptTest.script, 0
    for test, what, before, after in MUTANTS:
        places = correct.count(before)
        ScriptTest.script = correct.replace(before, after)
        result = unittest.TestResult()
        ScriptTest("test_" + test).run(result)
        if places != 1 or result.wasSuccessful():
            wrong += 1
            print(f"{test}: {what}: " + (f"{places} places in the script" if places != 1 else "not found"))
    print(f"{len(MUTANTS) - wrong} of {len(MUTANTS)} mutants were found")
    return wrong == 0


if __name__ == "__main__":
    with Server():
        if sys.argv[1:] == ["--mutants"]:
            sys.exit(not check_mutants())
        unittest.main()
