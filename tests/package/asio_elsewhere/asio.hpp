// SPDX-License-Identifier: MIT
// Asio in a folder of its own.
#include_next <asio.hpp>
