// SPDX-License-Identifier: MIT
// A task's hops to and fro between loops of libuv, beside calls by `uv_async_send`. The adapters of
// the other loops share the executor, and differ only in what their tests test.
#include "workloads.hpp"

#include <tryst/libuv.hpp>
#include <tryst/task.hpp>

#include <uv.h>

namespace tryst::bench {
namespace {

struct hopping {
    unsigned loops;
    std::uint64_t hops;
    std::uint64_t done = 0; // handed on with the hops
    std::array<uv_loop_t*, 2> at{};
    std::array<uv_async_t*, 2> calls{}; // each also keeps its loop running
    std::array<libuv::executor*, 2> executors{};

    /// Counts a hop, and ends the loop to which it was the last.
    /// @returns whether there is another.
    bool arrived() {
        ++done;
        if (done + loops > hops) {
            uv_stop(at[done % loops]);
        }
        return done != hops;
    }
    unsigned next() const { return static_cast<unsigned>((done + 1) % loops); }
};

task<> hop(hopping& all) {
    do {
        co_await all.executors[all.next()]->schedule();
    } while (all.arrived());
}

void call(uv_async_t* self) {
    auto& all = *static_cast<hopping*>(self->data);
    uv_async_t* const there = all.calls[(all.done + 2) % all.loops]; // before `all` is handed on
    if (all.arrived()) {
        uv_async_send(there);
    }
}

measurement hops(unsigned loops, bool by_task, std::uint64_t count) {
    hopping all{loops, count};
    std::barrier step(static_cast<std::ptrdiff_t>(loops));
    seconds elapsed{};
    const auto run = [&](unsigned i) {
        uv_loop_t loop;
        uv_loop_init(&loop);
        uv_async_t called;
        uv_async_init(&loop, &called, call);
        called.data = &all;
        {
            libuv::executor executor(&loop);
            all.at[i] = &loop;
            all.calls[i] = &called;
            all.executors[i] = &executor;
            step.arrive_and_wait();
            const auto begin = steady::now();
            if (i == 0 && by_task) {
                executor.spawn(hop(all));
            } else if (i == 0) {
                uv_async_send(all.calls[all.next()]);
            }
            uv_run(&loop, UV_RUN_DEFAULT);
            if (i == 0) {
                elapsed = steady::now() - begin;
            }
            step.arrive_and_wait(); // no call is under way
        }
        uv_close(reinterpret_cast<uv_handle_t*>(&called), nullptr);
        uv_run(&loop, UV_RUN_DEFAULT);
        uv_loop_close(&loop);
    };
    {
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i != loops; ++i) {
            threads.push_back(pinned_thread(i, [&run, i] { run(i); }));
        }
    }
    return {count, elapsed, all.done == count};
}

[[maybe_unused]] const bool added = [] {
    for (const bool by_task : {false, true}) {
        const std::string name = by_task ? "/tryst on libuv" : "/libuv, uv_async_send";
        add("hop between two loops" + name + "/2",
            [=](benchmark::State& state) { report(state, hops(2, by_task, 20'000)); });
    }
    add("hop on one loop/tryst on libuv/1",
        [](benchmark::State& state) { report(state, hops(1, true, 200'000)); });
    return true;
}();

} // namespace
} // namespace tryst::bench
