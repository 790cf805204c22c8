// SPDX-License-Identifier: MIT
//
// Looks for the shortest round trip through cities with a genetic algorithm whose breeders exchange
// genes. The breeders are coroutines: see evolution.hpp.
#include "evolution.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <fstream>
#include <iostream>

namespace {

using namespace tsp;

std::string drawn(const std::vector<point>& line, const char* colour, const char* form) {
    std::string points;
    std::string dots;
    for (const auto [x, y] : line) {
        points += fmt::format("{:.1f},{:.1f} ", x, y);
        dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\"/>\n", x, y);
    }
    return fmt::format(
        "<g fill=\"{0}\" stroke=\"{0}\"><{1} fill=\"none\" points=\"{2}\"/>\n{3}</g>\n", colour,
        form, points, dots);
}

std::string written(double y, const std::string& text, const char* colour) {
    return fmt::format("<text x=\"20\" y=\"{}\" fill=\"{}\">{}</text>\n", y, colour, text);
}

void save(const std::string& name, const std::string& drawing) {
    std::ofstream file(name);
    file << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 800 850\" "
            "font-family=\"sans-serif\">\n<rect width=\"800\" height=\"850\" fill=\"white\"/>\n"
         << drawing << "</svg>\n";
    if (!file.flush()) {
        throw std::runtime_error(name + ": cannot be written");
    }
}

std::string drawn_tour(const problem& all, const tour& round) {
    const auto [left, right] = std::ranges::minmax(all.points(), {}, &point::x);
    const auto [bottom, top] = std::ranges::minmax(all.points(), {}, &point::y);
    const double scale = 760 / std::max({right.x - left.x, top.y - bottom.y, 1.0});
    std::vector<point> line;
    for (const city each : round) {
        const point at = all.points()[each];
        line.push_back({20 + (at.x - left.x) * scale, 60 + (top.y - at.y) * scale});
    }
    return drawn(line, "#1f6f9f", "polygon");
}

/// The paper's figure 2: the time for a number of generations, and generations per second, against
/// the number of threads; without local search, as there.
void draw_figure2(const problem& all, const std::string& name) {
    struct form {
        pairing how;
        const char* title;
        const char* colour;
        std::vector<double> seconds = {};
    };
    form forms[] = {{pairing::red_blue, "red-blue exchanger", "#1f6f9f"},
                    {pairing::symmetric, "exchanger", "#2a9d5c"},
                    {pairing::mutex, "mutex and condition variables", "#d1495b"}};
    std::vector<double> times;
    for (std::size_t threads = 2; threads <= 32; threads *= 2) {
        for (form& each : forms) {
            evolution race;
            race.how = each.how;
            race.threads = threads;
            race.improves = false;
            race.generations = 300;
            race.run(all);
            each.seconds.push_back(race.elapsed());
            times.push_back(race.elapsed());
            fmt::print("{} threads, {}: {:.2f} s\n", threads, each.title, race.elapsed());
        }
    }
    const auto [shortest, longest] = std::ranges::minmax(times);
    std::string drawing = written(
        30,
        fmt::format("300 generations with 2 to 32 threads: up to {:.1f} s, and up to {:.0f} "
                    "generations per second",
                    longest, 300 / shortest),
        "black");
    for (double y = 50; const form& each : forms) {
        std::vector<point> above;
        std::vector<point> below;
        for (double x = 60; const double seconds : each.seconds) {
            above.push_back({x, 450 - 320 * seconds / longest});
            below.push_back({x, 820 - 320 * shortest / seconds});
            x += 160;
        }
        drawing += drawn(above, each.colour, "polyline") + drawn(below, each.colour, "polyline") +
                   written(y += 20, each.title, each.colour);
    }
    save(name, drawing);
}

} // namespace

int main(int count, char** arguments) try {
    std::string file;
    std::string drawing;
    std::string figure;
    evolution search;
    search.seconds = 10;
    CLI::App app("Looks for the shortest round trip through the cities of a TSPLIB file.");
    app.option_defaults()->always_capture_default();
    app.add_option("FILE", file, "a problem of type EUC_2D")->required();
    app.add_option("--optimum", search.optimum, "a tour of this length ends the search");
    app.add_option("--seconds", search.seconds, "and so does this time")
        ->check(CLI::PositiveNumber);
    app.add_option("--threads", search.threads)->check(CLI::Range(1, 200));
    app.add_option("--seed", search.seed, "of all random numbers");
    app.add_option("--svg", drawing, "draw the tour to this file");
    app.add_option("--figure2", figure, "compare the ways to find partners, and draw that instead");
    CLI11_PARSE(app, count, arguments);
    const problem all(file);
    if (!figure.empty()) {
        draw_figure2(all, figure);
        return 0;
    }
    search.on_progress = [&] {
        fmt::print(stderr, "generation {}, {:.1f} s: length {}\n", search.generation(),
                   search.elapsed(), search.best().length);
    };
    search.run(all);
    const auto& [length, round] = search.best();
    const std::string result = fmt::format("{} cities, length {}{}", all.size(), length,
                                           length == search.optimum ? ", the optimum" : "");
    fmt::print("{}; {} generations in {:.2f} s\ntour:", result, search.generation(),
               search.elapsed());
    for (const city each : round) {
        fmt::print(" {}", each + 1);
    }
    fmt::print("\n");
    if (!drawing.empty()) {
        save(drawing, written(30, result, "black") + drawn_tour(all, round));
    }
} catch (const std::exception& problem) {
    std::cerr << "tsp: " << problem.what() << '\n';
    return 1;
}
