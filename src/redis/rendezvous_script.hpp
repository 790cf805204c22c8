// SPDX-License-Identifier: MIT
/// @file
/// The script rendezvous.lua.
/// Standard library only.
#pragma once

#include <string_view>

namespace tryst::redis {

extern const std::string_view rendezvous_script;

} // namespace tryst::redis
