// SPDX-License-Identifier: MIT
/// @file
/// Open files, and the input. POSIX.
#pragma once

#include "options.hpp"

#include <tryst/uring/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <sys/stat.h>

namespace uring_zstd {

/// An open file that is read or written at offsets, or a stream, whose own position is used.
class file {
public:
    const std::string& name() const noexcept { return name_; }
    int descriptor() const noexcept { return open_.get(); }

    /// Whether this is a pipe, a device, a standard stream or the like. Transfers then happen one
    /// after the other, at the file's position.
    bool is_stream() const noexcept { return stream_; }

    /// The number of bytes to transfer for `size` bytes: O_DIRECT transfers only whole sectors.
    std::size_t transfer_size(std::size_t size) const noexcept {
        constexpr std::size_t sector = 4096; // few disks have larger sectors; buffers are pages
        return direct_ ? (size + sector - 1) / sector * sector : size;
    }

protected:
    file(std::string name, bool direct) : name_(std::move(name)), direct_(direct) {}

    void make_direct();

    std::string name_;
    tryst::uring::descriptor open_;
    struct stat status_{};
    bool stream_ = false;
    bool direct_;
};

class input : public file {
public:
    /// @throws file_error
    explicit input(const options& chosen);

    /// The size when the file was opened: only that many bytes are read. nullopt for streams, which
    /// are read to their end.
    std::optional<std::uint64_t> size() const noexcept;

    const struct stat& status() const noexcept { return status_; }

    /// @throws file_error if the name does not, or no longer, refer to the file that was opened, or
    ///   if the file has changed.
    void check_removable() const;

    /// Removes the file, unless it has changed since it was opened. @throws file_error
    void remove() const;
};

} // namespace uring_zstd
