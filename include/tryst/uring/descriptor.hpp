// SPDX-License-Identifier: MIT
/// @file
/// The owner of a file descriptor.
#pragma once

#include <utility>

#include <unistd.h>

namespace tryst::uring {

/// Owns an open file descriptor, or none, and closes it. Closing a file on a slow disk blocks the
/// thread; `context::close` does not.
class [[nodiscard]] descriptor {
public:
    /// No file.
    descriptor() noexcept = default;
    /// Owns `open`; a negative number is none.
    explicit descriptor(int open) noexcept : number_(open) {}
    /// Takes over the file of `other`, which then owns none.
    descriptor(descriptor&& other) noexcept : number_(other.release()) {}
    /// Closes its own file, if there is one, and takes over that of `other`.
    descriptor& operator=(descriptor&& other) noexcept {
        if (this != &other) {
            reset(other.release());
        }
        return *this;
    }
    ~descriptor() { reset(); }

    /// Whether it owns a file.
    explicit operator bool() const noexcept { return number_ >= 0; }

    /// The number; -1 without a file.
    int get() const noexcept { return number_; }

    /// Gives up the file, which the caller must then close. @returns its number; -1 without a file.
    int release() noexcept { return std::exchange(number_, -1); }

    /// Closes its file, if there is one, and owns `open`.
    void reset(int open = -1) noexcept {
        if (number_ >= 0) {
            ::close(number_);
        }
        number_ = open;
    }

private:
    int number_ = -1;
};

} // namespace tryst::uring
