// SPDX-License-Identifier: MIT
/// @file
/// One exchanger in a stress test. Participants of any kind exchange in every way until it is
/// closed; their history is recorded.
#pragma once

#include "support/history.hpp"
#include "support/tracked.hpp"

#include <tryst/exchanger.hpp>
#include <tryst/result.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <latch>
#include <limits>
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <thread>
#include <utility>

namespace tryst::test {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;

inline constexpr std::array all_errors{exchange_errc::timed_out, exchange_errc::cancelled,
                                       exchange_errc::closed, exchange_errc::no_partner};

/// Before the items of participant `number`, of whom there are at most 127. All differ.
constexpr long first_item(std::size_t number) {
    return static_cast<long>(number) << (std::numeric_limits<long>::digits - 8);
}

/// A stop source that is renewed at each press.
class stop_button {
public:
    struct wire {
        std::stop_token token;
        history::stop_id source;
    };

    wire current() {
        const std::scoped_lock lock(mutex_);
        return {source_.get_token(), id_};
    }

    void press(history::log& log) {
        std::stop_source pressed;
        history::stop_id id = 0;
        {
            const std::scoped_lock lock(mutex_);
            std::swap(pressed, source_);
            id = id_++;
        }
        log.stop(id, [&] { pressed.request_stop(); });
    }

private:
    std::mutex mutex_;
    std::stop_source source_;
    history::stop_id id_ = 1;
};

/// One exchanger, and the parties that exchange there until it is closed.
struct scene {
    explicit scene(std::size_t participants)
        : record(participants + 1), left(static_cast<std::ptrdiff_t>(participants)) {}

    census items;
    exchanger<tracked> ex;
    stop_button button;
    history record; ///< The last log is for the thread that presses and closes.
    std::latch left;
};

/// Random choices of a participant.
class dice {
public:
    explicit dice(std::size_t seed) : engine_(static_cast<unsigned>(seed) + 1) {}

    unsigned roll() { return static_cast<unsigned>(engine_() % 20); }

    /// Mostly short, sometimes over before it began.
    std::chrono::microseconds patience() {
        return std::chrono::microseconds(engine_() % 200) - 20us;
    }

private:
    std::minstd_rand engine_;
};

/// One participant's next operation: what it will do, and its entry in the history.
class turn {
public:
    template <class Scene>
    turn(Scene& s, std::size_t number, long item, dice& random,
         history::colour colour = history::colour::any)
        : items_(s.items), roll_(random.roll()),
          what_{.given = first_item(number) + item, .colour = colour} {
        if (tries()) {
            what_.way = history::way::tries;
        }
        if (has_stop()) {
            stop_button::wire wire = s.button.current();
            stop = std::move(wire.token);
            what_.stop = wire.source;
        }
        if (has_deadline()) {
            patience = random.patience();
            what_.way = patience > 0us ? history::way::waits : history::way::overdue;
            what_.deadline = steady::now() + patience;
            what_.relative = true;
        }
        entry_.emplace(s.record[number].begin(what_));
    }

    bool tries() const noexcept { return roll_ >= 19; }
    bool has_stop() const noexcept { return (roll_ >= 12 && roll_ < 15) || has_both(); }
    bool has_deadline() const noexcept { return roll_ >= 15 && roll_ < 19; }
    bool has_both() const noexcept { return roll_ >= 17 && roll_ < 19; }
    bool is_red() const noexcept { return what_.colour == history::colour::red; }

    tracked item() noexcept { return {items_, what_.given}; }

    /// Enters the outcome. @returns whether the exchanger is open.
    bool end(const exchange_result<tracked>& got) {
        entry_->returned(got);
        return got.error() != exchange_errc::closed;
    }

    /// The coroutine has suspended, and had its place in the queue by `when`.
    void queued(history::stamp when) { entry_->queued(when); }

    std::stop_token stop;
    std::chrono::microseconds patience{};

private:
    census& items_;
    unsigned roll_;
    history::call what_;
    std::optional<history::operation> entry_;
};

/// A coroutine of any kind that exchanges in every way until the exchanger is closed.
template <class Coroutine>
Coroutine coroutine_party(scene& s, std::size_t number) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        turn t(s, number, i, random);
        if (t.tries()) {
            open = t.end(s.ex.try_exchange(t.item()));
        } else if (t.has_both()) {
            open = t.end(co_await s.ex.exchange(t.item(), t.patience, std::move(t.stop)));
        } else if (t.has_deadline()) {
            open = t.end(co_await s.ex.exchange(t.item(), t.patience));
        } else if (t.has_stop()) {
            open = t.end(co_await s.ex.exchange(t.item(), std::move(t.stop)));
        } else {
            open = t.end(co_await s.ex.exchange(t.item()));
        }
    }
    s.left.count_down();
}

/// A thread, or a fiber, that does the same: `wait` is how it waits for an operation.
template <class Wait>
void blocking_party(scene& s, std::size_t number, Wait wait) {
    dice random(number);
    bool open = true;
    for (long i = 0; open; ++i) {
        turn t(s, number, i, random);
        if (t.tries()) {
            open = t.end(s.ex.try_exchange(t.item()));
        } else if (t.has_both()) {
            open = t.end(wait(s.ex.exchange(t.item(), t.patience, std::move(t.stop))));
        } else if (t.has_deadline()) {
            open = t.end(wait(s.ex.exchange(t.item(), t.patience)));
        } else if (t.has_stop()) {
            open = t.end(wait(s.ex.exchange(t.item(), std::move(t.stop))));
        } else {
            open = t.end(wait(s.ex.exchange(t.item())));
        }
    }
    s.left.count_down();
}

/// Presses the stop button for a moment, then closes. In a thread of its own.
inline void press_and_close(scene& s, history::log& log) {
    for (const auto end = steady::now() + 40ms; steady::now() < end;) {
        s.button.press(log);
        std::this_thread::yield();
    }
    log.close(0, [&s] { s.ex.close(); });
}

} // namespace tryst::test
