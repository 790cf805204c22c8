// SPDX-License-Identifier: MIT
/// @file
/// Fibers that any of several threads may resume.
#pragma once

#include <boost/fiber/condition_variable.hpp>
#include <boost/fiber/fiber.hpp>
#include <boost/fiber/mutex.hpp>
#include <boost/fiber/operations.hpp>

#include <barrier>
#include <cstddef>
#include <mutex>
#include <thread>
#include <vector>

namespace tryst::test {

/// Runs `body(i)` for each i below `fibers`, each in a fiber, on `threads` threads that schedule by
/// `Algorithm(argument...)`. Returns when all have ended.
template <class Algorithm, class Body, class... Argument>
void share(unsigned threads, std::size_t fibers, Body body, Argument... argument) {
    boost::fibers::mutex mutex;
    boost::fibers::condition_variable ended;
    std::size_t left = fibers;
    std::barrier all_there(static_cast<std::ptrdiff_t>(threads));
    const auto take_part = [&](bool first) {
        boost::fibers::use_scheduling_algorithm<Algorithm>(argument...);
        all_there
            .arrive_and_wait(); // work_stealing uses the other schedulers without synchronization
        for (std::size_t i = 0; first && i != fibers; ++i) {
            boost::fibers::fiber([&, i] {
                body(i);
                const std::scoped_lock lock(mutex);
                if (--left == 0) {
                    ended.notify_all();
                }
            }).detach();
        }
        std::unique_lock lock(mutex);
        ended.wait(lock, [&] { return left == 0; });
    };
    std::vector<std::jthread> all;
    for (unsigned i = 0; i != threads; ++i) {
        all.emplace_back([&take_part, first = i == 0] { take_part(first); });
    }
}

/// The thread that runs the calling fiber now. The compiler assumes that a thread's id does not
/// change within a function; the `asm` makes it ask every time.
[[gnu::noinline]] inline std::thread::id this_thread() noexcept {
    asm volatile("");
    return std::this_thread::get_id();
}

} // namespace tryst::test
