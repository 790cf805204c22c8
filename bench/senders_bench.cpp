// SPDX-License-Identifier: MIT
// What an exchange costs as a sender, beside the same exchange by coroutines. stdexec has no
// channel to compare with. Its `when_all` and `when_any` show what the algorithms themselves cost.
#include "support.hpp"

#include <tryst/execution.hpp>
#include <tryst/tryst.hpp>

#include <exec/when_any.hpp>
#include <stdexec/execution.hpp>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <tuple>
#include <utility>

namespace tryst::bench {
namespace {

namespace ex = stdexec;
using result = exchange_result<std::int64_t>;

constexpr std::int64_t rounds = 100'000;

/// Sums up what arrives: in each round, one party brings 1 and the other 2.
class balance {
public:
    void count(const result& got) noexcept { sum_ += *got; }
    bool is_right() const noexcept { return sum_ == 3 * rounds; }

private:
    std::int64_t sum_ = 0;
};

/// Reports the time of one round of `run(items)`, which makes all rounds.
template <class Run>
void sample(benchmark::State& state, Run run) {
    for ([[maybe_unused]] auto _ : state) {
        balance items;
        const auto begin = steady::now();
        run(items);
        const seconds elapsed = steady::now() - begin;
        if (!items.is_right()) {
            fail(state, "items were lost");
        }
        report(state, elapsed, rounds);
    }
}

template <class Round>
void sample_rounds(benchmark::State& state, Round round) {
    sample(state, [&](balance& items) {
        for (std::int64_t i = 0; i != rounds; ++i) {
            round(items);
        }
    });
}

/// A coroutine without an executor, whose frame is made once for all rounds.
struct looping_coroutine {
    struct promise_type {
        looping_coroutine get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

looping_coroutine swap_in_rounds(exchanger<std::int64_t>& ex, std::int64_t item, std::int64_t count,
                                 balance& items) {
    for (std::int64_t i = 0; i != count; ++i) {
        const auto got = co_await ex.exchange(item);
        items.count(got);
    }
}

/// Two coroutines without executors: each swap suspends one and resumes it inline.
void coroutines_in_a_loop(benchmark::State& state) {
    exchanger<std::int64_t> ex;
    sample(state, [&](balance& items) {
        swap_in_rounds(ex, 1, rounds, items);
        swap_in_rounds(ex, 2, rounds, items);
    });
}

/// One coroutine frame for each party of each swap, as a sender needs no memory but its own.
void new_coroutines(benchmark::State& state) {
    exchanger<std::int64_t> ex;
    sample_rounds(state, [&](balance& items) {
        swap_in_rounds(ex, 1, 1, items);
        swap_in_rounds(ex, 2, 1, items);
    });
}

struct counting_receiver {
    using receiver_concept = ex::receiver_t;
    void set_value(result got) && noexcept { to->count(got); }
    balance* to;
};

struct stoppable_receiver : counting_receiver {
    struct env {
        ex::inplace_stop_token query(ex::get_stop_token_t) const noexcept { return token; }
        ex::inplace_stop_token token;
    };
    env get_env() const noexcept { return {token}; }
    ex::inplace_stop_token token;
};

/// Two senders, connected and started, that complete inline.
template <class MakeReceiver>
void swap_senders(benchmark::State& state, MakeReceiver receiver) {
    exchanger<std::int64_t> ex;
    sample_rounds(state, [&](balance& items) {
        auto one = ex::connect(as_sender(ex.exchange(1)), receiver(items));
        auto two = ex::connect(as_sender(ex.exchange(2)), receiver(items));
        ex::start(one);
        ex::start(two);
    });
}

void senders(benchmark::State& state) {
    swap_senders(state, [](balance& items) { return counting_receiver{&items}; });
}

void senders_with_stop_token(benchmark::State& state) {
    const ex::inplace_stop_source stop;
    swap_senders(state,
                 [&](balance& items) { return stoppable_receiver{{&items}, stop.get_token()}; });
}

// ---- Algorithms: of stdexec in its `sync_wait`, and of tryst on a `run_loop`.

template <class Make>
void wait_for_both(benchmark::State& state, Make make) {
    sample_rounds(state, [&](balance& items) {
        auto [one, two] = ex::sync_wait(make()).value();
        items.count(one);
        items.count(two);
    });
}

void stdexec_when_all(benchmark::State& state) {
    exchanger<std::int64_t> ex;
    wait_for_both(
        state, [&] { return ex::when_all(as_sender(ex.exchange(1)), as_sender(ex.exchange(2))); });
}

void stdexec_when_all_of_values(benchmark::State& state) {
    wait_for_both(state, [] {
        return ex::when_all(ex::just(result(std::int64_t{1})), ex::just(result(std::int64_t{2})));
    });
}

void tasks_when_all(benchmark::State& state) {
    exchanger<std::int64_t> ex;
    run_loop loop;
    sample_rounds(state, [&](balance& items) {
        auto a = ex.exchange(1);
        auto b = ex.exchange(2);
        auto both = loop.run(when_all(a, b));
        items.count(std::get<0>(both));
        items.count(std::get<1>(both));
    });
}

/// One round with two exchangers, of which the second has a partner.
template <class Wait>
void first_of_two(benchmark::State& state, Wait wait) {
    exchanger<std::int64_t> a;
    exchanger<std::int64_t> b;
    sample_rounds(state, [&](balance& items) {
        auto partner = ex::connect(as_sender(b.exchange(1)), counting_receiver{&items});
        ex::start(partner);
        items.count(wait(a, b));
    });
}

void select_of_two(benchmark::State& state) {
    first_of_two(state, [](auto& a, auto& b) {
        auto [got] = ex::sync_wait(as_sender(select(a.exchange(2), b.exchange(2)))).value();
        return std::move(got.template get<1>());
    });
}

/// Not the same as a selection, because both exchanges may take place.
void stdexec_when_any(benchmark::State& state) {
    first_of_two(state, [](auto& a, auto& b) {
        auto [got] = ex::sync_wait(
                         exec::when_any(as_sender(a.exchange(2)) | execution::stopped_if_cancelled,
                                        as_sender(b.exchange(2)) | execution::stopped_if_cancelled))
                         .value();
        return got;
    });
}

void tasks_when_any(benchmark::State& state) {
    run_loop loop;
    first_of_two(state, [&](auto& a, auto& b) {
        auto both = loop.run(when_any([&](auto stop) { return a.exchange(2, stop); },
                                      [&](auto stop) { return b.exchange(2, stop); }));
        return both.template get<1>();
    });
}

BENCHMARK(coroutines_in_a_loop)->Apply(one_sample);
BENCHMARK(new_coroutines)->Apply(one_sample);
BENCHMARK(senders)->Apply(one_sample);
BENCHMARK(senders_with_stop_token)->Apply(one_sample);
BENCHMARK(stdexec_when_all)->Apply(one_sample);
BENCHMARK(stdexec_when_all_of_values)->Apply(one_sample);
BENCHMARK(tasks_when_all)->Apply(one_sample);
BENCHMARK(select_of_two)->Apply(one_sample);
BENCHMARK(stdexec_when_any)->Apply(one_sample);
BENCHMARK(tasks_when_any)->Apply(one_sample);

} // namespace
} // namespace tryst::bench
