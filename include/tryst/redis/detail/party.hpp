// SPDX-License-Identifier: MIT
/// @file
/// A party that a room has taken out of the local place, in order to find it a partner elsewhere.
/// Asio, only to choose the namespace.
#pragma once

#include <tryst/detail/meet/item_requirements.hpp>
#include <tryst/detail/meet/side.hpp>
#include <tryst/detail/meet/single_slot.hpp>
#include <tryst/detail/meet/swap.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/redis/detail/net.hpp>
#include <tryst/redis/remote_result.hpp>
#include <tryst/result.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

TRYST_REDIS_BEGIN
namespace detail {

using tryst::detail::object_t;

class room;

/// The room owns a party until it completes it. Then its waiting owner takes the result.
class party {
public:
    party() = default;
    party(const party&) = delete;
    party& operator=(const party&) = delete;
    virtual ~party() = default;

    /// The item in bytes. @throws what the codec throws.
    virtual std::string encode() const = 0;
    /// Takes the partner's item. @throws what the codec throws.
    virtual void decode(std::string_view bytes) = 0;
    /// Swaps items with a party of the other side.
    virtual void swap_items(party& partner) noexcept = 0;

    /// The partner's item is here.
    void succeed() noexcept { completed_.close(); }
    /// The owner gets its item back.
    void fail(exchange_errc why, std::string reason = {}) noexcept {
        error_ = why;
        reason_ = std::move(reason);
        completed_.close();
    }

    std::uint64_t number = 0; ///< The room's number for the offer; 0: it has none yet.
    std::shared_ptr<room> taken_by; ///< The room; set before the owner gets the ticket.

    /// An exchange here ends with `closed` once the party is complete.
    using completion_side = tryst::detail::side<tryst::detail::single_slot, std::monostate>;
    template <class... Limit>
    auto completion(const Limit&... limit) noexcept {
        return tryst::detail::factory<completion_side>::make_exchange(completed_, {}, limit...);
    }
    bool is_complete() const noexcept { return completed_.is_closed(); }

protected:
    exchange_errc error_{};
    std::string reason_;

private:
    // No exchange ever takes place here: the event is the close.
    completion_side::protocol completed_{0U};
};

/// The items of a party that brings an `Own` and gets a `Theirs`.
template <class Own, class OwnCodec, class Theirs, class TheirCodec>
class party_of final : public party {
    using partner_type = party_of<Theirs, TheirCodec, Own, OwnCodec>;
    friend partner_type;

public:
    void bring(object_t<Own>&& item) noexcept { own_.emplace(std::move(item)); }

    std::string encode() const final {
        if constexpr (std::is_void_v<Own>) {
            return {};
        } else {
            return OwnCodec::encode(*own_);
        }
    }

    void decode(std::string_view bytes) final {
        if constexpr (std::is_void_v<Theirs>) {
            theirs_.emplace();
        } else {
            theirs_.emplace(TheirCodec::decode(bytes));
        }
    }

    void swap_items(party& partner) noexcept final {
        auto& other = static_cast<partner_type&>(partner);
        theirs_.emplace(std::move(*other.own_));
        other.theirs_.emplace(std::move(*own_));
    }

    /// Precondition: complete.
    remote_result<Theirs, Own> take() noexcept {
        if (error_ == exchange_errc{}) {
            return remote_result<Theirs, Own>(std::move(*theirs_));
        }
        return {error_, std::move(*own_), std::move(reason_)};
    }

private:
    std::optional<object_t<Own>> own_;
    std::optional<object_t<Theirs>> theirs_;
};

} // namespace detail
TRYST_REDIS_END
