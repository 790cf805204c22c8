// SPDX-License-Identifier: MIT
/// @file
/// The stages put together: on loops, with lanes between them.
#pragma once

#include "files.hpp"
#include "options.hpp"
#include "output.hpp"
#include "signals.hpp"

#include <cstdint>
#include <string>

namespace uring_zstd {

struct outcome {
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::string digest;
};

/// Reads all of `from`; writes what becomes of it to `to`, if there is one.
/// @throws what the first stage that failed has thrown; `interrupted` after a signal.
outcome run_pipeline(const options& chosen, const input& from, const output* to,
                     const ending_signals& signals);

} // namespace uring_zstd
