// SPDX-License-Identifier: MIT
#include "tsplib.hpp"

#include "text_reader.hpp"
#include "tour.hpp"
#include "weights.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>
#include <vector>

namespace tsp {

namespace {

constexpr std::array sections{std::string_view("NODE_COORD_SECTION"),
                              std::string_view("DISPLAY_DATA_SECTION"),
                              std::string_view("EDGE_WEIGHT_SECTION")};

class problem_reader {
public:
    problem_reader(std::istream& from, const std::string& file) : in_(from, file) {}

    instance read() {
        bool in_specification = true;
        while (in_.read_line() && in_.text() != "EOF") {
            if (keyword().ends_with("_SECTION")) {
                read_section();
                in_specification = false;
            } else if (in_specification) {
                read_entry();
            } else if (std::string_view rest = in_.text();
                       after_weights_ && number<double>(next_word(rest))) {
                fail("'{}' after the last weight: {}", printable(in_.text()), expected_weights());
            } else {
                fail("unexpected '{}' instead of EOF", printable(in_.text()));
            }
        }
        return problem();
    }

private:
    template <class... Args>
    [[noreturn]] void fail(fmt::format_string<Args...> what, Args&&... args) const {
        in_.fail(what, std::forward<Args>(args)...);
    }

    std::string_view keyword() const { return trimmed(in_.text().substr(0, in_.text().find(':'))); }

    // ---- The specification

    void read_entry() {
        const std::size_t colon = in_.text().find(':');
        if (colon == std::string_view::npos) {
            fail("'{}' is not 'KEYWORD: value'", printable(in_.text()));
        }
        const std::string_view value = trimmed(in_.text().substr(colon + 1));
        const std::string_view key = keyword();
        if (key == "NAME") {
            name_ = printable(value);
        } else if (key == "DIMENSION") {
            read_dimension(value);
        } else if (key == "EDGE_WEIGHT_TYPE") {
            choose(type_, weight_types, value);
        } else if (key == "EDGE_WEIGHT_FORMAT") {
            choose(format_, weight_formats, value);
        } else if (key == "TYPE") {
            std::string_view rest = value; // TSPLIB has "TSP (M.~Hofmeister)", for example
            const std::string_view type = next_word(rest);
            require(type == "TSP", type, "TSP");
        } else if (key == "NODE_COORD_TYPE") {
            require(value == "TWOD_COORDS" || value == "NO_COORDS", value,
                    "TWOD_COORDS, NO_COORDS");
        } else if (key != "COMMENT" && key != "DISPLAY_DATA_TYPE") {
            fail("the keyword '{}' is unknown", printable(key));
        }
    }

    void require(bool is_supported, std::string_view value, std::string_view supported) const {
        if (!is_supported) {
            fail("{} '{}' is not supported, only {}", keyword(), printable(value), supported);
        }
    }

    /// Finds `value` by its name among `all`.
    template <class Value, std::size_t Count>
    void choose(const Value*& chosen, const std::array<Value, Count>& all, std::string_view value) {
        if (chosen != nullptr) {
            fail("duplicate {}", keyword());
        }
        const auto found = std::ranges::find(all, value, &Value::name);
        if (found == all.end()) {
            std::vector<std::string_view> names(Count);
            std::ranges::transform(all, names.begin(), &Value::name);
            require(false, value, fmt::format("{}", fmt::join(names, ", ")));
        }
        chosen = &*found;
    }

    void read_dimension(std::string_view value) {
        if (dimension_ != 0) {
            fail("duplicate DIMENSION");
        }
        const std::optional<std::int64_t> got = number<std::int64_t>(value);
        if (!got) {
            fail("DIMENSION '{}' is not an integer", printable(value));
        }
        if (*got < static_cast<std::int64_t>(instance::min_cities) ||
            *got > static_cast<std::int64_t>(instance::max_cities)) {
            fail("DIMENSION {} is not in the range {} to {}", *got, instance::min_cities,
                 instance::max_cities);
        }
        dimension_ = static_cast<std::size_t>(*got);
    }

    // ---- The data

    void read_section() {
        const std::string section(keyword());
        if (std::ranges::find(sections, section) == sections.end()) {
            fail("{} is not supported, only {}", printable(section), fmt::join(sections, ", "));
        }
        if (in_.text() != section &&
            !trimmed(in_.text().substr(in_.text().find(':') + 1)).empty()) {
            fail("unexpected text after {} in '{}'", section, printable(in_.text()));
        }
        if (dimension_ == 0) {
            fail("{} must come after DIMENSION", section);
        }
        if (type_ == nullptr) {
            fail("{} must come after EDGE_WEIGHT_TYPE", section);
        }
        after_weights_ = section == "EDGE_WEIGHT_SECTION";
        if (section == "NODE_COORD_SECTION") {
            read_points(coordinates_, type_->distance == geo);
        } else if (section == "DISPLAY_DATA_SECTION") {
            read_points(display_, false);
        } else {
            read_weights();
        }
    }

    void read_points(std::vector<point>& points, bool on_earth) {
        if (!points.empty()) {
            fail("duplicate {}", keyword());
        }
        points.resize(dimension_);
        std::vector<std::size_t> line_of(dimension_);
        for (std::size_t i = 0; i != dimension_; ++i) {
            if (!in_.read_line() || in_.text() == "EOF") {
                const auto missing = std::ranges::find(line_of, 0U);
                fail("the file ends after {} of {} cities; city {} is missing", i, dimension_,
                     missing - line_of.begin() + 1);
            }
            const std::size_t id = read_point(points, on_earth);
            if (line_of[id - 1] != 0) {
                fail("city {} is already on line {}", id, line_of[id - 1]);
            }
            line_of[id - 1] = in_.line_number();
        }
    }

    /// @returns the city's number in the file.
    std::size_t read_point(std::vector<point>& points, bool on_earth) {
        std::string_view rest = in_.text();
        const std::string_view id = next_word(rest);
        const std::string_view x = next_word(rest);
        const std::string_view y = next_word(rest);
        if (y.empty() || !rest.empty()) {
            fail("'{}' is not a city's number and two coordinates", printable(in_.text()));
        }
        const std::optional<std::int64_t> got = number<std::int64_t>(id);
        if (!got) {
            fail("the city number '{}' is not an integer", printable(id));
        }
        if (*got < 1 || *got > static_cast<std::int64_t>(dimension_)) {
            fail("city {} is not in the range 1 to {}, the DIMENSION", *got, dimension_);
        }
        const auto index = static_cast<std::size_t>(*got);
        if (on_earth) {
            points[index - 1] = {.x = coordinate("latitude", x, 90),
                                 .y = coordinate("longitude", y, 360)};
        } else {
            points[index - 1] = {.x = coordinate("coordinate", x, instance::max_coordinate),
                                 .y = coordinate("coordinate", y, instance::max_coordinate)};
        }
        return index;
    }

    double coordinate(std::string_view name, std::string_view word, double largest) const {
        const std::optional<double> got = number<double>(word);
        if (!got) {
            fail("the {} '{}' is not a number", name, printable(word));
        }
        // This form also rejects NaN.
        if (!(std::abs(*got) <= largest)) {
            fail("the {} {} is not within +-{}", name, printable(word), largest);
        }
        return *got;
    }

    void read_weights() {
        if (type_->distance != nullptr) {
            fail("EDGE_WEIGHT_SECTION, but EDGE_WEIGHT_TYPE is {}, not EXPLICIT", type_->name);
        }
        if (format_ == nullptr) {
            fail("EDGE_WEIGHT_SECTION must come after EDGE_WEIGHT_FORMAT");
        }
        if (format_->listed == weight_format::part::none) {
            fail("EDGE_WEIGHT_SECTION, but EDGE_WEIGHT_FORMAT is {}", format_->name);
        }
        if (weights_) {
            fail("duplicate EDGE_WEIGHT_SECTION");
        }
        weights_.emplace(dimension_);
        std::size_t count = 0;
        for (std::size_t row = 0; row != dimension_; ++row) {
            const auto [first, end] = format_->columns(row, dimension_);
            for (std::size_t column = first; column != end; ++column) {
                read_weight(row, column, count++);
            }
        }
    }

    std::string expected_weights() const {
        return fmt::format("{} of {} cities has {}", format_->name, dimension_,
                           format_->weights(dimension_));
    }

    void read_weight(std::size_t row, std::size_t column, std::size_t count) {
        if (!in_.read_word() || in_.text() == "EOF" ||
            in_.text().find("_SECTION") != std::string_view::npos) {
            fail("EDGE_WEIGHT_SECTION ends after {} weights: {}", count, expected_weights());
        }
        const std::optional<std::int64_t> got = number<std::int64_t>(in_.text());
        if (!got) {
            fail("the weight '{}' is not an integer", printable(in_.text()));
        }
        if (*got < 0 || *got > distance_matrix::longest) {
            fail("the weight {} is not in the range 0 to {}", *got, distance_matrix::longest);
        }
        if (row == column) { // ignored
            return;
        }
        const auto weight = static_cast<std::int32_t>(*got);
        if (format_->listed == weight_format::part::all && column < row &&
            (*weights_)(row, column) != weight) {
            fail("the weight from city {} to {} is {}, but from {} to {} it is {}: the problem is "
                 "not symmetric",
                 row + 1, column + 1, weight, column + 1, row + 1, (*weights_)(row, column));
        }
        weights_->set(row, column, weight);
    }

    // ---- The problem

    instance problem() {
        const bool is_explicit = type_ != nullptr && type_->distance == nullptr;
        if (is_explicit && !weights_) {
            fail("EDGE_WEIGHT_SECTION is missing");
        }
        if (!is_explicit && coordinates_.empty()) {
            fail("NODE_COORD_SECTION is missing");
        }
        if (!is_explicit) {
            weights_.emplace(coordinates_, type_->distance);
            if (type_->distance == geo) {
                // Draw a map: the longitude to the right, the latitude up.
                for (point& each : coordinates_) {
                    each = {.x = geo_degrees(each.y), .y = geo_degrees(each.x)};
                }
            }
        }
        return {name_.empty() ? in_.file() : name_, std::move(*weights_),
                std::move(display_.empty() ? coordinates_ : display_)};
    }

    text_reader in_;
    std::string name_;
    std::size_t dimension_ = 0;
    const weight_type* type_ = nullptr;
    const weight_format* format_ = nullptr;
    std::vector<point> coordinates_;
    std::vector<point> display_;
    std::optional<distance_matrix> weights_;
    bool after_weights_ = false;
};

} // namespace

instance read_problem(std::istream& from, const std::string& file) {
    return problem_reader(from, file).read();
}

void write_tour(std::ostream& to, const instance& problem, std::span<const city> tour) {
    fmt::print(to,
               "NAME : {}.tour\nCOMMENT : Length {}\nTYPE : TOUR\nDIMENSION : {}\nTOUR_SECTION\n",
               problem.name(), length_of(problem, tour), tour.size());
    for (const city each : tour) {
        fmt::print(to, "{}\n", each + 1);
    }
    to << "-1\nEOF\n";
}

} // namespace tsp
