// SPDX-License-Identifier: MIT
// Futures: how a set, a drop and a move of the promise, a wait, a stop, and the end of the future
// race. Items are on the model's heap, so a lost or doubled item is a failure.
#include "model/platform.hpp"
#include "model/scenes.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/tryst.hpp>

#include <array>
#include <memory>
#include <utility>

namespace tryst::model {

namespace {

using item = std::unique_ptr<int>;
using result = exchange_result<item, void>;
using held_promise = std::unique_ptr<promise<item>>;

/// How a scene ended, for `must_reach`.
enum end : unsigned { taken = detail::step_count, not_taken, closed, cancelled, given_back };

void enter(end how) {
    the_checker().reached(how, "end", site::current());
}

void enter(const result& got) {
    require(!got || **got == 1, "another item");
    enter(got ? taken : got.error() == exchange_errc::cancelled ? cancelled : closed);
}

/// What the thread of the promise does. The promise's memory is freed afterwards.
void set(held_promise by) {
    const auto set = by->set(std::make_unique<int>(1));
    require(set || *set.returned() == 1, "the item was not handed back");
    if (!set) {
        enter(given_back);
    }
}
void drop(held_promise /*by*/) {}
void move_and_set(held_promise by) {
    auto moved = std::make_unique<promise<item>>(std::move(*by));
    by.reset();
    set(std::move(moved));
}

/// What the thread of the future does, before it destroys it.
void get(future<item>& of, stop_source& stop) {
    enter(sync_wait(of.get(stop_token(stop))));
}
void get_unstoppable(future<item>& of, stop_source& /*stop*/) {
    enter(sync_wait(of.get()));
}
void try_get(future<item>& of, stop_source& /*stop*/) {
    const auto got = of.try_get();
    got ? enter(got) : enter(not_taken);
}
void leave(future<item>& /*of*/, stop_source& /*stop*/) {}

/// A promise and a future on two threads. Either ends while the other is used.
template <auto Promise, auto Future>
void two() {
    stop_source stop;
    auto of = std::make_unique<future<item>>();
    auto by = std::make_unique<promise<item>>(of->get_promise());
    run_threads(
        [&] {
            Future(*of, stop);
            of.reset();
        },
        [&] { Promise(std::move(by)); });
}

/// The end of the future does not wait for a promise that has moved and stays.
void ended_moved_kept() {
    auto of = std::make_unique<future<item>>();
    auto by = std::make_unique<promise<item>>(of->get_promise());
    promise<item> kept;
    run_threads([&] { of.reset(); },
                [&] {
                    kept = std::move(*by);
                    by.reset();
                });
    require(!kept, "the promise has a future that has ended");
}

/// A promise and a future on two threads, and a stop.
template <auto Promise>
void stopped() {
    stop_source stop;
    auto of = std::make_unique<future<item>>();
    auto by = std::make_unique<promise<item>>(of->get_promise());
    run_threads(
        [&] {
            get(*of, stop);
            of.reset();
        },
        [&] { Promise(std::move(by)); }, [&] { stop.request_stop(); });
}

test::bare_coroutine wait_for(future<item>& of, stop_token token, int& ended) {
    const auto got = co_await of.get(std::move(token));
    enter(got);
    ++ended;
}

/// The future ends while a party waits there, which is completed by that, by the promise or by a
/// stop.
template <auto Promise>
void ended_over_waiter() {
    stop_source stop;
    int ended = 0;
    auto of = std::make_unique<future<item>>();
    auto by = std::make_unique<promise<item>>(of->get_promise());
    const auto waits = wait_for(*of, stop_token(stop), ended);
    run_threads([&] { of.reset(); }, [&] { Promise(std::move(by)); }, [&] { stop.request_stop(); });
    require(ended == 1, "the wait did not end once");
}

/// A selection of two futures, whose promises are set on two threads.
void selected() {
    std::array<future<item>, 2> of;
    std::array<held_promise, 2> by{std::make_unique<promise<item>>(of[0].get_promise()),
                                   std::make_unique<promise<item>>(of[1].get_promise())};
    std::size_t won = select_npos;
    run_threads(
        [&] {
            const auto got = sync_wait(select(of[0].get(), of[1].get()));
            won = got.index();
            enter(won == 0 ? got.get<0>() : got.get<1>());
        },
        [&] { set(std::move(by[0])); }, [&] { set(std::move(by[1])); });
    require(won < 2, "none was selected");
    const auto other = of.at(1 - won).try_get();
    require(other && **other == 1, "the other item is lost");
}

/// A selection of a future and another, with a stop: the future must be usable afterwards.
void selected_stopped() {
    stop_source stop;
    std::array<future<item>, 2> of;
    auto by = std::make_unique<promise<item>>(of[0].get_promise());
    bool won = false;
    run_threads(
        [&] {
            const auto got = sync_wait(select(of[0].get(), of[1].get(), stop_token(stop)));
            won = got.index() == 0;
            enter(won ? taken : cancelled);
        },
        [&] { set(std::move(by)); }, [&] { stop.request_stop(); });
    require(of[0].try_get().has_value() != won, "not received once");
}

constexpr std::array all{
    scene{"future_set", "a get and a set", two<set, get_unstoppable>, reaches(taken)},
    scene{"future_set_stoppable", "the same, with a stop token", two<set, get>, reaches(taken)},
    scene{"future_dropped", "a get, and a promise that ends", two<drop, get>, reaches(closed)},
    scene{"future_moved", "a get, and a promise that moves", two<move_and_set, get_unstoppable>,
          reaches(taken)},
    scene{"future_tried", "a try_get and a set", two<set, try_get>,
          reaches(taken, not_taken, given_back)},
    scene{"future_ended", "a future ends during a set", two<set, leave>, reaches(given_back)},
    scene{"future_both_ended", "a future and its promise end", two<drop, leave>},
    scene{"future_ended_moved", "a future ends while its promise moves", two<move_and_set, leave>,
          reaches(given_back)},
    scene{"future_ended_moved_kept", "the same; the promise stays there", ended_moved_kept},
    scene{"future_stopped", "a get, a set and a stop", stopped<set>,
          reaches(taken, cancelled, given_back)},
    scene{"future_stopped_dropped", "a get, a stop, and a promise that ends", stopped<drop>,
          reaches(closed, cancelled)},
    scene{"future_ended_over_waiter", "a set, a stop, and the end of the future, over a waiter",
          ended_over_waiter<set>, reaches(taken, closed, cancelled, given_back)},
    scene{"future_moved_over_waiter", "the same, and a move", ended_over_waiter<move_and_set>,
          reaches(taken, closed, cancelled, given_back)},
    scene{"future_selected", "a selection of two futures that are set", selected, reaches(taken)},
    scene{"future_selected_stopped", "the same, of which one is set; a stop", selected_stopped,
          reaches(taken, cancelled)},
};

} // namespace

std::span<const scene> future_scenes() {
    return all;
}

} // namespace tryst::model
