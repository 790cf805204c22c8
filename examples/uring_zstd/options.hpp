// SPDX-License-Identifier: MIT
/// @file
/// What can be chosen on the command line.
#pragma once

#include <cstddef>
#include <string>

namespace uring_zstd {

enum class action : unsigned char { compress, hash, copy };

struct options {
    static constexpr const char* standard_stream = "-";

    std::string input;
    std::string output; ///< Empty for `hash`.
    action what = action::compress;
    int level = 3;

    // For these three see "Figures" in README.md.
    std::size_t loops = 2;
    std::size_t lanes = 4;
    std::size_t buffer_size = std::size_t{256} * 1024;

    bool direct = false; ///< Past the page cache: O_DIRECT.
    bool force = false; ///< An existing output is replaced.
    bool quiet = false;
};

} // namespace uring_zstd
