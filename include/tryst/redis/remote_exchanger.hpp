// SPDX-License-Identifier: MIT
/// @file
/// An exchanger whose parties may be in different processes, on one machine or several.
/// Asio.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/redis/codec.hpp>
#include <tryst/redis/connection.hpp>
#include <tryst/redis/detail/local_place.hpp>
#include <tryst/redis/remote_place.hpp>
#include <tryst/redis/remote_result.hpp>
#include <tryst/task.hpp>
#include <tryst/wait_limit.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

TRYST_REDIS_BEGIN
/// @addtogroup remote
/// @{

/// A meeting point of all processes that use the same Redis server, the same key prefix and the
/// same name. Two parties of one process meet there as in a `tryst::exchanger`. A party that finds
/// nobody within one turn of the connection's loop is offered to the other processes. At most one
/// party of each process is in Redis.
///
/// Any thread may call any member at any time, except the constructor and the destructor. When it
/// is destroyed, parties of this process that wait complete with `closed`; in other processes the
/// room stays open. Operations that have begun may outlive it.
///
/// The operations of all remote exchangers and channels are tasks, to be awaited once:
///
/// @returns     `remote_result`: the partner's item; or an error, with your own item handed back.
///   Besides the errors of a local exchange there are `unavailable`: Redis cannot be reached, or
///   refuses, and nothing was offered; and `in_doubt`: the item was offered, and its outcome cannot
///   be found out. A partner gets it at most once.
/// @throws      std::bad_alloc when it is made; nothing when it is awaited.
/// @progress    lock-free until suspension.
/// @resumes     as any `tryst::task`.
/// @cancellation total in this process. A duration begins when the operation is awaited. A party
///   that is in Redis is withdrawn there, which takes a round trip; a match wins over a later stop
///   or deadline. The operation ends at most one `options::lease` after its stop or deadline,
///   whatever Redis does: then it is `in_doubt`, if its item may have been seen. The task may be
///   destroyed while it waits, under the conditions of `exchange_operation`. Then the item may have
///   been exchanged.
/// @sync        with a partner in this process, as for `exchange_operation`. A partner in another
///   process shares no memory.
/// @allocation  a coroutine frame. If the item leaves the process: its encoding, and records of its
///   offer.
///
/// @tparam T      the type of the items, as in `tryst::exchanger`.
/// @tparam Codec  how items become bytes when they leave the process.
template <class T, codec_for<T> Codec = codec<T>>
class remote_exchanger : public remote_place<detail::one_side<T, Codec>> {
    using base = remote_place<detail::one_side<T, Codec>>;

public:
    using value_type = T; ///< The type of the items.
    using result_type = remote_result<T>; ///< The result of an exchange.

    /// Opens the room of that name. Does not wait for the connection.
    /// @param through   the connection; may be destroyed before this object.
    /// @param name      any bytes, at least one and at most 512.
    /// @param capacity  the number of pairs that can meet at the same time within this process, as
    ///   in `tryst::exchanger`.
    /// @throws std::invalid_argument if the name is empty or too long, and std::bad_alloc.
    explicit remote_exchanger(connection& through, std::string_view name,
                              std::size_t capacity = tryst::detail::processor_count())
        : base(through, detail::room_kind::exchange, name, capacity) {}

    /// Offers `item`, and waits until a partner swaps.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    template <class... Limit>
    [[nodiscard]] task<result_type> exchange(T item, Limit... limit) {
        return this->template meet<0>(std::move(item), limit...);
    }

    /// Swaps with a partner that waits in this or another process, or ends with `no_partner`. If
    /// nobody waits in this process, it asks Redis, which takes a round trip.
    [[nodiscard]] task<result_type> try_exchange(T item) {
        return this->template try_meet<0>(std::move(item));
    }
    /// @cond
    template <class... Limit>
    auto try_exchange(T, Limit...) {
        return tryst::detail::refuse_limits<task<result_type>, Limit...>();
    }
    /// @endcond
};

/// @}
TRYST_REDIS_END
