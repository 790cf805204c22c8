// SPDX-License-Identifier: MIT
#include "svg.hpp"

#include "evolution.hpp"
#include "tour.hpp"

#include <fmt/format.h>
#include <fmt/ostream.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <string_view>

namespace tsp {

namespace {

constexpr double width = 800; // of the map
constexpr double margin = 40;
constexpr double header = 90;

/// Maps the plane, in which y points up, to the picture, in which y points down.
class projection {
public:
    explicit projection(std::span<const point> points) {
        const auto [left, right] = std::ranges::minmax_element(points, {}, &point::x);
        const auto [bottom, top] = std::ranges::minmax_element(points, {}, &point::y);
        left_ = left->x;
        top_ = top->y;
        const double wide = right->x - left->x;
        const double high = top->y - bottom->y;
        // Avoid a division by zero if all cities are in one point.
        scale_ = width / std::max({wide, high, 1e-9});
        offset_ = (width - wide * scale_) / 2;
        height_ = std::max(high * scale_, width / 4);
    }

    double height() const noexcept { return height_; }

    point operator()(point p) const noexcept {
        return {.x = margin + offset_ + (p.x - left_) * scale_,
                .y = header + (top_ - p.y) * scale_};
    }

private:
    double left_;
    double top_;
    double scale_;
    double offset_;
    double height_;
};

std::string escaped(std::string_view text) {
    std::string safe;
    for (const char each : text) {
        switch (each) {
        case '&':
            safe += "&amp;";
            break;
        case '<':
            safe += "&lt;";
            break;
        case '>':
            safe += "&gt;";
            break;
        default:
            safe += each;
        }
    }
    return safe;
}

} // namespace

void write_svg(std::ostream& to, const instance& problem, std::span<const city> tour,
               std::optional<std::int64_t> optimum) {
    const projection on_map(problem.points());
    const std::int64_t length = length_of(problem, tour);
    const std::string name = escaped(problem.name());
    std::string subtitle = fmt::format("{} cities, length {}", tour.size(), length);
    if (optimum) {
        subtitle += length == *optimum
                        ? ", optimal"
                        : fmt::format(", {:.2f}% above the optimum", gap(length, *optimum));
    }

    const double page_width = width + 2 * margin;
    const double page_height = header + on_map.height() + margin;
    fmt::print(to,
               R"(<?xml version="1.0" encoding="UTF-8"?>
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {0:.0f} {1:.0f}"
 width="{0:.0f}" height="{1:.0f}">
<title>{2}: {3}</title>
<rect width="100%" height="100%" fill="#fbfaf7"/>
<g font-family="Helvetica, Arial, sans-serif" fill="#22303c">
<text x="{4:.0f}" y="42" font-size="26" font-weight="bold">{2}</text>
<text x="{4:.0f}" y="68" font-size="16" fill="#5b6b79">{3}</text>
</g>
<polygon fill="#dfeaf2" stroke="#1f6f9f" stroke-width="2" stroke-linejoin="round" points=")",
               page_width, page_height, name, subtitle, margin);
    for (const city each : tour) {
        const point p = on_map(problem.points()[each]);
        fmt::print(to, "{:.1f},{:.1f} ", p.x, p.y);
    }
    fmt::print(to, "\"/>\n<g fill=\"#d1495b\">\n");
    // The more cities, the smaller the circles.
    const double radius = std::clamp(45 / std::sqrt(static_cast<double>(tour.size())), 1.0, 6.0);
    for (const point each : problem.points()) {
        const point p = on_map(each);
        fmt::print(to, "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"/>\n", p.x, p.y, radius);
    }
    to << "</g>\n</svg>\n";
}

} // namespace tsp
