// SPDX-License-Identifier: MIT
/// @file
/// A channel without a buffer: a sender hands each item directly to a receiver.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/result.hpp>
#include <tryst/statistics.hpp>
#include <tryst/wait_limit.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

/// A channel in which `send` waits for a receiver, `receive` waits for a sender, and the item
/// passes between them. Any number of senders or of receivers may wait.
///
/// Apart from the names, it is a `red_blue_exchanger` whose blue parties bring no item. That class
/// documents which parties can meet, which threads may call the members, and the allocation.
///
/// @tparam T      the type of the items: any object type whose move constructor and destructor do
///   not throw, and that is not over-aligned.
/// @tparam Order  which of the waiting parties an arrival matches.
/// @tparam Policies  as for `exchanger`.
template <class T, order Order = order::fifo, class... Policies>
class synchronous_channel {
    using observer = detail::observer<Policies...>;

    static_assert(
        detail::is_exchangeable<T>,
        "tryst::synchronous_channel<T>: T must be a non-array, non-const object type with a "
        "nothrow destructor and a nothrow move constructor, because a transfer that has begun "
        "cannot be undone");
    static_assert(detail::fits_frames<T>,
                  "tryst::synchronous_channel<T>: T must not be over-aligned, because compilers do "
                  "not align coroutine frames for it; send a std::unique_ptr<T> instead");

public:
    using value_type = T; ///< The type of the items.

    /// Makes an open channel.
    /// @param shared  as for `exchanger`.
    /// @throws std::bad_alloc.
    synchronous_channel(typename observer::given shared = {})
        : protocol_(std::make_unique<protocol>(sides::default_capacity(), shared)) {}

    /// As above.
    /// @param capacity  how many pairs can meet at the same time in addition to the wait list, as
    ///   in `red_blue_exchanger`. It does not count items: a channel stores none.
    explicit synchronous_channel(std::size_t capacity, typename observer::given shared = {})
        requires(Order != order::fifo)
        : protocol_(std::make_unique<protocol>(capacity, shared)) {}

    synchronous_channel(const synchronous_channel&) = delete;
    synchronous_channel& operator=(const synchronous_channel&) = delete;

    /// Closes the channel, with the guarantees of `exchanger`'s destructor.
    ~synchronous_channel() = default;

    /// Hands `item` to a receiver, and waits until one takes it.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    /// @returns  an awaitable of `exchange_result<void, T>`: success if the item was received; or
    ///   an error, with `item` in `returned()`. Its guarantees are those of `exchange_operation`.
    template <class... Limit>
    [[nodiscard]] auto send(T item, Limit... limit) noexcept {
        return sides::red::make_exchange(*protocol_, std::move(item), std::move(limit)...);
    }

    /// As `send`, but fails at once with `no_partner` if no receiver waits: see
    /// `red_blue_exchanger::try_red`.
    exchange_result<void, T> try_send(T item) noexcept {
        return sides::red::try_exchange(*protocol_, std::move(item));
    }
    /// @cond
    template <class... Limit>
    auto try_send(T, Limit...) {
        return detail::refuse_limits<exchange_result<void, T>, Limit...>();
    }
    /// @endcond

    /// Waits for a sender, and takes its item.
    /// @param limit  as for `send`.
    /// @returns  an awaitable of `exchange_result<T, void>`: the item, or an error. Its guarantees
    ///   are those of `exchange_operation`.
    template <class... Limit>
    [[nodiscard]] auto receive(Limit... limit) noexcept {
        return sides::blue::make_exchange(*protocol_, detail::nothing(), std::move(limit)...);
    }

    /// As `receive`, but fails at once with `no_partner` if no sender waits.
    exchange_result<T, void> try_receive() noexcept {
        return sides::blue::try_exchange(*protocol_, detail::nothing());
    }
    /// @cond
    template <class... Limit>
    auto try_receive(Limit...) {
        return detail::refuse_limits<exchange_result<T, void>, Limit...>();
    }
    /// @endcond

    /// As `red_blue_exchanger::close`. No item is left in the channel, because it has no buffer.
    void close() noexcept { protocol_->close(); }

    /// Whether `close` has been called. Once true, it stays true.
    bool is_closed() const noexcept { return protocol_->is_closed(); }

    /// As `exchanger::stats`.
    statistics stats() const noexcept
        requires(observer::counts)
    {
        return protocol_->stats();
    }

    /// As `exchanger::set_name`.
    void set_name(const char* name) noexcept { protocol_->set_name(name); }

    /// As `exchanger::name`.
    const char* name() const noexcept { return protocol_->name(); }

private:
    using sides = detail::two_sides<T, void, Order, observer>;
    using protocol = typename sides::protocol;

    std::unique_ptr<protocol> protocol_;
};

/// @}
} // namespace tryst
