# SPDX-License-Identifier: MIT
"""Who waits in an exchanger or a channel, and for what a coroutine waits."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import gdb

from tryst_gdb.coroutines import (
    PROMISE_AT,
    WORD,
    Coroutine,
    Unreadable,
    integer,
    offset,
    read,
    same_selection,
    symbol,
    type_or_none,
    without_arguments,
    word_or_zero,
)

PUBLIC = re.compile(r"^tryst::(exchanger|red_blue_exchanger|synchronous_channel)<")
MOST_WAITERS = 10_000
MOST_ITEM_BYTES = 4096


class Trouble(Exception):
    """A message for the user."""


def plain(type_: gdb.Type) -> gdb.Type:
    """Without typedefs, const and volatile."""
    return type_.strip_typedefs().unqualified()


def type_name(type_: gdb.Type) -> str:
    """The name of a class, which does not depend on the language of the selected frame."""
    return plain(type_).name or ""


def required_type(name: str) -> gdb.Type:
    """@throws Trouble if the program has no debug information about it."""
    found = type_or_none(name)
    if found is None:
        raise Trouble(
            f"there is no debug information about {name}: compile with -g, and use tryst in the "
            "program"
        )
    return found.strip_typedefs()


def atomic(value: gdb.Value) -> int:
    """The content of an atomic integer or pointer."""
    return integer(int(value.address), value.type.sizeof)


def pointer(value: gdb.Value) -> int:
    """The address in a unique_ptr without a deleter of its own."""
    return integer(int(value.address))


# ---- Exchangers.


@dataclass
class Exchanger:
    """An exchanger or a channel: its protocol, and where the user sees it."""

    protocol: int
    type: gdb.Type  # of the protocol
    kind: str = "exchanger"
    address: int = 0  # of the public object, if it is known
    variable: str = ""

    def __str__(self) -> str:
        name = name_of_protocol(self)
        where = f"{self.address:#x}" if self.address else f"with the protocol {self.protocol:#x}"
        called = f" ({self.variable})" if self.variable else ""
        return f"{self.kind} {where}" + (f' "{name}"' if name else called)


def name_of_protocol(of: Exchanger) -> str:
    """The name that the program gave it, or ""."""
    try:
        value = at(of.protocol, of.type)["name_"]
        return value.string() if int(value) else ""
    except Unreadable:
        return ""


def at(address: int, type_: gdb.Type) -> gdb.Value:
    """The object of a type that is there."""
    # As the element of an array, because gdb looks for the dynamic type of an object behind a
    # pointer, and warns if it does not find it.
    return gdb.Value(address).cast(type_.array(0).pointer()).dereference()[0]


def unwrapped(value: gdb.Value) -> gdb.Value:
    """The object behind references, pointers and smart pointers."""
    for _ in range(8):
        type_ = plain(value.type)
        if type_.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
        elif type_.code == gdb.TYPE_CODE_PTR and plain(type_.target()).code == gdb.TYPE_CODE_STRUCT:
            if int(value) == 0:
                raise Trouble("the pointer is null")
            value = at(int(value), plain(type_.target()))
        elif re.match(r"std::(__\w+::)?(unique_ptr|shared_ptr|reference_wrapper)<", type_name(type_)):
            address = pointer(value)
            if address == 0:
                raise Trouble("the pointer is null")
            value = at(address, plain(type_.template_argument(0)))
        else:
            return value
    return value


def protocol_of(value: gdb.Value) -> Exchanger | None:
    """The exchanger or channel that an object is or has as a base class or member."""
    type_ = plain(value.type)
    if type_.code != gdb.TYPE_CODE_STRUCT or value.address is None:
        return None
    kind = PUBLIC.match(type_name(type_))
    if kind is not None:
        try:
            held = value["protocol_"]
            found = plain(plain(held.type).template_argument(0))
            return Exchanger(pointer(held), found, kind[1], int(value.address))
        except gdb.MemoryError:
            raise Trouble(
                f"the exchanger is destroyed or corrupt: {int(value.address):#x} is not readable"
            ) from None
        except (gdb.error, RuntimeError):
            return None
    return None


def operation_target(value: gdb.Value) -> Exchanger | None:
    """The exchanger of an operation."""
    for each in nested(value, 4):
        type_ = plain(each.type)
        if re.match(r"^tryst::detail::operation<", type_name(type_)):
            held = each["protocol_"]
            return Exchanger(int(held), plain(plain(held.type).target()))
    return None


def nested(value: gdb.Value, depth: int) -> Iterator[gdb.Value]:
    """An object, its base classes and its members."""
    yield value
    type_ = plain(value.type)
    if depth == 0 or type_.code != gdb.TYPE_CODE_STRUCT:
        return
    for each in type_.fields():
        if hasattr(each, "bitpos") and each.bitsize == 0:
            try:
                yield from nested(value.cast(type_)[each], depth - 1)
            except (gdb.error, TypeError):
                pass


def exchangers_in(value: gdb.Value) -> list[Exchanger]:
    """The exchangers that an expression names: @throws Trouble if there is none."""
    value = unwrapped(value)
    found = protocol_of(value)
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
        inner = protocol_of(each)
        if inner is None and re.match(r"^tryst::detail::selection_case<", type_):
            held = each["protocol_"]
            inner = Exchanger(int(held), plain(plain(held.type).target()))
        if inner is not None:
            all_found.setdefault(inner.protocol, inner)
    if not all_found:
        raise Trouble(
            f"{value.type} is neither an exchanger nor a channel, and contains none; "
            "name one, or an operation or selection"
        )
    return list(all_found.values())


def _check(of: Exchanger) -> gdb.Value:
    if of.protocol == 0:
        raise Trouble("the exchanger was destroyed, or its constructor has not run")
    value = at(of.protocol, of.type)
    if len(read(of.protocol, of.type.sizeof)) != of.type.sizeof or of.protocol % WORD != 0:
        raise Trouble(f"the exchanger is destroyed or corrupt: {of.protocol:#x} is not readable")
    if int(value["arena_"]["capacity_"]) > 255:
        raise Trouble(f"the exchanger is destroyed or corrupt: its capacity is "
                      f"{int(value['arena_']['capacity_'])}")  # fmt: skip
    return value


@dataclass
class Place:
    """Where an offer is."""

    address: int  # of the waiter
    side: str  # "red", "blue" or ""
    where: str


@dataclass
class Contents:
    """What is in an exchanger."""

    closed: bool = False
    offers: list[Place] = field(default_factory=list)


def offers_of(of: Exchanger) -> Contents:
    """Everybody who waits there. @throws Trouble."""
    value = _check(of)
    found = Contents()
    arena = value["arena_"]
    try:
        _wait_list(arena["list_"], found)
        coloured = not type_name(arena["list_"].type).endswith("::single_slot")
        _arena(arena, coloured, found)
    except gdb.MemoryError as error:
        raise Trouble(f"the exchanger is destroyed or corrupt: {error}") from None
    return found


def _wait_list(list_: gdb.Value, found: Contents) -> None:
    type_ = plain(list_.type)
    name = type_name(type_)
    if name.endswith("::single_slot"):
        word = atomic(list_["word_"])
        found.closed = word == 1
        if word > 2:
            found.offers.append(Place(word & ~1, "", "wait list"))
    elif name.endswith("::dual_stack"):
        _stack(list_, found)
    else:
        _queue(list_, found)


def node(pool: gdb.Value, number: int) -> gdb.Value:
    """A node of a node_pool."""
    type_ = plain(plain(pool.type).template_argument(0))
    block = number.bit_length() - 1
    blocks = pool["blocks_"]
    begin = integer(int(blocks.address) + block * WORD)
    if begin == 0:
        raise gdb.MemoryError(f"node {number} does not exist")
    return at(begin + (number - (1 << block)) * type_.sizeof, type_)


def _stack(list_: gdb.Value, found: Contents) -> None:
    head = atomic(list_["head_"])
    found.closed = bool(head & 1)
    side = "blue" if head & 2 else "red"
    number = head >> 2 & 0xFFFFFF
    for _ in range(MOST_WAITERS):
        if number == 0:
            return
        here = node(list_["nodes_"], number)
        content = atomic(here["content"])
        if content > 3:
            found.offers.append(Place(content, side, "wait list"))
        number = atomic(here["next"])


def _queue(list_: gdb.Value, found: Contents) -> None:
    red, blue = (atomic(list_[name]["word"]) for name in ("red_", "blue_"))
    found.closed = bool(red & 1) and bool(blue & 1)
    side = "red" if red >> 1 > blue >> 1 else "blue"
    segments = list_["segments_"]
    cell_bits = int(plain(segments.type).template_argument(0))
    count = 1 << cell_bits
    mask = (1 << 19) - 1
    number = atomic(segments["oldest_"]) & mask
    for _ in range(MOST_WAITERS):
        here = node(segments["segments_"], number)
        cells = int(here["cells"].address)
        for ticket in range(count):
            at_ = ticket if cell_bits < 6 else (ticket & 7) << cell_bits - 3 | ticket >> 3
            content = integer(cells + at_ * WORD)
            if content > 2:
                found.offers.append(Place(content, side, "wait list"))
        number = atomic(here["next"]) & mask
        if number in (0, mask, mask - 1):
            return


def _arena(arena: gdb.Value, coloured: bool, found: Contents) -> None:
    begin = pointer(arena["spread_"])
    group = plain(plain(arena["spread_"].type).template_argument(0)).target()
    for index in range(int(arena["capacity_"]) if begin else 0):
        members = at(begin + index * group.sizeof, group)["members"]
        low, high = members.type.range()
        for member in range(low, high + 1):
            word = atomic(members[member]["word_"])
            if word > 2:
                side = ("blue" if word & 1 else "red") if coloured else ""
                found.offers.append(Place(word & ~1, side, f"arena, slot {index + 1}"))


# ---- Executors.

EXECUTORS = (
    (r"thread_wait_strategy", "a thread"),
    (r"tryst::fiber::", "a fiber"),
    (r"basic_run_loop<[^()]*, true>", "the loop of sync_wait"),
    (r"basic_run_loop<", "run_loop"),
    (r"tryst::uring::context", "uring::context"),
    (r"loop_executor", "loop_executor"),
    (r"tryst::asio::.*exchange_executor", "Asio handler"),
    (r"tryst::asio::", "Asio executor"),
    (r"timer_thread", "the timer thread"),
)


@dataclass
class Executor:
    """An executor_ref."""

    context: int
    vtable: int

    @property
    def kind(self) -> str:
        name = symbol(self.vtable)
        for pattern, kind in EXECUTORS:
            if re.search(pattern, name):
                return kind
        owner = re.sub(r"::vtable$", "", without_arguments(name))
        return f"executor of {owner}" if owner else "executor"

    @property
    def is_known(self) -> bool:
        """Whether the table has a name, so that this is not a random word."""
        return "vtable" in symbol(self.vtable)

    def __str__(self) -> str:
        return f"{self.kind} {self.context:#x}" if self.vtable else "no executor"


def executor_at(address: int) -> Executor:
    type_ = required_type("tryst::executor_ref")
    return Executor(
        word_or_zero(address + offset(type_, "context_")),
        word_or_zero(address + offset(type_, "vtable_")),
    )


# ---- Waiters.

TIMED = ("timed_by_executor", "timed_by_thread")


@dataclass
class Waiter:
    """A waiter: its party, and what can end its wait."""

    address: int
    kind: str
    stage: str
    run: int
    owner: int
    executor: Executor
    parked: bool
    done: bool

    @property
    def is_thread(self) -> bool:
        return self.executor.vtable != 0 and self.executor.kind == "a thread"

    def coroutine(self) -> Coroutine | None:
        """The coroutine that waits."""
        if self.kind == "selecting":
            return client_of_selection(self.owner)
        return Coroutine.at(self.owner)


def waiter_at(address: int) -> Waiter:
    """@throws gdb.MemoryError if there is no waiter, because it has gone or memory is corrupt."""
    type_ = required_type("tryst::detail::waiter")
    if len(read(address, type_.sizeof)) != type_.sizeof:
        raise gdb.MemoryError(f"the waiter at {address:#x} is not readable")
    value = at(address, type_)
    state = atomic(value["state"]["word_"])
    executor = value["executor"]
    return Waiter(
        address,
        str(value["kind"]).rsplit("::", 1)[-1],
        str(value["at"]).rsplit("::", 1)[-1],
        int(value["run"]),
        int(value["owner"]),
        Executor(int(executor["context_"]), int(executor["vtable_"])),
        bool(state & 8),
        bool(state & 4),
    )


def client_of_selection(commitment: int) -> Coroutine | None:
    """The coroutine that waits for a selection: it is in the coroutine's frame, and refers to
    it."""
    for at_ in range(commitment, commitment + 16 * MOST_ITEM_BYTES, WORD):
        frame = word_or_zero(at_)
        if frame and frame < commitment < frame + 16 * MOST_ITEM_BYTES:
            found = Coroutine.at(frame)
            if found is not None:
                return found
        elif not read(at_, 1):
            return None
    return None


def deadline_behind(address: int, size: int) -> int | None:
    """The deadline, in nanoseconds, of the first timer there whose function ends a wait."""
    type_ = required_type("tryst::timer_node")
    fire, deadline = offset(type_, "fire"), offset(type_, "deadline")
    for at_ in range(address, address + size, WORD):
        word = word_or_zero(at_)
        if word and "::pass_deadline" in symbol(word):
            return integer(at_ - fire + deadline)
    return None


def now() -> int | None:
    """The time of the program's steady clock, or None for a core dump or another machine."""
    connection = gdb.selected_inferior().connection
    if connection is None or connection.type != "native":
        return None
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def describe_deadline(deadline: int | None) -> str:
    if deadline is None:
        return "with a deadline"
    present = now()
    if present is None:
        return f"deadline at {deadline / 1e9:.3f} s of the steady clock"
    left = (deadline - present) / 1e9
    return f"deadline in {left:.1f} s" if left >= 0 else f"deadline {-left:.1f} s ago"


def limits(of: Waiter) -> str:
    """What can end the wait besides a partner and a close."""
    if of.kind == "unstoppable":
        return "no stop, no deadline"
    if of.stage in TIMED:
        return describe_deadline(deadline_behind(of.address, MOST_ITEM_BYTES))
    if of.kind == "selecting":
        return ""
    return "stoppable" if of.parked or of.stage != "offered" else "no stop, no deadline yet"


def thread_of(of: Waiter) -> gdb.InferiorThread | None:
    """The thread on whose stack a waiter is."""
    best: tuple[int, gdb.InferiorThread] | None = None
    with same_selection():
        for thread in gdb.selected_inferior().threads():
            thread.switch()
            top = int(gdb.newest_frame().read_register("sp")) % (1 << 64)
            if top <= of.address < top + (8 << 20) and (best is None or top > best[0]):
                best = (top, thread)
    return None if best is None else best[1]


# ---- What a coroutine awaits.


@dataclass
class Wait:
    """What a suspended coroutine waits for: other coroutines, or something else."""

    text: str = "suspended"
    children: list[Coroutine] = field(default_factory=list)
    waiters: list[Waiter] = field(default_factory=list)


def continuation_offset(name: str) -> int:
    return offset(required_type("tryst::detail::continuation"), name)


def is_continuation(address: int) -> bool:
    """Whether a continuation that has been set is there."""
    return "continuation::set" in symbol(word_or_zero(address + continuation_offset("run")))


def awaiter_of_task(of: Coroutine) -> int:
    """The continuation of the coroutine that awaits a task, or 0."""
    type_ = required_type("tryst::detail::awaited_work")
    found = word_or_zero(of.address + PROMISE_AT + offset(type_, "awaiter_"))
    return found if is_continuation(found) else 0


def group_of(of: Coroutine) -> int:
    """The join_counter of a child of when_all or when_any, or 0."""
    if not re.search(r"^tryst::detail::join(_first)?(<|$)", of.full_name):
        return 0
    type_ = required_type("tryst::detail::join_child::promise_type")
    return word_or_zero(of.address + PROMISE_AT + offset(type_, "group"))


def parent_of(of: Coroutine) -> Coroutine | None:
    """The coroutine that awaits another."""
    group = group_of(of)
    if group:
        counter = required_type("tryst::detail::join_counter")
        awaiter = group + offset(counter, "awaiter")
    else:
        awaiter = awaiter_of_task(of)
    if awaiter == 0:
        return None
    return Coroutine.at(word_or_zero(awaiter + continuation_offset("coroutine_")))


def executor_of(of: Coroutine) -> Executor | None:
    """The executor that a coroutine's promise names, if it is one of tryst's."""
    if of.full_name.startswith("tryst::detail::scope_child"):
        type_ = required_type("tryst::detail::scope_child::promise_type")
        scope = word_or_zero(of.address + PROMISE_AT + offset(type_, "scope"))
        return executor_at(scope + offset(required_type("tryst::task_scope"), "executor_"))
    group = group_of(of)
    if group:
        counter = required_type("tryst::detail::join_counter")
        return executor_at(group + offset(counter, "awaiter") + continuation_offset("executor_"))
    if of.full_name.startswith("tryst::detail::serial_queue"):
        promise, name = "tryst::detail::serial_queue::spawned", "resume_on"
    else:
        promise, name = "tryst::detail::task_promise_base", "executor_"
    found = executor_at(of.address + PROMISE_AT + offset(required_type(promise), name))
    return found if found.vtable and found.is_known else None


def wait_of(of: Coroutine) -> Wait:
    """What a coroutine waits for: whatever in its frame refers to the frame."""
    found = Wait()
    waiter = required_type("tryst::detail::waiter")
    owner = offset(waiter, "owner")
    words = list(of.words())
    for at_, word in words:
        if word == of.address:
            _wait_at(of, at_, words, owner, found)
        elif of.address < word < of.address + of.size() and word < at_:
            _case_at(at_ - owner, word, found)
    if not found.children and len(found.waiters) > 1:
        found.text = "waiting in select"
    return found


def _case_at(address: int, commitment: int, found: Wait) -> None:
    try:
        case = waiter_at(address)
    except gdb.MemoryError:
        return
    if case.kind == "selecting" and case.owner == commitment and case.stage == "offered":
        found.waiters.append(case)


def _wait_at(
    of: Coroutine, at_: int, words: list[tuple[int, int]], owner: int, found: Wait
) -> None:
    """`of` is the word at `at_` of its own frame: adds the wait that this is a part of."""
    continuation = at_ - continuation_offset("coroutine_")
    if is_continuation(continuation):
        _continued(of, continuation, words, found)
        return
    try:
        waiter = waiter_at(at_ - owner)
    except gdb.MemoryError:
        return
    run = symbol(waiter.run)
    if re.search(r"exchange_operation<|::after_turn", run) and waiter.stage not in (
        "created",
        "finished",
    ):
        found.waiters.append(waiter)
        return
    for name, text in (
        ("tryst::schedule_operation", "ready to run on {}"),
        ("tryst::task_scope::join_operation", "waiting in task_scope::join"),
    ):
        type_ = type_or_none(name)
        if type_ is None:
            continue
        node_at = at_ - offset(type_, "coroutine_")
        run = symbol(word_or_zero(node_at + offset(type_, "run")))
        if name.rsplit("::", 1)[-1] in run:
            if name.endswith("schedule_operation"):
                text = text.format(executor_at(node_at + offset(type_, "executor_")))
            found.text = text


def _continued(
    of: Coroutine, continuation: int, words: list[tuple[int, int]], found: Wait
) -> None:
    before = word_or_zero(continuation - WORD)
    child = Coroutine.at(before)
    if child is not None and awaiter_of_task(child) == continuation:
        found.children.append(child)
        return
    counter = required_type_or_none_offset("tryst::detail::join_counter", "awaiter")
    group = 0 if counter is None else continuation - counter
    children = group_children(group, words) if group else []
    if children:
        found.children.extend(children)
        found.text = "waiting for all of a group"
        return
    for back in range(WORD, 17 * WORD, WORD):
        fire = symbol(word_or_zero(continuation - back))
        if "::pass_deadline" in fire and "sleep_awaiter" in fire:
            stage = read(continuation + required_type("tryst::detail::continuation").sizeof, 1)
            if stage and stage[0] in _timed_stages():
                deadline = deadline_behind(continuation - back, WORD)
                found.text = "sleeping, " + describe_deadline(deadline)
            return
    if word_or_zero(before) == continuation and "waiting" not in found.text:
        found.text = f"waiting for the result of spawn_future {before:#x}"


def _timed_stages() -> set[int]:
    fields = required_type("tryst::detail::stage").fields()
    return {each.enumval for each in fields if each.name.rsplit("::", 1)[-1] in TIMED}


def required_type_or_none_offset(type_name: str, name: str) -> int | None:
    """The position of a field of a class that the program need not use."""
    type_ = type_or_none(type_name)
    return None if type_ is None else offset(type_.strip_typedefs(), name)


def group_children(group: int, words: list[tuple[int, int]]) -> list[Coroutine]:
    """The children of a group: their handles are in the frame, or in a vector there."""
    found: dict[int, Coroutine] = {}

    def add(address: int) -> bool:
        child = Coroutine.at(address)
        if child is None or group_of(child) != group:
            return False
        found.setdefault(address, child)
        return True

    for (_, word), (_, following) in zip(words, words[1:] + [(0, 0)]):
        if not add(word) and word < following <= word + (MOST_WAITERS * WORD):
            if word % WORD == 0 and Coroutine.at(word_or_zero(word)) is not None:
                for each in range(word, following, WORD):
                    add(word_or_zero(each))
    return list(found.values())


# ---- Loops.


@dataclass
class Loop:
    """A serial executor."""

    address: int  # of its serial_queue, which is also that of its executor_ref
    kind: str
    variable: str = ""
    mail: int = 0  # the nodes in its inbox

    def __str__(self) -> str:
        return f"{self.kind} {self.address:#x}" + (f" ({self.variable})" if self.variable else "")


def loop_of(value: gdb.Value) -> Loop | None:
    """The loop that an object is."""
    type_ = plain(value.type)
    if type_.code != gdb.TYPE_CODE_STRUCT or value.address is None:
        return None
    name = type_name(type_)
    if not name.startswith("tryst::"):
        return None
    try:
        queue = value["queue_"]
        if not type_name(queue.type).endswith("::serial_queue"):
            return None
    except (gdb.error, KeyError):
        return None
    kind = "executor"
    for pattern, known in EXECUTORS:
        if re.search(pattern, name):
            kind = known
            break
    mail = 0
    for each in nested(value, 6):
        if type_name(each.type).endswith("::inbox"):
            mail = _length(integer(int(each.address)))
            break
    found = Loop(int(queue.address), kind, mail=mail)
    return found if is_queue(found.address) else None


def is_queue(address: int) -> bool:
    """Whether a serial_queue that has been constructed is there."""
    type_ = required_type("tryst::detail::serial_queue")
    head = address + offset(type_, "head_")
    tail = word_or_zero(address + offset(type_, "tail_"))
    return tail != 0 and (word_or_zero(head) != 0) == (tail != head)


def _length(node_at: int) -> int:
    """The length of a list of executor_nodes; 0 if the first word is not a node."""
    type_ = required_type("tryst::executor_node")
    length = 0
    while length < MOST_WAITERS and node_at % WORD == 0 and len(read(node_at, type_.sizeof)):
        if not symbol(word_or_zero(node_at + offset(type_, "run"))):
            break
        length += 1
        node_at = word_or_zero(node_at + offset(type_, "next"))
        if node_at == 0:
            break
    return length


def tasks_of(of: Loop) -> tuple[list[Coroutine], int]:
    """The tasks of a loop that have started, in the order of their start, and the number of nodes
    that are ready."""
    type_ = required_type("tryst::detail::serial_queue")
    spawned = required_type("tryst::detail::serial_queue::spawned")
    following = offset(spawned, "following")
    found: list[Coroutine] = []
    here = word_or_zero(of.address + offset(type_, "first_"))
    while here and len(found) < MOST_WAITERS:
        task = Coroutine.at(here - PROMISE_AT)
        if task is None:
            break
        found.append(task)
        here = word_or_zero(here + following)
    found.reverse()
    return found, _length(word_or_zero(of.address + offset(type_, "head_"))) + of.mail


def scope_tasks(scope: int) -> list[Coroutine]:
    """The tasks of a task_scope."""
    type_ = required_type("tryst::task_scope")
    child = required_type("tryst::detail::scope_child::promise_type")
    found: list[Coroutine] = []
    here = word_or_zero(scope + offset(type_, "first_"))
    while here and len(found) < MOST_WAITERS:
        task = Coroutine.at(here - PROMISE_AT)
        if task is None:
            break
        found.append(task)
        here = word_or_zero(here + offset(child, "following"))
    found.reverse()
    return found
