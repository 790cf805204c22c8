// SPDX-License-Identifier: MIT
/// @file
/// A file that gets its name when it is complete.
/// Linux.
#pragma once

#include <tryst/uring/descriptor.hpp>

#include <string>
#include <system_error>

namespace uring_zstd {

/// If the file system supports O_TMPFILE, the file has no name until `publish`, and the kernel
/// frees it if the process is killed. Otherwise it has a temporary name in the same folder, which
/// the destructor removes.
class new_file {
public:
    new_file() = default;
    new_file(const new_file&) = delete;
    new_file& operator=(const new_file&) = delete;
    ~new_file();

    /// Creates the file, readable and writable only by its owner.
    /// @returns its descriptor; an empty one on failure, with the reason in `errno`.
    tryst::uring::descriptor create(const std::string& path);

    /// Names the file `path`. If a file of that name exists, this replaces it atomically if
    /// `replaces` is true, and fails otherwise.
    /// @param open_file  the descriptor that `create` returned.
    std::error_code publish(int open_file, const std::string& path, bool replaces);

private:
    std::string temporary_; ///< Empty if the file has no temporary name.
};

} // namespace uring_zstd
