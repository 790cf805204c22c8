// SPDX-License-Identifier: MIT
// What docs/choosing.md shows. Its first block is a program.
#include "context.hpp"

#include "docs/choosing.md/1"

namespace {

using empty_buffer = std::vector<char>;
using request = std::string;

void handle(const request& /*got*/) {}

#include "docs/choosing.md/2"

#include "docs/choosing.md/3"

tryst::task<> take(free_buffers& from) {
    static_cast<void>(co_await from.receive());
}

[[maybe_unused]] const bool checked = []() noexcept {
    tryst::run_loop loop;
    tryst::synchronous_channel<request> requests;
    free_buffers buffers;
    std::stop_source stop;
    loop.spawn(server(requests, stop.get_token()));
    loop.spawn(client(requests, "question"));
    loop.spawn(take(buffers));
    loop.run_until_idle();
    return buffers.try_send(empty_buffer()).has_value();
}();

} // namespace
