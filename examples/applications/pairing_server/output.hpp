// SPDX-License-Identifier: MIT
/// @file
/// Where the client puts the message that it receives. POSIX.
#pragma once

#include "message.hpp"

#include <filesystem>
#include <string>

namespace pairing {

/// Standard output or another descriptor, a file that is replaced as a whole, or a pipe or device that is
/// written into.
/// On a terminal, control characters are escaped.
class output {
public:
    /// Checks that the output can be written. Call it before the own message is sent.
    /// @param path  Empty: standard output. Symbolic links are followed. A name such as /dev/stdout
    ///              or /dev/fd/3 means the descriptor, and its file keeps the contents it has.
    /// @throws std::runtime_error if it cannot.
    explicit output(const std::string& path);

    /// Writes the message. A file has its old contents until it has all of the new ones. It keeps
    /// its mode, and its owner and group as far as the process may set them.
    /// @throws std::system_error if it cannot; the file is then unchanged.
    void write(const message& body) const;

private:
    void replace(const message& body) const;

    std::filesystem::path path_;
    int open_already_ = -1; ///< A descriptor of this process, or -1.
    bool is_replaced_ = false;
};

} // namespace pairing
