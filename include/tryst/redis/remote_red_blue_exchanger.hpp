// SPDX-License-Identifier: MIT
/// @file
/// A red_blue_exchanger whose parties may be in different processes.
/// Asio.
#pragma once

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

/// A meeting point of red and blue parties of all processes, as `remote_exchanger` is for parties
/// of one kind; its operations have the same guarantees. Parties of one process meet as in a
/// `tryst::red_blue_exchanger`. Parties that find nobody there wait in Redis, in the order of their
/// arrival there.
template <class Red, class Blue = Red, codec_for<Red> RedCodec = codec<Red>,
          codec_for<Blue> BlueCodec = codec<Blue>>
class remote_red_blue_exchanger
    : public remote_place<detail::two_sides<Red, RedCodec, Blue, BlueCodec>> {
    using base = remote_place<detail::two_sides<Red, RedCodec, Blue, BlueCodec>>;

public:
    using red_type = Red; ///< The item of a red party.
    using blue_type = Blue; ///< The item of a blue party.
    using red_result = remote_result<Blue, Red>; ///< What a red party gets.
    using blue_result = remote_result<Red, Blue>; ///< What a blue party gets.

    /// Opens the room of that name, as `remote_exchanger` does.
    /// @throws std::invalid_argument if the name is empty or too long, and std::bad_alloc.
    remote_red_blue_exchanger(connection& through, std::string_view name)
        : base(through, detail::room_kind::red_blue, name, 0) {}

    /// Offers `item` as a red party, and waits until a blue one swaps.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    template <class... Limit>
    [[nodiscard]] task<red_result> red(Red item, Limit... limit) {
        return this->template meet<0>(std::move(item), limit...);
    }
    /// As above, but ends with `no_partner` if nobody waits. Asks Redis if nobody waits in this
    /// process.
    [[nodiscard]] task<red_result> try_red(Red item) {
        return this->template try_meet<0>(std::move(item));
    }
    /// @cond
    template <class... Limit>
    auto try_red(Red, Limit...) {
        return tryst::detail::refuse_limits<task<red_result>, Limit...>();
    }
    /// @endcond

    /// Offers `item` as a blue party, and waits until a red one swaps.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    template <class... Limit>
    [[nodiscard]] task<blue_result> blue(Blue item, Limit... limit) {
        return this->template meet<1>(std::move(item), limit...);
    }
    /// As above, but ends with `no_partner` if nobody waits. Asks Redis if nobody waits in this
    /// process.
    [[nodiscard]] task<blue_result> try_blue(Blue item) {
        return this->template try_meet<1>(std::move(item));
    }
    /// @cond
    template <class... Limit>
    auto try_blue(Blue, Limit...) {
        return tryst::detail::refuse_limits<task<blue_result>, Limit...>();
    }
    /// @endcond
};

/// @}
TRYST_REDIS_END
