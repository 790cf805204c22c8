// SPDX-License-Identifier: MIT
// tryst in fibers of Boost.Fiber, beside Boost.Fiber's unbuffered channel.
#include "buffered.hpp"
#include "selects.hpp"
#include "workloads.hpp"

#include <tryst/fiber.hpp>

#include <boost/context/fixedsize_stack.hpp>
#include <boost/fiber/buffered_channel.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/unbuffered_channel.hpp>

#include <type_traits>

namespace tryst::bench {
namespace {

/// The stack has the smallest size that works for all workloads: when the dynamic linker binds a
/// function at its first call, it may save 11 KiB of registers.
boost::fibers::fiber start_fiber(std::function<blocking_task()> start) {
    return {std::allocator_arg, boost::context::fixedsize_stack(std::size_t{16} * 1024),
            [start = std::move(start)] { start(); }};
}

class fibers {
public:
    using task = blocking_task;

    explicit fibers(unsigned count, bool /*pinned*/ = true) : starts_(count) {}

    /// Blocks the fiber in an operation of tryst; other operations have blocked by themselves.
    template <class Operation>
    static auto wait(Operation&& operation) {
        if constexpr (fiber::detail::waitable<std::remove_cvref_t<Operation>>) {
            return ready{fiber::wait(std::forward<Operation>(operation))};
        } else {
            return ready{std::forward<Operation>(operation)};
        }
    }

    std::size_t size() const noexcept { return starts_.size(); }
    static bool pinned() noexcept { return true; }
    void spawn(unsigned thread, std::function<task()> start) {
        starts_[thread].push_back(std::move(start));
    }
    void run(unsigned thread) {
        std::vector<boost::fibers::fiber> all;
        for (auto& each : starts_[thread]) {
            all.push_back(start_fiber(std::move(each)));
        }
        for (auto& each : all) {
            each.join();
        }
    }
    void stop() {}
    void settle() {}

private:
    std::vector<std::vector<std::function<task()>>> starts_;
};

/// On the calling thread, for workloads that do not measure time.
class fibers_here : public fibers {
public:
    explicit fibers_here(unsigned threads) : fibers(threads) {}

    static void spawn(unsigned /*thread*/, std::function<task()> start) {
        start_fiber(std::move(start)).detach();
    }
    /// One turn more than any fiber takes before it is suspended.
    static void settle() {
        for (int turn = 0; turn != 8; ++turn) {
            boost::this_fiber::yield();
        }
    }
};

class channel {
public:
    bool send(item it) { return channel_.push(it) == boost::fibers::channel_op_status::success; }
    item receive() { return channel_.value_pop(); }

private:
    boost::fibers::unbuffered_channel<item> channel_;
};

/// It holds one item less than its capacity, which is a power of two.
class ring_channel {
public:
    bool send(item it) { return channel_.push(it) == boost::fibers::channel_op_status::success; }
    item receive() { return channel_.value_pop(); }

private:
    boost::fibers::buffered_channel<item> channel_{64};
};

template <class Channel>
void add_all(const std::string& name, workload swap, workload latency_of) {
    add_on_loops("swap", name, swap, swap);
    add_on_loops("one way", name, hand_over<fibers, Channel>, hand_over<fibers, Channel>);
    add_pauses("latency, two loops/" + name, latency_of);
    add_loops("memory/" + name, memory<fibers_here, Channel>, 1, {100'000});
}

[[maybe_unused]] const bool added = [] {
    add_all<fifo>("tryst on Boost.Fiber", swaps<fibers, meeting>,
                  latency<fibers, one_way<meeting>>);
    add_all<channel>("Boost.Fiber channel", swap_in_two<fibers, channel>, latency<fibers, channel>);
    add_buffered("Boost.Fiber buffered_channel of 64", hand_over<fibers, ring_channel>,
                 hand_over<fibers, ring_channel>);
    add_buffered("tryst on Boost.Fiber, channel of 64", hand_over<fibers, buffered<64>>,
                 hand_over<fibers, buffered<64>>);
    return true;
}();

} // namespace
} // namespace tryst::bench
