// SPDX-License-Identifier: MIT
//
// Unit tests of the parts of examples/applications/tsp.

#include "tsplib.hpp"

#include "breeder.hpp"
#include "evolution.hpp"
#include "generated.hpp"
#include "improver.hpp"
#include "instance.hpp"
#include "mutex_exchanger.hpp"
#include "options.hpp"
#include "population.hpp"
#include "random.hpp"
#include "tour.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace tsp;

using tour_type = std::vector<city>;

instance random_instance(std::size_t cities, std::uint64_t seed, std::size_t extent = 1000) {
    random_source random(seed);
    std::vector<point> points(cities);
    for (point& each : points) {
        each = {.x = static_cast<double>(random.below(extent)),
                .y = static_cast<double>(random.below(extent))};
    }
    return {"random", std::move(points)};
}

tour_type random_tour(std::size_t cities, random_source& random) {
    tour_type tour(cities);
    std::iota(tour.begin(), tour.end(), city{0});
    for (std::size_t left = cities; left > 1; --left) {
        std::swap(tour[left - 1], tour[random.below(left)]);
    }
    return tour;
}

bool is_tour(const tour_type& tour, std::size_t cities) {
    city_set scratch(cities);
    return is_permutation(tour, cities, scratch);
}

/// Dynamic programming (Held and Karp, 1962).
std::int64_t exact_optimum(const instance& problem) {
    const std::size_t others = problem.size() - 1; // all cities but the last, where tours begin
    const auto home = static_cast<city>(others);
    constexpr std::int64_t unreached = std::numeric_limits<std::int64_t>::max() / 2;
    std::vector<std::int64_t> shortest((std::size_t{1} << others) * others, unreached);
    for (std::size_t c = 0; c != others; ++c) {
        shortest[(std::size_t{1} << c) * others + c] = problem.distance(home, static_cast<city>(c));
    }
    for (std::size_t seen = 1; seen != std::size_t{1} << others; ++seen) {
        for (std::size_t last = 0; last != others; ++last) {
            const std::int64_t length = shortest[seen * others + last];
            for (std::size_t c = 0; length != unreached && c != others; ++c) {
                if ((seen >> c & 1U) == 0) {
                    std::int64_t& best = shortest[(seen | std::size_t{1} << c) * others + c];
                    best = std::min(best, length + problem.distance(static_cast<city>(last),
                                                                    static_cast<city>(c)));
                }
            }
        }
    }
    std::int64_t best = unreached;
    const std::size_t all = (std::size_t{1} << others) - 1;
    for (std::size_t last = 0; last != others; ++last) {
        best = std::min(best, shortest[all * others + last] +
                                  problem.distance(static_cast<city>(last), home));
    }
    return best;
}

// ---- Problems

const std::string header = "NAME: x\nTYPE: TSP\nDIMENSION: 3\nEDGE_WEIGHT_TYPE: EUC_2D\n";
const std::string section = header + "NODE_COORD_SECTION\n";

instance read(const std::string& text) {
    std::istringstream from(text);
    return read_problem(from, "FILE");
}

std::string refusal(const std::string& text) {
    try {
        read(text);
    } catch (const std::runtime_error& problem) {
        return problem.what();
    }
    return "none";
}

TEST(TspDistance, Euc2dIsRoundedToTheNearestInteger) {
    EXPECT_EQ(euc_2d({0, 0}, {3, 4}), 5);
    EXPECT_EQ(euc_2d({0, 0}, {1, 1}), 1);
    EXPECT_EQ(euc_2d({0, 0}, {0, 2.5}), 3);
    EXPECT_EQ(euc_2d({0, 0}, {0, 2.49}), 2);
    EXPECT_EQ(euc_2d({-5e8, -5e8}, {5e8, 5e8}), 1'414'213'562);
}

TEST(TspDistance, Ceil2dIsRoundedUp) {
    EXPECT_EQ(ceil_2d({0, 0}, {3, 4}), 5);
    EXPECT_EQ(ceil_2d({0, 0}, {1, 1}), 2);
    EXPECT_EQ(ceil_2d({0, 0}, {0, 2.01}), 3);
    EXPECT_EQ(ceil_2d({-5e8, -5e8}, {5e8, 5e8}), 1'414'213'563);
}

TEST(TspDistance, AttIsDividedByTheRootOfTenAndRoundedUp) {
    EXPECT_EQ(att({0, 0}, {0, 0}), 0);
    EXPECT_EQ(att({0, 0}, {10, 30}), 10);
    EXPECT_EQ(att({0, 0}, {10, 30.1}), 11);
    EXPECT_EQ(att({0, 0}, {1, 0}), 1);
    EXPECT_EQ(att({-5e8, -5e8}, {5e8, 5e8}), 447'213'596);
}

TEST(TspDistance, GeoIsInKilometresWithMinutesAsTheFraction) {
    EXPECT_EQ(geo({0, 0}, {0, 1}), 112); // 111.32, rounded as TSPLIB does
    EXPECT_EQ(geo({0, 0}, {1.30, 0}), 167); // a degree and a half
    EXPECT_EQ(geo({-1.30, 0}, {0, 0}), 167);
    EXPECT_EQ(geo({60, 0}, {60, 1}), 56); // half as far as at the equator
    EXPECT_EQ(geo({0, -179}, {0, 179}), 223); // the shorter way
    EXPECT_EQ(geo({0, 0}, {0, 180}), 20039); // half the circumference
    EXPECT_EQ(geo({90, 0}, {-90, 0}), 20039);
}

TEST(TspDistance, GeoIsDefinedForPointsThatAreCloseOrOpposite) {
    for (int latitude = -90; latitude <= 90; ++latitude) {
        for (int longitude = 0; longitude <= 180; ++longitude) {
            const point here{.x = static_cast<double>(latitude),
                             .y = static_cast<double>(longitude)};
            ASSERT_EQ(geo(here, here), 1); // by the formula
            ASSERT_EQ(geo(here, {.x = here.x, .y = here.y + 1e-9}), 1);
            ASSERT_EQ(geo(here, {.x = -here.x, .y = here.y - 180}), 20039);
        }
    }
}

TEST(TspDistance, MatrixIsSymmetricAndZeroOnTheDiagonal) {
    const std::vector<point> points{{10, 20}, {30, 40.3}, {-50, 60}};
    for (const metric each : {euc_2d, ceil_2d, att, geo}) {
        const distance_matrix distances(points, each);
        for (std::size_t a = 0; a != 3; ++a) {
            for (std::size_t b = 0; b != 3; ++b) {
                EXPECT_EQ(distances(a, b), a == b ? 0 : each(points[a], points[b]));
            }
        }
    }
}

TEST(TspInstance, NeighboursAreTheNearestInOrder) {
    const instance problem = random_instance(100, 1);
    for (city a = 0; a != 100; ++a) {
        const auto near = problem.neighbours(a);
        std::int64_t last = 0;
        for (const city b : near) {
            EXPECT_NE(a, b);
            EXPECT_LE(last, problem.distance(a, b));
            last = problem.distance(a, b);
        }
        for (city b = 0; b != 100; ++b) {
            EXPECT_TRUE(b == a || std::ranges::find(near, b) != near.end() ||
                        problem.distance(a, b) >= last);
        }
    }
}

TEST(TspGrid, OptimumEqualsThatOfAnExactMethod) {
    for (const std::size_t side : {2U, 4U}) {
        const instance problem = grid(side);
        EXPECT_EQ(problem.optimum(), exact_optimum(problem));
    }
}

TEST(TspGrid, ATourOfSingleStepsHasTheOptimalLength) {
    for (const std::size_t side : {2U, 6U, 70U}) {
        const instance problem = grid(side);
        tour_type tour;
        for (std::size_t row = side; row-- != 0;) { // along the first column
            tour.push_back(static_cast<city>(row * side));
        }
        for (std::size_t row = 0; row != side; ++row) { // to and fro
            for (std::size_t i = 1; i != side; ++i) {
                const std::size_t column = row % 2 == 0 ? i : side - i;
                tour.push_back(static_cast<city>(row * side + column));
            }
        }
        ASSERT_TRUE(is_tour(tour, problem.size()));
        EXPECT_EQ(length_of(problem, tour), problem.optimum());
    }
}

TEST(TspReader, ReadsTheVariantsThatTsplibUses) {
    for (const std::string end : {"", "EOF", "EOF\n", "\n\nEOF\n\n\n"}) {
        const instance problem =
            read("NAME : some\nCOMMENT : by: someone\nTYPE: TSP (A. Author)\nDIMENSION :3\n"
                 "EDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_TYPE : TWOD_COORDS\n"
                 "DISPLAY_DATA_TYPE : COORD_DISPLAY\n\nNODE_COORD_SECTION\n"
                 " 3 1.5e+01 -2\n1\t0 +0\n2 .5 1.\n" +
                 end);
        EXPECT_EQ(problem.name(), "some");
        ASSERT_EQ(problem.size(), 3U);
        EXPECT_EQ(problem.points()[2].x, 15);
        EXPECT_EQ(problem.points()[2].y, -2);
        EXPECT_EQ(problem.points()[1].x, 0.5);
        EXPECT_FALSE(problem.optimum());
    }
}

TEST(TspReader, AcceptsCarriageReturnsAndAMissingLastNewline) {
    std::string text = section + "1 0 0\n2 1 1\n3 2 25";
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) {
        text.insert(at, 1, '\r');
    }
    EXPECT_EQ(read(text).points()[2].y, 25);
}

TEST(TspReader, NamesAProblemWithoutNameAfterItsFile) {
    EXPECT_EQ(read(section.substr(8) + "1 0 0\n2 1 1\n3 2 2\n").name(), "FILE");
}

TEST(TspReader, ReportsTheLineOfAnInvalidHeader) {
    EXPECT_EQ(refusal(""), "FILE: NODE_COORD_SECTION is missing");
    EXPECT_EQ(refusal(header), "FILE:4: NODE_COORD_SECTION is missing");
    EXPECT_EQ(refusal("EOF\n" + section), "FILE:1: NODE_COORD_SECTION is missing");
    EXPECT_EQ(refusal("NAME: x\nhello\n"), "FILE:2: 'hello' is not 'KEYWORD: value'");
    EXPECT_EQ(refusal("NAMES: x\n"), "FILE:1: the keyword 'NAMES' is unknown");
    EXPECT_EQ(refusal("TYPE: ATSP\n"), "FILE:1: TYPE 'ATSP' is not supported, only TSP");
    EXPECT_EQ(refusal("NAME: x\nEDGE_WEIGHT_TYPE: XRAY1\n"),
              "FILE:2: EDGE_WEIGHT_TYPE 'XRAY1' is not supported, only EUC_2D, CEIL_2D, ATT, GEO, "
              "EXPLICIT");
    EXPECT_EQ(refusal("EDGE_WEIGHT_FORMAT: LOWER\n"),
              "FILE:1: EDGE_WEIGHT_FORMAT 'LOWER' is not supported, only FUNCTION, FULL_MATRIX, "
              "UPPER_ROW, LOWER_ROW, UPPER_DIAG_ROW, LOWER_DIAG_ROW, UPPER_COL, LOWER_COL, "
              "UPPER_DIAG_COL, LOWER_DIAG_COL");
    EXPECT_EQ(refusal("EDGE_WEIGHT_TYPE: GEO\nEDGE_WEIGHT_TYPE: GEO\n"),
              "FILE:2: duplicate EDGE_WEIGHT_TYPE");
    EXPECT_EQ(
        refusal("NODE_COORD_TYPE: THREED_COORDS\n"),
        "FILE:1: NODE_COORD_TYPE 'THREED_COORDS' is not supported, only TWOD_COORDS, NO_COORDS");
    EXPECT_EQ(refusal("EDGE_WEIGHT_TYPE: EUC_2D\nNODE_COORD_SECTION\n"),
              "FILE:2: NODE_COORD_SECTION must come after DIMENSION");
    EXPECT_EQ(refusal("DIMENSION: 3\nNODE_COORD_SECTION\n"),
              "FILE:2: NODE_COORD_SECTION must come after EDGE_WEIGHT_TYPE");
    EXPECT_EQ(refusal(header + "NODE_COORD_SECTION: 1\n"),
              "FILE:5: unexpected text after NODE_COORD_SECTION in 'NODE_COORD_SECTION: 1'");
    EXPECT_EQ(refusal("COMMENT: " + std::string(2000, 'x')),
              "FILE:1: the line is longer than 1022 characters");
    EXPECT_EQ(refusal(std::string("\x1b[2J\xff\0!", 7)), "FILE:1: '?[2J?"
                                                         "?!' is not 'KEYWORD: value'");
}

TEST(TspReader, ChecksTheDimensionBeforeItAllocates) {
    EXPECT_EQ(refusal("DIMENSION: 2\n"), "FILE:1: DIMENSION 2 is not in the range 3 to 5000");
    EXPECT_EQ(refusal("DIMENSION: -7\n"), "FILE:1: DIMENSION -7 is not in the range 3 to 5000");
    EXPECT_EQ(refusal("DIMENSION: 9000000000000000000\n"),
              "FILE:1: DIMENSION 9000000000000000000 is not in the range 3 to 5000");
    EXPECT_EQ(refusal("DIMENSION: 99999999999999999999\n"),
              "FILE:1: DIMENSION '99999999999999999999' is not an integer");
    EXPECT_EQ(refusal("DIMENSION: 3.5\n"), "FILE:1: DIMENSION '3.5' is not an integer");
    EXPECT_EQ(refusal("DIMENSION:\n"), "FILE:1: DIMENSION '' is not an integer");
    EXPECT_EQ(refusal("DIMENSION: 3\nDIMENSION: 3\n"), "FILE:2: duplicate DIMENSION");
}

TEST(TspReader, ReportsTheLineOfAnInvalidCity) {
    EXPECT_EQ(refusal(section + "1 0 0\n2 0\n"),
              "FILE:7: '2 0' is not a city's number and two coordinates");
    EXPECT_EQ(refusal(section + "1 0 0 0\n"),
              "FILE:6: '1 0 0 0' is not a city's number and two coordinates");
    EXPECT_EQ(refusal(section + "one 0 0\n"), "FILE:6: the city number 'one' is not an integer");
    EXPECT_EQ(refusal(section + "0 0 0\n"),
              "FILE:6: city 0 is not in the range 1 to 3, the DIMENSION");
    EXPECT_EQ(refusal(section + "4 0 0\n"),
              "FILE:6: city 4 is not in the range 1 to 3, the DIMENSION");
    EXPECT_EQ(refusal(section + "1 0 0\n\n1 1 1\n"), "FILE:8: city 1 is already on line 6");
    EXPECT_EQ(refusal(section + "1 0 0\n3 1 1\n"),
              "FILE:7: the file ends after 2 of 3 cities; city 2 is missing");
    EXPECT_EQ(refusal(section + "1 0 0\n3 1 1\nEOF\n"),
              "FILE:8: the file ends after 2 of 3 cities; city 2 is missing");
    EXPECT_EQ(refusal(section + "1 0 0\n2 1 1\n3 2 2\n4 3 3\n"),
              "FILE:9: unexpected '4 3 3' instead of EOF");
}

TEST(TspReader, ReportsInvalidCoordinates) {
    for (const std::string bad : {"x", "1x", "1,5", "--1", "+-1", "+", "1e999", "1e-999", "0x10"}) {
        EXPECT_EQ(refusal(section + fmt::format("1 0 {}\n", bad)),
                  fmt::format("FILE:6: the coordinate '{}' is not a number", bad));
    }
    for (const std::string bad : {"nan", "inf", "-inf", "500000001", "-1e300"}) {
        EXPECT_EQ(refusal(section + fmt::format("1 {} 0\n", bad)),
                  fmt::format("FILE:6: the coordinate {} is not within +-500000000", bad));
    }
}

TEST(TspReader, ReportsUnexpectedSections) {
    EXPECT_EQ(refusal(header + "FIXED_EDGES_SECTION\n1 2\n-1\n"),
              "FILE:5: FIXED_EDGES_SECTION is not supported, only NODE_COORD_SECTION, "
              "DISPLAY_DATA_SECTION, EDGE_WEIGHT_SECTION");
    EXPECT_EQ(refusal(section + "1 0 0\n2 1 1\n3 2 2\nNODE_COORD_SECTION\n"),
              "FILE:9: duplicate NODE_COORD_SECTION");
    EXPECT_EQ(refusal(section + "1 0 0\n2 1 1\n3 2 2\nNAME: y\n"),
              "FILE:9: unexpected 'NAME: y' instead of EOF");
    EXPECT_EQ(refusal(header + "DISPLAY_DATA_SECTION\n1 0 0\n2 1 1\n3 2 2\n"),
              "FILE:8: NODE_COORD_SECTION is missing");
    EXPECT_EQ(refusal(header + "EDGE_WEIGHT_SECTION\n"),
              "FILE:5: EDGE_WEIGHT_SECTION, but EDGE_WEIGHT_TYPE is EUC_2D, not EXPLICIT");
}

TEST(TspReader, RefusesCoordinatesThatAreNotOnEarth) {
    const std::string start = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: GEO\nNODE_COORD_SECTION\n";
    EXPECT_EQ(refusal(start + "1 90.01 0\n"), "FILE:4: the latitude 90.01 is not within +-90");
    EXPECT_EQ(refusal(start + "1 -90 361\n"), "FILE:4: the longitude 361 is not within +-360");
    EXPECT_EQ(refusal(start + "1 0 nan\n"), "FILE:4: the longitude nan is not within +-360");
    EXPECT_EQ(refusal(start + "1 x 0\n"), "FILE:4: the latitude 'x' is not a number");
}

// ---- Explicit distances

std::string explicit_problem(const std::string& format, const std::string& rest) {
    return "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: " + format +
           "\nEDGE_WEIGHT_SECTION\n" + rest;
}

TEST(TspWeights, AreReadInEveryFormat) {
    for (const auto& [format, weights] : {std::pair("FULL_MATRIX", "0 1 2\n1 0 3\n2 3 0"),
                                          {"FULL_MATRIX", "9 1 2 1 9 3 2 3 9"},
                                          {"UPPER_ROW", "1 2\n3"},
                                          {"LOWER_ROW", "1\n2 3"},
                                          {"UPPER_DIAG_ROW", "0 1 2\n0 3\n0"},
                                          {"LOWER_DIAG_ROW", "0\n1 0\n2 3 0"},
                                          {"UPPER_COL", "1\n2 3"},
                                          {"LOWER_COL", "1 2\n3"},
                                          {"UPPER_DIAG_COL", "0\n1 0\n2 3 0"},
                                          {"LOWER_DIAG_COL", "0 1 2\n0 3\n0"},
                                          {"UPPER_ROW", " \t1\r\n\n+2   3 "}}) {
        for (const std::string end : {"", "\n", "\nEOF\n", " EOF", "\n\nEOF"}) {
            const instance problem = read(explicit_problem(format, weights + end));
            EXPECT_EQ(problem.distance(0, 1), 1) << format;
            EXPECT_EQ(problem.distance(0, 2), 2) << format;
            EXPECT_EQ(problem.distance(2, 1), 3) << format;
            EXPECT_EQ(problem.distance(1, 2), 3) << format;
            EXPECT_EQ(problem.distance(1, 1), 0) << format;
            EXPECT_TRUE(problem.points().empty());
        }
    }
}

TEST(TspWeights, MayComeBeforeOrAfterTheDisplayData) {
    const std::string places = "DISPLAY_DATA_SECTION\n1 5 5\n2 6 6\n3 7 7\n";
    const instance followed = read(explicit_problem("UPPER_ROW", "1 2 3\n" + places));
    EXPECT_EQ(followed.points()[1].x, 6);
    const instance preceded =
        read("DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\nEDGE_WEIGHT_FORMAT: UPPER_ROW\n" + places +
             "EDGE_WEIGHT_SECTION\n1 2 3\n");
    EXPECT_EQ(preceded.points()[2].x, 7);
    EXPECT_EQ(preceded.distance(1, 2), 3);
}

TEST(TspWeights, MustHaveTheExpectedCount) {
    EXPECT_EQ(refusal(explicit_problem("UPPER_ROW", "1\n2\n")),
              "FILE:6: EDGE_WEIGHT_SECTION ends after 2 weights: UPPER_ROW of 3 cities has 3");
    EXPECT_EQ(refusal(explicit_problem("FULL_MATRIX", "0 1 2\n1 0\nEOF\n")),
              "FILE:7: EDGE_WEIGHT_SECTION ends after 5 weights: FULL_MATRIX of 3 cities has 9");
    EXPECT_EQ(refusal(explicit_problem("LOWER_DIAG_ROW", "0\nDISPLAY_DATA_SECTION\n")),
              "FILE:6: EDGE_WEIGHT_SECTION ends after 1 weights: LOWER_DIAG_ROW of 3 cities has 6");
    EXPECT_EQ(refusal(explicit_problem("UPPER_ROW", "1 2\n3 4 5\n")),
              "FILE:6: '4 5' after the last weight: UPPER_ROW of 3 cities has 3");
    EXPECT_EQ(refusal(explicit_problem("UPPER_ROW", "1 2 3\n\n-4\nEOF\n")),
              "FILE:7: '-4' after the last weight: UPPER_ROW of 3 cities has 3");
    EXPECT_EQ(refusal(explicit_problem("UPPER_ROW", "1 2 3\nhello\n")),
              "FILE:6: unexpected 'hello' instead of EOF");
}

TEST(TspWeights, MustBeNonNegativeIntegers) {
    EXPECT_EQ(refusal(explicit_problem("UPPER_ROW", "1\n2 -3\n")),
              "FILE:6: the weight -3 is not in the range 0 to 2147483647");
    EXPECT_EQ(refusal(explicit_problem("UPPER_ROW", "1 2 2147483648\n")),
              "FILE:5: the weight 2147483648 is not in the range 0 to 2147483647");
    for (const std::string bad : {"1.5", "x", "nan", "1e3", "1,", "99999999999999999999"}) {
        EXPECT_EQ(refusal(explicit_problem("UPPER_ROW", "1 2\n" + bad + "\n")),
                  fmt::format("FILE:6: the weight '{}' is not an integer", bad));
    }
    EXPECT_EQ(read(explicit_problem("UPPER_ROW", "0 1 2147483647\n")).distance(1, 2), 2147483647);
    EXPECT_EQ(refusal(explicit_problem("UPPER_ROW", "1 2\n" + std::string(2000, '1'))),
              "FILE:6: the word is longer than 1022 characters");
}

TEST(TspWeights, MustBeSymmetric) {
    EXPECT_EQ(refusal(explicit_problem("FULL_MATRIX", "0 1 2\n1 0 3\n2 4 0\n")),
              "FILE:7: the weight from city 3 to 2 is 4, but from 2 to 3 it is 3: the problem is "
              "not symmetric");
}

TEST(TspWeights, MustComeAfterTheFormat) {
    const std::string start = "DIMENSION: 3\nEDGE_WEIGHT_TYPE: EXPLICIT\n";
    EXPECT_EQ(refusal(start + "EDGE_WEIGHT_SECTION\n"),
              "FILE:3: EDGE_WEIGHT_SECTION must come after EDGE_WEIGHT_FORMAT");
    EXPECT_EQ(refusal(explicit_problem("FUNCTION", "1 2 3\n")),
              "FILE:4: EDGE_WEIGHT_SECTION, but EDGE_WEIGHT_FORMAT is FUNCTION");
    EXPECT_EQ(refusal(start), "FILE:2: EDGE_WEIGHT_SECTION is missing");
    EXPECT_EQ(refusal(start + "NODE_COORD_SECTION\n1 0 0\n2 1 1\n3 2 2\n"),
              "FILE:6: EDGE_WEIGHT_SECTION is missing");
    EXPECT_EQ(refusal(explicit_problem("UPPER_ROW", "1 2 3\nEDGE_WEIGHT_SECTION\n1 2 3\n")),
              "FILE:6: duplicate EDGE_WEIGHT_SECTION");
}

TEST(TspReader, WritesATourInTsplibFormat) {
    const instance problem = read(section + "1 0 0\n2 3 4\n3 0 8\n");
    std::ostringstream to;
    write_tour(to, problem, tour_type{2, 0, 1});
    EXPECT_EQ(to.str(), "NAME : x.tour\nCOMMENT : Length 18\nTYPE : TOUR\nDIMENSION : 3\n"
                        "TOUR_SECTION\n3\n1\n2\n-1\nEOF\n");
}

// ---- Tours

TEST(TspTour, DetectsPermutations) {
    EXPECT_TRUE(is_tour({2, 0, 1}, 3));
    EXPECT_FALSE(is_tour({2, 0, 2}, 3));
    EXPECT_FALSE(is_tour({2, 0, 3}, 3));
    EXPECT_FALSE(is_tour({1, 0}, 3));
}

TEST(TspTour, MeasureIgnoresTheFirstCityAndTheDirection) {
    const instance problem = random_instance(50, 2);
    random_source random(3);
    tour_type tour = random_tour(50, random);
    const measure before = measure_of(problem, tour);
    std::ranges::rotate(tour, tour.begin() + 17);
    EXPECT_EQ(measure_of(problem, tour), before);
    std::ranges::reverse(tour);
    EXPECT_EQ(measure_of(problem, tour), before);
    std::swap(tour[3], tour[4]);
    EXPECT_NE(measure_of(problem, tour).fingerprint, before.fingerprint);
}

TEST(TspRecombine, KeepsTheForeignPartAndTheOrderOfTheRest) {
    const instance problem = random_instance(8, 4);
    city_set scratch(8);
    const tour_type own{0, 1, 2, 3, 4, 5, 6, 7};
    const tour_type foreign{4, 1, 6};
    tour_type child(8);
    recombine(problem, own, foreign, child, scratch);
    EXPECT_EQ(tour_type(child.begin() + 3, child.end()), (tour_type{5, 7, 0, 2, 3}));
    tour_type part(child.begin(), child.begin() + 3);
    tour_type turned(foreign.rbegin(), foreign.rend());
    EXPECT_TRUE(part == foreign || part == turned);
    std::swap(child[0], child[2]);
    const std::int64_t other_way = length_of(problem, child);
    recombine(problem, own, foreign, child, scratch);
    EXPECT_LE(length_of(problem, child), other_way);
}

TEST(TspRecombine, ProducesPermutations) {
    random_source random(5);
    for (const std::size_t cities : {3U, 4U, 7U, 100U}) {
        const instance problem = random_instance(cities, 6);
        city_set scratch(cities);
        for (int i = 0; i != 300; ++i) {
            const tour_type own = random_tour(cities, random);
            const tour_type other = random_tour(cities, random);
            const std::size_t count = 1 + random.below(cities - 1);
            const genes foreign = genes(other).subspan(random.below(cities - count + 1), count);
            tour_type child(cities);
            recombine(problem, own, foreign, child, scratch);
            ASSERT_TRUE(is_tour(child, cities));
        }
    }
}

// ---- Local search

/// Whether no exchange of two edges makes the tour shorter. Considers only exchanges in which a
/// city gets a nearer neighbour from its list. If the lists contain all cities, that is every
/// exchange.
bool is_two_optimal(const instance& problem, const tour_type& tour) {
    const std::size_t size = tour.size();
    for (std::size_t i = 0; i != size; ++i) {
        for (std::size_t j = i + 2; j < size && (i != 0 || j != size - 1); ++j) {
            const city a = tour[i];
            const city b = tour[i + 1];
            const city c = tour[j];
            const city d = tour[(j + 1) % size];
            const auto lists = [&](city from, city to) {
                const auto near = problem.neighbours(from);
                return std::ranges::find(near, to) != near.end();
            };
            if (problem.distance(a, c) + problem.distance(b, d) <
                    problem.distance(a, b) + problem.distance(c, d) &&
                ((lists(a, c) && problem.distance(a, c) < problem.distance(a, b)) ||
                 (lists(c, a) && problem.distance(a, c) < problem.distance(c, d)) ||
                 (lists(b, d) && problem.distance(b, d) < problem.distance(a, b)) ||
                 (lists(d, b) && problem.distance(b, d) < problem.distance(c, d)))) {
                return false;
            }
        }
    }
    return true;
}

class TspImprover : public testing::TestWithParam<improvement> {};

TEST_P(TspImprover, ReturnsTheGainAndLeavesATwoOptimalPermutation) {
    random_source random(7);
    for (const std::size_t cities : {3U, 4U, 5U, 6U, 7U, 8U, 9U, 30U, 200U}) {
        const std::size_t tours = cities == 200 ? 3 : 50;
        for (const std::size_t extent :
             {1U, 3U, 1000U}) { // all cities at one point, several per point, hardly any
            const instance problem = random_instance(cities, 8, extent);
            improver local_search(problem, GetParam());
            for (std::size_t i = 0; i != tours; ++i) {
                tour_type tour = random_tour(cities, random);
                for (;;) {
                    const std::int64_t before = length_of(problem, tour);
                    const std::int64_t gain = local_search.improve(tour);
                    ASSERT_TRUE(is_tour(tour, cities));
                    ASSERT_GE(gain, 0);
                    ASSERT_EQ(length_of(problem, tour), before - gain);
                    if (gain == 0) {
                        break;
                    }
                }
                ASSERT_TRUE(is_two_optimal(problem, tour)) << cities;
            }
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Each, TspImprover,
                         testing::Values(improvement::two_opt, improvement::or_opt),
                         [](const auto& each) {
                             return each.param == improvement::two_opt ? "TwoOpt" : "OrOpt";
                         });

TEST(TspImproverNone, ChangesNothing) {
    const instance problem = random_instance(20, 9);
    random_source random(10);
    tour_type tour = random_tour(20, random);
    const tour_type before = tour;
    EXPECT_EQ(improver(problem, improvement::none).improve(tour), 0);
    EXPECT_EQ(tour, before);
}

TEST(TspImproverOrOpt, MakesMovesThatTwoOptCannot) {
    // Two parallel lines of cities.
    const instance problem("line",
                           {{0, 0}, {10, 0}, {20, 0}, {30, 0}, {30, 1}, {20, 1}, {10, 1}, {0, 1}});
    const std::int64_t optimum = exact_optimum(problem);
    random_source random(11);
    std::size_t found = 0;
    improver local_search(problem, improvement::or_opt);
    for (int i = 0; i != 100; ++i) {
        tour_type tour = random_tour(8, random);
        local_search.improve(tour);
        found += length_of(problem, tour) == optimum ? 1U : 0U;
    }
    EXPECT_GT(found, 50U);
}

// ---- Generations

class fixed_tours {
public:
    fixed_tours(population& tours, const instance& problem)
        : population_(tours), problem_(problem) {}

    measure put(population::slot where, const tour_type& tour) {
        std::ranges::copy(tour, population_.tour(where).begin());
        population_.set_measure(where, measure_of(problem_, tour));
        return measure_of(problem_, tour);
    }

private:
    population& population_;
    const instance& problem_;
};

TEST(TspPopulation, ReplacesDuplicatesFirstAndThenTheLongest) {
    const instance problem = random_instance(20, 12);
    random_source random(13);
    population pool(20, 4, 2);
    fixed_tours tours(pool, problem);
    std::vector<measure> expected;
    const tour_type original = random_tour(20, random);
    expected.push_back(tours.put(0, original));
    tours.put(1, tour_type(original.rbegin(), original.rend()));
    expected.push_back(tours.put(2, random_tour(20, random)));
    expected.push_back(tours.put(3, random_tour(20, random)));
    pool.rank();
    std::ranges::sort(expected);
    expected.pop_back(); // a duplicate and the longest tour are replaced
    const bool original_survives =
        std::ranges::find(expected, measure_of(problem, original)) != expected.end();
    for (std::size_t i = 0; i != 2; ++i) {
        expected.push_back(tours.put(pool.child(i), random_tour(20, random)));
    }
    pool.replace();
    EXPECT_EQ(pool.length(pool.best()), std::ranges::min_element(expected)->length);
    EXPECT_TRUE(original_survives ||
                pool.length(pool.best()) < measure_of(problem, original).length);
    EXPECT_NE(pool.child(0), pool.child(1));
    EXPECT_NE(pool.child(0), pool.best());
}

/// Runs all generations on one worker, which takes all genes from the population.
void run_without_exchange(const instance& problem, const options& chosen, evolution& algorithm) {
    workspace scratch(problem, chosen.improve);
    for (breeder& self : algorithm.breeders()) {
        algorithm.initialize(self, scratch);
    }
    for (;;) {
        algorithm.end_generation();
        if (algorithm.is_over()) {
            return;
        }
        for (breeder& self : algorithm.breeders()) {
            while (self.wants_partner()) {
                self.receive_from_population(scratch);
            }
            algorithm.finish(self, scratch);
        }
    }
}

TEST(TspEvolution, ReducesTheNumberOfPartnersFromFourToOne) {
    const instance problem = random_instance(10, 14);
    options chosen;
    chosen.population = 20;
    chosen.breeders = 4;
    chosen.generations = 100;
    evolution algorithm(problem, chosen, 1);
    run_without_exchange(problem, chosen, algorithm);
    EXPECT_EQ(algorithm.now().generation, 100U);
    EXPECT_EQ(algorithm.count().matings, 4U * 25 * (4 + 3 + 2 + 1));
}

TEST(TspEvolution, FindsTheOptimumOfSmallProblems) {
    for (const std::size_t cities : {3U, 4U, 5U, 8U, 12U}) {
        const instance problem = random_instance(cities, cities);
        options chosen;
        chosen.population = 50;
        chosen.breeders = 10;
        chosen.generations = 50;
        evolution algorithm(problem, chosen, 1);
        run_without_exchange(problem, chosen, algorithm);
        EXPECT_EQ(algorithm.now().length, exact_optimum(problem));
        EXPECT_EQ(length_of(problem, algorithm.best()), algorithm.now().length);
    }
}

TEST(TspEvolution, DetectsABreederWithoutItsPartners) {
    const instance problem = random_instance(10, 15);
    options chosen;
    chosen.population = 20;
    chosen.breeders = 4;
    chosen.generations = 2;
    evolution algorithm(problem, chosen, 1);
    workspace scratch(problem, chosen.improve);
    for (breeder& self : algorithm.breeders()) {
        algorithm.initialize(self, scratch);
    }
    algorithm.end_generation();
    EXPECT_FALSE(algorithm.is_over());
    EXPECT_NO_THROW(algorithm.count());
    algorithm.end_generation();
    EXPECT_TRUE(algorithm.is_over());
    EXPECT_THROW(algorithm.count(), std::logic_error);
}

// ---- The baseline for comparison

TEST(TspMutexExchanger, SwapsOrTimesOut) {
    mutex_exchanger<int> channel;
    EXPECT_EQ(channel.exchange(1, std::chrono::nanoseconds(1)), std::nullopt);
    constexpr std::chrono::hours forever(1);
    std::optional<int> theirs;
    std::jthread partner([&] { theirs = channel.exchange(2, forever); });
    EXPECT_EQ(channel.exchange(3, forever), 2);
    partner.join();
    EXPECT_EQ(theirs, 3);
}

TEST(TspMutexExchanger, EndsWaitsWhenClosed) {
    mutex_exchanger<int> channel;
    std::optional<int> theirs = 0;
    std::jthread waiter([&] { theirs = channel.exchange(1); });
    channel.close();
    waiter.join();
    EXPECT_EQ(theirs, std::nullopt);
    EXPECT_EQ(channel.exchange(2), std::nullopt);
}

} // namespace
