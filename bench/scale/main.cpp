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
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace tryst::scale;
using json = nlohmann::ordered_json;

struct options {
    bool json = false;
    bool loads = false;
    unsigned max_cores = 128;
    unsigned sockets = 1;
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
    bool (*is_red)(unsigned core, std::size_t party) = half_are_red;
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

bool two_of_three_are_red(unsigned core, std::size_t party) {
    return (core + party) % 3 != 2;
}
bool one_core_is_red(unsigned core, std::size_t party) {
    return core == 0 || party % 2 == 0;
}

bool one_colour_on_each(unsigned core, std::size_t /*party*/) {
    return core % 2 == 0;
}

/// Loads with a surplus of one colour, some of whose parties always wait.
constexpr load uneven[] = {
    {"two reds for each blue", kind::loops, 16, nullptr, two_of_three_are_red},
    {"only reds on one, pairs on the others", kind::loops, 16, nullptr, one_core_is_red},
    {"reds on one half, blues on the other", kind::loops, 16, nullptr, one_colour_on_each},
    {"two reds for each blue", kind::threads, 1, nullptr, two_of_three_are_red},
};

/// The costs for each kind and design.
class pricing {
public:
    explicit pricing(const costs& all) : all_(all) {}

    void set_instructions(kind who, design how, picoseconds time) {
        instructions_[{who, how}] = time;
    }

    costs of(kind who, design how) const {
        costs found = all_;
        for (const auto& key : {std::pair(who, how), std::pair(kind::loops, how),
                                std::pair(kind::loops, design::one_slot)}) {
            if (const auto at = instructions_.find(key); at != instructions_.end()) {
                found.instructions = at->second;
                break;
            }
        }
        return found;
    }

private:
    costs all_;
    std::map<std::pair<kind, design>, picoseconds> instructions_;
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

outcome_of_scene play(const load& what, design how, unsigned cores, unsigned sockets,
                      const options& chosen, const pricing& prices) {
    const picoseconds duration = chosen.microseconds * microsecond;
    return simulate({.who = what.who,
                     .how = how,
                     .cores = cores,
                     .sockets = sockets,
                     .coroutines = what.coroutines,
                     .is_red = what.is_red,
                     .work = what.work,
                     .warm_up = duration / 2,
                     .duration = duration,
                     .seed = chosen.seed,
                     .jitter = jitter},
                    prices.of(what.who, how));
}

/// Returns whether there are partners, of two colours.
bool is_possible(const load& what, design how, unsigned cores) {
    if (how == design::ticket || how == design::lists || how == design::one_list) {
        return true;
    }
    bool found[2] = {false, false};
    for (unsigned i = 0; i != cores; ++i) {
        for (std::size_t j = 0; j != what.coroutines; ++j) {
            found[what.is_red(i, j) ? 0 : 1] = true;
        }
    }
    return found[0] && found[1];
}

curve draw(const load& what, design how, unsigned sockets, const options& chosen,
           const pricing& prices) {
    curve line{what, how, {}};
    for (unsigned cores = sockets; cores <= chosen.max_cores; cores *= 2) {
        if (is_possible(what, how, cores)) {
            line.points.push_back({cores, play(what, how, cores, sockets, chosen, prices)});
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

/// The cost of a party's own instructions, for each kind and design, is the rest of a real exchange
/// on one core, where no line moves, after all other costs.
pricing calibrated(const parameters& from, const options& chosen) {
    pricing prices(from.prices);
    for (const load& what : balanced) {
        for (const design how : designs) {
            const auto real = std::ranges::find_if(from.exchanges, [&](const measured& each) {
                return each.kind == name_of(what.who) && each.design == name_of(how) &&
                       each.processors == 1;
            });
            if (real != from.exchanges.end()) {
                const double simulated = play(what, how, 1, 1, chosen, pricing(from.prices)).ns;
                const double rest = std::max(real->ns - simulated, 0.0) / 2;
                prices.set_instructions(what.who, how, static_cast<picoseconds>(rest * 1000));
            }
        }
    }
    return prices;
}

/// Checks that the same seed gives the same run.
void check_repeatability(const options& chosen, const pricing& prices) {
    const unsigned cores = std::min(8U, chosen.max_cores);
    const unsigned sockets = std::min(chosen.sockets, cores);
    for (const load& what : balanced) {
        if (is_possible(what, design::arena, cores) &&
            play(what, design::arena, cores, sockets, chosen, prices).digest !=
                play(what, design::arena, cores, sockets, chosen, prices).digest) {
            throw std::logic_error("two runs with the same seed differ");
        }
    }
}

/// A simulated time beside the real one.
struct comparison {
    const measured* real;
    double simulated;
};

/// Simulates what was measured. Near the point at which an arena begins to spread, a single run may
/// fall on either side, so each time is the median of several seeds.
std::vector<comparison> compare(const parameters& from, const options& chosen,
                                const pricing& prices) {
    constexpr std::uint64_t seeds = 5;
    std::vector<comparison> all;
    for (const measured& real : from.exchanges) {
        for (const load& what : balanced) {
            for (const design how : designs) {
                if (real.kind != name_of(what.who) || real.design != name_of(how) ||
                    real.processors > chosen.max_cores) {
                    continue;
                }
                std::vector<double> times;
                for (std::uint64_t i = 0; i != seeds; ++i) {
                    options other = chosen;
                    other.seed += i;
                    times.push_back(play(what, how, real.processors, 1, other, prices).ns);
                }
                std::ranges::sort(times);
                all.push_back({&real, times[seeds / 2]});
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

json to_json(const std::vector<curve>& curves) {
    json all = json::array();
    for (const curve& line : curves) {
        all.push_back(to_json(line));
    }
    return all;
}

/// All results.
struct findings {
    std::vector<curve> curves;
    std::vector<curve> contexts;
    std::vector<curve> sockets; ///< The designs on several sockets.
    std::vector<curve> loads;
    std::vector<comparison> check;
};

std::string as_json(const findings& found, const parameters& from, const pricing& prices,
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
    json instructions;
    for (const load& what : balanced) {
        for (const design how : designs) {
            instructions[fmt::format("{}, {}", name_of(what.who), name_of(how))] =
                ns(prices.of(what.who, how).instructions);
        }
    }
    all["parameters"] = {{"source", from.source},
                         {"load_ns", ns(c.load)},
                         {"store_ns", ns(c.store)},
                         {"update_ns", ns(c.update)},
                         {"read_line_ns", ns(c.read_line)},
                         {"take_line_ns", ns(c.take_line)},
                         {"upgrade_line_ns", ns(c.upgrade_line)},
                         {"reads_take", c.reads_take},
                         {"far_percent", c.far_percent},
                         {"request_ns", ns(c.request)},
                         {"read_service_ns", ns(c.read_service)},
                         {"run_ahead_ns", ns(c.run_ahead)},
                         {"turn_ns", ns(c.turn)},
                         {"instructions_ns", instructions},
                         {"pause_ns", ns(c.pause)},
                         {"yield_ns", ns(c.yield)},
                         {"wake_call_ns", ns(c.wake_call)},
                         {"wake_ns", ns(c.wake)},
                         {"jitter", jitter}};
    all["curves"] = to_json(found.curves);
    all["contexts"] = to_json(found.contexts);
    if (chosen.sockets > 1) {
        all["sockets"] = {{"count", chosen.sockets}, {"curves", to_json(found.sockets)}};
    }
    if (chosen.loads) {
        all["loads"] = to_json(found.loads);
    }
    all["check"] = json::array();
    for (const comparison& each : found.check) {
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

std::string as_text(const findings& found, const parameters& from, const options& chosen) {
    std::string text = fmt::format("A simulation, not a measurement; costs from {}.\nExchanges per "
                                   "microsecond.\n",
                                   from.source);
    text += as_tables(found.curves, chosen.max_cores) + as_tables(found.loads, chosen.max_cores);
    if (chosen.sockets > 1) {
        text += fmt::format("\nThe same on {} sockets.\n", chosen.sockets) +
                as_tables(found.sockets, chosen.max_cores);
    }
    text += "\nPairs of waits in one execution context per microsecond.\n";
    text += as_tables(found.contexts, chosen.max_cores);
    text += "\nns of an exchange:            simulated  measured  ratio\n";
    for (const comparison& each : found.check) {
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
                 "also simulate other loads: less or unequal work (exchanger), more parties of one "
                 "colour (two colours)");
    app.add_option("--max-cores", chosen.max_cores,
                   "simulate 1, 2, 4, ... cores, up to this number")
        ->check(CLI::Range(1, 128))
        ->capture_default_str();
    app.add_option("--sockets", chosen.sockets,
                   "also simulate the designs on cores of this number of sockets")
        ->check(CLI::IsMember({1, 2, 4, 8}))
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

    const parameters from = chosen.probe.empty() ? recorded() : from_probe(chosen.probe);
    const pricing prices = calibrated(from, chosen);
    check_repeatability(chosen, prices);
    findings found;
    for (const load& what : balanced) {
        for (const design how : designs) {
            found.curves.push_back(draw(what, how, 1, chosen, prices));
            if (chosen.sockets > 1) {
                found.sockets.push_back(draw(what, how, chosen.sockets, chosen, prices));
            }
        }
        for (const design how : context_designs) {
            found.contexts.push_back(draw(what, how, 1, chosen, prices));
        }
    }
    if (chosen.loads) {
        for (const load& what : others) {
            for (const design how : {design::one_slot, design::arena}) {
                found.loads.push_back(draw(what, how, 1, chosen, prices));
            }
        }
        for (const load& what : uneven) {
            for (const design how : {design::fifo, design::lifo}) {
                found.loads.push_back(draw(what, how, 1, chosen, prices));
            }
        }
    }
    if (isatty(STDERR_FILENO) != 0) {
        std::fprintf(stderr, "\r\033[K");
    }
    found.check = compare(from, chosen, prices);
    const std::string text =
        chosen.json ? as_json(found, from, prices, chosen) : as_text(found, from, chosen);
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
