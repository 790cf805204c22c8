// SPDX-License-Identifier: MIT
/// @file
/// Connects the stages by lanes and runs them on loops.
#pragma once

#include "files.hpp"
#include "options.hpp"
#include "outcome.hpp"
#include "output.hpp"
#include "signals.hpp"

namespace uring_zstd {

/// Reads all of `from`, and writes the result to `to` unless it is null.
/// @throws the exception of the first stage that failed; `interrupted` after a signal.
outcome run_pipeline(const options& chosen, const input& from, const output* to,
                     const termination_signals& signals);

} // namespace uring_zstd
