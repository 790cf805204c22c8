// SPDX-License-Identifier: MIT
/// @file
/// Open files, and the one that is read. The stages transfer their bytes.
/// POSIX.
#pragma once

#include "options.hpp"

#include <tryst/uring/descriptor.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include <sys/stat.h>

namespace uring_zstd {

/// An open file that is read or written at offsets, or else where its own position is.
class file {
public:
    const std::string& name() const noexcept { return name_; }
    int descriptor() const noexcept { return open_.get(); }

    /// Pipes, devices, standard input and output: transfers follow the file's position, one after
    /// the other.
    bool is_stream() const noexcept { return stream_; }

    /// How many bytes to transfer where `size` are meant: O_DIRECT knows whole sectors only.
    std::size_t transfer_size(std::size_t size) const noexcept {
        constexpr std::size_t sector = 4096; // no less, and few disks have more; buffers are pages
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

    /// The size when it was opened: only that many bytes are read. None for streams, which are read
    /// to their end.
    std::optional<std::uint64_t> size() const noexcept;

    const struct stat& status() const noexcept { return status_; }

    /// @throws file_error if its name is not, or no longer, that of the file that was opened
    void check_removable() const;

    /// Removes it, unless it has changed since it was opened. @throws file_error
    void remove() const;
};

} // namespace uring_zstd
