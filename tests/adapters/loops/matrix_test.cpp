// SPDX-License-Identifier: MIT
// A party on each loop meets a party on every other, a thread, a bare coroutine and an awaitable.
#include "adapters/loops/host_thread.hpp"
#include "adapters/loops/hosts.hpp"
#include "support/bare_coroutine.hpp"
#include "support/insides.hpp"
#include "support/loop_thread.hpp"

#include <tryst/tryst.hpp>

#ifdef TRYST_TEST_ASIO
#include "adapters/asio/net.hpp"
#endif

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace {

using tryst::test::until_someone_waits;

struct outcome {
    int item;
    std::thread::id thread;
};
using promise = std::shared_ptr<std::promise<outcome>>;

void keep(const promise& end, const tryst::exchange_result<int>& got) {
    end->set_value({got ? *got : -got.returned(), std::this_thread::get_id()});
}

/// A kind of party. It takes part as often as it is started.
struct kind {
    std::future<outcome> start(tryst::exchanger<int>& ex, int item) const {
        auto end = std::make_shared<std::promise<outcome>>();
        auto later = end->get_future();
        begin(ex, item, std::move(end));
        return later;
    }

    const char* name;
    /// The thread on which it ends; none if that depends on the partner.
    std::thread::id home;
    std::function<void(tryst::exchanger<int>& ex, int item, promise end)> begin;
};

template <class Coroutine>
Coroutine run(tryst::exchanger<int>& ex, int item, promise end) {
    const auto got = co_await ex.exchange(item);
    keep(end, got);
}

template <class Host>
kind task_on() {
    const auto loop = std::make_shared<tryst::test::host_thread<Host>>();
    return {Host::name, loop->id(), [loop](auto& ex, int item, promise end) {
                (*loop)->spawn(run<tryst::task<>>(ex, item, std::move(end)));
            }};
}

kind task_on_run_loop() {
    const auto loop = std::make_shared<tryst::test::loop_thread>();
    return {"run_loop", {}, [loop](auto& ex, int item, promise end) {
                (*loop)->spawn(run<tryst::task<>>(ex, item, std::move(end)));
            }};
}

kind thread() {
    const auto threads = std::make_shared<std::vector<std::jthread>>();
    return {"thread", {}, [threads](auto& ex, int item, promise end) {
                threads->emplace_back([&ex, item, end = std::move(end)] {
                    keep(end, tryst::sync_wait(ex.exchange(item)));
                });
            }};
}

kind bare_coroutine() {
    return {"bare coroutine", {}, run<tryst::test::detached_coroutine>};
}

#ifdef TRYST_TEST_ASIO
namespace net = tryst::test::net;

/// A context that a thread runs.
struct context_thread {
    ~context_thread() {
        work.reset();
        thread.join();
    }

    net::io_context io{};
    net::executor_work_guard<net::io_context::executor_type> work{io.get_executor()};
    std::thread thread{[this] { io.run(); }};
};

net::awaitable<void> run_awaitable(tryst::exchanger<int>& ex, int item, promise end) {
    const auto got = co_await tryst::asio::wait(ex.exchange(item));
    keep(end, got);
}

kind awaitable() {
    const auto on = std::make_shared<context_thread>();
    return {"awaitable", on->thread.get_id(), [on](auto& ex, int item, promise end) {
                net::co_spawn(on->io, run_awaitable(ex, item, std::move(end)), net::detached);
            }};
}
#endif

template <template <class...> class List, class... Hosts>
std::vector<kind> everybody(List<Hosts...> /*hosts*/) {
    return {
        task_on<Hosts>()..., task_on_run_loop(), thread(), bare_coroutine(),
#ifdef TRYST_TEST_ASIO
        awaitable(),
#endif
    };
}

void expect(std::future<outcome>& end, int item, const kind& who) {
    const outcome got = end.get();
    EXPECT_EQ(got.item, item);
    if (who.home != std::thread::id()) {
        EXPECT_EQ(got.thread, who.home);
    }
}

TEST(EventLoopMatrix, EveryKindMeetsEveryOther) {
    tryst::exchanger<int> ex;
    const auto waiters = everybody(tryst::test::hosts());
    const auto partners = everybody(tryst::test::hosts());
    int item = 0;
    for (const auto& one : waiters) {
        for (const auto& other : partners) {
            SCOPED_TRACE(one.name);
            SCOPED_TRACE(other.name);
            const int mine = ++item;
            const int theirs = ++item;
            auto waiting = one.start(ex, mine);
            until_someone_waits(ex);
            auto arriving = other.start(ex, theirs);
            expect(waiting, theirs, one);
            expect(arriving, mine, other);
        }
    }
}

TEST(EventLoopMatrix, AllKindsMeetInOneCrowd) {
    tryst::exchanger<int> ex;
    const auto all = everybody(tryst::test::hosts());
    constexpr std::size_t rounds = 50;
    std::vector<std::future<outcome>> ends;
    for (std::size_t round = 0; round != 2 * rounds; ++round) {
        for (const auto& each : all) {
            ends.push_back(each.start(ex, static_cast<int>(ends.size())));
        }
    }
    std::vector<outcome> got;
    for (std::size_t i = 0; i != ends.size(); ++i) {
        got.push_back(ends[i].get());
        const kind& who = all[i % all.size()];
        if (who.home != std::thread::id()) {
            EXPECT_EQ(got[i].thread, who.home);
        }
    }
    for (std::size_t i = 0; i != got.size(); ++i) {
        const auto partner = static_cast<std::size_t>(got[i].item);
        EXPECT_NE(partner, i);
        EXPECT_EQ(static_cast<std::size_t>(got.at(partner).item), i);
    }
}

} // namespace
