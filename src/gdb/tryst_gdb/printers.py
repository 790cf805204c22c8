# SPDX-License-Identifier: MIT
"""Pretty-printers for the public types of tryst.

Each is a function from a value to a text, or a generator of a text and then of children: a name and a value."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from inspect import isgenerator
from itertools import islice
from typing import Any

import gdb
import gdb.printing

from . import waits
from .coroutines import PROMISE_AT, Coroutine
from .exchangers import Contents, contents_of, exchanger_of
from .executors import ASIO_NAMESPACE, Executor, executor_kind, first_in_inbox
from .values import (WORD, address, at, atomic, count, forget, is_class, is_reference, known_settings, linked, member,
                     number, owned, plain, read_word, required_type)

Child = tuple[str, Any]
MOST_NODES = 1000

# The name of each printer in `info pretty-printer`, the pattern of its types, and its function.
PRINTERS: list[tuple[str, str, Callable[[gdb.Value], Any]]] = []


def prints(pattern: str, name: str = "") -> Callable:
    """Registers a function for the types that match, under the name or, without one, that of the type."""

    def add(function: Callable) -> Callable:
        own = "uring_" * ("uring" in pattern) + re.sub("<.*", "", pattern).rpartition("::")[2].rpartition(")*")[2]
        PRINTERS.append((name or own, pattern, function))
        return function

    return add


class Printer:
    """A printer that gdb can call for any memory: an error becomes the text."""

    def __init__(self, function: Callable[[gdb.Value], Any], value: gdb.Value) -> None:
        self.function, self.value = function, value.referenced_value() if is_reference(value.type) else value
        forget()

    def parts(self) -> Iterator[Any]:
        said = self.function(self.value)
        return said if isgenerator(said) else iter([said])

    def to_string(self) -> str:
        try:
            return next(self.parts())
        except Exception as error:  # whatever it is, gdb would print a traceback
            return f"<unreadable: {error}>"

    def children(self) -> Iterator[Child]:
        try:
            yield from islice(self.parts(), 1, None)
        except Exception:  # `to_string` says what it is
            return


# ---- Words of several printers.


def enumerator(value: gdb.Value) -> str:
    """The name of an enumerator without its scope. @throws gdb.error for a value that has no name."""
    value = atomic(value)
    for each in plain(value.type).fields():
        if each.enumval == int(value):
            return each.name.split("::")[-1]
    raise gdb.error(f"{int(value)} is no {plain(value.type).name}")


def type_name(value: gdb.Value) -> str:
    """The name of a type as users write it, whatever compiler wrote it into the program."""
    name = ASIO_NAMESPACE.sub(r"tryst::\1::", str(plain(value.type)).replace("(anonymous namespace)::", ""))
    return re.sub(r"\(tryst::order\)([01])", lambda order: f"tryst::order::{('fifo', 'lifo')[int(order[1])]}", name)


def executor_text(reference: gdb.Value) -> str:
    """Names the executor of an executor_ref: "tryst::run_loop at 0x7ff...". @throws gdb.error."""
    executor = Executor.of(reference)
    return f"{executor.full_kind} at {executor.context:#x}" if executor.vtable else "no executor"


def item_at(where: int, type_: gdb.Type) -> Iterator[Child]:
    """The item, unless it is the empty object that stands for void."""
    if plain(type_).code != gdb.TYPE_CODE_VOID and str(plain(type_)) != "tryst::detail::nothing":
        yield ("item", at(where, type_))


def variant_index(variant: gdb.Value) -> int:
    index = member(variant, "_M_index")
    return int(index if index is not None else variant["__impl_"]["__index"])


def alternative(variant: gdb.Value, index: int) -> gdb.Value:
    """Each standard library keeps the content of a variant first."""
    return at(address(variant), plain(variant.type).template_argument(index))


def nanoseconds(time: gdb.Value) -> int:
    """The count of a duration or a time point of std::chrono, of either standard library."""
    while is_class(time.type):
        time = time[plain(time.type).fields()[0].name]
    return int(time)


def listed(owner: gdb.Value, name: str, noun: str) -> str:
    """How many elements a linked_list has."""
    first = owner[name]["first_"]
    found, complete = linked(int(first), plain(first.type).target(), "following", MOST_NODES)
    return count(len(found), noun) + ("" if complete else " or more")


# ---- Exchangers.


@prints("tryst::detail::waiter")
def waiter(value: gdb.Value) -> str:
    party = Coroutine.at(int(value["owner"]))
    name = "" if party is None else f"{party.short_name}, "
    return f"waiter at {address(value):#x}: {enumerator(value['kind'])}, {name}{executor_text(value['executor'])}"


def exchange(value: gdb.Value, seen: Contents, name: str = "", red: str = "red", blue: str = "blue") -> Iterator[Any]:
    names = {"red": red, "blue": blue, "": ""}
    parts = ["closed" if seen.closed else "open"] + [seen.buffer] * bool(seen.buffer)
    more = " or more" if seen.rest else ""
    colours = sorted({w.colour for w in seen.waiters}) or [""]
    for colour in colours:
        size = sum(w.colour == colour for w in seen.waiters)
        parts.append((count(size, names[colour]) if colour else f"{size}") + f"{more} waiting")
    if seen.capacity != 0:
        parts.append(f"arena {seen.bound} of {count(seen.capacity, 'slot')}")
    yield f"{type_name(value)}: " + (f'"{name}", ' if name else "") + ", ".join(parts)
    for w in seen.waiters:
        place = "arena" if w.slot else "list"
        yield (f"{names[w.colour] or 'waiter'} in {place}", at(w.address, required_type("tryst::detail::waiter")))


def exchanger(value: gdb.Value, *names: str) -> Iterator[Any]:
    of = exchanger_of(value)
    if of.protocol == 0:
        yield f"{type_name(value)}: destroyed"
        return
    protocol = at(of.protocol, of.type)
    yield from exchange(value, contents_of(protocol), of.name, *names)
    counters = member(protocol["observer_"]["counters_"], "used_")
    if counters is not None:
        yield ("counters", counters.dereference())


@prints(r"tryst::redis::(\w+::)*remote_(exchanger|red_blue_exchanger|channel)<.*>", "remote")
def remote(value: gdb.Value) -> Iterator[Any]:
    """Its local meeting place."""
    return exchange(value, contents_of(owned(value["place_"])["protocol_"]))


@prints("tryst::future<.*>")
def future(value: gdb.Value) -> Iterator[Any]:
    text, *found = exchange(value, contents_of(value["protocol_"]))
    yield text
    state = value["protocol_"]["arena_"]
    if enumerator(state["phase_"]) == "full":
        yield ("item", state["held"])
    for _, each in found:
        yield ("waiter", each)


# ---- Statistics.


def figures_text(type_: str, figures: dict[str, int], longest_wait: int) -> str:
    """The figures that are not zero."""
    parts = [f"{name} {n}" for name, n in figures.items() if n != 0]
    if longest_wait != 0:
        parts.append(f"longest_wait {longest_wait / 1e6:.6g} ms")
    return f"{type_}: " + (", ".join(parts) or "all zero")


# The events that end an operation without an exchange, and those whose statistic has another name.
FAILURES = ("timeout", "cancellation", "closed", "no_partner", "out_of_memory", "not_selected")
STATISTICS = {"timeout": "timeouts", "cancellation": "cancellations", "collision": "collisions", "expiry": "expiries",
              "growth": "growths", "shrinkage": "shrinkages"}


@prints("tryst::counters")
def counters(value: gdb.Value) -> str:
    """Prints what `counters::stats` returns."""
    first, own = owned(value["cells_"]), number(value["own_cells_"])
    if own > int(value["most_cells"]):
        raise gdb.error(f"the number of its cells is {own}")
    cells = [first[i] for i in range(own + int(value["shared_cells"]))]

    def total(event: gdb.Field) -> int:
        return sum(number(cell["counts"][plain(cell["counts"].type).fields()[0].name][event.enumval]) for cell in cells)

    figures = {event.name.split("::")[-1]: total(event) for event in required_type("tryst::detail::counted_event").fields()}
    at_once, late = figures.pop("exchange"), figures.pop("late_exchange")
    arrivals, exchanges = figures.pop("wait") + at_once, at_once + late
    waiting = max(0, arrivals - 2 * exchanges - sum(figures[name] for name in FAILURES))
    others = {STATISTICS.get(name, name): n for name, n in figures.items()}
    return figures_text("tryst::counters", {"arrivals": arrivals, "exchanges": exchanges} | others | {"waiting": waiting},
                        max(number(cell["longest"]) for cell in cells))


# ---- Results.

ERRORS = {
    "timed_out": "the deadline passed",
    "cancelled": "a stop was requested",
    "closed": "the exchanger, channel or future is closed",
    "no_partner": "the operation would have to wait",
    "out_of_memory": "there is no memory for a waiter or an item, or no thread for a deadline",
    "not_selected": "another case of the selection took place",
    "unavailable": "the meeting place cannot be reached, and nothing was offered",
    "in_doubt": "the outcome is unknown: a partner may have the item",
}


@prints("tryst::exchange_errc")
def exchange_errc(value: gdb.Value) -> str:
    if int(value) == 0:
        return "success"
    name = enumerator(value)
    return f"{name} ({ERRORS[name]})" if name in ERRORS else name


@prints(r"tryst::(exchange_result|redis::(\w+::)*remote_result)<.*>", "exchange_result")
def exchange_result(value: gdb.Value) -> Iterator[Any]:
    exchanged = int(value["error_"]) == 0
    yield "exchanged" if exchanged else enumerator(value["error_"])
    either = value["item_"]
    yield from item_at(address(either), plain(either.type).template_argument(0 if exchanged else 1))


@prints("tryst::detail::ended_work<.*>")
def ended_work(value: gdb.Value) -> Iterator[Any]:
    """An awaitable of when_any: prints the task or the result that it holds."""
    left = member(value, "left_")
    held = gdb.default_visualizer(value["work_"] if left is None else alternative(left, variant_index(left)))
    yield held.to_string()
    yield from held.children()


# ---- Tasks and executors.


@prints("tryst::task<.*>")
def task(value: gdb.Value) -> Iterator[Any]:
    frame = read_word(address(value["coroutine_"]))
    if frame == 0:
        yield f"{type_name(value)}: empty"
        return
    coroutine = Coroutine(frame, read_word(frame), read_word(frame + WORD))
    promised = at(frame + PROMISE_AT, plain(value["coroutine_"].type).template_argument(0))
    is_done = coroutine.resume == 0
    if is_done:
        state = "done"
    elif int(promised["awaiter_"]) == 0:
        state = "not started"
    else:
        with known_settings():
            location = waits.wait_of(coroutine).location
        state = "started" if location is None else f"started, suspended at {location}"
    yield f"{type_name(value)}: {coroutine.short_name or f'the coroutine at {frame:#x}'}, {state}"
    if not is_done:
        return
    result = member(promised, "result_")
    index = 2 if result is None else variant_index(result)
    if index == 1:
        yield from item_at(address(result), plain(result.type).template_argument(1))
    exception = promised["exception_"] if result is None else alternative(result, 2)
    if index == 2 and read_word(address(exception)) != 0:
        yield ("exception", exception)


def queue_text(executor: gdb.Value) -> str:
    """How many nodes are in the queue of a serial executor, and in its inbox or mailbox, if it has one."""

    def size(first: int) -> str:
        nodes, complete = linked(first, required_type("tryst::executor_node"), "next", MOST_NODES)
        return f"{len(nodes)}{'' if complete else ' or more'}"

    inbox = first_in_inbox(executor)
    return f"{size(int(executor['queue_']['head_']))} queued" + (f", {size(inbox)} in its inbox" if inbox else "")


@prints("tryst::uring::context")
@prints("tryst::basic_run_loop<.*>", "run_loop")
@prints("tryst::loop_executor<.*>")
def loop(value: gdb.Value) -> str:
    running, timers = member(value, "running_"), member(value, "timers_")
    flag = int(running if running is not None else value["in_turn_"])
    if flag not in (0, 1):
        raise gdb.error(f"a flag is {flag}")
    armed = ", timers armed" if timers is not None and int(timers["root_"]) != 0 else ""
    return f"{executor_kind(type_name(value))}: {'running' if flag else 'not running'}, {queue_text(value)}{armed}"


# ---- Stops, operations and sleeps.


def source_text(source: gdb.Value) -> str:
    word = number(source["word_"])
    if word > 3:
        raise gdb.error(f"its state is {word}")
    return "stop requested" if word & 1 else "no stop requested, " + listed(source, "callbacks_", "callback")


@prints("tryst::exchange_operation<.*>")
def exchange_operation(value: gdb.Value) -> Iterator[Any]:
    result, stage = enumerator(value["result"]), waits.STAGES[enumerator(value["at"])]
    yield "tryst::exchange_operation: " + (stage if result == "pending" else result)
    item = value["got" if result == "exchanged" else "brought"]
    yield from item_at(address(item), item.type)


@prints("tryst::uring::result<.*>")
def uring_result(value: gdb.Value) -> Iterator[Any]:
    error, held = int(value["error_"]["_M_value"]), member(value, "value_")
    yield f"{value['operation_'].string()}: " + ("done" if error == 0 else f"{os.strerror(error)} (error {error})")
    if held is not None and error == 0:
        yield ("value", held)


def case_text(value: gdb.Value) -> str:
    index = int(value["index_"])
    return "no case took place" if index == 2**64 - 1 else f"case {index} took place"


def statistics_text(value: gdb.Value) -> str:
    names = [each.name for each in plain(value.type).fields() if each.name != "longest_wait"]
    return figures_text("tryst::statistics", {name: int(value[name]) for name in names}, nanoseconds(value["longest_wait"]))


def sleep_text(value: gdb.Value) -> str:
    seconds = f"{nanoseconds(value['limit_']) / 1e9:.9g} s"
    is_point = "time_point" in str(plain(value["limit_"].type))
    return f"tryst::sleep_until: {seconds} on the steady clock" if is_point else f"tryst::sleep_for: {seconds}"


def scope_text(value: gdb.Value) -> str:
    joined = ", being joined" if int(value["joiner_"]) else ""
    return f"{'closed' if value['closed_'] else 'open'}, {listed(value, 'tasks_', 'task')}{joined}, {executor_text(value['executor_'])}"


def connection_text(connection: gdb.Value) -> str:
    """The state is in a class that only the library's own sources describe."""
    hub = owned(connection["hub_"]).dereference()
    if member(hub, "connected_") is None:
        return "unknown state; compile tryst's adapter for Redis with -g"
    error = hub["error_"].format_string()
    state = "closed" if hub["closing_"] else "connected" if hub["connected_"] else "not connected"
    return state if error == '""' else f"{state}, {error}"


def handshake(value: gdb.Value) -> str:
    return enumerator(value["handshake_"]["word_"])


def or_none(pointer: gdb.Value, text: Callable[[gdb.Value], str], none: str = "none") -> str:
    return text(pointer.dereference()) if int(pointer) else none


def typed(text: Callable[[gdb.Value], str]) -> Callable[[gdb.Value], str]:
    """The text behind the name of the type."""
    return lambda value: f"{type_name(value)}: {text(value)}"


def with_member(text: Callable[[gdb.Value], str], name: str, field: str) -> Callable[[gdb.Value], Iterator[Any]]:
    """The text, and a member as the only child."""

    def parts(value: gdb.Value) -> Iterator[Any]:
        yield text(value)
        yield (name, value[field])

    return parts


for _pattern, _function in {
    **dict.fromkeys(("tryst::exchanger<.*>", "tryst::red_blue_exchanger<.*>"), exchanger),
    **dict.fromkeys(("tryst::synchronous_channel<.*>", "tryst::channel<.*>"), lambda v: exchanger(v, "sender", "receiver")),
    "tryst::executor_ref": executor_text,
    "tryst::statistics": statistics_text,
    "tryst::select_from_result<.*>": case_text,
    "tryst::select_result<.*>": with_member(case_text, "results", "results_"),
    "tryst::select_operation<.*>": lambda v: f"tryst::select_operation: {waits.STAGES[enumerator(v['at_'])]}",
    "tryst::when_any_result<.*>": with_member(lambda v: f"awaitable {int(v['index_'])} ended first", "results", "work_"),
    "tryst::detail::sleep<.*>": sleep_text,
    "tryst::detail::sleep_awaiter<.*>": lambda v: "sleep: " + {"running": "starting", "awaited": "asleep"}.get(
        handshake(v), "expired" if v["expired_"] else "stopped"),
    "tryst::promise<.*>": typed(lambda v: f"future at {word:#x}" if (word := number(v["word_"]["word_"])) else "no future"),
    "tryst::join_handle<.*>": typed(lambda v: or_none(owned(v["state_"]), handshake, "empty")),
    "tryst::task_scope": typed(scope_text),
    r"tryst::asio::(\w+::)*task_executor<.*>": typed(lambda v: or_none(owned(v["core_"]), queue_text, "destroyed")),
    r"tryst::redis::(\w+::)*connection": typed(connection_text),
    "tryst::schedule_operation": typed(lambda v: ("queued, " if read_word(address(v["coroutine_"])) else "not queued, ")
                                       + executor_text(v["executor_"])),
    "tryst::inplace_stop_source": typed(source_text),
    "tryst::inplace_stop_token": typed(lambda v: or_none(v["source_"], source_text, "no stop possible")),
    "tryst::inplace_stop_callback<.*>": with_member(lambda v: "tryst::inplace_stop_callback: " + (
        "registered" if int(v["incoming"]) else "not registered"), "function", "callback_"),
    "tryst::uring::descriptor": typed(lambda v: str(number(v["number_"])) if number(v["number_"]) >= 0 else "none"),
    **dict.fromkeys(("tryst::uring::accept_stream", "tryst::uring::recv_stream"), typed(
        lambda v: f"room for {int(v['room_'])}, {'a task waits' if int(v['waiting_']) else 'no task waits'}")),
    "tryst::uring::limits": typed(lambda v: "no deadline" if (limit := nanoseconds(v["deadline_"])) == 2**63 - 1
                                  else f"until {limit / 1e9:.9g} s on the steady clock"),
    "tryst::uring::buffer": typed(lambda v: or_none(
        v["pool_"], lambda pool: f"{int(pool['size_'])} bytes at {int(v['data_']):#x}")),
    "tryst::uring::buffer_pool": with_member(typed(
        lambda v: f"{count(int(v['count_']), 'buffer')} of {int(v['size_'])} bytes"), "free", "free_"),
}.items():
    prints(_pattern)(_function)


def register(objfile: gdb.Objfile | None = None) -> None:
    """Installs the printers for a file of the program, or for all. Again, it replaces them."""
    collection = gdb.printing.RegexpCollectionPrettyPrinter("tryst")
    for name, pattern, function in PRINTERS:
        collection.add_printer(name, f"^{pattern}$", lambda value, function=function: Printer(function, value))
    gdb.printing.register_pretty_printer(objfile, collection, replace=True)
