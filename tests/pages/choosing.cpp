// SPDX-License-Identifier: MIT
// What docs/choosing.md shows, within a program.
#include "context.hpp"

using empty_buffer = std::vector<char>;
using full_buffer = std::string;
using request = std::string;

void handle(const request&) {}

#include "docs/choosing.md/1"

#include "docs/choosing.md/2"

#include "docs/choosing.md/3"

tryst::task<> take(free_buffers& from) {
    static_cast<void>(co_await from.receive());
}
