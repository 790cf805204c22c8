// SPDX-License-Identifier: MIT
/// @file
/// The source of the costs: the probe's results, or those that are recorded here.
#pragma once

#include "costs.hpp"

#include <string>
#include <vector>

namespace tryst::scale {

/// The time of an exchange of the real library.
struct measured {
    std::string kind;
    std::string design;
    unsigned processors;
    double ns;
};

struct parameters {
    std::string source;
    costs prices;
    std::vector<measured> exchanges;
};

/// Reads the JSON of `probe --json` from a file, or from standard input for "-".
/// @throws std::runtime_error if it cannot be read.
parameters from_probe(const std::string& path);

/// Returns the probe's results on the machine on which this was written.
parameters recorded();

} // namespace tryst::scale
