// SPDX-License-Identifier: MIT
// What an exchange costs as a sender, beside the same exchange by coroutines. stdexec has no
// channel to compare with. Its `when_all` and `when_any` show what the algorithms themselves cost.
#include <tryst/execution.hpp>
#include <tryst/tryst.hpp>

#include <exec/when_any.hpp>
#include <stdexec/execution.hpp>

#include <benchmark/benchmark.h>

#include <coroutine>
#include <cstdint>
#include <exception>

namespace tryst::bench {
namespace {

namespace ex = stdexec;
using result = exchange_result<std::int64_t>;

/// Checks that each item arrived once: in each round, one party brings 1 and the other 2.
class balance {
public:
    void count(const result& got) noexcept { sum_ += *got; }

    void check(benchmark::State& state, std::int64_t rounds) const {
        if (sum_ != 3 * rounds) {
            state.SkipWithError("items were lost");
        }
        state.SetItemsProcessed(rounds);
    }

private:
    std::int64_t sum_ = 0;
};

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

looping_coroutine swap_in_rounds(exchanger<std::int64_t>& ex, std::int64_t item,
                                 std::int64_t rounds, balance& items) {
    for (std::int64_t i = 0; i != rounds; ++i) {
        const auto got = co_await ex.exchange(item);
        items.count(got);
    }
}

/// Two coroutines without executors: each swap suspends one and resumes it inline.
void coroutines(benchmark::State& state) {
    constexpr std::int64_t batch = 1'000;
    std::int64_t rounds = 0;
    exchanger<std::int64_t> ex;
    balance items;
    for (auto _ : state) {
        swap_in_rounds(ex, 1, batch, items);
        swap_in_rounds(ex, 2, batch, items);
        rounds += batch;
    }
    items.check(state, rounds);
}
BENCHMARK(coroutines);

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

template <class Receiver>
void swap_senders(benchmark::State& state, Receiver receiver, balance& items) {
    std::int64_t rounds = 0;
    exchanger<std::int64_t> ex;
    for (auto _ : state) {
        auto one = ex::connect(as_sender(ex.exchange(1)), receiver);
        auto two = ex::connect(as_sender(ex.exchange(2)), receiver);
        ex::start(one);
        ex::start(two);
        ++rounds;
    }
    items.check(state, rounds);
}

/// Two senders, connected and started, that complete inline.
void senders(benchmark::State& state) {
    balance items;
    swap_senders(state, counting_receiver{&items}, items);
}
BENCHMARK(senders);

void senders_with_stop_token(benchmark::State& state) {
    balance items;
    const ex::inplace_stop_source stop;
    swap_senders(state, stoppable_receiver{{&items}, stop.get_token()}, items);
}
BENCHMARK(senders_with_stop_token);

/// One coroutine frame for each party of each swap, as a sender needs no memory but its own.
void new_coroutines(benchmark::State& state) {
    std::int64_t rounds = 0;
    exchanger<std::int64_t> ex;
    balance items;
    for (auto _ : state) {
        swap_in_rounds(ex, 1, 1, items);
        swap_in_rounds(ex, 2, 1, items);
        ++rounds;
    }
    items.check(state, rounds);
}
BENCHMARK(new_coroutines);

template <class Sender>
void wait_for(benchmark::State& state, balance& items, Sender make) {
    std::int64_t rounds = 0;
    for (auto _ : state) {
        auto [one, two] = ex::sync_wait(make()).value();
        items.count(one);
        items.count(two);
        ++rounds;
    }
    items.check(state, rounds);
}

/// `sync_wait` of `when_all`: one of the two comes back by a turn of its loop.
void when_all_in_sync_wait(benchmark::State& state) {
    exchanger<std::int64_t> ex;
    balance items;
    wait_for(state, items,
             [&] { return ex::when_all(as_sender(ex.exchange(1)), as_sender(ex.exchange(2))); });
}
BENCHMARK(when_all_in_sync_wait);

/// The same without an exchange.
void rival_when_all_of_just(benchmark::State& state) {
    balance items;
    wait_for(state, items, [] {
        return ex::when_all(ex::just(result(std::int64_t{1})), ex::just(result(std::int64_t{2})));
    });
}
BENCHMARK(rival_when_all_of_just);

/// A selection of two exchangers whose second case has a partner.
void select_of_two(benchmark::State& state) {
    std::int64_t rounds = 0;
    exchanger<std::int64_t> a;
    exchanger<std::int64_t> b;
    balance items;
    for (auto _ : state) {
        auto partner = ex::connect(as_sender(b.exchange(1)), counting_receiver{&items});
        ex::start(partner);
        auto [selected] = ex::sync_wait(as_sender(select(a.exchange(2), b.exchange(2)))).value();
        items.count(selected.template get<1>());
        ++rounds;
    }
    items.check(state, rounds);
}
BENCHMARK(select_of_two);

/// The same by `when_any`: not the same, because both exchanges may take place.
void rival_when_any_of_two(benchmark::State& state) {
    std::int64_t rounds = 0;
    exchanger<std::int64_t> a;
    exchanger<std::int64_t> b;
    balance items;
    for (auto _ : state) {
        auto partner = ex::connect(as_sender(b.exchange(1)), counting_receiver{&items});
        ex::start(partner);
        auto [first] =
            ex::sync_wait(
                exec::when_any(as_sender(a.exchange(2)) | execution::stopped_if_cancelled,
                               as_sender(b.exchange(2)) | execution::stopped_if_cancelled))
                .value();
        items.count(first);
        ++rounds;
    }
    items.check(state, rounds);
}
BENCHMARK(rival_when_any_of_two);

} // namespace
} // namespace tryst::bench

BENCHMARK_MAIN();
