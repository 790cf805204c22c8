// SPDX-License-Identifier: MIT
//
// Looks for a short tour through cities, by a genetic algorithm whose breeders exchange genes. README.md has a tour of
// the files.

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

void complain(const std::exception& problem) {
    std::fprintf(stderr, "tsp: %s\n", problem.what());
}

instance problem_of(const options& chosen) {
    if (chosen.problem.empty()) {
        return grid(chosen.side);
    }
    std::ifstream from(chosen.problem);
    if (!from) {
        fail_by_errno(chosen.problem, "open");
    }
    return read_problem(from, chosen.problem);
}

/// @throws std::runtime_error if two of the files are the same: one would be lost
void refuse_same_files(const options& chosen) {
    struct file {
        const char* what;
        const std::string& path;
        std::optional<file_identity> identity = path.empty() ? std::nullopt : identify(path);
    };
    const file problem{"the problem", chosen.problem};
    const file svg{"--svg", chosen.svg};
    const file tour{"--tour", chosen.tour};
    for (const auto& [one, other] : {std::pair(&svg, &problem), {&tour, &problem}, {&tour, &svg}}) {
        if (one->identity && one->identity == other->identity) {
            throw std::runtime_error(fmt::format("{}: cannot write {}: it is the file of {}; name "
                                                 "another one",
                                                 one->path, one->what, other->what));
        }
    }
}

/// The files that were asked for. If one fails, the other is written all the same.
class output_files {
public:
    /// @throws std::runtime_error now, rather than after hours, if one cannot be written.
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

    /// Reports failures on standard error. @returns whether there was none
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
            complain(problem);
            return false;
        }
    }

    std::optional<output> svg_;
    std::optional<output> tour_;
};

void watch(evolution& all, const options& chosen, const ending_signals& signals,
           const std::future<void>& end) {
    using clock = std::chrono::steady_clock;
    const auto start = clock::now();
    progress_line line(chosen.optimum);
    while (end.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) {
        const std::chrono::duration<double> elapsed = clock::now() - start;
        if (signals.have_arrived() || (chosen.seconds && elapsed.count() >= *chosen.seconds)) {
            all.stop();
        }
        if (!chosen.quiet) {
            line.show(all.now());
        }
    }
}

std::string summary(const instance& problem, const options& chosen, const evolution& all,
                    double seconds) {
    const auto [generations, length] = all.now();
    std::string text =
        fmt::format("{}: {} cities, length {}", problem.name(), problem.size(), length);
    if (chosen.optimum) {
        text += fmt::format(", {:.2f}% above {}", gap(length, *chosen.optimum), *chosen.optimum);
    }
    const gene_count& genes = all.count();
    return text + fmt::format("\n{} generations in {:.2f} s, {:.0f}/s; {} matings, {} genes "
                              "exchanged, {} taken without a partner\n",
                              generations, seconds, static_cast<double>(generations) / seconds,
                              genes.matings, genes.received, genes.own);
}

void print(const std::string& text) {
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
        fail_by_errno("standard output", "write");
    }
}

int work(options& chosen) {
    using clock = std::chrono::steady_clock;
    refuse_same_files(chosen);
    const instance problem = problem_of(chosen);
    if (!chosen.optimum) {
        chosen.optimum = problem.optimum();
    }
    const output_files files(chosen, problem);
    const ending_signals signals;

    const auto start = clock::now();
    evolution all(problem, chosen, worker_count(chosen));
    std::future<void> end =
        std::async(std::launch::async, [&] { breed_all(all, problem, chosen); });
    watch(all, chosen, signals, end);
    end.get();
    const std::chrono::duration<double> elapsed = clock::now() - start;

    const std::string text = summary(problem, chosen, all, elapsed.count());
    const bool written = files.write(chosen, problem, all.best());
    print(text);
    if (!written) {
        return EXIT_FAILURE;
    }
    return signals.have_arrived() ? exit_interrupted : EXIT_SUCCESS;
}

int run(int count, char** arguments) {
    ignore_signals_of_writes();
    options chosen;
    chosen.threads = std::max(1U, std::thread::hardware_concurrency());
    CLI::App app("Looks for a short round trip through cities with a genetic algorithm.", "tsp");
    declare(app, chosen);
    try {
        app.parse(count, arguments);
        complete(chosen);
    } catch (const CLI::ParseError& problem) {
        // The text of --help or --version goes to standard output, which may be full.
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
        complain(problem);
        return EXIT_FAILURE;
    }
}
