# SPDX-License-Identifier: MIT
"""Reads the memory, types and symbols of the program."""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Callable, Iterator

import gdb

# What gdb raises for unreadable memory, for missing symbols and for values of no use.
Unreadable = (gdb.error, gdb.MemoryError, RuntimeError, KeyError, OverflowError, ValueError, TypeError)

# The members in which libstdc++ and libc++ keep the content of an atomic.
ATOMIC_MEMBERS = ("_M_i", "_M_b", "_M_base", "_M_p", "__a_", "__a_value")

WORD = 8

_forget: list[Callable[[], None]] = []


def remembered(function: Callable) -> Callable:
    """A function that is called once for each of its arguments, until `forget`."""
    caching = functools.cache(function)
    _forget.append(caching.cache_clear)
    return caching


def forget() -> None:
    """Call before each command: the program may have changed its memory, or loaded files."""
    for each in _forget:
        each()


def attempt(get: Callable, otherwise):  # type: ignore[no-untyped-def]
    """What `get` returns, or `otherwise` if memory or symbols are missing."""
    try:
        return get()
    except Unreadable:
        return otherwise


def count(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 or noun in ("red", "blue") else "s")


# ---- Types.


def plain(type_: gdb.Type) -> gdb.Type:
    """The type without its aliases, const and volatile."""
    return type_.strip_typedefs().unqualified().strip_typedefs()


def type_name(type_: gdb.Type) -> str:
    """The name of a class, or "". Does not depend on the language of the selected frame."""
    return plain(type_).name or ""


def type_or_none(name: str) -> gdb.Type | None:
    """The type of this name, if the program describes it."""
    return attempt(lambda: gdb.lookup_type(name).strip_typedefs(), None)


@remembered
def required_type(name: str) -> gdb.Type:
    """@throws gdb.error if the program has no debug information about it."""
    found = type_or_none(name)
    if found is None:
        raise gdb.error(f"there is no debug information about {name}: compile with -g, and use tryst in the program")
    return found


def offset(type_: gdb.Type, name: str) -> int:
    """The position of a field, in bytes, in a class or in a base class of it. @throws KeyError."""
    for field in type_.fields():
        begin = getattr(field, "bitpos", 0) // 8
        if field.name == name:
            return begin
        if field.is_base_class:
            with contextlib.suppress(KeyError):
                return begin + offset(field.type.strip_typedefs(), name)
    raise KeyError(name)


def is_reference(type_: gdb.Type) -> bool:
    return plain(type_).code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF)


def is_class(type_: gdb.Type) -> bool:
    return plain(type_).code in (gdb.TYPE_CODE_STRUCT, gdb.TYPE_CODE_UNION)


# ---- Objects.


def member(value: gdb.Value, name: str) -> gdb.Value | None:
    """A member of the class or of a base class, or None if it has none of that name."""
    return attempt(lambda: value[name], None)


def atomic(value: gdb.Value) -> gdb.Value:
    """What a std::atomic holds; any other value as it is. @throws gdb.error."""
    contents = (member(value, name) for name in ATOMIC_MEMBERS) if is_class(value.type) else iter(())
    content = next((each for each in contents if each is not None), None)
    return value if content is None else atomic(content)


def number(value: gdb.Value) -> int:
    """An integer, an enumerator or an atomic one. @throws gdb.error."""
    return int(atomic(value))


def address(value: gdb.Value) -> int:
    """The address of an object. @throws gdb.error."""
    if value.address is None:
        raise gdb.error("the value is not in memory: it is optimised out, or in a register")
    return int(value.address)


def owned(pointer: gdb.Value) -> gdb.Value:
    """The plain pointer of a std::unique_ptr or std::shared_ptr. @throws gdb.error."""
    item = plain(plain(pointer.type).template_argument(0))
    # Each standard library keeps it first, if the deleter is empty.
    return at(address(pointer), (item.target() if item.code == gdb.TYPE_CODE_ARRAY else item).pointer())


def at(where: int, type_: gdb.Type) -> gdb.Value:
    """The object at an address. Reads no memory yet."""
    # As the element of an array: gdb looks for the dynamic type of what a pointer refers to, and
    # warns if it does not find it.
    return gdb.Value(where).cast(type_.array(0).pointer()).dereference()[0]


def unwrapped(value: gdb.Value) -> gdb.Value:
    """The object behind references, pointers and smart pointers. @throws gdb.error for null."""
    while True:
        type_ = plain(value.type)
        if is_reference(type_):
            value = value.referenced_value()
            continue
        if re.match(r"std::(__\w+::)?(unique_ptr|shared_ptr|reference_wrapper)<", type_name(type_)):
            value = owned(value)
            type_ = value.type
        if type_.code != gdb.TYPE_CODE_PTR or plain(type_.target()).code != gdb.TYPE_CODE_STRUCT:
            return value
        if int(value) == 0:
            raise gdb.error("the pointer is null")
        value = at(int(value), plain(type_.target()))


# ---- Memory.


def read(where: int, size: int) -> bytes:
    """The memory there, or nothing if some of it is not readable."""
    try:
        return bytes(gdb.selected_inferior().read_memory(where, size))
    except (gdb.error, gdb.MemoryError, OverflowError):
        return b""


def read_word(where: int, size: int = WORD) -> int:
    """The unsigned integer there. @throws gdb.MemoryError."""
    content = read(where, size)
    if len(content) != size:
        raise gdb.MemoryError(f"Cannot access memory at address {where:#x}")
    return int.from_bytes(content, "little")


def word_or_zero(where: int) -> int:
    """The word there, or 0 if it is not readable."""
    return int.from_bytes(read(where, WORD), "little")


def text_at(where: int) -> str:
    """The C string there, or "" if there is no text."""
    characters = gdb.Value(where).cast(gdb.lookup_type("char").pointer())
    text = attempt(lambda: characters.string("utf-8", "replace"), "")
    return text if text.isprintable() else ""


class Cycle(Exception):
    """A list leads back to one of its nodes."""


def chain(first: int, following: Callable[[int], int]) -> Iterator[int]:
    """The nodes of a list from `first` until 0. @throws Cycle."""
    seen: set[int] = set()
    while first != 0:
        if first in seen:
            raise Cycle
        seen.add(first)
        yield first
        first = following(first)


def linked(first: int, type_: gdb.Type, link: str, most: int | None = None) -> tuple[list[int], bool]:
    """The addresses of the nodes of a linked list, and whether these are all. @throws gdb.error."""
    nodes: list[int] = []
    at_link = offset(type_, link)
    with contextlib.suppress(Cycle):
        for node in chain(first, lambda node: read_word(node + at_link)):
            if len(nodes) == most:
                break
            nodes.append(node)
        else:
            return nodes, True
    return nodes, False


# ---- The state of gdb.


@contextlib.contextmanager
def same_selection() -> Iterator[None]:
    """Selects the thread and frame again that were selected before."""
    thread = gdb.selected_thread()
    frame = gdb.selected_frame() if thread is not None else None
    try:
        yield
    finally:
        if thread is not None and thread.is_valid():
            thread.switch()
        if frame is not None and frame.is_valid():
            frame.select()


@contextlib.contextmanager
def known_settings() -> Iterator[None]:
    """Sets what the readers expect, whatever the user and the selected frame have chosen. (g++ may say of a part of a
    coroutine that it is inlined in main, and gdb would stop there.)"""
    with gdb.with_parameter("language", "c++"), gdb.with_parameter("backtrace past-main", True):
        yield


# ---- Symbols.


@remembered
def symbol_around(where: int) -> tuple[str, int]:
    """The demangled name of the function or object at an address, or "", and the position in it."""
    found = attempt(lambda: gdb.execute(f"info symbol {where:#x}", to_string=True).strip(), "") if where > 4096 else ""
    if found.startswith("No symbol matches"):
        return "", 0
    found = re.sub(r" in section \S+( of .*)?$", "", found)
    name, plus, at_byte = found.rpartition(" + ")
    return (name, int(at_byte)) if plus and at_byte.isdigit() else (found, 0)


def symbol(where: int) -> str:
    """The demangled name of the function or object that begins at an address, or ""."""
    name, at_byte = symbol_around(where)
    return name if at_byte == 0 else ""


@functools.cache
def without_arguments(name: str) -> str:
    """A function's name without its parameters, its suffixes ("[clone .resume]") and "(anonymous namespace)::"."""
    name = re.sub(r"\s*\[clone [^]]*\]|\.(actor|resume|destroy|cleanup)$", "", name).replace("(anonymous namespace)::", "")
    begin = i = 0  # begin: behind the type that the name of a template begins with
    while i < len(name):
        is_operator = name.endswith("operator", 0, i)
        end = _closing(name, i) if name[i] in "<({[" and not is_operator else i + 1
        if name[i] == "(" and not is_operator and not re.match(r"( const| volatile| &&?)*::", name[end:]):
            return name[begin:i]
        if name[i] == " " and not is_operator:
            begin = i + 1
        i = end
    return name[begin:]


def function_name(name: str) -> str:
    """As `without_arguments`, and without the arguments of a template, which some compilers leave out."""
    name = without_arguments(name)
    begin = name.find("<")
    return name[:begin] if name.endswith(">") and begin > 0 and _closing(name, begin) == len(name) else name


def first_argument(name: str) -> str:
    """The first argument of the first template in a type's name: that of "a<b<c>, d>" is "b<c>"."""
    begin = end = name.find("<") + 1
    while 0 < end < len(name) and name[end] not in ",>":
        end = _closing(name, end) if name[end] in "<(" else end + 1
    return name[begin:end].strip()


def _closing(text: str, begin: int) -> int:
    """The position after the bracket that closes the one at `begin`."""
    depth = 0
    for i in range(begin, len(text)):
        depth += (text[i] in "<({[") - (text[i] in ">)}]" and not text.endswith("->", 0, i + 1))
        if depth == 0:
            return i + 1
    return len(text)
