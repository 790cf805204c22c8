// SPDX-License-Identifier: MIT
/// @file
/// A channel with a buffer.
/// Standard library only.
#pragma once

#include <tryst/detail/meet/buffering.hpp>
#include <tryst/detail/meet/item_buffer.hpp>
#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/observer.hpp>
#include <tryst/detail/meet/section_lock.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/red_blue_exchanger.hpp>
#include <tryst/result.hpp>
#include <tryst/statistics.hpp>
#include <tryst/wait_limit.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst {
/// @addtogroup meeting
/// @{

/// The limit of a `channel` whose senders never wait.
inline constexpr std::size_t unlimited = (std::numeric_limits<std::size_t>::max)();

/// A policy of `channel`: its limit is a sum of weights, for example of bytes, in place of a number
/// of items.
/// @tparam Of  a function object without state. `Of()(item)` returns the item's weight as a
///   `std::size_t`, and does not throw. It must return the same each time. It may be called under
///   the channel's lock, so it must not use the channel.
template <class Of>
struct weighted {};

/// A policy of `channel`: one thread uses it at a time, always the same one. It needs no lock then.
/// Only the constructor and the destructor may run elsewhere. Stops must be requested by that
/// thread, and time limits need an executor that runs timers on it, such as a `run_loop`. Another
/// thread is an error (an assertion).
struct single_threaded {};

namespace detail {

/// The policies that a channel has in addition to those of `exchanger`.
template <class... Policies>
struct channel_policies {
    using weigh = void;
    using lock = section_lock;
    template <class... Observing>
    using observer = detail::observer<Observing...>;
};
template <class Of, class... Others>
struct channel_policies<weighted<Of>, Others...> : channel_policies<Others...> {
    static_assert(std::is_void_v<typename channel_policies<Others...>::weigh>,
                  "tryst: a channel has at most one tryst::weighted<Of>");
    using weigh = Of;
};
template <class... Others>
struct channel_policies<single_threaded, Others...> : channel_policies<Others...> {
    using lock = no_lock;
};
template <class Policy, class... Others>
struct channel_policies<Policy, Others...> : channel_policies<Others...> {
    template <class... Observing>
    using observer = typename channel_policies<Others...>::template observer<Observing..., Policy>;
};

template <class T, class... Policies>
using rules_of = buffer_rules<T, typename channel_policies<Policies...>::weigh,
                              typename channel_policies<Policies...>::lock,
                              typename channel_policies<Policies...>::template observer<>>;

} // namespace detail

/// The items that were left in a channel: a range of `T`, oldest first, which can be iterated once.
template <class T, class... Policies>
class remaining_items {
    using items = typename detail::item_buffer<detail::rules_of<T, Policies...>>::items;

public:
    /// An input iterator.
    class iterator {
    public:
        /// @cond
        using value_type = T;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        iterator() = default;
        explicit iterator(items& of) noexcept : items_(&of) {}

        T& operator*() const noexcept { return items_->front().value; }
        /// Destroys the item.
        iterator& operator++() noexcept {
            items_->pop();
            return *this;
        }
        void operator++(int) noexcept { ++*this; }
        friend bool operator==(const iterator& at, std::default_sentinel_t /*end*/) noexcept {
            return at.items_->empty();
        }
        /// @endcond

    private:
        items* items_ = nullptr;
    };

    /// @cond
    explicit remaining_items(items&& left) noexcept : items_(std::move(left)) {}
    /// @endcond

    /// Where the oldest item is that has not been passed.
    iterator begin() noexcept { return iterator(items_); }
    /// The end of the range.
    static std::default_sentinel_t end() noexcept { return {}; }
    /// Whether all items have been passed.
    bool empty() const noexcept { return items_.empty(); }
    /// How many items have not been passed.
    std::size_t size() const noexcept { return items_.size(); }

private:
    items items_;
};

/// A channel that holds items until they are received. `send` waits only while the channel is full,
/// and `receive` only while it is empty. Items leave in the order in which they came, and waiting
/// parties are served in that order, too.
///
/// Each item that was sent with success is received, or returned by `close_and_take`, or passed to
/// the function that the destructor calls, exactly once. A send that fails hands its item back. A
/// receive that fails has taken no item.
///
/// Parties of all kinds can use one channel, as with `exchanger`. Any thread may call any member at
/// any time, except the constructor and the destructor. Progress: blocking, because the members use
/// a lock for a few instructions. A thread that loses its processor there delays the others
/// (docs/channels.md). Moves of items, the destructors of items that were moved from, and the
/// function of `weighted` may run under the lock, so they must not use the channel.
///
/// Allocation: the constructor allocates. After that, only a send allocates, and only if more items
/// are in the channel than ever before; items are in blocks of up to 64. If there is no memory, the
/// send fails with `out_of_memory`. Waiting parties need no memory.
///
/// A party that has no executor resumes inline, in the call that completes it. If that call admits
/// other senders, too, or continues with other items of a batch, the party must not destroy the
/// channel before it suspends again.
///
/// @tparam T  the type of the items: any object type whose move constructor and destructor do not
///   throw, and that is not over-aligned.
/// @tparam Policies  `weighted`, `single_threaded`, and those of `exchanger`.
template <class T, class... Policies>
class channel {
    using rules = detail::rules_of<T, Policies...>;
    using observer = typename rules::observer;
    using protocol = detail::protocol<detail::item_buffer<rules>, observer>;
    template <class Waiter>
    using operations = detail::factory<detail::buffer_side<rules, Waiter>>;

    using one_sender = operations<detail::item_sender<rules>>;
    using many_senders = operations<detail::span_sender<rules>>;
    using one_receiver = operations<detail::item_receiver<rules>>;
    template <class Places>
    using many_receivers = operations<detail::batch_receiver<rules, Places>>;

    static_assert(detail::is_exchangeable<T>,
                  "tryst::channel<T>: T must be a non-array, non-const object type with a nothrow "
                  "destructor and a nothrow move constructor, because a transfer that has begun "
                  "cannot be undone");
    static_assert(detail::fits_frames<T>,
                  "tryst::channel<T>: T must not be over-aligned, because compilers do not align "
                  "coroutine frames for it; send a std::unique_ptr<T> instead");

public:
    using value_type = T; ///< The type of the items.
    /// What `close_and_take` returns.
    using remaining = remaining_items<T, Policies...>;

    /// Makes an open channel.
    /// @param limit   how many items, or what sum of weights, it may hold. An item that is heavier
    ///   than the limit has room when the channel is empty. With 0 each send waits for a receiver.
    ///   `unlimited` is allowed.
    /// @param shared  as for `exchanger`.
    /// @throws std::bad_alloc.
    explicit channel(std::size_t limit, typename observer::given shared = {})
        : protocol_(std::make_unique<protocol>(limit, shared)) {}

    /// As above.
    /// @param unreceived  the destructor calls it with each item that is left, oldest first, after
    ///   it has closed the channel. It must not throw.
    explicit channel(std::size_t limit, std::function<void(T)> unreceived,
                     typename observer::given shared = {})
        : protocol_(std::make_unique<protocol>(limit, shared)), unreceived_(std::move(unreceived)) {
    }

    channel(const channel&) = delete;
    channel& operator=(const channel&) = delete;

    /// Closes the channel, with the guarantees of `exchanger`'s destructor. Destroys the
    /// items that are left, or passes them to the function that the constructor was given.
    ~channel() {
        protocol_->disown();
        if (unreceived_) {
            for (T& each : close_and_take()) {
                unreceived_(std::move(each));
            }
        }
    }

    /// Puts `item` into the channel, or hands it to a receiver. Waits while the channel is full.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    /// @returns  an awaitable of `exchange_result<void, T>`: success if the item is in the channel
    ///   or was received; or an error, with `item` in `returned()`. Its guarantees are those of
    ///   `exchange_operation`, except for its progress.
    template <class... Limit>
    [[nodiscard]] auto send(T item, Limit... limit) noexcept {
        return one_sender::make_exchange(*protocol_, std::move(item), std::move(limit)...);
    }

    /// As `send`, but fails at once with `no_partner` if the channel is full, or if other senders
    /// wait.
    exchange_result<void, T> try_send(T item) noexcept {
        return one_sender::try_exchange(*protocol_, std::move(item));
    }
    /// @cond
    template <class... Limit>
    auto try_send(T, Limit...) {
        return detail::refuse_limits<exchange_result<void, T>, Limit...>();
    }
    /// @endcond

    /// Sends all elements of an array, in order, as space becomes free. Items of other senders may
    /// come between them.
    /// @param items  must outlive the operation. Elements that were sent have been moved from.
    /// @param limit  as for `send`.
    /// @returns  an awaitable of `exchange_result<void, std::span<T>>`: success if all were sent,
    ///   or if there are none; or an error, with those that were not sent in `returned()`. It
    ///   cannot be a case of `select`.
    template <class... Limit>
    [[nodiscard]] auto send_all(std::span<T> items, Limit... limit) noexcept {
        return many_senders::make_exchange(*protocol_, std::move(items), std::move(limit)...);
    }

    /// As `send_all`, but sends only the elements that have room now.
    /// @returns  success if all were sent; or `no_partner`, `closed` or `out_of_memory`, with those
    ///   that were not sent in `returned()`.
    exchange_result<void, std::span<T>> try_send_all(std::span<T> items) noexcept {
        return many_senders::try_exchange(*protocol_, std::move(items));
    }
    /// @cond
    template <class... Limit>
    auto try_send_all(std::span<T>, Limit...) {
        return detail::refuse_limits<exchange_result<void, std::span<T>>, Limit...>();
    }
    /// @endcond

    /// Takes the oldest item. Waits while the channel is empty.
    /// @param limit  as for `send`.
    /// @returns  an awaitable of `exchange_result<T, void>`: the item, or an error. `closed` means
    ///   that the channel is closed and empty. If the coroutine is destroyed after it has received
    ///   an item, and before it resumes, the item is destroyed with it.
    template <class... Limit>
    [[nodiscard]] auto receive(Limit... limit) noexcept {
        return one_receiver::make_exchange(*protocol_, detail::nothing(), std::move(limit)...);
    }

    /// As `receive`, but fails at once with `no_partner` if the channel is empty.
    exchange_result<T, void> try_receive() noexcept {
        return one_receiver::try_exchange(*protocol_, detail::nothing());
    }
    /// @cond
    template <class... Limit>
    auto try_receive(Limit...) {
        return detail::refuse_limits<exchange_result<T, void>, Limit...>();
    }
    /// @endcond

    /// Waits until there is an item, then takes as many as there are, up to the size of `into`.
    /// @param into   the items are assigned to its first elements. It must outlive the operation.
    /// @param limit  as for `send`.
    /// @returns  an awaitable of `exchange_result<std::size_t, void>`: how many items were taken,
    ///   at least one; or an error, and none was taken. If `into` is empty: 0, at once.
    template <class... Limit>
    [[nodiscard]] auto receive_some(std::span<T> into, Limit... limit) noexcept {
        static_assert(std::is_nothrow_move_assignable_v<T>,
                      "tryst: receive_some assigns to the elements of the span, so T needs a "
                      "nothrow move assignment; receive_all does not");
        using places = detail::span_places<T>;
        return many_receivers<places>::make_exchange(*protocol_, places{into}, std::move(limit)...);
    }

    /// As `receive_some`, but fails at once with `no_partner` if the channel is empty.
    exchange_result<std::size_t, void> try_receive_some(std::span<T> into) noexcept {
        using places = detail::span_places<T>;
        static_assert(std::is_nothrow_move_assignable_v<T>,
                      "tryst: try_receive_some assigns to the elements of the span, so T needs a "
                      "nothrow move assignment");
        return many_receivers<places>::try_exchange(*protocol_, places{into});
    }
    /// @cond
    template <class... Limit>
    auto try_receive_some(std::span<T>, Limit...) {
        return detail::refuse_limits<exchange_result<std::size_t, void>, Limit...>();
    }
    /// @endcond

    /// As `receive_some`, but appends the items to `into`.
    /// @param into  must outlive the operation, and must not be changed meanwhile.
    /// @param most  the most items to take. Space for them is reserved first.
    /// @throws std::bad_alloc or std::length_error if that fails, before anything is received.
    template <class... Limit>
    [[nodiscard]] auto receive_all(std::vector<T>& into, std::size_t most, Limit... limit) {
        if (into.capacity() - into.size() < most) {
            if (most > into.max_size() - into.size()) {
                into.reserve(into.max_size() + 1); // throws
            }
            into.reserve(
                (std::max)(into.size() + most, (std::min)(2 * into.capacity(), into.max_size())));
        }
        using places = detail::vector_places<T>;
        return many_receivers<places>::make_exchange(*protocol_, places{&into, most},
                                                     std::move(limit)...);
    }

    /// Changes the limit. If it becomes lower than what the channel holds, senders wait until the
    /// channel has room again. Admits waiting senders that have room now.
    /// @throws nothing.  @allocation as for a send.
    void set_limit(std::size_t limit) noexcept { protocol_->set_limit(limit); }

    /// The latest limit that was set.
    std::size_t limit() const noexcept { return protocol_->limit(); }

    /// How many items were in the channel at some moment during the call.
    std::size_t size() const noexcept { return protocol_->size(); }

    /// Whether an item is in the channel, or a sender waits: then `try_receive` succeeds, unless
    /// another receiver is faster, or the sender is a selection that chooses another case.
    bool ready() const noexcept { return protocol_->is_ready(); }

    /// Ends the wait of all parties that wait now: they get `cancelled`, and senders their items
    /// back. The channel stays open, and keeps its items. Its guarantees are those of `close`, for
    /// a return of `cancelled`.
    void cancel() noexcept { protocol_->cancel_all(); }

    /// Closes the channel. Senders that wait or come later get `closed`, and their items back. The
    /// items in the channel can still be received; after that, receivers get `closed`. Idempotent.
    /// Its guarantees are those of `exchanger::close`, except for its progress: it is linear in the
    /// number of waiting parties.
    void close() noexcept { protocol_->close(); }

    /// As `close`, but takes the items out.
    /// @returns  the items that were left; the caller owns them now.
    [[nodiscard]] remaining close_and_take() noexcept {
        return remaining(protocol_->close_and_take());
    }

    /// Opens the channel again after a close. Items that are left stay in it. Has no effect on an
    /// open channel.
    void reset() noexcept { protocol_->reset(); }

    /// Whether the channel is closed. Items may still be left.
    bool is_closed() const noexcept { return protocol_->is_closed(); }

    /// As `exchanger::stats`. Each item counts as an exchange when it is received. Until then, an
    /// item in the channel counts as waiting. An item that is never received counts as `closed`.
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
    std::unique_ptr<protocol> protocol_;
    std::function<void(T)> unreceived_;
};

/// @}
} // namespace tryst
