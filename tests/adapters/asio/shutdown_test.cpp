// SPDX-License-Identifier: MIT
// Operations whose execution context is destroyed in hostile surroundings. See waiting_test.cpp for
// what holds for all forms of waiting.
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::asio::async_wait;
using tryst::test::census;
using tryst::test::mourned;
using tryst::test::tracked;
using tryst::test::waits_in_list;
namespace net = tryst::test::net;
using exchanger = tryst::exchanger<tracked>;

/// Does `last` when it is destroyed.
template <class Last>
class last_will {
public:
    explicit last_will(Last last) : last_(std::move(last)) {}
    last_will(last_will&& other) noexcept
        : last_(std::move(other.last_)), mine_(std::exchange(other.mine_, false)) {}
    last_will& operator=(last_will&&) = delete;
    ~last_will() {
        if (mine_) {
            last_();
        }
    }
    template <class... Results>
    void operator()(Results&&...) const {
        ADD_FAILURE() << "a handler was called while its context was being destroyed";
    }

private:
    Last last_;
    bool mine_ = true;
};

net::awaitable<void> wait_plainly(exchanger& ex, tracked item, tracked /*frame*/) {
    static_cast<void>(co_await tryst::asio::wait(ex.exchange(std::move(item))));
    ADD_FAILURE() << "went on";
}
tryst::task<> exchange_in_task(exchanger& ex, tracked item, tracked /*frame*/) {
    static_cast<void>(co_await ex.exchange(std::move(item)));
    ADD_FAILURE() << "went on";
}
class AsioShutdown : public ::testing::Test {
protected:
    census items;
    census handlers;
};

TEST_F(AsioShutdown, WorksForAContextAtTheAddressOfAnEarlierOne) {
    std::optional<net::io_context> place;
    for (int round = 0; round != 4; ++round) {
        place.emplace();
        exchanger room(1U);
        async_wait(room.exchange(tracked(items, 1)), net::bind_executor(*place, mourned(handlers)));
        net::co_spawn(*place, wait_plainly(room, tracked(items, 2), tracked(handlers, 0)),
                      net::detached);
        place.reset();
        EXPECT_FALSE(waits_in_list(room));
        EXPECT_EQ(items.alive.load(), 0);
        EXPECT_EQ(handlers.alive.load(), 0);
    }
}

TEST_F(AsioShutdown, OfAThreadPoolToleratesAPartnerFromAnotherThread) {
    for (int round = 0; round != 100; ++round) {
        exchanger room;
        std::latch there(2);
        std::thread partner;
        {
            net::thread_pool pool(2);
            async_wait(room.exchange(tracked(items, 1)),
                       net::bind_executor(pool, [](const auto&) {}));
            partner = std::thread([&] {
                there.arrive_and_wait();
                static_cast<void>(room.try_exchange(tracked(items, 2)));
            });
            there.arrive_and_wait();
        }
        partner.join();
        ASSERT_EQ(items.alive.load(), 0);
    }
}

TEST_F(AsioShutdown, DestroysOperationsThatItsHandlersInitiate) {
    for (const bool others_wait : {false, true}) {
        exchanger first;
        exchanger late;
        {
            net::io_context context;
            if (others_wait) {
                async_wait(first.exchange(tracked(items, 1)),
                           net::bind_executor(context, mourned(handlers)));
            }
            net::post(context, last_will([&] {
                          async_wait(late.exchange(tracked(items, 2)),
                                     net::bind_executor(context, mourned(handlers)));
                      }));
        }
        EXPECT_EQ(handlers.alive.load(), 0);
        EXPECT_EQ(items.alive.load(), 0);
        EXPECT_FALSE(late.try_exchange(tracked(items, 3)));
    }
}

TEST_F(AsioShutdown, OfOneHandlerMayCompleteAnotherOperation) {
    for (const bool closer_first : {false, true}) {
        exchanger first;
        exchanger other;
        {
            net::io_context context;
            const auto wait = [&] {
                async_wait(first.exchange(tracked(items, 1)),
                           net::bind_executor(context, mourned(handlers)));
            };
            if (!closer_first) {
                wait();
            }
            async_wait(other.exchange(tracked(items, 2)),
                       net::bind_executor(context, last_will([&] { first.close(); })));
            if (closer_first) {
                wait();
            }
            context.poll();
        }
        EXPECT_EQ(items.alive.load(), 0);
        EXPECT_EQ(handlers.alive.load(), 0);
    }
}

TEST_F(AsioShutdown, OfAStrandThatIsShutDownBeforeItsContext) {
    exchanger first;
    exchanger other;
    exchanger third;
    {
        net::io_context context;
        async_wait(other.exchange(tracked(items, 1)),
                   net::bind_executor(context, mourned(handlers)));
        context.poll();
        const auto strand = net::make_strand(context);
        async_wait(first.exchange(tracked(items, 2)),
                   net::bind_executor(strand, last_will([&] { third.close(); })));
        async_wait(third.exchange(tracked(items, 3)),
                   net::bind_executor(strand, mourned(handlers)));
        net::post(strand, last_will([&] { first.close(); }));
    }
    EXPECT_EQ(items.alive.load(), 0);
    EXPECT_EQ(handlers.alive.load(), 0);
}

/// Otherwise a partner could queue an operation in a strand that is being shut down, and Asio might
/// lose it.
TEST_F(AsioShutdown, DestroysSuspendedOperationsBeforeTheQueuesOfTheirStrands) {
    const auto check = [&](auto executor_in) {
        exchanger first;
        exchanger second;
        std::vector<int> ended;
        {
            net::io_context context;
            async_wait(first.exchange(tracked(items, 1)),
                       net::bind_executor(context, last_will([&] { ended.push_back(1); })));
            const auto strand = net::make_strand(context);
            async_wait(second.exchange(tracked(items, 2)),
                       net::bind_executor(executor_in(context, strand),
                                          last_will([&] { ended.push_back(1); })));
            net::post(strand, last_will([&] { ended.push_back(2); }));
        }
        EXPECT_EQ(ended, (std::vector{1, 1, 2}));
    };
    check([](auto&, auto strand) { return strand; });
    check([](auto&, auto strand) { return net::any_io_executor(strand); });
    check([](auto& context, auto) {
        return net::make_strand(net::any_io_executor(context.get_executor()));
    });
}

TEST_F(AsioShutdown, OfOneHandlerMayDestroyATaskExecutor) {
    for (const bool executor_first : {false, true}) {
        exchanger first;
        exchanger other;
        {
            std::unique_ptr<tryst::asio::task_executor<>> loop;
            net::io_context context;
            loop = std::make_unique<tryst::asio::task_executor<>>(context.get_executor());
            const auto spawn = [&] {
                loop->spawn(exchange_in_task(first, tracked(items, 1), tracked(handlers, 1)));
                context.poll();
            };
            if (executor_first) {
                spawn();
            }
            async_wait(other.exchange(tracked(items, 2)),
                       net::bind_executor(context, last_will([&] {
                                              first.close(); // wakes it
                                              loop.reset();
                                          })));
            if (!executor_first) {
                spawn();
            }
        }
        EXPECT_EQ(items.alive.load(), 0);
        EXPECT_EQ(handlers.alive.load(), 0);
    }
}

TEST_F(AsioShutdown, OfOneHandlerMayDestroyTheOnlyExchanger) {
    auto room = std::make_unique<exchanger>();
    exchanger other;
    {
        net::io_context context;
        async_wait(other.exchange(tracked(items, 1)),
                   net::bind_executor(context, last_will([&] { room.reset(); })));
        async_wait(room->exchange(tracked(items, 2)),
                   net::bind_executor(context, mourned(handlers)));
        net::co_spawn(context, wait_plainly(*room, tracked(items, 3), tracked(handlers, 0)),
                      net::detached); // has not begun
    }
    EXPECT_EQ(items.alive.load(), 0);
    EXPECT_EQ(handlers.alive.load(), 0);
}

/// A context whose queue ends before its services, as a member of a context's class does.
class context_with_queue : public net::execution_context {
public:
    class executor_type {
    public:
        explicit executor_type(context_with_queue& context) noexcept : context_(&context) {}
        context_with_queue& query(net::execution::context_t) const noexcept { return *context_; }
        static constexpr net::execution::blocking_t query(net::execution::blocking_t) noexcept {
            return net::execution::blocking_t::never_t();
        }
        executor_type require(net::execution::blocking_t::never_t) const noexcept { return *this; }
        template <class Function>
        void execute(Function function) const {
            context_->queue_.push_back(std::make_unique<queued<Function>>(std::move(function)));
        }
        bool operator==(const executor_type&) const noexcept = default;

    private:
        context_with_queue* context_;
    };

    executor_type get_executor() noexcept { return executor_type(*this); }

    void run_one() {
        const auto first = std::move(queue_.front());
        queue_.pop_front();
        first->run();
    }

private:
    struct function {
        virtual ~function() = default;
        virtual void run() = 0;
    };
    template <class Function>
    struct queued final : function {
        explicit queued(Function&& made) : what(std::move(made)) {}
        void run() override { std::move(what)(); }
        Function what;
    };
    std::deque<std::unique_ptr<function>> queue_;
};

TEST_F(AsioShutdown, MayDestroyTheQueueBeforeTheServices) {
    for (const bool has_begun : {false, true}) {
        for (const bool with_task : {false, true}) {
            exchanger room;
            {
                context_with_queue context;
                auto handler = net::bind_executor(context.get_executor(), mourned(handlers));
                if (with_task) {
                    tryst::asio::async_wait(
                        exchange_in_task(room, tracked(items, 1), tracked(handlers, 0)),
                        std::move(handler));
                    if (has_begun) {
                        context.run_one();
                    }
                } else {
                    async_wait(room.exchange(tracked(items, 1)), std::move(handler));
                }
                if (has_begun) {
                    EXPECT_TRUE(room.try_exchange(tracked(items, 2)));
                }
            }
            EXPECT_EQ(items.alive.load(), 0);
            EXPECT_EQ(handlers.alive.load(), 0);
        }
    }
}

// ---- Operations that are complete, but whose handler has not been called yet.

net::awaitable<void> swap_at_once(exchanger& ex, tracked item) {
    static_cast<void>(co_await tryst::asio::wait(ex.exchange(std::move(item), 0s)));
    ADD_FAILURE() << "went on";
}

/// A partner waits in a slot of another thread. So an operation does not find it at first; but if
/// its deadline has passed, it looks at all slots when it starts.
class AsioShutdownAfterTheMatch : public testing::Test {
protected:
    AsioShutdownAfterTheMatch() {
        tryst::test::grow(*ex_, 2);
        async_wait(ex_->exchange(tracked(items_, 1)), net::bind_executor(*here_, keep_));
        EXPECT_TRUE(tryst::test::waits_in_arena(*ex_));
        tryst::test::move_to_empty_slot(*ex_);
    }
    void expect_match_and_destroy() {
        EXPECT_FALSE(tryst::test::waits_in_arena(*ex_));
        there_.reset();
        here_.reset();
        ex_.reset();
        EXPECT_EQ(items_.alive.load(), 0);
    }

    census items_;
    std::optional<exchanger> ex_{std::in_place, 2};
    std::optional<net::io_context> here_{std::in_place};
    std::optional<net::io_context> there_{std::in_place};
    static constexpr auto keep_ = [](auto&&) { ADD_FAILURE() << "called"; };
};

TEST_F(AsioShutdownAfterTheMatch, DropsTheItemOfAnOperation) {
    async_wait(ex_->exchange(tracked(items_, 2), 0s), net::bind_executor(*there_, keep_));
    expect_match_and_destroy();
}

TEST_F(AsioShutdownAfterTheMatch, DropsTheItemOfAnAwaitable) {
    net::co_spawn(*there_, swap_at_once(*ex_, tracked(items_, 2)), net::detached);
    there_->run_one();
    expect_match_and_destroy();
}

/// A handler whose move throws once `armed`.
struct fragile_handler {
    using executor_type = net::io_context::executor_type;

    fragile_handler(net::io_context& io, bool& armed) : io_(&io), armed_(&armed) {}
    fragile_handler(const fragile_handler&) = default;
    fragile_handler(fragile_handler&& other) : io_(other.io_), armed_(other.armed_) {
        if (*armed_) {
            throw std::runtime_error("moved");
        }
    }
    fragile_handler& operator=(const fragile_handler&) = delete;
    ~fragile_handler() = default;

    template <class Result>
    void operator()(Result&& /*result*/) const {
        ADD_FAILURE() << "called";
    }
    executor_type get_executor() const noexcept { return io_->get_executor(); }

private:
    net::io_context* io_;
    bool* armed_;
};

TEST(AsioCompletion, SurvivesAHandlerThatCannotBeMoved) {
    for (const bool timed : {false, true}) {
        census items;
        net::io_context io;
        bool armed = false;
        {
            exchanger ex;
            if (timed) {
                async_wait(ex.exchange(tracked(items, 1), 1h), fragile_handler(io, armed));
            } else {
                async_wait(ex.exchange(tracked(items, 1)), fragile_handler(io, armed));
            }
            io.poll();
            EXPECT_TRUE(ex.try_exchange(tracked(items, 2)));
        }
        armed = true;
        io.restart();
        EXPECT_THROW(io.run(), std::runtime_error);
        EXPECT_EQ(items.alive.load(), 0);
    }
}

} // namespace
