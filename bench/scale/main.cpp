// SPDX-License-Identifier: MIT
// Computes the throughput of exchanges against the number of cores, on a simulated machine. The
// library's own headers run, and each atomic access costs what a cache line costs. It is a
// simulation, not a measurement.
#include "parameters.hpp"
#include "world.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace tryst::scale;
using json = nlohmann::ordered_json;

struct options {
    bool json = false;
    bool loads = false;
    unsigned max_cores = 128;
    std::uint64_t seed = 1;
    std::int64_t microseconds = 400;
    std::string probe;
};

constexpr double jitter = 0.2;
constexpr picoseconds microsecond = 1'000'000;

/// The work of parties between exchanges, and their number.
struct load {
    const char* name;
    kind who;
    std::size_t coroutines;
    picoseconds (*work)(unsigned core); ///< Null: none.
    bool (*even)(unsigned core, std::size_t party) = nullptr; ///< Null: every second party.
};

constexpr load balanced[] = {{"balanced", kind::loops, 16, nullptr},
                             {"balanced", kind::threads, 1, nullptr}};

picoseconds some(unsigned /*core*/) {
    return microsecond / 2;
}
picoseconds one_is_fast(unsigned core) {
    return core == 0 ? 0 : 2 * microsecond;
}
picoseconds one_is_slow(unsigned core) {
    return core == 0 ? 2 * microsecond : 0;
}

/// Loads with less to do, or with different work on the cores.
constexpr load others[] = {
    {"one coroutine on each", kind::loops, 1, nullptr},
    {"100 coroutines on each", kind::loops, 100, nullptr},
    {"0.5 us of work", kind::loops, 16, some},
    {"one fast, the others 2 us of work", kind::loops, 16, one_is_fast},
    {"one slow, 2 us of work", kind::loops, 16, one_is_slow},
    {"one coroutine on each, 0.5 us of work", kind::loops, 1, some},
    {"0.5 us of work", kind::threads, 1, some},
    {"one fast, the others 2 us of work", kind::threads, 1, one_is_fast},
};

bool two_of_three(unsigned core, std::size_t party) {
    return (core + party) % 3 != 2;
}
bool one_of_sixteen(unsigned /*core*/, std::size_t party) {
    return party == 0;
}
bool even_core(unsigned core, std::size_t /*party*/) {
    return core % 2 == 0;
}

/// Loads of two colours, of which one is in surplus.
constexpr load surplus[] = {
    {"two red for each blue", kind::loops, 16, nullptr, two_of_three},
    {"one red, 15 blue", kind::loops, 16, nullptr, one_of_sixteen},
    {"a loop of red for each loop of blue", kind::loops, 16, nullptr, even_core},
    {"two red for each blue", kind::threads, 1, nullptr, two_of_three},
};

struct point {
    unsigned cores;
    outcome_of_scene result;
    double throughput() const { return 1000 / result.ns; } ///< Exchanges in a microsecond.
};

struct curve {
    load what;
    design how;
    std::vector<point> points;
};

outcome_of_scene play(const load& what, design how, unsigned cores, const options& chosen,
                      const costs& prices) {
    const picoseconds duration = chosen.microseconds * microsecond;
    return simulate({.who = what.who,
                     .how = how,
                     .cores = cores,
                     .coroutines = what.coroutines,
                     .even = what.even,
                     .work = what.work,
                     .warm_up = duration / 2,
                     .duration = duration,
                     .seed = chosen.seed,
                     .jitter = jitter},
                    prices);
}

/// Returns whether each party has a partner.
bool is_possible(const load& what, design how, unsigned cores) {
    return (cores > 1 && (what.even != two_of_three || what.coroutines > 1 || cores > 2)) ||
           (what.coroutines > 1 && what.even != even_core) || how == design::ticket ||
           how == design::lists || how == design::one_list;
}

curve draw(const load& what, design how, const options& chosen, const costs& prices) {
    curve line{what, how, {}};
    for (unsigned cores = 1; cores <= chosen.max_cores; cores *= 2) {
        if (is_possible(what, how, cores)) {
            line.points.push_back({cores, play(what, how, cores, chosen, prices)});
            if (isatty(STDERR_FILENO) != 0) {
                std::fprintf(stderr, "\r\033[K%s, %s, %s: %u cores", name_of(what.who), what.name,
                             name_of(how), cores);
            }
        }
    }
    if (isatty(STDERR_FILENO) == 0) {
        std::fprintf(stderr, "%s, %s, %s\n", name_of(what.who), what.name, name_of(how));
    }
    return line;
}

/// The cost of a party's own instructions is the rest of a real exchange on one loop, where no line
/// moves, after all other costs.
void calibrate(parameters& from, const options& chosen) {
    const auto real = std::ranges::find_if(from.exchanges, [](const measured& each) {
        return each.kind == name_of(kind::loops) && each.design == name_of(design::one_slot) &&
               each.processors == 1;
    });
    if (real != from.exchanges.end()) {
        const double simulated = play(balanced[0], design::one_slot, 1, chosen, from.prices).ns;
        from.prices.instructions =
            static_cast<picoseconds>(std::max(real->ns - simulated, 0.0) / 2 * 1000);
    }
}

/// Checks that the same seed gives the same run.
void check_repeatability(const options& chosen, const costs& prices) {
    const unsigned cores = std::min(8U, chosen.max_cores);
    for (const load& what : balanced) {
        if (is_possible(what, design::arena, cores) &&
            play(what, design::arena, cores, chosen, prices).digest !=
                play(what, design::arena, cores, chosen, prices).digest) {
            throw std::logic_error("two runs with the same seed differ");
        }
    }
}

/// A simulated time beside the real one.
struct comparison {
    const measured* real;
    double simulated;
};

std::vector<comparison> compare(const std::vector<curve>& curves, const parameters& from) {
    std::vector<comparison> all;
    for (const measured& real : from.exchanges) {
        for (const curve& line : curves) {
            if (real.kind == name_of(line.what.who) && real.design == name_of(line.how)) {
                for (const point& each : line.points) {
                    if (each.cores == real.processors) {
                        all.push_back({&real, each.result.ns});
                    }
                }
            }
        }
    }
    return all;
}

json to_json(const curve& line) {
    json points = json::array();
    for (const point& each : line.points) {
        points.push_back({{"p", each.cores},
                          {"ns", each.result.ns},
                          {"throughput", each.throughput()},
                          {"served_least", each.result.served_least},
                          {"transfers", each.result.transfers},
                          {"offers_above_home", each.result.offers_above_home},
                          {"expiries", each.result.expiries},
                          {"growths", each.result.growths},
                          {"shrinkages", each.result.shrinkages}});
    }
    return {{"kind", name_of(line.what.who)},
            {"load", line.what.name},
            {"design", name_of(line.how)},
            {"points", points}};
}

std::string as_json(const std::vector<curve>& curves, const std::vector<curve>& coloured,
                    const std::vector<curve>& contexts, const std::vector<curve>& loads,
                    const std::vector<comparison>& check, const parameters& from,
                    const options& chosen) {
    const auto ns = [](picoseconds time) { return static_cast<double>(time) / 1000; };
    const costs& c = from.prices;
    json all;
    all["meta"] = {{"program", "scale_model"},
                   {"what", "a simulation, not a measurement"},
                   {"seed", chosen.seed},
                   {"simulated_us", chosen.microseconds},
                   {"max_cores", chosen.max_cores},
                   {"coroutines", balanced[0].coroutines},
                   {"unit", "ns of a completed exchange, two parties served; throughput: exchanges "
                            "in a microsecond"}};
    all["parameters"] = {{"source", from.source},
                         {"load_ns", ns(c.load)},
                         {"store_ns", ns(c.store)},
                         {"update_ns", ns(c.update)},
                         {"read_line_ns", ns(c.read_line)},
                         {"take_line_ns", ns(c.take_line)},
                         {"upgrade_line_ns", ns(c.upgrade_line)},
                         {"request_ns", ns(c.request)},
                         {"read_service_ns", ns(c.read_service)},
                         {"turn_ns", ns(c.turn)},
                         {"instructions_ns", ns(c.instructions)},
                         {"pause_ns", ns(c.pause)},
                         {"yield_ns", ns(c.yield)},
                         {"wake_call_ns", ns(c.wake_call)},
                         {"wake_ns", ns(c.wake)},
                         {"jitter", jitter}};
    all["curves"] = json::array();
    for (const curve& line : curves) {
        all["curves"].push_back(to_json(line));
    }
    all["coloured"] = json::array();
    for (const curve& line : coloured) {
        all["coloured"].push_back(to_json(line));
    }
    all["contexts"] = json::array();
    for (const curve& line : contexts) {
        all["contexts"].push_back(to_json(line));
    }
    if (chosen.loads) {
        all["loads"] = json::array();
        for (const curve& line : loads) {
            all["loads"].push_back(to_json(line));
        }
    }
    all["check"] = json::array();
    for (const comparison& each : check) {
        all["check"].push_back({{"kind", each.real->kind},
                                {"design", each.real->design},
                                {"p", each.real->processors},
                                {"simulated_ns", each.simulated},
                                {"measured_ns", each.real->ns}});
    }
    return all.dump(2) + "\n";
}

std::string as_tables(const std::vector<curve>& curves, unsigned max_cores) {
    std::string text;
    std::string title;
    for (const curve& line : curves) {
        if (const std::string next = fmt::format("{}, {}", name_of(line.what.who), line.what.name);
            next != title) {
            title = next;
            text += fmt::format("\n{}\n{:>10}", title, "cores");
            for (unsigned cores = 1; cores <= max_cores; cores *= 2) {
                text += fmt::format("{:>9}", cores);
            }
            text += "\n";
        }
        text += fmt::format("{:>10}", name_of(line.how));
        for (unsigned cores = 1; cores <= max_cores; cores *= 2) {
            const auto found = std::ranges::find(line.points, cores, &point::cores);
            text += found == line.points.end() ? fmt::format("{:>9}", "")
                                               : fmt::format("{:9.1f}", found->throughput());
        }
        text += "\n";
    }
    return text;
}

std::string as_text(const std::vector<curve>& curves, const std::vector<curve>& coloured,
                    const std::vector<curve>& contexts, const std::vector<curve>& loads,
                    const std::vector<comparison>& check, const parameters& from,
                    const options& chosen) {
    std::string text = fmt::format("A simulation, not a measurement; costs from {}.\nExchanges per "
                                   "microsecond.\n",
                                   from.source);
    text += as_tables(curves, chosen.max_cores) + as_tables(coloured, chosen.max_cores) +
            as_tables(loads, chosen.max_cores);
    text += "\nPairs of waits in one execution context per microsecond.\n";
    text += as_tables(contexts, chosen.max_cores);
    text += "\nns of an exchange:            simulated  measured  ratio\n";
    for (const comparison& each : check) {
        text += fmt::format("{:>8}, {:>8}, {} core{} {:12.1f} {:9.1f} {:6.2f}\n", each.real->kind,
                            each.real->design, each.real->processors,
                            each.real->processors == 1 ? " " : "s", each.simulated, each.real->ns,
                            each.simulated / each.real->ns);
    }
    return text;
}

void declare(CLI::App& app, options& chosen) {
    app.add_flag("--json", chosen.json, "print JSON instead of tables");
    app.add_flag("--loads", chosen.loads,
                 "also simulate other loads, with less or unequal work (exchanger only)");
    app.add_option("--max-cores", chosen.max_cores,
                   "simulate 1, 2, 4, ... cores, up to this number")
        ->check(CLI::Range(1, 128))
        ->capture_default_str();
    app.add_option("--time", chosen.microseconds,
                   "simulated microseconds for each point, after half as many to warm up")
        ->check(CLI::Range(10, 100'000))
        ->capture_default_str();
    app.add_option("--seed", chosen.seed, "seed of everything that varies")->capture_default_str();
    app.add_option("--probe", chosen.probe,
                   "take costs from this output of `probe --json` (- for standard input)");
}

int run(int count, char** arguments) {
    CLI::App app("Simulates exchanges on many cores.", "scale_model");
    options chosen;
    declare(app, chosen);
    try {
        app.parse(count, arguments);
    } catch (const CLI::ParseError& problem) {
        return app.exit(problem) == 0 ? EXIT_SUCCESS : 2;
    }

    parameters from = chosen.probe.empty() ? recorded() : from_probe(chosen.probe);
    calibrate(from, chosen);
    check_repeatability(chosen, from.prices);
    std::vector<curve> curves;
    for (const load& what : balanced) {
        for (const design how : designs) {
            curves.push_back(draw(what, how, chosen, from.prices));
        }
    }
    std::vector<curve> contexts;
    for (const load& what : balanced) {
        for (const design how : context_designs) {
            contexts.push_back(draw(what, how, chosen, from.prices));
        }
    }
    std::vector<curve> coloured;
    for (const load& what : surplus) {
        for (const design how : coloured_designs) {
            coloured.push_back(draw(what, how, chosen, from.prices));
        }
    }
    std::vector<curve> loads;
    if (chosen.loads) {
        for (const load& what : others) {
            for (const design how : {design::one_slot, design::arena}) {
                loads.push_back(draw(what, how, chosen, from.prices));
            }
        }
    }
    if (isatty(STDERR_FILENO) != 0) {
        std::fprintf(stderr, "\r\033[K");
    }
    const auto check = compare(curves, from);
    const std::string text = chosen.json
                                 ? as_json(curves, coloured, contexts, loads, check, from, chosen)
                                 : as_text(curves, coloured, contexts, loads, check, from, chosen);
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
        std::fprintf(stderr, "\nscale_model: %s\n", problem.what());
        return EXIT_FAILURE;
    }
}
