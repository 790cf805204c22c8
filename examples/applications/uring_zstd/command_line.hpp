// SPDX-License-Identifier: MIT
/// @file
/// Parses the command line into the options for each file.
/// CLI11.
#pragma once

#include "options.hpp"

#include <string>
#include <variant>
#include <vector>

namespace uring_zstd {

struct command_line {
    options common; ///< Without the input; without the output where it depends on the input.
    std::vector<std::string> files; ///< One at least.

    /// @throws file_error if the name of the output cannot be derived from `file`.
    options for_file(const std::string& file) const;
};

/// @returns an exit status instead if there is nothing to do: --help was asked for, or the usage is
/// wrong. It has printed the answer or the error then.
std::variant<command_line, int> parse(int count, char** arguments);

} // namespace uring_zstd
