// SPDX-License-Identifier: MIT
// A program and a shared library, both with hidden visibility, so that each has functions and
// tables of its own.
#include "hidden_library.hpp"

#include <tryst/result.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace tryst::test {
namespace {

TEST(SharedLibrary, ReturnsErrorsThatCompareEqualToTheProgramsOwn) {
    exchanger<int> ex;
    EXPECT_EQ(error_from_library(ex), exchange_errc::no_partner);
    ex.close();
    EXPECT_EQ(error_from_library(ex), exchange_errc::closed);
    EXPECT_EQ(error_from_library(ex).category(), exchange_category());
}

/// How the test makes and runs an executor.
template <class Loop>
struct host {
    std::unique_ptr<Loop> make() { return std::make_unique<Loop>(); }
    void run(Loop& loop) { loop.run_until_idle(); }
};
template <class Wake>
struct host<loop_executor<Wake>> {
    std::unique_ptr<loop_executor<Wake>> make() {
        return std::make_unique<loop_executor<Wake>>(turns);
    }
    void run(loop_executor<Wake>&) {
        for (int i = 0; i != 10; ++i) {
            turns->run_turn();
        }
    }
    loop_turns* turns = nullptr;
};
#ifdef TRYST_TEST_ASIO
template <>
struct host<asio::task_executor<>> {
    std::unique_ptr<asio::task_executor<>> make() {
        return std::make_unique<asio::task_executor<>>(io);
    }
    void run(asio::task_executor<>&) {
        io.restart();
        io.poll();
    }
    ::asio::io_context io;
};
#endif

using executors = ::testing::Types<run_loop, basic_run_loop<own_clock>, loop_executor<own_wake>,
                                   loop_executor<own_lively_wake>
#ifdef TRYST_TEST_ASIO
                                   ,
                                   asio::task_executor<>
#endif
                                   >;

template <class Executor>
class SharedLibraryOn : public ::testing::Test {
protected:
    template <class Work>
    void run(Work work) {
        on->spawn(std::move(work));
        with.run(*on);
    }
    host<Executor> with;
    std::unique_ptr<Executor> on = with.make();
};
TYPED_TEST_SUITE(SharedLibraryOn, executors);

template <class Executor>
task<> ask(Executor& on, bool& runs) {
    runs = runs_here(on);
    co_return;
}

TYPED_TEST(SharedLibraryOn, SeesThatTheProgramsExecutorRuns) {
    bool runs = false;
    this->run(ask(*this->on, runs));
    EXPECT_TRUE(runs);
}

task<> store(task<int> work, int& result) {
    result = co_await std::move(work);
}

TYPED_TEST(SharedLibraryOn, JoinsItsWork) {
    int result = 0;
    this->run(store(joins_in_library(*this->on), result));
    EXPECT_EQ(result, 3 + 2);
}

TYPED_TEST(SharedLibraryOn, Exchanges) {
    exchanger<int> at;
    int theirs = 0;
    exchange_in_library(*this->on, at, theirs, nullptr);
    this->with.run(*this->on);
    EXPECT_TRUE(at.try_exchange(2));
    this->with.run(*this->on);
    EXPECT_EQ(theirs, 2);
}

task<> exchange(exchanger<int>& at, int& theirs, token /*held*/) {
    const auto got = co_await at.exchange(1);
    theirs = got ? *got : -1;
}

/// A task of the program or of the library, in an executor that the one or the other destroys.
TYPED_TEST(SharedLibraryOn, IsDestroyedWithItsTasks) {
    for (const bool starts : {false, true}) {
        for (const bool task_of_library : {false, true}) {
            for (const bool in_library : {false, true}) {
                SCOPED_TRACE(testing::Message() << starts << task_of_library << in_library);
                exchanger<int> at;
                int theirs = 0;
                auto loop = this->with.make();
                auto held = std::make_shared<const int>(1);
                if (task_of_library) {
                    exchange_in_library(*loop, at, theirs, held);
                } else {
                    loop->spawn(exchange(at, theirs, held));
                }
                if (starts) {
                    this->with.run(*loop);
                    // Its resumption is in the queue of the executor.
                    EXPECT_TRUE(at.try_exchange(2));
                }
                if (in_library) {
                    destroy_in_library(std::move(loop));
                } else {
                    loop.reset();
                }
                EXPECT_EQ(held.use_count(), 1);
                EXPECT_EQ(theirs, 0);
            }
        }
    }
}

TEST(SharedLibrary, RequestsAStopOfAWaitInTheProgram) {
    exchanger<int> at;
    inplace_stop_source stop;
    run_loop loop;
    exchange_errc why{};
    loop.spawn([](exchanger<int>& ex, inplace_stop_token token, exchange_errc& end) -> task<> {
        const auto got = co_await ex.exchange(1, token);
        end = got == exchange_errc::cancelled ? exchange_errc::cancelled : end;
    }(at, stop.get_token(), why));
    loop.run_until_idle();
    request_stop_in_library(stop);
    loop.run_until_idle();
    EXPECT_EQ(why, exchange_errc::cancelled);
}

} // namespace
} // namespace tryst::test
