// SPDX-License-Identifier: MIT
// Channels are destroyed as early as is permitted: by the party that knows from the end of its own
// operation that all others are complete, while the others, stops and expiries are on their way
// out.
#include "stress/step_counts.hpp"
#include "support/bare_coroutine.hpp"
#include "support/tracked.hpp"

#include <tryst/channel.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <random>
#include <span>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

/// Who destroys the channel, and when.
enum class end : std::uint8_t {
    receiver, ///< The only receiver, when it has all items of two senders.
    sender, ///< The only sender, when two receivers must have what they want.
    closed, ///< The receiver, when it learns that the only sender has closed the channel.
    taken, ///< The same, but the sender takes the items out.
};

constexpr long each = 4; ///< Items of each sender or receiver.

struct stage {
    stage(census& all, std::size_t limit, unsigned round)
        : items(all), seed(round + 1),
          at(std::in_place, limit, [this](tracked item) { keep(item); }) {}

    void keep(const tracked& item) { ++kept.at(static_cast<std::size_t>(item.id())); }
    /// A stop ends one wait of each party.
    inplace_stop_token token() {
        return stop.stop_requested() ? inplace_stop_token() : stop.get_token();
    }

    census& items;
    unsigned seed;
    std::optional<channel<tracked>> at;
    channel<tracked> never{0};
    inplace_stop_source stop;
    std::array<std::atomic<int>, 3 * each> kept{};
    std::atomic<int> ended{0}; ///< How many parties have.
};

struct part {
    long count; ///< How many items it sends or receives; -1: until the channel is closed.
    bool batches = true; ///< Whether it may send or receive several at a time.
    bool destroys = false;
    std::optional<end> closes{}; ///< How a sender closes the channel at the end, if it does.
};

class choices {
public:
    explicit choices(unsigned seed) : random_(seed) {}
    int way(const part& of) { return static_cast<int>(random_() % (of.batches ? 4 : 3)); }
    std::chrono::microseconds soon() { return std::chrono::microseconds(random_() % 100); }

private:
    std::minstd_rand random_;
};

void leave(stage& s, const part& of) {
    if (of.destroys) {
        s.at.reset();
    }
    s.ended.fetch_add(1, std::memory_order_release);
}

template <class Coroutine>
Coroutine send(stage& s, part of, long first) {
    choices random(s.seed + static_cast<unsigned>(first));
    for (long sent = 0; sent != of.count;) {
        tracked item(s.items, first + sent);
        switch (random.way(of)) {
        case 0: {
            const auto how = co_await s.at->send(std::move(item), random.soon(), s.token());
            sent += how ? 1 : 0;
            break;
        }
        case 1: {
            auto how = co_await select(s.never.receive(), s.at->send(std::move(item)),
                                       random.soon(), s.token());
            sent += how.index() == 1 ? 1 : 0;
            break;
        }
        case 2:
            sent += s.at->try_send(std::move(item)) ? 1 : 0;
            break;
        default: {
            std::vector<tracked> some;
            some.push_back(std::move(item));
            for (long more = sent + 1; more < of.count && some.size() != 3; ++more) {
                some.emplace_back(s.items, first + more);
            }
            auto how = co_await s.at->send_all(std::span(some), random.soon(), s.token());
            sent += static_cast<long>(some.size() - (how ? 0 : how.returned().size()));
        }
        }
    }
    if (of.closes == end::closed) {
        s.at->close();
    } else if (of.closes == end::taken) {
        for (const tracked& item : s.at->close_and_take()) {
            s.keep(item);
        }
    }
    leave(s, of);
}

template <class Coroutine>
Coroutine receive(stage& s, part of, unsigned seed) {
    choices random(s.seed + seed);
    std::error_code why;
    for (long taken = 0; taken != of.count && why != exchange_errc::closed;) {
        switch (random.way(of)) {
        case 0: {
            const auto got = co_await s.at->receive(random.soon(), s.token());
            why = got.error();
            taken += got ? (s.keep(*got), 1) : 0;
            break;
        }
        case 1: {
            auto how =
                co_await select(s.at->receive(), s.never.receive(), random.soon(), s.token());
            const auto& got = how.template get<0>();
            why = got.error();
            taken += got ? (s.keep(*got), 1) : 0;
            break;
        }
        case 2: {
            const auto got = s.at->try_receive();
            why = got.error();
            taken += got ? (s.keep(*got), 1) : 0;
            break;
        }
        default: {
            std::vector<tracked> some;
            const long most = of.count < 0 ? 3 : std::min(of.count - taken, 3L);
            const auto got = co_await s.at->receive_all(some, static_cast<std::size_t>(most),
                                                        random.soon(), s.token());
            why = got.error();
            for (const tracked& item : some) {
                s.keep(item);
            }
            taken += static_cast<long>(some.size());
        }
        }
    }
    leave(s, of);
}

struct play {
    end by;
    std::size_t limit;
    bool bare; ///< Whether the parties resume inline.
};
void PrintTo(const play& of, std::ostream* to) { // NOLINT(readability-identifier-naming)
    constexpr std::array names{"receiver", "sender", "closed", "taken"};
    *to << names.at(static_cast<std::size_t>(of.by)) << '_' << of.limit
        << (of.bare ? "_bare" : "_threads");
}
std::vector<play> plays() {
    std::vector<play> all;
    for (const end by : {end::receiver, end::sender, end::closed, end::taken}) {
        for (const std::size_t limit : {0U, 1U, 3U}) {
            all.push_back({by, limit, false});
            all.push_back({by, limit, true});
        }
    }
    return all;
}
class ChannelLifetimeStress : public testing::TestWithParam<play> {};
INSTANTIATE_TEST_SUITE_P(DestroyedBy, ChannelLifetimeStress, testing::ValuesIn(plays()),
                         testing::PrintToStringParamName());

TEST_P(ChannelLifetimeStress, KeepsEachItemOnce) {
    const auto [by, limit, bare] = GetParam();
    // A party that resumes inline in a batch must not destroy the channel.
    const bool batches = !bare;
    const auto act = [&](stage& s, int party) {
        const auto sends = [&](part of, long first) {
            bare ? void(send<detached_coroutine>(s, of, first))
                 : sync_wait(send<task<>>(s, of, first));
        };
        const auto receives = [&](part of) {
            const auto seed = 100U + static_cast<unsigned>(party);
            bare ? void(receive<detached_coroutine>(s, of, seed))
                 : sync_wait(receive<task<>>(s, of, seed));
        };
        const long inside = static_cast<long>(limit);
        switch (by) {
        case end::receiver:
            party == 0 ? receives({2 * each, batches, true})
                       : sends({each, batches}, (party - 1) * each);
            break;
        case end::sender:
            party == 0 ? sends({2 * each + inside, batches, true}, 0) : receives({each, batches});
            break;
        default:
            party == 0   ? receives({-1, batches, true})
            : party == 1 ? sends({each, batches, false, by}, 0)
                         : leave(s, {});
        }
    };
    const long sent = by == end::receiver ? 2 * each
                      : by == end::sender ? 2 * each + static_cast<long>(limit)
                                          : each;
    census kept;
    std::optional<stage> current;
    bool over = false;
    std::barrier<> together(4);
    std::vector<std::jthread> threads;
    for (int party = 0; party != 3; ++party) {
        threads.emplace_back([&, party] {
            while (together.arrive_and_wait(), !over) {
                act(*current, party);
                together.arrive_and_wait();
            }
        });
    }
    std::minstd_rand random(1);
    const stress_time time(4); // in all plays it is long
    for (unsigned round = 0; !HasFailure() && time.goes_on([] { return false; }); ++round) {
        current.emplace(kept, limit, round);
        together.arrive_and_wait();
        for (auto i = random() % (1U << random() % 12); i != 0; --i) {
            detail::spin_pause();
        }
        current->stop.request_stop();
        together.arrive_and_wait();
        while (current->ended.load(std::memory_order_acquire) != 3) {
            std::this_thread::yield(); // the timer thread may have resumed one
        }
        for (std::size_t id = 0; id != current->kept.size(); ++id) {
            EXPECT_EQ(current->kept.at(id).load(), static_cast<long>(id) < sent ? 1 : 0) << id;
        }
        current.reset();
        while (kept.alive.load(std::memory_order_acquire) != 0) {
            std::this_thread::yield(); // the frame of that party ends last
        }
    }
    over = true;
    together.arrive_and_wait();
}

} // namespace
} // namespace tryst::test
