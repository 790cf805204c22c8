// SPDX-License-Identifier: MIT
/// @file
/// Termination signals as a descriptor to poll. Linux.
#pragma once

#include <tryst/uring/descriptor.hpp>

#include <cerrno>
#include <csignal>
#include <system_error>

#include <sys/signalfd.h>
#include <unistd.h>

namespace uring_zstd {

/// While this object exists, SIGINT, SIGTERM and SIGHUP stay pending, and make its descriptor
/// readable. Signals that are ignored, for example because of nohup, stay ignored. A signal that is
/// pending at the destruction then has its usual effect. Create the object before the first thread,
/// and destroy it after the last.
class termination_signals {
public:
    termination_signals() {
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
            throw std::system_error(errno, std::generic_category(), "cannot create a signalfd");
        }
        ::pthread_sigmask(SIG_BLOCK, &wanted, &before_);
    }
    termination_signals(const termination_signals&) = delete;
    termination_signals& operator=(const termination_signals&) = delete;
    ~termination_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

    /// Poll it, but do not read it: a read that completes after its loop has stopped would lose a
    /// signal.
    int descriptor() const noexcept { return open_.get(); }

    /// Consumes all pending signals. @returns whether there were any.
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
