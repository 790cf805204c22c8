// SPDX-License-Identifier: MIT
/// @file
/// The place in which parties of one process meet.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/detail/meet/dual_queue.hpp>
#include <tryst/detail/meet/fifo.hpp>
#include <tryst/detail/meet/side.hpp>
#include <tryst/detail/meet/single_slot.hpp>
#include <tryst/detail/meet/swap.hpp>
#include <tryst/detail/platform/atomic.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/redis/detail/party.hpp>
#include <tryst/redis/detail/room.hpp>
#include <tryst/result.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

TRYST_REDIS_BEGIN
namespace detail {

/// What changes hands in the local place: an item; or, if the room has taken the item, the ticket
/// of the party whose completion to wait for. A party gets a ticket of its own kind in the place of
/// its partner's item. (Not a variant, for which g++ 12 warns of uninitialised memory.)
template <class Item, class Party>
struct envelope {
    explicit envelope(object_t<Item>&& brought) noexcept : item(std::move(brought)) {}
    explicit envelope(std::shared_ptr<Party> who) noexcept : taken(std::move(who)) {}

    std::optional<object_t<Item>> item;
    ticket<Party> taken;
};

/// Parties of one kind, which bring `T` and get `T`.
template <class T, class Codec>
struct one_side {
    using party_type = party_of<T, Codec, T, Codec>;
    using item = envelope<T, party_type>;
    using protocol = tryst::detail::protocol<tryst::detail::single_slot>;

    template <std::size_t Side>
    struct at {
        using own = T;
        using theirs = T;
        using party = party_type;
        using own_item = item;
        using their_item = item;
        using local = tryst::detail::side<tryst::detail::single_slot, item>;
    };
    static constexpr std::size_t sides = 1;
};

/// Red parties, which bring `Red` and get `Blue`, and blue ones.
template <class Red, class RedCodec, class Blue, class BlueCodec>
struct two_sides {
    using red_party = party_of<Red, RedCodec, Blue, BlueCodec>;
    using blue_party = party_of<Blue, BlueCodec, Red, RedCodec>;
    using red_item = envelope<Red, blue_party>;
    using blue_item = envelope<Blue, red_party>;
    using wait_list = tryst::detail::dual_queue;
    using protocol = tryst::detail::protocol<wait_list>;

    template <std::size_t Side>
    struct at;
    static constexpr std::size_t sides = 2;
};
template <class Red, class RedCodec, class Blue, class BlueCodec>
template <std::size_t Side>
struct two_sides<Red, RedCodec, Blue, BlueCodec>::at {
    static constexpr bool is_red = Side == 0;
    using own = std::conditional_t<is_red, Red, Blue>;
    using theirs = std::conditional_t<is_red, Blue, Red>;
    using party = std::conditional_t<is_red, red_party, blue_party>;
    using own_item = std::conditional_t<is_red, red_item, blue_item>;
    using their_item = std::conditional_t<is_red, blue_item, red_item>;
    using local =
        tryst::detail::side<wait_list, own_item, their_item,
                            is_red ? tryst::detail::colour::red : tryst::detail::colour::blue>;
};

/// The place in which parties of one process meet.
template <class Kind>
class local_place_of final : public local_place {
public:
    using protocol = typename Kind::protocol;

    explicit local_place_of(std::size_t capacity) : protocol_(capacity) {}

    std::shared_ptr<detail::party> take(std::size_t side, const std::shared_ptr<room>& by) final {
        if constexpr (Kind::sides == 2) {
            return side == 0 ? take_from<0>(by) : take_from<1>(by);
        } else {
            return take_from<0>(by);
        }
    }

    void close() noexcept final { protocol_.close(); }
    bool is_closed() const noexcept { return protocol_.is_closed(); }

    protocol& where() noexcept { return protocol_; }

private:
    /// Meets a waiting party as its partner, and gives it a ticket.
    template <std::size_t Side>
    std::shared_ptr<detail::party> take_from(const std::shared_ptr<room>& by) {
        using side = typename Kind::template at<Side>;
        using opposite = typename Kind::template at<(Side + 1) % Kind::sides>;
        auto& spare = std::get<Side>(spares_);
        if (!spare) {
            spare = std::make_shared<typename side::party>();
        }
        spare->taken_by = by;
        auto got = tryst::detail::factory<typename opposite::local>::try_exchange(
            protocol_, typename side::their_item(spare));
        if (!got) {
            got.returned().taken.discard();
            spare->taken_by.reset(); // the room owns this place
            return nullptr;
        }
        spare->bring(std::move(*got->item));
        return std::exchange(spare, nullptr);
    }

    template <std::size_t Side>
    using spare_party = std::shared_ptr<typename Kind::template at<Side>::party>;

    protocol protocol_;
    // Made before it is known whether a party waits, and kept for the next turn.
    std::tuple<spare_party<0>, spare_party<Kind::sides - 1>> spares_;
};

} // namespace detail
TRYST_REDIS_END
