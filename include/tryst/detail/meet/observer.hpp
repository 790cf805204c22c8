// SPDX-License-Identifier: MIT
/// @file
/// What an exchanger's policies observe: its counters, and the spans of its waits.
/// Standard library only. Allocates only in the constructor of an exchanger that counts.
#pragma once

#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/waiter.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/platform/location.hpp>
#include <tryst/executor.hpp>
#include <tryst/result.hpp>
#include <tryst/statistics.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <source_location>
#include <system_error>
#include <type_traits>
#include <utility>

namespace tryst::detail {

/* Observation
 * The protocol reports its events to an observer, which is empty without policies.
 *
 *   arrive       a party begins to wait: it has found no partner, and is about to offer its waiter
 *   park         the party of a stoppable waiter is about to suspend
 *   matched      the caller has claimed a partner
 *   ended        a party's operation ends without an exchange
 *
 * I50. An observer is not touched after its exchanger may be destroyed: `arrive` comes before the
 *     offer, `matched` before the partner is completed, and `ended` while the exchanger is pinned
 *     or the party is still in its call (I6, steps.hpp).
 *
 * A span belongs to its waiter: the owner makes it before the offer and ends it after the wait. */

/// The time, at least 2 clock ticks after its epoch. It is read once in each batch of an executor's
/// work, because that takes longer than an exchange. A scope that does not say where its batches
/// begin may last for hours, so there it is read each time.
[[gnu::noinline, gnu::cold]] inline clock::rep read_batch_time(thread_state& here) noexcept {
    const auto now = std::max<clock::rep>(clock::now().time_since_epoch().count(), 2);
    if (here.has_batches) {
        here.batch_time = now;
    }
    return now;
}
[[gnu::always_inline]] inline clock::rep batch_time() noexcept {
    auto& here = per_thread<thread_state>();
    return here.batch_time != 0 ? here.batch_time : read_batch_time(here);
}

/// When a wait began.
class wait_start {
public:
    bool is_set() const noexcept { return load() != not_arrived; }

    /// @param later  whether `park` follows, where the time begins.
    [[gnu::always_inline]] void arrive(bool later) noexcept {
        store(later ? not_timed : batch_time());
    }
    void reset() noexcept { store(not_arrived); }
    void park() noexcept {
        if (load() == not_timed) {
            store(batch_time());
        }
    }

    /// Whether the wait began in the batch that this thread is running.
    [[gnu::always_inline]] bool is_recent() const noexcept {
        return load() == per_thread<thread_state>().batch_time;
    }

    /// The length of the wait until now; zero if it has not been timed.
    clock::duration length() const noexcept {
        const clock::rep began = load();
        return clock::duration(began <= not_timed ? 0
                                                  : std::max<clock::rep>(batch_time() - began, 0));
    }

private:
    static constexpr clock::rep not_arrived = 0;
    static constexpr clock::rep not_timed = 1;

    clock::rep load() const noexcept {
        // Relaxed: a completer that misses `park` takes the wait for a short one. It acquired
        // `arrive` with the waiter.
        return since_.load(std::memory_order_relaxed);
    }
    void store(clock::rep since) noexcept {
        // [E4] relaxed: as above.
        since_.store(since, std::memory_order_relaxed);
    }

    atomic<clock::rep> since_{not_arrived};
};

/// The span of a wait.
template <class Span>
class wait_span {
public:
    void begin(const char* name, location where) noexcept {
        if constexpr (std::is_nothrow_constructible_v<Span, const char*, std::source_location>) {
            span_.emplace(name, std::source_location(where));
        } else {
            span_.emplace(name);
        }
    }
    void show_deadline(clock::time_point when) noexcept {
        if constexpr (requires { span_->set_deadline(when); }) {
            if (span_) {
                span_->set_deadline(when);
            }
        }
    }
    void end(outcome how) noexcept {
        if (span_) {
            span_->end(how == outcome::exchanged
                           ? std::error_code()
                           : make_error_code(static_cast<exchange_errc>(how)));
            span_.reset();
        }
    }

private:
    std::optional<Span> span_;
};

template <class Span>
concept is_span = (std::is_nothrow_constructible_v<Span, const char*> ||
                   std::is_nothrow_constructible_v<Span, const char*, std::source_location>) &&
                  requires(Span& span) {
                      { span.end(std::error_code()) } noexcept;
                  };

/// Fails to compile at the first mistake. A function, because clang reports further errors for
/// members of a class in which an assertion fails.
template <class Span, bool IsOnly>
constexpr bool check_span() {
    static_assert(is_span<Span>,
                  "tryst::traced<Span>: Span needs a constructor Span(const char*) or "
                  "Span(const char*, std::source_location), and a function end(std::error_code), "
                  "both noexcept");
    static_assert(fits_frames<Span>, "tryst::traced<Span>: Span must not be over-aligned");
    static_assert(IsOnly,
                  "tryst: an exchanger has at most one tryst::traced<Span>; tryst::listed is one");
    return is_span<Span> && fits_frames<Span> && IsOnly;
}

/// The policies of an exchanger.
template <class... Policies>
struct policies {
    static constexpr bool counts = false;
    using span = void;
};
template <class... Others>
struct policies<counted, Others...> : policies<Others...> {
    static constexpr bool counts = true;
};
template <class Span, class... Others>
struct policies<traced<Span>, Others...> : policies<Others...> {
    using span = std::conditional_t<
        detail::check_span<Span, std::is_void_v<typename policies<Others...>::span>>(), Span, void>;
};
template <class Unknown, class... Others>
struct policies<Unknown, Others...> : policies<Others...> {
    static_assert(!std::is_same_v<Unknown, Unknown>,
                  "tryst: the policies of an exchanger are tryst::counted and tryst::traced<Span>, "
                  "and those of tryst::channel also weighted<Of> and single_threaded");
};

/// The counters that a constructor was given, if any.
class given_counters {
public:
    given_counters() noexcept = default;
    given_counters(counters& shared) noexcept : shared_(&shared) {}

private:
    friend class counters_reference;
    counters* shared_ = nullptr;
};

/// The counters of an exchanger: its own, or shared ones.
class counters_reference {
public:
    explicit counters_reference(given_counters given)
        : own_(given.shared_ == nullptr ? std::make_unique<counters>() : nullptr),
          used_(own_ ? own_.get() : given.shared_) {}

    [[gnu::always_inline]] void count(counted_event event) noexcept { used_->count(event); }
    void record_wait(clock::duration length) noexcept { used_->record_wait(length); }
    statistics stats() const noexcept { return used_->stats(); }

private:
    std::unique_ptr<counters> own_;
    counters* used_;
};

/// A part of an observer or of its waiter that its policies do not need.
template <int>
struct absent {};

/// The waiter of an exchanger with policies. Wait lists and slots know only the base.
template <class... Policies>
struct observed_waiter : waiter {
    using chosen = policies<Policies...>;
    static constexpr bool traces = !std::is_void_v<typename chosen::span>;

    observed_waiter() noexcept {
        if constexpr (traces) {
            waits_at.set({}); // a span reads it, also where no client sets it
        }
    }

    [[no_unique_address]] std::conditional_t<chosen::counts, wait_start, absent<0>> began;
    [[no_unique_address]] std::conditional_t<traces, wait_span<typename chosen::span>, absent<1>>
        span;
};

template <class... Policies>
class observer {
public:
    using span = typename policies<Policies...>::span;
    static constexpr bool traces = !std::is_void_v<span>;
    static constexpr bool counts = policies<Policies...>::counts;
    using waiter =
        std::conditional_t<sizeof...(Policies) == 0, detail::waiter, observed_waiter<Policies...>>;

    using given = std::conditional_t<counts, given_counters, absent<2>>;
    explicit observer(given shared = {}) : counters_(shared) {}

    [[gnu::always_inline]] void count([[maybe_unused]] counted_event event,
                                      bool happened = true) noexcept {
        if constexpr (counts) {
            if (happened) {
                counters_.count(event);
            }
        }
    }

    statistics stats() const noexcept { return counters_.stats(); }

    /// Call before the first offer of `w`; not again if `w` moves.
    [[gnu::always_inline]] void arrive([[maybe_unused]] waiter& w,
                                       [[maybe_unused]] const char* name) noexcept {
        if constexpr (counts) {
            count(counted_event::wait);
            // Only stoppable waiters are parked by `steps::park`.
            w.began.arrive(w.kind == waiter::kind_type::stoppable);
        }
        if constexpr (traces) {
            w.span.begin(name, w.waits_at.get());
        }
    }

    /// Call before `w` is parked.
    void park([[maybe_unused]] waiter& w) noexcept {
        if constexpr (counts) {
            w.began.park();
        }
    }

    /// Call when the party of `w` has claimed `q`, before it completes `q`.
    [[gnu::always_inline]] void matched([[maybe_unused]] waiter& w,
                                        [[maybe_unused]] detail::waiter& q) noexcept {
        if constexpr (counts) {
            if (!w.began.is_set()) [[likely]] {
                count(counted_event::exchange);
            } else {
                count_late_exchange(w);
            }
            record_wait(static_cast<waiter&>(q));
        }
    }

    /// Call when an item of `w` has found its other side during the call of `w`.
    /// @param covers  whether the party's own arrival counts for this item.
    [[gnu::always_inline]] void paired([[maybe_unused]] const waiter& w,
                                       [[maybe_unused]] bool covers) noexcept {
        if constexpr (counts) {
            count(covers && w.began.is_set() ? counted_event::late_exchange
                                             : counted_event::exchange);
        }
    }

    /// Call when an item of `w` enters a buffer during the call of `w`. `covers` is as above.
    [[gnu::always_inline]] void entered([[maybe_unused]] const waiter& w,
                                        [[maybe_unused]] bool covers) noexcept {
        if constexpr (counts) {
            count(counted_event::wait, !(covers && w.began.is_set()));
        }
    }

    /// Call before the wait of `w` ends with an exchange that was counted already.
    void waited([[maybe_unused]] detail::waiter& w) noexcept {
        if constexpr (counts) {
            record_wait(static_cast<waiter&>(w));
        }
    }

    /// Call when the operation of `w` ends without an exchange.
    void ended([[maybe_unused]] detail::waiter& w, [[maybe_unused]] outcome how) noexcept {
        if constexpr (counts) {
            auto& ending = static_cast<waiter&>(w);
            count(event_of(how));
            count(counted_event::wait, !ending.began.is_set());
            record_wait(ending);
        }
    }

    /// Call when items leave a buffer because of its close. Each was counted as waiting.
    void closed([[maybe_unused]] std::size_t items) noexcept {
        if constexpr (counts) {
            for (; items != 0; --items) {
                count(counted_event::closed);
            }
        }
    }

    /// Call on the owner's side, between `arrive` and `end_wait`.
    static void show_deadline([[maybe_unused]] waiter& w,
                              [[maybe_unused]] clock::time_point when) noexcept {
        if constexpr (traces) {
            w.span.show_deadline(when);
        }
    }

    /// Call on the owner's side when the wait of `w` is over. The exchanger may be gone.
    static void end_wait([[maybe_unused]] waiter& w, [[maybe_unused]] outcome how) noexcept {
        if constexpr (traces) {
            w.span.end(how);
        }
    }

    /// Call after `end_wait`, if `w` may wait again.
    static void renew([[maybe_unused]] waiter& w) noexcept {
        if constexpr (counts) {
            w.began.reset();
        }
    }

private:
    static constexpr counted_event event_of(outcome how) noexcept {
        switch (how) {
        case outcome::timed_out:
            return counted_event::timeout;
        case outcome::closed:
            return counted_event::closed;
        case outcome::no_partner:
            return counted_event::no_partner;
        case outcome::out_of_memory:
            return counted_event::out_of_memory;
        case outcome::not_selected:
            return counted_event::not_selected;
        default:
            return counted_event::cancellation;
        }
    }

    /// Not inlined, because few parties wait before they claim another.
    [[gnu::noinline, gnu::cold]] void count_late_exchange(const waiter& w) noexcept {
        count(counted_event::late_exchange);
        record_wait(w);
    }

    [[gnu::always_inline]] void record_wait(const waiter& w) noexcept {
        if (!w.began.is_recent()) {
            record_long_wait(w);
        }
    }
    [[gnu::noinline, gnu::cold]] void record_long_wait(const waiter& w) noexcept {
        if (const auto length = w.began.length(); length.count() != 0) {
            counters_.record_wait(length);
        }
    }

    [[no_unique_address]] std::conditional_t<counts, counters_reference, absent<2>> counters_;
};

} // namespace tryst::detail
