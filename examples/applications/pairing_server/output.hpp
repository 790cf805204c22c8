// SPDX-License-Identifier: MIT
/// @file
/// Writes the message that the client receives. POSIX.
#pragma once

#include "message.hpp"

#include <filesystem>
#include <string>

namespace pairing {

/// Writes to standard output or another descriptor, to a pipe or device, or to a file that is
/// replaced as a whole. Escapes control characters on a terminal.
class output {
public:
    /// Checks that the output can be written. Call it before sending the client's own message.
    /// @param path  Empty: standard output. Symbolic links are followed. A name such as /dev/stdout
    ///              or /dev/fd/3 means the descriptor: its file keeps its contents.
    /// @throws std::runtime_error if the output cannot be written.
    explicit output(const std::string& path);

    /// Writes the message. A regular file keeps its old contents until the new contents are
    /// complete. It keeps its mode, and its owner and group as far as the process may set them.
    /// @throws std::system_error if writing fails; a file that would be replaced is then unchanged.
    void write(const message& body) const;

private:
    void replace(const message& body) const;

    std::filesystem::path path_;
    int descriptor_ = -1; ///< A descriptor of this process that `path` names, or -1.
    bool is_replaced_ = false;
};

} // namespace pairing
