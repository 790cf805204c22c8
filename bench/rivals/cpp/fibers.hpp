// SPDX-License-Identifier: MIT
/// @file
/// The families of fibers of Boost.Fiber: on threads of their own, and on the calling thread.
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

/// The smallest that works for all of these: the dynamic linker alone, when it binds a function at its first
/// call, may save 11 KiB of registers.
inline constexpr std::size_t fiber_stack = std::size_t{16} * 1024;

inline boost::fibers::fiber start_fiber(std::function<void()> body) {
    return {std::allocator_arg, boost::context::fixedsize_stack(fiber_stack), std::move(body)};
}

class fibers {
public:
    using bodies = blocking_bodies<fibers>;
    static constexpr bool of_threads = false;

    explicit fibers(unsigned count, bool /*pinned*/ = true) : bodies_(count) {}

    /// Of tryst's operations the result; others block by themselves.
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

/// For what is not about time.
class fibers_here {
public:
    using bodies = blocking_bodies<fibers>;

    explicit fibers_here(unsigned /*threads*/) {}

    static void spawn(unsigned /*thread*/, std::function<void()> body) {
        start_fiber(std::move(body)).detach();
    }
    /// A turn more than any of them takes before it is suspended.
    static void settle() {
        for (int turn = 0; turn != 8; ++turn) {
            boost::this_fiber::yield();
        }
    }
};

} // namespace tryst::bench
