# SPDX-License-Identifier: MIT
"""The exchangers and channels that an expression or a variable leads to."""

from __future__ import annotations

import re
from dataclasses import dataclass

import gdb

from . import wait_lists
from .values import WORD, Unreadable, at, attempt, nested, owned, plain, read, type_name, unwrapped

PUBLIC = re.compile(r"^tryst::(exchanger|red_blue_exchanger|synchronous_channel|channel|future)<")
INSIDES = re.compile(r"^tryst::detail::(operation|selection_case)<")  # which refer to an exchanger


@dataclass
class Exchanger:
    """An exchanger or a channel: its protocol, and where the user sees it."""

    protocol: int
    type: gdb.Type  # of the protocol
    kind: str = "exchanger"
    address: int = 0  # of the public object, if it is known
    variable: str = ""

    def __str__(self) -> str:
        name = attempt(lambda: wait_lists.name_of(at(self.protocol, self.type)), "")
        where = f"{self.address:#x}" if self.address else f"with the protocol {self.protocol:#x}"
        called = f' "{name}"' if name else f" ({self.variable})" if self.variable else ""
        return f"{self.kind} {where}{called}"


def exchanger_of(value: gdb.Value) -> Exchanger | None:
    """The exchanger or channel that an object is."""
    kind = PUBLIC.match(type_name(value.type))
    if kind is None or value.address is None:  # in this order: for an array in registers, gdb would call malloc
        return None
    try:
        held = value["protocol_"]
        protocol = held.address if kind[1] == "future" else owned(held)
        return Exchanger(int(protocol), plain(protocol.type.target()), kind[1], int(value.address))
    except gdb.MemoryError:
        raise gdb.error(f"the exchanger is destroyed or corrupt: {int(value.address):#x} is not readable") from None
    except Unreadable:
        return None


def exchangers_in(value: gdb.Value) -> list[Exchanger]:
    """The exchangers that an expression names: @throws gdb.error if there is none."""
    value = unwrapped(value)
    if re.match(r"^tryst::detail::protocol<", type_name(value.type)):
        return [Exchanger(int(value.address), plain(value.type))]
    found: dict[int, Exchanger] = {}
    for each in nested(value, 6):
        inner = exchanger_of(each)
        if inner is None and INSIDES.match(type_name(each.type)) and int(each["protocol_"]) != 0:  # the case takes part
            inner = Exchanger(int(each["protocol_"]), plain(plain(each["protocol_"].type).target()))
        if inner is not None:
            found.setdefault(inner.protocol, inner)
            if each is value:
                break
    if not found:
        raise gdb.error(f"{value.type} is neither an exchanger, a channel nor a future, and contains none; "
                        "name one, or an operation or selection")
    return list(found.values())


def contents_of(of: Exchanger) -> wait_lists.Exchange:
    """What is in an exchanger. @throws gdb.error."""
    if of.protocol == 0:
        raise gdb.error("the exchanger was destroyed, or its constructor has not run")
    try:
        if of.protocol % WORD != 0 or len(read(of.protocol, of.type.sizeof)) != of.type.sizeof:
            raise gdb.MemoryError(f"{of.protocol:#x} is not readable")
        return wait_lists.read(at(of.protocol, of.type), most=None)
    except gdb.error as error:
        raise gdb.error(f"the exchanger is destroyed or corrupt: {error}") from None


def waiters_in(of: Exchanger) -> list[wait_lists.Found]:
    """Where its waiters are; none if its memory is not readable."""
    return attempt(lambda: contents_of(of).waiters, [])
