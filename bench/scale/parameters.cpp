// SPDX-License-Identifier: MIT
#include "parameters.hpp"

#include "recorded.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace tryst::scale {
namespace {

using nlohmann::json;

picoseconds to_picoseconds(double ns) {
    return static_cast<picoseconds>(std::llround(ns * 1000));
}

parameters derived(const json& probe, const std::string& source) {
    const auto ns = [&](const char* key) {
        return probe.at("floor").at(key).at("median").get<double>();
    };
    parameters all;
    all.source = source;
    costs& c = all.prices;
    c.load = to_picoseconds(ns("load"));
    c.store = to_picoseconds(ns("store"));
    const double update = ns("fetch_add");
    c.update = to_picoseconds(update);
    // The atomic step is charged in addition to the transfer of the line.
    const double take = std::max(ns("add_written") - update, 0.0);
    c.read_line = to_picoseconds(ns("read_written"));
    c.take_line = to_picoseconds(take);
    c.upgrade_line = to_picoseconds(std::max(ns("add_shared") - update, 0.0));
    // Two cores that add to one line make so many steps per transfer. The first step is made when
    // the line comes, and the others while the other core's request is on its way. On average, the
    // request comes in the middle of a step.
    const double steps = take / ns("contended_fetch_add");
    c.request = to_picoseconds(std::clamp((steps - 0.5) * update, 0.0, take));
    // An assumption, as two cores cannot show it: a core that reads a line delays the next reader
    // for a quarter of the time of a read.
    c.read_service = c.read_line / 4;
    // Then a line that this core wrote is no longer here after another core has read it.
    c.reads_take = ns("reread") > ns("read_written") / 2;
    // Fitted to the measured tickets. A core could hide all of it, but guesses wrongly how every
    // other update ends.
    c.run_ahead = c.take_line / 3;
    c.turn = to_picoseconds(ns("turn"));
    c.pause = to_picoseconds(ns("pause"));
    c.yield = to_picoseconds(ns("yield"));
    c.wake_call = to_picoseconds(ns("futex_wake_nobody"));
    c.wake = to_picoseconds(ns("futex_wake"));
    for (const json& each : probe.at("exchanges")) {
        all.exchanges.push_back(
            {each.at("kind"), each.at("design"), each.at("p"), each.at("median")});
    }
    return all;
}

} // namespace

parameters from_probe(const std::string& path) {
    std::ifstream file;
    if (path != "-") {
        file.open(path);
        if (!file) {
            throw std::runtime_error("cannot read " + path + "; check the name after --probe");
        }
    }
    try {
        return derived(json::parse(path == "-" ? std::cin : file), path);
    } catch (const json::exception& problem) {
        throw std::runtime_error(
            path +
            ": not the output of `probe --json` on two or more processors: " + problem.what());
    }
}

parameters recorded() {
    return derived(json::parse(recorded_probe), recorded_source);
}

} // namespace tryst::scale
