// SPDX-License-Identifier: MIT
/// @file
/// A stop source that is a plain object: unlike `std::stop_source`, it allocates nothing.
/// Standard library only. Never allocates or throws.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/detail/run/linked_list.hpp>

#include <cassert>
#include <cstdint>
#include <utility>

namespace tryst {
/// @addtogroup waiting
/// @{

class inplace_stop_token;
template <class Callback>
class inplace_stop_callback;

namespace detail {

/// A registered callback.
struct inplace_stop_node : list_links<inplace_stop_node> {
    explicit inplace_stop_node(void (*function)(inplace_stop_node*) noexcept) noexcept
        : call(function) {}

    void (*const call)(inplace_stop_node*) noexcept;
};

} // namespace detail

/* The stop source
 * One word holds two bits: whether a stop was requested, and the lock of everything else.
 *
 *   request  Takes the callbacks out of the list one by one. Calls each without the lock.
 *   add      Links the callback. If a stop was requested, calls it instead.
 *   remove   Unlinks the callback. If another thread is calling it, waits until the call returns.
 *
 * I46. A stop callback is called at most once: it is called by the thread that took it out of the
 *     list, or that never linked it. While a requester calls it, `running_` names it. The requester
 *     does not touch it after the call, so a callback may destroy itself. */

/// A source of stops, like the class of this name in P2300. Its tokens and callbacks must not
/// outlive it, and it must not be destroyed before a `request_stop` has returned, such as by one of
/// the callbacks.
class inplace_stop_source {
public:
    inplace_stop_source() noexcept = default;
    inplace_stop_source(inplace_stop_source&&) = delete;
    ~inplace_stop_source() {
        assert(running_ == nullptr &&
               "tryst: an inplace_stop_source was destroyed by a callback of its own");
    }

    /// Requests a stop, and calls the registered callbacks. Call from any thread.
    /// @returns whether this was the first request.
    /// @sync everything before the first request happens-before its callbacks, and before the
    ///   return of each `stop_requested` that is true.
    bool request_stop() noexcept {
        const bits before = lock();
        if ((before & requested) == 0) {
            requester_ = detail::this_thread_address();
            while (!callbacks_.empty()) {
                node& callback = *callbacks_.front();
                callbacks_.remove(callback);
                running_ = &callback;
                unlock(requested);
                callback.call(&callback); // may end its lifetime
                lock();
                running_ = nullptr;
            }
        }
        unlock(requested);
        return (before & requested) == 0;
    }

    /// Whether a stop was requested.
    bool stop_requested() const noexcept {
        // [B1] acquire, pairs with [B3]: everything before the request.
        return (word_.load(std::memory_order_acquire) & requested) != 0;
    }

    /// A token of this source.
    inline inplace_stop_token get_token() noexcept;

private:
    template <class Callback>
    friend class inplace_stop_callback;
    using node = detail::inplace_stop_node;
    using bits = std::uint8_t;

    static constexpr bits requested = 1;
    static constexpr bits locked = 2;

    /// @returns the word without the lock.
    bits lock() noexcept {
        bits seen = 0;
        do {
            detail::spin_until([&] {
                // Relaxed: the CAS acquires.
                seen = word_.load(std::memory_order_relaxed);
                return (seen & locked) == 0;
            });
            // [B2] acquire, pairs with [B3]: what the lock guards. Failure relaxed: tried again.
        } while (!word_.compare_exchange_weak(seen, static_cast<bits>(seen | locked),
                                              std::memory_order_acquire,
                                              std::memory_order_relaxed));
        return seen;
    }
    void unlock(bits now) noexcept {
        // [B3] release, pairs with [B1] and [B2].
        word_.store(now, std::memory_order_release);
    }

    /// @returns false if a stop was requested before; then it is not registered.
    bool add(node& callback) noexcept {
        const bits now = lock();
        if (now == 0) {
            callbacks_.push_front(callback);
        }
        unlock(now);
        return now == 0;
    }

    void remove(node& callback) noexcept {
        bool wait = false;
        const bits now = lock();
        if (callback.is_linked()) {
            callbacks_.remove(callback);
        } else {
            wait = running_ == &callback && requester_ != detail::this_thread_address();
        }
        unlock(now);
        if (wait) {
            detail::yield_until([&] {
                lock();
                const bool returned = running_ != &callback;
                unlock(requested);
                return returned;
            });
        }
    }

    detail::linked_list<node> callbacks_;
    node* running_ = nullptr; ///< The callback that `requester_` is calling.
    const void* requester_ = nullptr;
    detail::atomic<bits> word_{0};
};

/// A stop token of an `inplace_stop_source`, or of none.
class inplace_stop_token {
public:
    /// The callback type (see `stoppable_token`).
    template <class Callback>
    using callback_type = inplace_stop_callback<Callback>;

    /// A token without a source.
    inplace_stop_token() noexcept = default;

    /// Whether a stop was requested.
    bool stop_requested() const noexcept { return source_ != nullptr && source_->stop_requested(); }
    /// Whether there is a source.
    bool stop_possible() const noexcept { return source_ != nullptr; }

    /// Whether both have the same source, or none.
    bool operator==(const inplace_stop_token& other) const noexcept = default;

private:
    friend inplace_stop_source;
    template <class Callback>
    friend class inplace_stop_callback;

    explicit inplace_stop_token(inplace_stop_source& source) noexcept : source_(&source) {}

    inplace_stop_source* source_ = nullptr;
};

/// Calls a function when a stop is requested, on the thread that requests it; or at once, if a stop
/// was requested before. The destructor waits until a call on another thread has returned. The
/// function must not throw.
template <class Callback>
class inplace_stop_callback : detail::inplace_stop_node {
public:
    /// Registers `function`.
    template <class Function>
    inplace_stop_callback(inplace_stop_token token, Function&& function)
        : detail::inplace_stop_node([](detail::inplace_stop_node* self) noexcept {
              static_cast<inplace_stop_callback*>(self)->callback_();
          }),
          source_(token.source_), callback_(std::forward<Function>(function)) {
        if (source_ != nullptr && !source_->add(*this)) {
            source_ = nullptr;
            callback_();
        }
    }
    inplace_stop_callback(inplace_stop_callback&&) = delete;
    ~inplace_stop_callback() {
        if (source_ != nullptr) {
            source_->remove(*this);
        }
    }

private:
    inplace_stop_source* source_;
    Callback callback_;
};

/// A callback of the decayed type.
template <class Callback>
inplace_stop_callback(inplace_stop_token, Callback) -> inplace_stop_callback<Callback>;

inline inplace_stop_token inplace_stop_source::get_token() noexcept {
    return inplace_stop_token(*this);
}

/// @}
} // namespace tryst
