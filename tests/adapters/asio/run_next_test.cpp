// SPDX-License-Identifier: MIT
// A partner that an awaitable releases runs next on its thread, before what is in the queue, unless
// it belongs into a strand, other threads could run it, or too many have run so.
#include "adapters/asio/net.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <deque>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace net = tryst::test::net;
using tryst::asio::wait;
using channel = tryst::synchronous_channel<int>;
using strand = net::strand<net::io_context::executor_type>;

class RunNext : public testing::TestWithParam<int> {
protected:
    /// Receives from a channel, posts a handler, and sends to the next channels.
    net::awaitable<void> relay(channel& from, std::vector<channel*> to, std::string name) {
        const auto got = co_await wait(from.receive());
        log_ += name;
        net::post(io_, [this] { log_ += "."; });
        for (channel* const each : to) {
            static_cast<void>(each->try_send(*got));
        }
    }
    template <class Executor>
    void spawn(const Executor& on, net::awaitable<void> what) {
        net::co_spawn(on, std::move(what), [](const std::exception_ptr& error) {
            if (error) {
                std::rethrow_exception(error);
            }
        });
    }
    /// Runs until nothing is ready.
    void run() {
        io_.restart();
        io_.poll();
    }
    /// Starts the first relay.
    void begin() {
        run();
        ASSERT_TRUE(first_.try_send(1));
        run();
    }

    net::io_context io_{GetParam()};
    std::deque<channel> more_;
    channel first_;
    std::string log_;
};
INSTANTIATE_TEST_SUITE_P(AsioHints, RunNext, testing::Values(1, -1, tryst::asio::hint_no_locks));

TEST_P(RunNext, ButLetsTheQueueRunAfterSome) {
    channel* from = &first_;
    for (int i = 0; i != 20; ++i) {
        channel& to = more_.emplace_back();
        spawn(io_.get_executor(), relay(*from, {&to}, "r"));
        from = &to;
    }
    begin();
    EXPECT_EQ(log_, std::string(17, 'r') + std::string(17, '.') + "rrr...");
}

TEST_P(RunNext, UnlessOtherThreadsCouldRunIt) {
    more_.resize(2);
    spawn(io_.get_executor(), relay(more_[0], {}, "a"));
    spawn(io_.get_executor(), relay(more_[1], {}, "b"));
    spawn(io_.get_executor(), relay(first_, {&more_[0], &more_[1]}, "s"));
    begin();
    EXPECT_EQ(log_, GetParam() == -1 ? "s.ab.." : "sab...");
}

TEST_P(RunNext, UnlessEitherIsInAStrand) {
    const strand own = net::make_strand(io_.get_executor());
    channel* from = &first_;
    const auto check = [this](channel& in, channel& out, strand here,
                              bool inside) -> net::awaitable<void> {
        static_cast<void>(co_await wait(in.receive()));
        EXPECT_EQ(here.running_in_this_thread(), inside);
        log_ += "r";
        net::post(io_, [this] { log_ += "."; });
        static_cast<void>(out.try_send(1));
    };
    for (int i = 0; i != 4; ++i) {
        channel& to = more_.emplace_back();
        if (i % 2 == 0) {
            spawn(own, check(*from, to, own, true));
        } else {
            spawn(io_.get_executor(), check(*from, to, own, false));
        }
        from = &to;
    }
    begin();
    EXPECT_EQ(log_, "r.r.r.r.");
}

/// A stop comes into force after a turn of the context. What is in the queue runs before.
TEST_P(RunNext, UnlessItAsksForATurnItself) {
    tryst::inplace_stop_source source;
    channel& to = more_.emplace_back();
    const auto party = [&, this]() -> net::awaitable<void> {
        static_cast<void>(co_await wait(first_.receive()));
        net::post(io_, [&, this] {
            source.request_stop();
            log_ += to.try_send(1) ? "sent" : "stopped";
        });
        const auto got = co_await wait(to.receive(source.get_token()));
        log_ += got ? ", received" : ", stopped";
    };
    spawn(io_.get_executor(), party());
    begin();
    EXPECT_EQ(log_, "sent, received");
}

TEST_P(RunNext, UnlessAHandlerThrowsBefore) {
    more_.resize(2);
    tryst::asio::async_wait(more_[0].receive(), net::bind_executor(io_, [](const auto& /*got*/) {
                                throw std::runtime_error("before the next one");
                            }));
    spawn(io_.get_executor(), relay(more_[1], {}, "a"));
    spawn(io_.get_executor(), relay(first_, {&more_[0], &more_[1]}, "s"));
    run();
    ASSERT_TRUE(first_.try_send(1));
    EXPECT_THROW(run(), std::runtime_error);
    EXPECT_EQ(log_, GetParam() == -1 ? "s." : "s");
    run();
    EXPECT_EQ(log_, "s.a.");
}

} // namespace
