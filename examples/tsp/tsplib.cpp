// SPDX-License-Identifier: MIT
#include "tsplib.hpp"

#include "tour.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <istream>
#include <optional>
#include <ostream>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace tsp {

namespace {

constexpr std::string_view blanks = " \t\r\v\f";

std::string_view trimmed(std::string_view text) noexcept {
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Cuts the first word off `rest`.
std::string_view next_word(std::string_view& rest) noexcept {
    const std::size_t end = std::min(rest.find_first_of(blanks), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest = trimmed(rest.substr(end));
    return word;
}

bool is_printable(char c) noexcept {
    return c >= ' ' && c <= '~';
}

/// Fit for a message, or for a name, whatever the file is.
std::string printable(std::string_view text) {
    constexpr std::size_t longest = 60;
    std::string shown(text.substr(0, longest));
    std::ranges::replace_if(shown, [](char c) { return !is_printable(c); }, '?');
    return text.size() > longest ? shown + "..." : shown;
}

class problem_reader {
public:
    problem_reader(std::istream& from, const std::string& file) : from_(from), file_(file) {}

    instance read() {
        bool has_coordinates = false;
        while (next_line() && line_ != "EOF") {
            if (keyword() == "NODE_COORD_SECTION") {
                read_coordinates();
                has_coordinates = true;
                break;
            }
            read_entry();
        }
        if (!has_coordinates) {
            fail("there is no NODE_COORD_SECTION");
        }
        if (line_ != "EOF") {
            while (next_line() && line_ != "EOF") {
                fail("'{}' where EOF was expected", printable(line_));
            }
        }
        return {name_.empty() ? file_ : name_, std::move(points_)};
    }

private:
    template <class... Args>
    [[noreturn]] void fail(fmt::format_string<Args...> what, Args&&... args) const {
        throw std::runtime_error(fmt::format("{}:{}: {}", file_, line_number_,
                                             fmt::format(what, std::forward<Args>(args)...)));
    }

    /// The next line that is not blank. @returns false at the end of the file.
    bool next_line() {
        do {
            from_.getline(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
            if (from_.bad()) {
                fail("cannot be read");
            }
            if (from_.gcount() == 0) {
                line_ = {};
                return false;
            }
            ++line_number_;
            if (from_.fail()) { // it did not fit
                fail("a line of more than {} characters", buffer_.size() - 2);
            }
            // The delimiter is counted, unless the file ends without.
            const auto count = static_cast<std::size_t>(from_.gcount()) - (from_.eof() ? 0U : 1U);
            line_ = trimmed({buffer_.data(), count});
        } while (line_.empty());
        return true;
    }

    std::string_view keyword() const { return trimmed(line_.substr(0, line_.find(':'))); }

    void read_entry() {
        const std::size_t colon = line_.find(':');
        if (colon == std::string_view::npos) {
            fail("'{}' is not 'KEYWORD: value'", printable(line_));
        }
        const std::string_view value = trimmed(line_.substr(colon + 1));
        const std::string_view key = keyword();
        if (key == "NAME") {
            name_ = printable(value);
        } else if (key == "DIMENSION") {
            read_dimension(value);
        } else if (key == "EDGE_WEIGHT_TYPE") {
            require(value, "EUC_2D");
            has_metric_ = true;
        } else if (key == "TYPE") {
            std::string_view rest = value; // "TSP (M.~Hofmeister)" exists
            require(next_word(rest), "TSP");
        } else if (key == "NODE_COORD_TYPE") {
            require(value, "TWOD_COORDS");
        } else if (key != "COMMENT" && key != "DISPLAY_DATA_TYPE") {
            fail("the keyword '{}' is unknown", printable(key));
        }
    }

    void require(std::string_view value, std::string_view supported) const {
        if (value != supported) {
            fail("{} '{}' is not supported, only {}", keyword(), printable(value), supported);
        }
    }

    void read_dimension(std::string_view value) {
        if (dimension_ != 0) {
            fail("DIMENSION for the second time");
        }
        const std::optional<std::int64_t> got = number<std::int64_t>(value);
        if (!got) {
            fail("DIMENSION '{}' is not an integer", printable(value));
        }
        if (*got < static_cast<std::int64_t>(instance::fewest_cities) ||
            *got > static_cast<std::int64_t>(instance::most_cities)) {
            fail("DIMENSION {} is not from {} to {}", *got, instance::fewest_cities,
                 instance::most_cities);
        }
        dimension_ = static_cast<std::size_t>(*got);
    }

    void read_coordinates() {
        if (line_ != "NODE_COORD_SECTION" && trimmed(line_.substr(line_.find(':') + 1)) != "") {
            fail("'{}' is not NODE_COORD_SECTION alone", printable(line_));
        }
        if (dimension_ == 0) {
            fail("NODE_COORD_SECTION before DIMENSION");
        }
        if (!has_metric_) {
            fail("NODE_COORD_SECTION before EDGE_WEIGHT_TYPE");
        }
        points_.resize(dimension_);
        std::vector<std::size_t> line_of(dimension_);
        for (std::size_t i = 0; i != dimension_; ++i) {
            if (!next_line() || line_ == "EOF") {
                const auto missing = std::ranges::find(line_of, 0U);
                fail("the file ends after {} of {} cities; city {} is missing", i, dimension_,
                     missing - line_of.begin() + 1);
            }
            const std::size_t id = read_city();
            if (line_of[id - 1] != 0) {
                fail("city {} was on line {} already", id, line_of[id - 1]);
            }
            line_of[id - 1] = line_number_;
        }
    }

    /// @returns its number in the file.
    std::size_t read_city() {
        std::string_view rest = line_;
        const std::string_view id = next_word(rest);
        const std::string_view x = next_word(rest);
        const std::string_view y = next_word(rest);
        if (y.empty() || !rest.empty()) {
            fail("'{}' is not a city's number and two coordinates", printable(line_));
        }
        const std::optional<std::int64_t> got = number<std::int64_t>(id);
        if (!got) {
            fail("the city '{}' is not an integer", printable(id));
        }
        if (*got < 1 || *got > static_cast<std::int64_t>(dimension_)) {
            fail("city {} is not from 1 to {}, the DIMENSION", *got, dimension_);
        }
        const auto index = static_cast<std::size_t>(*got);
        points_[index - 1] = {.x = coordinate(x), .y = coordinate(y)};
        return index;
    }

    double coordinate(std::string_view word) const {
        const std::optional<double> got = number<double>(word);
        if (!got) {
            fail("the coordinate '{}' is not a number", printable(word));
        }
        // So written because it is false of a NaN, too.
        if (!(std::abs(*got) <= instance::largest_coordinate)) {
            fail("the coordinate {} is not within +-{}", printable(word),
                 instance::largest_coordinate);
        }
        return *got;
    }

    /// All of `word`, which may begin with a plus sign.
    template <class Number>
    static std::optional<Number> number(std::string_view word) noexcept {
        if (word.size() > 1 && word[0] == '+' && word[1] != '-') {
            word.remove_prefix(1);
        }
        Number value{};
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
        if (error != std::errc() || end != word.data() + word.size()) {
            return std::nullopt;
        }
        return value;
    }

    std::istream& from_;
    const std::string& file_;
    std::array<char, 1024> buffer_{}; // lines are bounded, whatever the file is
    std::string_view line_;
    std::size_t line_number_ = 0;
    std::string name_;
    std::size_t dimension_ = 0;
    bool has_metric_ = false;
    std::vector<point> points_;
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
