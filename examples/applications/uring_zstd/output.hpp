// SPDX-License-Identifier: MIT
/// @file
/// The file that is written, from its name to its end.
/// Linux.
#pragma once

#include "files.hpp"
#include "new_file.hpp"
#include "options.hpp"

#include <cstdint>

#include <sys/stat.h>

namespace uring_zstd {

/// A regular file appears under its name when it is complete, with the permissions and times of the
/// input. Until then, an existing file of that name stays as it is. Pipes and devices are written
/// where they are, and so is the file behind a link to a descriptor, such as /dev/stdout.
class output : public file {
public:
    /// Opens the output if it is a stream. @throws file_error: it exists, it is a directory, ...
    explicit output(const options& chosen);

    /// Creates the file, still without its name. @throws file_error: also if it is the file that is
    /// read
    void create(const input& origin);

    /// Gives it the size, its origin's permissions and times, and its name. @throws file_error
    void commit(std::uint64_t size, const input& origin);

private:
    void reserve(std::uint64_t size);
    void take_after(const struct stat& origin) noexcept;

    bool replaces_;
    bool copies_;
    new_file made_;
};

} // namespace uring_zstd
