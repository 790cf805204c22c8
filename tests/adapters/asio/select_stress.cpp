// SPDX-License-Identifier: MIT
// Selections and plain exchanges under stress: in awaitables, callbacks, tasks and threads, with
// stops, deadlines and cancellation signals. Meanwhile contexts are destroyed. Each exchange must
// have two sides that agree, each item that was not exchanged must come back from its own case, and
// no item may be lost.
#include "adapters/asio/net.hpp"
#include "stress/scene.hpp"
#include "stress/step_counts.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstddef>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

constexpr std::size_t room_count = 3;

/// A stop source that is renewed at each press.
class button {
public:
    std::stop_token token() {
        const std::scoped_lock lock(mutex_);
        return source_.get_token();
    }
    void press() {
        std::stop_source pressed;
        {
            const std::scoped_lock lock(mutex_);
            std::swap(pressed, source_);
        }
        pressed.request_stop();
    }

private:
    std::mutex mutex_;
    std::stop_source source_;
};

/// One side of an exchange that took place.
struct meeting {
    std::size_t room;
    long given;
    long got;
};

/// What one party has seen.
struct account {
    std::vector<meeting> meetings;
    std::size_t cancelled = 0;
    std::size_t timed_out = 0;
};

struct rooms_scene {
    explicit rooms_scene(std::size_t parties)
        : accounts(parties), left(static_cast<std::ptrdiff_t>(parties)) {}

    void press_and_close() {
        for (const auto end = steady::now() + 40ms; steady::now() < end;) {
            stop.press();
            std::this_thread::yield();
        }
        for (auto& room : rooms) {
            room.close();
        }
    }

    census items;
    std::array<exchanger<tracked>, room_count> rooms;
    button stop;
    std::vector<account> accounts;
    std::latch left;
};

/// The next operation of a party: makes it, and checks its result.
class room_party {
public:
    room_party(rooms_scene& s, std::size_t number)
        : scene_(s), number_(number), random_(number), account_(s.accounts[number]) {}

    /// Chooses the next operation. @returns the number of its cases.
    std::size_t begin() {
        const unsigned roll = random_.roll();
        first_ = roll % room_count;
        second_ = (first_ + 1 + roll / room_count % (room_count - 1)) % room_count;
        patience_ = random_.roll() < 8 ? random_.patience() : std::chrono::hours(1);
        stop_ = random_.roll() < 8 ? scene_.stop.token() : std::stop_token();
        return 1 + random_.roll() % room_count;
    }

    auto one() { return scene_.rooms[first_].exchange(item(first_), patience_, std::move(stop_)); }
    auto two() {
        return select(scene_.rooms[first_].exchange(item(first_)),
                      scene_.rooms[second_].exchange(item(second_)), patience_, std::move(stop_));
    }
    auto all() {
        return select_from(
            scene_.rooms,
            [this](auto& room) {
                return room.exchange(item(static_cast<std::size_t>(&room - scene_.rooms.data())));
            },
            std::move(stop_));
    }

    /// @{
    /// Enters the outcome. @returns whether the rooms are open.
    bool end(const exchange_result<tracked>& result) {
        if (!result) {
            expect_back(result, first_);
        }
        return enter(result, first_);
    }
    bool end(select_result<exchange_result<tracked>, exchange_result<tracked>> result) {
        const bool open = result.index() != 1 ? enter(result.template get<0>(), first_)
                                              : enter(result.template get<1>(), second_);
        expect_back_unless(result.index() == 0, result.template get<0>(), first_);
        expect_back_unless(result.index() == 1, result.template get<1>(), second_);
        return open;
    }
    template <class Cases>
    bool end(select_from_result<Cases> result) {
        EXPECT_EQ(result.size(), room_count);
        bool open = true;
        for (std::size_t i = 0; i != room_count; ++i) {
            const exchange_result<tracked> each = result[i];
            if (i == (result ? result.index() : 0)) {
                open = enter(each, i);
            }
            expect_back_unless(i == result.index(), each, i);
        }
        return open;
    }
    /// @}

    void leave() { scene_.left.count_down(); }
    unsigned roll() { return random_.roll(); }

private:
    tracked item(std::size_t room) {
        given_.at(room) = first_item(number_) + ++items_;
        return {scene_.items, given_.at(room)};
    }

    bool enter(const exchange_result<tracked>& result, std::size_t room) {
        if (result) {
            account_.meetings.push_back({room, given_.at(room), result->id()});
            return true;
        }
        account_.cancelled += result.error() == exchange_errc::cancelled ? 1U : 0U;
        account_.timed_out += result.error() == exchange_errc::timed_out ? 1U : 0U;
        return result.error() != exchange_errc::closed;
    }

    void expect_back_unless(bool selected, const exchange_result<tracked>& result,
                            std::size_t room) {
        EXPECT_TRUE(!result || selected);
        if (!result) {
            expect_back(result, room);
        }
    }
    void expect_back(const exchange_result<tracked>& result, std::size_t room) {
        EXPECT_EQ(result.returned().id(), given_.at(room));
    }

    rooms_scene& scene_;
    std::size_t number_;
    dice random_;
    account& account_;
    long items_ = 0;
    std::size_t first_ = 0;
    std::size_t second_ = 0;
    std::chrono::microseconds patience_{};
    std::stop_token stop_;
    std::array<long, room_count> given_{};
};

net::awaitable<void> awaitable_party(rooms_scene& s, std::size_t number) {
    room_party mine(s, number);
    for (bool open = true; open;) {
        const std::size_t cases = mine.begin();
        if (cases == 1) {
            open = mine.end(co_await asio::wait(mine.one()));
        } else if (cases == 2) {
            open = mine.end(co_await asio::wait(mine.two()));
        } else {
            open = mine.end(co_await asio::wait(mine.all()));
        }
    }
    mine.leave();
}

void blocking_rooms_party(rooms_scene& s, std::size_t number) {
    room_party mine(s, number);
    for (bool open = true; open;) {
        const std::size_t cases = mine.begin();
        if (cases == 1) {
            open = mine.end(sync_wait(mine.one()));
        } else if (cases == 2) {
            open = mine.end(sync_wait(mine.two()));
        } else {
            open = mine.end(sync_wait(mine.all()));
        }
    }
    mine.leave();
}

task<> task_party(rooms_scene& s, std::size_t number) {
    room_party mine(s, number);
    for (bool open = true; open;) {
        const std::size_t cases = mine.begin();
        if (cases == 1) {
            open = mine.end(co_await mine.one());
        } else if (cases == 2) {
            open = mine.end(co_await mine.two());
        } else {
            open = mine.end(co_await mine.all());
        }
    }
    mine.leave();
}

/// Callbacks on an executor that runs one handler at a time. Some are cancelled by a signal.
template <class Executor>
class callback_party : public std::enable_shared_from_this<callback_party<Executor>> {
public:
    callback_party(rooms_scene& s, std::size_t number, Executor executor)
        : mine_(s, number), executor_(std::move(executor)) {}

    void next() {
        if (mine_.begin() == 2) {
            asio::async_wait(mine_.two(), handler());
        } else {
            asio::async_wait(mine_.all(), handler());
        }
        if (mine_.roll() < 5) {
            net::post(executor_, [self = this->shared_from_this()] {
                self->signal_.emit(net::cancellation_type::terminal);
            });
        }
    }

private:
    auto handler() {
        const auto end = [self = this->shared_from_this()](auto result) {
            EXPECT_TRUE(self->executor_.running_in_this_thread());
            if (self->mine_.end(std::move(result))) {
                net::post(self->executor_, [self] { self->next(); });
            } else {
                self->mine_.leave();
            }
        };
        return net::bind_cancellation_slot(signal_.slot(), net::bind_executor(executor_, end));
    }

    room_party mine_;
    Executor executor_;
    net::cancellation_signal signal_;
};

template <class Executor>
void start_callbacks(rooms_scene& s, std::size_t number, const Executor& executor) {
    auto party = std::make_shared<callback_party<Executor>>(s, number, executor);
    net::post(executor, [party = std::move(party)] { party->next(); });
}

struct sums {
    std::size_t meetings = 0;
    std::size_t cancelled = 0;
    std::size_t timed_out = 0;
    std::size_t abandoned = 0;

    /// Checks what the parties of a scene have seen. The first `on_context` of them may have been
    /// destroyed after a match, so the other side may be missing.
    void add(rooms_scene& s, std::size_t on_context) {
        std::map<long, meeting> by_item;
        for (const account& each : s.accounts) {
            cancelled += each.cancelled;
            timed_out += each.timed_out;
            meetings += each.meetings.size();
            for (const meeting& one : each.meetings) {
                EXPECT_TRUE(by_item.emplace(one.given, one).second) << "given twice";
            }
        }
        for (const auto& [given, one] : by_item) {
            const auto other = by_item.find(one.got);
            if (other == by_item.end()) {
                EXPECT_LT(one.got, first_item(on_context)) << "a side is missing";
                ++abandoned;
                continue;
            }
            EXPECT_EQ(other->second.got, given);
            EXPECT_EQ(other->second.room, one.room);
        }
        EXPECT_EQ(s.items.alive.load(), 0) << "items leaked, or died twice";
    }
};

void all_kinds_meet(sums& all) {
    rooms_scene s(10);
    {
        net::io_context context;
        net::thread_pool pool(2);
        run_loop loop;
        net::co_spawn(context, awaitable_party(s, 0), net::detached);
        net::co_spawn(context, awaitable_party(s, 1), net::detached);
        net::co_spawn(net::make_strand(pool), awaitable_party(s, 2), net::detached);
        net::co_spawn(net::make_strand(pool), awaitable_party(s, 3), net::detached);
        start_callbacks(s, 4, net::make_strand(pool));
        start_callbacks(s, 5, context.get_executor());
        loop.spawn(task_party(s, 6));
        loop.spawn(task_party(s, 7));
        std::vector<std::jthread> running;
        running.emplace_back([&s] { blocking_rooms_party(s, 8); });
        running.emplace_back([&s] { blocking_rooms_party(s, 9); });
        running.emplace_back([&context] { context.run(); });
        running.emplace_back([&loop] { loop.run(); });
        running.emplace_back([&s] { s.press_and_close(); });
        s.left.wait();
        loop.stop();
        running.clear();
        pool.join();
    }
    all.add(s, 0);
}

void parties_end_with_their_context(std::size_t seed, sums& all) {
    constexpr std::size_t on_context = 5;
    rooms_scene s(on_context + 2);
    std::barrier start(3);
    std::vector<std::jthread> others;
    for (std::size_t i = on_context; i != on_context + 2; ++i) {
        others.emplace_back([&s, &start, i] {
            start.arrive_and_wait();
            blocking_rooms_party(s, i);
        });
    }
    {
        net::io_context context;
        net::co_spawn(context, awaitable_party(s, 0), net::detached);
        net::co_spawn(net::make_strand(context), awaitable_party(s, 1), net::detached);
        net::co_spawn(context, awaitable_party(s, 2), net::detached);
        start_callbacks(s, 3, context.get_executor());
        start_callbacks(s, 4, net::make_strand(context));
        start.arrive_and_wait();
        context.run_for(std::chrono::microseconds(100 * (seed % 20)));
    }
    for (auto& room : s.rooms) {
        room.close();
    }
    others.clear();
    all.add(s, on_context);
}

TEST(AsioSelectStress, AgreesOnEachExchangeAndConservesEveryItem) {
    using detail::step;
    forget_steps();
    sums all;
    const stress_time time;
    while (time.goes_on([&] {
        return all.meetings < 200 || all.cancelled == 0 || all.timed_out == 0 ||
               missing(step::commit, step::stale_claim, step::held_selection);
    }) && !HasFailure()) {
        all_kinds_meet(all);
    }
    EXPECT_GE(all.meetings, 200U);
    EXPECT_GT(all.cancelled, 0U);
    EXPECT_GT(all.timed_out, 0U);
    for (const auto taken : {step::commit, step::stale_claim, step::held_selection}) {
        EXPECT_GT(count_of(taken), 0) << "step " << static_cast<int>(taken);
    }
}

TEST(AsioSelectStress, WithdrawsSelectionsThatEndWithTheirContext) {
    sums all;
    std::size_t seed = 0;
    const stress_time time;
    while (time.goes_on([&] { return all.meetings < 200 || all.abandoned == 0; }) &&
           !HasFailure()) {
        parties_end_with_their_context(++seed, all);
    }
    EXPECT_GE(all.meetings, 200U);
    EXPECT_GT(all.abandoned, 0U) << "no context ended between a match and its turn";
}

} // namespace
} // namespace tryst::test
