# SPDX-License-Identifier: MIT
"""The exchangers and channels that an expression or a variable leads to."""

from __future__ import annotations

import re
from dataclasses import dataclass

import gdb

from . import wait_lists
from .values import WORD, Unreadable, at, nested, owned, plain, read, type_name, unwrapped

PUBLIC = re.compile(r"^tryst::(exchanger|red_blue_exchanger|synchronous_channel|channel|future)<")


@dataclass
class Exchanger:
    """An exchanger or a channel: its protocol, and where the user sees it."""

    protocol: int
    type: gdb.Type  # of the protocol
    kind: str = "exchanger"
    address: int = 0  # of the public object, if it is known
    variable: str = ""

    def __str__(self) -> str:
        name = name_of(self)
        where = f"{self.address:#x}" if self.address else f"with the protocol {self.protocol:#x}"
        called = f" ({self.variable})" if self.variable else ""
        return f"{self.kind} {where}" + (f' "{name}"' if name else called)


def name_of(of: Exchanger) -> str:
    """The name that the program gave it, or ""."""
    try:
        return wait_lists.name_of(at(of.protocol, of.type))
    except Unreadable:
        return ""


def exchanger_of(value: gdb.Value) -> Exchanger | None:
    """The exchanger or channel that an object is."""
    type_ = plain(value.type)
    if type_.code != gdb.TYPE_CODE_STRUCT or value.address is None:
        return None
    kind = PUBLIC.match(type_name(type_))
    if kind is None:
        return None
    try:
        held = value["protocol_"]
        protocol = held.address if kind[1] == "future" else owned(held)
        return Exchanger(int(protocol), plain(protocol.type.target()), kind[1], int(value.address))
    except gdb.MemoryError:
        raise gdb.error(
            f"the exchanger is destroyed or corrupt: {int(value.address):#x} is not readable"
        ) from None
    except Unreadable:
        return None


def operation_target(value: gdb.Value) -> Exchanger | None:
    """The exchanger of an operation."""
    for each in nested(value, 4):
        type_ = plain(each.type)
        if re.match(r"^tryst::detail::operation<", type_name(type_)):
            held = each["protocol_"]
            return Exchanger(int(held), plain(plain(held.type).target()))
    return None


def exchangers_in(value: gdb.Value) -> list[Exchanger]:
    """The exchangers that an expression names: @throws gdb.error if there is none."""
    value = unwrapped(value)
    found = exchanger_of(value)
    if found is not None:
        return [found]
    if re.match(r"^tryst::detail::protocol<", type_name(value.type)):
        return [Exchanger(int(value.address), plain(value.type))]
    if re.match(r"^tryst::(exchange_operation|detail::operation)<", type_name(value.type)):
        target = operation_target(value)
        return [target] if target is not None else []
    all_found: dict[int, Exchanger] = {}
    for each in nested(value, 6):
        type_ = type_name(each.type)
        inner = exchanger_of(each)
        if inner is None and re.match(r"^tryst::detail::selection_case<", type_):
            held = each["protocol_"]
            if int(held) != 0:  # the case takes part
                inner = Exchanger(int(held), plain(plain(held.type).target()))
        if inner is not None:
            all_found.setdefault(inner.protocol, inner)
    if not all_found:
        raise gdb.error(
            f"{value.type} is neither an exchanger, a channel nor a future, and contains none; "
            "name one, or an operation or selection"
        )
    return list(all_found.values())


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
    try:
        return contents_of(of).waiters
    except Unreadable:
        return []
