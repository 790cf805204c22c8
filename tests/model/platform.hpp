// SPDX-License-Identifier: MIT
/// @file
/// The platform of the model checker: what tryst/detail/platform/atomic.hpp is to a real machine.
#pragma once

#include "model/checker.hpp"
#include "model/stop_token.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#define TRYST_TRACE(which, ...)                                                                    \
    ::tryst::model::the_checker().reached(static_cast<std::size_t>(step::which), "step::" #which,  \
                                          ::tryst::model::site::current())

namespace tryst::detail {

/// No implicit orders: whoever forgets one gets an error.
template <class T>
class atomic {
    using site = model::site;
    using word = model::word;
    using order = std::memory_order;

public:
    // NOLINTNEXTLINE(google-explicit-constructor): as std::atomic.
    atomic(T initial = T())
        : number_(model::the_checker().make_atomic(static_cast<word>(initial))) {}
    ~atomic() { model::the_checker().enter(model::access::write, &number_, sizeof number_); }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(order o, site where = site::current()) const {
        return static_cast<T>(model::the_checker().load(&number_, o, where));
    }
    void store(T desired, order o, site where = site::current()) {
        model::the_checker().store(&number_, static_cast<word>(desired), o, where);
    }
    T exchange(T desired, order o, site where = site::current()) {
        return update([](word, word operand) { return operand; }, desired, o, "swap ", where);
    }
    T fetch_add(T operand, order o, site where = site::current()) {
        return update([](word now, word with) { return wrap(now + with); }, operand, o, "add  ",
                      where);
    }
    T fetch_sub(T operand, order o, site where = site::current()) {
        return update([](word now, word with) { return wrap(now - with); }, operand, o, "sub  ",
                      where);
    }
    T fetch_or(T operand, order o, site where = site::current()) {
        return update([](word now, word with) { return now | with; }, operand, o, "or   ", where);
    }
    bool compare_exchange_strong(T& expected, T desired, order success, order failure,
                                 site where = site::current()) {
        return compare_exchange(expected, desired, success, failure, false, where);
    }
    bool compare_exchange_weak(T& expected, T desired, order success, order failure,
                               site where = site::current()) {
        return compare_exchange(expected, desired, success, failure, true, where);
    }

    /// What a compare-exchange must not be: for mutants.
    bool split_compare_exchange(T& expected, T desired, order success, order failure,
                                site where = site::current()) {
        const T seen = load(failure, where);
        const bool equal = seen == expected;
        if (equal) {
            store(desired, success, where);
        }
        expected = seen;
        return equal;
    }

    /// The kernel's side of a futex.
    const unsigned* address() const noexcept { return &number_; }

private:
    static word wrap(word result) { return static_cast<word>(static_cast<T>(result)); }

    T update(model::checker::operation with, T operand, order o, const char* what, site where) {
        return static_cast<T>(model::the_checker().update(
            &number_, with, static_cast<word>(operand), o, what, where));
    }
    bool compare_exchange(T& expected, T desired, order success, order failure, bool weak,
                          site where) {
        auto seen = static_cast<word>(expected);
        const bool done = model::the_checker().compare_exchange(
            &number_, seen, static_cast<word>(desired), success, failure, weak, where);
        expected = static_cast<T>(seen);
        return done;
    }

    unsigned number_;
};

struct clock {
    using duration = std::chrono::nanoseconds;
    using rep = duration::rep;
    using period = duration::period;
    using time_point = std::chrono::time_point<std::chrono::steady_clock, duration>;
    static constexpr bool is_steady = true;

    static time_point now(model::site where = model::site::current()) {
        return time_point(duration(model::the_checker().os().now(where)));
    }
};

using stop_token = model::stop_token;
template <class Callback>
using stop_callback = model::stop_callback<Callback>;

template <class T>
inline const unsigned kind_of_local = model::the_checker().new_kind();

template <class T>
T& per_thread() {
    auto& local = model::the_checker().local(kind_of_local<T>);
    if (local.object == nullptr) {
        auto* const made = new T();
        if constexpr (requires { made->random; }) {
            made->random = 1; // a seed that depends neither on the clock nor on an address
        }
        local = {made, [](void* object) { delete static_cast<T*>(object); }};
    }
    return *static_cast<T*>(local.object);
}

inline const void* this_thread_address() noexcept {
    return &per_thread<char>();
}

/// Each thread of the model has a number, with which no other thread begins.
inline std::uint32_t find_thread_number() noexcept {
    return static_cast<std::uint32_t>(model::the_checker().current());
}
inline std::uint32_t thread_number_if_known() noexcept {
    return find_thread_number();
}
inline const void* thread_number_source() noexcept {
    return nullptr;
}

inline void spin_pause() noexcept {}

inline void prefetch_for_write(const void* /*address*/) noexcept {}

inline void yield_thread() noexcept {
    model::the_checker().yield();
}

inline bool yield_core() noexcept {
    yield_thread();
    return true;
}

/// Priorities are not modelled.
inline void nap() noexcept {}
inline constexpr unsigned yields_before_nap = 1;

template <class Done>
void yield_until(Done done) {
    while (!done()) {
        model::the_checker().wait_for_change(model::site::current());
    }
}

template <class Done>
void retry_until(Done done) {
    model::the_checker().begin_retries();
    while (!done()) {
        model::the_checker().wait_for_progress(model::site::current());
    }
    model::the_checker().end_retries();
}

/// A thread looks once: more looks show nothing new.
inline constexpr int spin_pauses = 1;
inline constexpr int spin_rounds = 1;
inline constexpr int arena_rounds = 1;
inline constexpr std::chrono::nanoseconds lone_patience{0}; // likewise
inline constexpr std::uint8_t most_completions = 64;
inline constexpr std::size_t held_cases = 2;
inline constexpr int lock_looks = 0;
inline constexpr int first_lock_pauses = 0;
inline constexpr int most_lock_pauses = 0;
inline constexpr std::size_t items_per_section = 2;

inline unsigned processor_count() noexcept {
    return 1; // one slot beside slot 0
}

class sleep_word {
public:
    atomic<std::uint32_t> value{0};

    void sleep(std::uint32_t seen, model::site where = model::site::current()) noexcept {
        model::the_checker().os().sleep(value.address(), seen, model::never, where);
    }
    void sleep_until(std::uint32_t seen, clock::time_point deadline,
                     model::site where = model::site::current()) noexcept {
        model::the_checker().os().sleep(value.address(), seen, deadline.time_since_epoch().count(),
                                        where);
    }
    void store_and_wake(std::uint32_t desired,
                        model::site where = model::site::current()) noexcept {
        const unsigned* const address = value.address();
        value.store(desired, std::memory_order_release, where);
        model::the_checker().os().wake(address, where);
    }
    void let_waker_finish() noexcept {}
};

} // namespace tryst::detail
