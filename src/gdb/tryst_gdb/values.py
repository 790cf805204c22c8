# SPDX-License-Identifier: MIT
"""What printers and commands share: reading the library's members, and naming addresses and executors."""

from __future__ import annotations

import re

import gdb

# What gdb raises for unreadable memory, for missing symbols and for values of no use.
Unreadable = (gdb.error, gdb.MemoryError, RuntimeError, OverflowError, ValueError, TypeError)

# The members in which libstdc++ and libc++ keep the content of an atomic.
ATOMIC_MEMBERS = ("_M_i", "_M_b", "_M_base", "_M_p", "__a_", "__a_value")

WORD = 8


def plain(type_: gdb.Type) -> gdb.Type:
    """The type without its aliases, const and volatile."""
    return type_.strip_typedefs().unqualified().strip_typedefs()


def is_class(type_: gdb.Type) -> bool:
    return plain(type_).code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


def member(value: gdb.Value, name: str) -> gdb.Value | None:
    """A member of the class or of a base class, or None if it has none of that name."""
    try:
        return value[name]
    except gdb.MemoryError:
        raise
    except gdb.error:
        return None


def atomic(value: gdb.Value) -> gdb.Value:
    """What a std::atomic holds; any other value as it is. @throws gdb.error."""
    while is_class(value.type):
        for name in ATOMIC_MEMBERS:
            content = member(value, name)
            if content is not None:
                value = content
                break
        else:
            break
    return value


def number(value: gdb.Value) -> int:
    """An integer, an enumerator or an atomic one. @throws gdb.error."""
    return int(atomic(value))


def address(value: gdb.Value) -> int:
    """The address of an object, or what a pointer holds. @throws gdb.error."""
    kind = plain(value.type).code
    if kind == gdb.TYPE_CODE_PTR:
        return int(value)
    if kind in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        return int(value.referenced_value().address)
    if value.address is None:
        raise gdb.error("not in memory")
    return int(value.address)


def owned(pointer: gdb.Value) -> gdb.Value:
    """The plain pointer of a std::unique_ptr or std::shared_ptr. @throws gdb.error."""
    item = plain(pointer.type).template_argument(0)
    if item.strip_typedefs().code == gdb.TYPE_CODE_ARRAY:
        item = item.strip_typedefs().target()
    # Each standard library keeps it first, if the deleter is empty.
    return at(address(pointer), item.pointer())


def at(where: int, type_: gdb.Type) -> gdb.Value:
    """The object at an address. Reads no memory yet."""
    return gdb.Value(where).cast(type_.pointer()).dereference()


def read_word(where: int) -> int:
    """The word there. @throws gdb.MemoryError."""
    return int.from_bytes(bytes(gdb.selected_inferior().read_memory(where, WORD)), "little")


def symbol(where: int) -> str:
    """The demangled name of the function or object at an address, or "". Without an offset into it."""
    if where <= 4096:
        return ""
    try:
        found = gdb.execute(f"info symbol {where:#x}", to_string=True).strip()
    except Unreadable:
        return ""
    if found.startswith("No symbol matches"):
        return ""
    found = re.sub(r" in section \S+( of .*)?$", "", found)
    return re.sub(r" \+ \d+$", "", found)


def without_arguments(name: str) -> str:
    """A function's name without its parameters, its suffixes ("[clone .resume]") and "(anonymous namespace)::"."""
    name = re.sub(r"\s*\[clone [^]]*\]", "", name)
    name = name.replace("(anonymous namespace)::", "")
    depth = 0
    begin = 0  # after the type that the name of a template begins with
    for i, c in enumerate(name):
        if depth == 0 and c == "(" and not name.endswith("operator", 0, i):
            end = _closing(name, i)
            if not re.match(r"( const| volatile| &&?)*::", name[end:]):
                return name[begin:i]
        if c in "<({[":
            depth += 1
        elif c in ">)}]" and not name.endswith("->", 0, i + 1):
            depth -= 1
        elif c == " " and depth == 0 and not name.endswith("operator", 0, i):
            begin = i + 1
    return name[begin:]


def function_name(name: str) -> str:
    """As `without_arguments`, and without the arguments of a template, which some compilers leave out."""
    name = without_arguments(name)
    begin = name.find("<")
    if name.endswith(">") and begin > 0 and _closing(name, begin) == len(name):
        return name[:begin]
    return name


def _closing(text: str, begin: int) -> int:
    """The position after the bracket that closes the one at `begin`."""
    depth = 0
    for i in range(begin, len(text)):
        if text[i] in "<({[":
            depth += 1
        elif text[i] in ">)}]" and not text.endswith("->", 0, i + 1):
            depth -= 1
            if depth == 0:
                return i + 1
    return len(text)


def template_arguments(name: str) -> list[str]:
    """The arguments of the last template in a type's name: "a<b<c>, d>" has "b<c>" and "d"."""
    begin = name.find("<")
    if begin < 0:
        return []
    found, depth, start = [], 0, begin + 1
    for i in range(begin, len(name)):
        if name[i] in "<(":
            depth += 1
        elif name[i] in ">)":
            depth -= 1
        if depth == 0 or (depth == 1 and name[i] == ","):
            found.append(name[start:i].strip())
            start = i + 1
        if depth == 0:
            break
    return found


# The bases of executors, whose first argument is the executor.
EXECUTOR_BASES = ("tryst::detail::serial_executor_base<", "tryst::detail::event_loop<", "tryst::detail::turn_executor<")
# The executors that Asio's adapter derives from those, and the one of an operation that has no other.
ASIO_EXECUTOR = re.compile(r"tryst::asio::(task_executor|detail::(serial_executor|exchange_executor))\b")
# One adapter for Asio and one for Boost.Asio: each has an inline namespace.
ASIO_NAMESPACE = re.compile(r"\btryst::(asio|redis)::(standalone|boost)_asio::")


def executor_kind(vtable: str) -> str:
    """The type of an executor, as users know it, from the name of its executor_vtable, or ""."""
    name = ASIO_NAMESPACE.sub(r"tryst::\1::", vtable.replace("(anonymous namespace)::", ""))
    while name.startswith(EXECUTOR_BASES):
        arguments = template_arguments(name)
        if not arguments:
            return ""
        if not arguments[0].startswith("tryst::"):
            return arguments[0]
        name = arguments[0]
    owner = name
    for end in ("::vtable", "::table", "::vtable_"):
        owner = owner.removesuffix(end)
    if owner.startswith("tryst::basic_run_loop<"):
        clock = template_arguments(owner)[:1]
        return "tryst::run_loop" if clock and "steady_clock" in clock[0] else "tryst::basic_run_loop"
    if owner.startswith("tryst::loop_executor<"):
        wake = (template_arguments(owner) or [""])[0]
        adapter = re.match(r"tryst::(\w+)::detail::\w+$", wake)
        return f"tryst::{adapter[1]}::executor" if adapter else owner
    if ASIO_EXECUTOR.match(owner):
        return "an executor of Asio"
    if owner.startswith("tryst::detail::timer_thread"):
        return "the timer thread"
    return owner


def executor(reference: gdb.Value) -> str:
    """Names the executor of an executor_ref: "tryst::run_loop at 0x7ff...". @throws gdb.error."""
    vtable = int(reference["vtable_"])
    context = int(reference["context_"])
    if vtable == 0:
        return "no executor"
    # Whether the program still knows the table tells an executor from other memory.
    read_word(vtable)
    return f"{executor_kind(symbol(vtable)) or 'unknown executor'} at {context:#x}"
