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

/// Returns a thread that is pinned to a processor, modulo the number of processors.
inline std::jthread pinned_thread(unsigned processor, std::function<void()> body) {
    return std::jthread([processor, body = std::move(body)] {
        cpu_set_t only;
        CPU_ZERO(&only);
        CPU_SET(processor % std::thread::hardware_concurrency(), &only);
        // Without permission to pin, the figures are noisier but still valid.
        static_cast<void>(pthread_setaffinity_np(pthread_self(), sizeof only, &only));
        body();
    });
}

} // namespace tryst::bench
