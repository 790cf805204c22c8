// SPDX-License-Identifier: MIT
/// @file
/// What a shared library, whose symbols are hidden by default, does with an exchanger of its user.
#pragma once

#include <tryst/exchanger.hpp>

#include <system_error>

namespace tryst::test {

/// The error of a `try_exchange` in the library.
[[gnu::visibility("default")]] std::error_code error_from_library(exchanger<int>& ex);

} // namespace tryst::test
