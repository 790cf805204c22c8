// SPDX-License-Identifier: MIT
// Measures the machine's floor (cache lines, atomic steps, coroutines, loops, wake-ups) and the
// library on it.
#include "probe.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>

namespace {

using tryst::probe::exchange;
using tryst::probe::spread;
using tryst::probe::step;
using json = nlohmann::ordered_json;

struct findings {
    std::vector<step> floor;
    std::vector<exchange> exchanges;
};

std::string processor_name() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (line.starts_with("model name")) {
            return line.substr(line.find(':') + 2);
        }
    }
    return "unknown";
}

json to_json(const spread& ns) {
    return {{"median", ns.median}, {"min", ns.least}, {"max", ns.most}};
}

std::string as_json(const findings& found, int samples, double distance) {
    json all;
    all["meta"] = {{"program", "probe"},
                   {"cpu", processor_name()},
                   {"processors", std::thread::hardware_concurrency()},
                   {"compiler", __VERSION__},
                   {"time", fmt::format("{}", std::time(nullptr))},
                   {"samples", samples},
                   {"distance", distance}, // 0 if it does not matter
                   {"unit", "ns; an exchange serves two parties"}};
    all["floor"] = json::object();
    all["exchanges"] = json::array();
    for (const step& each : found.floor) {
        all["floor"][each.key] = to_json(each.ns);
        all["floor"][each.key]["what"] = each.what;
    }
    for (const exchange& each : found.exchanges) {
        json entry = to_json(each.ns);
        entry["kind"] = each.kind;
        entry["design"] = each.design;
        entry["p"] = each.processors;
        all["exchanges"].push_back(entry);
    }
    return all.dump(2) + "\n";
}

std::string as_table(const findings& found) {
    std::string text = fmt::format("{}, {} processors\n\n{:>9} {:>9} {:>9}  ns\n", processor_name(),
                                   std::thread::hardware_concurrency(), "median", "min", "max");
    const auto row = [&](const spread& ns, const std::string& what) {
        text += fmt::format("{:9.1f} {:9.1f} {:9.1f}  {}\n", ns.median, ns.least, ns.most, what);
    };
    for (const step& each : found.floor) {
        row(each.ns, each.what);
    }
    for (const exchange& each : found.exchanges) {
        row(each.ns, fmt::format("an exchange, {} on {} processor{}, {}", each.kind,
                                 each.processors, each.processors == 1 ? "" : "s", each.design));
    }
    return text;
}

int run(int count, char** arguments) {
    CLI::App app(
        "Measures the costs of this machine's steps, and of exchanges on one and two processors.",
        "probe");
    bool json_wanted = false;
    bool only_hop = false;
    int samples = 9;
    double distance = 0; // the usual one
    app.add_flag("--json", json_wanted, "print JSON instead of a table");
    app.add_flag("--hop", only_hop,
                 "measure only the line hop, at the distance that the processors have now");
    app.add_option("--samples", samples, "samples of each measurement; the median is printed")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option(
           "--distance", distance,
           "ns in which a line moves between the two processors; samples at other distances, "
           "to which a virtual machine may move its processors, are taken again (default: "
           "the median of a second)")
        ->check(CLI::PositiveNumber);
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? EXIT_SUCCESS : 2;
    }

    findings found;
    tryst::probe::add_memory(found.floor);
    if (only_hop) {
        std::erase_if(found.floor, [](const step& each) { return each.key != "line_hop"; });
        distance = tryst::probe::any_distance;
    } else {
        tryst::probe::add_loops(found.floor);
        tryst::probe::add_kernel(found.floor);
        tryst::probe::add_exchanges(found.exchanges);
        if (distance == 0 && std::thread::hardware_concurrency() > 1) {
            distance = tryst::probe::usual_distance();
        }
    }
    std::vector<tryst::probe::measurement*> all;
    for (step& each : found.floor) {
        all.push_back(&each);
    }
    for (exchange& each : found.exchanges) {
        all.push_back(&each);
    }
    tryst::probe::measure(samples, distance, all);
    const std::string text = json_wanted ? as_json(found, samples, distance) : as_table(found);
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
        throw std::runtime_error("cannot write to standard output");
    }
    return EXIT_SUCCESS;
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run(count, arguments);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "probe: %s\n", problem.what());
        return EXIT_FAILURE;
    }
}
