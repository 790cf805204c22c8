// SPDX-License-Identifier: MIT
#include <tryst/synchronous_channel.hpp>

#include "support/tracked.hpp"

#include <tryst/run_loop.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/task.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::order;
using tryst::run_loop;
using tryst::sync_wait;
using tryst::task;
using tryst::test::census;
using tryst::test::tracked;
using channel = tryst::synchronous_channel<tracked>;

class Channel : public testing::Test {
protected:
    tracked item(long id) { return {items_, id}; }
    ~Channel() override { EXPECT_EQ(items_.alive, 0); }

    census items_;
};

TEST_F(Channel, HandsItemsOverInTheOrderOfSending) {
    channel c;
    run_loop loop;
    std::vector<long> received;
    for (long id = 0; id != 100; ++id) {
        loop.spawn([](channel& to, tracked mine) -> task<> {
            EXPECT_TRUE(co_await to.send(std::move(mine)));
        }(c, item(id)));
    }
    loop.spawn([](channel& from, std::vector<long>& ids) -> task<> {
        for (int i = 0; i != 100; ++i) {
            ids.push_back((*co_await from.receive()).id());
        }
    }(c, received));
    loop.run_until_idle();
    ASSERT_EQ(received.size(), 100U);
    for (long id = 0; id != 100; ++id) {
        EXPECT_EQ(received[static_cast<std::size_t>(id)], id);
    }
}

TEST_F(Channel, ServesReceiversInTheOrderOfArrival) {
    channel c;
    run_loop loop;
    std::vector<long> got(100, -1);
    for (long& mine : got) {
        loop.spawn([](channel& from, long& id) -> task<> {
            id = (*co_await from.receive()).id();
        }(c, mine));
    }
    loop.run_until_idle();
    for (long id = 0; id != 100; ++id) {
        EXPECT_TRUE(c.try_send(item(id)));
    }
    loop.run_until_idle();
    for (long id = 0; id != 100; ++id) {
        EXPECT_EQ(got[static_cast<std::size_t>(id)], id);
    }
}

TEST_F(Channel, AFailedSendGivesTheItemBack) {
    channel c;
    std::stop_source stop;
    stop.request_stop();
    auto none = c.try_send(item(1));
    EXPECT_EQ(none.error(), exchange_errc::no_partner);
    EXPECT_EQ(none.returned().id(), 1);
    auto late = sync_wait(c.send(item(2), 1ms));
    EXPECT_EQ(late.error(), exchange_errc::timed_out);
    EXPECT_EQ(late.returned().id(), 2);
    auto past = sync_wait(c.send(item(3), std::chrono::steady_clock::time_point()));
    EXPECT_EQ(past.error(), exchange_errc::timed_out);
    auto stopped = sync_wait(c.send(item(4), stop.get_token()));
    EXPECT_EQ(stopped.error(), exchange_errc::cancelled);
    c.close();
    auto closed = sync_wait(c.send(item(5)));
    EXPECT_EQ(closed.error(), exchange_errc::closed);
    EXPECT_EQ(std::move(closed).returned().id(), 5);
}

TEST_F(Channel, AFailedReceiveSaysWhy) {
    channel c;
    std::stop_source stop;
    EXPECT_EQ(c.try_receive().error(), exchange_errc::no_partner);
    EXPECT_EQ(sync_wait(c.receive(1ms)).error(), exchange_errc::timed_out);
    EXPECT_EQ(sync_wait(c.receive(1ms, stop.get_token())).error(), exchange_errc::timed_out);
    EXPECT_EQ(sync_wait(c.receive(std::chrono::steady_clock::time_point())).error(),
              exchange_errc::timed_out);
    stop.request_stop();
    EXPECT_EQ(sync_wait(c.receive(stop.get_token())).error(), exchange_errc::cancelled);
    c.close();
    EXPECT_TRUE(c.is_closed());
    EXPECT_EQ(sync_wait(c.receive()).error(), exchange_errc::closed);
}

TEST_F(Channel, ClosingReturnsWhatNobodyReceived) {
    channel c;
    run_loop loop;
    long returned = 0;
    for (long id = 1; id != 4; ++id) {
        loop.spawn([](channel& to, tracked mine, long& sum) -> task<> {
            auto end = co_await to.send(std::move(mine));
            EXPECT_EQ(end.error(), exchange_errc::closed);
            sum += end.returned().id();
        }(c, item(id), returned));
    }
    loop.run_until_idle();
    c.close();
    loop.run_until_idle();
    EXPECT_EQ(returned, 6);
}

TEST_F(Channel, WorksInEitherOrder) {
    tryst::synchronous_channel<int, order::lifo> c;
    run_loop loop;
    for (int i = 0; i != 3; ++i) {
        loop.spawn([](auto& to, int mine) -> task<> { EXPECT_TRUE(co_await to.send(mine)); }(c, i));
    }
    loop.run_until_idle();
    for (int i = 2; i >= 0; --i) {
        EXPECT_EQ(*c.try_receive(), i);
    }
    loop.run_until_idle();
}

TEST_F(Channel, CarriesWhatThreadsSend) {
    channel c;
    constexpr long each = 2'000;
    std::vector<std::thread> threads;
    for (long t = 0; t != 2; ++t) {
        threads.emplace_back([&, t] {
            for (long i = 0; i != each; ++i) {
                ASSERT_TRUE(sync_wait(c.send(item(t * each + i))));
            }
        });
    }
    std::vector<long> last(2, -1);
    for (long i = 0; i != 2 * each; ++i) {
        const auto got = sync_wait(c.receive());
        ASSERT_TRUE(got);
        long& before = last.at(static_cast<std::size_t>((*got).id() / each));
        EXPECT_LT(before, (*got).id()) << "one sender's items arrive in its order";
        before = (*got).id();
    }
    for (auto& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(c.try_receive().error(), exchange_errc::no_partner);
}

} // namespace
