// SPDX-License-Identifier: MIT
// The memory of an operation is its handler's.
#include "adapters/asio/counting_allocator.hpp"
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <utility>

namespace {

using namespace std::chrono_literals;
using tryst::task;
using tryst::asio::async_wait;
using tryst::test::accounted;
using tryst::test::memory_account;
using tryst::test::step;
using tryst::test::unlucky;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<int>;

class HandlerAllocator : public ::testing::Test {
protected:
    /// A handler that looks whether its memory is free.
    auto handler() {
        const auto look = [this](auto&&...) {
            called = true;
            EXPECT_EQ(account.live(), 0);
        };
        return accounted(io, account, look);
    }
    void expect_one_frame() {
        EXPECT_TRUE(called);
        EXPECT_EQ(account.allocated, 1);
        EXPECT_EQ(account.freed, 1);
    }

    net::io_context io;
    exchanger ex{1};
    memory_account account;
    bool called = false;
};

TEST_F(HandlerAllocator, GivesOneFrameIfTheExchangeEndsAtOnce) {
    ex.close();
    async_wait(ex.exchange(1), handler());
    step(io);
    expect_one_frame();
}

TEST_F(HandlerAllocator, GivesOneFrameToATask) {
    async_wait([]() -> task<> { co_return; }(), handler());
    step(io);
    expect_one_frame();
}

TEST_F(HandlerAllocator, IsReturnedItsMemoryWhenTheContextEnds) {
    auto context = std::make_unique<net::io_context>();
    async_wait(ex.exchange(1), accounted(*context, account, [](auto&&...) { FAIL(); }));
    context->poll();
    context.reset();
    EXPECT_EQ(account.allocated, 1);
    EXPECT_EQ(account.live(), 0);
}

TEST_F(HandlerAllocator, MayBeUsedAgainByTheHandler) {
    int left = 10;
    std::function<void()> initiate = [&] {
        async_wait(ex.exchange(1, 0s), accounted(io, account, [&](const auto&) {
                       EXPECT_EQ(account.live(), 0);
                       if (--left != 0) {
                           initiate();
                       }
                   }));
    };
    initiate();
    step(io);
    EXPECT_EQ(left, 0);
    EXPECT_EQ(account.allocated, 10);
}

TEST_F(HandlerAllocator, ThatFailsLetsTheInitiationThrowAndNothingIsOffered) {
    const auto held = std::make_shared<int>();
    EXPECT_THROW(async_wait(ex.exchange(1), net::bind_executor(io, unlucky{held})), std::bad_alloc);
    EXPECT_FALSE(waits_in_list(ex));
    bool started = false;
    EXPECT_THROW(async_wait(
                     [](bool& ran) -> task<> {
                         ran = true;
                         co_return;
                     }(started),
                     net::bind_executor(io, unlucky{held})),
                 std::bad_alloc);
    EXPECT_EQ(held.use_count(), 1);
    step(io);
    EXPECT_TRUE(io.stopped());
    EXPECT_FALSE(started);
}

/// What the comments on `wait` and docs/asio.md say of memory on 64-bit processors.
TEST(WaitMemory, IsAsLittleAsThePageSays) {
    namespace detail = tryst::asio::detail;
    using executor = net::io_context::executor_type;
    using core =
        detail::core_of<decltype(std::declval<tryst::synchronous_channel<long>&>().receive())>;
    using handler = net::executor_binder<void (*)(core::result), executor>;
    if (sizeof(void*) == 8) {
        EXPECT_LE(sizeof(core::result), 24U);
        EXPECT_LE(sizeof(core), 80U);
        EXPECT_LE(sizeof(detail::registered_executor), 80U);
        EXPECT_LE(sizeof(detail::operation_state<handler, core>), 300U);
    }
}

} // namespace
