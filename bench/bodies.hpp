// SPDX-License-Identifier: MIT
/// @file
/// The bodies of participants, as coroutines. `Family::wait` turns an operation into an awaitable.
/// In a family that blocks, the operation has ended by then, and the awaitable is always ready.
#pragma once

#include "ledger.hpp"

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <latch>
#include <optional>
#include <span>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace tryst::bench {

template <class Result>
struct ready {
    Result result;

    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<> /*waiting*/) const noexcept {}
    Result await_resume() { return std::move(result); }
};

/// The task of a family that blocks: it runs to its end in the call.
struct blocking_task {
    struct promise_type {
        blocking_task get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

/// Returns the item in a result of any form, or nothing.
inline std::optional<item> item_in(item got) noexcept {
    return got;
}
inline std::optional<item> item_in(const std::tuple<std::error_code, item>& got) noexcept {
    return std::get<0>(got) ? std::nullopt : std::optional(std::get<1>(got));
}
template <class Result>
std::optional<item> item_in(const Result& got) noexcept {
    return got ? std::optional<item>(*got) : std::nullopt;
}

/// Returns whether an exchange failed and, if its result has an item then, handed this one back.
template <class Result>
bool returned(const Result& got, item mine) noexcept {
    if constexpr (requires { got.returned(); }) {
        return !item_in(got) && got.returned() == mine;
    } else {
        return !item_in(got);
    }
}

/// For meeting places on which it is faster to try first than to wait at once. With several
/// channels, the first argument says which one to send to, or to try first.
template <class Channel, class... Arguments>
bool sent_at_once(Channel& to, Arguments... arguments) {
    if constexpr (requires { to.send_at_once(arguments...); }) {
        return to.send_at_once(arguments...);
    } else {
        return false;
    }
}
template <class Channel, class... Arguments>
std::optional<item> received_at_once(Channel& from, Arguments... arguments) {
    if constexpr (requires { from.receive_at_once(arguments...); }) {
        return from.receive_at_once(arguments...);
    } else {
        return std::nullopt;
    }
}
template <class Meeting>
std::optional<item> exchanged_at_once(Meeting& at, item mine) {
    if constexpr (requires { at.exchange_at_once(mine); }) {
        return at.exchange_at_once(mine);
    } else {
        return std::nullopt;
    }
}

/// Two channels, for implementations without an exchange.
template <class Channel>
struct both_ways {
    Channel there;
    Channel back;
};

inline item now_ns() {
    return static_cast<item>(std::chrono::nanoseconds(steady::now().time_since_epoch()).count());
}

inline constexpr std::size_t batch_size = 64;

/// Whether no other thread may use the family's loop, so that its own tasks must close their
/// meeting place.
template <class Family>
inline constexpr bool is_alone = requires { requires Family::alone; };

/// Pauses in a busy loop if the time is too short for a sleep.
inline void pause_for(std::chrono::microseconds time) {
    if (time >= std::chrono::microseconds(50)) {
        std::this_thread::sleep_for(time);
        return;
    }
    for (const auto until = steady::now() + time; steady::now() < until;) {
    }
}

template <class Family>
struct bodies {
    using task = typename Family::task;

    template <class Meeting>
    static task swap(Meeting& at, ledger& all, std::size_t id) {
        participant mine(all, id);
        while (!is_alone<Family> || !all.over()) {
            std::optional<item> got = exchanged_at_once(at, mine.next());
            if (!got) {
                const auto waited = co_await Family::wait(at.exchange(mine.next()));
                got = item_in(waited);
            }
            if (!got) {
                break;
            }
            mine.swapped(*got);
        }
        if constexpr (is_alone<Family>) {
            at.close();
        }
        mine.done();
    }

    template <class Meeting>
    static task swap_for(Meeting& at, ledger& all, std::size_t id,
                         std::chrono::microseconds patience) {
        participant mine(all, id);
        while (!all.over()) {
            const auto waited = co_await Family::wait(at.exchange(mine.next(), patience));
            if (const auto got = item_in(waited)) {
                mine.swapped(*got);
            } else {
                mine.failed();
            }
        }
        if constexpr (is_alone<Family>) {
            at.close();
        }
        mine.done();
    }

    /// Waits alone in its meeting place until the deadline, over and over. If an exchange ends in
    /// another way, the participant is never done.
    template <class Meeting>
    static task time_out(Meeting& at, ledger& all, std::size_t id, std::latch& ended) {
        participant mine(all, id);
        bool conserved = true;
        while (!all.over()) {
            const auto got = co_await Family::wait(at.exchange(mine.next()));
            conserved = conserved && returned(got, mine.next());
            mine.failed();
        }
        if (conserved) {
            mine.done();
        }
        ended.count_down();
    }

    /// Participants with even numbers send first, the others receive first.
    template <class Channel>
    static task swap_in_two(both_ways<Channel>& at, ledger& all, std::size_t id) {
        participant mine(all, id);
        const bool first = id % 2 == 0;
        Channel& out = first ? at.there : at.back;
        Channel& in = first ? at.back : at.there;
        while (!first || !all.over()) {
            if (first && !sent_at_once(out, mine.next())) {
                static_cast<void>(co_await Family::wait(out.send(mine.next())));
            }
            std::optional<item> got = received_at_once(in);
            while (!got) {
                const auto waited = co_await Family::wait(in.receive());
                got = item_in(waited);
                if (!got) {
                    mine.failed();
                }
            }
            if (got == last) {
                break;
            }
            if (!first && !sent_at_once(out, mine.next())) {
                static_cast<void>(co_await Family::wait(out.send(mine.next())));
            }
            mine.swapped(*got);
        }
        if (first) {
            static_cast<void>(co_await Family::wait(out.send(last)));
        }
        mine.done();
    }

    template <class Channel>
    static task send(Channel& to, ledger& all, std::size_t id) {
        participant mine(all, id);
        while (!all.over()) {
            if (!sent_at_once(to, mine.next())) {
                static_cast<void>(co_await Family::wait(to.send(mine.next())));
            }
            mine.gave(mine.next());
        }
        static_cast<void>(co_await Family::wait(to.send(last)));
        mine.done();
    }

    template <class Channel>
    static task receive(Channel& from, ledger& all, std::size_t id) {
        participant mine(all, id);
        while (true) {
            std::optional<item> got = received_at_once(from);
            if (!got) {
                const auto waited = co_await Family::wait(from.receive());
                got = item_in(waited);
            }
            if (got == last) {
                break;
            }
            mine.received(*got);
        }
        mine.done();
    }

    template <class Channel>
    static task send_batches(Channel& to, ledger& all, std::size_t id) {
        participant mine(all, id);
        std::array<item, batch_size> batch;
        while (!all.over()) {
            for (item& each : batch) {
                each = mine.next();
                mine.gave(each);
            }
            static_cast<void>(co_await Family::wait(to.send_all(std::span(batch))));
        }
        static_cast<void>(co_await Family::wait(to.send(last)));
        mine.done();
    }

    template <class Channel>
    static task receive_batches(Channel& from, ledger& all, std::size_t id) {
        participant mine(all, id);
        std::array<item, batch_size> batch;
        std::size_t ends = 0;
        while (ends == 0) {
            const auto got = co_await Family::wait(from.receive_some(std::span(batch)));
            for (const item each : std::span(batch).first(*got)) {
                if (each == last) {
                    ++ends;
                } else {
                    mine.received(each);
                }
            }
        }
        while (--ends != 0) { // these are for other receivers
            static_cast<void>(co_await Family::wait(from.send(last)));
        }
        mine.done();
    }

    /// Sends to the channels in rotation. The last sender that ends closes them.
    template <class Channels>
    static task send_around(Channels& to, ledger& all, std::size_t id,
                            std::atomic<std::size_t>& senders) {
        participant mine(all, id);
        for (std::size_t turn = id / 2; !all.over(); ++turn) {
            const std::size_t here = turn % Channels::count;
            if (!sent_at_once(to, here, mine.next())) {
                static_cast<void>(co_await Family::wait(to.send(here, mine.next())));
            }
            mine.gave(mine.next());
        }
        if (senders.fetch_sub(1) == 1) {
            to.close();
        }
        mine.done();
    }

    /// Receives from any of the channels until they are closed.
    template <class Channels>
    static task receive_any(Channels& from, ledger& all, std::size_t id) {
        participant mine(all, id);
        const auto take = [&mine](item it) { mine.received(it); };
        for (std::size_t turn = id / 2;; ++turn) {
            if (const auto got = received_at_once(from, turn)) {
                take(*got);
                continue;
            }
            auto got = co_await Family::wait(from.receive());
            if (!Channels::received(got, take)) {
                break;
            }
        }
        mine.done();
    }

    template <class Channel>
    static task send_time(Channel& to, ledger& all, std::chrono::microseconds pause) {
        participant mine(all, 0);
        while (!all.over()) {
            pause_for(pause);
            const item now = now_ns();
            if (!sent_at_once(to, now)) {
                static_cast<void>(co_await Family::wait(to.send(now)));
            }
            mine.gave(now);
        }
        static_cast<void>(co_await Family::wait(to.send(last)));
        mine.done();
    }

    template <class Channel>
    static task receive_time(Channel& from, ledger& all, std::vector<double>& samples) {
        participant mine(all, 1);
        while (true) {
            const auto waited = co_await Family::wait(from.receive());
            const item now = now_ns();
            const item got = *item_in(waited);
            if (got == last) {
                break;
            }
            if (mine.received(got)) {
                samples.push_back(static_cast<double>(now - got));
            }
        }
        mine.done();
    }

    template <class Channel>
    static task receive_once(Channel& from, std::size_t& served) {
        const auto waited = co_await Family::wait(from.receive());
        served += item_in(waited) == last ? 1U : 0U;
    }

    template <class Channel>
    static task send_last(Channel& to, std::size_t times) {
        for (std::size_t i = 0; i != times; ++i) {
            static_cast<void>(co_await Family::wait(to.send(last)));
        }
    }

    /// Waits until it is cancelled.
    template <class Meeting>
    static task wait_in_vain(Meeting& at, std::size_t id, std::size_t& cancelled) {
        const auto got = co_await Family::wait(at.wait(id));
        cancelled += Meeting::was_cancelled(got) ? 1U : 0U;
    }
};

} // namespace tryst::bench
