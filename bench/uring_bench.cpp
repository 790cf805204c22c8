// SPDX-License-Identifier: MIT
// Contexts over io_uring, awake and asleep: a swap between two contexts, and a task's hop.
#include "families.hpp"
#include "selects.hpp"
#include "workloads.hpp"

#include <tryst/uring.hpp>

namespace tryst::bench {
namespace {

/// The family of tasks on contexts.
template <unsigned MaxSpins>
class contexts {
public:
    using task = tryst::task<>;

    explicit contexts(unsigned count) : stopped_(static_cast<std::ptrdiff_t>(count)) {
        for (unsigned i = 0; i != count; ++i) {
            all_.push_back(
                std::make_unique<uring::context>(uring::context_options{.max_spins = MaxSpins}));
        }
    }

    template <class Operation>
    static by_reference<Operation> wait(Operation&& operation) noexcept {
        return {operation};
    }

    uring::context& operator[](std::size_t loop) { return *all_[loop]; }
    std::size_t size() const noexcept { return all_.size(); }
    static bool pinned() noexcept { return true; }
    template <class Start>
    void spawn(unsigned loop, Start start) {
        all_[loop]->spawn(start());
    }
    /// A context keeps to its thread, so each thread also runs what is left after all have stopped.
    void run(unsigned loop) {
        all_[loop]->run();
        stopped_.arrive_and_wait();
        all_[loop]->run_until_idle();
    }
    void stop() {
        for (auto& each : all_) {
            each->stop();
        }
    }
    void settle() {}

private:
    std::vector<std::unique_ptr<uring::context>> all_;
    std::barrier<> stopped_;
};

/// The task stops the contexts itself, when it has come to rest.
template <unsigned MaxSpins>
struct hopping_contexts : contexts<MaxSpins> {
    using contexts<MaxSpins>::contexts;
    static void stop() {}
};

/// A coroutine that moves to and fro between two contexts.
task<> hop(uring::context& there, uring::context& back, ledger& all, std::uint64_t& hops) {
    participant mine(all, 0);
    while (!all.over()) {
        co_await there.schedule();
        co_await back.schedule();
        hops += mine.received(0) ? 2U : 0U;
    }
    mine.done();
    there.stop();
    back.stop();
}

template <class Family>
measurement hops(const parameters& p) {
    ledger all(1);
    Family family(2);
    std::uint64_t count = 0;
    family.spawn(0, [&] { return hop(family[1], family[0], all, count); });
    perform(family, all, p, [] {});
    measurement made = all.hand_offs();
    made.count = count;
    return made;
}

[[maybe_unused]] const bool added = [] {
    using awake = contexts<uring::context_options{}.max_spins>;
    using asleep = contexts<0>;
    add_loops("swap, two contexts of io_uring/tryst", swaps<awake, meeting>, 2, {1, 16, 1'000});
    add_loops("swap, two sleeping contexts of io_uring/tryst", swaps<asleep, meeting>, 2, {1});
    add_loops("hop between two contexts of io_uring/tryst",
              hops<hopping_contexts<uring::context_options{}.max_spins>>, 2, {1});
    add_loops("hop between two sleeping contexts of io_uring/tryst", hops<hopping_contexts<0>>, 2,
              {1});
    return true;
}();

} // namespace
} // namespace tryst::bench
