// SPDX-License-Identifier: MIT
/// @file
/// Records termination signals, and ignores the signals of failed writes. POSIX.
#pragma once

#include <atomic>
#include <csignal>

namespace tsp {

/// After the construction, the first SIGINT, SIGTERM or SIGHUP is only recorded. A second signal
/// ends the program. Signals that are ignored, for example because of nohup, stay ignored.
class termination_signals {
public:
    termination_signals() noexcept {
        struct sigaction action{};
        action.sa_handler = [](int) { flag.store(true, std::memory_order_relaxed); };
        action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
        for (const int each : {SIGINT, SIGTERM, SIGHUP}) {
            struct sigaction now{};
            if (::sigaction(each, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
                ::sigaction(each, &action, nullptr);
            }
        }
    }

    bool received() const noexcept { return flag.load(std::memory_order_relaxed); }

private:
    static inline std::atomic<bool> flag{false};
    static_assert(std::atomic<bool>::is_always_lock_free);
};

/// Makes a write to a pipe without a reader, or beyond the file size limit, fail with an error
/// instead of ending the program.
inline void ignore_write_signals() noexcept {
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN);
}

} // namespace tsp
