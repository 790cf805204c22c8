// SPDX-License-Identifier: MIT
/// @file
/// How a TSPLIB file defines distances: by a function of coordinates, or as a part of the matrix.
#pragma once

#include "distances.hpp"

#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

namespace tsp {

/// A value of EDGE_WEIGHT_TYPE.
struct weight_type {
    std::string_view name;
    metric distance; ///< Null if the weights are in the file.
};

inline constexpr std::array weight_types{weight_type{"EUC_2D", euc_2d},
                                         weight_type{"CEIL_2D", ceil_2d}, weight_type{"ATT", att},
                                         weight_type{"GEO", geo}, weight_type{"EXPLICIT", nullptr}};

/// A value of EDGE_WEIGHT_FORMAT: which part of the matrix is in the file, row by row.
struct weight_format {
    enum class part : unsigned char { none, all, above_diagonal, below_diagonal };

    std::string_view name;
    part listed;
    bool has_diagonal;

    /// The listed columns of `row`, as a half-open range.
    constexpr std::pair<std::size_t, std::size_t> columns(std::size_t row,
                                                          std::size_t cities) const noexcept {
        const std::size_t diagonal = has_diagonal ? 1 : 0;
        switch (listed) {
        case part::none:
            return {0, 0};
        case part::all:
            return {0, cities};
        case part::above_diagonal:
            return {row + 1 - diagonal, cities};
        case part::below_diagonal:
            return {0, row + diagonal};
        }
        return {0, 0};
    }

    constexpr std::size_t weights(std::size_t cities) const noexcept {
        std::size_t sum = 0;
        for (std::size_t row = 0; row != cities; ++row) {
            const auto [first, end] = columns(row, cities);
            sum += end - first;
        }
        return sum;
    }
};

// The matrix is symmetric, so the columns of one triangle are the rows of the other.
inline constexpr std::array weight_formats{
    weight_format{"FUNCTION", weight_format::part::none, false},
    weight_format{"FULL_MATRIX", weight_format::part::all, true},
    weight_format{"UPPER_ROW", weight_format::part::above_diagonal, false},
    weight_format{"LOWER_ROW", weight_format::part::below_diagonal, false},
    weight_format{"UPPER_DIAG_ROW", weight_format::part::above_diagonal, true},
    weight_format{"LOWER_DIAG_ROW", weight_format::part::below_diagonal, true},
    weight_format{"UPPER_COL", weight_format::part::below_diagonal, false},
    weight_format{"LOWER_COL", weight_format::part::above_diagonal, false},
    weight_format{"UPPER_DIAG_COL", weight_format::part::below_diagonal, true},
    weight_format{"LOWER_DIAG_COL", weight_format::part::above_diagonal, true}};

} // namespace tsp
