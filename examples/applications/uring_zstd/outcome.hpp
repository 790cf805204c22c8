// SPDX-License-Identifier: MIT
/// @file
/// The result of processing one file.
#pragma once

#include <cstdint>
#include <string>

namespace uring_zstd {

struct outcome {
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0; ///< Counted by `test`, too, which writes none of them.
    std::string digest; ///< Of `hash`.
};

} // namespace uring_zstd
