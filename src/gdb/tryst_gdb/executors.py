# SPDX-License-Identifier: MIT
"""Executors: their names, their queues, and the loops among them."""

from __future__ import annotations

import re
from dataclasses import dataclass

import gdb

from .values import (WORD, address, first_argument, member, number, offset, read_word, remembered, required_type,
                     symbol, type_name, word_or_zero)

# The bases of executors, whose first argument is the executor.
EXECUTOR_BASES = ("tryst::detail::serial_executor_base<", "tryst::detail::event_loop<", "tryst::detail::turn_executor<")
# One adapter for Asio and one for Boost.Asio: each has an inline namespace.
ASIO_NAMESPACE = re.compile(r"\btryst::(asio|redis)::(standalone|boost)_asio::")

# What users call an executor, by the beginning of its type.
KINDS = (
    ("tryst::basic_run_loop<tryst::detail::temporary_clock", "the loop of sync_wait"),
    ("tryst::basic_run_loop<[^>]*steady_clock", "tryst::run_loop"),
    ("tryst::basic_run_loop<", "tryst::basic_run_loop"),
    (r"tryst::loop_executor<tryst::(\w+)::detail::\w+>", r"tryst::\1::executor"),
    ("tryst::detail::thread_wait_strategy", "a thread"),
    ("tryst::fiber::", "a fiber"),
    ("tryst::asio::detail::exchange_executor", "Asio handler"),
    ("tryst::asio::", "Asio executor"),
    ("tryst::detail::timer_thread", "the timer thread"),
)


@remembered
def executor_kind(vtable: str) -> str:
    """The type of an executor, as users know it, from the name of its executor_vtable, or ""."""
    name = ASIO_NAMESPACE.sub(r"tryst::\1::", vtable.replace("(anonymous namespace)::", ""))
    while name.startswith(EXECUTOR_BASES):
        name = first_argument(name)
    owner = re.sub("::(vtable_?|table)$", "", name)
    found = ((re.match(pattern, owner), kind) for pattern, kind in KINDS)
    return next((match.expand(kind) for match, kind in found if match), owner)


@dataclass
class Executor:
    """An executor_ref."""

    context: int
    vtable: int

    @staticmethod
    def of(reference: gdb.Value) -> Executor:
        """@throws gdb.error."""
        return Executor(int(reference["context_"]), int(reference["vtable_"]))

    @staticmethod
    def at(where: int) -> Executor:
        return Executor(word_or_zero(where), word_or_zero(where + WORD))

    @property
    def full_kind(self) -> str:
        """With namespaces. @throws gdb.error if the program does not know the vtable: this is other memory."""
        read_word(self.vtable)
        return executor_kind(symbol(self.vtable)) or "unknown executor"

    @property
    def kind(self) -> str:
        return executor_kind(symbol(self.vtable)).removeprefix("tryst::") or "executor"

    @property
    def is_known(self) -> bool:
        """Whether the vtable has a name, so that this is not a random word."""
        return "vtable" in symbol(self.vtable)

    def __str__(self) -> str:
        return f"{self.kind} {self.context:#x}" if self.vtable else "no executor"


@dataclass
class Loop:
    """A serial executor."""

    address: int  # of its serial_queue, which is also that of its executor_ref
    kind: str
    variable: str = ""
    inbox: int = 0  # the first node in its inbox

    def __str__(self) -> str:
        return f"{self.kind} {self.address:#x}" + (f" ({self.variable})" if self.variable else "")


def loop_of(value: gdb.Value) -> Loop | None:
    """The loop that an object is."""
    name = type_name(value.type)
    queue = member(value, "queue_") if name.startswith("tryst::") and value.address is not None else None
    if queue is None or not type_name(queue.type).endswith("::serial_queue") or not is_queue(address(queue)):
        return None
    return Loop(address(queue), executor_kind(name).removeprefix("tryst::"), inbox=first_in_inbox(value))


def is_queue(where: int) -> bool:
    """Whether a serial_queue that has been constructed is there."""
    type_ = required_type("tryst::detail::serial_queue")
    head = where + offset(type_, "head_")
    tail = word_or_zero(where + offset(type_, "tail_"))
    return tail != 0 and (word_or_zero(head) != 0) == (tail != head)


def first_in_inbox(executor: gdb.Value) -> int:
    """The node that was posted last to the inbox or mailbox of an executor, or 0. @throws gdb.error."""
    found = next((each for name in ("mail_", "inbox_") if (each := member(executor, name)) is not None), None)
    word = 0 if found is None else number(found["word_"])
    return word if word > 1 else 0  # 1 says that the loop sleeps (inbox.hpp)
