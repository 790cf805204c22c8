// SPDX-License-Identifier: MIT
/// @file
/// Texts that compilers quote in their errors.
/// Standard library only.
#pragma once

#include <cstddef>

namespace tryst::detail {

/// A string literal as a template argument, so that compilers quote it in diagnostics.
template <std::size_t Size>
struct text {
    char characters[Size] = {};

    // Implicit, because a string literal is the template argument.
    consteval text(const char (&literal)[Size]) {
        for (std::size_t i = 0; i != Size; ++i) {
            characters[i] = literal[i];
        }
    }
};

} // namespace tryst::detail
