// SPDX-License-Identifier: MIT
/// @file
/// The forms of waiting in Asio: every kind of party, on every side, with each choice of limits.
#pragma once

#include "adapters/asio/net.hpp"
#include "adapters/asio/sides.hpp"
#include "support/limited.hpp"
#include "support/tracked.hpp"

#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <stop_token>
#include <string>
#include <vector>

namespace tryst::test {

inline constexpr long own_id = 1; ///< The id of the item that the party brings.
inline constexpr long partners_id = 2; ///< The id of its partner's item.

struct scene;

/// An exchanger, or a channel, or several for a selection.
class meeting_place {
public:
    meeting_place() = default;
    meeting_place(const meeting_place&) = delete;
    meeting_place& operator=(const meeting_place&) = delete;
    virtual ~meeting_place() = default;

    /// Comes as the partner, with the item `partners_id`.
    /// @returns the id of the item that the partner receives, `nothing_got`, or `nobody`.
    virtual long meet(census& items) = 0;
    /// Lets a partner with the item `partners_id` wait here. `scene::partner` is its end.
    virtual void invite(scene& s) = 0;
    virtual void close() = 0;
    /// Grows the arena, if the place has one. @returns whether offers begin there.
    virtual bool grow() = 0;
};

struct form {
    std::string name;
    bool brings; ///< Whether a party of this side brings an item,
    bool gets; ///< and whether it gets one.
    limit limits; ///< Of the operation itself.
    /// How a request arrives: within the call, or perhaps after some handlers of the context.
    enum class way : std::uint8_t { none, direct, later };
    way signal;
    way stop;
    bool stays; ///< Whether it goes on in the same handler, if a partner waits.
    /// Whether the first turn may end before the handler in which the party made its offer.
    bool has_own_turns;
    std::unique_ptr<meeting_place> (*make_place)();
    void (*start)(scene&);
};

inline void PrintTo(const form& of, std::ostream* to) {
    *to << of.name;
}

const std::vector<form>& all_forms();

/// One party, and all that it uses. The context ends first, and the party with it.
struct scene {
    explicit scene(const form& how,
                   std::shared_ptr<net::io_context> in = std::make_shared<net::io_context>());

    void start() { of.start(*this); }
    /// Starts, and runs the context until the offer has been made.
    void start_and_offer();
    /// Runs all ready handlers.
    void run();
    void tell(const ended& result);

    const form& of;
    census items;
    census frames; ///< Of the handler, or the coroutine.
    net::cancellation_signal signal;
    std::stop_source source;
    std::stop_token token = source.get_token();
    std::chrono::nanoseconds patience = std::chrono::hours(1);
    std::optional<std::chrono::steady_clock::time_point> deadline; ///< In place of `patience`.
    bool offered = false; ///< Set when the operation is made.
    std::optional<ended> end;
    std::optional<ended> partner;
    std::unique_ptr<meeting_place> at;
    std::shared_ptr<net::io_context> io;
};

} // namespace tryst::test
