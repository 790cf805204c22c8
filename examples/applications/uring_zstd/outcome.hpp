// SPDX-License-Identifier: MIT
/// @file
/// The result of processing one file.
#pragma once

#include <cstdint>
#include <string>

namespace uring_zstd {

struct outcome {
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0; ///< Also set for `test`, which writes nothing.
    std::string digest; ///< The result of `hash`.
};

} // namespace uring_zstd
