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

from . import wait_lists, waits
from .coroutines import PROMISE_AT, Coroutine, frame_of
from .executors import ASIO_NAMESPACE, Executor, executor_kind, first_in_inbox, linked, nodes_at
from .values import (address, at, atomic, is_class, known_settings, member, number, owned, plain, read_word,
                     required_type)

Child = tuple[str, Any]

# The name of each printer in `info pretty-printer`, the pattern of its types, and its function.
PRINTERS: list[tuple[str, str, Callable[[gdb.Value], Any]]] = []


def prints(pattern: str, name: str = "") -> Callable:
    """Registers a function for the types that match, under the name or, without one, that of the type."""

    def add(function: Callable) -> Callable:
        PRINTERS.append((name or re.split(r"[<(]", pattern)[0].rpartition("::")[2], pattern, function))
        return function

    return add


class Printer:
    """A printer that gdb can call for any memory: an error becomes the text."""

    def __init__(self, function: Callable[[gdb.Value], Any], value: gdb.Value) -> None:
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
        self.function, self.value = function, value
        waits.forget()

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


def count(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 or noun in ("red", "blue") else "s")


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
    found, complete = linked(int(first), plain(first.type).target(), "following")
    return count(len(found), noun) + ("" if complete else " or more")


# ---- Exchangers.


@prints("tryst::detail::waiter")
def waiter(value: gdb.Value) -> str:
    party = Coroutine.at(int(value["owner"]))
    name = "" if party is None else f"{party.short_name}, "
    return f"waiter at {address(value):#x}: {enumerator(value['kind'])}, {name}{executor_text(value['executor'])}"


def exchange(value: gdb.Value, seen: wait_lists.Exchange | None, red: str = "red", blue: str = "blue") -> Iterator[Any]:
    if seen is None:
        yield f"{type_name(value)}: destroyed"
        return
    names = {"red": red, "blue": blue, "": ""}
    parts = ["closed" if seen.closed else "open"] + [seen.buffer] * bool(seen.buffer)
    more = " or more" if seen.rest else ""
    colours = sorted({w.colour for w in seen.waiters}) or [""]
    for colour in colours:
        size = sum(w.colour == colour for w in seen.waiters)
        parts.append((count(size, names[colour]) if colour else f"{size}") + f"{more} waiting")
    if seen.capacity != 0:
        parts.append(f"arena {seen.bound} of {count(seen.capacity, 'slot')}")
    yield f"{type_name(value)}: " + (f'"{seen.name}", ' if seen.name else "") + ", ".join(parts)
    for w in seen.waiters:
        place = "arena" if w.slot else "list"
        yield (f"{names[w.colour] or 'waiter'} in {place}", at(w.address, required_type("tryst::detail::waiter")))


def exchanger(value: gdb.Value, *names: str) -> Iterator[Any]:
    protocol = wait_lists.protocol_of(value)
    yield from exchange(value, None if protocol is None else wait_lists.read(protocol), *names)
    if protocol is not None and (counters := wait_lists.counters_of(value)) is not None:
        yield ("counters", counters)


for _name in ("exchanger", "red_blue_exchanger"):
    prints(rf"tryst::{_name}<.*>")(exchanger)
for _name in ("synchronous_channel", "channel"):
    prints(rf"tryst::{_name}<.*>")(lambda value: exchanger(value, "sender", "receiver"))


@prints(r"tryst::redis::(\w+::)*remote_(exchanger|red_blue_exchanger|channel)<.*>", "remote")
def remote(value: gdb.Value) -> Iterator[Any]:
    """Its local meeting place."""
    place = owned(value["place_"])
    return exchange(value, None if int(place) == 0 else wait_lists.read(place["protocol_"]))


@prints("tryst::future<.*>")
def future(value: gdb.Value) -> Iterator[Any]:
    text, *found = exchange(value, wait_lists.read(value["protocol_"]))
    yield text
    state = value["protocol_"]["arena_"]
    if enumerator(state["phase_"]) == "full":
        yield ("item", state["held"])
    for _, each in found:
        yield ("waiter", each)


@prints("tryst::promise<.*>")
def promise(value: gdb.Value) -> str:
    held = number(value["word_"]["word_"])
    return f"{type_name(value)}: " + (f"future at {held:#x}" if held else "no future")


# ---- Statistics.


def figures_text(type_: str, figures: dict[str, int], longest_wait: int) -> str:
    """The figures that are not zero."""
    parts = [f"{name} {n}" for name, n in figures.items() if n != 0]
    if longest_wait != 0:
        parts.append(f"longest_wait {longest_wait / 1e6:.6g} ms")
    return f"{type_}: " + (", ".join(parts) or "all zero")


@prints("tryst::statistics")
def statistics(value: gdb.Value) -> str:
    names = [each.name for each in plain(value.type).fields() if each.name != "longest_wait"]
    return figures_text("tryst::statistics", {name: int(value[name]) for name in names}, nanoseconds(value["longest_wait"]))


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
    "closed": "the exchanger or channel is closed",
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


@prints("tryst::select_from_result<.*>")
def select_from_result(value: gdb.Value) -> str:
    index = int(value["index_"])
    return "no case took place" if index == 2**64 - 1 else f"case {index} took place"


@prints("tryst::select_result<.*>")
def select_result(value: gdb.Value) -> Iterator[Any]:
    yield select_from_result(value)
    yield ("results", value["results_"])


@prints("tryst::when_any_result<.*>")
def when_any_result(value: gdb.Value) -> Iterator[Any]:
    yield f"awaitable {int(value['index_'])} ended first"
    yield ("results", value["work_"])


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
    frame = frame_of(value["coroutine_"])
    if frame == 0:
        yield f"{type_name(value)}: empty"
        return
    is_done = read_word(frame) == 0  # throws if there is no frame
    coroutine = Coroutine(frame)
    promised = at(frame + PROMISE_AT, plain(value["coroutine_"].type).template_argument(0))
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


@prints("tryst::join_handle<.*>")
def join_handle(value: gdb.Value) -> str:
    state = owned(value["state_"])
    return f"{type_name(value)}: " + ("empty" if int(state) == 0 else enumerator(state["handshake_"]["word_"]))


@prints("tryst::task_scope")
def task_scope(value: gdb.Value) -> str:
    joined = "" if int(value["joiner_"]) == 0 else ", being joined"
    state = "closed" if bool(value["closed_"]) else "open"
    return f"{type_name(value)}: {state}, {listed(value, 'tasks_', 'task')}{joined}, {executor_text(value['executor_'])}"


prints("tryst::executor_ref")(executor_text)


def queue_text(executor: gdb.Value) -> str:
    """How many nodes are in the queue of a serial executor, and in its inbox or mailbox, if it has one."""

    def size(first: int) -> str:
        nodes, complete = nodes_at(first)
        return f"{len(nodes)}{'' if complete else ' or more'}"

    inbox = first_in_inbox(executor)
    return f"{size(int(executor['queue_']['head_']))} queued" + (f", {size(inbox)} in its inbox" if inbox else "")


@prints("tryst::uring::context", "uring_context")
@prints("tryst::basic_run_loop<.*>", "run_loop")
@prints("tryst::loop_executor<.*>")
def loop(value: gdb.Value) -> str:
    running, timers = member(value, "running_"), member(value, "timers_")
    flag = int(running if running is not None else value["in_turn_"])
    if flag not in (0, 1):
        raise gdb.error(f"a flag is {flag}")
    armed = ", timers armed" if timers is not None and int(timers["root_"]) != 0 else ""
    return f"{executor_kind(type_name(value))}: {'running' if flag else 'not running'}, {queue_text(value)}{armed}"


@prints(r"tryst::asio::(\w+::)*task_executor<.*>", "task_executor")
def task_executor(value: gdb.Value) -> str:
    core = owned(value["core_"])
    return f"{type_name(value)}: " + ("destroyed" if int(core) == 0 else queue_text(core))


@prints("tryst::schedule_operation")
def schedule_operation(value: gdb.Value) -> str:
    awaited = frame_of(value["coroutine_"]) != 0
    return f"tryst::schedule_operation: {'queued' if awaited else 'not queued'}, {executor_text(value['executor_'])}"


# ---- Stops, operations and sleeps.


def source_text(source: gdb.Value) -> str:
    word = number(source["word_"])
    if word > 3:
        raise gdb.error(f"its state is {word}")
    return "stop requested" if word & 1 else "no stop requested, " + listed(source, "callbacks_", "callback")


@prints("tryst::inplace_stop_source")
def inplace_stop_source(value: gdb.Value) -> str:
    return f"{type_name(value)}: {source_text(value)}"


@prints("tryst::inplace_stop_token")
def inplace_stop_token(value: gdb.Value) -> str:
    source = value["source_"]
    return f"{type_name(value)}: " + ("no stop possible" if int(source) == 0 else source_text(source.dereference()))


@prints("tryst::inplace_stop_callback<.*>")
def inplace_stop_callback(value: gdb.Value) -> Iterator[Any]:
    yield "tryst::inplace_stop_callback: " + ("not registered" if int(value["incoming"]) == 0 else "registered")
    yield ("function", value["callback_"])


STAGES = {
    "created": "not awaited yet",
    "offered": "waiting",
    "resuming": "complete, queued to resume",
    "offered_cancelled": "waiting, and being cancelled",
    "finished": "finished",
    "stoppable": "waiting until a stop",
    "timed_by_executor": "waiting until a deadline",
    "timed_by_thread": "waiting until a deadline",
}


@prints("tryst::exchange_operation<.*>")
def exchange_operation(value: gdb.Value) -> Iterator[Any]:
    result, stage = enumerator(value["result"]), STAGES[enumerator(value["at"])]
    yield "tryst::exchange_operation: " + (stage if result == "pending" else result)
    item = value["got" if result == "exchanged" else "brought"]
    yield from item_at(address(item), item.type)


@prints("tryst::select_operation<.*>")
def select_operation(value: gdb.Value) -> str:
    return f"tryst::select_operation: {STAGES[enumerator(value['at_'])]}"


@prints("tryst::detail::sleep<.*>")
def sleep(value: gdb.Value) -> str:
    """What sleep_for and sleep_until return."""
    seconds = f"{nanoseconds(value['limit_']) / 1e9:.9g} s"
    is_point = "time_point" in str(plain(value["limit_"].type))
    return f"tryst::sleep_until: {seconds} on the steady clock" if is_point else f"tryst::sleep_for: {seconds}"


@prints("tryst::detail::sleep_awaiter<.*>")
def sleep_awaiter(value: gdb.Value) -> str:
    """A sleep that has been awaited."""
    ended = "expired" if bool(value["expired_"]) else "stopped"
    return "sleep: " + {"running": "starting", "awaited": "asleep"}.get(enumerator(value["handshake_"]["word_"]), ended)


# ---- io_uring and Redis.


@prints("tryst::uring::result<.*>", "uring_result")
def uring_result(value: gdb.Value) -> Iterator[Any]:
    error, held = int(value["error_"]["_M_value"]), member(value, "value_")
    yield f"{value['operation_'].string()}: " + ("done" if error == 0 else f"{os.strerror(error)} (error {error})")
    if held is not None and error == 0:
        yield ("value", held)


@prints("tryst::uring::descriptor", "uring_descriptor")
def uring_descriptor(value: gdb.Value) -> str:
    held = int(value["number_"])
    return "tryst::uring::descriptor: " + ("none" if held < 0 else str(held))


@prints("tryst::uring::buffer", "uring_buffer")
def uring_buffer(value: gdb.Value) -> str:
    pool = value["pool_"]
    held = "none" if int(pool) == 0 else f"{int(pool['size_'])} bytes at {int(value['data_']):#x}"
    return f"tryst::uring::buffer: {held}"


@prints("tryst::uring::buffer_pool", "uring_buffer_pool")
def uring_buffer_pool(value: gdb.Value) -> Iterator[Any]:
    yield f"tryst::uring::buffer_pool: {count(int(value['count_']), 'buffer')} of {int(value['size_'])} bytes"
    yield ("free", value["free_"])


def register(objfile: gdb.Objfile | None = None) -> None:
    """Installs the printers for a file of the program, or for all. Again, it replaces them."""
    collection = gdb.printing.RegexpCollectionPrettyPrinter("tryst")
    for name, pattern, function in PRINTERS:
        collection.add_printer(name, f"^{pattern}$", lambda value, function=function: Printer(function, value))
    gdb.printing.register_pretty_printer(objfile, collection, replace=True)
