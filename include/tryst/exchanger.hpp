// SPDX-License-Identifier: MIT
/// @file
/// The exchanger: parties meet in pairs, and each leaves with its partner's item.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/observer.hpp>
#include <tryst/detail/meet/side.hpp>
#include <tryst/detail/meet/single_slot.hpp>
#include <tryst/detail/meet/swap.hpp>
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

/// A meeting point at which two parties swap items. The first party waits. The next one swaps items
/// with it, and both continue. Coroutines with or without an executor and plain threads can all
/// meet in one exchanger.
///
/// Any thread may call any member at any time, except the constructor and the destructor.
///
/// @tparam T  the type of the items: any object type whose move constructor and destructor do not
///   throw, and that is not over-aligned (`alignof(T)` is at most what `operator new` guarantees,
///   usually 16).
/// @tparam Policies  what observes the exchanger: `counted`, `traced<Span>`, both or none. Without
///   them the exchanger costs the same as if they did not exist.
template <class T, class... Policies>
class exchanger {
    using observer = detail::observer<Policies...>;

    static_assert(std::is_object_v<T> && !std::is_array_v<T> && !std::is_const_v<T> &&
                      !std::is_volatile_v<T>,
                  "tryst::exchanger<T>: T must be a non-array, non-const object type");
    static_assert(std::is_nothrow_destructible_v<T>,
                  "tryst::exchanger<T>: T must be nothrow destructible");
    // Checked after the destructor, because a throwing destructor makes this condition false, too.
    static_assert(
        std::is_nothrow_move_constructible_v<T>,
        "tryst::exchanger<T>: T must be nothrow move constructible, because an exchange that "
        "has begun cannot be undone; mark its move constructor noexcept");
    static_assert(detail::fits_frames<T>,
                  "tryst::exchanger<T>: T must not be over-aligned, because compilers do not align "
                  "coroutine frames for it; exchange a std::unique_ptr<T> instead");

public:
    using value_type = T; ///< The type of the items.

    /// Makes an open exchanger, which has a slot for each processor that the process may use.
    /// @param shared  the `counters` in which it counts, with the policy `counted`; by default its
    ///   own.
    /// @throws std::bad_alloc. An exchanger allocates nothing after its constructor.
    exchanger(typename observer::given shared = {})
        : exchanger(detail::processor_count(), shared) {}

    /// As above.
    /// @param capacity  the number of slots in addition to slot 0, which is the number of further
    ///   pairs that can meet at the same time. Each slot takes two cache lines. 0 means only slot
    ///   0, and 255 is the maximum.
    explicit exchanger(std::size_t capacity, typename observer::given shared = {})
        : protocol_(std::make_unique<protocol>(capacity, shared)) {}

    exchanger(const exchanger&) = delete;
    exchanger& operator=(const exchanger&) = delete;

    /// Closes the exchanger. Waiting operations complete with `closed`, and may outlive the
    /// exchanger.
    ///
    /// A party whose own exchange has returned may destroy the exchanger if it knows that no other
    /// party will arrive, and that no two others are exchanging at that time. Its partner need not
    /// have resumed yet, and the close that ended its exchange may still be running on another
    /// thread. The destructor waits for closes that are under way, and for stops and deadlines that
    /// are withdrawing a waiter.
    ~exchanger() = default;

    /// Offers `item`, and waits until a partner swaps.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    /// @returns  an awaitable of `exchange_result<T>`: the partner's item; or an error, with `item`
    ///   handed back. Its guarantees are those of `exchange_operation`.
    template <class... Limit>
    [[nodiscard]] auto exchange(T item, Limit... limit) noexcept {
        return factory::make_exchange(*protocol_, std::move(item), std::move(limit)...);
    }

    /// Swaps with a waiting partner, or fails at once with `no_partner` (or `closed`). Never waits,
    /// and never offers `item` to later arrivals.
    /// @throws nothing.  @progress lock-free.  @allocation none.
    /// @sync as for an exchange.
    exchange_result<T> try_exchange(T item) noexcept {
        return factory::try_exchange(*protocol_, std::move(item));
    }
    /// @cond
    template <class... Limit>
    auto try_exchange(T, Limit...) {
        return detail::refuse_limits<exchange_result<T>, Limit...>();
    }
    /// @endcond

    /// Closes permanently. Each party that waits or arrives later gets `closed` and its own item
    /// back. Idempotent.
    /// @throws nothing.  @progress lock-free; linear in `capacity()`.
    /// @allocation none.
    /// @resumes each waiting party on its executor. A party that has no executor resumes on the
    ///   calling thread, before this returns. Such a party may destroy the exchanger if no other
    ///   party waited.
    /// @sync everything before this call happens-before a return of `closed`.
    void close() noexcept { protocol_->close(); }

    /// Whether `close` has been called. Once true, it stays true.
    bool is_closed() const noexcept { return protocol_->is_closed(); }

    /// The number of slots in addition to slot 0: the constructor's argument, at most 255.
    std::size_t capacity() const noexcept { return protocol_->capacity(); }

    /// What has happened so far, here or wherever the counters are shared: `counters::stats`. Needs
    /// the policy `counted`.
    statistics stats() const noexcept
        requires(observer::counts)
    {
        return protocol_->stats();
    }

    /// Names the exchanger, for its spans, its probes and the debugger. Call it before other
    /// threads use the exchanger. `name` must outlive the exchanger and its operations.
    void set_name(const char* name) noexcept { protocol_->set_name(name); }

    /// The exchanger's name; empty if it has none.
    const char* name() const noexcept { return protocol_->name(); }

private:
    using side = detail::side<detail::single_slot, T, T, detail::colour::none, observer>;
    using factory = detail::factory<side>;
    using protocol = typename side::protocol;

    std::unique_ptr<protocol> protocol_;
};

/// @}
} // namespace tryst
