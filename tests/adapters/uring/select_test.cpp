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
#include <deque>
#include <latch>
#include <optional>
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
    auto both(std::stop_token stop = {}) {
        return tryst::select(ex.exchange(item(1)), source.receive(), std::move(stop));
    }
    auto both_for(std::chrono::microseconds patience, std::stop_token stop = {}) {
        return tryst::select(ex.exchange(item(1)), source.receive(), patience, std::move(stop));
    }
    void expect_none(exchange_errc why) {
        ASSERT_TRUE(got);
        EXPECT_EQ(got->index(), select_npos);
        EXPECT_EQ(got->get<0>().error(), why);
        EXPECT_EQ(got->get<0>().returned().id(), 1);
        EXPECT_EQ(got->get<1>().error(), why);
        expect_nobody_waits();
    }
    void expect_received() {
        ASSERT_TRUE(got);
        EXPECT_EQ(got->index(), 1U);
        EXPECT_EQ(got->get<1>()->id(), 2);
        EXPECT_EQ(got->get<0>().error(), exchange_errc::not_selected);
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
    result got;
};

TEST_F(UringSelect, ResumesOnTheContextAfterAMatchOnAnotherThread) {
    context loop(sleepy);
    const auto select_here = [&]() -> task<> {
        got.emplace(co_await both());
        EXPECT_TRUE(loop.running_here());
        loop.stop();
    };
    loop.spawn(select_here());
    std::thread sender([&] { EXPECT_TRUE(tryst::sync_wait(source.send(item(2)))); });
    loop.run();
    sender.join();
    expect_received();
}

TEST_F(UringSelect, TimesOutByATimerOfTheContextAndNeverEarly) {
    context loop(sleepy);
    for (const auto patience : {1us, 300us, 3000us}) {
        const auto begin = std::chrono::steady_clock::now();
        got.emplace(run_one(loop, [&] { return both_for(patience); }));
        EXPECT_GE(std::chrono::steady_clock::now() - begin, patience);
        expect_none(exchange_errc::timed_out);
    }
}

TEST_F(UringSelect, MeetsAPartnerBeforeItsDeadline) {
    context loop;
    loop.spawn(party(got, [&] { return both_for(1h); }));
    loop.run_until_idle();
    EXPECT_TRUE(waits_in_list(ex));
    EXPECT_TRUE(source.try_send(item(2)));
    EXPECT_FALSE(got);
    loop.run_until_idle();
    expect_received();
}

TEST_F(UringSelect, IsCancelledByAStopOfAnotherThread) {
    for (const bool timed : {false, true}) {
        context loop(sleepy);
        std::stop_source stop;
        std::thread stopper([&] {
            until_someone_waits(ex);
            stop.request_stop();
        });
        if (timed) {
            got.emplace(run_one(loop, [&] { return both_for(1h, stop.get_token()); }));
        } else {
            got.emplace(run_one(loop, [&] { return both(stop.get_token()); }));
        }
        stopper.join();
        expect_none(exchange_errc::cancelled);
    }
}

TEST_F(UringSelect, IsWithdrawnWhenItsContextIsDestroyed) {
    for (const bool matched : {false, true}) {
        for (const bool timed : {false, true}) {
            std::optional<context> loop(std::in_place);
            if (timed) {
                loop->spawn(party(got, [&] { return both_for(1h); }));
            } else {
                loop->spawn(party(got, [&] { return both(); }));
            }
            loop->run_until_idle();
            if (matched) {
                EXPECT_TRUE(source.try_send(item(2)));
            }
            loop.reset();
            EXPECT_FALSE(got);
            EXPECT_EQ(items.alive.load(), 0);
            expect_nobody_waits();
        }
    }
}

TEST_F(UringSelect, MeetsSelectionsOfAnotherContext) {
    constexpr long rounds = 300;
    channel second;
    long received = 0;
    std::latch ended(2);
    const auto receive_all = [&]() -> task<> {
        while (true) {
            auto one = co_await tryst::select(source.receive(), second.receive());
            const auto message = std::move(one).visit([](auto each) { return each; });
            if (!message) {
                EXPECT_EQ(message.error(), exchange_errc::closed);
                break;
            }
            EXPECT_EQ(message->id(), received);
            ++received;
        }
        ended.count_down();
    };
    const auto send_all = [&]() -> task<> {
        for (long i = 0; i != rounds; ++i) {
            tracked one(items, i);
            tracked other(items, i);
            const auto sent =
                co_await tryst::select(source.send(std::move(one)), second.send(std::move(other)));
            EXPECT_NE(sent.index(), select_npos);
        }
        source.close();
        ended.count_down();
    };
    context_thread receiver;
    context_thread sender;
    receiver->spawn(receive_all());
    sender->spawn(send_all());
    ended.wait();
    EXPECT_EQ(received, rounds);
}

TEST_F(UringSelect, SelectsFromARange) {
    std::deque<channel> rooms(20);
    const auto receive_any = [&] {
        return tryst::select_from(rooms, [](channel& room) { return room.receive(); });
    };
    context loop(sleepy);
    std::thread sender([&] { EXPECT_TRUE(tryst::sync_wait(rooms[19].send(item(5)))); });
    auto from = run_one(loop, receive_any);
    sender.join();
    EXPECT_EQ(from.index(), 19U);
    EXPECT_EQ(from.get()->id(), 5);
}

// ---- Beside I/O: a reader sends what it reads to the selection

using text_channel = tryst::synchronous_channel<std::string>;

/// Reads once and sends it. @returns what nobody has received.
task<> read_and_send(context& loop, int file, text_channel& to, std::stop_token stop,
                     std::optional<std::string>& unsent) {
    std::array<std::byte, 64> bytes;
    const auto size = co_await loop.read(file, bytes, tryst::uring::current_position, stop);
    std::string rest;
    if (size) {
        auto sent = co_await to.send(text_of(std::span(bytes).first(*size)), stop);
        if (!sent) {
            rest = std::move(sent).returned();
        }
    }
    unsent = std::move(rest);
}

task<> receive_or_stop(text_channel& texts, channel& commands, std::stop_source& stop,
                       std::string& received) {
    auto got = co_await tryst::select_biased(commands.receive(), texts.receive());
    if (got.index() == 0) {
        stop.request_stop();
    } else {
        received = *std::move(got).get<1>();
    }
}

class UringSelectBesideRead : public UringSelect {
protected:
    void start_reader() {
        loop.spawn(read_and_send(loop, pipe.reader.get(), texts, stop.get_token(), unsent));
        loop.run_until_idle();
    }
    void start_receiver() {
        loop.spawn(receive_or_stop(texts, source, stop, received));
        loop.run_until_idle();
    }
    void command() {
        EXPECT_TRUE(source.try_send(item(2)));
        loop.run_until_idle();
    }

    file_pair pipe = make_pipe();
    text_channel texts;
    std::stop_source stop;
    std::string received;
    std::optional<std::string> unsent;
    context loop;
};

TEST_F(UringSelectBesideRead, ReceivesWhatTheReaderReads) {
    start_reader();
    start_receiver();
    write_text(pipe.writer, "word");
    loop.run_until_idle();
    EXPECT_EQ(received, "word");
    EXPECT_EQ(unsent, "");
    EXPECT_FALSE(source.try_send(item(2)));
}

TEST_F(UringSelectBesideRead, LeavesTheBytesInThePipeIfTheReadIsCancelled) {
    start_reader();
    start_receiver();
    command();
    while (!unsent) { // the cancellation is asynchronous
        loop.run_until_idle();
    }
    EXPECT_EQ(unsent, "");
    write_text(pipe.writer, "word");
    EXPECT_EQ(read_text(pipe.reader), "word");
}

TEST_F(UringSelectBesideRead, LeavesTheBytesToTheReaderIfTheReadHasHappened) {
    start_reader();
    write_text(pipe.writer, "word");
    loop.run_until_idle(); // now the reader waits in its send
    EXPECT_FALSE(unsent);
    std::optional<exchange_result<void, tracked>> commanded;
    loop.spawn(party(commanded, [&] { return source.send(item(2)); }));
    loop.run_until_idle();
    start_receiver();
    ASSERT_TRUE(commanded);
    EXPECT_TRUE(*commanded);
    EXPECT_EQ(received, "");
    EXPECT_EQ(unsent, "word");
}

} // namespace
