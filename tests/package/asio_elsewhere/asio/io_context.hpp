// SPDX-License-Identifier: MIT
#pragma GCC system_header
#define TRYST_TEST_FOUND_ASIO_ELSEWHERE
#include_next <asio/io_context.hpp>
