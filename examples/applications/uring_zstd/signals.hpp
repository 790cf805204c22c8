// SPDX-License-Identifier: MIT
/// @file
/// The signals that ask to end, as something to poll.
/// Linux.
#pragma once

#include <tryst/uring/descriptor.hpp>

#include <cerrno>
#include <csignal>
#include <system_error>

#include <sys/signalfd.h>
#include <unistd.h>

namespace uring_zstd {

/// While it exists, SIGINT, SIGTERM and SIGHUP stay pending, and make its descriptor readable.
/// Those that are ignored, as by nohup, stay ignored. A signal that is pending at the destruction
/// then takes its usual effect. Create it before any thread, and destroy it after the last.
class ending_signals {
public:
    ending_signals() {
        sigset_t wanted;
        ::sigemptyset(&wanted);
        for (const int each : {SIGINT, SIGTERM, SIGHUP}) {
            struct sigaction now{};
            if (::sigaction(each, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) {
                ::sigaddset(&wanted, each);
            }
        }
        open_.reset(::signalfd(-1, &wanted, SFD_CLOEXEC | SFD_NONBLOCK));
        if (!open_) {
            throw std::system_error(errno, std::generic_category(), "signalfd");
        }
        ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    }
    ending_signals(const ending_signals&) = delete;
    ending_signals& operator=(const ending_signals&) = delete;
    ~ending_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    /// To poll, not to read: a read that completes after its loop has stopped would lose a signal.
    int descriptor() const noexcept { return open_.get(); }

    /// Takes all pending signals. @returns whether there were any.
    bool take() const noexcept {
        bool any = false;
        signalfd_siginfo signal{};
        while (::read(open_.get(), &signal, sizeof signal) > 0) {
            any = true;
        }
        return any;
    }

private:
    tryst::uring::descriptor open_;
    sigset_t before_{};
};

} // namespace uring_zstd
