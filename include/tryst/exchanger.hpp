// SPDX-License-Identifier: MIT
/// @file
/// The exchange channel: 2N participants form N pairs, and each leaves with its partner's item.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/item.hpp>
#include <tryst/detail/meet/protocol.hpp>
#include <tryst/detail/meet/single_slot.hpp>
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

/// A point of synchronisation at which two parties swap items. Whoever arrives waits for the next, then
/// each goes its way with what the other brought. Coroutines on any executor, bare coroutines and plain
/// threads all meet in one exchanger.
///
/// All members may be called from any thread at any time, the constructor and the destructor excepted.
///
/// @tparam T  what is exchanged: any object type whose move constructor and destructor do not throw, and that
///   is not over-aligned (`alignof(T)` is at most that of `operator new`, as a rule 16).
template <class T>
class exchanger {
    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T> &&
                      !std::is_volatile_v<T>,
                  "tryst::exchanger<T>: T must be a non-array, non-const object type");
    static_assert(std::is_nothrow_destructible_v<T>,
                  "tryst::exchanger<T>: T must be nothrow destructible");
    // After the above, because a throwing destructor makes this one false, too.
    static_assert(
        std::is_nothrow_move_constructible_v<T>,
        "tryst::exchanger<T>: T must be nothrow move constructible, because an exchange that "
        "has begun cannot be taken back; mark its move constructor noexcept");
    static_assert(detail::fits_frames<T>,
                  "tryst::exchanger<T>: T must not be over-aligned, because compilers do not align "
                  "coroutine frames for it; exchange a std::unique_ptr<T> instead");

public:
    using value_type = T; ///< What is exchanged.
    using duration = detail::clock::duration; ///< Of the `steady_clock`.
    using time_point = detail::clock::time_point; ///< Of the `steady_clock`.

    /// An open exchanger.
    /// @param capacity  how many pairs may meet at the same time beside slot 0, each in a cache line
    ///   pair of its own: as a rule, and by default, the number of processors. 0 means one slot only;
    ///   more than 255 count as 255.
    /// @throws std::bad_alloc. The only allocation of an exchanger.
    explicit exchanger(std::size_t capacity = detail::processor_count())
        : protocol_(std::make_unique<protocol>(capacity)) {}

    exchanger(const exchanger&) = delete;
    exchanger& operator=(const exchanger&) = delete;

    /// Closes. Operations that wait complete with `closed`, and may outlive the exchanger. A party
    /// whose own exchange has returned may destroy the exchanger if it knows that no other will
    /// arrive. It may do so while its partner has not resumed yet, or while the close that ended
    /// its exchange is still running on another thread. Waits for closes that are under way, and
    /// for stops and deadlines that are withdrawing a waiter.
    ~exchanger() = default;

    /// Offers `item`; waits until a partner swaps.
    /// @returns  an awaitable of `exchange_result<T>`: the partner's item; or `closed`, and `item` back.
    /// The guarantees are those of `exchange_operation`.
    [[nodiscard]] auto exchange(T item) noexcept {
        return factory::make_exchange(*protocol_, std::move(item));
    }

    /// As above, until `stop` is requested: then `cancelled`. A stop requested before the start cancels
    /// at once, even if a partner is waiting.
    template <stoppable_token StopToken>
    [[nodiscard]] auto exchange(T item, StopToken stop) noexcept {
        return factory::make_exchange(*protocol_, std::move(item), std::move(stop));
    }

    /// As above, for at most `patience` on the clock of the executor it is awaited on: then `timed_out`,
    /// never early. The patience counts from the end of the loop's turn in which the wait began (a
    /// thread's first spin); what is then late is the executor's timer.
    /// A patience of zero or less takes a partner that is waiting, or else fails at once.
    template <class Rep, class Period>
    [[nodiscard]] auto exchange_for(T item, std::chrono::duration<Rep, Period> patience) noexcept {
        return factory::make_exchange_for(*protocol_, std::move(item), patience);
    }
    /// As above, until a stop is requested: then `cancelled`.
    template <class Rep, class Period, stoppable_token StopToken>
    [[nodiscard]] auto exchange_for(T item, std::chrono::duration<Rep, Period> patience,
                                    StopToken stop) noexcept {
        return factory::make_exchange_for(*protocol_, std::move(item), patience, std::move(stop));
    }

    /// As `exchange_for`, until `deadline` (steady_clock).
    template <class Duration>
    [[nodiscard]] auto
    exchange_until(T item, std::chrono::time_point<detail::clock, Duration> deadline) noexcept {
        return factory::make_exchange_until(*protocol_, std::move(item), deadline);
    }
    /// As above, until a stop is requested: then `cancelled`.
    template <class Duration, stoppable_token StopToken>
    [[nodiscard]] auto exchange_until(T item,
                                      std::chrono::time_point<detail::clock, Duration> deadline,
                                      StopToken stop) noexcept {
        return factory::make_exchange_until(*protocol_, std::move(item), deadline, std::move(stop));
    }

    /// Takes a partner that is waiting, or fails at once with `no_partner` (or `closed`). Never offers
    /// `item` to later arrivals, and never waits.
    /// @throws nothing.  @progress lock-free.  @allocation none.
    /// @sync as for an exchange.
    exchange_result<T> try_exchange(T item) noexcept {
        return factory::try_exchange(*protocol_, std::move(item));
    }

    /// Closes permanently: each party that waits or arrives later gets `closed` and its own item
    /// back. Idempotent. @throws nothing. @progress wait-free but for the retries of its claims.
    /// @allocation none.
    /// @resumes each waiting party on its executor; a party without an executor on the calling
    ///   thread, before this returns. Such a party may destroy the exchanger if no other party
    ///   waited.
    /// @sync everything before it happens-before a return of `closed`.
    void close() noexcept { protocol_->close(); }

    /// Whether `close` has been called. A true answer is final.
    bool is_closed() const noexcept { return protocol_->is_closed(); }

    /// How many pairs may meet beside slot 0: what the constructor was given.
    std::size_t capacity() const noexcept { return protocol_->capacity(); }

private:
    using factory = detail::factory<detail::side<detail::single_slot, T>>;
    using protocol = detail::protocol<detail::single_slot>;

    std::unique_ptr<protocol> protocol_;
};

/// @}
} // namespace tryst
