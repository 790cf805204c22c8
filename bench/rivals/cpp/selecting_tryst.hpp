// SPDX-License-Identifier: MIT
/// @file
/// A choice of several of tryst's channels.
#pragma once

#include "ledger.hpp"

#include <tryst/select.hpp>
#include <tryst/synchronous_channel.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <tuple>
#include <utility>

namespace tryst::bench {

/// Several of tryst's channels.
template <class Channel, std::size_t N>
class select_channels {
public:
    static constexpr std::size_t count = N;

    template <class Family>
    select_channels(const Family& /*family*/, ledger& /*all*/) {}

    auto send(std::size_t turn, item it) { return channels_[turn].send(it); }
    auto receive() {
        return std::apply([](auto&... each) { return select(each.receive()...); }, channels_);
    }
    template <class Got, class Take>
    static bool received(Got& got, Take take) {
        return std::move(got).visit([&](const auto& selected) {
            if (selected) {
                take(*selected);
            }
            return selected.has_value();
        });
    }
    void close() { std::ranges::for_each(channels_, &Channel::close); }

private:
    std::array<Channel, N> channels_;
};

template <std::size_t N>
using select_fifo = select_channels<synchronous_channel<item>, N>;
template <std::size_t N>
using select_lifo = select_channels<synchronous_channel<item, order::lifo>, N>;

} // namespace tryst::bench
