// SPDX-License-Identifier: MIT
//
// Looks for a short tour through cities with a genetic algorithm whose breeders exchange genes.
// README.md describes the files.

#include "breeding.hpp"
#include "command_line.hpp"
#include "evolution.hpp"
#include "generated.hpp"
#include "options.hpp"
#include "output.hpp"
#include "progress.hpp"
#include "signals.hpp"
#include "svg.hpp"
#include "tsplib.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <future>
#include <iostream>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace {

using namespace tsp;

constexpr int exit_usage = 2;
constexpr int exit_interrupted = 130;

void report_error(const std::exception& problem) {
    std::fprintf(stderr, "tsp: %s\n", problem.what());
}

instance load_problem(const options& chosen) {
    if (chosen.problem.empty()) {
        return grid(chosen.side);
    }
    std::ifstream from(chosen.problem);
    if (!from) {
        fail_by_errno(chosen.problem, "open");
    }
    return read_problem(from, chosen.problem);
}

/// @throws std::runtime_error if two of the paths name the same file: it would be overwritten.
void refuse_same_files(const options& chosen) {
    struct file {
        const char* role;
        const std::string& path;
        std::optional<file_identity> identity = path.empty() ? std::nullopt : identify(path);
    };
    const file problem{"the problem", chosen.problem};
    const file svg{"--svg", chosen.svg};
    const file tour{"--tour", chosen.tour};
    for (const auto& [one, other] : {std::pair(&svg, &problem), {&tour, &problem}, {&tour, &svg}}) {
        if (one->identity && one->identity == other->identity) {
            throw std::runtime_error(fmt::format("{}: cannot write {}: the same file as {}; choose "
                                                 "another name",
                                                 one->path, one->role, other->role));
        }
    }
}

/// The output files named by options. If writing one fails, the other is still written.
class output_files {
public:
    /// Checks the files before the run, which may take hours.
    /// @throws std::runtime_error if one cannot be written.
    output_files(const options& chosen, const instance& problem) {
        if (!chosen.svg.empty()) {
            if (problem.points().empty()) {
                throw std::runtime_error(
                    fmt::format("{}: cannot draw: the problem has no coordinates; leave out --svg, "
                                "or add a DISPLAY_DATA_SECTION",
                                chosen.problem));
            }
            svg_.emplace(chosen.svg);
        }
        if (!chosen.tour.empty()) {
            tour_.emplace(chosen.tour);
        }
    }

    /// Reports errors on standard error. @returns whether all files were written.
    bool write(const options& chosen, const instance& problem, std::span<const city> tour) const {
        const bool drawn =
            write(svg_, [&](std::ostream& to) { write_svg(to, problem, tour, chosen.optimum); });
        const bool listed = write(tour_, [&](std::ostream& to) { write_tour(to, problem, tour); });
        return drawn && listed;
    }

private:
    template <class Print>
    static bool write(const std::optional<output>& file, Print print) {
        try {
            if (file) {
                std::ostringstream text;
                print(text);
                file->write(text.view());
            }
            return true;
        } catch (const std::exception& problem) {
            report_error(problem);
            return false;
        }
    }

    std::optional<output> svg_;
    std::optional<output> tour_;
};

void wait_for_end(evolution& algorithm, const options& chosen, const termination_signals& signals,
                  const std::future<void>& end) {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    progress_line line(chosen.optimum);
    while (end.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
        const std::chrono::duration<double> elapsed = clock::now() - start;
        if (signals.received() || (chosen.seconds && elapsed.count() >= *chosen.seconds)) {
            algorithm.stop();
        }
        if (!chosen.quiet) {
            line.show(algorithm.now());
        }
    }
}

std::string summary(const instance& problem, const options& chosen, const evolution& algorithm,
                    double seconds) {
    const auto [generations, length] = algorithm.now();
    std::string text =
        fmt::format("{}: {} cities, length {}", problem.name(), problem.size(), length);
    if (chosen.optimum) {
        text += fmt::format(", {:.2f}% above {}", gap(length, *chosen.optimum), *chosen.optimum);
    }
    const gene_count& genes = algorithm.count();
    return text + fmt::format("\n{} generations in {:.2f} s, {:.0f}/s; {} matings, {} genes "
                              "exchanged, {} taken without a partner\n",
                              generations, seconds, static_cast<double>(generations) / seconds,
                              genes.matings, genes.received, genes.from_population);
}

void print(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
        fail_by_errno("standard output", "write");
    }
}

int work(options& chosen) {
    using clock = std::chrono::steady_clock;
    refuse_same_files(chosen);
    const instance problem = load_problem(chosen);
    if (!chosen.optimum) {
        chosen.optimum = problem.optimum();
    }
    const output_files files(chosen, problem);
    const termination_signals signals;

    const auto start = clock::now();
    evolution algorithm(problem, chosen, worker_count(chosen));
    std::future<void> end =
        std::async(std::launch::async, [&] { breed_all(algorithm, problem, chosen); });
    wait_for_end(algorithm, chosen, signals, end);
    end.get();
    const std::chrono::duration<double> elapsed = clock::now() - start;

    const std::string text = summary(problem, chosen, algorithm, elapsed.count());
    const bool written = files.write(chosen, problem, algorithm.best());
    print(text);
    if (!written) {
        return EXIT_FAILURE;
    }
    return signals.received() ? exit_interrupted : EXIT_SUCCESS;
}

int run(int count, char** arguments) {
    ignore_write_signals();
    options chosen;
    chosen.threads = std::max(1U, std::thread::hardware_concurrency());
    CLI::App app("Looks for a short round trip through cities with a genetic algorithm.", "tsp");
    declare(app, chosen);
    try {
        app.parse(count, arguments);
        complete(chosen);
    } catch (const CLI::ParseError& problem) {
        // Print --help and --version ourselves: writing to standard output may fail.
        std::ostringstream text;
        const bool is_error = app.exit(problem, text, std::cerr) != 0;
        print(text.str());
        return is_error ? exit_usage : EXIT_SUCCESS;
    }
    return work(chosen);
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run(count, arguments);
    } catch (const std::exception& problem) {
        report_error(problem);
        return EXIT_FAILURE;
    }
}
