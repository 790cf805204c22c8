// SPDX-License-Identifier: MIT
#include "fork_guard.hpp"

#include "failure.hpp"

#include <pthread.h>

namespace tryst::uring::detail {

fork_guard::fork_guard() {
    static const int error = ::pthread_atfork(nullptr, nullptr, count_fork);
    if (error != 0) {
        throw failure(error, "pthread_atfork");
    }
    forks_ = forks_so_far();
}

void fork_guard::count_fork() noexcept {
    // Relaxed: a child has one thread only while this handler runs in it.
    forks.fetch_add(1, std::memory_order_relaxed);
}

void die_in_child() noexcept {
    die("a child process cannot use a context that its parent made before the fork; make a new one "
        "in the child");
}

} // namespace tryst::uring::detail
