// SPDX-License-Identifier: MIT
// The program `rival` for C++: measures one workload on one implementation and prints a line of
// JSON. ../README.md specifies it.
#include "registry.hpp"
#include "workloads.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <tuple>

namespace {

using namespace tryst::bench;

constexpr int usage = 2;

void list() {
    auto& all = registry();
    std::ranges::sort(all, {}, [](const pair& each) {
        return std::tuple(each.implementation, each.workload_name);
    });
    for (const pair& each : all) {
        fmt::print("{} {}\n", each.implementation, each.workload_name);
    }
}

void print(const measurement& made) {
    const double seconds = made.elapsed.count();
    fmt::print(R"({{"count": {}, "seconds": {:.6f}, "ns": )", made.count, seconds);
    if (made.ns || made.count != 0) {
        fmt::print("{:.2f}", made.ns ? *made.ns : seconds * 1e9 / static_cast<double>(made.count));
    } else {
        fmt::print("null");
    }
    fmt::print(R"(, "conserved": {})", made.conserved);
    for (const auto& [name, value] : made.more) {
        fmt::print(R"(, "{}": {:.6g})", name, value);
    }
    fmt::print("}}\n");
}

int run(int count, char** arguments) {
    parameters p;
    std::string implementation;
    std::string workload_name;
    double for_seconds = p.seconds.count();
    double warm_up = p.warmup.count();
    auto patience = p.patience.count();
    auto pause = p.pause.count();

    CLI::App app("Measures one workload on one implementation. `list` prints what there is.");
    app.add_option("implementation", implementation)->required();
    app.add_option("workload", workload_name);
    app.add_option("--threads", p.threads)->check(CLI::Range(2, 1024))->capture_default_str();
    app.add_option("--loops", p.loops)->check(CLI::Range(1, 2))->capture_default_str();
    app.add_option("--tasks", p.tasks, "on each loop")
        ->check(CLI::Range(1, 500'000)) // two loops' fit into the items' owner
        ->capture_default_str();
    app.add_option("--channels", p.channels)->check(CLI::IsMember({2, 4}))->capture_default_str();
    app.add_option("--patience-us", patience)
        ->check(CLI::Range(1, 60'000'000))
        ->capture_default_str();
    app.add_option("--pause-us", pause)->check(CLI::Range(0, 60'000'000))->capture_default_str();
    app.add_option("--seconds", for_seconds)
        ->check(CLI::Range(0.001, 3600.0))
        ->capture_default_str();
    app.add_option("--warmup", warm_up)->check(CLI::Range(0.0, 3600.0))->capture_default_str();
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : usage;
    }
    p.seconds = seconds(for_seconds);
    p.warmup = seconds(warm_up);
    p.patience = std::chrono::microseconds(patience);
    p.pause = std::chrono::microseconds(pause);

    if (implementation == "list" && workload_name.empty()) {
        list();
        return 0;
    }
    const auto found = std::ranges::find_if(registry(), [&](const pair& each) {
        return each.implementation == implementation && each.workload_name == workload_name;
    });
    if (found == registry().end()) {
        fmt::print(stderr, "rival: no workload '{}' of '{}'; see 'rival list'\n", workload_name,
                   implementation);
        return usage;
    }
    const measurement made = found->run(p);
    print(made);
    return made.conserved ? 0 : 1;
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run(count, arguments);
    } catch (const usage_error& error) {
        std::fprintf(stderr, "rival: %s\n", error.what());
        return usage;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "rival: %s\n", error.what());
        return 1;
    }
}
