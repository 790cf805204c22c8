// SPDX-License-Identifier: MIT
/// @file
/// One simulation: parties of one kind meet by one design on some cores.
#pragma once

#include "costs.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace tryst::scale {

enum class kind : std::uint8_t {
    threads, ///< One on each core.
    loops, ///< One on each core, with some coroutines each.
};

enum class design : std::uint8_t {
    one_slot,
    arena,
    counted,
    fifo,
    lifo,
    select,
    remote,
    mutex,
    ticket,
    lists,
    one_list
};

/// The designs of an exchange.
inline constexpr std::array designs{design::one_slot, design::arena, design::counted,
                                    design::fifo,     design::lifo,  design::select,
                                    design::remote,   design::mutex, design::ticket};
/// The designs of the operations that wait in one execution context.
inline constexpr std::array context_designs{design::lists, design::one_list};

constexpr const char* name_of(kind k) noexcept {
    return k == kind::threads ? "threads" : "loops";
}
constexpr const char* name_of(design d) noexcept {
    constexpr std::array names{"one slot", "arena", "counted", "fifo",  "lifo",    "select",
                               "remote",   "mutex", "ticket",  "lists", "one list"};
    return names[static_cast<std::size_t>(d)];
}

/// The colours of parties, if a design has two colours: half of them are red.
inline bool half_are_red(unsigned core, std::size_t party) {
    return (core + party) % 2 == 0;
}

struct scene {
    kind who = kind::loops;
    design how = design::arena;
    unsigned cores = 2;
    unsigned sockets = 1;
    std::size_t coroutines = 16; ///< On each loop.
    bool (*is_red)(unsigned core, std::size_t party) = half_are_red; ///< `party` on its core.
    /// Returns the work of a party on a core between exchanges.
    std::function<picoseconds(unsigned)> work;
    picoseconds warm_up = 0;
    picoseconds duration = 0;
    std::uint64_t seed = 1;
    double jitter = 0; ///< Of turns, pauses and work, as a share.
};

struct outcome_of_scene {
    double ns = 0; ///< Of one completed exchange, which serves two parties.
    double served_least = 0; ///< The least served core as a share of the mean.
    // For each exchange:
    double transfers = 0; ///< Lines fetched from another core.
    double offers_above_home = 0;
    double expiries = 0;
    // In total:
    std::uint64_t growths = 0;
    std::uint64_t shrinkages = 0;
    std::uint64_t accesses = 0;
    std::uint64_t digest = 0; ///< Identifies the run.
};

/// @throws std::runtime_error if items were lost or made up.
outcome_of_scene simulate(const scene& how, const costs& prices);

} // namespace tryst::scale
