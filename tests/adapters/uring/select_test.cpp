// SPDX-License-Identifier: MIT
// Selections on a context over io_uring, and beside its I/O.
#include "adapters/uring/harness.hpp"
#include "support/insides.hpp"
#include "support/tracked.hpp"

#include <tryst/tryst.hpp>
#include <tryst/uring.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace tryst::test;
using tryst::exchange_errc;
using tryst::exchange_result;
using tryst::select_npos;
using tryst::task;
using channel = tryst::synchronous_channel<tracked>;

class UringSelect : public ::testing::Test {
protected:
    using result = std::optional<
        tryst::select_result<exchange_result<tracked>, exchange_result<tracked, void>>>;

    void TearDown() override {
        got.reset();
        EXPECT_EQ(items.alive.load(), 0);
    }

    tracked item(long id) { return {items, id}; }
    auto both(std::chrono::microseconds patience) {
        return tryst::select(ex.exchange(item(1)), source.receive(), patience, stop.get_token());
    }
    void expect_end(std::size_t index, exchange_errc why) {
        ASSERT_TRUE(got);
        EXPECT_EQ(got->index(), index);
        EXPECT_EQ(got->get<0>().error(), why);
        EXPECT_EQ(got->get<0>().returned().id(), 1);
        expect_nobody_waits();
    }
    void expect_nobody_waits() {
        EXPECT_FALSE(waits_in_list(ex));
        EXPECT_FALSE(source.try_send(item(9)));
    }

    census items;
    tryst::exchanger<tracked> ex{1};
    channel source;
    std::stop_source stop;
    result got;
    std::optional<context> loop{std::in_place, sleepy};
};

TEST_F(UringSelect, ResumesOnTheContextAfterAMatchOnAnotherThread) {
    const auto select_here = [&]() -> task<> {
        got.emplace(co_await both(1h));
        EXPECT_TRUE(loop->running_here());
    };
    const std::jthread sender([&] { EXPECT_TRUE(tryst::sync_wait(source.send(item(2)))); });
    loop->run(select_here());
    expect_end(1, exchange_errc::not_selected);
    EXPECT_EQ(got->get<1>()->id(), 2);
}

TEST_F(UringSelect, TimesOutByATimerOfTheContextAndNeverEarly) {
    for (const auto patience : {1us, 300us, 3000us}) {
        const auto begin = std::chrono::steady_clock::now();
        got.emplace(run_one(*loop, [&] { return both(patience); }));
        EXPECT_GE(std::chrono::steady_clock::now() - begin, patience);
        expect_end(select_npos, exchange_errc::timed_out);
    }
}

TEST_F(UringSelect, IsCancelledByAStopOfAnotherThread) {
    const std::jthread stopper([&] {
        until_someone_waits(ex);
        stop.request_stop();
    });
    got.emplace(run_one(*loop, [&] { return both(1h); }));
    expect_end(select_npos, exchange_errc::cancelled);
}

TEST_F(UringSelect, IsWithdrawnWhenItsContextIsDestroyed) {
    for (const bool matched : {false, true}) {
        loop.emplace(sleepy);
        loop->spawn(party(got, [&] { return both(1h); }));
        loop->run_until_idle();
        EXPECT_TRUE(!matched || source.try_send(item(2)));
        loop.reset();
        EXPECT_FALSE(got);
        EXPECT_EQ(items.alive.load(), 0);
        expect_nobody_waits();
    }
}

// ---- Beside I/O: a reader sends what it reads to the selection

class UringSelectBesideRead : public UringSelect {
protected:
    /// Reads once and sends it, or keeps it.
    task<> read_and_send() {
        std::array<std::byte, 64> bytes;
        const auto size = co_await loop->read(pipe.reader.get(), bytes,
                                              tryst::uring::current_position, stop.get_token());
        std::string rest;
        if (size) {
            auto sent =
                co_await texts.send(text_of(std::span(bytes).first(*size)), stop.get_token());
            if (!sent) {
                rest = std::move(sent).returned();
            }
        }
        unsent = std::move(rest);
    }
    task<> receive_or_stop() {
        auto one = co_await tryst::select_biased(source.receive(), texts.receive());
        if (one.index() == 0) {
            stop.request_stop();
        } else {
            received = *std::move(one).get<1>();
        }
    }

    void start(task<> work) {
        loop->spawn(std::move(work));
        loop->run_until_idle();
    }

    file_pair pipe = make_pipe();
    tryst::synchronous_channel<std::string> texts;
    std::string received;
    std::optional<std::string> unsent; ///< Is set when the reader is over.
};

TEST_F(UringSelectBesideRead, ReceivesWhatTheReaderReads) {
    start(read_and_send());
    start(receive_or_stop());
    write_text(pipe.writer, "word");
    loop->run_until_idle();
    EXPECT_EQ(received, "word");
    EXPECT_EQ(unsent, "");
    expect_nobody_waits();
}

TEST_F(UringSelectBesideRead, LeavesTheBytesInThePipeIfTheReadIsCancelled) {
    start(read_and_send());
    start(receive_or_stop());
    EXPECT_TRUE(source.try_send(item(2)));
    // The cancellation is asynchronous.
    yield_until([&] { return loop->run_until_idle(), unsent.has_value(); });
    EXPECT_EQ(unsent, "");
    write_text(pipe.writer, "word");
    EXPECT_EQ(read_text(pipe.reader), "word");
}

TEST_F(UringSelectBesideRead, LeavesTheBytesToTheReaderIfTheReadHasHappened) {
    start(read_and_send());
    write_text(pipe.writer, "word");
    loop->run_until_idle(); // now the reader waits in its send
    EXPECT_FALSE(unsent);
    std::optional<exchange_result<void, tracked>> commanded;
    start(party(commanded, [&] { return source.send(item(2)); }));
    start(receive_or_stop());
    ASSERT_TRUE(commanded && *commanded);
    EXPECT_EQ(received, "");
    EXPECT_EQ(unsent, "word");
}

} // namespace
