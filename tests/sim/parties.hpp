// SPDX-License-Identifier: MIT
/// @file
/// The parties of a run: coroutines with and without a loop, threads, and coroutines that destroy
/// others.
#pragma once

#include "sim/attempt.hpp"
#include "sim/scene.hpp"
#include "support/bare_coroutine.hpp"

#include <tryst/inplace_stop_token.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>
#include <tryst/when_all.hpp>
#include <tryst/when_any.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace tryst::sim {

/// Whether a coroutine can have a future deadline here: without an executor it would need the timer
/// thread.
inline bool has_timers() noexcept {
    return current_executor().has_timers();
}

/// Posts to a loop that may be stopped and destroyed: only while it `accepts`.
template <class Action>
void while_accepting(looper& to, Action action) {
    if (to.accepts) {
        ++to.posters;
        action();
        --to.posters;
    }
}

/// A `schedule_operation` that checks where it resumes: `co_await` of it moves to another loop.
class change_of_loop {
public:
    explicit change_of_loop(looper& to) noexcept : to_(&to), inner_(to.loop->schedule()) {}

    bool await_ready() const noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
        looper& to = *to_; // outlives us
        ++to.posters;
        inner_.await_suspend(coroutine);
        --to.posters;
    }
    void await_resume() noexcept {
        inner_.await_resume();
        if (!to_->loop->running_here()) {
            fail("a coroutine goes on elsewhere than it was scheduled");
        }
    }

private:
    looper* to_;
    schedule_operation inner_;
};

/// What a party waits for next; until then it disturbs and tries. Of size 0 at its end.
inline wish next_wish(scene& s, served_set& set, std::size_t& operations, bool timers) {
    while (operations-- != 0) {
        s.perhaps_disturb();
        const bool serves = s.temper.serving != 0 && choices().one_in(s.temper.serving);
        const wish what = serves ? set.make_wish(timers) : s.make_wish(timers);
        if (serves && what.size == 0) { // there is no case now
            continue;
        }
        if (what.size == 0 || what.how != wish::way::tries) {
            return what;
        }
        try_once(s, what);
    }
    return {.size = 0};
}

/// Exchanges `operations` times, in all ways and at all meetings, and serves a set of its own. If
/// `moves`, sometimes changes its loop.
template <class Coroutine>
Coroutine party(scene& s, std::size_t operations, scene::presence created, bool moves = false) {
    const scene::presence here = created.begin();
    served_set set(s);
    while (true) {
        const wish what = next_wish(s, set, operations, has_timers());
        if (what.size == 0) {
            break;
        }
        {
            attempt one(s, what);
            static_cast<void>(co_await one);
        }
        if (moves && current_executor() && choices().one_in(3)) {
            looper& to = s.loops[choices().below(s.loops.size())];
            note("goes to loop {}", static_cast<long>(to.thread));
            co_await change_of_loop(to);
        }
    }
}

/// The same, on a thread.
inline void thread_party(scene& s, std::size_t operations) {
    const scene::presence here(s);
    served_set set(s);
    for (wish what; (what = next_wish(s, set, operations, true)).size != 0;) {
        attempt one(s, what);
        static_cast<void>(sync_wait(one));
    }
}

/// Exchanges once at a private meeting, and destroys the exchanger if it knows that it may.
template <class Coroutine>
Coroutine one_of_circle(scene& s, meeting& where, scene::presence created) {
    const scene::presence here = created.begin();
    long partner = 0;
    {
        attempt one(s, s.make_wish_to_wait(where, has_timers()));
        partner = co_await one;
    }
    s.returned_from_circle(where, partner);
}

/// Several parties at once, joined by `when_all`.
inline task<> family(scene& s, std::size_t members, std::size_t operations) {
    const executor_ref home = current_executor();
    try {
        if (members == 2) {
            co_await when_all(party<task<>>(s, operations, scene::presence(s), s.temper.moves),
                              party<task<>>(s, operations, scene::presence(s), s.temper.moves));
        } else {
            std::vector<task<>> all;
            {
                const memory::reserve unfailing;
                all.reserve(members);
            }
            for (std::size_t i = 0; i != members; ++i) {
                all.push_back(party<task<>>(s, operations, scene::presence(s), s.temper.moves));
            }
            co_await when_all(std::move(all));
        }
        if (!home.running_here()) {
            fail("a family is joined elsewhere than it was awaited");
        }
    } catch (const std::bad_alloc&) {
        note("a family is given up for want of memory");
    }
}

/// One of the exchanges of a `when_any`.
template <class Exchanger>
class rival {
public:
    rival(scene& s, meeting& where, button& stop, record* lead)
        : scene_(&s), at_(where.ex.get_if<Exchanger>()), mine_(s.make_item()),
          told_(&s.begin({.stop = &stop, .where = {&where}, .colours = {colour}}, 0, mine_.id(),
                         lead)) {}
    rival(const rival&) = delete;
    rival& operator=(const rival&) = delete;
    ~rival() {
        if (!told_->ended) {
            scene_->abandoned(*told_);
        }
    }

    record& told() const noexcept { return *told_; }

    auto operator()(inplace_stop_token stop) {
        if constexpr (receives) {
            return at_->receive(stop);
        } else {
            return at_->exchange(std::move(mine_), stop);
        }
    }

    /// @param won  whether it ended first.
    template <class Result>
    void end(Result result, bool won) {
        if (won && result.error() == exchange_errc::cancelled) {
            fail("the first of a when_any was stopped");
        }
        scene_->ended(*told_, result);
    }

private:
    static constexpr bool receives = requires(Exchanger& ex) { ex.receive(); };
    static constexpr auto colour = receives ? history::colour::blue : history::colour::any;

    scene* scene_;
    Exchanger* at_;
    item mine_; ///< A receiver's is only a number.
    record* told_;
};

/// Awaits a `when_any`, whose exchanges have arrived once it is suspended.
template <class Result>
class started_rivals {
public:
    started_rivals(task<Result> work, record& first, record& second)
        : work_(std::move(work)), told_{&first, &second} {}

    static bool await_ready() noexcept { return false; }
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> coroutine) {
        const auto told = told_; // outlives us
        const auto suspended = awaiter_.await_suspend(coroutine);
        for (record* const each : told) {
            each->arrived = true;
        }
        return suspended;
    }
    Result await_resume() { return awaiter_.await_resume(); }

private:
    task<Result> work_;
    decltype(std::declval<task<Result>>().operator co_await()) awaiter_ =
        std::move(work_).operator co_await();
    std::array<record*, 2> told_;
};

/// Awaits two exchanges, of which the first to end stops the other, again and again.
template <class Exchanger>
task<> rivals(scene& s, std::size_t operations, scene::presence created) {
    const scene::presence here = created.begin();
    const auto fits = [](meeting& m) { return m.ex.get_if<Exchanger>() != nullptr; };
    while (operations-- != 0) {
        const std::array where{s.choose_meeting(fits), s.choose_meeting(fits)};
        if (where[0] == nullptr || where[1] == nullptr) {
            break;
        }
        button stop{.source = nullptr, .id = s.add_stop()};
        const history::stamp begun = s.place_from_now().told;
        rival<Exchanger> first(s, *where[0], stop, nullptr);
        rival<Exchanger> second(s, *where[1], stop, &first.told());
        const auto make_first = [&](inplace_stop_token given) { return first(given); };
        const auto make_second = [&](inplace_stop_token given) { return second(given); };
        try {
            started_rivals awaited(when_any(make_first, make_second), first.told(), second.told());
            auto got = co_await awaited;
            s.stopped(stop.id, begun);
            first.end(got.template get<0>(), got.index() == 0);
            second.end(got.template get<1>(), got.index() == 1);
        } catch (const std::bad_alloc&) {
            note("a when_any is given up for want of memory");
        }
    }
}

/// Creates a party on this loop, and destroys it after `turns` turns, wherever it waits then.
inline task<> killer(scene& s, looper& here, std::size_t operations, std::size_t turns) {
    try {
        auto victim = party<test::bare_coroutine>(s, operations, scene::presence(s));
        for (std::size_t i = 0; i != turns; ++i) {
            co_await here.loop->schedule();
        }
        s.destroy_frames([&] {
            note("destroys a coroutine");
            victim.destroy();
        });
    } catch (const std::bad_alloc&) {
        note("a victim is given up for want of memory");
    }
}

inline void thread_of_circle(scene& s, meeting& where) {
    const scene::presence here(s);
    long partner = 0;
    {
        attempt one(s, s.make_wish_to_wait(where, true));
        partner = sync_wait(one);
    }
    s.returned_from_circle(where, partner);
}

/// A thread that runs a whole task.
inline void thread_task(scene& s, std::size_t operations) {
    try {
        sync_wait(party<task<>>(s, operations, scene::presence(s)));
    } catch (const std::bad_alloc&) {
        note("a thread's task is given up for want of memory");
    }
}

} // namespace tryst::sim
