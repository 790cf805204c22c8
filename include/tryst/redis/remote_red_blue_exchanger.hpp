// SPDX-License-Identifier: MIT
/// @file
/// A red_blue_exchanger whose parties may be in different processes.
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

/// A meeting point of red and blue parties of all processes, as `remote_exchanger` is for parties
/// of one kind. Parties of one process meet as in a `tryst::red_blue_exchanger`. Parties that find
/// nobody there wait in Redis, in the order of their arrival there.
///
/// Any thread may call any member at any time, except the constructor and the destructor.
template <class Red, class Blue = Red, codec_for<Red> RedCodec = codec<Red>,
          codec_for<Blue> BlueCodec = codec<Blue>>
class remote_red_blue_exchanger {
public:
    using red_type = Red; ///< The item of a red party.
    using blue_type = Blue; ///< The item of a blue party.
    using red_result = remote_result<Blue, Red>; ///< What a red party gets.
    using blue_result = remote_result<Red, Blue>; ///< What a blue party gets.

    /// Opens the room of that name, as `remote_exchanger` does.
    /// @throws std::invalid_argument if the name is empty or too long, and std::bad_alloc.
    remote_red_blue_exchanger(connection& through, std::string_view name)
        : meeting_(through, detail::room_kind::red_blue, name, 0) {}

    /// Offers `item` as a red party, and waits until a blue one swaps.
    /// @param limit  at most one time limit and one stop token, which end the wait early: see
    ///   `wait_limit`.
    /// @returns  an awaitable with the guarantees of `remote_operation`:
    ///   the partner's item; or an error, with `item` handed back.
    template <class... Limit>
    [[nodiscard]] auto red(Red item, Limit... limit) noexcept {
        return detail::make_operation<0>(meeting_, std::move(item), limit...);
    }
    /// As above, but ends with `no_partner` if nobody waits. Asks Redis if nobody waits in this
    /// process.
    [[nodiscard]] task<red_result> try_red(Red item) {
        return detail::try_meet<kind, 0>(meeting_, std::move(item));
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
    /// @returns  an awaitable with the guarantees of `remote_operation`:
    ///   the partner's item; or an error, with `item` handed back.
    template <class... Limit>
    [[nodiscard]] auto blue(Blue item, Limit... limit) noexcept {
        return detail::make_operation<1>(meeting_, std::move(item), limit...);
    }
    /// As above, but ends with `no_partner` if nobody waits. Asks Redis if nobody waits in this
    /// process.
    [[nodiscard]] task<blue_result> try_blue(Blue item) {
        return detail::try_meet<kind, 1>(meeting_, std::move(item));
    }
    /// @cond
    template <class... Limit>
    auto try_blue(Blue, Limit...) {
        return tryst::detail::refuse_limits<task<blue_result>, Limit...>();
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
    using kind = detail::two_sides<Red, RedCodec, Blue, BlueCodec>;

    detail::meeting<kind> meeting_;
};

/// @}
TRYST_REDIS_END
