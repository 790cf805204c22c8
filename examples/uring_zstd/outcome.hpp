// SPDX-License-Identifier: MIT
/// @file
/// What came of a file.
#pragma once

#include <cstdint>
#include <string>

namespace uring_zstd {

struct outcome {
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0; ///< Also those of `test`, which writes none of them.
    std::string digest; ///< Of `hash`.
};

} // namespace uring_zstd
