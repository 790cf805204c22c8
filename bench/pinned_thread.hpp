// SPDX-License-Identifier: MIT
/// @file
/// A thread on a processor of its own.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <functional>
#include <thread>
#include <utility>

namespace tryst::bench {

/// A thread that keeps to one processor, as far as there are that many.
inline std::jthread pinned_thread(unsigned processor, std::function<void()> body) {
    return std::jthread([processor, body = std::move(body)] {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(processor % std::thread::hardware_concurrency(), &only);
        // Without the right to pin, the figures are noisier; they stay true.
        static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof only, &only));
        body();
    });
}

} // namespace tryst::bench
