// SPDX-License-Identifier: MIT
// The core with types of a namespace whose functions have the names of the library's.
#include "meet.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <coroutine>
#include <cstddef>
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

template <class Coroutine, class Make, class Result>
Coroutine await(stranger::executor&, Make make_operation, std::optional<Result>& got) {
    auto operation = make_operation();
    got.emplace(co_await operation);
}

class Stranger : public ::testing::Test {
protected:
    template <class Make>
    using outcome = std::optional<decltype(std::declval<Make&>()().wait())>;

    void run() { on_.run_until_idle(); }
    void let_an_hour_pass() {
        time_ += 1h;
        run();
    }

    /// The result of a task's wait, after something happens.
    template <class Make, class Happen>
    auto in_task(Make make, Happen happen) {
        outcome<Make> got;
        {
            loop destroyed{{}, stranger::clock{&time_}};
            destroyed.spawn(await<tryst::task<>>(own_, make, got));
            destroyed.run_until_idle();
        }
        on_.spawn(await<tryst::task<>>(own_, make, got));
        run();
        EXPECT_FALSE(got);
        happen();
        run();
        return std::move(got).value();
    }

    /// The results of waits in a task, in a bare coroutine, on an executor, and by a thread.
    template <class Make, class Happen>
    auto in_each_context(Make make, Happen happen) {
        std::vector<typename outcome<Make>::value_type> all;
        all.push_back(in_task(make, happen));
        outcome<Make> got;
        await<stranger::coroutine>(own_, make, got);
        EXPECT_FALSE(got);
        happen();
        all.push_back(std::move(got).value());
        got.reset();
        await<stranger::job>(own_, make, got);
        EXPECT_FALSE(got);
        happen();
        own_.run();
        all.push_back(std::move(got).value());
        std::thread other([&] { got.emplace(tryst::sync_wait(make())); });
        happen();
        other.join();
        all.push_back(std::move(got).value());
        return all;
    }

    /// `make(limit...)` makes an operation that `partner` completes.
    template <class Make, class Partner, class Close>
    void expect_each_end(Make make, Partner partner, Close close) {
        for (const auto& got : in_each_context([&] { return make(); }, partner)) {
            EXPECT_TRUE(got);
        }
        const auto late = in_task([&] { return make(1h); }, [&] { let_an_hour_pass(); });
        EXPECT_EQ(late.error(), exchange_errc::timed_out);
        tryst::inplace_stop_source source;
        const stranger::stop_token stop{source.get_token()};
        const auto stopped = in_task([&] { return make(stop); }, [&] { source.request_stop(); });
        EXPECT_EQ(stopped.error(), exchange_errc::cancelled);
        EXPECT_EQ(tryst::sync_wait(make(stop)).error(), exchange_errc::cancelled);
        EXPECT_EQ(in_task([&] { return make(); }, close).error(), exchange_errc::closed);
    }

    template <class... Policies>
    void expect_exchanges() {
        tryst::exchanger<item, Policies...> at;
        expect_each_end([&](auto... limit) { return at.exchange(item{1}, limit...); },
                        [&] {
                            const auto swapped = tryst::sync_wait(at.exchange(item{4}));
                            ASSERT_TRUE(swapped);
                            EXPECT_EQ(swapped->number, 1);
                        },
                        [&] { at.close(); });
        auto failed = at.try_exchange(item{5});
        EXPECT_EQ(failed.returned().number, 5);
        EXPECT_EQ(failed.value_or(item{2}).number, 2);
    }

    template <tryst::order Order, class... Policies>
    void expect_sides() {
        tryst::red_blue_exchanger<item, stranger::span, Order, Policies...> at;
        const auto blue = [&] {
            const auto met = tryst::sync_wait(at.blue(stranger::span("")));
            ASSERT_TRUE(met);
            EXPECT_EQ(met->number, 1);
        };
        expect_each_end([&](auto... limit) { return at.red(item{1}, limit...); }, blue,
                        [&] { at.close(); });
        tryst::synchronous_channel<item, Order, Policies...> to;
        const auto send = [&] { ASSERT_TRUE(tryst::sync_wait(to.send(item{1}))); };
        expect_each_end([&](auto... limit) { return to.receive(limit...); }, send,
                        [&] { to.close(); });
        EXPECT_EQ(to.try_send(item{2}).returned().number, 2);
        EXPECT_FALSE(to.try_receive());
    }

    std::chrono::steady_clock::time_point time_{};
    stranger::executor own_;
    loop on_{{}, stranger::clock{&time_}};
};

TEST_F(Stranger, Exchanges) {
    expect_exchanges<>();
    expect_exchanges<tryst::counted, tryst::traced<stranger::span>>();
}

TEST_F(Stranger, MeetsInEachOrder) {
    expect_sides<tryst::order::fifo>();
    expect_sides<tryst::order::fifo, tryst::counted, tryst::traced<stranger::span>>();
    expect_sides<tryst::order::lifo>();
}

TEST_F(Stranger, Selects) {
    tryst::exchanger<item> swaps;
    stranger::channel to;
    stranger::channel from;
    tryst::red_blue_exchanger<item, item> sides;
    tryst::red_blue_exchanger<item, item, tryst::order::lifo> others;
    const auto cases = [&](auto select, auto... rest) {
        return select(swaps.exchange(item{1}), to.send(item{2}), from.receive(), sides.red(item{3}),
                      others.blue(item{4}), rest...);
    };
    const auto make = [&](auto... limit) {
        return cases(
            [](auto&&... each) { return tryst::select(std::forward<decltype(each)>(each)...); },
            limit...);
    };
    const auto biased = [&] {
        return cases([](auto&&... each) {
            return tryst::select_biased(std::forward<decltype(each)>(each)...);
        });
    };
    const auto send = [&] { EXPECT_TRUE(tryst::sync_wait(from.send(item{7}))); };
    for (const auto& got : in_each_context([&] { return make(); }, send)) {
        EXPECT_EQ(got.index(), 2U);
    }
    EXPECT_EQ(in_task(biased, send).index(), 2U);
    tryst::inplace_stop_source stop;
    const auto stoppable = [&] { return make(stranger::stop_token{stop.get_token()}); };
    EXPECT_EQ(in_task(stoppable, [&] { EXPECT_TRUE(to.try_receive()); }).index(), 1U);
    EXPECT_EQ(in_task(stoppable, [&] { stop.request_stop(); }).index(), tryst::select_npos);
    const auto limited = [&] { return make(1h); };
    EXPECT_EQ(in_task(limited, [&] { EXPECT_TRUE(sides.try_blue(item{5})); }).index(), 3U);
    EXPECT_EQ(in_task(limited, [&] { let_an_hour_pass(); }).index(), tryst::select_npos);
    const auto polled = cases(
        [](auto&&... each) { return tryst::try_select(std::forward<decltype(each)>(each)...); });
    EXPECT_EQ(polled.index(), tryst::select_npos);
    const stranger::channels both{{std::addressof(to), std::addressof(from)}};
    EXPECT_TRUE(in_task([&] { return tryst::select_from(both, stranger::receive()); }, send));
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

TEST_F(Stranger, JoinsTasks) {
    tryst::exchanger<item> at;
    int sum = 0;
    on_.spawn(joins(at, sum));
    run();
    EXPECT_EQ(sum, 2 + 3 + 7 + 4 + 6 + 7 + 7);
    let_an_hour_pass();
    EXPECT_EQ(tryst::sync_wait(returns(8)).number, 8);
    EXPECT_EQ(tryst::sync_wait(stranger::awaitable()).number, 7);
    tryst::run_loop plain;
    EXPECT_EQ(plain.run(stranger::awaitable()).number, 7);
    const item joined = plain.run(plain.spawn_future(stranger::awaitable()));
    EXPECT_EQ(joined.number, 7);
}

TEST_F(Stranger, RunsOnTheLoopOfAStranger) {
    tryst::exchanger<item> at;
    tryst::loop_turns* turns = nullptr;
    tryst::loop_executor<stranger::loop_wake> on(turns);
    std::optional<tryst::exchange_result<item>> got;
    on.spawn(await<tryst::task<>>(own_, [&] { return at.exchange(item{1}, 1h); }, got));
    turns->run_turn();
    EXPECT_TRUE(at.try_exchange(item{2}));
    turns->run_turn();
    ASSERT_TRUE(got && *got);
    EXPECT_EQ((*got)->number, 2);
    auto handle = on.spawn_future(returns(3));
    turns->run_turn();
    on.spawn(await<tryst::task<>>(own_, [&] { return at.exchange(item{3}); }, got));
    turns->run_turn();
}

} // namespace
