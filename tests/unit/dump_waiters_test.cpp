// SPDX-License-Identifier: MIT
#include <tryst/dump_waiters.hpp>

#include <tryst/case_set.hpp>
#include <tryst/exchanger.hpp>
#include <tryst/run_loop.hpp>
#include <tryst/select.hpp>
#include <tryst/sync_wait.hpp>
#include <tryst/synchronous_channel.hpp>
#include <tryst/task.hpp>

#include "support/bare_coroutine.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <deque>
#include <fcntl.h>
#include <regex>
#include <source_location>
#include <sstream>
#include <stop_token>
#include <string>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace tryst::test {
namespace {

using listed_channel = synchronous_channel<int, order::fifo, listed>;

std::string dump() {
    std::ostringstream text;
    dump_waiters(text);
    return text.str();
}

::testing::AssertionResult matches(const std::string& text, const std::string& pattern) {
    return std::regex_match(text, std::regex(pattern))
               ? ::testing::AssertionSuccess()
               : ::testing::AssertionFailure() << text << "does not match " << pattern;
}

/// What was written to a pipe.
class written {
public:
    written() {
#ifdef _WIN32
        EXPECT_EQ(::_pipe(ends_.data(), 65'536, _O_BINARY), 0);
#else
        EXPECT_EQ(::pipe(ends_.data()), 0);
#endif
    }
    written(const written&) = delete;
    written& operator=(const written&) = delete;
    ~written() { ::close(ends_[0]); }

    int descriptor() const noexcept { return ends_[1]; }
    std::string text() {
        ::close(ends_[1]);
        std::string all;
        std::array<char, 4'096> part{};
        for (ssize_t size = 0; (size = ::read(ends_[0], part.data(), part.size())) > 0;) {
            all.append(part.data(), static_cast<std::size_t>(size));
        }
        return all;
    }

private:
    std::array<int, 2> ends_{};
};

class DumpOfWaiters : public ::testing::Test {
protected:
    DumpOfWaiters() { orders.set_name("orders"); }
    ~DumpOfWaiters() override { EXPECT_EQ(dump(), "0 parties wait\n"); }

    test::bare_coroutine serve() { static_cast<void>(co_await orders.receive()); }
    static constexpr int line_of_serve = __LINE__ - 1;

    listed_channel orders;
};

TEST_F(DumpOfWaiters, NamesTheExchangerTheLineAndTheTime) {
    const auto first = serve();
    EXPECT_TRUE(
        matches(dump(), "1 party waits\n1 at orders for \\d+\\.\\d{3} s, .*dump_waiters_test.cpp:" +
                            std::to_string(line_of_serve) + " in .*serve.*\n"));
    const auto second = serve();
    EXPECT_TRUE(matches(dump(), "2 parties wait\n2 at orders for .*\n"));
    EXPECT_TRUE(orders.try_send(1));
    EXPECT_TRUE(matches(dump(), "1 party waits\n1 at orders for .*\n"));
    orders.close();
}

TEST_F(DumpOfWaiters, ListsWaitsOfAllKinds) {
    exchanger<int, listed> desk;
    exchanger<int> unlisted;
    const auto selects = [&]() -> bare_coroutine {
        static_cast<void>(
            co_await select(desk.exchange(1), orders.receive(), unlisted.exchange(2)));
    };
    const auto selecting = selects();
    std::jthread blocked([&] { static_cast<void>(sync_wait(orders.receive())); });
    while (dump().find("2 at orders") == std::string::npos &&
           dump().find("3 parties") == std::string::npos) {
        std::this_thread::yield();
    }
    EXPECT_TRUE(matches(dump(), "3 parties wait\n(1 at (orders|\\?) for .*\n){3}"));
    EXPECT_EQ(desk.try_exchange(3).value(), 1);
    EXPECT_TRUE(matches(dump(), "1 party waits\n1 at orders for .*\n"));
    orders.close();
}

TEST_F(DumpOfWaiters, ListsDeadlines) {
    using namespace std::chrono_literals;
    exchanger<int, listed> desk;
    run_loop loop;
    const auto waits = [&](auto patience) -> task<> {
        static_cast<void>(co_await orders.receive(patience));
    };
    const auto selects = [&]() -> task<> {
        static_cast<void>(co_await select(desk.exchange(1), orders.receive(), 30min));
    };
    loop.spawn(selects());
    loop.run_until_idle();
    EXPECT_TRUE(matches(dump(), "2 parties wait\n(1 at (orders|\\?) for [^,]*, 1 with a deadline, "
                                "the next in 1(799|800)\\.\\d{3} s, .*\n){2}"));
    for (const auto patience : {2h, 1h, 3h}) {
        loop.spawn(waits(patience));
    }
    loop.spawn(waits(std::stop_token()));
    loop.run_until_idle();
    EXPECT_TRUE(matches(dump(), "6 parties wait\n(1 at .*\n){2}4 at orders for [^,]*, 3 with a "
                                "deadline, the next in 3(599|600)\\.\\d{3} s, .*\n"));
    std::jthread blocked([&] { static_cast<void>(sync_wait(orders.receive(4h))); });
    while (dump().find(" in 14") == std::string::npos) {
        std::this_thread::yield();
    }
    desk.close();
    orders.close();
    loop.run_until_idle();
}

TEST_F(DumpOfWaiters, ListsTheCasesOfASet) {
    case_set<int, receive_case<listed_channel>> set;
    set.add(orders.receive(), 1);
    EXPECT_EQ(set.try_next().error(), exchange_errc::no_partner);
    EXPECT_TRUE(matches(dump(), "1 party waits\n1 at orders for [^,]*\n")); // between two rounds
    listed_channel other;
    other.set_name("other");
    set.add(other.receive(), 2);
    const auto serve_one = [&]() -> bare_coroutine { EXPECT_EQ((co_await set.next()).token(), 2); };
    const auto waiting = serve_one();
    EXPECT_TRUE(matches(dump(), "2 parties wait\n1 at orders for [^,]*\n"
                                "1 at other for .*dump_waiters_test.cpp:.*\n"));
    EXPECT_TRUE(other.try_send(1));
    EXPECT_TRUE(matches(dump(), "1 party waits\n1 at orders for .*\n"));
}

TEST_F(DumpOfWaiters, CountsTheWaitsThatItHasNoPlaceToName) {
    const std::string long_name(60, 'x');
    std::vector<std::string> names{long_name};
    for (int i = 0; i != 299; ++i) {
        names.push_back("desk " + std::to_string(i));
    }
    std::deque<exchanger<int, listed>> desks;
    const auto waits = [](auto& desk) -> bare_coroutine {
        static_cast<void>(co_await desk.exchange(1));
    };
    std::vector<bare_coroutine> waiting;
    for (const std::string& name : names) {
        desks.emplace_back().set_name(name.c_str());
        waiting.push_back(waits(desks.back()));
    }
    const std::string text = dump();
    EXPECT_EQ(text.find("300 parties wait\n"), 0U);
    EXPECT_NE(text.find("\n44 in other places\n"), std::string::npos);
    EXPECT_NE(text.find(" at " + long_name.substr(0, 47) + " for"), std::string::npos);
    for (auto& desk : desks) {
        desk.close();
    }
}

TEST_F(DumpOfWaiters, IsMadeInASignalHandler) {
    static int descriptor;
    static int error;
    written out;
    descriptor = out.descriptor();
    const auto before = std::signal(SIGTERM, [](int) {
        const int interrupted = std::exchange(errno, EDOM);
        dump_waiters(descriptor);
        error = std::exchange(errno, interrupted);
    });
    const auto waiting = serve();
    EXPECT_EQ(std::raise(SIGTERM), 0);
    EXPECT_EQ(error, EDOM);
    std::signal(SIGTERM, before);
    EXPECT_TRUE(matches(out.text(), "1 party waits\n1 at orders for .*\n"));
    orders.close();
}

TEST_F(DumpOfWaiters, LeavesOutWhatTheSignalHasInterrupted) {
    const auto waiting = serve();
    written out;
    detail::all_waits.for_each(true, [&](const auto&) { dump_waiters(out.descriptor()); });
    EXPECT_EQ(out.text(),
              "0 parties wait\n1 of 16 lists were in use, and are left out: dump again\n");
    orders.close();
}

TEST_F(DumpOfWaiters, LetsASpanOfYourOwnContainItsEntry) {
    using namespace std::chrono_literals;
    struct own_span {
        own_span(const char* name, std::source_location where) noexcept : entry(name, where) {}
        void set_deadline(std::chrono::steady_clock::time_point when) noexcept {
            entry.set_deadline(when);
        }
        void end(std::error_code how) noexcept { ended = how; }
        listed_wait entry;
        std::error_code ended;
    };
    synchronous_channel<int, order::fifo, traced<own_span>> mine;
    mine.set_name("mine");
    const auto waits = [&]() -> bare_coroutine { static_cast<void>(co_await mine.receive(2h)); };
    const auto waiting = waits();
    EXPECT_TRUE(matches(dump(), "1 party waits\n1 at mine for [^,]*, 1 with a deadline, "
                                "the next in 7.*dump_waiters_test.cpp:.*\n"));
    mine.close();
}

TEST_F(DumpOfWaiters, IsMadeWhilePartiesComeAndGo) {
    constexpr int rounds = 20'000;
    exchanger<int, listed> desk;
    std::atomic<bool> over{false};
    std::vector<std::jthread> threads;
    for (int i = 0; i != 3; ++i) {
        threads.emplace_back([&] {
            run_loop loop;
            const auto trades = [&]() -> task<> {
                for (int round = 0; round != rounds; ++round) {
                    if (!co_await desk.exchange(round)) {
                        co_return;
                    }
                }
                desk.close(); // the others may be odd
            };
            loop.spawn(trades());
            loop.run(trades());
            loop.run_until_idle();
        });
    }
    std::jthread dumping([&] {
        while (!over) {
            EXPECT_TRUE(matches(dump(), "[0-6] part(y waits|ies wait)\n(.*\n)*"));
        }
    });
    threads.clear();
    over = true;
}

} // namespace
} // namespace tryst::test
