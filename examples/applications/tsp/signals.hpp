// SPDX-License-Identifier: MIT
/// @file
/// Records the signals that ask the program to end, and ignores those of failed writes.
/// POSIX.
#pragma once

#include <atomic>
#include <csignal>

namespace tsp {

/// From its construction on, SIGINT, SIGTERM and SIGHUP do nothing but to be noticed; a second one ends the program.
/// Those that are ignored, as by nohup, stay ignored.
class ending_signals {
public:
    ending_signals() noexcept {
        struct sigaction noticed{};
        noticed.sa_handler = [](int) { arrived.store(true, std::memory_order_relaxed); };
        noticed.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
        for (const int each : {SIGINT, SIGTERM, SIGHUP}) {
            struct sigaction now{};
            if (::sigaction(each, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
                ::sigaction(each, &noticed, nullptr);
            }
        }
    }

    bool have_arrived() const noexcept { return arrived.load(std::memory_order_relaxed); }

private:
    static inline std::atomic<bool> arrived{false};
    static_assert(std::atomic<bool>::is_always_lock_free);
};

/// A write to a pipe without a reader, or beyond the limit of a file's size, then fails with an
/// error instead of ending the program.
inline void ignore_signals_of_writes() noexcept {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

} // namespace tsp
