// SPDX-License-Identifier: MIT
/// @file
/// The two files, from their names to their ends. What is between is the stages' business.
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

    /// Pipes, devices, standard input and output: transfers follow the file's position, one after the other.
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

    /// What it held when it was opened, which is what is read of it; nothing for streams, whose end is where
    /// they end.
    std::optional<std::uint64_t> size() const noexcept;

    const struct stat& status() const noexcept { return status_; }
};

/// A file is written under a temporary name and gets its own when it is complete: whoever sees it sees all of
/// it, and what had the name is there until then.
class output : public file {
public:
    /// Opens what is a stream. @throws file_error: it exists, it is a directory, ...
    explicit output(const options& chosen);
    output(const output&) = delete;
    output& operator=(const output&) = delete;

    /// Removes what is incomplete.
    ~output();

    /// Makes the file, under its temporary name. @throws file_error: also if it would grow as it is read
    void create(const input& origin);

    /// Gives it the size, its name, and its origin's permissions and time. @throws file_error
    void commit(std::uint64_t size, const input& origin);

private:
    void reserve(std::uint64_t size);
    void take_after(const struct stat& origin) noexcept;

    bool replaces_;
    bool copies_;
    std::string temporary_; ///< Empty if there is none.
};

} // namespace uring_zstd
