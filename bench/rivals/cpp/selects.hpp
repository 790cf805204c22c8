// SPDX-License-Identifier: MIT
/// @file
/// The workload in which receivers select from several channels. It takes a class `Channels` with
/// the members `count`; `send`, `receive` and `close`; and `received`, which takes the items out of
/// a result, and returns false if the channels are closed.
#pragma once

#include "workloads.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <utility>

namespace tryst::bench {

/// Makes an array of elements that cannot be moved, each from the same argument.
template <class T, std::size_t N, class Argument>
std::array<T, N> make_array(const Argument& argument) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
        return std::array<T, N>{(static_cast<void>(I), T(argument))...};
    }(std::make_index_sequence<N>());
}

/// Half of the parties send to the channels in rotation. Each of the others receives from any of
/// them. The last sender that ends closes the channels.
template <class Family, class Channels>
measurement select_from_all(const parameters& p) {
    const cast who = cast_of<Family>(p);
    if (!Family::of_threads && who.each != 1 && who.each % 2 != 0) {
        throw usage_error("half of the tasks of each loop send: their number must be even, or 1");
    }
    ledger all(who.size());
    Family family(who.loops);
    Channels at(family, all);
    std::atomic<std::size_t> senders = who.size() / 2;
    for (std::size_t id = 0; id != who.size(); ++id) {
        if (id % 2 == 0) {
            family.spawn(who.loop_of(id), [&all, &at, &senders, id] {
                return Family::bodies::send_around(at, all, id, senders);
            });
        } else {
            family.spawn(who.loop_of(id),
                         [&all, &at, id] { return Family::bodies::receive_any(at, all, id); });
        }
    }
    perform(family, all, p, [] {});
    measurement made = all.hand_offs();
    if constexpr (requires { Channels::loses_items; }) {
        made.more.emplace_back("lost", all.share_lost());
    }
    return made;
}

template <class Family, template <std::size_t> class Channels>
measurement selects(const parameters& p) {
    switch (p.channels) {
    case 2:
        return select_from_all<Family, Channels<2>>(p);
    case 4:
        return select_from_all<Family, Channels<4>>(p);
    default:
        throw usage_error("--channels must be 2 or 4");
    }
}

} // namespace tryst::bench
