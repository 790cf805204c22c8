// SPDX-License-Identifier: MIT
// Reads scenes.txt.
#include "model/scenes.hpp"
#include "support/step_names.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace tryst::model {

namespace {

constexpr std::string_view text =
#include "model/scenes.txt"
    ;

std::uint64_t step_called(std::string_view name) {
    const auto* const found = std::ranges::find(test::step_names, name);
    if (found == std::end(test::step_names)) {
        std::fprintf(stderr, "scenes.txt: no step %s\n", std::string(name).c_str());
        std::exit(2);
    }
    return reaches(found - test::step_names);
}

/// The words of a text before its word `mark`, which it loses with them.
std::string_view take_until(std::string_view& rest, std::string_view mark) {
    const std::size_t end = std::min(rest.find(mark), rest.size());
    const std::string_view taken = rest.substr(0, end);
    rest.remove_prefix(std::min(end + mark.size(), rest.size()));
    return taken;
}

} // namespace

scene scene_of(std::string_view line) {
    scene made{.name = take_until(line, " "), .about = line, .body = nullptr};
    made.venue = take_until(line, " ");
    made.words = take_until(line, " => ");
    made.firm = made.words.ends_with(" firm");
    made.words.remove_suffix(made.firm ? 5 : 0);
    std::uint64_t* which = &made.must_reach;
    each_word(line, [&](std::string_view name) {
        if (name == "never" || name == "once") {
            which = name == "never" ? &made.never : &made.once;
        } else {
            *which |= step_called(name);
        }
    });
    const auto is_at = [&](auto... venues) { return (made.venue.starts_with(venues) || ...); };
    made.body = is_at("queue", "list", "stack") ? play_wait_list
                : is_at("buffer", "heavy")      ? play_buffer
                                                : play_exchanges;
    return made;
}

std::span<const scene> text_scenes() {
    static const std::vector<scene> all = [] {
        std::vector<scene> read;
        std::string_view rest = text;
        while (!rest.empty()) {
            const std::string_view line = take_until(rest, "\n");
            if (!line.empty() && line.front() != '#' && !line.starts_with("test ") &&
                !line.starts_with("also ")) {
                read.push_back(scene_of(line));
            }
        }
        return read;
    }();
    return all;
}

bool is_tested(std::string_view scene) {
    bool found = false;
    std::string_view rest = text;
    while (!rest.empty()) {
        if (const std::string_view line = take_until(rest, "\n"); line.starts_with("also ")) {
            each_word(line, [&](std::string_view name) { found |= name == scene; });
        }
    }
    return found;
}

std::vector<std::string> all_small_scenes(std::size_t parties) {
    constexpr std::array<std::string_view, 16> letters{"Ln", "Ls", "Ld", "Lc", "LC", "Lk",
                                                       "LK", "Lt", "Bn", "Bs", "Bt", "Tn",
                                                       "Ts", "Td", "To", "Tt"};
    std::vector<std::string> made;
    const auto make = [&](std::string venue, const std::vector<std::size_t>& chosen) {
        const bool coloured = venue.ends_with("fo");
        std::string line = std::move(venue);
        std::string marks;
        std::size_t reds = 0;
        for (const std::size_t i : chosen) { // of two colours, the odd ones are blue
            const std::string_view letter = letters.at(coloured ? i / 2 : i);
            reds += 1 - i % 2;
            line += std::string(" ") + std::string(letter) +
                    (!coloured    ? ""
                     : i % 2 == 0 ? ":A"
                                  : ":a");
            marks += letter;
        }
        const auto has = [&](const char* some) {
            return std::ranges::count_if(marks, [&](char c) {
                return std::string_view(some).find(c) != std::string_view::npos;
            });
        };
        if (has("cC") > 1 || has("kK") > 1 || (coloured && 2 * reds < chosen.size())) {
            return; // one client cancels, and one is destroyed; colours may be swapped
        }
        line += has("s") != 0 ? " stop" : "";
        line += has("d") != 0 ? " time" : "";
        line += has("c") != 0 ? " cancel" : "";
        line += has("k") != 0 ? " kill" : "";
        made.push_back(line);
        made.push_back(line + " close");
    };
    for (const std::string venue : {"slot", "arena", "fifo", "lifo"}) {
        const std::size_t kinds = venue.ends_with("fo") ? 2 * letters.size() : letters.size();
        std::vector<std::size_t> chosen(parties); // never descends
        for (std::size_t last = parties; last != 0;) {
            make(venue, chosen);
            last = parties; // the last one that can still go up
            while (last != 0 && chosen[last - 1] == kinds - 1) {
                --last;
            }
            if (last != 0) {
                std::fill(chosen.begin() + static_cast<std::ptrdiff_t>(last) - 1, chosen.end(),
                          chosen[last - 1] + 1);
            }
        }
    }
    return made;
}

} // namespace tryst::model
