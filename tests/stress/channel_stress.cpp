// SPDX-License-Identifier: MIT
// Loops and threads send and receive in every way through three channels at a time, whose limits
// change, until these are closed. Each item that was sent leaves exactly once.
#include <tryst/channel.hpp>
#include <tryst/inplace_stop_token.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>
#include <tryst/task_scope.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using namespace std::chrono_literals;

/// What becomes of the items of a round, by number.
class register_of_items {
public:
    unsigned next() { return next_.fetch_add(1); }
    bool is_full() const { return next_.load() > size - 1'000; }

    void sent(unsigned item) { add(item, was_sent); }
    void returned(unsigned item) { add(item, was_returned); }
    void received(unsigned item) { add(item, was_received); }

    void verify() const {
        for (unsigned i = 0; i != next_.load(); ++i) {
            const unsigned is = fates_.at(i).load();
            ASSERT_TRUE(is == was_returned || is == (was_sent | was_received))
                << "item " << i << ": " << is;
        }
    }

private:
    static constexpr std::size_t size = 1 << 18;
    static constexpr unsigned was_sent = 1;
    static constexpr unsigned was_received = 2;
    static constexpr unsigned was_returned = 4;

    void add(unsigned item, unsigned fate) {
        EXPECT_EQ(fates_.at(item).fetch_or(fate) & fate, 0U) << "twice: item " << item;
    }

    std::atomic<unsigned> next_{0};
    std::vector<std::atomic<unsigned>> fates_ = std::vector<std::atomic<unsigned>>(size);
};

/// Its number is on the heap, so that sanitizers see who touches it.
using parcel = std::unique_ptr<unsigned>;
struct weigh {
    std::size_t operator()(const parcel& item) const noexcept { return *item % 7; }
};
using plain = channel<parcel>;
using heavy = channel<parcel, weighted<weigh>>;

struct stage {
    stage(register_of_items& all, std::size_t limit, std::size_t other)
        : items(all), a(limit, unreceived()), b(other, unreceived()), w(20, unreceived()) {}

    std::function<void(parcel)> unreceived() {
        return [this](parcel item) { items.received(*item); };
    }

    register_of_items& items;
    plain a;
    plain b;
    heavy w;
    inplace_stop_source stop;
    std::atomic<bool> over{false};
};

/// One party, which does one thing after another.
class party {
public:
    party(stage& at, unsigned seed) : at_(at), random_(seed) {}

    task<> run() {
        while (!at_.over.load() && !at_.items.is_full()) {
            switch (below(12)) {
            case 0:
                co_await send(at_.a, soon());
                break;
            case 1:
                co_await send(at_.b, at_.stop.get_token());
                break;
            case 2:
                co_await send(at_.w, soon());
                break;
            case 3:
                co_await receive(at_.a, soon());
                break;
            case 4:
                co_await receive(at_.b, at_.stop.get_token());
                break;
            case 5:
                co_await receive(at_.w, soon());
                break;
            case 6:
                co_await send_all(at_.a);
                break;
            case 10:
                co_await send_all(at_.w);
                break;
            case 7:
                co_await receive_many();
                break;
            case 8:
                co_await select_receive();
                break;
            case 9:
                co_await select_send();
                break;
            default:
                try_each();
            }
        }
    }

private:
    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
    std::chrono::microseconds soon() { return std::chrono::microseconds(below(100)); }
    parcel make(unsigned& number) {
        number = at_.items.next();
        return std::make_unique<unsigned>(number);
    }

    template <class Result>
    void note_sent(unsigned number, Result result) {
        if (result) {
            at_.items.sent(number);
        } else {
            EXPECT_EQ(*result.returned(), number);
            at_.items.returned(number);
        }
    }
    template <class Result>
    void note_received(const Result& result) {
        if (result) {
            at_.items.received(**result);
        }
    }

    template <class Channel, class Limit>
    task<> send(Channel& to, Limit limit) {
        unsigned number = 0;
        auto result = co_await to.send(make(number), limit);
        note_sent(number, std::move(result));
    }
    template <class Channel, class Limit>
    task<> receive(Channel& from, Limit limit) {
        const auto result = co_await from.receive(limit);
        note_received(result);
    }
    template <class Channel>
    task<> send_all(Channel& to) {
        std::array<unsigned, 9> numbers{};
        std::array<parcel, 9> items;
        const std::size_t count = below(9);
        for (std::size_t i = 0; i != count; ++i) {
            items.at(i) = make(numbers.at(i));
        }
        auto result = co_await to.send_all(std::span(items).first(count), soon());
        const std::size_t left = result ? 0 : result.returned().size();
        for (std::size_t i = 0; i != count; ++i) {
            if (i < count - left) {
                at_.items.sent(numbers.at(i));
            } else {
                EXPECT_EQ(*items.at(i), numbers.at(i));
                at_.items.returned(numbers.at(i));
            }
        }
    }
    task<> receive_many() {
        std::array<parcel, 4> places;
        const auto some = co_await at_.a.receive_some(places, soon());
        for (std::size_t i = 0; some && i != *some; ++i) {
            at_.items.received(*places.at(i));
        }
        std::vector<parcel> all;
        const auto got = co_await at_.w.receive_all(all, 1 + below(100), soon());
        EXPECT_EQ(all.size(), got ? *got : 0);
        for (const parcel& each : all) {
            at_.items.received(*each);
        }
    }
    task<> select_receive() {
        const auto one = co_await select(at_.a.receive(), at_.b.receive(), at_.w.receive(), soon());
        switch (one.index()) {
        case 0:
            note_received(one.get<0>());
            break;
        case 1:
            note_received(one.get<1>());
            break;
        case 2:
            note_received(one.get<2>());
            break;
        default:
            break;
        }
    }
    task<> select_send() {
        unsigned first = 0;
        unsigned second = 0;
        auto one = co_await select(at_.w.send(make(first)), at_.b.send(make(second)),
                                   at_.a.receive(), soon(), at_.stop.get_token());
        note_sent(first, std::move(one.get<0>()));
        note_sent(second, std::move(one.get<1>()));
        if (one.index() == 2) {
            note_received(one.get<2>());
        }
    }
    void try_each() {
        unsigned number = 0;
        auto tried = at_.a.try_send(make(number)); // before `number` is read
        note_sent(number, std::move(tried));
        note_received(at_.b.try_receive());
        at_.w.set_limit(below(40));
        at_.b.set_limit(below(4) == 0 ? unlimited : below(9));
    }

    stage& at_;
    std::minstd_rand random_;
};

task<> run_four(stage& at, executor_ref on, unsigned seed) {
    std::array<std::optional<party>, 4> parties;
    task_scope scope(on);
    for (auto& each : parties) {
        scope.spawn(each.emplace(at, seed++).run());
    }
    co_await scope.join();
}

class ChannelStress : public testing::TestWithParam<std::size_t> {};
INSTANTIATE_TEST_SUITE_P(Limit, ChannelStress, testing::Values(0, 1, 7, unlimited));

TEST_P(ChannelStress, LosesNothing) {
    for (unsigned round = 0; round != 6; ++round) {
        register_of_items items;
        auto at = std::make_unique<stage>(items, GetParam(), round % 3);
        {
            std::vector<std::jthread> threads;
            for (unsigned i = 0; i != 3; ++i) {
                threads.emplace_back([&at, seed = 100 * round + 10 * i + 1] {
                    run_loop loop;
                    loop.run(run_four(*at, loop.executor(), seed));
                });
            }
            threads.emplace_back([&at, seed = 100 * round + 91] {
                party alone(*at, seed);
                sync_wait(alone.run());
            });
            std::this_thread::sleep_for(60ms);
            if (round % 2 == 0) {
                at->a.close();
            } else {
                for (const parcel& each : at->a.close_and_take()) {
                    items.received(*each);
                }
            }
            std::this_thread::sleep_for(5ms);
            at->over.store(true);
            at->stop.request_stop();
            at->b.close();
        }
        at.reset(); // reports what is left
        items.verify();
    }
}

} // namespace
} // namespace tryst::test
