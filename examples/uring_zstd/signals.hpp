// SPDX-License-Identifier: MIT
/// @file
/// The signals that ask to end, as something to read.
/// Linux.
#pragma once

#include <tryst/uring/descriptor.hpp>

#include <cerrno>
#include <csignal>
#include <system_error>

#include <sys/signalfd.h>

namespace uring_zstd {

/// From its construction on, SIGINT, SIGTERM and SIGHUP can be read from its descriptor, and do nothing else. Those
/// that are ignored, as by nohup, stay ignored. To be made before any thread.
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
        ::pthread_sigmask(SIG_BLOCK, &wanted, nullptr);
        open_.reset(::signalfd(-1, &wanted, SFD_CLOEXEC));
        if (!open_) {
            throw std::system_error(errno, std::generic_category(), "signalfd");
        }
    }

    int descriptor() const noexcept { return open_.get(); }

private:
    tryst::uring::descriptor open_;
};

} // namespace uring_zstd
