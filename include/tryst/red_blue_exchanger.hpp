// SPDX-License-Identifier: MIT
/// @file
/// The exchange channel for two kinds of parties: only unlike colours pair.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/meet/item.hpp>
#include <tryst/detail/meet/protocol.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/result.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

/// In which order those who wait are served.
enum class order : unsigned char {
    fifo, ///< Who has waited longest. A coroutine waits from its suspension on.
    lifo, ///< As a rule who came last. Who comes after another has given up may take its place.
};

namespace detail {

/// The two sides of a meeting at which red brings a `Red` and blue a `Blue`, or nothing, if that is void.
template <class Red, class Blue, order Order>
struct two_sides {
    using home = std::conditional_t<Order == order::fifo, dual_queue, dual_stack>;
    using protocol = detail::protocol<home>;
    using red = factory<side<home, Red, Blue, colour::red>>;
    using blue = factory<side<home, Blue, Red, colour::blue>>;
};

template <class T>
inline constexpr bool is_exchangeable =
    std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T> &&
    std::is_nothrow_destructible_v<T> && std::is_nothrow_move_constructible_v<T>;

} // namespace detail

/// A point of synchronisation of two kinds of parties, red and blue, at which one of each swap items.
/// Whoever arrives waits for the next of the other colour, then each goes its way with what the other brought.
/// Any number of one colour may wait; as many reds as blues are never stranded, in whatever order they come.
///
/// Coroutines on any executor, bare coroutines and plain threads all meet in one exchanger. All members may
/// be called from any thread at any time, the constructor and the destructor excepted.
///
/// Allocation: by an arrival, when more wait than ever before; if that fails, it ends with
/// `out_of_memory` and gets its item back. The memory is kept for later waiters. Under `fifo` each
/// takes 10 to 40 bytes, or 640 if it goes on waiting while 64 around it give up; under `lifo` each
/// takes 16 to 32. 16 million may wait; under `fifo` 262,144, if 63 of 64 give up.
///
/// @tparam Red    what red parties bring, and blue ones get.
/// @tparam Blue   what blue parties bring, and red ones get. Both are any object types whose move constructors
///   and destructors do not throw.
/// @tparam Order  whom of those who wait an arrival meets.
template <class Red, class Blue = Red, order Order = order::fifo>
class red_blue_exchanger {
    static_assert(
        detail::is_exchangeable<Red> && detail::is_exchangeable<Blue>,
        "tryst::red_blue_exchanger<Red, Blue>: items must be non-array, non-const object types "
        "with nothrow destructors and nothrow move constructors, because an exchange that has "
        "begun cannot be taken back");
    static_assert(detail::fits_frames<Red> && detail::fits_frames<Blue>,
                  "tryst::red_blue_exchanger<Red, Blue>: items must not be over-aligned, because "
                  "compilers do not align coroutine frames for them; exchange a std::unique_ptr");

public:
    using red_type = Red; ///< What red parties bring.
    using blue_type = Blue; ///< What blue parties bring.
    using duration = detail::clock::duration; ///< Of the `steady_clock`.
    using time_point = detail::clock::time_point; ///< Of the `steady_clock`.

    /// An open exchanger.
    /// @throws std::bad_alloc.
    red_blue_exchanger()
        requires(Order == order::fifo)
        : protocol_(std::make_unique<protocol>(std::size_t{0})) {}

    /// An open exchanger.
    /// @param capacity  how many pairs may meet at the same time beside those who wait, as in `exchanger`.
    ///   Under `fifo` there are none: who waited there would be overtaken.
    /// @throws std::bad_alloc.
    explicit red_blue_exchanger(std::size_t capacity = detail::processor_count())
        requires(Order == order::lifo)
        : protocol_(std::make_unique<protocol>(capacity)) {}

    red_blue_exchanger(const red_blue_exchanger&) = delete;
    red_blue_exchanger& operator=(const red_blue_exchanger&) = delete;

    /// Closes. Operations that wait complete with `closed`, and may outlive the exchanger. A party
    /// whose own exchange has returned may destroy the exchanger if it knows that no other will
    /// arrive. It may do so while its partner has not resumed yet, or while the close that ended
    /// its exchange is still running on another thread. Waits for closes that are under way, and
    /// for stops and deadlines that are withdrawing a waiter.
    ~red_blue_exchanger() = default;

    /// Offers `item` as a red party; waits until a blue one swaps. With a stop token, until a stop is requested:
    /// then `cancelled`; a stop requested before the start cancels at once, even if a partner is waiting.
    /// @returns  an awaitable of `exchange_result<Blue, Red>`: the partner's item; or an error, and `item` back.
    /// The guarantees are those of `exchange_operation`.
    template <stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto red(Red item, StopToken... stop) noexcept {
        return sides::red::make_exchange(*protocol_, std::move(item), std::move(stop)...);
    }

    /// As above, for at most `patience`: then `timed_out`, never early (`exchanger::exchange_for`).
    template <class Rep, class Period, stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto red_for(Red item, std::chrono::duration<Rep, Period> patience,
                               StopToken... stop) noexcept {
        return sides::red::make_exchange_for(*protocol_, std::move(item), patience,
                                             std::move(stop)...);
    }

    /// As above, until `deadline` (steady_clock).
    template <class Duration, stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto red_until(Red item,
                                 std::chrono::time_point<detail::clock, Duration> deadline,
                                 StopToken... stop) noexcept {
        return sides::red::make_exchange_until(*protocol_, std::move(item), deadline,
                                               std::move(stop)...);
    }

    /// Takes a blue party that is waiting, or fails at once with `no_partner` (or `closed`). Never offers
    /// `item` to later arrivals, and never waits. Overlooks nobody who waits all the time, only perhaps one who
    /// comes while another takes the one that waited.
    /// @throws nothing.  @progress lock-free.  @allocation none.  @sync as for an exchange.
    exchange_result<Blue, Red> try_red(Red item) noexcept {
        return sides::red::try_exchange(*protocol_, std::move(item));
    }

    /// The same for the other colour: `blue(item)` meets `red(item)` and gives an `exchange_result<Red, Blue>`.
    template <stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto blue(Blue item, StopToken... stop) noexcept {
        return sides::blue::make_exchange(*protocol_, std::move(item), std::move(stop)...);
    }
    /// As `red_for`.
    template <class Rep, class Period, stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto blue_for(Blue item, std::chrono::duration<Rep, Period> patience,
                                StopToken... stop) noexcept {
        return sides::blue::make_exchange_for(*protocol_, std::move(item), patience,
                                              std::move(stop)...);
    }
    /// As `red_until`.
    template <class Duration, stoppable_token... StopToken>
        requires(sizeof...(StopToken) <= 1)
    [[nodiscard]] auto blue_until(Blue item,
                                  std::chrono::time_point<detail::clock, Duration> deadline,
                                  StopToken... stop) noexcept {
        return sides::blue::make_exchange_until(*protocol_, std::move(item), deadline,
                                                std::move(stop)...);
    }
    /// As `try_red`: takes a red party that is waiting.
    exchange_result<Red, Blue> try_blue(Blue item) noexcept {
        return sides::blue::try_exchange(*protocol_, std::move(item));
    }

    /// Closes permanently: each party that waits or arrives later gets `closed` and its own item
    /// back. Idempotent. @throws nothing. @progress lock-free; linear in the number of waiting
    /// parties.
    /// @allocation none.
    /// @resumes each waiting party on its executor; parties without an executor on the calling
    ///   thread, before this returns. Such a party may destroy the exchanger if no other waited.
    /// @sync everything before it happens-before a return of `closed`.
    void close() noexcept { protocol_->close(); }

    /// Whether `close` has been called. A true answer is final.
    bool is_closed() const noexcept { return protocol_->is_closed(); }

private:
    using sides = detail::two_sides<Red, Blue, Order>;
    using protocol = typename sides::protocol;

    std::unique_ptr<protocol> protocol_;
};

/// @}
} // namespace tryst
