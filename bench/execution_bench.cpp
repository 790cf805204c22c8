// SPDX-License-Identifier: MIT
// What an exchange costs as a sender, beside the same exchange by coroutines.
#include "workloads.hpp"

#include <tryst/execution.hpp>
#include <tryst/tryst.hpp>

#include <stdexec/execution.hpp>

namespace tryst::bench {
namespace {

namespace ex = stdexec;
using result = exchange_result<std::uint64_t>;
using meeting = exchanger<std::uint64_t>;

constexpr std::uint64_t rounds = 100'000;

/// Counts what arrives: in each round, one party brings 1 and the other 2.
struct counting_receiver {
    using receiver_concept = ex::receiver_t;
    void set_value(result got) && noexcept { *sum += *got; }
    std::uint64_t* sum;
};

struct stoppable_receiver : counting_receiver {
    struct env {
        ex::inplace_stop_token query(ex::get_stop_token_t) const noexcept { return token; }
        ex::inplace_stop_token token;
    };
    env get_env() const noexcept { return {token}; }
    ex::inplace_stop_token token;
};

blocking_task swap_in_rounds(meeting& at, std::uint64_t mine, std::uint64_t count,
                             std::uint64_t& sum) {
    for (std::uint64_t i = 0; i != count; ++i) {
        const auto got = co_await at.exchange(mine);
        sum += *got;
    }
}

/// Two senders, connected and started, that complete inline.
template <class Receiver>
void swap_senders(meeting& at, const Receiver& receiver) {
    auto one = ex::connect(as_sender(at.exchange(1)), receiver);
    auto two = ex::connect(as_sender(at.exchange(2)), receiver);
    ex::start(one);
    ex::start(two);
}

/// Registers a benchmark of `run(at, sum)`, called for each of `calls` rounds, or for all at once.
template <class Run>
void add_rounds(const std::string& name, std::uint64_t calls, Run run) {
    add("swap, no executor/" + name + "/2", [=](benchmark::State& state) {
        meeting at;
        std::uint64_t sum = 0;
        const auto begin = steady::now();
        for (std::uint64_t i = 0; i != calls; ++i) {
            run(at, sum);
        }
        report(state, {rounds, steady::now() - begin, sum == 3 * rounds});
    });
}

[[maybe_unused]] const bool added = [] {
    add_rounds("tryst coroutines in a loop", 1, [](meeting& at, std::uint64_t& sum) {
        swap_in_rounds(at, 1, rounds, sum);
        swap_in_rounds(at, 2, rounds, sum);
    });
    add_rounds("tryst coroutines, new for each swap", rounds, [](meeting& at, std::uint64_t& sum) {
        swap_in_rounds(at, 1, 1, sum);
        swap_in_rounds(at, 2, 1, sum);
    });
    add_rounds("tryst senders", rounds,
               [](meeting& at, std::uint64_t& sum) { swap_senders(at, counting_receiver{&sum}); });
    add_rounds("tryst senders with a stop token", rounds, [](meeting& at, std::uint64_t& sum) {
        static const ex::inplace_stop_source stop;
        swap_senders(at, stoppable_receiver{{&sum}, stop.get_token()});
    });
    add_rounds("tryst select of 2 senders", rounds, [](meeting& at, std::uint64_t& sum) {
        static meeting other;
        auto partner = ex::connect(as_sender(at.exchange(1)), counting_receiver{&sum});
        ex::start(partner);
        auto [got] = ex::sync_wait(as_sender(select(other.exchange(2), at.exchange(2)))).value();
        sum += *got.template get<1>();
    });
    return true;
}();

} // namespace
} // namespace tryst::bench
