// SPDX-License-Identifier: MIT
// Where a wait says that it waits. Each line of an expected location ends with a marker of its own.
#include <tryst/tryst.hpp>

#include "support/queue_executor.hpp"

#include <gtest/gtest.h>

#include <coroutine>
#include <cstdint>
#include <string_view>

namespace {

namespace detail = tryst::detail;
using tryst::task;
using tryst::test::bound_coroutine;
using meeting = tryst::exchanger<int>;
using lines = std::uint_least32_t;

/// Keeps the node that was posted last. `Node` has a location.
template <class Node>
class keeping_executor {
public:
    tryst::executor_ref executor() noexcept {
        static constexpr tryst::executor_vtable table{
            .post =
                [](void* context, tryst::executor_node* node) noexcept {
                    static_cast<keeping_executor*>(context)->node_ = static_cast<Node*>(node);
                },
            .retract = [](void*, tryst::executor_node*) noexcept { return true; }};
        return {this, &table};
    }

    const Node& posted() const noexcept { return *node_; }
    void run() noexcept { node_->run(node_); }

private:
    Node* node_ = nullptr;
};

using waiter_executor = keeping_executor<detail::waiter>;

/// `line` is that of the next wait.
bound_coroutine wait_in_a_switch(tryst::executor_ref /*on*/, meeting& at, int k, lines& line) {
    switch (k) {
    case 0: {
        line = __LINE__ + 1;
        auto got = co_await at.exchange(1);
        EXPECT_FALSE(got);
    } break;
    default:
        line = __LINE__ + 1;
        (void)co_await at.exchange(1);
        break;
    }
}

TEST(Location, IsThatOfTheCoAwaitOfAnExchange) {
    for (const int k : {0, 1}) {
        waiter_executor on;
        meeting at;
        lines line = 0;
        const auto party = wait_in_a_switch(on.executor(), at, k, line);
        at.close();
        const detail::location found = on.posted().waits_at.get();
        EXPECT_EQ(found.line(), line);
        EXPECT_TRUE(std::string_view(found.file_name()).ends_with("location_test.cpp"));
        const std::string_view function = found.function_name();
        EXPECT_NE(function.find("wait_in_a_switch"), std::string_view::npos) << function;
        on.run();
    }
}

bound_coroutine wait_in_a_selection(tryst::executor_ref /*on*/, meeting& one, meeting& other,
                                    lines& line) {
    line = __LINE__ + 1;
    auto got = co_await tryst::select(one.exchange(1), other.exchange(1));
    EXPECT_FALSE(got.get<1>());
}

TEST(Location, IsInEachCaseOfASelection) {
    for (const bool first : {false, true}) {
        waiter_executor on;
        meeting one;
        meeting other;
        lines line = 0;
        const auto party = wait_in_a_selection(on.executor(), one, other, line);
        (first ? one : other).close();
        EXPECT_EQ(on.posted().waits_at.get().line(), line);
        on.run();
    }
}

/// An awaitable that looks at the location of its coroutine's awaiter.
struct outer_line {
    bool await_ready() const noexcept { return false; }
    template <class T>
    bool await_suspend(std::coroutine_handle<detail::task_promise<T>> coroutine) noexcept {
        found = coroutine.promise().awaiter()->where().line();
        return false;
    }
    lines await_resume() const noexcept { return found; }

    lines found = 0;
};

task<lines> inner() {
    co_return co_await outer_line();
}

task<> await_tasks() {
    const lines before = __LINE__;
    const lines first = co_await inner();
    lines sum = 0;
    sum += co_await inner();
    EXPECT_EQ(first, before + 1);
    EXPECT_EQ(sum, before + 3);
    if (const lines third = co_await inner()) {
        EXPECT_EQ(third, before + 6);
    }
}

TEST(Location, IsThatOfTheCoAwaitOfATask) {
    tryst::sync_wait(await_tasks());
}

TEST(Location, OfATaskIsTheOneThatALibraryGives) {
    const auto here = detail::location::current();
    const auto outer = [&]() -> task<> {
        auto work = inner();
        co_await work.when_ready(here);
        EXPECT_EQ(work.take(), here.line());
    };
    tryst::sync_wait(outer());
}

task<> nothing() {
    co_return;
}

TEST(Location, OfASpawnedTaskIsTheCallThatSpawnedIt) {
    keeping_executor<detail::spawned_task> on;
    tryst::task_scope scope(on.executor());
    const lines before = __LINE__;
    scope.spawn(nothing());
    EXPECT_EQ(on.posted().spawned_at.get().line(), before + 1);
    auto handle = scope.spawn_future(nothing());
    EXPECT_EQ(on.posted().spawned_at.get().line(), before + 3);
}

TEST(Location, CostsAWaiterOnePointer) {
    EXPECT_EQ(sizeof(detail::location), sizeof(void*));
    EXPECT_EQ(sizeof(detail::waiter),
              sizeof(tryst::executor_node) + sizeof(tryst::executor_ref) + 8 + 2 * sizeof(void*));
}

} // namespace
