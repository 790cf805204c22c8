// SPDX-License-Identifier: MIT
/// @file
/// The options as they are written on the command line.
#pragma once

#include "options.hpp"

#include <CLI/CLI.hpp>

namespace tsp {

/// Makes `app` parse into `chosen`, which has the defaults.
void declare(CLI::App& app, options& chosen);

/// Checks what was parsed as a whole, and sets the defaults that depend on other options.
/// @throws CLI::ValidationError
void complete(options& chosen);

} // namespace tsp
