// SPDX-License-Identifier: MIT
/// @file
/// A choice of several of tryst's channels, and tryst as an experienced user would use it on Asio:
/// try first, which takes no frame, and wait only without a partner.
#pragma once

#include "ledger.hpp"

#include <tryst/tryst.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <tuple>
#include <utility>

namespace tryst::bench {

using meeting = exchanger<item>;
using fifo = synchronous_channel<item>;
using lifo = synchronous_channel<item, order::lifo>;

template <class Channel, std::size_t N>
class select_from {
public:
    static constexpr std::size_t count = N;

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

protected:
    std::array<Channel, N> channels_;
};

/// Tries all, beginning with another each time.
template <class Channel, std::size_t N>
class trying_select_from : public select_from<Channel, N> {
public:
    bool send_at_once(std::size_t turn, item it) {
        return this->channels_[turn].try_send(it).has_value();
    }
    std::optional<item> receive_at_once(std::size_t turn) {
        for (std::size_t i = 0; i != N; ++i) {
            if (const auto got = this->channels_[(turn + i) % N].try_receive()) {
                return *got;
            }
        }
        return std::nullopt;
    }
};

class trying_exchange {
public:
    std::optional<item> exchange_at_once(item mine) {
        const auto got = ex_.try_exchange(mine);
        return got ? std::optional(*got) : std::nullopt;
    }
    auto exchange(item mine) { return ex_.exchange(mine); }
    void close() { ex_.close(); }

private:
    meeting ex_;
};

template <class Channel>
class trying_channel {
public:
    bool send_at_once(item it) { return channel_.try_send(it).has_value(); }
    std::optional<item> receive_at_once() {
        const auto got = channel_.try_receive();
        return got ? std::optional(*got) : std::nullopt;
    }
    auto send(item it) { return channel_.send(it); }
    auto receive() { return channel_.receive(); }

private:
    Channel channel_;
};

/// Exchanges with the workload's patience.
class impatient {
public:
    template <class Family>
    impatient(const Family& /*family*/, std::chrono::microseconds patience) : patience_(patience) {}

    auto exchange(item it) { return at_.exchange(it, patience_); }

private:
    std::chrono::microseconds patience_;
    meeting at_;
};

/// All tasks receive from one channel.
template <class Source>
class without_sender {
public:
    auto wait(std::size_t /*id*/) { return channel_.receive(source_.get_token()); }
    void cancel() { source_.request_stop(); }
    static bool was_cancelled(const exchange_result<item, void>& got) {
        return got.error() == exchange_errc::cancelled;
    }

private:
    fifo channel_;
    Source source_;
};

} // namespace tryst::bench
