# SPDX-License-Identifier: MIT
"""Pretty-printers for the public types of tryst."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import gdb
import gdb.printing

from . import coroutines, wait_lists
from .coroutines import PROMISE_AT, Coroutine, frame_of
from .executors import ASIO_NAMESPACE, Executor, executor_kind, first_in_inbox, linked, nodes_at
from .values import (address, at, atomic, is_class, known_settings, member, number, owned, plain, read_word,
                     required_type)

Child = tuple[str, Any]


def count(n: int, noun: str) -> str:
    return f"{n} {noun}" + ("" if n == 1 or noun in ("red", "blue") else "s")


def enumerator(value: gdb.Value) -> str:
    """The name of an enumerator without its scope. @throws gdb.error for a value that has no name."""
    value = atomic(value)
    for each in plain(value.type).fields():
        if each.enumval == int(value):
            return each.name.split("::")[-1]
    raise gdb.error(f"{int(value)} is no {plain(value.type).name}")


ORDERS = ("fifo", "lifo")


def type_name(value: gdb.Value) -> str:
    """The name of a type as users write it, whatever compiler wrote it into the program."""
    name = ASIO_NAMESPACE.sub(r"tryst::\1::", str(plain(value.type)).replace("(anonymous namespace)::", ""))
    return re.sub(r"\(tryst::order\)([01])", lambda order: f"tryst::order::{ORDERS[int(order[1])]}", name)


def executor_text(reference: gdb.Value) -> str:
    """Names the executor of an executor_ref: "tryst::run_loop at 0x7ff...". @throws gdb.error."""
    executor = Executor.of(reference)
    return f"{executor.full_kind} at {executor.context:#x}" if executor.vtable else "no executor"


class Printer:
    """A printer that gdb can call for any memory: an error becomes the text. `text` and `items` may throw."""

    def __init__(self, value: gdb.Value) -> None:
        if value.type.strip_typedefs().code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            value = value.referenced_value()
        self.value = value
        coroutines.forget()

    def text(self) -> str:
        raise NotImplementedError

    def items(self) -> Iterator[Child]:
        return iter(())

    def to_string(self) -> str:
        try:
            return self.text()
        except Exception as error:  # whatever it is, gdb would print a traceback
            return f"<unreadable: {error}>"

    def children(self) -> Iterator[Child]:
        try:
            self.text()
            yield from self.items()
        except Exception:  # `to_string` says what it is
            return


def waiter_text(waiter: gdb.Value) -> str:
    """What kind of waiter it is, whose, and where it resumes. @throws gdb.error."""
    return f"{enumerator(waiter['kind'])}, {owner_text(int(waiter['owner']))}{executor_text(waiter['executor'])}"


def owner_text(owner: int) -> str:
    """The name of the waiting coroutine, or ""."""
    found = Coroutine.at(owner)
    return "" if found is None else f"{found.short_name}, "


class Waiter(Printer):
    def text(self) -> str:
        return f"waiter at {address(self.value):#x}: {waiter_text(self.value)}"


def exchange_text(seen: wait_lists.Exchange, names: dict[str, str]) -> str:
    parts = ["closed" if seen.closed else "open"]
    if seen.buffer:
        parts.append(seen.buffer)
    colours = sorted({w.colour for w in seen.waiters})
    more = " or more" if seen.rest else ""
    if colours in ([], [""]):
        parts.append(f"{len(seen.waiters)}{more} waiting")
    else:
        parts += [f"{count(sum(w.colour == c for w in seen.waiters), names[c])}{more} waiting" for c in colours]
    if seen.capacity != 0:
        parts.append(f"arena {seen.bound} of {count(seen.capacity, 'slot')}")
    return (f'"{seen.name}", ' if seen.name else "") + ", ".join(parts)


class Exchanger(Printer):
    COLOURS = {"red": "red", "blue": "blue"}

    def seen(self) -> wait_lists.Exchange | None:
        protocol = wait_lists.protocol_of(self.value)
        return None if protocol is None else wait_lists.read(protocol)

    def text(self) -> str:
        seen = self.seen()
        return f"{type_name(self.value)}: " + ("destroyed" if seen is None else exchange_text(seen, self.COLOURS))

    def items(self) -> Iterator[Child]:
        seen = self.seen()
        for waiter in seen.waiters if seen is not None else ():
            place = "arena" if waiter.slot else "list"
            yield (f"{self.COLOURS.get(waiter.colour, 'waiter')} in {place}", at(waiter.address, required_type("tryst::detail::waiter")))
        if seen is not None and (counters := wait_lists.counters_of(self.value)) is not None:
            yield ("counters", counters)


class Channel(Exchanger):
    COLOURS = {"red": "sender", "blue": "receiver"}


class Remote(Exchanger):
    """An exchanger or channel of several processes: its local meeting place."""

    def seen(self) -> wait_lists.Exchange | None:
        place = owned(self.value["place_"])
        return None if int(place) == 0 else wait_lists.read(place["protocol_"])


class Future(Exchanger):
    def seen(self) -> wait_lists.Exchange:
        return wait_lists.read(self.value["protocol_"])

    def items(self) -> Iterator[Child]:
        state = self.value["protocol_"]["arena_"]
        if enumerator(state["phase_"]) == "full":
            yield ("item", state["held"])
        for waiter in self.seen().waiters:
            yield ("waiter", at(waiter.address, required_type("tryst::detail::waiter")))


class Promise(Printer):
    def text(self) -> str:
        future = number(self.value["word_"]["word_"])
        return f"{type_name(self.value)}: " + (f"future at {future:#x}" if future else "no future")


def figures_text(type_: str, figures: dict[str, int], longest_wait: int) -> str:
    """The figures that are not zero."""
    parts = [f"{name} {n}" for name, n in figures.items() if n != 0]
    if longest_wait != 0:
        parts.append(f"longest_wait {longest_wait / 1e6:.6g} ms")
    return f"{type_}: " + (", ".join(parts) or "all zero")


class Statistics(Printer):
    def text(self) -> str:
        names = [each.name for each in plain(self.value.type).fields()]
        figures = {name: int(self.value[name]) for name in names if name != "longest_wait"}
        return figures_text("tryst::statistics", figures, nanoseconds(self.value["longest_wait"]))


# The events that end an operation without an exchange, and those whose statistic has another name.
FAILURES = ("timeout", "cancellation", "closed", "no_partner", "out_of_memory", "not_selected")
STATISTICS = {"timeout": "timeouts", "cancellation": "cancellations", "collision": "collisions", "expiry": "expiries",
              "growth": "growths", "shrinkage": "shrinkages"}


def element(array: gdb.Value, index: int) -> gdb.Value:
    """An element of a std::array. @throws gdb.error."""
    return array[plain(array.type).fields()[0].name][index]


class Counters(Printer):
    """Prints what `counters::stats` returns."""

    def text(self) -> str:
        first, own = owned(self.value["cells_"]), number(self.value["own_cells_"])
        if own > int(self.value["most_cells"]):
            raise gdb.error(f"the number of its cells is {own}")
        cells = [first[i] for i in range(own + int(self.value["shared_cells"]))]
        events = required_type("tryst::detail::counted_event")
        figures = {event.name.split("::")[-1]: sum(number(element(cell["counts"], event.enumval)) for cell in cells)
                   for event in events.fields()}
        at_once, late = figures.pop("exchange"), figures.pop("late_exchange")
        arrivals, exchanges = figures.pop("wait") + at_once, at_once + late
        waiting = max(0, arrivals - 2 * exchanges - sum(figures[name] for name in FAILURES))
        others = {STATISTICS.get(name, name): n for name, n in figures.items()}
        return figures_text("tryst::counters",
                            {"arrivals": arrivals, "exchanges": exchanges} | others | {"waiting": waiting},
                            max(number(cell["longest"]) for cell in cells))


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


class ExchangeErrc(Printer):
    def text(self) -> str:
        if int(self.value) == 0:
            return "success"
        name = enumerator(self.value)
        return f"{name} ({ERRORS[name]})" if name in ERRORS else name


def item_at(where: int, type_: gdb.Type) -> Iterator[Child]:
    """The item, unless it is the empty object that stands for void."""
    if plain(type_).code != gdb.TYPE_CODE_VOID and str(plain(type_)) != "tryst::detail::nothing":
        yield ("item", at(where, type_))


class ExchangeResult(Printer):
    def text(self) -> str:
        error = self.value["error_"]
        return "exchanged" if int(error) == 0 else enumerator(error)

    def items(self) -> Iterator[Child]:
        exchanged = int(self.value["error_"]) == 0
        # Both standard libraries keep the content of a variant first.
        either = self.value["item_"]
        return item_at(address(either), plain(either.type).template_argument(0 if exchanged else 1))


def case_text(index: gdb.Value) -> str:
    return "no case took place" if int(index) == 2**64 - 1 else f"case {int(index)} took place"


class SelectResult(Printer):
    def text(self) -> str:
        return case_text(self.value["index_"])

    def items(self) -> Iterator[Child]:
        yield ("results", self.value["results_"])


class SelectFromResult(Printer):
    def text(self) -> str:
        return case_text(self.value["index_"])


class WhenAnyResult(Printer):
    def text(self) -> str:
        return f"awaitable {int(self.value['index_'])} ended first"

    def items(self) -> Iterator[Child]:
        yield ("results", self.value["work_"])


class EndedWork(Printer):
    """An awaitable of when_any: prints the task or the result that it holds."""

    def held(self) -> gdb.Value:
        left = member(self.value, "left_")
        if left is None:
            return self.value["work_"]
        return at(address(left), plain(left.type).template_argument(variant_index(left)))

    def text(self) -> str:
        return gdb.default_visualizer(self.held()).to_string()

    def items(self) -> Iterator[Child]:
        return gdb.default_visualizer(self.held()).children()


class Task(Printer):
    def text(self) -> str:
        frame = frame_of(self.value["coroutine_"])
        if frame == 0:
            return f"{type_name(self.value)}: empty"
        read_word(frame)  # throws if there is no frame
        coroutine = Coroutine(frame)
        name = coroutine.short_name or f"the coroutine at {frame:#x}"
        return f"{type_name(self.value)}: {name}, {self.state(coroutine)}"

    def state(self, coroutine: Coroutine) -> str:
        if coroutine.resume == 0:
            return "done"
        if int(self.promise(coroutine.address)["awaiter_"]) == 0:
            return "not started"
        with known_settings():
            line, is_known = coroutines.suspension(coroutine)
        return f"started, last suspended at {line}" if is_known else "started"

    def promise(self, frame: int) -> gdb.Value:
        return at(frame + PROMISE_AT, plain(self.value["coroutine_"].type).template_argument(0))

    def items(self) -> Iterator[Child]:
        frame = frame_of(self.value["coroutine_"])
        if frame == 0 or read_word(frame) != 0:
            return
        promise = self.promise(frame)
        result = member(promise, "result_")
        if result is None:
            exception = promise["exception_"]
        else:
            index = variant_index(result)
            if index == 1:  # each standard library keeps the content of a variant first
                yield from item_at(address(result), plain(result.type).template_argument(1))
            exception = at(address(result), plain(result.type).template_argument(2)) if index == 2 else None
        if exception is not None and read_word(address(exception)) != 0:
            yield ("exception", exception)


def variant_index(variant: gdb.Value) -> int:
    index = member(variant, "_M_index")
    return int(index if index is not None else variant["__impl_"]["__index"])


class JoinHandle(Printer):
    def text(self) -> str:
        state = owned(self.value["state_"])
        return f"{type_name(self.value)}: " + ("empty" if int(state) == 0 else enumerator(state["handshake_"]["word_"]))


class TaskScope(Printer):
    def text(self) -> str:
        first = self.value["tasks_"]["first_"]
        children, complete = linked(int(first), plain(first.type).target(), "following")
        tasks = count(len(children), "task") + ("" if complete else " or more")
        joined = "" if int(self.value["joiner_"]) == 0 else ", being joined"
        state = "closed" if bool(self.value["closed_"]) else "open"
        return f"{type_name(self.value)}: {state}, {tasks}{joined}, {executor_text(self.value['executor_'])}"


class ExecutorRef(Printer):
    def text(self) -> str:
        return executor_text(self.value)


def short_type(value: gdb.Value) -> str:
    """The type of an executor, as `executor_text` names it."""
    return executor_kind(type_name(value))


def counted(nodes: list[int], complete: bool) -> str:
    return f"{len(nodes)}{'' if complete else ' or more'}"


def queue_text(executor_: gdb.Value) -> str:
    """How many nodes are in the queue of a serial executor, and in its inbox or mailbox, if it has one."""
    text = f"{counted(*nodes_at(int(executor_['queue_']['head_'])))} queued"
    inbox = first_in_inbox(executor_)
    return text + (f", {counted(*nodes_at(inbox))} in its inbox" if inbox else "")


class Loop(Printer):
    """A run_loop, a uring::context, or an executor on a user's loop."""

    def text(self) -> str:
        timers = member(self.value, "timers_")
        armed = ", timers armed" if timers is not None and int(timers["root_"]) != 0 else ""
        return f"{short_type(self.value)}: {self.state()}, {queue_text(self.value)}{armed}"

    def state(self) -> str:
        running = member(self.value, "running_")
        running = running if running is not None else self.value["in_turn_"]
        if int(running) not in (0, 1):
            raise gdb.error(f"a flag is {int(running)}")
        return "running" if bool(running) else "not running"


class TaskExecutor(Printer):
    """tryst::asio::task_executor."""

    def text(self) -> str:
        core = owned(self.value["core_"])
        if int(core) == 0:
            return f"{type_name(self.value)}: destroyed"
        return f"{type_name(self.value)}: {queue_text(core)}"


def source_text(source: gdb.Value) -> str:
    word = number(source["word_"])
    if word > 3:
        raise gdb.error(f"its state is {word}")
    if word & 1:
        return "stop requested"
    first = source["callbacks_"]["first_"]
    callbacks, complete = linked(int(first), plain(first.type).target(), "following")
    return "no stop requested, " + count(len(callbacks), "callback") + ("" if complete else " or more")


class StopSource(Printer):
    def text(self) -> str:
        return f"{type_name(self.value)}: {source_text(self.value)}"


class StopToken(Printer):
    def text(self) -> str:
        source = self.value["source_"]
        text = "no stop possible" if int(source) == 0 else source_text(source.dereference())
        return f"{type_name(self.value)}: {text}"


class StopCallback(Printer):
    def text(self) -> str:
        return "tryst::inplace_stop_callback: " + ("not registered" if int(self.value["incoming"]) == 0 else "registered")

    def items(self) -> Iterator[Child]:
        yield ("function", self.value["callback_"])


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


class ExchangeOperation(Printer):
    def text(self) -> str:
        result = enumerator(self.value["result"])
        stage = STAGES[enumerator(self.value["at"])]
        return "tryst::exchange_operation: " + (stage if result == "pending" else result)

    def items(self) -> Iterator[Child]:
        exchanged = enumerator(self.value["result"]) == "exchanged"
        item = self.value["got" if exchanged else "brought"]
        return item_at(address(item), item.type)


class SelectOperation(Printer):
    def text(self) -> str:
        return f"tryst::select_operation: {STAGES[enumerator(self.value['at_'])]}"


def nanoseconds(time: gdb.Value) -> int:
    """The count of a duration or a time point of std::chrono, of either standard library."""
    while is_class(time.type):
        time = time[plain(time.type).fields()[0].name]
    return int(time)


class Sleep(Printer):
    """What sleep_for and sleep_until return."""

    def text(self) -> str:
        limit = self.value["limit_"]
        seconds = nanoseconds(limit) / 1e9
        if "time_point" in str(plain(limit.type)):
            return f"tryst::sleep_until: {seconds:.9g} s on the steady clock"
        return f"tryst::sleep_for: {seconds:.9g} s"


class SleepAwaiter(Printer):
    """A sleep that has been awaited."""

    def text(self) -> str:
        state = enumerator(self.value["handshake_"]["word_"])
        ended = "expired" if bool(self.value["expired_"]) else "stopped"
        return "sleep: " + {"running": "starting", "awaited": "asleep"}.get(state, ended)


class ScheduleOperation(Printer):
    def text(self) -> str:
        awaited = frame_of(self.value["coroutine_"]) != 0
        return f"tryst::schedule_operation: {'queued' if awaited else 'not queued'}, {executor_text(self.value['executor_'])}"


class UringResult(Printer):
    def text(self) -> str:
        error = int(self.value["error_"]["_M_value"])
        name = self.value["operation_"].string()
        return f"{name}: " + ("done" if error == 0 else f"{os.strerror(error)} (error {error})")

    def items(self) -> Iterator[Child]:
        value = member(self.value, "value_")
        if value is not None and int(self.value["error_"]["_M_value"]) == 0:
            yield ("value", value)


class UringDescriptor(Printer):
    def text(self) -> str:
        number_ = int(self.value["number_"])
        return "tryst::uring::descriptor: " + ("none" if number_ < 0 else str(number_))


class UringBuffer(Printer):
    def text(self) -> str:
        pool = self.value["pool_"]
        if int(pool) == 0:
            return "tryst::uring::buffer: none"
        return f"tryst::uring::buffer: {int(pool['size_'])} bytes at {int(self.value['data_']):#x}"


class UringBufferPool(Printer):
    def text(self) -> str:
        return (f"tryst::uring::buffer_pool: {count(int(self.value['count_']), 'buffer')} "
                f"of {int(self.value['size_'])} bytes")

    def items(self) -> Iterator[Child]:
        yield ("free", self.value["free_"])


# The name of each printer in `info pretty-printer`, and the template or class.
PRINTERS: dict[str, tuple[str, Callable[[gdb.Value], Printer]]] = {
    "waiter": (r"tryst::detail::waiter", Waiter),
    "exchanger": (r"tryst::exchanger<.*>", Exchanger),
    "red_blue_exchanger": (r"tryst::red_blue_exchanger<.*>", Exchanger),
    "synchronous_channel": (r"tryst::synchronous_channel<.*>", Channel),
    "channel": (r"tryst::channel<.*>", Channel),
    "future": (r"tryst::future<.*>", Future),
    "promise": (r"tryst::promise<.*>", Promise),
    "remote": (r"tryst::redis::(\w+::)*remote_(exchanger|red_blue_exchanger|channel)<.*>", Remote),
    "exchange_result": (r"tryst::(exchange_result|redis::(\w+::)*remote_result)<.*>", ExchangeResult),
    "exchange_errc": (r"tryst::exchange_errc", ExchangeErrc),
    "select_result": (r"tryst::select_result<.*>", SelectResult),
    "select_from_result": (r"tryst::select_from_result<.*>", SelectFromResult),
    "task": (r"tryst::task<.*>", Task),
    "join_handle": (r"tryst::join_handle<.*>", JoinHandle),
    "task_scope": (r"tryst::task_scope", TaskScope),
    "executor_ref": (r"tryst::executor_ref", ExecutorRef),
    "run_loop": (r"tryst::basic_run_loop<.*>", Loop),
    "uring_context": (r"tryst::uring::context", Loop),
    "loop_executor": (r"tryst::loop_executor<.*>", Loop),
    "task_executor": (r"tryst::asio::(\w+::)*task_executor<.*>", TaskExecutor),
    "inplace_stop_source": (r"tryst::inplace_stop_source", StopSource),
    "inplace_stop_token": (r"tryst::inplace_stop_token", StopToken),
    "exchange_operation": (r"tryst::exchange_operation<.*>", ExchangeOperation),
    "select_operation": (r"tryst::select_operation<.*>", SelectOperation),
    "when_any_result": (r"tryst::when_any_result<.*>", WhenAnyResult),
    "ended_work": (r"tryst::detail::ended_work<.*>", EndedWork),
    "inplace_stop_callback": (r"tryst::inplace_stop_callback<.*>", StopCallback),
    "statistics": (r"tryst::statistics", Statistics),
    "counters": (r"tryst::counters", Counters),
    "uring_result": (r"tryst::uring::result<.*>", UringResult),
    "uring_descriptor": (r"tryst::uring::descriptor", UringDescriptor),
    "uring_buffer": (r"tryst::uring::buffer", UringBuffer),
    "uring_buffer_pool": (r"tryst::uring::buffer_pool", UringBufferPool),
    "sleep": (r"tryst::detail::sleep<.*>", Sleep),
    "sleep_awaiter": (r"tryst::detail::sleep_awaiter<.*>", SleepAwaiter),
    "schedule_operation": (r"tryst::schedule_operation", ScheduleOperation),
}


def register(objfile: gdb.Objfile | None = None) -> None:
    """Installs the printers for a file of the program, or for all. Again, it replaces them."""
    collection = gdb.printing.RegexpCollectionPrettyPrinter("tryst")
    for name, (pattern, printer) in PRINTERS.items():
        collection.add_printer(name, f"^{pattern}$", printer)
    gdb.printing.register_pretty_printer(objfile, collection, replace=True)
