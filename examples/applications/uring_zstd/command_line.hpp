// SPDX-License-Identifier: MIT
/// @file
/// Parses the command line into the options for each file.
#pragma once

#include "options.hpp"

#include <string>
#include <variant>
#include <vector>

namespace uring_zstd {

struct command_line {
    options common; ///< Without the input, and without an output name that depends on the input.
    std::vector<std::string> files; ///< At least one.

    /// @throws file_error if the name of the output cannot be derived from `file`.
    options for_file(const std::string& file) const;
};

/// Parses the command line. Handles --help, --version and errors.
/// @returns the command line, or the exit status if the program should end now.
std::variant<command_line, int> parse(int count, char** arguments);

} // namespace uring_zstd
