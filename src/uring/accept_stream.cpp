// SPDX-License-Identifier: MIT
#include <tryst/uring/accept_stream.hpp>

#include "reactor.hpp"

#include <sys/socket.h>

namespace tryst::uring {

namespace {
// This many connections are accepted ahead; more wait in the listener's backlog.
constexpr std::size_t accepted_ahead = 64;
} // namespace

accept_stream::accept_stream(context& owner, int listener)
    : stream_base(
          *owner.reactor_,
          {.code = detail::opcode::accept_multishot, .descriptor = listener, .flags = SOCK_CLOEXEC},
          accepted_ahead, drop) {}

accept_stream::~accept_stream() {
    end();
    while (!untaken().empty()) {
        drop(*this, untaken().pop());
    }
}

void accept_stream::drop(stream_base& /*self*/, completion lost) noexcept {
    if (lost.result >= 0) {
        descriptor unclaimed(lost.result);
    }
}

} // namespace tryst::uring
