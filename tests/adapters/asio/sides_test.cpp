// SPDX-License-Identifier: MIT
// The promises of async_wait, for each side of an exchanger, of a red-blue exchanger and of a
// channel.
#include "adapters/asio/counting_allocator.hpp"
#include "adapters/asio/handlers.hpp"
#include "adapters/asio/net.hpp"
#include "adapters/asio/sides.hpp"
#include "support/tracked.hpp"

#include <tryst/asio.hpp>
#include <tryst/tryst.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using tryst::exchange_errc;
using tryst::order;
using tryst::test::accounted;
using tryst::test::census;
using tryst::test::ended;
using tryst::test::expect_back;
using tryst::test::expect_met;
using tryst::test::item_of;
using tryst::test::keep_end;
using tryst::test::memory_account;
using tryst::test::mourned;
using tryst::test::nobody;
using tryst::test::step;
using tryst::test::unlucky;
namespace net = tryst::test::net;
using steady = std::chrono::steady_clock;

template <class Side>
class AsioSides : public tryst::test::side_test<Side> {
protected:
    auto stoppable(std::optional<ended>& end) {
        return net::bind_cancellation_slot(signal.slot(), this->keep(end));
    }

    net::cancellation_signal signal;
};
TYPED_TEST_SUITE(AsioSides, tryst::test::all_sides, tryst::test::side_names);

/// For parties that do not meet others of their own side, so that many may wait.
template <class Side>
class AsioTwoSides : public tryst::test::side_test<Side> {
protected:
    void TearDown() override {
        tryst::test::side_test<Side>::TearDown();
        EXPECT_EQ(handlers.alive.load(), 0);
    }

    census handlers;
};
TYPED_TEST_SUITE(AsioTwoSides, tryst::test::two_coloured_sides, tryst::test::side_names);

// ---- Outcomes

TYPED_TEST(AsioSides, GetThePartnersItem) {
    std::optional<ended> plain;
    std::optional<ended> lasting;
    std::optional<ended> until;
    TypeParam::start(*this->at, this->items, 1, this->keep(plain));
    step(this->io);
    EXPECT_FALSE(plain);
    this->meet(11, 1);
    TypeParam::start(*this->at, this->items, 2, this->keep(lasting), 1h);
    step(this->io);
    this->meet(12, 2);
    TypeParam::start(*this->at, this->items, 3, this->keep(until), steady::now() + 1h);
    step(this->io);
    this->meet(13, 3);
    step(this->io);
    expect_met<TypeParam>(plain, 11);
    expect_met<TypeParam>(lasting, 12);
    expect_met<TypeParam>(until, 13);
}

TYPED_TEST(AsioTwoSides, AreServedInTheirOrder) {
    constexpr long count = 100;
    std::vector<std::optional<ended>> ends(count);
    for (long i = 0; i != count; ++i) {
        TypeParam::start(*this->at, this->items, i, this->keep(ends[static_cast<std::size_t>(i)]));
    }
    step(this->io);
    for (long i = 0; i != count; ++i) {
        const long who = TypeParam::served == order::fifo ? i : count - 1 - i;
        this->meet(1000 + i, who);
        step(this->io);
        expect_met<TypeParam>(ends[static_cast<std::size_t>(who)], 1000 + i);
    }
}

TYPED_TEST(AsioSides, TimeOutAtTheirDeadlineAndNotBefore) {
    std::optional<ended> after;
    const auto start = steady::now();
    TypeParam::start(*this->at, this->items, 1, this->keep(after), 2ms);
    this->io.run();
    EXPECT_GE(steady::now() - start, 2ms);
    expect_back<TypeParam>(after, exchange_errc::timed_out, 1);

    std::optional<ended> until;
    const auto deadline = steady::now() + 2ms;
    this->io.restart();
    TypeParam::start(*this->at, this->items, 2, this->keep(until), deadline);
    this->io.run();
    EXPECT_GE(steady::now(), deadline);
    expect_back<TypeParam>(until, exchange_errc::timed_out, 2);
    this->expect_nobody_waits();
}

TYPED_TEST(AsioSides, TimeOutAtOnceIfTheirTimeIsOver) {
    std::optional<ended> after;
    std::optional<ended> until;
    TypeParam::start(*this->at, this->items, 1, this->keep(after), -1ns);
    TypeParam::start(*this->at, this->items, 2, this->keep(until), steady::now() - 1s);
    this->expect_nobody_waits();
    step(this->io);
    expect_back<TypeParam>(after, exchange_errc::timed_out, 1);
    expect_back<TypeParam>(until, exchange_errc::timed_out, 2);
}

TYPED_TEST(AsioSides, TakeAPartnerEvenIfTheirTimeIsOver) {
    std::optional<ended> waiting;
    std::optional<ended> late;
    TypeParam::opposite::start(*this->at, this->items, 1, this->keep(waiting));
    TypeParam::start(*this->at, this->items, 2, this->keep(late), -1s);
    step(this->io);
    expect_met<typename TypeParam::opposite>(waiting, 2);
    expect_met<TypeParam>(late, 1);
    const int brought = (TypeParam::brings ? 1 : 0) + (TypeParam::opposite::brings ? 1 : 0);
    EXPECT_EQ(this->items.created.load(), brought); // no copies
}

TYPED_TEST(AsioSides, AreToldOfTheClose) {
    for (const bool limited : {false, true}) {
        std::optional<ended> waiting;
        std::optional<ended> late;
        this->at = std::make_unique<typename TypeParam::place>();
        limited ? TypeParam::start(*this->at, this->items, 1, this->keep(waiting), 1h)
                : TypeParam::start(*this->at, this->items, 1, this->keep(waiting));
        step(this->io);
        this->at->close();
        limited ? TypeParam::start(*this->at, this->items, 2, this->keep(late))
                : TypeParam::start(*this->at, this->items, 2, this->keep(late), 1h);
        this->at.reset();
        EXPECT_FALSE(waiting);
        step(this->io);
        expect_back<TypeParam>(waiting, exchange_errc::closed, 1);
        expect_back<TypeParam>(late, exchange_errc::closed, 2);
    }
}

TYPED_TEST(AsioSides, AreToldOfTheEndOfTheirPlace) {
    std::optional<ended> orphan;
    TypeParam::start(*this->at, this->items, 1, this->keep(orphan), 1h);
    step(this->io);
    this->at.reset();
    EXPECT_FALSE(orphan);
    step(this->io);
    expect_back<TypeParam>(orphan, exchange_errc::closed, 1);
}

TYPED_TEST(AsioTwoSides, WaitSideBySideUntilTheirDeadlinesAndTheClose) {
    std::optional<ended> after;
    std::optional<ended> until;
    std::optional<ended> limited;
    std::optional<ended> endless;
    TypeParam::start(*this->at, this->items, 1, this->keep(endless));
    TypeParam::start(*this->at, this->items, 2, this->keep(after), 2ms);
    TypeParam::start(*this->at, this->items, 3, this->keep(until), steady::now() + 2ms);
    TypeParam::start(*this->at, this->items, 4, this->keep(limited), 1h);
    while (!after || !until) {
        this->io.run_one();
    }
    EXPECT_FALSE(endless || limited);
    this->at->close();
    step(this->io);
    expect_back<TypeParam>(endless, exchange_errc::closed, 1);
    expect_back<TypeParam>(after, exchange_errc::timed_out, 2);
    expect_back<TypeParam>(until, exchange_errc::timed_out, 3);
    expect_back<TypeParam>(limited, exchange_errc::closed, 4);
}

// ---- Cancellation

TYPED_TEST(AsioSides, AreCancelledByASignalOfEachType) {
    for (const auto type : {net::cancellation_type::terminal, net::cancellation_type::partial,
                            net::cancellation_type::total, net::cancellation_type::all}) {
        for (const bool limited : {false, true}) {
            std::optional<ended> end;
            limited ? TypeParam::start(*this->at, this->items, 1, this->stoppable(end), 1h)
                    : TypeParam::start(*this->at, this->items, 1, this->stoppable(end));
            step(this->io);
            this->signal.emit(type);
            this->expect_nobody_waits();
            EXPECT_FALSE(end); // not within the emission
            step(this->io);
            expect_back<TypeParam>(end, exchange_errc::cancelled, 1);
            this->expect_nobody_waits();
        }
    }
}

TYPED_TEST(AsioSides, AreCancelledInTheTurnOfTheInitiation) {
    std::optional<ended> end;
    TypeParam::start(*this->at, this->items, 1, this->stoppable(end));
    this->signal.emit(net::cancellation_type::terminal);
    step(this->io);
    expect_back<TypeParam>(end, exchange_errc::cancelled, 1);
    this->expect_nobody_waits();
}

TYPED_TEST(AsioSides, AreNotCancelledAfterAMatch) {
    std::optional<ended> end;
    TypeParam::start(*this->at, this->items, 1, this->stoppable(end));
    step(this->io);
    this->meet(2, 1);
    this->signal.emit(net::cancellation_type::terminal);
    step(this->io);
    expect_met<TypeParam>(end, 2);
    EXPECT_FALSE(this->signal.slot().has_handler());
}

TYPED_TEST(AsioTwoSides, AreCancelledOneByOneFromTheMiddle) {
    constexpr std::size_t count = 200; // more than one block of the queue
    std::vector<net::cancellation_signal> signals(count);
    std::vector<std::optional<ended>> ends(count);
    for (std::size_t i = 0; i != count; ++i) {
        TypeParam::start(*this->at, this->items, static_cast<long>(i),
                         net::bind_cancellation_slot(signals[i].slot(), this->keep(ends[i])));
    }
    step(this->io);
    for (std::size_t i = 1; i < count; i += 2) {
        signals[i].emit(net::cancellation_type::terminal);
    }
    step(this->io);
    for (std::size_t met = 0; met != count / 2; ++met) {
        const std::size_t who = TypeParam::served == order::fifo ? 2 * met : count - 2 - 2 * met;
        this->meet(1000, static_cast<long>(who));
        step(this->io);
        expect_met<TypeParam>(ends[who], 1000);
        expect_back<TypeParam>(ends[who + 1], exchange_errc::cancelled, static_cast<long>(who) + 1);
    }
    this->expect_nobody_waits();
}

TYPED_TEST(AsioSides, AreCancelledByAStopToken) {
    std::optional<ended> end;
    std::stop_source stop;
    TypeParam::start(*this->at, this->items, 1,
                     tryst::asio::bind_stop_token(stop.get_token(), this->keep(end)));
    step(this->io);
    stop.request_stop();
    step(this->io);
    expect_back<TypeParam>(end, exchange_errc::cancelled, 1);
}

// ---- Executors

TYPED_TEST(AsioSides, NeverCallTheHandlerWithinTheInitiation) {
    using handler = std::function<void()>;
    using way = std::function<void(const handler&)>; // to complete at once
    const auto on_context = [this](const handler& tell) {
        return net::bind_executor(this->io, [tell](const auto& /*result*/) { tell(); });
    };
    const std::vector<way> ways{
        [&](const handler& tell) {
            TypeParam::opposite::start(*this->at, this->items, 0, on_context([] {}));
            TypeParam::start(*this->at, this->items, 1, on_context(tell));
        },
        [&](const handler& tell) {
            TypeParam::start(*this->at, this->items, 1, on_context(tell), 0s);
        },
        [&](const handler& tell) {
            TypeParam::start(*this->at, this->items, 1, on_context(tell), steady::time_point());
        },
        [&](const handler& tell) {
            TypeParam::start(*this->at, this->items, 1, on_context(tell),
                             steady::time_point::min());
        },
        [&](const handler& tell) {
            this->at->close();
            TypeParam::start(*this->at, this->items, 1, on_context(tell));
        },
        [&](const handler& tell) { // closed by now
            TypeParam::start(*this->at, this->items, 1, on_context(tell), 0s);
        },
    };
    for (const bool on_the_executor : {false, true}) {
        this->at = std::make_unique<typename TypeParam::place>();
        for (const auto& start : ways) {
            bool initiating = false;
            int calls = 0;
            const auto initiate = [&] {
                initiating = true;
                start([&] {
                    EXPECT_FALSE(initiating);
                    EXPECT_TRUE(this->io.get_executor().running_in_this_thread());
                    ++calls;
                });
                initiating = false;
            };
            on_the_executor ? net::post(this->io, initiate) : initiate();
            EXPECT_EQ(calls, 0);
            step(this->io);
            EXPECT_EQ(calls, 1);
        }
    }
}

TYPED_TEST(AsioSides, RunAHandlerWithoutExecutorOnTheSystemExecutor) {
    std::promise<std::thread::id> ran;
    TypeParam::start(*this->at, this->items, 1, [&](const auto& result) {
        EXPECT_TRUE(result) << result.error().message();
        EXPECT_EQ(item_of(result), TypeParam::gets ? std::optional<long>(2) : std::nullopt);
        ran.set_value(std::this_thread::get_id());
    });
    this->meet(2, 1);
    EXPECT_NE(ran.get_future().get(), std::this_thread::get_id());
    this->until_the_items_are_gone();
}

TYPED_TEST(AsioSides, AreWorkOfTheHandlersExecutorUntilTheyAreComplete) {
    std::optional<ended> end;
    TypeParam::start(*this->at, this->items, 1, this->keep(end));
    this->io.poll();
    EXPECT_FALSE(this->io.stopped()) << "no outstanding work";
    this->meet(2, 1);
    this->io.poll();
    expect_met<TypeParam>(end, 2);
    EXPECT_TRUE(this->io.stopped());
}

TYPED_TEST(AsioSides, RunTheHandlerInItsStrand) {
    net::thread_pool pool(2);
    const auto strand = net::make_strand(pool);
    std::promise<bool> in_strand;
    TypeParam::start(*this->at, this->items, 1, net::bind_executor(strand, [&](const auto&) {
        in_strand.set_value(strand.running_in_this_thread());
    }));
    this->meet(2, 1);
    EXPECT_TRUE(in_strand.get_future().get());
    pool.join();
}

TYPED_TEST(AsioSides, LetAnExceptionOfTheHandlerOutOfTheContext) {
    TypeParam::start(*this->at, this->items, 1, net::bind_executor(this->io, [](const auto&) {
        throw std::runtime_error("handler");
    }));
    this->at->close();
    EXPECT_THROW(this->io.run(), std::runtime_error);
    EXPECT_EQ(this->items.alive.load(), 0);
    this->io.run();
    EXPECT_TRUE(this->io.stopped());
}

// ---- Memory

TYPED_TEST(AsioSides, TakeOneFrameThatIsFreedBeforeTheHandlerRuns) {
    for (const bool match : {false, true}) {
        memory_account account;
        bool called = false;
        const auto look = [&](const auto&) {
            called = true;
            EXPECT_EQ(account.live(), 0);
        };
        TypeParam::start(
            *this->at, this->items, 1,
            net::bind_cancellation_slot(this->signal.slot(), accounted(this->io, account, look)),
            1h);
        EXPECT_EQ(account.live(), 1);
        step(this->io);
        match ? this->meet(2, 1) : this->signal.emit(net::cancellation_type::terminal);
        EXPECT_EQ(account.live(), 1);
        step(this->io);
        EXPECT_TRUE(called);
        EXPECT_EQ(account.allocated, 1);
        EXPECT_EQ(account.freed, 1);
    }
}

TYPED_TEST(AsioSides, OfferNothingIfTheInitiationThrows) {
    EXPECT_THROW(
        TypeParam::start(*this->at, this->items, 1, net::bind_executor(this->io, unlucky{})),
        std::bad_alloc);
    EXPECT_EQ(this->items.alive.load(), 0);
    this->expect_nobody_waits();
    step(this->io);
    EXPECT_TRUE(this->io.stopped());
}

// ---- Shutdown

/// Many parties in a context of their own, in every way to wait.
template <class Side>
class parked {
public:
    parked(typename Side::place& at, census& items, census& handlers, int count) {
        for (long i = 0; i < count; i += 3) {
            Side::start(at, items, i, net::bind_executor(*io_, mourned(handlers)));
            Side::start(at, items, i + 1,
                        net::bind_executor(net::make_strand(*io_), mourned(handlers)), 1h);
            Side::start(at, items, i + 2, net::bind_executor(*io_, mourned(handlers)),
                        std::stop_token());
        }
    }
    void begin() { io_->poll(); }
    void end() { io_.reset(); }

private:
    std::unique_ptr<net::io_context> io_ = std::make_unique<net::io_context>();
};

TYPED_TEST(AsioTwoSides, AreWithdrawnWhenTheirContextEnds) {
    for (const bool begun : {false, true}) {
        parked<TypeParam> all(*this->at, this->items, this->handlers, 300);
        EXPECT_EQ(this->handlers.alive.load(), 300);
        if (begun) {
            all.begin();
        }
        all.end();
        EXPECT_EQ(this->handlers.alive.load(), 0);
        EXPECT_EQ(this->items.alive.load(), 0);
        this->expect_nobody_waits();
        std::optional<ended> end; // and others still meet
        TypeParam::start(*this->at, this->items, 1, this->keep(end));
        step(this->io);
        this->meet(2, 1);
        step(this->io);
        expect_met<TypeParam>(end, 2);
    }
}

TYPED_TEST(AsioTwoSides, AreDestroyedWithTheirContextAfterAMatchOrAClose) {
    for (const bool met : {false, true}) {
        this->at = std::make_unique<typename TypeParam::place>();
        parked<TypeParam> all(*this->at, this->items, this->handlers, 9);
        all.begin();
        if (met) {
            for (int i = 0; i != 5; ++i) {
                EXPECT_NE(TypeParam::meet(*this->at, this->items, 100), nobody);
            }
        } else {
            this->at->close();
        }
        all.end();
        EXPECT_EQ(this->handlers.alive.load(), 0);
        EXPECT_EQ(this->items.alive.load(), 0);
    }
}

TYPED_TEST(AsioTwoSides, MayBeMatchedByAnotherThreadWhileTheirContextEnds) {
    for (int round = 0; round != 100; ++round) {
        parked<TypeParam> all(*this->at, this->items, this->handlers, 6);
        if (round % 4 != 0) {
            all.begin();
        }
        std::latch there(2);
        std::thread partner([&] {
            there.arrive_and_wait();
            for (int spin = 0; spin != round; ++spin) {
                std::atomic_signal_fence(std::memory_order_seq_cst);
            }
            for (int i = 0; i != 6; ++i) {
                static_cast<void>(TypeParam::meet(*this->at, this->items, 100));
            }
        });
        there.arrive_and_wait();
        all.end();
        partner.join();
        ASSERT_EQ(this->handlers.alive.load(), 0);
        ASSERT_EQ(this->items.alive.load(), 0);
        this->expect_nobody_waits();
    }
}

TYPED_TEST(AsioTwoSides, MayBeClosedByAnotherThreadWhileTheirContextEnds) {
    for (int round = 0; round != 50; ++round) {
        this->at = std::make_unique<typename TypeParam::place>();
        parked<TypeParam> all(*this->at, this->items, this->handlers, 6);
        all.begin();
        std::latch there(2);
        std::thread closer([&] {
            there.arrive_and_wait();
            this->at->close();
        });
        there.arrive_and_wait();
        all.end();
        closer.join();
        ASSERT_EQ(this->handlers.alive.load(), 0);
        ASSERT_EQ(this->items.alive.load(), 0);
    }
}

} // namespace
