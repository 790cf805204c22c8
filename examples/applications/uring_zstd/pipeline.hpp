// SPDX-License-Identifier: MIT
/// @file
/// The stages put together: on loops, with lanes between them.
#pragma once

#include "files.hpp"
#include "options.hpp"
#include "outcome.hpp"
#include "output.hpp"
#include "signals.hpp"

namespace uring_zstd {

/// Reads all of `from`; writes what becomes of it to `to`, if there is one.
/// @throws what the first stage that failed has thrown; `interrupted` after a signal.
outcome run_pipeline(const options& chosen, const input& from, const output* to,
                     const ending_signals& signals);

} // namespace uring_zstd
