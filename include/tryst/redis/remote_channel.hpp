// SPDX-License-Identifier: MIT
/// @file
/// A synchronous_channel whose parties may be in different processes.
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

/// A channel between the processes, in which `send` waits for a receiver, and `receive` for a
/// sender, as in a `tryst::synchronous_channel`. Parties that find nobody in their process wait in
/// Redis, in the order of their arrival there. Nothing is stored: an item whose sender is gone is
/// gone, too.
///
/// Any thread may call any member at any time, except the constructor and the destructor.
template <class T, codec_for<T> Codec = codec<T>>
class remote_channel {
public:
    using value_type = T; ///< The type of the items.
    using send_result = remote_result<void, T>; ///< What a sender gets.
    using receive_result = remote_result<T, void>; ///< What a receiver gets.

    /// Opens the room of that name, as `remote_exchanger` does.
    /// @throws std::invalid_argument if the name is empty or too long, and std::bad_alloc.
    remote_channel(connection& through, std::string_view name)
        : meeting_(through, detail::room_kind::channel, name, 0) {}

    /// Hands `item` to a receiver, and waits until one takes it.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    /// @returns  an awaitable with the guarantees of `remote_operation`:
    ///   success if the item was received; or an error, with `item` handed back.
    template <class... Limit>
    [[nodiscard]] auto send(T item, Limit... limit) noexcept {
        return detail::make_operation<0>(meeting_, std::move(item), limit...);
    }
    /// As above, but ends with `no_partner` if nobody waits. Asks Redis if nobody waits in this
    /// process.
    [[nodiscard]] task<send_result> try_send(T item) {
        return detail::try_meet<kind, 0>(meeting_, std::move(item));
    }
    /// @cond
    template <class... Limit>
    auto try_send(T, Limit...) {
        return tryst::detail::refuse_limits<task<send_result>, Limit...>();
    }
    /// @endcond

    /// Waits for a sender's item.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    /// @returns  an awaitable with the guarantees of `remote_operation`:
    ///   the item; or an error.
    template <class... Limit>
    [[nodiscard]] auto receive(Limit... limit) noexcept {
        return detail::make_operation<1>(meeting_, tryst::detail::nothing(), limit...);
    }
    /// As above, but ends with `no_partner` if nobody waits. Asks Redis if nobody waits in this
    /// process.
    [[nodiscard]] task<receive_result> try_receive() {
        return detail::try_meet<kind, 1>(meeting_, tryst::detail::nothing());
    }
    /// @cond
    template <class... Limit>
    auto try_receive(Limit...) {
        return tryst::detail::refuse_limits<task<receive_result>, Limit...>();
    }
    /// @endcond

    /// Closes the room in all processes, as `remote_exchanger::close` does.
    void close() noexcept { meeting_.close(); }

    /// Whether this process knows that the room is closed.
    bool is_closed() const noexcept { return meeting_.is_closed(); }

    /// The state of the room over all processes.
    [[nodiscard]] task<remote_result<room_statistics, void>> statistics() const {
        return meeting_.count();
    }

private:
    using kind = detail::two_sides<T, Codec, void, void>;

    detail::meeting<kind> meeting_;
};

/// @}
TRYST_REDIS_END
