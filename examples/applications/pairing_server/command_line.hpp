// SPDX-License-Identifier: MIT
/// @file
/// Command-line code shared by the two programs: times in seconds, usage errors.
#pragma once

#include <CLI/CLI.hpp>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace pairing {

inline constexpr int exit_usage = 2;

/// Parses the command line. Handles --help and errors.
/// @returns the exit status if the program should end now.
inline std::optional<int> parse(CLI::App& app, int count, char** arguments) {
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? EXIT_SUCCESS : exit_usage;
    }
    return std::nullopt;
}

/// An option in seconds. `0.5` is half a second.
inline CLI::Option* add_seconds(CLI::App& app, const std::string& name,
                                std::chrono::milliseconds& value, const std::string& what) {
    return app
        .add_option_function<double>(
            name,
            [&value, name](double seconds) {
                if (std::isnan(seconds)) { // CLI::Range accepts it
                    throw CLI::ValidationError(name, "not a number");
                }
                value = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
            },
            what)
        ->type_name("SECONDS")
        ->check(CLI::Range(0.001, 1e6));
}

} // namespace pairing
