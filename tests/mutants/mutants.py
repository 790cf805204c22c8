# SPDX-License-Identifier: MIT
"""The mistakes that the checks must find: each is one change of the library's headers."""

import re
import sys
from pathlib import Path
from typing import Iterator, NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "lint"))
from atomics import Operation, core_headers, operations  # noqa: E402


class Mutant(NamedTuple):
    name: str
    file: str  # below include/tryst
    before: str
    after: str
    line: int = 0  # where `before` is; 0: it is there exactly once
    known: str = ""  # why nothing can find it; it must survive
    also: tuple[str, str] | None = None  # a second change, of what is there exactly once

    def applied(self, text: str) -> str:
        if self.line == 0:
            for before, after in ((self.before, self.after), *([self.also] if self.also else [])):
                if text.count(before) != 1:
                    raise ValueError(f"{self.name}: {self.file} has changed; so must the mutant")
                text = text.replace(before, after)
            return text
        lines = text.splitlines(keepends=True)
        lines[self.line - 1] = lines[self.line - 1].replace(self.before, self.after, 1)
        return "".join(lines)


# What the model replaces by a platform of its own, which has its own mutant.
PLATFORM = "detail/platform/atomic.hpp"

# Where the compare-exchanges are that the model checker looks at.
FILES = ("detail/meet/slot.hpp", "detail/meet/arena.hpp", "detail/meet/signal.hpp", "detail/run/inbox.hpp",
         "detail/run/parker.hpp", "detail/run/event_loop.hpp", "loop_executor.hpp",
         "detail/run/continuation.hpp", "detail/run/join.hpp", "inplace_stop_token.hpp",
         "detail/meet/commitment.hpp", "detail/meet/standing_word.hpp", "detail/meet/case_registry.hpp",
         "detail/platform/thread_number.hpp")

# Where parties of two colours wait.
WAIT_LISTS = ("detail/meet/dual_queue.hpp", "detail/meet/segment_list.hpp", "detail/meet/dual_stack.hpp",
         "detail/meet/node_pool.hpp")


# ---- Memory orders: the model checker itself makes them weaker, one operation at a time.

ONE_STEP = {"seq_cst": ("acq_rel",), "acq_rel": ("release", "acquire"), "acquire": ("relaxed",),
            "release": ("relaxed",)}

# Which scenes concern a header, by the beginnings of their names; other headers: all scenes but these.
SCENES_OF = {"detail/meet/dual_queue.hpp": ("fifo",), "detail/meet/segment_list.hpp": ("fifo",),
             "detail/meet/dual_stack.hpp": ("lifo",), "detail/meet/node_pool.hpp": ("fifo", "lifo"),
             "detail/meet/commitment.hpp": ("select",), "detail/meet/selection.hpp": ("select",),
             "detail/meet/decided_wait.hpp": ("select", "set_"), "detail/meet/standing_word.hpp": ("set_",),
             "detail/meet/standing_case.hpp": ("set_",), "detail/meet/standing_cases.hpp": ("set_",), "detail/meet/case_set_round.hpp": ("set_",), "detail/meet/case_registry.hpp": ("set_",),
             "detail/meet/selection_case.hpp": ("select",), "detail/meet/event_case.hpp": ("select",), "loop_executor.hpp": ("executor_",),
             "detail/meet/future_state.hpp": ("future_",), "detail/meet/item_buffer.hpp": ("buffer_",),
             "detail/meet/buffering.hpp": ("buffer_", "future_"), "detail/meet/section_lock.hpp": ("buffer_", "future_")}
OF_WAIT_LISTS = ("fifo", "lifo", "select_fifo", "select_lifo")


def concerns(file: str, scene: str) -> bool:
    if file in SCENES_OF:
        return scene.startswith(SCENES_OF[file])
    return not scene.startswith(OF_WAIT_LISTS)


class Weakening(NamedTuple):
    operation: Operation
    on_failure: bool
    weaker: str

    @property
    def name(self) -> str:
        op = self.operation
        return (f"{op.label or op.where}{' failure' if self.on_failure else ''}: "
                f"{op.orders[self.on_failure]} -> {self.weaker}")

    @property
    def file(self) -> str:
        return self.operation.file

    @property
    def known(self) -> str:
        """Why nothing can find it; it must survive."""
        return UNREACHED.get(self.name, "")

    @property
    def option(self) -> str:
        """As the model checker's --weaken takes it."""
        op = self.operation
        return f"{op.file}:{op.first}-{op.last}:{'failure' if self.on_failure else 'success'}:{self.weaker}"


LOAD_BUFFERING = "keeps a load before a later store of another thread (load buffering, which the model leaves out)"
COMPILER = "g++ 12 refuses an order on success that is weaker than on failure"
LINKS_TWICE = "the closer reads every link twice, and the cells of a released segment do no harm"
SAME_LINK = "[G7] reads the same link again and acquires the same, because all changes of it since are read-modify-writes"

TOO_FAR = ("a party that did not see a sweep would visit a reused segment; to show that takes two preemptions, three stale "
           "reads and a third arrival in that segment")

# What no check can find, and why. Each must be a weakening that there is, and must survive.
UNREACHED = {
    "P1: release -> relaxed": "the model has a platform of its own, and a mutant of that",
    "Q2: acq_rel -> release": COMPILER,
    "Q4: acq_rel -> release": COMPILER,
    "Q12: acq_rel -> release": COMPILER,
    "V9: acq_rel -> release": COMPILER,
    "Q2: acq_rel -> acquire": LOAD_BUFFERING,
    "Q4: acq_rel -> acquire": LOAD_BUFFERING,
    "Q5: release -> relaxed": LOAD_BUFFERING,
    "Q12: acq_rel -> acquire": LOAD_BUFFERING,
    "Q8: acquire -> relaxed": TOO_FAR,
    "Q14: acq_rel -> release": LINKS_TWICE,
    "Q15: acq_rel -> release": LINKS_TWICE,
    "G12: release -> relaxed": LOAD_BUFFERING,
    "G3: acq_rel -> release": SAME_LINK,
    "G4: acq_rel -> release": SAME_LINK,
    "D3 failure: acquire -> relaxed": LOAD_BUFFERING,
    "D4: acq_rel -> acquire": LOAD_BUFFERING,
    "D5 failure: acquire -> relaxed": LOAD_BUFFERING,
    "D11: acq_rel -> acquire": LOAD_BUFFERING,
    "D10: acquire -> relaxed": LOAD_BUFFERING,
}


# A look beyond the pinned bounds for what only that finds. As the source is, it takes a minute, and the scene holds.
FURTHER = {"G2: release -> relaxed": ["--preemptions", "0", "--stale-reads", "3", "fifo_walked"]}


def weakenings(include: Path) -> list[Weakening]:
    """Every memory order of the core that is not relaxed, one step weaker."""
    made = [Weakening(op, bool(number), weaker)
            for header in core_headers(include) for op in operations(header, include)
            for number, order in enumerate(op.orders) for weaker in ONE_STEP.get(order, ())]
    names = {w.name for w in made}
    if len(names) != len(made):
        raise ValueError("two operations have one label: see tests/lint/memory_orders.py")
    if stale := (UNREACHED.keys() | FURTHER.keys()) - names:
        raise ValueError(f"UNREACHED or FURTHER: no such weakening: {', '.join(sorted(stale))}")
    return made


def label_before(lines: list[str], number: int) -> str:
    """The label of the atomic operation at a line: the next one above it."""
    for line in reversed(lines[:number]):
        if found := re.search(r"// \[([A-Z]\d+)\](?: |$)", line):
            return found[1]
    return "?"


# What a compare-exchange decides, if to lose that decision does no harm.
HINTS = {"A": "a lost decision about the bound costs a collision, or an empty slot",
         "G6": "a front that moves back costs a longer walk",
         "G8": "an append that is not counted makes the next sweep later"}


def split(include: Path, files: tuple[str, ...]) -> Iterator[Mutant]:
    """Each compare-exchange, as a load and a store."""
    for file in files:
        lines = (include / file).read_text().splitlines()
        labels: list[str] = []
        for number, line in enumerate(lines, 1):
            if found := re.search(r"compare_exchange_(strong|weak)", line):
                labels.append(label := label_before(lines, number))
                nth = f" ({labels.count(label)})" if labels.count(label) > 1 else ""
                yield Mutant(f"{label}: split into load and store{nth}", file, found[0], "split_compare_exchange", number,
                             known=HINTS.get(label, HINTS.get(label[0], "")))


def logic() -> Iterator[Mutant]:
    """Steps left out, made twice, or made in another order."""
    steps, offers, swap = "detail/meet/steps.hpp", "detail/meet/offers.hpp", "detail/meet/swap.hpp"
    slot = "detail/meet/slot.hpp"
    arena = "detail/meet/arena.hpp"
    inbox = "detail/run/inbox.hpp"
    mailbox = "detail/run/mailbox.hpp"
    signal = "detail/meet/signal.hpp"
    operation, pending = "detail/meet/operation.hpp", "detail/meet/pending.hpp"
    wait_limits = "detail/meet/wait_limits.hpp"
    blocking = "detail/meet/blocking_wait.hpp"
    loop = "detail/run/event_loop.hpp"

    swap_post = "        if (suspended) {\n            post(q);\n        }\n"
    yield Mutant("the partner's post: dropped", steps, swap_post, "")
    yield Mutant("the partner's post: doubled", steps, swap_post, swap_post.replace(
        "post(q);", "post(q);\n            post(q);"))
    yield Mutant("the partner is posted before `moving` ends", steps,
                 "        end_move(moving);\n" + swap_post, swap_post + "        end_move(moving);\n")
    yield Mutant("the swap of the items: dropped", steps,
                 "        swap_items(w, q);\n        const bool suspended = complete_in_list(q", "        const bool suspended = complete_in_list(q")
    yield Mutant("the swap of the items in the arena: dropped", steps,
                 "        swap_items(w, q);\n        const bool suspended = complete_in_arena(q", "        const bool suspended = complete_in_arena(q")
    yield Mutant("the partner's outcome: dropped", steps,
                 "        q.result = how;\n        return q.kind", "        return q.kind")
    yield Mutant("the partner's outcome in the arena: dropped", steps,
                 "        q.result = how;\n        return complete_by", "        return complete_by")
    yield Mutant("the outcome is written after `done`", steps,
                 "        return q.kind == waiter::kind_type::unstoppable || complete_limited(q);\n",
                 "        const bool parked = q.kind == waiter::kind_type::unstoppable || complete_limited(q);\n"
                 "        q.result = how;\n        return parked;\n")
    yield Mutant("the outcome in the arena is written after `done`", steps,
                 "        q.result = how;\n        return complete_by_signal(q);\n",
                 "        const bool parked = complete_by_signal(q);\n        q.result = how;\n        return parked;\n")
    yield Mutant("a completion posts whether or not its waiter is parked", steps,
                 "        const bool suspended = q.state.complete(arena_).is_parked();\n",
                 "        q.state.complete(arena_);\n        const bool suspended = true;\n")
    yield Mutant("a failed claim is taken for a success", "detail/meet/single_slot.hpp",
                 "        if (!claim(seen)) {\n", "        if (!claim(seen) && false) {\n")
    yield Mutant("completed in place although a stop may come", steps,
                 "q.executor.alone_here() && !is_limited(q.at)", "q.executor.alone_here()")
    yield Mutant("completed in place from anywhere", steps,
                 "q.executor.alone_here() && !is_limited(q.at)", "!is_limited(q.at)")
    yield Mutant("nobody may skip the signal, but the completer does", steps,
                 "        return q.kind == waiter::kind_type::unstoppable || complete_limited(q);\n", "        return true;\n")
    yield Mutant("the look at the signal, first of a check: dropped", offers,
                 "        if (w.state.is_done()) {\n            return arrival::completed;\n        }\n"
                 "        if (Arena::index_of", "        if (Arena::index_of",
                 known="the announcement that follows looks again; the look only saves it")
    announcement = ("        const signal::view seen = w.state.begin_withdraw();\n        if (seen.is_done()) {\n"
                    "            return arrival::completed;\n        }\n"
                    "        if (seen.has_failed_to_withdraw()) {\n            give_way();\n            return arrival::claimed;\n        }\n")
    look_up = "        slot& here = slot_of(w); // after the announcement, which keeps the exchanger alive (I5)\n"
    yield Mutant("a check does not look for `done` in its announcement", offers, announcement + look_up,
                 announcement.replace("seen.is_done()", "false") + look_up)
    yield Mutant("a check looks up its slot before it announces itself", offers, announcement + look_up,
                 "        slot& here = slot_of(w);\n        static_cast<void>(here.peek());\n" + announcement)
    yield Mutant("the withdrawal of a check is not announced", offers, announcement + look_up,
                 "        if (w.state.is_done()) {\n            return arrival::completed;\n        }\n" + look_up)
    yield Mutant("an expired offer does not reset its signal", offers,
                 "        w.state.reset(); // no stop and no deadline is in force before it waits in the wait list\n", "")
    yield Mutant("an expired offer waits in slot 1", swap,
                 "meet<Party>(w, false, &moving)", "meet<Party>(w, true, &moving)",
                 known="it only offers again above slot 0, which its own expiry has shrunk")
    yield Mutant("`moving` is left at once", offers,
                 "        TRYST_TRACE(expiry, this, std::addressof(w));\n",
                 "        TRYST_TRACE(expiry, this, std::addressof(w));\n        here.end_move();\n")
    yield Mutant("`moving` does not end", swap,
                 "                    base::end_move(moving);\n", "")
    yield Mutant("parked before the stop is looked for", signal,
                 "        bits seen = 0;\n        // [W2]",
                 "        bits seen = word_.fetch_or(parked, std::memory_order_acq_rel);\n"
                 "        if (seen == 0) {\n            return view(0);\n        }\n        // [W2]")
    yield Mutant("the stop that came before parking: forgotten", steps,
                 "            seen = w.state.begin_withdraw();\n        }\n        if (seen.is_done()) {\n            return false;",
                 "            return true;\n        }\n        if (seen.is_done()) {\n            return false;")
    yield Mutant("a failed withdrawal of the owner is taken for a success", steps,
                 "        if (withdraw_from_list(w, why)) {\n            TRYST_TRACE(own_stop, this, std::addressof(w));",
                 "        if (withdraw_from_list(w, why), true) {\n            TRYST_TRACE(own_stop, this, std::addressof(w));")
    yield Mutant("a failed withdrawal of a canceller is taken for a success", steps,
                 "        if (withdraw_from_list(w, reason(by_deadline))) {\n            TRYST_TRACE(stop, this, std::addressof(w));",
                 "        if (withdraw_from_list(w, reason(by_deadline)), true) {\n            TRYST_TRACE(stop, this, std::addressof(w));")
    yield Mutant("a canceller does not look for `parked`", steps, " || !seen.is_parked()) {", ") {")
    yield Mutant("a canceller does not look for another", steps,
                 "seen.is_done() || seen.is_stopped() || !", "seen.is_done() || !")
    stopped = "            w.result = reason(by_deadline);\n            detail::post(w);\n"
    yield Mutant("the post of a stopped waiter: dropped", steps, stopped, "            w.result = reason(by_deadline);\n")
    yield Mutant("the post of a stopped waiter: doubled", steps, stopped, stopped + "            detail::post(w);\n")
    yield Mutant("a late canceller does not say that it has left", steps,
                 "            TRYST_TRACE(late_stop, this, std::addressof(w));\n            fail_withdraw(w);\n",
                 "            TRYST_TRACE(late_stop, this, std::addressof(w));\n")
    yield Mutant("close: the waiter of slot 0 is forgotten", steps,
                 "last != nullptr && complete_closed(*last)", "last == reinterpret_cast<waiter*>(1)")
    yield Mutant("close: its post is doubled", steps,
                 "            if (complete_closed(q)) {\n                post(q);\n",
                 "            if (complete_closed(q)) {\n                post(q);\n                post(q);\n")
    yield Mutant("close: it is not counted", steps,
                 "        arena_.pin();\n        const auto take = [this]", "        const auto take = [this]",
                 also=("        arena_.unpin();\n        if (is_inline) {", "        if (is_inline) {"))
    yield Mutant("close: it lets go of the exchanger before the last waiter is complete", steps,
                 "        const bool suspended = last != nullptr",
                 "        arena_.unpin();\n        const bool suspended = last != nullptr",
                 also=("        arena_.unpin();\n        if (is_inline) {", "        if (is_inline) {"))
    yield Mutant("close: the slots above 0 are forgotten", offers,
                 "                    base::complete_in_arena(*q, outcome::closed);\n", "")
    yield Mutant("the exchanger is destroyed without waiting", swap, "        arena_.drain();\n", "")
    yield Mutant("the exchanger is destroyed without closing", swap,
                 "        base::close();\n        base::cases().end();\n", "        base::cases().end();\n")
    yield Mutant("`drain` does not wait for pins", arena,
                 "        detail::yield_until([&] { return pins_.load(std::memory_order_acquire) == 0; });\n", "")
    yield Mutant("`drain` does not wait for `moving`", arena,
                 "                detail::yield_until([&] { return !each.is_moving(); });\n",
                 "                static_cast<void>(each);\n")
    yield Mutant("the exchanger is pinned after `done`", signal,
                 "                pinned ? pins.unpin() : pins.pin();\n"
                 "                pinned = !pinned;\n            }\n",
                 "                pinned = !pinned;\n            }\n",
                 also=("            TRYST_TRACE(pinned, std::addressof(pins));\n",
                       "            TRYST_TRACE(pinned, std::addressof(pins));\n            pins.pin();\n"))
    yield Mutant("the exchanger is not pinned", signal,
                 "            if (pinned != view(seen).is_withdrawing()) {", "            if (false) {")
    yield Mutant("a late withdrawal does not unpin the exchanger", steps,
                 "        arena_.unpin();\n        return arrival::completed;\n",
                 "        return arrival::completed;\n")
    yield Mutant("`try_match_all` looks at slot 0 only", offers,
                 "            if (match_in_group(w, i).kind == group_visit::matched) {\n",
                 "            if (false) {\n")
    turn = "        this->run = after_turn<Done>;\n        this->executor.post(this);\n"
    yield Mutant("the check is not posted", operation, turn, "        this->run = after_turn<Done>;\n")
    yield Mutant("the check is posted twice", operation, turn, turn + "        this->executor.post(this);\n")
    yield Mutant("a completed check does not resume", operation, "            Done(node);\n", "            (void)node;\n")
    yield Mutant("limits come into force after parking", operation,
                 "            base::start_limits();\n            return protocol_->park(mine());\n",
                 "            if (protocol_->park(mine())) {\n                base::start_limits();\n"
                 "                return true;\n            }\n            return false;\n")
    yield Mutant("the stop callback outlives its operation", wait_limits,
                 "                std::destroy_at(&stop_.callback);\n", "")
    yield Mutant("the timer outlives its operation", wait_limits,
                 "                timers().disarm(this);\n", "")
    yield Mutant("a waiter that can be limited says that it cannot", operation,
                 "        this->kind = no_limits ? waiter::kind_type::unstoppable : waiter::kind_type::stoppable;",
                 "        this->kind = waiter::kind_type::unstoppable;")
    yield Mutant("a waiter that its client may cancel says that it cannot be", operation,
                 "!base::can_be_limited() && !cancellable;", "!base::can_be_limited();")
    yield Mutant("a client's cancellation before the limits: forgotten", wait_limits,
                 "        if (cancelled) {\n            derived().cancel(false);\n        }\n", "        static_cast<void>(cancelled);\n")
    yield Mutant("a client's cancellation touches an offer in the arena", pending,
                 "        } else if (at == stage::offered) {\n"
                 "            at = stage::offered_cancelled;", "        } else {\n            base::derived().cancel(false);")
    rundown = "detail/run/rundown.hpp"
    yield Mutant("rundown: a thread looks before it enters", rundown,
                 "        return (word_.fetch_add(one_thread, std::memory_order_relaxed) & ended) == 0;\n",
                 "        const bool open = !has_ended();\n"
                 "        word_.fetch_add(one_thread, std::memory_order_relaxed);\n        return open;\n")
    yield Mutant("rundown: the end does not wait", rundown,
                 "        word_.fetch_or(ended, std::memory_order_relaxed);\n        drain();\n",
                 "        word_.fetch_or(ended, std::memory_order_relaxed);\n")
    yield Mutant("rundown: `drain` does not wait", rundown,
                 "            return (word_.load(std::memory_order_acquire) & ~ended) == 0;\n",
                 "            return word_.load(std::memory_order_acquire) != 0;\n")
    yield Mutant("a destroyed frame leaves its offer", operation,
                 "        if (!protocol_->abandon(mine(), limited, queued)) {\n",
                 "        static_cast<void>(limited);\n        static_cast<void>(queued);\n        if (false) {\n")
    yield Mutant("a destroyed frame leaves its resumption in the queue", operation,
                 "const bool queued = on && on.retract(this);", "const bool queued = false;")
    yield Mutant("spent budget: a destroyed frame leaves its resumption in the queue", pending,
                 "            base::derived().wait_executor().retract(&base::derived().wait_node());\n", "")
    yield Mutant("spent budget: the limits stay in force", pending,
                 "                base::derived().finish();\n                base::derived().wait_stage() = stage::resuming;\n",
                 "                base::derived().wait_stage() = stage::resuming;\n")
    yield Mutant("spent budget: a late wait does not see the close", pending,
                 "        if (!base::is_overdue(on) || base::derived().sees_close()) {", "        if (!base::is_overdue(on)) {")
    timed_out = ("                strategy.step([&] { op.cancel(true); });\n"
                 "                strategy.sleep();\n            }\n")
    yield Mutant("a thread that timed out does not withdraw", blocking, timed_out, "            }\n")
    yield Mutant("a thread that timed out does not wait for its token", blocking, timed_out,
                 "                strategy.step([&] { op.cancel(true); });\n            }\n")
    yield Mutant("mailbox: the wake-up is dropped", mailbox, "            parker_.unpark();\n", "")
    yield Mutant("mailbox: everybody wakes the loop", mailbox, "        if (inbox::post(node)) {\n",
                 "        {\n            static_cast<void>(inbox::post(node));\n")
    yield Mutant("mailbox: sleeps without looking for mail", mailbox,
                 "        if (prepare_wait()) {\n            parker_.park();",
                 "        static_cast<void>(prepare_wait());\n        {\n            parker_.park();")
    yield Mutant("mailbox: a late poster's token is not collected", mailbox,
                 "&& !cancel_wait()) {\n            parker_.park();\n", "&& !cancel_wait()) {\n")
    yield Mutant("mailbox: the end of a timed sleep is not said", inbox,
                 "        word seen = sleeping;\n        // [M4] relaxed: publishes and acquires nothing. Failure relaxed: likewise.\n"
                 "        return word_.compare_exchange_strong(seen, empty, std::memory_order_relaxed,\n"
                 "                                             std::memory_order_relaxed);",
                 "        return word_.load(std::memory_order_relaxed) == sleeping;")
    yield Mutant("mailbox: a node is linked after its post", inbox,
                 "            node->next = nodes(seen);\n", "            node->next = nullptr;\n")
    yield Mutant("parker: the token is not taken", "detail/run/parker.hpp",
                 "        word_.value.store(no_token, std::memory_order_relaxed);\n", "")
    yield Mutant("parker: a sleeper does not look again", "detail/run/parker.hpp",
                 "        while (!take_token()) {\n            word_.sleep(no_token);",
                 "        if (!take_token()) {\n            word_.sleep(no_token);")
    yield Mutant("event_loop: a second stop is not heard", loop,
                 "            loop.stop_posted_.exchange(false, std::memory_order_acq_rel);\n", "")
    yield Mutant("event_loop: every stop posts", loop,
                 "        if (!stop_posted_.exchange(true, std::memory_order_acq_rel)) {",
                 "        if (stop_posted_.exchange(true, std::memory_order_acq_rel) || true) {")
    yield Mutant("when_all: the awaiter is not counted", "detail/run/join.hpp", "left(children + 1)", "left(children)")


def queue() -> Iterator[Mutant]:
    queue = "detail/meet/dual_queue.hpp"
    segments = "detail/meet/segment_list.hpp"

    def mutant(name: str, before: str, after: str, known: str = "", file: str = queue,
               also: tuple[str, str] | None = None) -> Mutant:
        return Mutant(f"queue: {name}", file, before, after, known=known, also=also)

    wanted = "            const ticket wanted = list::first_of(t);\n"
    yield mutant("a step along the list is not checked", "            if (link_of(at.n) != link) {\n                continue;\n            }\n",
                 "", file=segments)
    yield mutant("a segment that is taken out is not marked", "} else if (mark(at.n, seen.beyond)) {", "} else {", file=segments)
    yield mutant("a marked link is followed", "if (is_marked(link) || first_at(at.n) != at.first) {", "if (first_at(at.n) != at.first) {",
                 file=segments)
    yield mutant("whose link it is, is not looked at", "if (is_marked(link) || first_at(at.n) != at.first) {", "if (is_marked(link)) {",
                 file=segments)
    yield mutant("nobody helps to unlink a segment", "            if (!is_marked(seen.beyond)) {\n                return seen;\n            }\n",
                 "            return seen;\n", file=segments)
    yield mutant("a segment is released while it is linked",
                 "                    walk(head, at.first + 1); // comes past it, unless another party has unlinked it\n", "", file=segments)
    yield mutant("a segment is unlinked by a store", "        return link_at(n).compare_exchange_strong(\n"
                 "            link, changed(link, behind), std::memory_order_release, std::memory_order_relaxed);\n",
                 "        link_at(n).store(changed(link, behind), std::memory_order_release);\n        return true;\n", file=segments)
    yield mutant("links do not count their changes", "return (link / one_change + 1) * one_change + to;",
                 "return link / one_change * one_change + to;", file=segments)
    yield mutant("a segment is used again with its old ticket", "            first.store(from, std::memory_order_release);\n", "",
                 file=segments)
    yield mutant("the front moves before the ticket", wanted,
                 wanted + "            segments_.advance(front(own), segments_.find(wanted, front(own)), 1);\n")
    yield mutant("a try overlooks the last", "if (lead <= 0 &&", "if (lead <= 1 &&")
    visits = "            if (const match_result found = visit(t, n, nullptr, nothing_before_offer());\n"
    yield mutant("a try passes no cell", visits,
                 "            if (segments_.cell(n, t).load(std::memory_order_acquire) == empty) {\n"
                 "                return {match_result::empty};\n            }\n" + visits)
    yield mutant("a segment is released although a cell is not finished", "passed ? all_cells_are(finished_cell, at.n)",
                 "passed ? true", file=segments)
    yield mutant("nobody recycles", "                if (is_free) {\n", "                if (is_free && !passed) {\n", file=segments)
    yield mutant("a sealed segment is known by its number alone", "is_sealed(link_of(at.n)) && first_at(at.n) == at.first",
                 "is_sealed(link_of(at.n))", file=segments)
    yield mutant("nobody sweeps", "const bool sweeps = is_time_to_sweep();",
                 "const bool sweeps = false;", file=segments)
    yield mutant("what is swept is not released", "                if (is_free) {\n", "                if (is_free && passed) {\n",
                 file=segments)
    yield mutant("a sweep does not look at the cells",
                 "is_far && all_cells_are(cancelled_cell, at.n)",
                 "is_far", file=segments)
    yield mutant("a sweep does not look at the cursor again", "passed || is_still_before(trailing, at.first)",
                 "passed || is_still_before(trailing, at.first) || true", file=segments)
    yield mutant("a sweep reads the cursor before it marks the segment", "} else if (mark(at.n, seen.beyond)) {\n                const bool is_free",
                 "} else if (const bool is_far = is_still_before(trailing, at.first); mark(at.n, seen.beyond)) {\n                const bool is_free",
                 file=segments, also=("passed || is_still_before(trailing, at.first)", "passed || is_far"))
    yield mutant("a sweep does not see that the cursor moves", "                limit = trailing.load(std::memory_order_relaxed) >> 1U;\n", "",
                 file=segments)
    yield mutant("a sweep comes near the cursor", "const bool is_far = before.n != none && !is_before(before.first, limit);", "const bool is_far = is_before(limit, at.first);",
                 known="only more segments stay until the destructor", file=segments)
    yield mutant("a sweep may be the last", "left = seen == 1 ? (std::max)(min_growth, segments_.size() / 2) : seen - 1;", "left = seen - 1;", file=segments)
    yield mutant("a segment that was allocated late gets an old ticket",
                 "        if (link_of(last.n) != link) { // I9: `n` may have been that segment\n            segments_.release(n);\n"
                 "            return append_result::exists;\n        }\n", "", file=segments)
    yield mutant("nobody waits", "visit(t, n, has_memory ? &w : nullptr, before_offer)",
                 "visit(t, n, nullptr, before_offer)")
    yield mutant("what is cancelled is taken for a waiter", "        if (seen > finished &&\n", "        if (seen != empty &&\n")
    yield mutant("a waiter forgets its place", "                w->place = list::cell_number(n, t);\n", "")
    yield mutant("nobody leaves a cell", "        cell.store(finished, std::memory_order_release);\n", "")
    yield mutant("an appended segment ends the search", "            at = segments_.find(wanted, front(own));\n        }\n        const",
                 "            break;\n        }\n        const")
    yield mutant("no ticket is made void", "                if (segments_.make_void(t + 1, at)) {\n                    return list::none;\n                }\n",
                 "                return list::none;\n")
    yield mutant("a void ticket is only a number", "               segments_[last.n].next.compare_exchange_strong(link, link, std::memory_order_acq_rel,\n"
                 "                                                              std::memory_order_relaxed);\n",
                 "               link_of(last.n) == link;\n", file=segments)
    yield mutant("a party waits in a void cell", "if (w != nullptr && !segments_.is_void(t)) {", "if (w != nullptr) {")
    yield mutant("an append keeps void ids", "is_before(next, after_void) ? after_void : next", "after_void == 0 ? after_void : next",
                 file=segments)
    yield mutant("an append keeps the segment in which tickets become void", "load(std::memory_order_relaxed) + cell_count - 1);",
                 "load(std::memory_order_relaxed));", file=segments)
    yield mutant("a party without memory tries again", "            if (!has_memory) { // it takes no other ticket, because it would fail again\n"
                 "                return {match_result::out_of_memory};\n            }\n", "")
    yield mutant("no memory for a segment is not noticed", "        if (n == none) {\n            return append_result::out_of_memory;\n        }\n", "", file=segments)
    yield mutant("close: the list stays open", "        segments_.seal();\n", "")
    yield mutant("close: the end of the list is not noticed",
                 "            if (segments_.is_sealed(at)) {\n                return list::none;\n            }\n", "")
    yield mutant("close: empty cells stay empty", "while (seen == empty || seen > finished) {", "while (seen > finished) {")
    yield mutant("close: waiters are forgotten", "                        last = reinterpret_cast<waiter*>(seen);\n",
                 "                        static_cast<void>(last);\n")
    yield mutant("close: all but the last waiter are forgotten", "complete(*std::exchange(last, nullptr));", "last = nullptr;")
    yield mutant("close: blue's cursor stays open", "blue_.word.fetch_or(closed, std::memory_order_acq_rel);",
                 "blue_.word.fetch_or(0, std::memory_order_acq_rel);")
    yield mutant("close: red's cursor stays open",
                 "        close_red();\n        if (is_closed(blues)) {", "        red_end_.store(red_.word.load());\n        if (is_closed(blues)) {")
    yield mutant("close: red's cursor is closed first",
                 "        close_red();\n        if (is_closed(blues)) {", "        if (is_closed(blues)) {",
                 also=("    waiter* close(Take take, Complete complete) noexcept {\n",
                       "    waiter* close(Take take, Complete complete) noexcept {\n        close_red();\n"))
    yield mutant("close: a blue that finds its cursor closed does not close red's",
                 "        if (own == colour::blue) {\n            close_red();\n        }\n", "        static_cast<void>(own);\n")
    yield mutant("close: every closer takes the waiters", "        if (is_closed(blues)) {\n            return nullptr;\n        }\n", "")
    yield mutant("close: pairs are parted", "segments_.for_each_cell(first, end,", "static_cast<void>(first), segments_.for_each_cell(0, end,")
    yield mutant("close: the last waiter is left", "segments_.for_each_cell(first, end,", "segments_.for_each_cell(first, end - 1,")


def stack() -> Iterator[Mutant]:
    file = "detail/meet/dual_stack.hpp"

    def mutant(name: str, before: str, after: str, known: str = "",
               also: tuple[str, str] | None = None) -> Mutant:
        return Mutant(f"stack: {name}", file, before, after, known=known, also=also)

    yield mutant("a place that was left is not used again", "            return false;\n        }\n        nodes_.release(n, its);\n        return true;",
                 "            return false;\n        }\n        return true;")
    yield mutant("a place that was left is used twice",
                 "            return nullptr; // already released", "            nodes_.release(n, popped);\n            return nullptr; // already released")
    yield mutant("whom a partner has met keeps its node", "        nodes_.release(n, popped);\n        return was == disowned",
                 "        return was == disowned")
    yield mutant("an arrival pushes on the other colour",
                 "while ((head & closed) == 0 && (top_of(head) == pool::none || colour_of(head) == own)) {",
                 "while ((head & closed) == 0) {")
    yield mutant("an arrival pushes on a closed stack",
                 "while ((head & closed) == 0 && (top_of(head) == pool::none || colour_of(head) == own)) {",
                 "while (top_of(head) == pool::none || colour_of(head) == own) {")
    yield mutant("a party meets its own colour", "            if (colour_of(head) == own) {\n                return {match_result::own_side};",
                 "            if (false) {\n                return {match_result::own_side};")
    yield mutant("changes of the head are not counted", "(((head >> count_at) + 1) << count_at)",
                 "((head >> count_at) << count_at)")
    yield mutant("close: those who wait are forgotten", "                last = q;\n", "                static_cast<void>(q);\n")
    yield mutant("close: a closer resumes one party while it holds another",
                 "            } while (!here.content.compare_exchange_weak(seen, free, std::memory_order_acq_rel,\n"
                 "                                                         std::memory_order_relaxed));\n",
                 "                seen = here.content.exchange(free, std::memory_order_acq_rel);\n            } while (false);\n", also=("                last = q;\n",
                                "                if (last != nullptr) {\n                    complete(*last);\n                }\n"
                                "                last = q;\n"))
    yield mutant("an arrival without memory waits nowhere", "            if (n == pool::none) {\n                return {match_result::out_of_memory};",
                 "            if (n == pool::none) {\n                return {match_result::offered};")


def elimination() -> Iterator[Mutant]:
    """Two colours in the arena."""

    offers, eliminating = "detail/meet/offers.hpp", "detail/meet/eliminating.hpp"

    def mutant(file: str, name: str, before: str, after: str, known: str = "") -> Mutant:
        return Mutant(f"elimination: {name}", file, before, after, known=known)

    yield mutant(offers, "a party meets its own colour", "            } else if (slot::matches(W::side, offer)) {\n",
                 "            } else {\n")
    yield mutant(offers, "a failed claim is taken for a success",
                 "                if (here.claim(offer)) {\n                    base::swap_in_arena(w, q, moving);\n"
                 "                    return {group_visit::matched};",
                 "                if (here.claim(offer), true) {\n                    base::swap_in_arena(w, q, moving);\n"
                 "                    return {group_visit::matched};")
    yield mutant(eliminating, "a failed offer is taken for a success",
                 "                    if (base::offer(w, base::slot_of(w))) {\n",
                 "                    if (base::offer(w, base::slot_of(w)), true) {\n")
    yield mutant(eliminating, "`moving` does not end",
                 "                base::end_move(moving);\n", "")
    yield mutant(offers, "`moving` does not end where a partner was found on the way",
                 "                    base::swap_in_arena(w, q, moving);\n", "                    base::swap_in_arena(w, q);\n")
    yield mutant(eliminating, "close: the arena stays in use", "        arena_.shut();\n", "")
    yield mutant(offers, "close: all but one slot of a group are forgotten",
                 "i != arena_.capacity() * Arena::group_size; ++i) {", "i != arena_.capacity(); ++i) {")
    yield Mutant("elimination: no arrival looks at the stack first", "detail/meet/arena.hpp",
                 "highest(bound()) != 0 && !comes_up(per_thread<thread_state>())", "highest(bound()) != 0")
    yield mutant(eliminating, "an arrival that skipped the stack pushes without a look",
                 "        bool tried = moving == nullptr && !arena_.has_grown();\n",
                 "        bool tried = true;\n",
                 known="`enqueue_or_match` finds the other colour on the stack, and the arrival starts again")


def pool() -> Iterator[Mutant]:
    file = "detail/meet/node_pool.hpp"
    yield Mutant("pool: a block that came too late is lost", file, "            delete[] made;\n", "")
    yield Mutant("pool: a failed allocation is not noticed", file,
                 "        if (made == nullptr) {\n", "        if (made == nullptr && i > 31) {\n")
    yield Mutant("pool: no node comes back", file, "            if (free_.compare_exchange_weak(head, changed(head, n),",
                 "            if (true || free_.compare_exchange_weak(head, changed(head, n),")
    yield Mutant("pool: blocks are left behind", file, "            delete[] to_memory(block", "            static_cast<void>(block")


def select() -> Iterator[Mutant]:
    """The steps of a selection."""
    steps = "detail/meet/steps.hpp"
    claimed = "detail/meet/claimed_case.hpp"
    commitment = "detail/meet/commitment.hpp"
    selection = "detail/meet/selection.hpp"
    wait = "detail/meet/decided_wait.hpp"
    one_case = "detail/meet/selection_case.hpp"

    def mutant(file: str, name: str, before: str, after: str, also: tuple[str, str] | None = None) -> Mutant:
        return Mutant(f"select: {name}", file, before, after, also=also)

    yield mutant(commitment, "a completer decides over a decision", "            if (is_decided(seen)) {\n                TRYST",
                 "            if (is_decided(seen) && false) {\n                TRYST")
    yield mutant(commitment, "a completer does not wait for the end of a registration", "            if (seen == held) {", "            if (false) {")
    yield mutant(commitment, "a stop before parking is lost", "            if (seen != open && seen != parked) {", "            if (seen != parked) {")
    yield mutant(commitment, "the owner forgets a stop when it parks", "        try_decide_none();\n        return false;\n", "        return false;\n")
    yield mutant(commitment, "the owner parks over a decision", "        if (change_open(parked)) {\n",
                 "        open_or_park(true);\n        if (true) {\n")
    yield mutant(commitment, "a registration that goes on forgets a decision", "        return change_open(held);\n",
                 "        word_.store(held, std::memory_order_relaxed);\n        return true;\n")
    yield mutant(commitment, "a registration goes on after a decision", "        return change_open(held);\n",
                 "        change_open(held);\n        return true;\n")
    yield mutant(commitment, "the owner does not wait for the item",
                 "is_decided(seen) && (waiter_of(seen) == nullptr || (seen & flags) != 0)", "is_decided(seen)")
    yield mutant(commitment, "a canceller posts without a decision", "is_parked ? none(by_deadline) : by_deadline ? expired : stopped",
                 "by_deadline ? expired : stopped")
    yield mutant(commitment, "that the owner was parked is not kept", "to_word(q) | (is_parked ? was_parked : 0)", "to_word(q)")
    hands_back = "            q.state.complete(pins); // its owner may be withdrawing it (I5)\n"
    yield mutant(claimed, "a stale waiter is not handed back", hands_back, "            static_cast<void>(pins);\n")
    yield mutant(claimed, "a hand-back does not pin the exchanger", hands_back,
                 "            static_cast<void>(pins);\n            struct {\n                void pin() {}\n"
                 "                void unpin() {}\n            } nothing;\n            q.state.complete(nothing);\n")
    own = "        set_own_outcome(w, outcome::exchanged);\n"
    ends = ("        const bool suspended = complete_in_list(q, outcome::exchanged);\n",
            "        end_swap(detail::complete_case(q, outcome::exchanged, committed), q, moving);\n")
    post = "        end_swap(suspended, q, moving);\n"
    yield mutant(steps, "the owner decides after it has posted its partner", ends[0] + own + post, ends[0] + post + own)
    yield mutant(steps, "the owner decides after it has posted another selection", own + ends[1], ends[1] + own)
    yield mutant(steps, "the owner does not decide", "            w.decide(); // before its partner is posted (I42.5)\n", "")
    yield mutant(steps, "a waiter of a selection is taken for another", "detail::needs_decision(q)) {\n            return swap_with_case", "false) {\n            return swap_with_case")
    yield mutant(steps, "a party swaps with a stale waiter",
                 "        if (committed == commitment::commit_result::stale) {\n            return false;\n        }\n", "")
    yield mutant(steps, "a stale waiter ends the arrival", "                found.kind = match_result::collided;\n                return false;\n",
                 "                return true;\n")
    yield mutant(commitment, "the item is not delivered", "        deliver(q);\n", "")
    yield mutant(commitment, "an owner that runs is posted", "        if (committed == commit_result::parked) {", "        if (true) {")
    yield mutant(steps, "a closer ignores the decision", "        if (!detail::needs_decision(q)) {", "        if (true) {")
    yield mutant(steps, "the owner does not wait for a claimed waiter", "        detail::spin_until([&] { return try_withdraw(w, take) != arrival::claimed; });\n",
                 "        try_withdraw(w, take);\n")
    yield mutant(steps, "a closer keeps a claimed waiter without a decision",
                 "        const auto take = [this](waiter& q) { return take_closed(q); };\n",
                 "        const auto take = [](waiter& q) { return q.result == outcome::pending; };\n",
                 also=("            if (complete_closed(q)) {\n", "            if (take_closed(q) && complete_closed(q)) {\n"))
    yield mutant(selection, "a case that a partner has left is left again",
                 "                if (&each != won) {\n", "                each.at = stage::offered;\n                if (&each != won) {\n")
    yield mutant(steps, "a closer decides when it completes",
                 "        if (detail::needs_decision(q)) {\n            return true;\n        }\n        observer_",
                 "        if (detail::needs_decision(q)) {\n            const auto committed = commit(q);\n"
                 "            return committed != commitment::commit_result::stale &&\n"
                 "                   detail::complete_closed_case(q, committed);\n        }\n        observer_",
                 also=("            return true;\n        }\n        const auto committed = commit(q);\n",
                       "            return true;\n        }\n        return true;\n        const auto committed = commit(q);\n"))
    yield mutant(commitment, "a partner leaves the lists of an owner that runs",
                 "        if (suspended && its.leave_parked != nullptr) {", "        if (its.leave_parked != nullptr) {")
    yield mutant(selection, "the other cases are not left", "                each.leave();\n", "                static_cast<void>(each);\n")
    yield mutant(selection, "the selected case is left", "            if (&each != won) {", "            if (static_cast<void>(won), true) {")
    yield mutant("detail/meet/poll_order.hpp", "the order of registration is that of the arguments",
                 "        if (!std::is_sorted(numbers.begin(), numbers.end(), comes_before)) {", "        if (false) {")
    yield mutant(selection, "two cases at one exchanger are registered", "            if (each.where() == latest) {", "            if (false) {")
    yield mutant(selection, "a decision during the registration is not awaited", "        base::await_settled();\n        return true;\n", "        return true;\n")
    yield mutant(wait, "a decision before parking is not awaited", "        await_settled();\n        return false;\n", "        return false;\n")
    yield mutant(wait, "no limits begin after the turn", "        self().wait_node().run = Done;\n        return start_limits_and_park();\n",
                 "        self().wait_node().run = Done;\n        return park_now();\n")
    yield mutant(wait, "a stopped selection is not posted", "            detail::post(self().wait_node());\n", "")
    yield mutant(wait, "a destroyed frame does not wait for its item",
                 "        if (!self().word().has_been_parked()) {\n            await_settled();\n        } else if (!queued",
                 "        if (self().word().has_been_parked() && !queued")
    yield mutant(wait, "a destroyed frame leaves its resumption in the queue", "on && on.retract(&self().wait_node())", "false")
    yield mutant(wait, "a destroyed frame does not wait for its resumption", "            detail::yield_until([&] { return on.retract(posted); });\n", "")
    yield mutant(wait, "a destroyed frame does not decide", "        if (self().word().try_decide_none()) {\n            return;\n        }\n", "")
    yield mutant(selection, "a destroyed frame leaves its offers", "        base::decide_none_or_await();\n        leave_all();\n",
                 "        base::decide_none_or_await();\n")
    event = "detail/meet/event_case.hpp"
    yield mutant(event, "an event does not commit", "its.commit(*this);", "commitment::commit_result::parked;")
    yield mutant(event, "an event does not post the owner", "            detail::post(*this);\n", "")
    yield mutant(event, "an event that has come waits", "        if (!derived().has_come()) {", "        if (true) {")
    yield mutant(selection, "a late event outlives its selection", "                each.end();\n", "")
    yield mutant(selection, "no event comes into force", "                each.start();\n", "")
    yield mutant("detail/meet/any_group.hpp", "an ended child of when_any still waits", "        inside().finish();\n        end();\n", "        end();\n")
    yield mutant(one_case, "a case that is not enabled takes part", "given.enabled ? given.made.with : nullptr", "given.made.with")
    yield mutant("detail/meet/poll_order.hpp", "a poll looks at one case", "i != size; ++i", "i != 1; ++i")
    yield mutant(one_case, "a case that lost has no reason", "            this->result = lost;\n", "            static_cast<void>(lost);\n")


def interleavings() -> Iterator[Mutant]:
    """Mistakes that only certain orders of the parties' steps show."""
    steps, offers, operation = "detail/meet/steps.hpp", "detail/meet/offers.hpp", "detail/meet/operation.hpp"
    slot, single_slot, signal = "detail/meet/slot.hpp", "detail/meet/single_slot.hpp", "detail/meet/signal.hpp"
    commitment, parker = "detail/meet/commitment.hpp", "detail/run/parker.hpp"
    queue, segments = "detail/meet/dual_queue.hpp", "detail/meet/segment_list.hpp"
    stack, pool = "detail/meet/dual_stack.hpp", "detail/meet/node_pool.hpp"

    # One slot, and the arena.
    yield Mutant("S6: split into load and store", slot, "offered(word_.exchange(closed, std::memory_order_acq_rel));",
                 "offered([this] {\n            const word was = word_.load(std::memory_order_acquire);\n"
                 "            word_.store(closed, std::memory_order_release);\n            return was;\n        }());")
    yield Mutant("a claim reads the waiter before its compare-exchange", single_slot, "        if (!claim(seen)) {\n",
                 "        static_cast<void>(static_cast<const volatile waiter*>(slot::offered(seen))->place);\n"
                 "        if (!claim(seen)) {\n")
    yield Mutant("a failed claim is tried again without a look", single_slot, "        if (!claim(seen)) {\n",
                 "        while (!claim(seen)) {\n        }\n        if (false) {\n")
    yield Mutant("a completion does not set `done`", signal, "static_cast<bits>(seen | done)", "seen")
    yield Mutant("a completion is made twice", steps,
                 "        const bool suspended = q.state.complete(arena_).is_parked();\n",
                 "        q.state.complete(arena_);\n        const bool suspended = q.state.complete(arena_).is_parked();\n")
    yield Mutant("an expired offer parks in the arena", offers, "        if (Arena::index_of(w.place) == 0) {\n            return arrival",
                 "        if (true) {\n            return arrival")
    yield Mutant("an offer in the arena never expires", operation, " && patience::lasts(this)) {", ") {")
    yield Mutant("an arrival looks at its slot of the arena first", "detail/meet/swap.hpp",
                 "        match_result found = arena_.list().try_match(W::side);\n        return base::apply",
                 "        if (arena_.has_grown()) {\n            return false;\n        }\n"
                 "        match_result found = arena_.list().try_match(W::side);\n        return base::apply")
    yield Mutant("limits come into force with an offer in the arena", operation,
                 "            patience::begin(this);\n", "            base::start_limits();\n            patience::begin(this);\n",
                 also=("            base::start_limits();\n            return protocol_->park(mine());\n",
                       "            if (!is_limited(this->at)) {\n                base::start_limits();\n            }\n"
                       "            return protocol_->park(mine());\n"))
    yield Mutant("an expired offer resets its signal before it leaves its slot", offers,
                 "        if (!here.begin_move(", "        w.state.reset();\n        if (!here.begin_move(")
    yield Mutant("an owner whose withdrawal failed does not say so", signal, "also_parked ? withdraw_failed | parked :",
                 "also_parked ? parked :")

    # Selections, what a coroutine awaits, and sleep.
    yield Mutant("T2: split into load and store", "detail/run/continuation.hpp",
                 "        return word_.exchange(how, std::memory_order_acq_rel);\n",
                 "        const state was = word_.load(std::memory_order_acquire);\n"
                 "        word_.store(how, std::memory_order_release);\n        return was;\n")
    yield Mutant("select: a selection is not held while it registers", commitment, "word_{held};", "word_{open};")
    yield Mutant("select: a partner leaves the other lists after it has posted the owner", commitment,
                 "        if (suspended && its.leave_parked != nullptr) {\n",
                 "        if (suspended) {\n            post(q);\n            its.leave_parked(its);\n            return false;\n"
                 "        }\n        if (false) {\n")
    yield Mutant("parker: an owner falls asleep although the token is there", parker, "word_.sleep(no_token);",
                 "word_.sleep(word_.value.load(std::memory_order_relaxed));")

    portable = "detail/platform/portable_sleep_word.hpp"
    yield Mutant("portable sleep: a sleeper does not look for the token", portable,
                 "changed_.wait(lock, [&] { return value.load(std::memory_order_relaxed) != seen; });",
                 "changed_.wait(lock, [&, looks = true]() mutable { return looks ? looks = false : true; });")
    yield Mutant("portable sleep: a sleeper does not wait until its waker has unlocked", portable,
                 "void let_waker_finish() noexcept { const std::scoped_lock<Mutex> lock(mutex_); }",
                 "void let_waker_finish() noexcept {}")

    # The queue.
    yield Mutant("Q6: split into load and store", queue, "cursor(own).fetch_add(one_ticket, std::memory_order_acquire);\n",
                 "cursor(own).load(std::memory_order_acquire);\n"
                 "            cursor(own).store(mine + one_ticket, std::memory_order_relaxed);\n")
    yield Mutant("queue: a ticket of a closed cursor is used", queue,
                 "            if (is_closed(mine)) {\n                return closed_to(own);\n            }\n            TRYST_TRACE(ticket);\n",
                 "            TRYST_TRACE(ticket);\n")
    yield Mutant("queue: a segment that another party has appended first is not released", segments,
                 "std::memory_order_acq_rel, std::memory_order_relaxed)) {\n            segments_.release(n);\n",
                 "std::memory_order_acq_rel, std::memory_order_relaxed)) {\n")
    wanted = "            const ticket wanted = list::first_of(t);\n"
    yield Mutant("queue: a try does not find its segment again after its ticket", queue, wanted,
                 wanted + "            const place early = segments_.find(wanted, front(own));\n",
                 also=("list::number n = list::at_front(front(own), t);\n            if (n == list::none) {",
                       "list::number n = early.n;\n            if (early.first != wanted) {"))
    in_front = "            typename list::number n = list::at_front(front(own), t);\n            bool has_memory = true;\n"
    finds = ("            if (n == list::none || list::is_first(t)) {\n                n = find(own, t, has_memory);\n            }\n"
             "            if (n != list::none) {\n                if (const match_result found = visit(t, n, has_memory ? &w")
    yield Mutant("queue: a party looks for void tickets before it finds its segment", queue, in_front + finds,
                 "            const bool is_void = segments_.is_void(t);\n" + in_front
                 + finds.replace("has_memory ?", "has_memory && !is_void ?"),
                 also=("if (w != nullptr && !segments_.is_void(t)) {", "if (w != nullptr) {"))
    yield Mutant("queue: a try reads the cursor of its partners again", queue, "if (distance(limit, mine)",
                 "if (distance(hint(opposite(own)), mine)")
    yield Mutant("queue: a party moves its cursor back to the segment that it has found", queue,
                 "while (!is_closed(seen) && seen < target) {", "while (!is_closed(seen)) {")
    yield Mutant("queue: the last segment is taken out", segments, "if (at.n == none || successor(seen.beyond) == none) {",
                 "if (at.n == none) {")
    yield Mutant("queue: a sweep releases a segment although the cursor is closed", segments,
                 "return (now & 1U) == 0 && !is_before", "return !is_before",
                 known="the closer may visit a cell of the segment that takes its place; but one colour has no ticket "
                       "there, so the closer visits that cell anyway")

    # The stack.
    yield Mutant("D7: split into load and store", stack, "head_.exchange(closed, std::memory_order_acq_rel);\n",
                 "head_.load(std::memory_order_acquire);\n        head_.store(closed, std::memory_order_release);\n")
    yield Mutant("D4: split into load and store", stack,
                 "        return emptied(n, popped, popped.content.exchange(free, std::memory_order_acq_rel));\n",
                 "        const word was = popped.content.load(std::memory_order_acquire);\n"
                 "        popped.content.store(free, std::memory_order_release);\n        return emptied(n, popped, was);\n")
    yield Mutant("stack: a vacant node of the other colour is taken for a free one", stack,
                 "            } else if (seen != free) {\n", "            } else if (false) {\n")
    yield Mutant("stack: a vacant node does not tell its colour", stack, "return own == colour::red ? 1 : 2;",
                 "return own == colour::red ? 1 : 1;")
    yield Mutant("pool: changes of the head are not counted", pool, "return (((head >> Bits) + 1) << Bits) | n;",
                 "return ((head >> Bits) << Bits) | n;")


def executors() -> Iterator[Mutant]:
    """Executors on other loops."""
    file = "loop_executor.hpp"
    yield Mutant("executor: the destructor does not wait for a poster", file, "== wakes_; });", ">= 0; });")
    yield Mutant("executor: a sleep that a poster ended is not counted", file, "            ++wakes_;\n", "")
    yield Mutant("executor: every sleep is counted", file, "        if (!base::stay_awake()) {\n", "        static_cast<void>(base::stay_awake());\n        {\n")


def counters() -> Iterator[Mutant]:
    """What counts, and the numbers of its threads."""
    steps, observer, numbers = "detail/meet/steps.hpp", "detail/meet/observer.hpp", "detail/platform/thread_number.hpp"
    yield Mutant("counters: a canceller does not pin the exchanger", steps,
                 "            arena_.pin();\n            return withdraw_pinned(w, why);\n",
                 "            const bool out = arena_.list().withdraw(w, W::side);\n            if (out) {\n"
                 "                observer_.ended(w, why);\n            }\n            arena_.pin();\n"
                 "            arena_.unpin();\n            return out;\n")
    yield Mutant("counters: a party that moves from the arena counts as one more", observer,
                 "            if (!w.began.is_set()) [[likely]] {\n", "            if (true) {\n")
    yield Mutant("counters: a stale waiter is not counted", "detail/meet/claimed_case.hpp",
                 "            seen.ended(q, outcome::not_selected);\n", "")
    yield Mutant("counters: a case that waits again does not arrive again", "detail/meet/standing_case.hpp",
                 "            Side::observer::renew(waiting);\n", "")
    yield Mutant("probes: each arrival in a queue waits", "detail/meet/fifo.hpp", "        while (true) {\n",
                 "        base::begin_wait(w);\n        while (true) {\n")
    yield Mutant("probes: a case waits before its selection does", steps, "            w.at = stage::registered;\n",
                 "            start_wait(w);\n")
    yield Mutant("counters: an end without a wait is no arrival", observer,
                 "            count(counted_event::wait, !ending.began.is_set());\n", "")
    yield Mutant("thread numbers: two threads get one number", numbers, "std::countr_one(seen)", "(seen == 0 ? 0 : 1)")


def futures() -> Iterator[Mutant]:
    """The steps of a future and of its promise."""
    def mutant(name: str, before: str, after: str, also: tuple[str, str] | None = None) -> Mutant:
        return Mutant(f"future: {name}", "detail/meet/future_state.hpp", before, after, also=also)

    yield mutant("the promise keeps its token", "word_.exchange(0, std::memory_order_acquire)", "word_.load(std::memory_order_acquire)")
    yield mutant("the end of the future takes no token", "word_.exchange(0, std::memory_order_release) != 0", "word_.load(std::memory_order_relaxed) != 0")
    yield mutant("the end of the future does not wait for the promise",
                 "            detail::spin_until([this] { return !arena_.has_promise(); });\n", "")
    yield mutant("the end of the future reads the promise without the lock", "    bool sever() noexcept {\n        const section here(lock_);\n",
                 "    bool sever() noexcept {\n")
    yield mutant("the future forgets a promise that moves", "promise_.store(ending ? 0 : reinterpret_cast<std::uintptr_t>(&to),",
                 "promise_.store(0 * reinterpret_cast<std::uintptr_t>(ending ? nullptr : &to),")
    yield mutant("a promise moves out of a future that ends", "        const bool ending = phase_ == phase::over;\n", "        const bool ending = false;\n")
    yield mutant("the future keeps a promise that is set", "        promise_.store(0, std::memory_order_relaxed);\n", "")
    yield mutant("the completer does not pin the future", "            pin(); // the future may end on a third thread\n", "",
                 also=("            base::complete_each(partner, [] { return choice{}; });\n",
                       "            if (base::complete_chosen(partner)) {\n                detail::post(*partner.party);\n            }\n"))
    yield mutant("the end of the future does not wait for a completer", "        arena_.drain();\n", "")
    yield mutant("the end of the future leaves a waiting party",
                 "        if (base::complete_chosen(closed)) {\n            detail::post(*closed.party);\n        }\n", "")
    yield mutant("an item is taken twice", "            phase_ = phase::over;\n            w.take(held);\n", "            w.take(held);\n")
    yield mutant("an item that nobody waits for is lost", "            phase_ = phase::full;\n", "")
    yield mutant("a promise that ends leaves a waiting party", "            partner = take_out(given != nullptr ? outcome::exchanged : outcome::closed);\n",
                 "            partner = given != nullptr ? take_out(outcome::exchanged) : choice{};\n")
    yield mutant("a stale party gets the item", "if (committed == result::stale) {", "if (false) {")
    yield mutant("a withdrawn party stays", "        waiting_ = nullptr;\n        return true;\n", "        return true;\n")
    yield mutant("a claimed party withdraws", "if (waiting_ != &w) {\n            return false;", "if (waiting_ != &w) {\n            return true;")


def sets() -> Iterator[Mutant]:
    """The steps of a set of cases."""
    word, registry = "detail/meet/standing_word.hpp", "detail/meet/case_registry.hpp"
    one_case, cases = "detail/meet/standing_case.hpp", "detail/meet/standing_cases.hpp"

    def mutant(file: str, name: str, before: str, after: str, also: tuple[str, str] | None = None) -> Mutant:
        return Mutant(f"set: {name}", file, before, after, also=also)

    yield mutant(word, "a set that is away is committed", "            if (takes_back(seen)) {\n                return", "            if (false) {\n                return")
    yield mutant(word, "a set that registers is committed", "            if (seen == registering) {\n", "            if (false) {\n")
    yield mutant(word, "a set stays open after a commit", "            if (change(seen, away)) {\n                TRYST", "            if (change(seen, seen)) {\n                TRYST")
    yield mutant(word, "a case is handed back whatever the state", "        while (takes_back(seen)) {", "        while (true) {")
    yield mutant(word, "a case is not handed back", "            if (change(seen, to_word(q) | (seen & state_bits))) {", "            if (true) {")
    yield mutant(word, "what was handed back is lost when a round begins", "        return first_of(swap(registering));\n    }\n\n    /// After",
                 "        swap(registering);\n        return nullptr;\n    }\n\n    /// After")
    yield mutant(word, "what was handed back is lost when a yield ends",
                 "            return nullptr;\n        }\n        return first_of(swap(registering));\n",
                 "            return nullptr;\n        }\n        swap(registering);\n        return nullptr;\n")
    yield mutant(word, "what was handed back is lost when a yielding set leaves", "change(seen, seen & ~yielding)", "change(seen, away)")
    yield mutant(word, "a round does not begin", "        return first_of(swap(registering));\n    }\n\n    /// After",
                 "        return first_of(swap(away));\n    }\n\n    /// After")
    yield mutant(word, "a registration goes on after a decision", "        return change_open(registering);\n", "        store(registering);\n        return true;\n")
    yield mutant(word, "the owner parks over a stop", "        if (change_open(parked)) {\n", "        store(parked);\n        if (true) {\n")
    yield mutant(word, "a canceller posts without a decision", "is_parked ? away : by_deadline", "is_parked ? parked : by_deadline")
    yield mutant(word, "no set yields", "        if (!is_yielding_ && (", "        if (false && (")
    yield mutant(word, "the end of an object ignores a set that yields", "seen != registering && (seen & state_bits) != yielding", "seen != registering")
    yield mutant(word, "the end of an object ignores a set that registers", "seen != registering && (seen & state_bits) != yielding",
                 "(seen & state_bits) != yielding")
    yield mutant(registry, "the end of an object waits for no set", "            each->set->await_rest();\n", "")
    yield mutant(registry, "the end of an object is not announced", "        ended_.store(true, std::memory_order_relaxed); // relaxed: as above\n", "")
    yield mutant(registry, "the end of an object is announced late", "        ended_.store(true, std::memory_order_relaxed); // relaxed: as above\n", "",
                 also=("            each->set->await_rest();\n        }\n",
                       "            each->set->await_rest();\n        }\n        ended_.store(true, std::memory_order_relaxed);\n"))
    yield mutant(registry, "a case leaves an object that has ended", "        const bool is_there = !has_ended();\n", "        const bool is_there = true;\n")
    yield mutant(one_case, "a case does not pin the object that it leaves", "                protocol_->pin_case();\n", "",
                 also=("(is_there && protocol_->withdraw_case(waiting))", "(is_there && (protocol_->pin_case(), protocol_->withdraw_case(waiting)))"))
    yield mutant(cases, "a case that holds others up stays in its list", "                visit(*each->one, [this](auto& known) { this->unlist(known); });\n", "")
    meets = "        const bool suspended = complete_in_list(q, outcome::exchanged);\n"
    decides = "        set_own_outcome(w, outcome::exchanged);\n"
    yield mutant("detail/meet/steps.hpp", "a set is decided before its partner is complete", meets + decides, decides + meets)
    yield mutant("detail/meet/steps.hpp", "a case's lists are left before the party is decided",
                 decides + "        end_swap(detail::complete_case(q, outcome::exchanged, committed), q, moving);\n",
                 "        const bool suspended = detail::complete_case(q, outcome::exchanged, committed);\n" + decides
                 + "        end_swap(suspended, q, moving);\n")
    yield mutant(registry, "a case leaves its registry without the lock", "        lock_.lock();\n        const bool is_there", "        const bool is_there",
                 also=("        cases_.remove(one.registered);\n        release();\n", "        cases_.remove(one.registered);\n        --users_;\n"))
    yield mutant(one_case, "a set does not ask whether the object has ended", "        if (registry->has_ended()) {", "        if (false) {")
    yield mutant(cases, "a served case is forgotten", "                known.renew({});\n                unlisted_.push_back(known);\n", "                known.renew({});\n")
    yield mutant(cases, "a case is removed although it is claimed", "        if (!one.leave(is_listed(one))) {\n", "        if (!one.leave(is_listed(one)) && false) {\n")
    yield mutant(cases, "a case is offered before it is listed", "            unlisted_.remove(*one); // before a party may hand it back\n", "",
                 also=("            take_back(word_.end_yield());\n", "            unlisted_.remove(*one);\n            take_back(word_.end_yield());\n"))
    yield mutant(cases, "what is handed back during a yield is lost", "take_back(word_.end_yield());", "static_cast<void>(word_.end_yield());")
    yield mutant(cases, "a yield never ends", "            take_back(word_.end_yield());\n", "")
    yield mutant(cases, "the result of a destroyed round is lost", "return round_ == nullptr && word_.decided() != nullptr;", "return false;")
    yield mutant("detail/meet/item_buffer.hpp", "a case is taken out after it was handed back",
                 "        from.remove(q); // first, because the owner may end a case that was handed back\n", "",
                 also=("        if (result == commit_result::held) {\n            from.push_front(q);\n",
                       "        if (result != commit_result::held) {\n            from.remove(q);\n"))


def buffers() -> Iterator[Mutant]:
    """The sections of a channel with a buffer, and what follows them."""
    file, protocol = "detail/meet/item_buffer.hpp", "detail/meet/buffering.hpp"

    def mutant(where: str, name: str, before: str, after: str, also: tuple[str, str] | None = None) -> Mutant:
        return Mutant(f"buffer: {name}", where, before, after, also=also)

    yield mutant("detail/meet/section_lock.hpp", "a section takes no lock", "lock_(of) { lock_.lock(); }", "lock_(of) {}")
    yield mutant(file, "a receiver that makes room admits nobody",
                 "        if (admits()) {\n            partner = admit_first(seen);\n        }\n", "")
    yield mutant(file, "a withdrawal admits nobody", "leave_admits = Rules::weighs && W::side == colour::red;", "leave_admits = false;")
    yield mutant(protocol, "a higher limit admits nobody", "        arena_.list().set_limit(limit);\n        admit();\n",
                 "        arena_.list().set_limit(limit);\n        arena_.unpin();\n")
    yield mutant(file, "one section admits one sender in all", "outcome::exchanged, committed, admits()};", "outcome::exchanged, committed, false};")
    yield mutant(file, "an admitted sender is not completed", "return {&q, outcome::exchanged,", "return {nullptr, outcome::exchanged,")
    yield mutant(file, "a claimed waiter withdraws", "if (!w.is_linked()) {\n            return false;",
                 "if (!w.is_linked()) {\n            return true;")
    yield mutant(file, "a party does not commit", "const auto result = detail::decide_for(q, *arena_, seen);", "const auto result = commit_result::parked;")
    pins = "now != progress::completed || partner.more || may_withdraw"
    yield mutant(file, "a batch does not pin the channel", pins, "partner.more || may_withdraw")
    yield mutant(file, "several admissions do not pin the channel", pins, "now != progress::completed || may_withdraw")
    yield mutant(file, "a partner that may be withdrawn does not pin the channel", pins, "now != progress::completed || partner.more")
    own = "                    base::set_own_outcome(w, outcome::exchanged); // I55\n"
    others = "                    base::complete_each(partner, [this] { return next_admission(); });\n"
    yield mutant(protocol, "a party admits others before it is decided", own + others, others + own)
    yield mutant(file, "a batch passes a sender that waits", "if (!senders_.empty() || !fits(w)) {", "if (!fits(w)) {")
    moves, waits = "!closed_ && receivers_.empty() && senders_.empty() && fits(q)", "!closed_ && receivers_.empty() && (!senders_.empty()"
    yield mutant(file, "a quick sender passes a sender that waits", moves, "!closed_ && receivers_.empty() && fits(q)")
    yield mutant(file, "a quick receiver passes a sender that waits", "return senders_.empty() && !items_.empty();", "return !items_.empty();")
    yield mutant(file, "a quick sender passes a receiver that waits", moves, "!closed_ && senders_.empty() && fits(q)")
    yield mutant(file, "a quick sender enters a closed channel", moves, "receivers_.empty() && senders_.empty() && fits(q)")
    yield mutant(file, "a quick sender waits beside a receiver", waits, "!closed_ && (!senders_.empty()")
    yield mutant(file, "a quick sender waits in a closed channel", waits, "receivers_.empty() && (!senders_.empty()")
    yield mutant(file, "a quick receiver waits beside a sender", "return !closed_ && senders_.empty();", "return !closed_;")
    yield mutant(file, "a quick receiver waits in a closed channel", "return !closed_ && senders_.empty();", "return senders_.empty();")
    yield mutant(file, "a close leaves the senders", "            taken = take_out(from.senders, how, seen);\n", "            return taken;\n")
    yield mutant(file, "a close dismisses nobody", "        closed_ = true;\n        dismiss(outcome::closed);\n    }\n", "        closed_ = true;\n    }\n")
    yield mutant(file, "a cancellation dismisses nobody", "        dismiss(outcome::cancelled);\n", "")
    yield mutant("detail/run/linked_list.hpp", "a party that leaves the dismissed ones moves the end of the queue",
                 "if (end_ == &element.following) {", "if (element.following == nullptr) {")
    yield mutant(protocol, "a close pins the channel too late", "        arena_.pin();\n        arena_.list().close();\n",
                 "        arena_.list().close();\n        arena_.pin();\n")
    yield mutant(protocol, "a close that takes the items pins the channel too late",
                 "        arena_.pin();\n        items left = arena_.list().close_and_take();\n",
                 "        items left = arena_.list().close_and_take();\n        arena_.pin();\n")
    yield mutant(file, "a closed channel keeps its items", "            if (!items_.empty()) {\n                take_front",
                 "            if (!items_.empty() && !closed_) {\n                take_front")
    yield mutant(file, "a closed channel takes an item", "            if (closed_) {\n                return progress::closed;\n            }\n"
                 "            if (moved", "            if (moved")
    yield mutant(file, "an item that is too heavy never has room", "(items_.empty() || (inside_", "((inside_")
    yield mutant(file, "a received item keeps its weight", "        inside_ -= items_.front().weight;\n", "")
    yield mutant(file, "a receiver that gets an item is not completed", "                partner = {q, outcome::exchanged, committed};\n", "")


def platform() -> Iterator[Mutant]:
    """[P1], in the model's own platform."""
    yield Mutant("P1 in the model: release -> relaxed", "../../tests/model/platform.hpp",
                 "value.store(desired, std::memory_order_release, where);",
                 "value.store(desired, std::memory_order_relaxed, where);")


def all_mutants(include: Path) -> list[Mutant]:
    return [*platform(), *split(include, FILES), *logic(), *interleavings(), *select(), *sets(), *executors(), *counters(), *futures(), *buffers(), *split(include, WAIT_LISTS),
            *queue(), *stack(), *elimination(), *pool()]
