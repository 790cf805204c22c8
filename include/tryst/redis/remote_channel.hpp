// SPDX-License-Identifier: MIT
/// @file
/// A synchronous_channel whose parties may be in different processes.
/// Asio.
#pragma once

#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/redis/codec.hpp>
#include <tryst/redis/connection.hpp>
#include <tryst/redis/detail/local_place.hpp>
#include <tryst/redis/remote_place.hpp>
#include <tryst/redis/remote_result.hpp>
#include <tryst/task.hpp>
#include <tryst/wait_limit.hpp>

#include <string_view>
#include <utility>

TRYST_REDIS_BEGIN
/// @addtogroup remote
/// @{

/// A channel between the processes, in which `send` waits for a receiver, and `receive` for a
/// sender, as in a `tryst::synchronous_channel`. Its operations have the guarantees of those of
/// `remote_exchanger`. Parties that find nobody in their process wait in Redis, in the order of
/// their arrival there. Nothing is stored: an item whose sender is gone is gone, too.
template <class T, codec_for<T> Codec = codec<T>>
class remote_channel : public remote_place<detail::two_sides<T, Codec, void, void>> {
    using base = remote_place<detail::two_sides<T, Codec, void, void>>;

public:
    using value_type = T; ///< The type of the items.
    using send_result = remote_result<void, T>; ///< What a sender gets.
    using receive_result = remote_result<T, void>; ///< What a receiver gets.

    /// Opens the room of that name, as `remote_exchanger` does.
    /// @throws std::invalid_argument if the name is empty or too long, and std::bad_alloc.
    remote_channel(connection& through, std::string_view name)
        : base(through, detail::room_kind::channel, name, 0) {}

    /// Hands `item` to a receiver, and waits until one takes it.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    template <class... Limit>
    [[nodiscard]] task<send_result> send(T item, Limit... limit) {
        return this->template meet<0>(std::move(item), limit...);
    }
    /// As above, but ends with `no_partner` if nobody waits. Asks Redis if nobody waits in this
    /// process.
    [[nodiscard]] task<send_result> try_send(T item) {
        return this->template try_meet<0>(std::move(item));
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
    template <class... Limit>
    [[nodiscard]] task<receive_result> receive(Limit... limit) {
        return this->template meet<1>(tryst::detail::nothing(), limit...);
    }
    /// As above, but ends with `no_partner` if nobody waits. Asks Redis if nobody waits in this
    /// process.
    [[nodiscard]] task<receive_result> try_receive() {
        return this->template try_meet<1>(tryst::detail::nothing());
    }
    /// @cond
    template <class... Limit>
    auto try_receive(Limit...) {
        return tryst::detail::refuse_limits<task<receive_result>, Limit...>();
    }
    /// @endcond
};

/// @}
TRYST_REDIS_END
