// SPDX-License-Identifier: MIT
#include "command_line.hpp"

#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>

namespace tsp {

namespace {

constexpr double default_seconds = 10;

/// An empty name usually comes from an unset variable in a script. Ignoring the option would lose
/// the result.
std::string refuse_empty(const std::string& name) {
    return name.empty() ? "the file name is empty" : "";
}

/// Makes `option` accept the names of `values`, but not their numbers, and lists the names in
/// --help.
template <class Value>
void accept_names(CLI::Option* option, const std::map<std::string, Value>& values,
                  const std::string& shown) {
    CLI::Transformer by_name(values);
    CLI::IsMember is_name(values);
    by_name.description("");
    is_name.description("");
    option->transform(by_name)->transform(is_name); // CLI11 applies the last transform first
    option->type_name(shown);
}

void declare_method(CLI::App& app, options& chosen) {
    accept_names<exchange_kind>(
        app.add_option("--exchange", chosen.exchange,
                       "How breeders are paired. red-blue: with a breeder of the other colour. "
                       "symmetric: with any other breeder, with timeouts. mutex: like symmetric, "
                       "but with blocking threads instead of tryst, for comparison only")
            ->default_str("red-blue"),
        {{"red-blue", exchange_kind::red_blue},
         {"symmetric", exchange_kind::symmetric},
         {"mutex", exchange_kind::mutex}},
        "red-blue|symmetric|mutex");
    app.add_option("--threads", chosen.threads,
                   "Number of loops, or of threads with mutex; the breeders are shared among them. "
                   "Default: the number of processors")
        ->check(CLI::Range(1, 1024));
    app.add_option("--population", chosen.population, "Number of tours that compete")
        ->check(CLI::Range(2, 100'000))
        ->capture_default_str();
    app.add_option(
           "--breeders", chosen.breeders,
           "Number of tours that breed, and of tours that are replaced, per generation; even for "
           "red-blue")
        ->check(CLI::Range(1, 99'999))
        ->capture_default_str();
    app.add_option("--partners", chosen.partners,
                   "Number of partners of each breeder at the beginning")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    app.add_option("--last-partners", chosen.last_partners,
                   "Number of partners of each breeder at the end")
        ->check(CLI::Range(1, 1000))
        ->capture_default_str();
    accept_names<improvement>(
        app.add_option("--improve", chosen.improve,
                       "Local search that improves each child. or-opt includes 2-opt")
            ->default_str("or-opt"),
        {{"none", improvement::none},
         {"2-opt", improvement::two_opt},
         {"or-opt", improvement::or_opt}},
        "none|2-opt|or-opt");
    app.add_option("--seed", chosen.seed, "Seed of all random numbers")->capture_default_str();
}

} // namespace

void declare(CLI::App& app, options& chosen) {
    app.set_help_flag("-h,--help", "Print this help and exit");
    app.set_version_flag("--version", "tsp (tryst " TRYST_VERSION ")",
                         "Print the version and exit");
    auto* const file =
        app.add_option(
               "FILE", chosen.problem,
               "A symmetric problem in TSPLIB format, with EDGE_WEIGHT_TYPE EUC_2D, CEIL_2D, ATT, "
               "GEO or EXPLICIT. Default: a grid of cities")
            ->check(refuse_empty)
            ->type_name(" ");
    app.add_option("--side", chosen.side,
                   "Cities per side of the grid that is solved without FILE; an even number")
        ->check(CLI::Range(2, 70))
        ->capture_default_str()
        ->excludes(file);
    app.add_option("--generations", chosen.generations, "Stop after this many generations")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1} << 53));
    app.add_option("--seconds", chosen.seconds,
                   "Stop after this many seconds. Default: 10, or no limit with --generations or "
                   "--target")
        ->check(CLI::PositiveNumber);
    app.add_option("--target", chosen.target,
                   "Stop when the best tour is at most this many percent longer than the optimum. "
                   "Default: 0, or no target with --generations")
        ->check(CLI::NonNegativeNumber);
    app.add_option("--optimum", chosen.optimum,
                   "Length of the shortest tour, if known. Not needed for the grid")
        ->check(CLI::PositiveNumber);
    declare_method(app, chosen);
    app.add_option("--svg", chosen.svg, "Draw the best tour in this file")
        ->check(refuse_empty)
        ->type_name("FILE");
    app.add_option("--tour", chosen.tour, "Write the best tour to this file, in TSPLIB format")
        ->check(refuse_empty)
        ->type_name("FILE");
    app.add_flag("-q,--quiet", chosen.quiet, "Do not print progress on standard error");
}

void complete(options& chosen) {
    if (chosen.breeders >= chosen.population) {
        throw CLI::ValidationError("--breeders", "must be less than --population");
    }
    if (chosen.exchange == exchange_kind::red_blue && chosen.breeders % 2 != 0) {
        throw CLI::ValidationError("--breeders",
                                   "must be even, or use --exchange symmetric or mutex");
    }
    if (chosen.side % 2 != 0) {
        throw CLI::ValidationError("--side", "must be even");
    }
    if (chosen.last_partners > chosen.partners) {
        throw CLI::ValidationError("--last-partners", "must not be more than --partners");
    }
    if (chosen.target && !chosen.problem.empty() && !chosen.optimum) {
        throw CLI::ValidationError("--target", "requires --optimum");
    }
    // CLI11 accepts "nan" as a number.
    if (std::isnan(chosen.seconds.value_or(0)) || std::isnan(chosen.target.value_or(0))) {
        throw CLI::ValidationError("nan", "is not a valid value for --seconds or --target");
    }
    if (!chosen.seconds && !chosen.generations && !chosen.target) {
        chosen.seconds = default_seconds;
    }
    if (!chosen.target && !chosen.generations) {
        chosen.target = 0;
    }
}

} // namespace tsp
