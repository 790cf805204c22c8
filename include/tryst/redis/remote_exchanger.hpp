// SPDX-License-Identifier: MIT
/// @file
/// An exchanger whose parties may be in different processes, on one machine or several.
/// Asio.
#pragma once

#include <tryst/detail/platform/atomic.hpp>
#include <tryst/redis/codec.hpp>
#include <tryst/redis/connection.hpp>
#include <tryst/redis/detail/meeting.hpp>
#include <tryst/redis/remote_operation.hpp>
#include <tryst/redis/remote_result.hpp>
#include <tryst/redis/room_statistics.hpp>
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
/// Any thread may call any member at any time, except the constructor and the destructor.
///
/// @tparam T      the type of the items, as in `tryst::exchanger`.
/// @tparam Codec  how items become bytes when they leave the process.
template <class T, codec_for<T> Codec = codec<T>>
class remote_exchanger {
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
        : meeting_(through, detail::room_kind::exchange, name, capacity) {}

    /// Parties of this process that wait complete with `closed`. In other processes the room stays
    /// open. Operations that have begun may outlive the exchanger.
    ~remote_exchanger() = default;

    /// Offers `item`, and waits until a partner swaps.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    /// @returns  an awaitable of `result_type`: the partner's item; or an error, with `item` handed
    ///   back. Its guarantees are those of `remote_operation`.
    template <class... Limit>
    [[nodiscard]] auto exchange(T item, Limit... limit) noexcept {
        return detail::make_operation<0>(meeting_, std::move(item), limit...);
    }

    /// Swaps with a partner that waits in this or another process, or ends with `no_partner`. If
    /// nobody waits in this process, it asks Redis, which takes a round trip.
    /// @returns  a task, to be awaited once, while the exchanger exists.
    /// @throws   std::bad_alloc.
    [[nodiscard]] task<result_type> try_exchange(T item) {
        return detail::try_meet<kind, 0>(meeting_, std::move(item));
    }
    /// @cond
    template <class... Limit>
    auto try_exchange(T, Limit...) {
        return tryst::detail::refuse_limits<task<result_type>, Limit...>();
    }
    /// @endcond

    /// Closes the room in all processes. Each party that waits or arrives later gets `closed`. The
    /// other processes learn of it through Redis, if need be when this process is connected again.
    /// A name that no process has used for six leases, and a minute, can be used again.
    void close() noexcept { meeting_.close(); }

    /// Whether this process knows that the room is closed.
    bool is_closed() const noexcept { return meeting_.is_closed(); }

    /// The state of the room over all processes.
    [[nodiscard]] task<remote_result<room_statistics, void>> statistics() const {
        return meeting_.count();
    }

private:
    using kind = detail::one_side<T, Codec>;

    detail::meeting<kind> meeting_;
};

/// @}
TRYST_REDIS_END
