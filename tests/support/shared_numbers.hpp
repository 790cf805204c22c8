// SPDX-License-Identifier: MIT
/// @file
/// Parties of all kinds share a channel: each number that one sends, one receives.
#pragma once

#include <tryst/channel.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <vector>

namespace tryst::test {

/// Counts how often each number was received.
class shared_numbers {
public:
    static constexpr int each = 500; ///< The numbers of one sender.
    static constexpr std::array<std::size_t, 4> limits{0, 1, 7, unlimited};

    shared_numbers(int senders, std::size_t limit)
        : numbers(limit), senders_(senders), counts_(static_cast<std::size_t>(senders) * each) {}

    /// The numbers of the next sender begin here.
    int begin() { return next_.fetch_add(each); }
    /// Call it when a sender has sent all of its numbers. The last call closes the channel.
    void end() {
        if (senders_.fetch_sub(1) == 1) {
            numbers.close();
        }
    }
    void received(int number) { counts_.at(static_cast<std::size_t>(number)).fetch_add(1); }

    void expect_each_once() const {
        for (const auto& count : counts_) {
            ASSERT_EQ(count.load(), 1);
        }
    }

    /// Sends by `wait`, which waits for an operation and returns its result.
    template <class Wait>
    void send_by(Wait wait) {
        const int first = begin();
        for (int i = first; i != first + each; ++i) {
            auto sent = wait(numbers.send(i));
            EXPECT_TRUE(sent);
        }
        end();
    }
    template <class Wait>
    void receive_by(Wait wait) {
        while (auto got = wait(numbers.receive())) {
            received(*got);
        }
    }

    /// The same as coroutines of any kind.
    template <class Coroutine>
    Coroutine send() {
        const int first = begin();
        for (int i = first; i != first + each; ++i) {
            auto sent = co_await numbers.send(i);
            EXPECT_TRUE(sent);
        }
        end();
    }
    template <class Coroutine>
    Coroutine receive() {
        while (true) {
            auto got = co_await numbers.receive();
            if (!got) {
                co_return;
            }
            received(*got);
        }
    }

    channel<int> numbers;

private:
    std::atomic<int> senders_;
    std::atomic<int> next_{0};
    std::vector<std::atomic<int>> counts_;
};

} // namespace tryst::test
