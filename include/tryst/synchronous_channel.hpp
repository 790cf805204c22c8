// SPDX-License-Identifier: MIT
/// @file
/// A channel without a buffer: each item goes from a sender to a receiver while both are there.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/item.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/result.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

/// A red-blue exchange with nothing on one side: `send` waits for a receiver, `receive` for a sender, and
/// the item passes between them. Any number of either may wait.
///
/// Waiters, members called from any thread, the destructor and allocation are as in `red_blue_exchanger`.
///
/// @tparam T      what is sent: any object type whose move constructor and destructor do not throw.
/// @tparam Order  whom of those who wait an arrival meets.
template <class T, order Order = order::fifo>
class synchronous_channel {
    static_assert(
        detail::is_exchangeable<T>,
        "tryst::synchronous_channel<T>: T must be a non-array, non-const object type with a "
        "nothrow "
        "destructor and a nothrow move constructor, because a transfer that has begun cannot be "
        "taken back");
    static_assert(detail::fits_frames<T>,
                  "tryst::synchronous_channel<T>: T must not be over-aligned, because compilers do "
                  "not align coroutine frames for it; send a std::unique_ptr<T> instead");

public:
    using value_type = T; ///< What is sent.
    using duration = detail::clock::duration; ///< Of the `steady_clock`.
    using time_point = detail::clock::time_point; ///< Of the `steady_clock`.

    /// An open channel.
    /// @throws std::bad_alloc.
    synchronous_channel()
        requires(Order == order::fifo)
        : protocol_(std::make_unique<protocol>(std::size_t{0})) {}

    /// An open channel.
    /// @param capacity  as in `red_blue_exchanger`: not of items, of which a channel holds none.
    /// @throws std::bad_alloc.
    explicit synchronous_channel(std::size_t capacity = detail::processor_count())
        requires(Order == order::lifo)
        : protocol_(std::make_unique<protocol>(capacity)) {}

    synchronous_channel(const synchronous_channel&) = delete;
    synchronous_channel& operator=(const synchronous_channel&) = delete;

    /// Closes; as of `red_blue_exchanger`.
    ~synchronous_channel() = default;

    /// Hands `item` to a receiver, for which it waits; with a stop token, until a stop is requested.
    /// @returns  an awaitable of `exchange_result<void, T>`: that it was received; or an error, and `item` in
    ///   `returned()`.
    /// The guarantees are those of `exchange_operation`.
    template <stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto send(T item, StopToken... stop) noexcept {
        return sides::red::make_exchange(*protocol_, std::move(item), std::move(stop)...);
    }

    /// As above, for at most `patience`: then `timed_out`, never early (`exchanger::exchange_for`).
    template <class Rep, class Period, stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto send_for(T item, std::chrono::duration<Rep, Period> patience,
                                StopToken... stop) noexcept {
        return sides::red::make_exchange_for(*protocol_, std::move(item), patience,
                                             std::move(stop)...);
    }

    /// As above, until `deadline` (steady_clock).
    template <class Duration, stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto send_until(T item, std::chrono::time_point<detail::clock, Duration> deadline,
                                  StopToken... stop) noexcept {
        return sides::red::make_exchange_until(*protocol_, std::move(item), deadline,
                                               std::move(stop)...);
    }

    /// Hands `item` to a receiver that is waiting, or fails at once with `no_partner` (or `closed`).
    /// @throws nothing.  @progress lock-free.  @allocation none.  @sync as for a send.
    exchange_result<void, T> try_send(T item) noexcept {
        return sides::red::try_exchange(*protocol_, std::move(item));
    }

    /// Takes a sender's item, for which it waits; with a stop token, until a stop is requested.
    /// @returns  an awaitable of `exchange_result<T, void>`: the item, or an error.
    /// The guarantees are those of `exchange_operation`.
    template <stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto receive(StopToken... stop) noexcept {
        return sides::blue::make_exchange(*protocol_, detail::nothing(), std::move(stop)...);
    }

    /// As above, for at most `patience`: then `timed_out`, never early (`exchanger::exchange_for`).
    template <class Rep, class Period, stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto receive_for(std::chrono::duration<Rep, Period> patience,
                                   StopToken... stop) noexcept {
        return sides::blue::make_exchange_for(*protocol_, detail::nothing(), patience,
                                              std::move(stop)...);
    }

    /// As above, until `deadline` (steady_clock).
    template <class Duration, stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto receive_until(std::chrono::time_point<detail::clock, Duration> deadline,
                                     StopToken... stop) noexcept {
        return sides::blue::make_exchange_until(*protocol_, detail::nothing(), deadline,
                                                std::move(stop)...);
    }

    /// Takes the item of a sender that is waiting, or fails at once with `no_partner` (or `closed`).
    /// @throws nothing.  @progress lock-free.  @allocation none.  @sync as for a receive.
    exchange_result<T, void> try_receive() noexcept {
        return sides::blue::try_exchange(*protocol_, detail::nothing());
    }

    /// Closes permanently: each party that waits or arrives later gets `closed`, and senders their
    /// items. There is nothing to drain, because there is no buffer. Idempotent.
    /// @throws nothing.  @progress lock-free; linear in the number of waiting parties.
    /// @allocation none.
    /// @resumes each waiting party on its executor; parties without an executor on the calling
    ///   thread, before this returns. Such a party may destroy the channel if no other waited.
    /// @sync everything before it happens-before a return of `closed`.
    void close() noexcept { protocol_->close(); }

    /// Whether `close` has been called. A true answer is final.
    bool is_closed() const noexcept { return protocol_->is_closed(); }

private:
    using sides = detail::two_sides<T, void, Order>;
    using protocol = typename sides::protocol;

    std::unique_ptr<protocol> protocol_;
};

/// @}
} // namespace tryst
