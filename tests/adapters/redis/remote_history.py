# SPDX-License-Identifier: MIT
"""Checks what the processes of the fault tests recorded (remote_node.cpp).

1. Each operation of a process that was not killed ends, at most once, and in time.
2. Partners are of opposite kinds and in the same room, and items arrive whole.
3. Nobody receives an item that somebody else has received, too.
4. Nobody receives an item that was handed back to its owner.
5. An exchange is mutual: if a party has got the item of a partner, the partner has got the party's item, or
   its exchange is in doubt, or it was killed.
6. A sender that succeeded has a receiver of its own, unless that is in doubt or was killed.
"""

import collections

OPPOSITE = {"exchange": "exchange", "red": "blue", "blue": "red", "send": "receive", "receive": "send"}


class Operation:
    def __init__(self, kind, room, began, patience, killed):
        self.kind = kind
        self.room = room
        self.began = began
        self.patience = patience
        self.killed = killed  # whether its process was
        self.end = None  # got, returned or in_doubt
        self.partner = None  # whose item it got
        self.why = ""
        self.lasted = None

    def is_uncertain(self):
        return self.end == "in_doubt" or self.end is None


class History:
    """All operations of all processes."""

    def __init__(self):
        self.operations = {}
        self.problems = []

    def read(self, lines, killed=False):
        """Adds the log of one process."""
        ended = False
        for line in lines:
            if killed and not line.endswith("\n"):
                break  # killed in the middle of a write
            time, verb, *words = line.split()
            if verb == "end":
                ended = True
            elif verb == "offer":
                name, kind, room, patience = words
                if name in self.operations:
                    self.problems.append(f"{name} was offered twice")
                self.operations[name] = Operation(kind, room, int(time), int(patience), killed)
            else:
                self._end(int(time), verb, *words)
        if not ended and not killed:
            self.problems.append("a process ended too early")

    def _end(self, time, verb, name, *rest):
        if name not in self.operations:
            self.problems.append(f"{name} ended, but it did not begin")
            return
        operation = self.operations[name]
        if operation.end is not None:
            self.problems.append(f"{name} ended twice: {operation.end} and {verb}")
            return
        operation.end = verb
        operation.lasted = time - operation.began
        if verb == "got":
            if len(rest) == 3:
                operation.partner = rest[0]
                if rest[1:] != (OPPOSITE[operation.kind], operation.room):
                    self.problems.append(f"{name} in {operation.kind} {operation.room} got {' '.join(rest)}")
            elif rest or operation.kind != "send":
                self.problems.append(f"{name} got a broken item: {' '.join(rest)}")
        else:
            operation.why = " ".join(rest)
            if verb == "returned" and operation.why not in (
                    "timed_out", "cancelled", "closed", "no_partner", "unavailable"):
                self.problems.append(f"{name} was returned: {operation.why}")

    def check(self, longest=60_000):
        """Returns a list of problems, in words.

        longest: how long an operation may take after its deadline, in milliseconds.
        """
        problems = list(self.problems)
        receivers = collections.defaultdict(list)
        senders, receptions = collections.Counter(), collections.Counter()
        for name, operation in self.operations.items():
            if operation.end is None and not operation.killed:
                problems.append(f"{name} has not ended")
            if operation.lasted is not None and operation.patience >= 0 and \
                    operation.lasted > operation.patience + longest:
                problems.append(f"{name} took {operation.lasted} ms, with a patience of "
                                f"{operation.patience} ms")
            if operation.partner is not None:
                receivers[operation.partner].append(name)
            if operation.kind == "send" and operation.end == "got":
                senders[operation.room] += 1
            if operation.kind == "receive" and operation.is_uncertain():
                receptions[operation.room] += 1
        for name, theirs in receivers.items():
            if len(theirs) > 1:
                problems.append(f"{name} was received by {theirs}")
            owner = self.operations.get(name)
            if owner is None:
                problems.append(f"{theirs} received {name}, which nobody offered")
            elif owner.end == "returned":
                problems.append(f"{name} was received by {theirs}, and returned to its owner: {owner.why}")
            elif owner.end == "got" and owner.kind != "send" and owner.partner not in theirs:
                problems.append(f"{name} was received by {theirs}, and got the item of {owner.partner}")
            if owner is not None and owner.kind == "send" and owner.end == "got":
                senders[owner.room] -= 1
        for name, operation in self.operations.items():
            if operation.end == "got" and operation.kind not in ("send", "receive") and name not in receivers:
                partner = self.operations.get(operation.partner)
                if partner is not None and not partner.is_uncertain():
                    problems.append(f"{name} got the item of {operation.partner}, which got nothing of it")
        for room, missing in senders.items():
            if missing > receptions[room]:
                problems.append(f"{missing} items were sent in {room}, and not received")
        return problems

    def count(self, end):
        return sum(operation.end == end for operation in self.operations.values())

    def exchanges(self):
        """The number of pairs of which at least one party knows."""
        pairs = set()
        for name, operation in self.operations.items():
            if operation.partner is not None:
                pairs.add(frozenset((name, operation.partner)))
        return len(pairs)

    def remote_exchanges(self):
        """The number of pairs from two processes."""
        def process(name):
            return name.split("-")[0]
        return sum(operation.partner is not None and process(name) != process(operation.partner)
                   for name, operation in self.operations.items())

    def summary(self):
        doubts = self.count("in_doubt")
        reasons = collections.Counter(
            operation.why for operation in self.operations.values() if operation.end == "returned")
        offers = len(self.operations)
        return (f"{offers} offers, {self.exchanges()} exchanges, returned: {dict(sorted(reasons.items()))}, "
                f"in doubt: {doubts} ({100 * doubts / max(offers, 1):.2f} %)")
