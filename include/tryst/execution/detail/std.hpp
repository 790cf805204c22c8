// SPDX-License-Identifier: MIT
/// @file
/// The senders that the adapter is for: `std::execution` if the standard library has it, otherwise
/// stdexec.
/// std::execution or stdexec.
#pragma once

#include <version>

#if defined(__cpp_lib_senders)

#include <execution>
#include <stop_token>

namespace tryst::execution::detail {

namespace ex = std::execution;
namespace stops = std; ///< Where stop tokens are declared.

} // namespace tryst::execution::detail

#else

#include <exec/completion_behavior.hpp>
#include <stdexec/execution.hpp>

namespace tryst::execution::detail {

namespace ex = ::stdexec;
namespace stops = ::stdexec; ///< Where stop tokens are declared.

} // namespace tryst::execution::detail

#endif
