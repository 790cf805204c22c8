// SPDX-License-Identifier: MIT
// Coroutines that wait in the statements of real programs. Each waits at the line that ends with
// the name of its function, when the program calls `stop_here`.
#include <tryst/tryst.hpp>

#include <chrono>
#include <utility>
#include <vector>

extern "C" [[gnu::noinline]] void stop_here() {
    asm volatile("" ::: "memory");
}

namespace {

using std::chrono_literals::operator""ms;
using tryst::task;
using desk = tryst::red_blue_exchanger<int>;

struct mishap {};

task<> plain(desk& at) {
    auto got = co_await at.red(1); // plain
    (void)got;
}

#define TRYST_TEST_CASE(number, work)                                                              \
    case number:                                                                                   \
        work;                                                                                      \
        break

task<> case_in_one_line(desk& at, int k) {
    switch (k) {
        TRYST_TEST_CASE(0, (void)co_await at.red(1));
        TRYST_TEST_CASE(1, (void)co_await at.red(1)); // case_in_one_line
        TRYST_TEST_CASE(2, (void)co_await at.red(1));
    }
}

task<> case_in_a_block(desk& at, int k) {
    switch (k) {
    case 0: {
        auto got = co_await at.red(1);
        (void)got;
    } break;
    case 1: {
        auto got = co_await at.red(1); // case_in_a_block
        (void)got;
    } break;
    default: {
        auto got = co_await at.red(1);
        (void)got;
    }
    }
}

task<> else_branch(desk& at, bool first) {
    if (first) {
        auto got = co_await at.red(1);
        (void)got;
    } else {
        auto got = co_await at.red(1); // else_branch
        (void)got;
    }
}

task<> else_if(desk& at, int k) {
    if (k == 0) {
        (void)co_await at.red(1);
    } else if (k == 1) {
        (void)co_await at.red(1); // else_if
    } else {
        (void)co_await at.red(1);
    }
}

task<> loop_body(desk& at, std::vector<int> items) {
    for (const int item : items) {
        auto tried = at.try_red(int(item));
        (void)tried;
        auto got = co_await at.red(int(item)); // loop_body
        (void)got;
    }
}

task<> condition(desk& at) {
    if (auto got = co_await at.red(1)) { // condition
        (void)got;
    }
}

task<> try_block(desk& at, bool fails) {
    try {
        if (fails) {
            throw mishap();
        }
        auto got = co_await at.red(1); // try_block
        (void)got;
    } catch (const mishap&) {
        at.close();
    }
}

task<> after_others(desk& at) {
    co_await tryst::sleep_for(1ms);
    co_await tryst::current_executor().schedule();
    auto got = co_await at.red(1); // after_others
    (void)got;
    auto more = co_await at.red(1);
    (void)more;
}

task<> without_result(desk& at) {
    co_await tryst::sleep_for(1ms);
    (void)co_await at.red(1); // without_result
    (void)co_await at.red(1);
}

template <class T>
struct holder {
    T item{};

    task<> member(desk& at) {
        T mine = item;
        auto got = co_await at.red(std::move(mine)); // member
        (void)got;
    }
};

task<int> inner(desk& at, int item) {
    auto got = co_await at.red(int(item)); // inner
    co_return got ? *got : 0;
}

task<> in_an_expression(desk& at) {
    [[maybe_unused]] int sum = 0;
    sum += co_await inner(at, 1); // in_an_expression
    sum += co_await inner(at, 2);
}

task<> nested(desk& at) {
    auto got = co_await at.red(1); // nested
    (void)got;
}

task<> task_in_a_switch(desk& at, int k) {
    switch (k) {
        TRYST_TEST_CASE(0, co_await nested(at));
        TRYST_TEST_CASE(1, co_await nested(at)); // task_in_a_switch
        TRYST_TEST_CASE(2, co_await nested(at));
    }
}

task<> task_in_a_long_switch(desk& at, int k) {
    switch (k) {
    case 0:
        co_await nested(at);
        break;
    case 1:
        co_await nested(at); // task_in_a_long_switch
        break;
    default:
        co_await nested(at);
        break;
    }
}

task<> task_in_else(desk& at, bool first) {
    if (first) {
        co_await nested(at);
    } else {
        co_await nested(at); // task_in_else
    }
}

task<> task_after_if(desk& at, bool first) {
    if (first) {
        co_await nested(at);
    }
    co_await nested(at); // task_after_if
    co_await nested(at);
}

task<> nothing() {
    co_return;
}

task<> task_after_tasks(desk& at) {
    co_await nothing();
    co_await nothing();
    co_await nested(at); // task_after_tasks
    co_await nothing();
}

} // namespace

int main() {
    desk at;
    tryst::run_loop loop;
    holder<int> held;
    const auto lambda = [](desk& in) -> task<> {
        auto got = co_await in.red(1); // operator()
        (void)got;
    };
    loop.spawn(plain(at));
    loop.spawn(case_in_one_line(at, 1));
    loop.spawn(case_in_a_block(at, 1));
    loop.spawn(else_branch(at, false));
    loop.spawn(else_if(at, 1));
    loop.spawn(loop_body(at, {1, 2}));
    loop.spawn(condition(at));
    loop.spawn(try_block(at, false));
    loop.spawn(after_others(at));
    loop.spawn(without_result(at));
    loop.spawn(held.member(at));
    loop.spawn(in_an_expression(at));
    loop.spawn(lambda(at));
    loop.spawn(task_in_a_switch(at, 1));
    loop.spawn(task_in_a_long_switch(at, 1));
    loop.spawn(task_in_else(at, false));
    loop.spawn(task_after_if(at, false));
    loop.spawn(task_after_tasks(at));
    loop.run(tryst::sleep_for(2ms)); // which begins after the other sleeps
    loop.run_until_idle();
    stop_here();
}
