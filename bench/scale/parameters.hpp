// SPDX-License-Identifier: MIT
/// @file
/// Where the costs come from: the probe's findings, or those that are recorded here.
#pragma once

#include "costs.hpp"

#include <string>
#include <vector>

namespace tryst::scale {

/// The real library's time of an exchange.
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

/// From the JSON that `probe --json` has printed, in a file, or on standard input for "-".
/// @throws std::runtime_error if it cannot be read.
parameters from_probe(const std::string& path);

/// What the probe found on the machine on which this was written.
parameters recorded();

} // namespace tryst::scale
