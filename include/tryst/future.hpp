// SPDX-License-Identifier: MIT
/// @file
/// One item that another party will send: a future, and the promise of it.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/buffering.hpp>
#include <tryst/detail/meet/future_state.hpp>
#include <tryst/detail/meet/item_buffer.hpp>
#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/observer.hpp>
#include <tryst/detail/meet/section_lock.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/result.hpp>
#include <tryst/wait_limit.hpp>

#include <memory>
#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

template <class T>
class future;

/// The right to set the item of one `future`, once. One word, which can be moved, also to another
/// thread. Destroying it without `set` ends the future's wait with `closed`.
///
/// The promise and its future may be used, moved and destroyed at the same time, by different
/// threads. The promise itself is used by one thread at a time, like any object.
///
/// @progress    blocking, for a few instructions: it waits while another thread uses the future.
/// @allocation  none.
template <class T>
class promise {
    using rules = detail::buffer_rules<T, void, detail::section_lock, detail::observer<>>;
    using protocol = detail::protocol<detail::future_state<rules>, detail::observer<>>;

public:
    using value_type = T; ///< The type of the item.

    /// A promise without a future.
    promise() noexcept = default;
    /// Takes over the future of `other`, which has none then.
    promise(promise&& other) noexcept { other.move_to(*this); }
    /// As above. The future of this one, if it has one, ends its wait with `closed`.
    promise& operator=(promise&& other) noexcept {
        if (this != &other) {
            drop();
            other.move_to(*this);
        }
        return *this;
    }
    ~promise() { drop(); }

    /// Puts `item` into the future, or hands it to the party that waits there.
    /// @returns  success; or the error `closed`, with `item` in `returned()`, if the promise has no
    ///   future: the future was destroyed, or the promise was set or moved before.
    /// @throws   nothing.
    /// @resumes  a party that has no executor resumes inline, in this call. It may destroy the
    ///   promise.
    /// @sync     everything before this call happens-before the return of `get` or `try_get`.
    ///   Everything before the destruction of the future happens-before a return of `closed`.
    exchange_result<void, T> set(T item) noexcept {
        if (protocol* const with = take(); with != nullptr && with->resolve(std::addressof(item))) {
            return exchange_result<void, T>(detail::nothing());
        }
        return {exchange_errc::closed, std::move(item)};
    }

    /// Whether the promise has a future. If false, `set` will fail, so the work for the item can be
    /// saved. The future may end at any time.
    explicit operator bool() const noexcept { return word_.is_set(); }

private:
    friend future<T>;
    explicit promise(protocol& with) noexcept : word_(&with) { with.connect(word_); }

    protocol* take() noexcept { return static_cast<protocol*>(word_.take()); }
    void move_to(promise& to) noexcept {
        if (protocol* const with = take()) {
            with->move_promise(to.word_);
        }
    }
    void drop() noexcept {
        if (protocol* const with = take()) {
            with->resolve(nullptr);
        }
    }

    detail::promise_word word_;
};

/// A place for one item, which a `promise` will set: for example the reply to a request. It can be
/// in the frame of the coroutine that waits, or anywhere else; it cannot be moved.
///
/// The item that is set is received once, or destroyed with the future. A `get` that fails has
/// taken nothing, and may be called again. Parties of all kinds can wait: coroutines, threads and
/// fibers, and so can a case of `select`. One party waits at a time; a second one is an error (an
/// assertion).
///
/// The destructor ends a wait with `closed`. It may run while another thread uses the promise, but
/// not while another thread begins a wait.
///
/// @progress    blocking, as for `promise`.
/// @allocation  none.
/// @tparam T  the type of the item: any object type whose move constructor and destructor do not
///   throw, and that is not over-aligned. Both may run under a lock, so they must not use the
///   future or the promise.
template <class T>
class future {
    using rules = typename promise<T>::rules;
    using protocol = typename promise<T>::protocol;
    using receivers = detail::factory<
        detail::buffer_side<rules, detail::item_receiver<rules>, detail::future_state<rules>>>;

    static_assert(detail::is_exchangeable<T>,
                  "tryst::future<T>: T must be a non-array, non-const object type with a nothrow "
                  "destructor and a nothrow move constructor, because a transfer that has begun "
                  "cannot be undone");
    static_assert(detail::fits_frames<T>,
                  "tryst::future<T>: T must not be over-aligned, because compilers do not align "
                  "coroutine frames for it; use a std::unique_ptr<T> instead");

public:
    using value_type = T; ///< The type of the item.

    future() noexcept = default;
    future(const future&) = delete;
    future& operator=(const future&) = delete;
    ~future() = default;

    /// The promise. Call it once; a second call is an error (an assertion).
    [[nodiscard]] promise<T> get_promise() noexcept { return promise<T>(protocol_); }

    /// Waits until the promise is set, and takes the item.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    /// @returns  an awaitable of `exchange_result<T, void>`: the item, or an error. `closed` means
    ///   that the promise was destroyed before it was set, or that the item was taken before. Its
    ///   guarantees are those of `exchange_operation`, except for its progress. If the coroutine is
    ///   destroyed after it has received the item, and before it resumes, the item is destroyed
    ///   with it.
    template <class... Limit>
    [[nodiscard]] auto get(Limit... limit) noexcept {
        return receivers::make_exchange(protocol_, {}, std::move(limit)...);
    }

    /// Takes the item, or fails at once: with `no_partner` if the promise has not been set yet, or
    /// with `closed`, as `get`.
    exchange_result<T, void> try_get() noexcept { return receivers::try_exchange(protocol_, {}); }
    /// @cond
    template <class... Limit>
    auto try_get(Limit...) {
        return detail::refuse_limits<exchange_result<T, void>, Limit...>();
    }
    /// @endcond

private:
    protocol protocol_;
};

/// @}
} // namespace tryst
