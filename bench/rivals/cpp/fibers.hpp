// SPDX-License-Identifier: MIT
/// @file
/// The families of Boost.Fiber's fibers: on threads of their own, and on the calling thread.
#pragma once

#include "bodies.hpp"

#include <tryst/fiber.hpp>

#include <boost/context/fixedsize_stack.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::bench {

/// The smallest size that works for all workloads: when the dynamic linker binds a function at its
/// first call, it may save 11 KiB of registers.
inline constexpr std::size_t fiber_stack = std::size_t{16} * 1024;

inline boost::fibers::fiber start_fiber(std::function<void()> body) {
    return {std::allocator_arg, boost::context::fixedsize_stack(fiber_stack), std::move(body)};
}

class fibers {
public:
    using bodies = blocking_bodies<fibers>;
    static constexpr bool of_threads = false;

    explicit fibers(unsigned count, bool /*pinned*/ = true) : bodies_(count) {}

    /// Returns the result of an operation of tryst; other operations have blocked by themselves.
    template <class Operation>
    static decltype(auto) wait(Operation&& operation) {
        if constexpr (fiber::detail::waitable<std::remove_cvref_t<Operation>>) {
            return fiber::wait(std::forward<Operation>(operation));
        } else {
            return std::decay_t<Operation>(std::forward<Operation>(operation));
        }
    }

    std::size_t size() const noexcept { return bodies_.size(); }
    static bool pinned() noexcept { return true; }
    void spawn(unsigned thread, std::function<void()> body) {
        bodies_[thread].push_back(std::move(body));
    }
    void run(unsigned thread) {
        std::vector<boost::fibers::fiber> all;
        for (auto& each : bodies_[thread]) {
            all.push_back(start_fiber(std::move(each)));
        }
        for (auto& each : all) {
            each.join();
        }
    }
    void stop() {}
    void settle() {}

private:
    std::vector<std::vector<std::function<void()>>> bodies_;
};

/// For workloads that do not measure time.
class fibers_here {
public:
    using bodies = blocking_bodies<fibers>;

    explicit fibers_here(unsigned /*threads*/) {}

    static void spawn(unsigned /*thread*/, std::function<void()> body) {
        start_fiber(std::move(body)).detach();
    }
    /// One turn more than any fiber takes before it is suspended.
    static void settle() {
        for (int turn = 0; turn != 8; ++turn) {
            boost::this_fiber::yield();
        }
    }
};

} // namespace tryst::bench
