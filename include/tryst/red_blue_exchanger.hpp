// SPDX-License-Identifier: MIT
/// @file
/// The exchanger for two kinds of parties, red and blue: a party meets only the other colour.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/dual_stack.hpp>
#include <tryst/detail/meet/eliminating.hpp>
#include <tryst/detail/meet/fifo.hpp>
#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/observer.hpp>
#include <tryst/detail/meet/side.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/result.hpp>
#include <tryst/statistics.hpp>
#include <tryst/wait_limit.hpp>

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

namespace tryst {
/// @addtogroup meeting
/// @{

/// The order in which waiting parties are matched.
enum class order : unsigned char {
    /// The party that has waited longest comes first. The wait of a coroutine begins when it is
    /// suspended. The i-th red party meets the i-th blue party. If the thread of one of them loses
    /// its processor during its arrival, the other one waits for it.
    fifo,
    /// As a rule, the party that arrived last comes first. However, a new arrival may reuse the
    /// position of a waiter that withdrew. Under contention, parties that arrive at the same time
    /// meet first, and each arrival looks for waiting parties before that with a probability of
    /// 1 in 256 (`try_` operations always).
    lifo,
};

namespace detail {

/// The two sides of a meeting: red parties bring a `Red` and blue parties a `Blue`; void means no
/// item.
template <class Red, class Blue, order Order, class Observer = observer<>>
struct two_sides {
    using wait_list = std::conditional_t<Order == order::fifo, dual_queue, dual_stack>;
    using protocol = detail::protocol<wait_list, Observer>;
    using red = factory<side<wait_list, Red, Blue, colour::red, Observer>>;
    using blue = factory<side<wait_list, Blue, Red, colour::blue, Observer>>;

    static std::size_t default_capacity() {
        return Order == order::fifo ? 0 : detail::processor_count();
    }
};

template <class T>
inline constexpr bool is_exchangeable =
    std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T> && !std::is_volatile_v<T> &&
    std::is_nothrow_destructible_v<T> && std::is_nothrow_move_constructible_v<T>;

} // namespace detail

/// A meeting point of two kinds of parties, red and blue, at which a red and a blue party swap
/// items. The first party waits. The next one of the other colour swaps items with it, and both
/// continue. Any number of parties of one colour may wait. If as many red as blue parties arrive,
/// in whatever order, none of them keeps waiting.
///
/// Coroutines with or without an executor and plain threads can all meet in one exchanger. Any
/// thread may call any member at any time, except the constructor and the destructor.
///
/// Allocation: only an arrival that waits may allocate. If the allocation fails, the operation ends
/// with `out_of_memory` and hands its item back. The memory is kept for later waiters.
/// - Under `lifo` an arrival allocates only if more parties wait than ever before. A waiter takes
///   16 to 32 bytes.
/// - Under `fifo` waiters are in segments of 64, of 640 bytes each. An arrival allocates if parties
///   wait in more segments than ever before, and a few times in the first thousand waits, up to
///   9.6 KB (docs/orders.md). A waiter takes 10 to 40 bytes, or 640 if it keeps waiting while the
///   63 around it withdraw.
/// - Up to 16 million parties may wait. Under `fifo` the maximum drops to 262,144 if 63 of every 64
///   waiters have withdrawn.
///
/// @tparam Red    the item of a red party, which its blue partner gets.
/// @tparam Blue   the item of a blue party, which its red partner gets. Each may be any object
///   type whose move constructor and destructor do not throw, and that is not over-aligned.
/// @tparam Order  which of the waiting parties an arrival matches.
/// @tparam Policies  as for `exchanger`.
template <class Red, class Blue = Red, order Order = order::fifo, class... Policies>
class red_blue_exchanger {
    using observer = detail::observer<Policies...>;

    static_assert(
        detail::is_exchangeable<Red> && detail::is_exchangeable<Blue>,
        "tryst::red_blue_exchanger<Red, Blue>: items must be non-array, non-const object types "
        "with nothrow destructors and nothrow move constructors, because an exchange that has "
        "begun cannot be undone");
    static_assert(detail::fits_frames<Red> && detail::fits_frames<Blue>,
                  "tryst::red_blue_exchanger<Red, Blue>: items must not be over-aligned, because "
                  "compilers do not align coroutine frames for them; exchange a std::unique_ptr");

public:
    using red_type = Red; ///< The item of a red party.
    using blue_type = Blue; ///< The item of a blue party.

    /// Makes an open exchanger.
    /// @param shared  as for `exchanger`.
    /// @throws std::bad_alloc.
    red_blue_exchanger(typename observer::given shared = {})
        : protocol_(std::make_unique<protocol>(sides::default_capacity(), shared)) {}

    /// As above.
    /// @param capacity  how many pairs can meet at the same time in addition to the wait list, as
    ///   in `exchanger`. Under `fifo` pairs meet only in the wait list, because elsewhere later
    ///   arrivals would overtake waiting parties.
    explicit red_blue_exchanger(std::size_t capacity, typename observer::given shared = {})
        requires(Order != order::fifo)
        : protocol_(std::make_unique<protocol>(capacity, shared)) {}

    red_blue_exchanger(const red_blue_exchanger&) = delete;
    red_blue_exchanger& operator=(const red_blue_exchanger&) = delete;

    /// Closes the exchanger, with the guarantees of `exchanger`'s destructor.
    ~red_blue_exchanger() = default;

    /// Offers `item` as a red party, and waits until a blue one swaps.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    /// @returns  an awaitable of `exchange_result<Blue, Red>`: the partner's item; or an error,
    ///   with `item` handed back. Its guarantees are those of `exchange_operation`.
    template <class... Limit>
    [[nodiscard]] auto red(Red item, Limit... limit) noexcept {
        return sides::red::make_exchange(*protocol_, std::move(item), std::move(limit)...);
    }

    /// As `exchanger::try_exchange`, with a waiting blue party. Does not overlook a party that
    /// waits during the whole call, unless another party is about to meet it. May miss one that
    /// arrives during the call, if another party claims the waiter that this one is about to claim.
    exchange_result<Blue, Red> try_red(Red item) noexcept {
        return sides::red::try_exchange(*protocol_, std::move(item));
    }
    /// @cond
    template <class... Limit>
    auto try_red(Red, Limit...) {
        return detail::refuse_limits<exchange_result<Blue, Red>, Limit...>();
    }
    /// @endcond

    /// As `red`, for the other colour: `blue(item)` meets `red(item)`, and its result is an
    /// `exchange_result<Red, Blue>`.
    template <class... Limit>
    [[nodiscard]] auto blue(Blue item, Limit... limit) noexcept {
        return sides::blue::make_exchange(*protocol_, std::move(item), std::move(limit)...);
    }
    /// As `try_red`, but swaps with a waiting red party.
    exchange_result<Red, Blue> try_blue(Blue item) noexcept {
        return sides::blue::try_exchange(*protocol_, std::move(item));
    }
    /// @cond
    template <class... Limit>
    auto try_blue(Blue, Limit...) {
        return detail::refuse_limits<exchange_result<Red, Blue>, Limit...>();
    }
    /// @endcond

    /// As `exchanger::close`. Under `fifo`, a waiting party may still exchange if its partner has
    /// begun to arrive; until then its stop and its deadline remain in force.
    /// @progress linear in the number of waiting parties. Lock-free, except that under `fifo` it
    ///   may wait for one step of a party that closes it at the same time, or finds it closed.
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
    using sides = detail::two_sides<Red, Blue, Order, observer>;
    using protocol = typename sides::protocol;

    std::unique_ptr<protocol> protocol_;
};

/// @}
} // namespace tryst
