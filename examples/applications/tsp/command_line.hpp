// SPDX-License-Identifier: MIT
/// @file
/// Parses the command line.
#pragma once

#include "options.hpp"

#include <CLI/CLI.hpp>

namespace tsp {

/// Declares the options of `app`, which parses into `chosen`. `chosen` holds the defaults.
void declare(CLI::App& app, options& chosen);

/// Checks the combination of options, and sets the defaults that depend on other options.
/// @throws CLI::ValidationError
void complete(options& chosen);

} // namespace tsp
