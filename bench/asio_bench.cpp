// SPDX-License-Identifier: MIT
// Coroutines on Asio that exchange for ever, on one io_context or on two, each with a thread pinned to a
// processor: in an exchanger, and by way of two of Asio's channels, one for each direction.
#include "support.hpp"

#include <tryst/asio.hpp>

#include <asio/co_spawn.hpp>
#include <asio/detached.hpp>
#include <asio/experimental/as_tuple.hpp>
#include <asio/experimental/basic_channel.hpp>
#include <asio/experimental/basic_concurrent_channel.hpp>
#include <asio/experimental/channel_traits.hpp>
#include <asio/io_context.hpp>

#include <atomic>
#include <barrier>
#include <memory>

namespace tryst::bench {
namespace {

namespace net = ::asio;
using direct = net::io_context::executor_type;
using erased = net::any_io_executor;
using contexts = std::vector<std::unique_ptr<net::io_context>>;

/// Awaitables that `wait` in one exchanger.
template <class Executor>
struct waiting {
    explicit waiting(contexts&) {}

    net::awaitable<void, Executor> run(std::int64_t id, tally& mine) {
        while (const auto got = co_await asio::wait<Executor>(ex.exchange(id))) {
            mine.success(id, *got);
        }
    }
    void start(net::io_context& context, std::int64_t id, tally& mine) {
        net::co_spawn(context, run(id, mine), net::detached);
    }
    void close() { ex.close(); }

    exchanger<std::int64_t> ex;
};

/// Awaitables that use the general operation.
template <class Executor>
struct initiating : waiting<Executor> {
    using waiting<Executor>::waiting;

    net::awaitable<void, Executor> run(std::int64_t id, tally& mine) {
        constexpr auto token = net::experimental::as_tuple_t<net::use_awaitable_t<Executor>>(
            net::use_awaitable_t<Executor>());
        while (true) {
            const auto [error, got] = co_await asio::async_exchange(this->ex, id, token);
            if (error) {
                break;
            }
            mine.success(id, got);
        }
    }
    void start(net::io_context& context, std::int64_t id, tally& mine) {
        net::co_spawn(context, run(id, mine), net::detached);
    }
};

/// Tasks of tryst, all those of one context on one executor.
struct tasks {
    explicit tasks(contexts& all) {
        for (auto& context : all) {
            loops.emplace_back(context.get(),
                               std::make_unique<asio::task_executor<direct>>(*context));
        }
    }

    static task<> run(exchanger<std::int64_t>& ex, std::int64_t id, tally& mine) {
        while (const auto got = co_await ex.exchange(id)) {
            mine.success(id, *got);
        }
    }
    void start(net::io_context& context, std::int64_t id, tally& mine) {
        for (auto& [its, loop] : loops) {
            if (its == &context) {
                loop->spawn(run(ex, id, mine));
            }
        }
    }
    void close() { ex.close(); }

    exchanger<std::int64_t> ex;
    std::vector<std::pair<net::io_context*, std::unique_ptr<asio::task_executor<direct>>>> loops;
};

/// Awaitables of even number send first, the others receive first; all use the same two channels. They end
/// by a last item for each of the others.
template <class Executor, template <class, class, class...> class Channel>
struct two_channels {
    using channel =
        Channel<Executor, net::experimental::channel_traits<>, void(net::error_code, std::int64_t)>;
    static constexpr std::int64_t last = -1;
    static constexpr net::use_awaitable_t<Executor> token{};

    explicit two_channels(contexts& all) : there(*all.front()), back(*all.front()) {}

    net::awaitable<void, Executor> run(std::int64_t id, tally& mine) {
        if (id % 2 == 0) {
            while (!over.load(std::memory_order_relaxed)) {
                co_await there.async_send(net::error_code(), id, token);
                mine.success(id, co_await back.async_receive(token));
            }
            co_await there.async_send(net::error_code(), last, token);
        } else {
            while (true) {
                const std::int64_t got = co_await there.async_receive(token);
                if (got == last) {
                    break;
                }
                co_await back.async_send(net::error_code(), id, token);
                mine.success(id, got);
            }
        }
    }
    void start(net::io_context& context, std::int64_t id, tally& mine) {
        net::co_spawn(context, run(id, mine), net::detached);
    }
    void close() { over.store(true, std::memory_order_relaxed); }

    channel there;
    channel back;
    std::atomic<bool> over{false};
};

template <class Executor>
using channels = two_channels<Executor, net::experimental::basic_channel>;
template <class Executor>
using concurrent_channels = two_channels<Executor, net::experimental::basic_concurrent_channel>;

/// The same channel one way: awaitables of even number send, the others receive.
template <class Executor, template <class, class, class...> class Channel>
struct one_channel : two_channels<Executor, Channel> {
    using base = two_channels<Executor, Channel>;
    using base::base;

    net::awaitable<void, Executor> run(std::int64_t id, tally& mine) {
        if (id % 2 == 0) {
            while (!this->over.load(std::memory_order_relaxed)) {
                co_await this->there.async_send(net::error_code(), id, base::token);
                mine.success(id, 0);
            }
            co_await this->there.async_send(net::error_code(), base::last, base::token);
        } else {
            for (std::int64_t got = 0;;) {
                got = co_await this->there.async_receive(base::token);
                if (got == base::last) {
                    break;
                }
                mine.success(0, got);
            }
        }
    }
    void start(net::io_context& context, std::int64_t id, tally& mine) {
        net::co_spawn(context, run(id, mine), net::detached);
    }
};

template <class Executor>
using channel_one_way = one_channel<Executor, net::experimental::basic_channel>;
template <class Executor>
using concurrent_channel_one_way =
    one_channel<Executor, net::experimental::basic_concurrent_channel>;

/// Coroutines on each context: range(0). Each context is run by one thread and knows it.
template <class Meeting>
void coroutines(benchmark::State& state, std::size_t context_count) {
    const auto count = static_cast<std::size_t>(state.range(0));
    for ([[maybe_unused]] auto _ : state) {
        contexts all;
        for (std::size_t i = 0; i != context_count; ++i) {
            all.push_back(std::make_unique<net::io_context>(1));
        }
        Meeting meeting(all);
        std::vector<tally> tallies(context_count * count);
        for (std::size_t j = 0; j != tallies.size(); ++j) {
            meeting.start(*all[j / count], static_cast<std::int64_t>(j), tallies[j]);
        }
        std::barrier start(static_cast<std::ptrdiff_t>(context_count) + 1);
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i != context_count; ++i) {
            threads.push_back(pinned_thread(i, [&, i] {
                start.arrive_and_wait();
                all[i]->run();
            }));
        }
        start.arrive_and_wait();
        const auto begin = steady::now();
        std::this_thread::sleep_for(sample_time);
        meeting.close();
        threads.clear();
        report(state, tallies, steady::now() - begin);
    }
    if (context_count == 2) {
        state.counters["hop"] = line_hop_ns();
    }
}

template <class Meeting>
void one_context(benchmark::State& state) {
    coroutines<Meeting>(state, 1);
}

template <class Meeting>
void two_contexts(benchmark::State& state) {
    coroutines<Meeting>(state, 2);
}

void few_to_many(benchmark::internal::Benchmark* benchmark) {
    benchmark->ArgName("coroutines")->Arg(2)->Arg(16)->Arg(1'000)->UseManualTime()->Iterations(1);
}
BENCHMARK(one_context<tasks>)->Apply(few_to_many);
BENCHMARK(one_context<waiting<direct>>)->Apply(few_to_many);
BENCHMARK(one_context<initiating<direct>>)->Apply(few_to_many);
BENCHMARK(one_context<channels<direct>>)->Apply(few_to_many);
BENCHMARK(one_context<channel_one_way<direct>>)->Apply(few_to_many);
BENCHMARK(one_context<waiting<erased>>)->Apply(few_to_many);
BENCHMARK(one_context<initiating<erased>>)->Apply(few_to_many);
BENCHMARK(one_context<channels<erased>>)->Apply(few_to_many);

void one_to_many(benchmark::internal::Benchmark* benchmark) {
    benchmark->ArgName("coroutines")->Arg(1)->Arg(16)->Arg(1'000)->UseManualTime()->Iterations(1);
}
BENCHMARK(two_contexts<tasks>)->Apply(one_to_many);
BENCHMARK(two_contexts<waiting<direct>>)->Apply(one_to_many);
BENCHMARK(two_contexts<initiating<direct>>)->Apply(one_to_many);
BENCHMARK(two_contexts<concurrent_channels<direct>>)->Apply(one_to_many);
BENCHMARK(two_contexts<concurrent_channel_one_way<direct>>)
    ->ArgName("coroutines")
    ->Arg(2)
    ->Arg(16)
    ->Arg(1'000)
    ->UseManualTime()
    ->Iterations(1);

} // namespace
} // namespace tryst::bench
