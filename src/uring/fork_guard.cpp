// SPDX-License-Identifier: MIT
#include "fork_guard.hpp"

#include "failure.hpp"

#include <tryst/detail/platform/atomic.hpp>

#include <pthread.h>

namespace tryst::uring::detail {

namespace {

/// The number of forks between the process that made the first context and this one.
tryst::detail::atomic<unsigned> forks{0};

void count_fork() noexcept {
    // Relaxed: a child has one thread only when this handler runs in it.
    forks.fetch_add(1, std::memory_order_relaxed);
}

unsigned forks_so_far() noexcept {
    // Relaxed: the number changes only in `count_fork`, before the child has other threads.
    return forks.load(std::memory_order_relaxed);
}

unsigned count_forks() {
    static const int error = ::pthread_atfork(nullptr, nullptr, count_fork);
    if (error != 0) {
        throw failure(error, "pthread_atfork");
    }
    return forks_so_far();
}

} // namespace

fork_guard::fork_guard() : forks_(count_forks()) {}

bool fork_guard::is_in_child() const noexcept {
    return forks_ != forks_so_far();
}

void fork_guard::expect_parent() const noexcept {
    if (is_in_child()) {
        die_in_child();
    }
}

void die_in_child() noexcept {
    die("a child process cannot use a context that its parent made before the fork; make a new one "
        "in the child");
}

} // namespace tryst::uring::detail
