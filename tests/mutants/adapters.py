# SPDX-License-Identifier: MIT
"""Mistakes of the adapters for Asio and io_uring, which their own tests must find."""

from typing import Iterator

from mutants import Mutant

URING = "../../src/uring/"


def asio() -> Iterator[Mutant]:
    registry, executor = "asio/detail/registry.hpp", "asio/detail/exchange_executor.hpp"
    awaited, callback = "asio/detail/suspended_exchange.hpp", "asio/detail/operation_state.hpp"
    timers, driver = "asio/detail/context_timers.hpp", "asio/detail/task_driver.hpp"
    yield Mutant("asio: the completion runs inside the partner's call", executor,
                 "                owner.home()->wake(owner);\n",
                 "                if (owner.run_entry()) {\n                    owner.unregister();\n                    owner.complete();\n                }\n")
    yield Mutant("asio: the wake is omitted", executor, "                owner.home()->wake(owner);\n",
                 "                static_cast<void>(owner);\n")
    yield Mutant("asio: the offer stays when the context ends", registry,
                 "                    executor.on_shutdown(); // may destroy other executors\n", "")
    yield Mutant("asio: a context ends one exchange only", registry,
                 "            while (!list.executors.empty()) {", "            if (!list.executors.empty()) {")
    yield Mutant("asio: a waker queues in a context that has ended", registry, "        if (rundown_.enter()) {\n            executor",
                 "        if (rundown_.enter() || true) {\n            executor")
    yield Mutant("asio: a matched exchange is disposed of twice at the end", registry,
                 "                if (executor.leave()) {", "                if (executor.leave() || true) {")
    yield Mutant("asio: an entry that is destroyed keeps its executor", "asio/detail/queue_entry.hpp",
                 "            owner_->on_shutdown();\n", "")
    yield Mutant("asio: the slot is not cleared before a handler", callback,
                 "        slot().clear();\n        end([]", "        end([]")
    yield Mutant("asio: a state is not freed after an exception", callback,
                 "        owner self = owned(); // frees the state if the start throws\n        base::start(slot());\n        self.release();\n",
                 "        base::start(slot());\n")
    yield Mutant("asio: a handler is called before its state is freed", callback,
                 "        self.reset();\n        call(std::move(handler), std::move(result));\n",
                 "        call(std::move(handler), std::move(result));\n        self.reset();\n")
    yield Mutant("asio: a signal of type none cancels", executor,
                 "                if (type != net::cancellation_type_t::none) {\n", "                if (static_cast<void>(type), true) {\n")
    yield Mutant("asio: a signal does not cancel", executor, "                    derived().core().request_cancel();\n", "")
    yield Mutant("asio: the stop is not detached when the exchange completes", executor,
                 "        derived().core().finish();\n", "")
    yield Mutant("asio: an awaitable's frame goes without its offer", awaited, "        core_.abandon();\n", "")
    yield Mutant("timers: a timer fires early", "detail/run/shared_timers.hpp", "heap_.pop_due(clock::now());",
                 "heap_.pop_due(clock::now() + std::chrono::milliseconds(2));")
    yield Mutant("asio: the alarm is not set for an earlier timer", timers,
                 "        if (node->deadline < alarm_at_) {", "        if (alarm_at_ == never) {")
    yield Mutant("asio: the alarm is not set again", timers, "        if (!heap_.empty() && heap_.earliest() < alarm_at_) {\n            set_alarm();\n        }\n", "")
    yield Mutant("asio: an idle alarm keeps its context at work", timers, "            alarm_->cancel();\n", "")
    yield Mutant("asio: without descriptors deadlines are lost", timers,
                 "                timer_thread::instance().arm(node);\n            }\n", "                static_cast<void>(node);\n            }\n")
    yield Mutant("asio: a signal does not stop a task", driver, "                    stop.request_stop();\n", "")
    yield Mutant("asio: a signal of type none stops a task", driver,
                 "                if (type != net::cancellation_type_t::none) {\n", "                if (static_cast<void>(type), true) {\n")
    yield Mutant("asio: the slot is not cleared before a task's handler", driver,
                 "        slot().clear();\n        std::unique", "        std::unique")
    yield Mutant("asio: a partner in a strand runs next", registry, "here.continues && executor.is_direct &&", "here.continues &&")
    yield Mutant("asio: a partner runs next within a strand", registry, ".ready = direct ? this : nullptr", ".ready = this")
    yield Mutant("asio: an executor's own step runs next", registry, "here.steps != &executor", "true")
    yield Mutant("asio: other threads cannot run what runs next", registry, "if (!one_thread && first_ != nullptr) {", "if (false) {")
    yield Mutant("asio: partners run next without an end", registry, "first_ != nullptr && left != 0; --left", "first_ != nullptr; --left")
    yield Mutant("asio: what was to run next is lost after an exception", registry, "            queue_ready(); // a handler has thrown\n", "")


def uring() -> Iterator[Mutant]:
    operation, completion, queue, wakeup = (f"{URING}{file}.cpp" for file in ("operation", "completion", "submissions", "wakeup"))
    yield Mutant("uring: a wake is omitted", wakeup, "    TRYST_TRACE(wake_due);\n    return here;\n", "    TRYST_TRACE(wake_due);\n    return std::nullopt;\n")
    yield Mutant("uring: a message that the kernel refused is not replaced", wakeup, "    write_eventfd(eventfd);\n", "    static_cast<void>(eventfd);\n")
    yield Mutant("uring: an owed wake is forgotten", wakeup, "? state::awake : state::owed;", "? state::awake : state::awake;")
    yield Mutant("uring: a sleeper that owes a wake does not look for mail", wakeup, "        if (inbox_.has_mail()) {\n            return false;\n        }\n", "")
    yield Mutant("uring: the eventfd is not watched again", wakeup, "    is_watching_ = false;\n", "")
    yield Mutant("uring: the deadline is not removed", operation, "        timers_.remove(&operation);\n", "")
    yield Mutant("uring: the stop callback is not detached", operation,
                 "    operation.stop_callback_.reset(); // waits until a callback that runs now has posted the node\n", "")
    yield Mutant("uring: a posted stop stays in the queue of a destroyed frame", operation, "        loop_.executor().retract(&operation);\n", "")
    yield Mutant("uring: a destroyed frame does not wait for the kernel", operation, "        while (operation.is_in_kernel()) { // I36", "        while (false) { // I36")
    yield Mutant("uring: a deadline wins over a completion that has arrived", operation,
                 "        if (operation.is_over()) {\n            return;\n        }\n    }\n    owner", "    }\n    owner")
    yield Mutant("uring: a stop wins over a result", completion, "    if (result == -ECANCELED || result == -EINTR) {",
                 "    if (operation.reason_ != end_reason::none || result == -ECANCELED || result == -EINTR) {")
    yield Mutant("uring: an interrupted operation is not made again", completion, "    if (is_unfinished && !operation", "    if (false && !operation")
    yield Mutant("uring: what was cancelled because run returns fails", completion, "result == -ECANCELED && operation.reason_ == end_reason::leaving", "false")
    yield Mutant("uring: an operation ends before the answer to its cancellation", completion,
                 "    if (is_last && operation.state_ == state::cancelling) { // I37", "    if (false && is_last) { // I37")
    yield Mutant("uring: a posted stop and a completion resume twice", completion,
                 "    if (operation.coroutine_ && !operation.is_posted()) {", "    if (operation.coroutine_) {")
    yield Mutant("uring: a close is cancelled", operation, "    } else if (operation.request_.code != opcode::close) {", "    } else {")
    yield Mutant("uring: what does not fit into the queue is lost", queue,
                 "    if (!queued_.alone() || !try_submit(operation)) {\n        queue(operation);\n    }\n", "    static_cast<void>(try_submit(operation));\n")
    yield Mutant("uring: an operation overtakes those that wait", queue, "    if (!queued_.alone() || !try_submit(operation)) {", "    if (!try_submit(operation)) {")
    yield Mutant("uring: a cancellation is not tried again", queue, "    if (operation.cancel_tries_ < cancel_tries || ring_.has_task_work()) {", "    if (false) {")
    yield Mutant("uring: a buffer in use is given back", queue, "            if (fixed && what.buffer == entry) {", "            if (fixed && false) {")


def adapters() -> list[Mutant]:
    return [*asio(), *uring()]
