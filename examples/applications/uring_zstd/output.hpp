// SPDX-License-Identifier: MIT
/// @file
/// The output file, from the check of its name to its completion. Linux.
#pragma once

#include "files.hpp"
#include "new_file.hpp"
#include "options.hpp"

#include <cstdint>

#include <sys/stat.h>

namespace uring_zstd {

/// A regular file gets its name when it is complete, with the permissions and times of the input.
/// Until then, an existing file of that name is unchanged. Pipes, devices and files behind a link
/// to a descriptor, such as /dev/stdout, are written to directly.
class output : public file {
public:
    /// Opens the output if it is a stream.
    /// @throws file_error, for example if the file exists or is a directory.
    explicit output(const options& chosen);

    /// Creates the file, without its final name. @throws file_error, also if it is the input.
    void create(const input& origin);

    /// Sets the size, the permissions and times of `origin`, and the name. @throws file_error
    void commit(std::uint64_t size, const input& origin);

private:
    void reserve(std::uint64_t size);
    void copy_attributes(const struct stat& origin) noexcept;

    bool replaces_;
    bool copies_;
    new_file new_file_;
};

} // namespace uring_zstd
