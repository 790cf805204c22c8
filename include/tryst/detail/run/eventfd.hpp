// SPDX-License-Identifier: MIT
/// @file
/// Wakes a thread that polls a file descriptor.
/// Linux.
#pragma once

#include <cerrno>
#include <system_error>

#include <sys/eventfd.h>
#include <unistd.h>

namespace tryst::detail {

/// Becomes readable by `signal`, from any thread, until `reset`.
class eventfd {
public:
    /// @throws std::system_error if there is no descriptor.
    eventfd() : number_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
        if (number_ < 0) {
            throw std::system_error(errno, std::generic_category(), "eventfd");
        }
    }
    eventfd(eventfd&&) = delete;
    ~eventfd() { ::close(number_); }

    int get() const noexcept { return number_; }

    /// If this fails, the counter is full, so the descriptor is readable.
    void signal() noexcept { ::eventfd_write(number_, 1); }
    void reset() noexcept {
        eventfd_t count = 0;
        ::eventfd_read(number_, &count);
    }

private:
    int number_;
};

} // namespace tryst::detail
