# SPDX-License-Identifier: MIT
"""Coroutine frames: their names, the line where each is suspended, and their words in memory."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

import gdb

from . import values
from .values import WORD, function_name, member, read, read_word, symbol, without_arguments, word_or_zero

MOST_FRAME_BYTES = 1 << 16
PROMISE_AT = 2 * WORD  # behind the two functions, in both compilers' frames

_CLONE = re.compile(r"\[clone \.(actor|resume|destroy|cleanup)\]|\.(actor|resume|destroy|cleanup)$")


def is_coroutine_function(address: int) -> bool:
    """Whether a coroutine's resume or destroy function begins there."""
    return is_coroutine_name(symbol(address))


def is_coroutine_name(name: str) -> bool:
    """Whether a symbol is that of a coroutine's resume or destroy function."""
    return _CLONE.search(name) is not None


def frame_of(handle: gdb.Value) -> int:
    """The address of a coroutine's frame, from a std::coroutine_handle of either standard library."""
    for name in ("_M_fr_ptr", "__handle_"):
        frame = member(handle, name)
        if frame is not None:
            return int(frame)
    raise gdb.error("an unknown std::coroutine_handle")


class Coroutine:
    """A coroutine frame."""

    def __init__(self, address: int) -> None:
        self.address = address
        self.resume = word_or_zero(address)
        self.destroy = word_or_zero(address + WORD)
        self.is_started = True
        self._layout: list[gdb.Field] | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Coroutine) and other.address == self.address

    def __hash__(self) -> int:
        return self.address

    @staticmethod
    def at(address: int) -> Coroutine | None:
        """The coroutine whose frame is there, if it is one that has not finished."""
        if address == 0 or address % WORD != 0:
            return None
        made = Coroutine(address)
        if is_coroutine_function(made.resume) and is_coroutine_function(made.destroy):
            return made
        return None

    @property
    def full_name(self) -> str:
        """The name of its function, with namespaces."""
        return without_arguments(symbol(self.resume or self.destroy))

    @property
    def name(self) -> str:
        """The name of its function for people."""
        return self.short_name + "()"

    @property
    def short_name(self) -> str:
        """The name of its function, without the arguments of a template."""
        return function_name(symbol(self.resume or self.destroy))

    @property
    def is_internal(self) -> bool:
        """Whether it is one of the library's own coroutines."""
        return self.full_name.startswith("tryst::detail::")

    def layout(self) -> list[gdb.Field]:
        """The fields of the frame, if the compiler has described them."""
        if self._layout is None:
            self._layout = []
            try:
                for each in function_block(self.resume) or []:
                    if each.name in ("frame_ptr", "__coro_frame"):
                        frame = each.type.strip_typedefs()
                        if frame.code == gdb.TYPE_CODE_PTR:
                            frame = frame.target().strip_typedefs()
                        self._layout = list(frame.fields())
            except (gdb.error, RuntimeError):
                pass
        return self._layout

    def variables(self) -> Iterator[tuple[str, gdb.Type, int]]:
        """The parameters and variables of the function: name, type and address."""
        for field in self.layout():
            name = re.sub(r"(_\d+)+$", "", field.name or "")
            if name and not re.match(r"_Coro_|__|D\.|Aw\d|Is$|Fs$|(class|struct|PointerType)_", name):
                yield name, field.type, self.address + field.bitpos // 8

    def size(self) -> int:
        """A bound of the size of the frame: exact if the compiler has described it."""
        ends = [f.bitpos // 8 + f.type.sizeof for f in self.layout() if hasattr(f, "bitpos")]
        if ends:
            return min(max(ends) + WORD - 1, MOST_FRAME_BYTES) // WORD * WORD
        chunk = word_or_zero(self.address - WORD) & ~7  # glibc: the size of the block
        return min(chunk, MOST_FRAME_BYTES) if 32 <= chunk <= 1 << 20 else 1024

    def words(self) -> Iterator[tuple[int, int]]:
        """The address and the content of each word of the frame behind the two functions."""
        content = read(self.address, self.size()) or read(self.address, 256)
        for at in range(PROMISE_AT, len(content) - WORD + 1, WORD):
            yield self.address + at, struct.unpack_from("<Q", content, at)[0]

    def where(self) -> str:
        """`name() at file:line` of the `co_await` at which it is suspended."""
        at, is_known = suspension(self)
        if not at:
            return self.name
        note = "" if is_known else " (the function; where it is suspended is unknown)"
        return f"{self.name} at {at}{note}"

    def index_field(self) -> tuple[int, int] | None:
        """The offset and size of the number of the suspension point."""
        for field in self.layout():
            if field.name in ("_Coro_resume_index", "__coro_index"):
                size = max(field.type.sizeof, 1)
                return field.bitpos // 8, size if size in (1, 2, 4, 8) else 1
        return None


_suspensions: dict[tuple[int, int], tuple[str, bool]] = {}


def forget() -> None:
    """Forgets where coroutines are suspended, and names. Call before each command."""
    values.forget()
    _suspensions.clear()


def suspension(of: Coroutine) -> tuple[str, bool]:
    """`file:line` of the `co_await` at which a coroutine is suspended, and true; or that of its
    function, and false."""
    key = (of.address, of.resume)
    if key not in _suspensions:
        _suspensions[key] = _find_suspension(of)
    return _suspensions[key]


def _find_suspension(of: Coroutine) -> tuple[str, bool]:
    start = gdb.find_pc_line(of.resume)
    if start.symtab is None:
        return "", False
    file = short_name(start.symtab.filename)
    line = 0
    try:
        line = _line_of_store(of, start) if "actor" in symbol(of.resume) else _line_of_target(of, start)
    except (gdb.error, gdb.MemoryError, KeyError, ValueError, IndexError, RuntimeError):
        pass  # an unknown instruction or machine
    if line:
        return f"{file}:{line}", True
    return f"{file}:{start.line}", False


def short_name(path: str) -> str:
    """The last part of a path."""
    return path.rsplit("/", 1)[-1]


def _own_lines(
    of: Coroutine, start: gdb.Symtab_and_line, pc: int, most: int
) -> Iterator[tuple[int, int]]:
    """From `pc` on, the addresses at which code of the function's own source begins, and its
    lines."""
    for _ in range(most):
        here = gdb.find_pc_line(pc)
        if here.symtab is None or not here.last or not is_in(of, pc):
            return
        if here.symtab.filename == start.symtab.filename:
            yield pc, here.line
        pc = here.last + 1


def function_block(pc: int) -> gdb.Block | None:
    """The outermost block of the function at `pc`, into which others may be inlined."""
    block = gdb.block_for_pc(pc)
    found = None
    while block is not None and not block.is_static and not block.is_global:
        if block.function is not None:
            found = block
        block = block.superblock
    return found


def is_in(of: Coroutine, pc: int) -> bool:
    """Whether `pc` is in the function of a coroutine."""
    block, own = function_block(pc), function_block(of.resume)
    return block is not None and own is not None and block.start == own.start


def _line_of_target(of: Coroutine, start: gdb.Symtab_and_line) -> int:
    """clang gives the code behind a suspension point the line of the `co_await`."""
    target = Dispatch(of).target()
    if target is None:
        return 0
    for _, line in _own_lines(of, start, target, 64):
        if line > start.line:
            return line
    return 0


def _line_of_store(of: Coroutine, start: gdb.Symtab_and_line) -> int:
    """g++ gives the code behind a suspension point the line of the closing brace. But the code that
    stores the number of the point is followed by the call of `await_suspend`, with the line of the
    `co_await`."""
    block = function_block(of.resume)
    if block is None:
        return 0
    code = gdb.selected_inferior().architecture().disassemble(of.resume, block.end - 1)
    at, size = of.index_field() or _loaded_index(code)
    wanted = read_word(of.address + at, size)
    lines = [_own_line(each["addr"], start) for each in code]
    # An optimised store may address the frame from elsewhere than its beginning.
    for i in _stores(code, wanted, f"{at:#x}") + _stores(code, wanted, r"-?0x[0-9a-f]+"):
        closing = lines[i]
        behind = i + 1
        while behind < len(code) and not re.match("j|ret", code[behind]["asm"]):
            behind += 1
        for line in lines[i:behind] + lines[i::-1]:
            if start.line < line < closing:
                return line
        return closing if closing >= start.line else 0
    return 0


def _stores(code: list[dict], wanted: int, displacement: str) -> list[int]:
    """The instructions that store a number of 16 bits in a frame."""
    found = []
    constants: dict[str, int] = {}
    for i, instruction in enumerate(code):
        text = instruction["asm"]
        constant = re.match(r"mov[lw]?\s+\$(0x[0-9a-f]+),%(\w+)$", text)
        if constant:
            constants[Dispatch.full_name(constant[2])] = int(constant[1], 16)
        store = re.match(
            rf"mov(?:w\s+\$(0x[0-9a-f]+)|w?\s+%(\w\w|r\d+w)),{displacement}\(%\w+\)", text
        )
        if store is None:
            continue
        number = int(store[1], 16) if store[1] else constants.get(Dispatch.full_name(store[2]))
        if number == wanted:
            found.append(i)
    return found


def _own_line(pc: int, start: gdb.Symtab_and_line) -> int:
    """The line at `pc` in the source of the function, or 0."""
    here = gdb.find_pc_line(pc)
    same = here.symtab is not None and here.symtab.filename == start.symtab.filename
    return here.line if same else 0


def _loaded_index(code: list[dict]) -> tuple[int, int]:
    """The offset and size of the number that a function of g++ reads first."""
    for instruction in code[:60]:
        load = re.match(r"(?:movzwl|testb\s+\$0x1,)\s*(0x[0-9a-f]+)\(", instruction["asm"])
        if load:
            return int(load[1], 16), 2
    raise KeyError("the number of the suspension point")


class Dispatch:
    """Interprets the beginning of a coroutine's function, which jumps to the code behind the
    suspension point whose number is in the frame. Knows just the instructions that g++ and clang
    use there, on x86-64; anything else ends the search."""

    most_steps = 2000
    stack = 0x7F00_0000_0000_0000

    def __init__(self, of: Coroutine) -> None:
        self.frame = of
        self.index = of.index_field()
        self.registers: dict[str, int | None] = {"rdi": of.address, "rsp": self.stack}
        self.chosen: set[str] = set()  # registers that depend on the number
        self.memory: dict[int, tuple[int | None, bool]] = {}
        self.flags: tuple[int, int, int, str] | None = None
        self.flags_chosen = False

    _names: dict[str, tuple[str, int]] = {}
    for _full, _parts in {
        "rax": "eax ax al", "rbx": "ebx bx bl", "rcx": "ecx cx cl", "rdx": "edx dx dl",
        "rsi": "esi si sil", "rdi": "edi di dil", "rbp": "ebp bp bpl", "rsp": "esp sp spl",
        **{f"r{n}": f"r{n}d r{n}w r{n}b" for n in range(8, 16)},
    }.items():  # fmt: skip
        _names[_full] = (_full, 8)
        for _part, _size in zip(_parts.split(), (4, 2, 1)):
            _names[_part] = (_full, _size)

    _jumps = {
        "e": lambda a, b, _: a == b, "z": lambda a, b, _: a == b,
        "ne": lambda a, b, _: a != b, "nz": lambda a, b, _: a != b,
        "a": lambda a, b, _: a > b, "ae": lambda a, b, _: a >= b,
        "b": lambda a, b, _: a < b, "be": lambda a, b, _: a <= b,
        "nb": lambda a, b, _: a >= b,
        "g": lambda a, b, s: _signed(a, s) > _signed(b, s),
        "ge": lambda a, b, s: _signed(a, s) >= _signed(b, s),
        "l": lambda a, b, s: _signed(a, s) < _signed(b, s),
        "le": lambda a, b, s: _signed(a, s) <= _signed(b, s),
        "s": lambda a, b, s: _signed((a - b) % (1 << 8 * s), s) < 0,
        "ns": lambda a, b, s: _signed((a - b) % (1 << 8 * s), s) >= 0,
    }  # fmt: skip

    def target(self) -> int | None:
        """The address where the coroutine continues."""
        frame = gdb.selected_inferior()
        arch = frame.architecture()
        if "x86-64" not in arch.name():
            return None
        pc = self.frame.resume
        found = None
        for _ in range(self.most_steps):
            instruction = arch.disassemble(pc, count=1)[0]
            at, following = pc, pc + instruction["length"]
            text = re.sub(r"<[^>]*>|#.*$", "", instruction["asm"]).replace("notrack ", "").strip()
            mnemonic, _, rest = text.partition(" ")
            operands = _split(rest)
            step = self._jump(mnemonic, operands, following)
            if step is None:
                if not self._run(mnemonic, operands, following):
                    return found
                pc = following
                continue
            pc, chosen = step
            if chosen or (found == at and mnemonic == "jmp"):
                found = pc
        return found

    def _jump(self, mnemonic: str, operands: list[str], following: int) -> tuple[int, bool] | None:
        if not mnemonic.startswith("j"):
            return None
        if mnemonic == "jmp":
            to = operands[0]
            if to.startswith("*"):
                value, chosen = self._value(to[1:], 8, following)
                if value is None:
                    raise ValueError(to)
                return value, chosen
            return int(to, 16), False
        if self.flags is None:
            raise ValueError(mnemonic)
        left, right, size, _ = self.flags
        taken = self._jumps[mnemonic[1:]](left, right, size)
        return (int(operands[0], 16) if taken else following), self.flags_chosen

    def _run(self, mnemonic: str, operands: list[str], following: int) -> bool:
        """@returns false at an instruction that ends the dispatch."""
        if mnemonic in ("endbr64", "nop", "nopw", "nopl", "data16", "xchg"):
            return True
        if mnemonic == "push":
            self.registers["rsp"] = (self.registers["rsp"] or 0) - 8
            return True
        if mnemonic == "cltq":
            return self._set("rax", 8, _extend(self._get("eax", 4), 4), "rax" in self.chosen)
        match = re.fullmatch(r"mov([zs])([bwl])([wlq])", mnemonic)
        if mnemonic == "movslq" or match:
            sizes = {"b": 1, "w": 2, "l": 4, "q": 8}
            sign = match is None or match[1] == "s"
            size = 4 if match is None else sizes[match[2]]
            value, chosen = self._value(operands[0], size, following)
            if sign and value is not None:
                value = _extend(value, size)
            return self._store(operands[1], self._size(operands[1], "q"), value, chosen, following)
        base = re.fullmatch(r"(mov|movabs|lea|add|sub|and|or|xor|cmp|test|shl|shr|sar)([bwlq]?)",
                            mnemonic)
        if base is None:
            return False
        operation, suffix = base[1], base[2]
        if len(operands) == 1:
            operands = ["$0x1", operands[0]]
        size = self._size(operands[1], suffix) or self._size(operands[0], suffix)
        if operation == "lea":
            address = self._address(operands[0], following)
            return self._store(operands[1], size, address, self._depends(operands[0]), following)
        left, left_chosen = self._value(operands[0], size, following)
        if operation in ("mov", "movabs"):
            return self._store(operands[1], size, left, left_chosen, following)
        right, right_chosen = self._value(operands[1], size, following)
        chosen = left_chosen or right_chosen
        if operation == "xor" and operands[0] == operands[1]:
            left, right, chosen = 0, 0, False
        result = None
        if left is not None and right is not None:
            result = {
                "add": right + left, "sub": right - left, "cmp": right - left,
                "and": right & left, "test": right & left, "or": right | left,
                "xor": right ^ left, "shl": right << (left & 63), "shr": right >> (left & 63),
                "sar": _signed(right, size) >> (left & 63),
            }[operation] % (1 << 8 * size)  # fmt: skip
        if result is None:
            self.flags = None
        elif operation in ("cmp", "sub"):
            self.flags = (right, left, size, operation)
        else:
            self.flags = (result, 0, size, operation)
        self.flags_chosen = chosen
        if operation in ("cmp", "test"):
            return True
        return self._store(operands[1], size, result, chosen, following)

    @classmethod
    def full_name(cls, register: str) -> str:
        """`rax` for `eax`."""
        return cls._names.get(register, (register, 0))[0]

    def _size(self, operand: str, suffix: str) -> int:
        if operand.startswith("%") and operand[1:] in self._names:
            return self._names[operand[1:]][1]
        return {"b": 1, "w": 2, "l": 4, "q": 8}.get(suffix, 0)

    def _get(self, name: str, size: int) -> int | None:
        value = self.registers.get(self._names[name][0])
        return None if value is None else value % (1 << 8 * size)

    def _set(self, name: str, size: int, value: int | None, chosen: bool) -> bool:
        full = self._names[name][0]
        if size < 4 and value is not None:
            old = self.registers.get(full)
            mask = (1 << 8 * size) - 1
            value = None if old is None else (old & ~mask) | (value & mask)
        self.registers[full] = None if value is None else value % (1 << 64)
        (self.chosen.add if chosen else self.chosen.discard)(full)
        return True

    def _address(self, operand: str, following: int) -> int | None:
        match = re.fullmatch(r"(-?0x[0-9a-f]+)?\((%\w+)?(?:,(%\w+),(\d))?\)", operand)
        if match is None:
            return None
        total = int(match[1] or "0", 16)
        for register, scale in ((match[2], 1), (match[3], int(match[4] or "1"))):
            if register is None:
                continue
            if register == "%rip":
                total += following
                continue
            value = self._get(register[1:], 8)
            if value is None:
                return None
            total += value * scale
        return total % (1 << 64)

    def _depends(self, operand: str) -> bool:
        return any(
            self._names.get(each, ("", 0))[0] in self.chosen
            for each in re.findall(r"%(\w+)", operand)
        )

    def _value(self, operand: str, size: int, following: int) -> tuple[int | None, bool]:
        if operand.startswith("$"):
            return int(operand[1:], 16) % (1 << 8 * size), False
        if operand.startswith("%"):
            if operand[1:] not in self._names:
                return None, False
            return self._get(operand[1:], size), self._names[operand[1:]][0] in self.chosen
        address = self._address(operand, following)
        if address is None:
            return None, False
        if address in self.memory:
            value, chosen = self.memory[address]
            return (None if value is None else value % (1 << 8 * size)), chosen
        if address >> 48 == self.stack >> 48 or address >> 48 == (self.stack >> 48) - 1:
            return None, False
        return read_word(address, size), self._depends(operand) or self._is_index(address, size)

    def _is_index(self, address: int, size: int) -> bool:
        at = address - self.frame.address
        if self.index is not None:
            return at == self.index[0]
        return PROMISE_AT <= at < self.frame.size() and size < 8

    def _store(
        self, operand: str, size: int, value: int | None, chosen: bool, following: int
    ) -> bool:
        if operand.startswith("%"):
            if operand[1:] in self._names:
                return self._set(operand[1:], size, value, chosen)
            return True
        address = self._address(operand, following)
        if address is not None:
            self.memory[address] = (value, chosen)
        return True


def _signed(value: int, size: int) -> int:
    return value - (1 << 8 * size) if value >> (8 * size - 1) & 1 else value


def _extend(value: int | None, size: int) -> int | None:
    return None if value is None else _signed(value % (1 << 8 * size), size)


def _split(operands: str) -> list[str]:
    """Splits operands at the commas outside parentheses."""
    return [each.strip() for each in re.split(r",(?![^(]*\))", operands) if each.strip()]
