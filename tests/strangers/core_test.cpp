// SPDX-License-Identifier: MIT
// The core with types of a namespace whose functions have the names of the library's.
#include "meet.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace stranger {

struct clock {
    std::chrono::steady_clock::time_point now() const noexcept { return *time; }
    const std::chrono::steady_clock::time_point* time;
};

struct loop_wake {
    loop_wake(tryst::loop_turns& turns, tryst::loop_turns*& known) noexcept {
        known = std::addressof(turns);
    }
    void wake() noexcept {}
    void set_timer(std::chrono::nanoseconds) noexcept {}
    void cancel_timer() noexcept {}
    void keep_alive(bool) noexcept {}
};

struct span {
    explicit span(const char*) noexcept {}
    void end(std::error_code) noexcept {}
};

/// Runs nothing by itself.
struct executor {
    static void post(void* self, tryst::executor_node* node) noexcept {
        static_cast<executor*>(self)->nodes.push_back(node);
    }
    static constexpr tryst::executor_vtable operations{.post = post};
    tryst::executor_ref reference() noexcept { return {this, std::addressof(operations)}; }
    void run() noexcept {
        const tryst::executor_scope here(reference());
        for (std::size_t i = 0; i != nodes.size(); ++i) {
            nodes[i]->run(nodes[i]);
        }
        nodes.clear();
    }
    std::vector<tryst::executor_node*> nodes;
};

/// Its promise names its executor.
struct job {
    struct promise_type : coroutine::promise_type {
        template <class... Rest>
        explicit promise_type(executor& on, Rest&&...) noexcept : home(on.reference()) {}
        job get_return_object() noexcept { return {}; }
        tryst::executor_ref executor() const noexcept { return home; }
        tryst::executor_ref home;
    };
};

/// Makes an exchange with its own item, for `when_any`.
template <class Exchanger>
struct maker {
    template <class StopToken>
    auto operator()(StopToken stop) const {
        return at->exchange(item{number}, stop);
    }
    Exchanger* at;
    int number;
};

/// Makes a case, for `select_from`.
struct receive {
    template <class Channel>
    auto operator()(Channel* from) const {
        return from->receive();
    }
};

using channel = tryst::synchronous_channel<item>;

struct channels {
    channel* const* begin() const noexcept { return all.data(); }
    channel* const* end() const noexcept { return all.data() + all.size(); }
    std::array<channel*, 2> all;
};

} // namespace stranger

namespace {

using namespace std::chrono_literals;
using stranger::item;
using tryst::exchange_errc;
using loop = tryst::basic_run_loop<stranger::clock>;

/// Runs coroutines, and lets an hour pass.
class on_loop {
public:
    void spawn(tryst::task<> work) { loop_.spawn(std::move(work)); }
    void run() { loop_.run_until_idle(); }
    void let_an_hour_pass() {
        time_ += 1h;
        loop_.run_until_idle();
    }

private:
    std::chrono::steady_clock::time_point time_{};
    loop loop_{{}, stranger::clock{&time_}};
};

template <class Operation, class Result>
tryst::task<> await(Operation make, std::optional<Result>& got) {
    auto operation = make();
    got.emplace(co_await operation);
}

template <class Operation, class Result>
stranger::coroutine await_bare(Operation make, std::optional<Result>& got) {
    auto operation = make();
    got.emplace(co_await operation);
}

template <class Operation, class Result>
stranger::job await_on(stranger::executor&, Operation make, std::optional<Result>& got) {
    auto operation = make();
    got.emplace(co_await operation);
}

template <class Make>
using outcome = std::optional<decltype(std::declval<Make&>()().wait())>;

/// What meets it and what ends it; `start` begins a wait.
template <class Wait, class Limited, class Stopped, class Partner, class Close>
void expect_each_end(Wait wait, Limited limited, Stopped stopped, Partner partner, Close close) {
    outcome<Wait> got;
    outcome<Limited> late;
    tryst::inplace_stop_source source;
    const auto stoppable = [&] { return stopped(stranger::stop_token{source.get_token()}); };
    outcome<decltype(stoppable)> stop;
    on_loop on;
    on.spawn(await(wait, got));
    on.run();
    partner();
    on.run();
    ASSERT_TRUE(got && *got);

    on.spawn(await(limited, late));
    on.run();
    ASSERT_FALSE(late);
    on.let_an_hour_pass();
    ASSERT_TRUE(late);
    EXPECT_EQ(late->error(), exchange_errc::timed_out);

    on.spawn(await(stoppable, stop));
    on.run();
    ASSERT_FALSE(stop);
    source.request_stop();
    on.run();
    ASSERT_TRUE(stop);
    EXPECT_EQ(stop->error(), exchange_errc::cancelled);

    got.reset();
    await_bare(wait, got);
    ASSERT_FALSE(got);
    partner();
    ASSERT_TRUE(got && *got);

    stranger::executor own;
    got.reset();
    await_on(own, wait, got);
    ASSERT_FALSE(got);
    partner();
    own.run();
    ASSERT_TRUE(got && *got);

    {
        on_loop destroyed;
        destroyed.spawn(await(wait, got));
        destroyed.run();
        destroyed.spawn(await(limited, late));
        destroyed.run();
    }

    EXPECT_EQ(tryst::sync_wait(stoppable()).error(), exchange_errc::cancelled);
    got.reset();
    std::thread other([&] { got.emplace(tryst::sync_wait(wait())); });
    partner();
    other.join();
    ASSERT_TRUE(got && *got);

    got.reset();
    on.spawn(await(wait, got));
    on.run();
    close();
    on.run();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->error(), exchange_errc::closed);
}

template <class... Policies>
void expect_exchanges() {
    tryst::exchanger<item, Policies...> at;
    expect_each_end([&] { return at.exchange(item{1}); }, [&] { return at.exchange(item{2}, 1h); },
                    [&](auto stop) { return at.exchange(item{3}, stop); },
                    [&] {
                        const auto swapped = tryst::sync_wait(at.exchange(item{4}));
                        ASSERT_TRUE(swapped);
                        EXPECT_EQ(swapped->number, 1);
                    },
                    [&] { at.close(); });
    auto failed = at.try_exchange(item{5});
    EXPECT_EQ(failed.returned().number, 5);
}

template <tryst::order Order, class... Policies>
void expect_sides() {
    tryst::red_blue_exchanger<item, stranger::span, Order, Policies...> at;
    const auto blue = [&] {
        const auto met = tryst::sync_wait(at.blue(stranger::span("")));
        ASSERT_TRUE(met);
        EXPECT_EQ(met->number, 1);
    };
    expect_each_end([&] { return at.red(item{1}); }, [&] { return at.red(item{2}, 1h); },
                    [&](auto stop) { return at.red(item{3}, stop); }, blue, [&] { at.close(); });
    tryst::synchronous_channel<item, Order, Policies...> to;
    const auto send = [&] { ASSERT_TRUE(tryst::sync_wait(to.send(item{1}))); };
    expect_each_end([&] { return to.receive(); }, [&] { return to.receive(1h); },
                    [&](auto stop) { return to.receive(stop); }, send, [&] { to.close(); });
    EXPECT_EQ(to.try_send(item{2}).returned().number, 2);
    EXPECT_FALSE(to.try_receive());
}

TEST(Stranger, Exchanges) {
    expect_exchanges<>();
}

TEST(Stranger, ExchangesWithPolicies) {
    expect_exchanges<tryst::counted, tryst::traced<stranger::span>>();
}

TEST(Stranger, MeetsInTheOrderOfArrival) {
    expect_sides<tryst::order::fifo>();
    expect_sides<tryst::order::fifo, tryst::counted, tryst::traced<stranger::span>>();
}

TEST(Stranger, MeetsTheLatest) {
    expect_sides<tryst::order::lifo>();
}

struct selected {
    explicit operator bool() const noexcept { return code == std::error_code(); }
    std::error_code error() const noexcept { return code; }
    std::error_code code;
};

TEST(Stranger, Selects) {
    tryst::exchanger<item> swaps;
    stranger::channel to;
    stranger::channel from;
    tryst::red_blue_exchanger<item, item> sides;
    tryst::red_blue_exchanger<item, item, tryst::order::lifo> others;
    const auto cases = [&](auto select, auto... rest) {
        return select(swaps.exchange(item{1}), to.send(item{2}), from.receive(), sides.red(item{3}),
                      others.blue(item{4}), rest...);
    };
    const auto select = [](auto&&... each) {
        return tryst::select(std::forward<decltype(each)>(each)...);
    };
    on_loop on;
    tryst::inplace_stop_source stop;
    const auto waiting = [&] { return cases(select, stranger::stop_token{stop.get_token()}); };
    const auto limited = [&] {
        return cases([](auto&&... each) {
            return tryst::select(std::forward<decltype(each)>(each)..., 1h);
        });
    };
    outcome<decltype(waiting)> got;
    on.spawn(await(waiting, got));
    on.run();
    EXPECT_TRUE(to.try_receive());
    on.run();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 1U);
    got.reset();
    on.spawn(await(limited, got));
    on.run();
    EXPECT_TRUE(sides.try_blue(item{5}));
    on.run();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 3U);
    got.reset();
    on.spawn(await(limited, got));
    on.run();
    on.let_an_hour_pass();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), tryst::select_npos);
    got.reset();
    on.spawn(await(waiting, got));
    on.run();
    stop.request_stop();
    on.run();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), tryst::select_npos);
    got.reset();
    await_bare(limited, got);
    EXPECT_TRUE(from.try_send(item{6}));
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 2U);
    const auto polled = cases(
        [](auto&&... each) { return tryst::try_select(std::forward<decltype(each)>(each)...); });
    EXPECT_EQ(polled.index(), tryst::select_npos);
    const auto biased = [&] {
        return cases([](auto&&... each) {
            return tryst::select_biased(std::forward<decltype(each)>(each)...);
        });
    };
    got.reset();
    std::thread other([&] { got.emplace(tryst::sync_wait(biased())); });
    EXPECT_TRUE(tryst::sync_wait(from.send(item{7})));
    other.join();
    ASSERT_TRUE(got);
    EXPECT_EQ(got->index(), 2U);
    const stranger::channels both{{std::addressof(to), std::addressof(from)}};
    const auto any = [&] { return tryst::select_from(both, stranger::receive()); };
    outcome<decltype(any)> first;
    on.spawn(await(any, first));
    on.run();
    EXPECT_TRUE(from.try_send(item{8}));
    on.run();
    ASSERT_TRUE(first);
}

tryst::task<item> returns(int number) {
    const item result{number};
    co_return result;
}

tryst::task<> joins(tryst::exchanger<item>& at, int& sum) {
    auto first_swap = at.exchange(item{1});
    auto second_swap = at.exchange(item{2});
    auto both =
        co_await tryst::when_all(first_swap, second_swap, returns(3), stranger::awaitable());
    sum += std::get<0>(both)->number + std::get<2>(both).number + std::get<3>(both).number;
    std::vector<tryst::task<item>> work;
    work.push_back(returns(4));
    const auto all = co_await tryst::when_all(std::move(work));
    sum += all[0].number;
    stranger::maker<tryst::exchanger<item>> first{std::addressof(at), 5};
    stranger::maker<tryst::exchanger<item>> second{std::addressof(at), 6};
    auto any = co_await tryst::when_any(first, second, stranger::stop_token{});
    sum += any.get<0>()->number;
    tryst::task_scope scope;
    auto handle = scope.spawn_future(returns(7));
    const item joined = co_await handle;
    sum += joined.number;
    co_await scope.join();
    const item awaited = co_await stranger::awaitable();
    sum += awaited.number;
    const stranger::stop_token none{};
    co_await tryst::sleep_for(1h, none);
}

TEST(Stranger, JoinsTasks) {
    tryst::exchanger<item> at;
    int sum = 0;
    on_loop on;
    on.spawn(joins(at, sum));
    on.run();
    EXPECT_EQ(sum, 2 + 3 + 7 + 4 + 6 + 7 + 7);
    on.let_an_hour_pass();
    EXPECT_EQ(tryst::sync_wait(returns(8)).number, 8);
    EXPECT_EQ(tryst::sync_wait(stranger::awaitable()).number, 7);
    tryst::run_loop plain;
    EXPECT_EQ(plain.run(stranger::awaitable()).number, 7);
    const item joined = plain.run(plain.spawn_future(stranger::awaitable()));
    EXPECT_EQ(joined.number, 7);
}

TEST(Stranger, RunsOnTheLoopOfAStranger) {
    tryst::exchanger<item> at;
    tryst::loop_turns* turns = nullptr;
    tryst::loop_executor<stranger::loop_wake> on(turns);
    std::optional<tryst::exchange_result<item>> got;
    on.spawn(await([&] { return at.exchange(item{1}, 1h); }, got));
    turns->run_turn();
    EXPECT_TRUE(at.try_exchange(item{2}));
    turns->run_turn();
    ASSERT_TRUE(got && *got);
    EXPECT_EQ((*got)->number, 2);
    auto handle = on.spawn_future(returns(3));
    turns->run_turn();
    on.spawn(await([&] { return at.exchange(item{3}); }, got));
    turns->run_turn();
}

TEST(Stranger, ReplacesAFailure) {
    tryst::exchanger<item> at;
    auto failed = at.try_exchange(item{1});
    EXPECT_EQ(failed.value_or(item{2}).number, 2);
}

} // namespace
