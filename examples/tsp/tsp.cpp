// SPDX-License-Identifier: MIT
//
// Looks for a short tour through cities, by a genetic algorithm whose breeders exchange genes. README.md has a tour of
// the files.

#include "breeding.hpp"
#include "evolution.hpp"
#include "generated.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "signals.hpp"
#include "svg.hpp"
#include "tsplib.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <future>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace {

using namespace tsp;

constexpr int exit_usage = 2;
constexpr int exit_interrupted = 130;
constexpr double default_seconds = 10;

void declare_method(CLI::App& app, options& chosen) {
    const std::map<std::string, exchange_form> forms{{"red-blue", exchange_form::red_blue},
                                                     {"symmetric", exchange_form::symmetric},
                                                     {"mutex", exchange_form::mutex}};
    app.add_option("--exchange", chosen.exchange,
                   "how breeders meet: red-blue, each with one of the other colour; symmetric, "
                   "each with any other, with timeouts; mutex, as symmetric, but without tryst: "
                   "plain threads that block, for comparison only")
        ->transform(CLI::Transformer(forms))
        ->type_name("FORM")
        ->default_str("red-blue");
    app.add_option(
           "--threads", chosen.threads,
           "loops, or with mutex threads, each with a share of the breeders; by default as many as "
           "processors")
        ->check(CLI::Range(1, 1024));
    app.add_option("--population", chosen.population, "tours that compete")
        ->check(CLI::Range(2, 100'000))
        ->capture_default_str();
    app.add_option("--breeders", chosen.breeders, "of them breed in a generation; so many die")
        ->check(CLI::Range(1, 99'999))
        ->capture_default_str();
    app.add_option("--partners", chosen.partners, "for each breeder, to begin with")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--last-partners", chosen.last_partners, "for each breeder, in the end")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    const std::map<std::string, improvement> kinds{{"none", improvement::none},
                                                   {"2-opt", improvement::two_opt},
                                                   {"or-opt", improvement::or_opt}};
    app.add_option("--improve", chosen.improve,
                   "what is done for each child: none; 2-opt; or-opt, which is 2-opt and Or-opt")
        ->transform(CLI::Transformer(kinds))
        ->type_name("HOW")
        ->default_str("or-opt");
    app.add_option("--seed", chosen.seed, "of all random numbers")->capture_default_str();
}

void declare(CLI::App& app, options& chosen) {
    app.set_help_flag("-h,--help", "print this and exit");
    auto* const file =
        app.add_option("FILE", chosen.problem, "a problem of TSPLIB, of EDGE_WEIGHT_TYPE EUC_2D")
            ->type_name(" ");
    app.add_option("--side", chosen.side,
                   "of the grid of cities that is solved without FILE; an even number")
        ->check(CLI::Range(2, 70))
        ->capture_default_str()
        ->excludes(file);
    app.add_option("--generations", chosen.generations, "end after so many")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 53));
    app.add_option("--seconds", chosen.seconds,
                   "end after so many; 10 by default, unless --generations or --target is given")
        ->check(CLI::PositiveNumber);
    app.add_option("--target", chosen.target,
                   "end with a tour that is at most so many percent longer than the optimum; "
                   "0 by default, unless --generations is given")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--optimum", chosen.optimum,
                   "the length of the shortest tour, known for the built-in problem")
        ->check(CLI::PositiveNumber);
    declare_method(app, chosen);
    app.add_option("--svg", chosen.svg, "draw the best tour")->type_name("FILE");
    app.add_option("--tour", chosen.tour, "write the best tour as TSPLIB does")->type_name("FILE");
    app.add_flag("-q,--quiet", chosen.quiet, "no progress on standard error");
}

/// What follows from what was chosen. @throws CLI::ValidationError
void complete(options& chosen) {
    if (chosen.breeders >= chosen.population) {
        throw CLI::ValidationError("--breeders", "must be fewer than the --population");
    }
    if (chosen.exchange == exchange_form::red_blue && chosen.breeders % 2 != 0) {
        throw CLI::ValidationError("--breeders", "must be even, as many red as blue");
    }
    if (chosen.side % 2 != 0) {
        throw CLI::ValidationError("--side", "must be even");
    }
    if (chosen.last_partners > chosen.partners) {
        throw CLI::ValidationError("--last-partners", "must not be more than --partners");
    }
    if (chosen.target && !chosen.problem.empty() && !chosen.optimum) {
        throw CLI::ValidationError("--target", "needs the --optimum");
    }
    // Which CLI11 lets pass.
    if (std::isnan(chosen.seconds.value_or(0)) || std::isnan(chosen.target.value_or(0))) {
        throw CLI::ValidationError("nan", "is not a number");
    }
    if (!chosen.seconds && !chosen.generations && !chosen.target) {
        chosen.seconds = default_seconds;
    }
    if (!chosen.target && !chosen.generations) {
        chosen.target = 0;
    }
}

[[noreturn]] void fail(const std::string& file, const char* what) {
    throw std::runtime_error(
        fmt::format("{}: cannot {}: {}", file, what, std::generic_category().message(errno)));
}

instance problem_of(const options& chosen) {
    if (chosen.problem.empty()) {
        return grid(chosen.side);
    }
    std::ifstream from(chosen.problem);
    if (!from) {
        fail(chosen.problem, "open");
    }
    return read_problem(from, chosen.problem);
}

/// A file that is not wanted if it has no name.
class output {
public:
    /// Fails now rather than after hours; what is in the file stays there until then.
    explicit output(std::string name) : name_(std::move(name)) {
        if (!name_.empty() && !std::ofstream(name_, std::ios::app)) {
            fail(name_, "open");
        }
    }

    template <class Write>
    void write(Write write) const {
        if (name_.empty()) {
            return;
        }
        std::ofstream to(name_);
        write(to);
        to.close();
        if (!to) {
            fail(name_, "write");
        }
    }

private:
    std::string name_;
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
                              "exchanged, {} taken by whoever was the only one left\n",
                              generations, seconds, static_cast<double>(generations) / seconds,
                              genes.matings, genes.received, genes.own);
}

int work(options& chosen) {
    using clock = std::chrono::steady_clock;
    const instance problem = problem_of(chosen);
    if (!chosen.optimum) {
        chosen.optimum = problem.optimum();
    }
    const output svg(chosen.svg);
    const output tour(chosen.tour);
    const ending_signals signals;

    const auto start = clock::now();
    evolution all(problem, chosen, worker_count(chosen));
    std::future<void> end =
        std::async(std::launch::async, [&] { breed_all(all, problem, chosen); });
    watch(all, chosen, signals, end);
    end.get();
    const std::chrono::duration<double> elapsed = clock::now() - start;

    const std::string text = summary(problem, chosen, all, elapsed.count());
    svg.write([&](std::ostream& to) { write_svg(to, problem, all.best(), chosen.optimum); });
    tour.write([&](std::ostream& to) { write_tour(to, problem, all.best()); });
    if (std::fputs(text.c_str(), stdout) < 0 || std::fflush(stdout) != 0) {
        fail("standard output", "write");
    }
    return signals.have_arrived() ? exit_interrupted : EXIT_SUCCESS;
}

int run(int count, char** arguments) {
    options chosen;
    chosen.threads = std::max(1U, std::thread::hardware_concurrency());
    CLI::App app("Looks for a short tour through cities, by a genetic algorithm.", "tsp");
    declare(app, chosen);
    try {
        app.parse(count, arguments);
        complete(chosen);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? EXIT_SUCCESS : exit_usage;
    }
    return work(chosen);
}

} // namespace

int main(int count, char** arguments) {
    try {
        return run(count, arguments);
    } catch (const std::exception& problem) {
        std::fprintf(stderr, "tsp: %s\n", problem.what());
        return EXIT_FAILURE;
    }
}
