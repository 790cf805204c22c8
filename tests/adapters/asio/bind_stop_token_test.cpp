// SPDX-License-Identifier: MIT
// Stop tokens for Asio operations.
#include "adapters/asio/counting_allocator.hpp"
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#ifdef TRYST_BOOST_ASIO
#include <boost/asio/buffer.hpp>
#include <boost/asio/local/connect_pair.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#else
#include <asio/buffer.hpp>
#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/steady_timer.hpp>
#endif

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <latch>
#include <memory>
#include <optional>
#include <stop_token>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::asio::async_wait;
using tryst::asio::bind_stop_token;
using tryst::test::accounted;
using tryst::test::as_tuple;
using tryst::test::completed;
using tryst::test::error_code;
using tryst::test::expect_failed;
using tryst::test::expect_got;
using tryst::test::keep_in;
using tryst::test::keep_on;
using tryst::test::memory_account;
using tryst::test::step;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;
using timer = net::steady_timer;

class BindStopToken : public ::testing::Test {
protected:
    /// Starts an endless wait whose handler stores the error.
    template <class Token>
    void wait_for_ever(Token token) {
        clock.expires_at(timer::time_point::max());
        clock.async_wait(bind_stop_token(stop.get_token(), std::move(token)));
    }
    auto tell() {
        return [this](error_code error) {
            EXPECT_FALSE(ended) << "a handler was called twice";
            ended = error;
        };
    }
    void expect_stopped() {
        step(io);
        ASSERT_TRUE(ended);
        EXPECT_EQ(*ended, error_code(net::error::operation_aborted));
    }

    net::io_context io;
    timer clock{io};
    std::stop_source stop;
    std::optional<error_code> ended;
};

TEST_F(BindStopToken, StopsATimer) {
    wait_for_ever(net::bind_executor(io, tell()));
    step(io);
    EXPECT_FALSE(ended);
    stop.request_stop();
    EXPECT_FALSE(ended); // not within the request
    expect_stopped();
}

TEST_F(BindStopToken, StopsAnOperationThatBeginsAfterTheStop) {
    stop.request_stop();
    wait_for_ever(net::bind_executor(io, tell()));
    expect_stopped();
}

TEST_F(BindStopToken, StopsAnAwaitable) {
    net::co_spawn(
        io,
        [this]() -> net::awaitable<void> {
            const auto [error] = co_await clock.async_wait(
                bind_stop_token(stop.get_token(), as_tuple(net::use_awaitable)));
            tell()(error);
        },
        net::detached);
    clock.expires_at(timer::time_point::max());
    step(io);
    stop.request_stop();
    expect_stopped();
}

TEST_F(BindStopToken, StopsFromAnotherThread) {
    wait_for_ever(net::bind_executor(io, tell()));
    std::thread stopper([this] { stop.request_stop(); });
    io.run();
    stopper.join();
    expect_stopped();
}

TEST_F(BindStopToken, HasNoEffectAfterTheEnd) {
    wait_for_ever(net::bind_executor(io, tell()));
    clock.expires_after(-1s); // cancels the wait
    step(io);
    ASSERT_TRUE(ended);
    stop.request_stop();
    step(io);
}

TEST_F(BindStopToken, HasNoEffectOnTheNextOperationOfTheHandler) {
    exchanger ex;
    completed<int> got;
    async_wait(ex.exchange(1),
               bind_stop_token(stop.get_token(), net::bind_executor(io, [&](const auto&) {
                                   async_wait(ex.exchange(3), keep_on(io, got));
                               })));
    step(io);
    EXPECT_EQ(*ex.try_exchange(2), 1);
    stop.request_stop(); // the emission is behind the completion in the queue
    step(io);
    ASSERT_TRUE(waits_in_list(ex));
    EXPECT_EQ(*ex.try_exchange(4), 3);
    step(io);
    expect_got(got, 4);
}

TEST_F(BindStopToken, EmitsNothingAfterTheEndIfTheOperationHasNotClearedItsSlot) {
    bool emitted = false;
    const auto initiate = [&emitted](auto handler) {
        net::get_associated_cancellation_slot(handler).assign([&emitted](auto) { emitted = true; });
        net::post(std::move(handler));
    };
    auto token = bind_stop_token(stop.get_token(), net::bind_executor(io, [] {}));
    net::async_initiate<decltype(token), void()>(initiate, token);
    stop.request_stop(); // behind the completion in the queue
    step(io);
    EXPECT_FALSE(emitted);
}

TEST_F(BindStopToken, MayNeverBeStopped) {
    clock.expires_after(-1s);
    clock.async_wait(bind_stop_token(std::stop_token(), net::bind_executor(io, tell())));
    step(io);
    ASSERT_TRUE(ended);
    EXPECT_FALSE(*ended);
}

TEST_F(BindStopToken, StopsARead) {
    net::local::stream_protocol::socket here(io);
    net::local::stream_protocol::socket there(io);
    net::local::connect_pair(here, there);
    std::array<char, 1> byte{};
    std::size_t size = 1;
    here.async_read_some(
        net::buffer(byte),
        bind_stop_token(stop.get_token(),
                        net::bind_executor(io, [&](error_code error, std::size_t read) {
                            size = read;
                            tell()(error);
                        })));
    step(io);
    EXPECT_FALSE(ended);
    stop.request_stop();
    expect_stopped();
    EXPECT_EQ(size, 0U);
}

TEST_F(BindStopToken, StopsAnExchangeAndGivesTheItemBack) {
    exchanger ex;
    completed<int> got;
    async_wait(ex.exchange(1), bind_stop_token(stop.get_token(), keep_on(io, got)));
    step(io);
    ASSERT_TRUE(waits_in_list(ex));
    stop.request_stop();
    step(io);
    expect_failed(got, exchange_errc::cancelled, 1);
}

TEST_F(BindStopToken, EmitsOnTheExecutorOfTheObjectIfTheHandlerHasNone) {
    wait_for_ever(tell());
    stop.request_stop();
    expect_stopped();
}

TEST_F(BindStopToken, LeavesTheHandlerItsOwnSlot) {
    net::cancellation_signal signal;
    wait_for_ever(net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, tell())));
    step(io);
    EXPECT_FALSE(ended);
    signal.emit(net::cancellation_type::total);
    expect_stopped();
    EXPECT_FALSE(signal.slot().has_handler());
    stop.request_stop();
    step(io);
}

TEST_F(BindStopToken, PassesOnTheTypeOfACancellation) {
    net::cancellation_signal signal;
    std::optional<net::cancellation_type> seen;
    const auto initiate = [&seen](auto handler) {
        net::get_associated_cancellation_slot(handler).assign(
            [&seen](net::cancellation_type type) { seen = type; });
        net::post(std::move(handler));
    };
    auto token =
        bind_stop_token(stop.get_token(),
                        net::bind_cancellation_slot(signal.slot(), net::bind_executor(io, [] {})));
    net::async_initiate<decltype(token), void()>(initiate, token);
    for (const auto type : {net::cancellation_type::partial, net::cancellation_type::total}) {
        signal.emit(type);
        EXPECT_EQ(seen, type);
    }
    step(io);
}

TEST_F(BindStopToken, KeepsTheHandlersExecutorAndAllocator) {
    exchanger ex;
    memory_account account;
    completed<int> got;
    async_wait(ex.exchange(1),
               bind_stop_token(stop.get_token(), accounted(io, account, keep_in(got))));
    EXPECT_EQ(account.live(), 1);
    EXPECT_EQ(*ex.try_exchange(2), 1);
    step(io);
    expect_got(got, 2);
}

TEST_F(BindStopToken, MayBeGivenToSeveralOperations) {
    exchanger ex;
    completed<int> got;
    const auto token = bind_stop_token(stop.get_token(), keep_on(io, got));
    async_wait(ex.exchange(1), token);
    EXPECT_TRUE(ex.try_exchange(2));
    step(io);
    got.reset();
    stop.request_stop();
    async_wait(ex.exchange(3), token);
    step(io);
    expect_failed(got, tryst::exchange_errc::cancelled, 3);
}

TEST_F(BindStopToken, MayBeWithinOtherTokens) {
    exchanger ex;
    completed<int> plain;
    completed<int> tuple;
    std::optional<error_code> redirected;
    net::co_spawn(
        io,
        [&]() -> net::awaitable<void> {
            const auto token = bind_stop_token(stop.get_token(), net::use_awaitable);
            plain.emplace(co_await async_wait(ex.exchange(1), token));
            auto [second] = co_await async_wait(ex.exchange(2), as_tuple(token));
            tuple.emplace(second);
            error_code error;
            clock.expires_at(timer::time_point::max());
            co_await clock.async_wait(net::redirect_error(token, error));
            redirected = error;
        },
        net::detached);
    step(io);
    ASSERT_TRUE(waits_in_list(ex));
    stop.request_stop();
    step(io);
    expect_failed(plain, exchange_errc::cancelled, 1);
    expect_failed(tuple, exchange_errc::cancelled, 2);
    EXPECT_EQ(redirected, error_code(net::error::operation_aborted));
}

TEST_F(BindStopToken, MayBeStoppedWhenTheContextHasEnded) {
    auto context = std::make_unique<net::io_context>();
    exchanger ex;
    completed<int> got;
    async_wait(ex.exchange(1), bind_stop_token(stop.get_token(), keep_on(*context, got)));
    context->poll();
    context.reset();
    stop.request_stop();
    EXPECT_FALSE(got);
}

/// An executor of `io` that posts slowly, so that a stop request takes time.
class hesitant_executor {
public:
    struct gate {
        std::atomic<std::thread::id> stopper;
        std::latch there{1};
        std::atomic<bool> posted{false};
        std::atomic<bool> handler_gone{false};
    };

    hesitant_executor(net::io_context& io, gate& at) noexcept : io_(&io), gate_(&at) {}

    net::execution_context& query(net::execution::context_t) const noexcept { return *io_; }
    static constexpr net::execution::blocking_t query(net::execution::blocking_t) noexcept {
        return net::execution::blocking_t::never_t();
    }
    hesitant_executor require(net::execution::blocking_t::never_t) const noexcept { return *this; }

    template <class Function>
    void execute(Function function) const {
        const bool hesitates = gate_->stopper.load() == std::this_thread::get_id();
        if (hesitates) {
            gate_->there.count_down();
            // Time enough for a context to end; on a busy machine a yield takes milliseconds.
            for (int i = 0; i != 2'000 && !gate_->handler_gone; ++i) {
                std::this_thread::yield();
            }
            gate_->posted = true;
        }
        const net::any_io_executor executor(io_->get_executor());
        net::require(executor, net::execution::blocking.never).execute(std::move(function));
    }

    bool operator==(const hesitant_executor&) const noexcept = default;

private:
    net::io_context* io_;
    gate* gate_;
};

/// A handler whose destructor must wait for a request in progress.
class patient {
public:
    explicit patient(hesitant_executor::gate& at) noexcept : gate_(&at) {}
    patient(patient&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    patient& operator=(patient&&) = delete;
    ~patient() {
        if (gate_ != nullptr) {
            EXPECT_TRUE(gate_->posted) << "the context ends while a stop is being posted to it";
            gate_->handler_gone = true;
        }
    }
    template <class... Results>
    void operator()(Results&&...) const {
        ADD_FAILURE() << "a handler was called while its context was being destroyed";
    }

private:
    hesitant_executor::gate* gate_;
};

TEST_F(BindStopToken, KeepsTheContextUntilARequestOnAnotherThreadIsPosted) {
    for (const bool exchanges : {true, false}) {
        hesitant_executor::gate gate;
        exchanger ex;
        stop = std::stop_source();
        auto context = std::make_unique<net::io_context>();
        std::optional<timer> of_context(std::in_place, *context, timer::time_point::max());
        auto token = bind_stop_token(
            stop.get_token(), net::bind_executor(hesitant_executor(*context, gate), patient(gate)));
        if (exchanges) {
            async_wait(ex.exchange(1), std::move(token));
        } else {
            of_context->async_wait(std::move(token));
        }
        context->poll();
        std::thread stopper([&] {
            gate.stopper = std::this_thread::get_id();
            stop.request_stop();
        });
        gate.there.wait();
        of_context.reset();
        context.reset();
        stopper.join();
    }
}

/// The stop is requested by a handler's destructor, after the registry of the context has ended.
TEST_F(BindStopToken, PostsNothingToAContextThatIsBeingDestroyed) {
    hesitant_executor::gate gate;
    gate.stopper = std::this_thread::get_id();
    exchanger ex;
    auto context = std::make_unique<net::io_context>();
    std::optional<timer> of_context(std::in_place, *context, timer::time_point::max());
    of_context->async_wait(
        bind_stop_token(stop.get_token(), net::bind_executor(hesitant_executor(*context, gate),
                                                             [](auto) { FAIL(); })));
    of_context.reset(); // its handler is in the queue
    std::shared_ptr<void> at_end(nullptr, [this](void*) { stop.request_stop(); });
    async_wait(ex.exchange(1),
               net::bind_executor(*context, [kept = std::move(at_end)](const auto&) { FAIL(); }));
    context.reset();
    EXPECT_TRUE(stop.stop_requested());
    EXPECT_FALSE(gate.posted);
}

TEST_F(BindStopToken, RacesWithTheEndOfTheOperation) {
    exchanger ex;
    int stopped = 0;
    for (int round = 0; round != 500; ++round) {
        stop = std::stop_source();
        completed<int> got;
        async_wait(ex.exchange(1), bind_stop_token(stop.get_token(), keep_on(io, got)));
        step(io);
        std::thread stopper([this] { stop.request_stop(); });
        const bool met = static_cast<bool>(ex.try_exchange(2));
        io.restart();
        io.run();
        stopper.join();
        ASSERT_TRUE(got);
        ASSERT_EQ(got->has_value(), met);
        stopped += met ? 0 : 1;
    }
    RecordProperty("stopped", stopped);
}

// ---- Misuse

#ifndef NDEBUG
TEST_F(BindStopToken, AssertsThatTheHandlersExecutorIsKnown) {
    exchanger ex;
    const auto start = [&] {
        async_wait(ex.exchange(1),
                   net::bind_executor(io, bind_stop_token(stop.get_token(), [](const auto&) {})));
    };
    EXPECT_DEATH(start(), "bind_executor");
}
#endif

} // namespace
