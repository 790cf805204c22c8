// SPDX-License-Identifier: MIT
// Parties of one exchanger, and what can come between them.
#include "model/meeting.hpp"
#include "model/scenes.hpp"

#include <array>

namespace tryst::model {

namespace {

using enum patience;

using detail::step;

void one_stopped() {
    meeting m;
    m.run(m.loop({until_stop}), m.canceller());
}

void one_timed_out() {
    meeting m(1, true);
    m.run(m.loop({until_deadline}), m.time());
}

void one_thread_stopped() {
    meeting m(1, true);
    m.run(m.thread(until_stop), m.canceller());
}

void one_thread_timed_out() {
    meeting m(1, true);
    m.run(m.thread(until_either), m.canceller(), m.time());
}

void two() {
    meeting m;
    m.run(m.loop({endless}), m.loop({endless}));
}

void two_and_canceller() {
    meeting m;
    m.run(m.loop({until_stop}), m.loop({endless}), m.canceller());
}

void two_cancelled() {
    meeting m;
    m.run(m.loop({until_stop}), m.loop({until_stop}), m.canceller());
}

void two_and_deadline() {
    meeting m;
    m.run(m.loop({until_deadline}), m.loop({endless}), m.time());
}

void two_and_either() {
    meeting m;
    m.run(m.loop({until_either}), m.loop({endless}), m.canceller(), m.time());
}

void two_and_closer() {
    meeting m;
    m.run(m.loop({endless}), m.loop({until_stop}), m.closer());
}

void three() {
    meeting m;
    m.run(m.loop({endless}), m.loop({endless}), m.loop({endless}));
}

void three_and_canceller() {
    meeting m;
    m.run(m.loop({until_stop}), m.loop({until_stop}), m.loop({endless}), m.canceller());
}

void three_and_deadline() {
    meeting m;
    m.run(m.loop({until_deadline}), m.loop({endless}), m.loop({endless}), m.time());
}

void three_and_closer() {
    meeting m;
    m.run(m.loop({until_stop}), m.loop({endless}), m.loop({endless}), m.closer());
}

void four() {
    meeting m;
    m.run(m.loop({endless}), m.loop({endless}), m.loop({endless}), m.loop({endless}));
}

void four_and_canceller() {
    meeting m;
    m.run(m.loop({until_stop}), m.loop({until_stop}), m.loop({endless}), m.loop({endless}),
          m.canceller());
}

// ---- In the arena

void two_in_arena() {
    meeting m(1, true);
    m.run(m.loop({endless}), m.loop({endless}));
}

void two_in_arena_and_canceller() {
    meeting m(1, true);
    m.run(m.loop({until_stop}), m.loop({endless}), m.canceller());
}

void two_in_arena_and_closer() {
    meeting m(1, true);
    m.run(m.loop({until_stop}), m.loop({endless}), m.closer());
}

void three_in_arena() {
    meeting m(1, true);
    m.run(m.loop({endless}), m.loop({endless}), m.loop({endless}));
}

void three_in_arena_and_canceller() {
    meeting m(1, true);
    m.run(m.loop({until_stop}), m.loop({endless}), m.loop({endless}), m.canceller());
}

void three_in_arena_and_closer() {
    meeting m(1, true);
    m.run(m.loop({endless}), m.loop({endless}), m.loop({until_stop}), m.closer());
}

void four_in_arena() {
    meeting m(1, true);
    m.run(m.loop({endless}), m.loop({endless}), m.loop({endless}), m.loop({endless}));
}

void arena_grows_and_shrinks() {
    meeting m(1);
    m.run(m.busy_loop(2), m.busy_loop(2), m.busy_loop(2));
}

// ---- Frames and addresses used again

void two_rounds() {
    meeting m;
    m.run(m.busy_loop(2), m.busy_loop(2));
}

void two_on_one_loop() {
    meeting m(1, true);
    m.run(m.loop({endless, endless}), m.loop({endless}));
}

void two_on_one_loop_and_canceller() {
    meeting m;
    m.run(m.loop({until_stop, until_stop}), m.loop({endless}), m.canceller());
}

// ---- Plain threads, and coroutines without executor

void threads() {
    meeting m;
    m.run(m.thread(endless), m.thread(endless));
}

void threads_and_canceller() {
    meeting m;
    m.run(m.thread(until_stop), m.thread(endless), m.canceller());
}

void threads_and_deadline() {
    meeting m;
    m.run(m.thread(until_deadline), m.thread(endless), m.time());
}

void threads_in_arena() {
    meeting m(1, true);
    m.run(m.thread(until_stop), m.thread(endless), m.canceller());
}

void thread_and_coroutine() {
    meeting m;
    m.run(m.thread(until_either), m.loop({until_stop}), m.canceller(), m.time());
}

void bare() {
    meeting m;
    m.run(m.bare(until_stop), m.bare(endless), m.canceller());
}

// ---- Operations that their client cancels

void one_cancelled() {
    meeting m;
    m.run(m.cancellable_loop(endless), m.requester());
}

void one_cancelled_at_once() {
    meeting m;
    m.run(m.cancellable_loop(until_stop, true), m.canceller());
}

void one_cancelled_at_once_in_arena() {
    meeting m(1, true);
    m.run(m.cancellable_loop(endless, true));
}

void cancellable() {
    meeting m;
    m.run(m.cancellable_loop(endless), m.requester(), m.loop({endless}));
}

void cancellable_and_closer() {
    meeting m;
    m.run(m.cancellable_loop(endless), m.requester(), m.closer());
}

void cancellable_and_canceller() {
    meeting m;
    m.run(m.cancellable_loop(until_stop), m.requester(), m.loop({endless}), m.canceller());
}

void cancellable_in_arena() {
    meeting m(1, true);
    m.run(m.cancellable_loop(endless), m.requester(), m.loop({endless}));
}

void cancellable_in_arena_and_closer() {
    meeting m(1, true);
    m.run(m.cancellable_loop(endless), m.requester(), m.loop({endless}), m.closer());
}

void cancelled_at_once() {
    meeting m;
    m.run(m.cancellable_loop(until_stop, true), m.loop({endless}), m.canceller());
}

void cancelled_at_once_in_arena() {
    meeting m(1, true);
    m.run(m.cancellable_loop(endless, true), m.loop({endless}), m.closer());
}

void cancelled_at_once_and_deadline() {
    meeting m(1, true);
    m.run(m.cancellable_loop(until_deadline, true), m.loop({endless}), m.time());
}

// ---- Frames destroyed while they wait, and exchangers destroyed by a party that has exchanged
// there

void abandoned() {
    meeting m;
    m.run(m.doomed_loop(endless), m.killer(), m.loop({endless}));
}

void abandoned_and_canceller() {
    meeting m;
    m.run(m.doomed_loop(until_stop), m.killer(), m.loop({endless}), m.canceller());
}

void abandoned_in_arena() {
    meeting m(1, true);
    m.run(m.doomed_loop(until_deadline), m.killer(), m.loop({endless}), m.time());
}

void abandoned_at_once() {
    meeting m(1, true);
    m.run(m.doomed_loop(endless, true), m.loop({endless}));
}

void abandoned_at_once_and_canceller() {
    meeting m(1, true);
    m.run(m.doomed_loop(until_stop, true), m.loop({endless}), m.canceller());
}

void abandoned_and_closer() {
    meeting m(1, true);
    m.run(m.doomed_loop(endless), m.killer(), m.closer());
}

void destroyed() {
    meeting m;
    m.run(m.destroying_loop(), m.loop({until_stop}), m.canceller());
}

void destroyed_in_arena() {
    meeting m(1, true);
    m.run(m.destroying_loop(), m.loop({until_either}), m.canceller(), m.time());
}

void destroyed_by_coroutine_that_met_a_thread() {
    meeting m(1, true);
    m.run(m.destroying_loop(), m.thread(until_stop), m.canceller());
}

void destroyed_by_bare_coroutine() {
    meeting m(1, true);
    m.run(m.destroying_bare(), m.loop({until_stop}), m.canceller());
}

void destroyed_over_one() {
    meeting m;
    m.run(m.watched_loop(until_stop), m.destroyer(), m.canceller());
}

void destroyed_over_one_in_arena() {
    meeting m(1, true);
    m.run(m.watched_loop(until_either), m.destroyer(), m.canceller(), m.time());
}

void destroyed_over_two() {
    meeting m(1, true);
    m.run(m.watched_loop(until_stop), m.watched_loop(endless), m.destroyer(), m.canceller());
}

// ---- try_exchange and past deadlines, which do not wait

void try_meets_all() {
    meeting m(1, true);
    m.run(m.loop({none}), m.loop({until_stop}), m.thread(over), m.canceller());
}

void try_claims_in_arena() {
    meeting m(1, true);
    m.run(m.thread(none), m.loop({endless}));
}

void try_after_offer() {
    meeting m(1, true);
    m.run(m.loop({endless, none}));
    m.require_that_all_have_met();
}

/// An arrival meets the waiter that it sees in slot 0, however busy the arena is (I4).
void waiter_first() {
    meeting m(1, true);
    m.bare(endless)();
    the_checker().forbid(reaches(step::offer_in_arena));
    m.run(m.loop({endless}));
}

void try_in_arena() {
    meeting m(1, true);
    m.run(m.thread(none), m.loop({endless}), m.loop({endless}));
}

constexpr std::array all{
    scene{"one_stopped", "one party, and a stop", one_stopped, reaches(step::stop, step::own_stop)},
    scene{"one_timed_out", "one party, slots 0 and 1, and a deadline", one_timed_out,
          reaches(step::stop, step::expiry)},
    scene{"one_thread_stopped", "one thread, slots 0 and 1, and a stop", one_thread_stopped,
          reaches(step::stop, step::own_stop)},
    scene{"one_thread_timed_out", "the same, and a deadline", one_thread_timed_out,
          reaches(step::stop, step::own_stop)},
    scene{"two", "two parties", two, reaches(step::claim_in_wait_list)},
    scene{"two_and_canceller", "two parties, one of which is stopped", two_and_canceller,
          reaches(step::claim_in_wait_list, step::stop, step::late_stop, step::own_stop,
                  step::pinned)},
    scene{"two_cancelled", "two parties, both stopped by one source", two_cancelled,
          reaches(step::stop, step::late_stop, step::own_stop)},
    scene{"two_and_deadline", "two parties, one of which has a deadline", two_and_deadline,
          reaches(step::stop)},
    scene{"two_and_either", "two parties, one with a deadline and a stop", two_and_either,
          reaches(step::stop)},
    scene{"two_and_closer", "two parties and a close", two_and_closer,
          reaches(step::claim_in_wait_list)},
    scene{"three", "three parties", three, reaches(step::claim_in_wait_list)},
    scene{"three_and_canceller", "three parties, two of which are stopped", three_and_canceller,
          reaches(step::stop, step::pinned)},
    scene{"three_and_deadline", "three parties, one of which has a deadline", three_and_deadline,
          reaches(step::stop)},
    scene{"three_and_closer", "three parties and a close", three_and_closer,
          reaches(step::claim_in_wait_list)},
    scene{"four", "four parties", four, reaches(step::claim_in_wait_list)},
    scene{"four_and_canceller", "four parties, two of which are stopped", four_and_canceller,
          reaches(step::stop)},

    scene{"two_in_arena", "two parties, slots 0 and 1", two_in_arena,
          reaches(step::offer_in_arena, step::claim_in_arena, step::expiry,
                  step::claim_in_wait_list, step::shrinkage)},
    scene{"two_in_arena_and_canceller", "two parties, slots 0 and 1, a stop",
          two_in_arena_and_canceller, reaches(step::expiry, step::stop)},
    scene{"two_in_arena_and_closer", "two parties, slots 0 and 1, a close", two_in_arena_and_closer,
          reaches(step::expiry)},
    scene{"three_in_arena", "three parties, slots 0 and 1", three_in_arena, reaches(step::pinned)},
    scene{"three_in_arena_and_canceller", "three parties, slots 0 and 1, a stop",
          three_in_arena_and_canceller, reaches(step::pinned, step::stop)},
    scene{"three_in_arena_and_closer", "three parties, slots 0 and 1, a close",
          three_in_arena_and_closer, reaches(step::pinned)},
    scene{"four_in_arena", "four parties, slots 0 and 1", four_in_arena, reaches(step::pinned)},
    scene{"arena_grows_and_shrinks", "three loops exchange twice; collisions grow the arena",
          arena_grows_and_shrinks, reaches(step::growth, step::shrinkage)},

    scene{"two_rounds", "two loops exchange twice: frames and addresses are used again", two_rounds,
          reaches(step::claim_in_wait_list)},
    scene{"two_on_one_loop", "two parties of one loop, a third elsewhere", two_on_one_loop,
          reaches(step::completion_in_place)},
    scene{"two_on_one_loop_and_canceller", "the same, with a stop", two_on_one_loop_and_canceller,
          reaches(step::completion_in_place, step::stop)},

    scene{"threads", "two plain threads", threads, reaches(step::claim_in_wait_list)},
    scene{"threads_and_canceller", "two threads, one of which is stopped", threads_and_canceller,
          reaches(step::stop, step::late_stop, step::own_stop)},
    scene{"threads_and_deadline", "two threads, one of which has a deadline", threads_and_deadline,
          reaches(step::stop)},
    scene{"threads_in_arena", "two threads, slots 0 and 1, a stop", threads_in_arena,
          reaches(step::claim_in_arena)},
    scene{"thread_and_coroutine", "a thread with deadline and stop, and a coroutine",
          thread_and_coroutine, reaches(step::stop)},
    scene{"bare", "two coroutines without executor, a stop", bare, reaches(step::stop)},

    scene{"one_cancelled", "one party, whose client cancels it", one_cancelled,
          reaches(step::stop)},
    scene{"one_cancelled_at_once", "the same, before the check runs; a stop", one_cancelled_at_once,
          reaches(step::own_stop)},
    scene{"one_cancelled_at_once_in_arena", "the same, slots 0 and 1, without a stop",
          one_cancelled_at_once_in_arena, reaches(step::own_stop, step::expiry)},
    scene{"cancellable", "two parties; the client of one cancels it", cancellable,
          reaches(step::stop, step::claim_in_wait_list)},
    scene{"cancellable_and_closer", "one party; its client cancels it, and a close",
          cancellable_and_closer, reaches(step::stop)},
    scene{"cancellable_and_canceller", "two parties; the client of one cancels it; a stop",
          cancellable_and_canceller, reaches(step::stop, step::own_stop)},
    scene{"cancellable_in_arena", "two parties, slots 0 and 1; the client of one cancels it",
          cancellable_in_arena, reaches(step::expiry, step::claim_in_arena, step::stop)},
    scene{"cancellable_in_arena_and_closer", "the same, with a close",
          cancellable_in_arena_and_closer, reaches(step::expiry)},
    scene{"cancelled_at_once", "a client cancels before the check runs; a stop", cancelled_at_once,
          reaches(step::own_stop)},
    scene{"cancelled_at_once_in_arena", "the same, slots 0 and 1, with a close",
          cancelled_at_once_in_arena, reaches(step::expiry, step::own_stop)},
    scene{"cancelled_at_once_and_deadline", "the same, slots 0 and 1, with a deadline",
          cancelled_at_once_and_deadline, reaches(step::expiry, step::own_stop)},

    scene{"abandoned", "a frame is destroyed while it waits", abandoned,
          reaches(step::claim_in_wait_list)},
    scene{"abandoned_and_canceller", "the same, with a stop", abandoned_and_canceller,
          reaches(step::stop, step::pinned)},
    scene{"abandoned_in_arena", "the same, slots 0 and 1, with a deadline", abandoned_in_arena,
          reaches(step::pinned)},
    scene{"abandoned_at_once", "a frame is destroyed before its check runs, slots 0 and 1",
          abandoned_at_once, reaches(step::pinned)},
    scene{"abandoned_at_once_and_canceller", "the same, with a stop",
          abandoned_at_once_and_canceller, reaches(step::pinned)},
    scene{"abandoned_and_closer", "the same, slots 0 and 1, with a close", abandoned_and_closer,
          reaches(step::pinned)},
    scene{"destroyed", "the party that has returned destroys the exchanger; a stop", destroyed,
          reaches(step::late_stop)},
    scene{"destroyed_in_arena", "the same, slots 0 and 1, with a deadline", destroyed_in_arena,
          reaches(step::pinned)},
    scene{"destroyed_after_thread", "the same, and the other is a thread",
          destroyed_by_coroutine_that_met_a_thread, reaches(step::pinned)},
    scene{"destroyed_inline",
          "the same, by a coroutine without executor, within its partner's post",
          destroyed_by_bare_coroutine, reaches(step::pinned)},
    scene{"destroyed_over_one", "an exchanger is destroyed while one party waits; a stop",
          destroyed_over_one, reaches(step::late_stop, step::stop)},
    scene{"destroyed_over_one_in_arena", "the same, slots 0 and 1, with a deadline",
          destroyed_over_one_in_arena, reaches(step::pinned)},
    scene{"destroyed_over_two", "the same, with two waiters that may be about to meet",
          destroyed_over_two, reaches(step::pinned)},
    scene{"try_meets_all", "try_exchange, a past deadline, and one waiter", try_meets_all,
          reaches(step::claim_in_wait_list)},
    scene{"try_claims_in_arena", "only try_exchange can claim in the arena", try_claims_in_arena,
          reaches(step::claim_in_arena)},
    scene{"try_after_offer",
          "try_exchange must find an offer in the arena that was made on the same loop",
          try_after_offer, reaches(step::claim_in_arena, step::completion_in_place)},
    scene{"try_in_arena", "try_exchange finds a waiter in the arena", try_in_arena,
          reaches(step::claim_in_arena)},
    scene{"waiter_first", "a waiter in slot 0, and then a party that may offer in the arena",
          waiter_first, reaches(step::claim_in_wait_list)},
};

} // namespace

std::span<const scene> exchange_scenes() {
    return all;
}

} // namespace tryst::model
