// SPDX-License-Identifier: MIT
#include <tryst/uring/detail/stream.hpp>

#include "failure.hpp"
#include "opcodes.hpp"
#include "reactor.hpp"

#include <tryst/uring/accept_stream.hpp>
#include <tryst/uring/recv_stream.hpp>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <limits>
#include <stdexcept>
#include <system_error>

#include <sys/socket.h>

namespace tryst::uring {
namespace detail {

void stream_base::wait(operation_base& next) noexcept {
    assert(waiting_ == nullptr && "tryst: only one operation may wait for a stream at a time");
    if (!untaken_.empty()) {
        const auto first = untaken_.pop();
        reactor_->finish(next, first.result, first.flags);
        return;
    }
    waiting_ = &next;
    started_for_waiter_ = !is_started();
    if (started_for_waiter_) {
        reactor_->submissions().queue(source_);
        reactor_->submissions().flush();
    }
}

void stream_base::forget_waiter() noexcept {
    waiting_ = nullptr;
    started_for_waiter_ = false;
}

void stream_base::complete(int result, std::uint32_t flags) noexcept {
    const bool goes_on = (flags & IORING_CQE_F_MORE) != 0;
    if (!goes_on) {
        source_.unlink();
        source_.enter(operation_state::over);
        opcode& code = source_.request_.code;
        const bool is_multishot =
            code == opcode::accept_multishot || code == opcode::recv_multishot;
        if (result == -EINVAL && is_multishot) { // the kernel does not know multishot operations
            code = code == opcode::accept_multishot ? opcode::accept : opcode::recv;
            result = -EINTR;
        }
        // The source was cancelled, or it found no free buffer before an operation waited. By now a
        // buffer may be free.
        if (result == -ECANCELED || is_interruption(result) ||
            (result == -ENOBUFS && !started_for_waiter_)) {
            if (waiting_ != nullptr) {
                started_for_waiter_ = true;
                reactor_->submissions().queue(source_);
            }
            return;
        }
    }
    if (waiting_ != nullptr) {
        reactor_->finish(*waiting_, result, flags);
        return;
    }
    if (!untaken_.push({result, flags})) {
        drop_(*this, {result, flags});
    }
    if (goes_on && untaken_.size() >= room_ && !source_.is_cancelled()) {
        source_.reason_ = end_reason::stop;
        reactor_->submissions().cancel(source_);
    }
}

} // namespace detail

// ---- Connections

namespace {
// This many connections are accepted ahead; more wait in the listener's backlog.
constexpr std::size_t accepted_ahead = 64;
} // namespace

accept_stream::accept_stream(context& owner, int listener)
    : stream_base(*owner.reactor_,
                  {detail::opcode::accept_multishot, listener, 0, 0, int{SOCK_CLOEXEC}},
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

// ---- Pieces

namespace {
io_uring_buf_ring* ring_in(const buffer_pool& memory) noexcept {
    return reinterpret_cast<io_uring_buf_ring*>(memory.memory().data());
}

/// The kernel's lengths have 32 bits.
constexpr std::size_t most = std::numeric_limits<std::uint32_t>::max();

std::size_t checked(std::size_t size) {
    if (size > most) {
        throw std::invalid_argument("tryst::uring::recv_stream: size must be less than 4 GiB");
    }
    return size;
}
} // namespace

received::~received() {
    if (stream_ != nullptr) {
        stream_->give_back(bytes_.data());
    }
}

recv_stream::recv_stream(context& owner, int socket, std::size_t count, std::size_t size)
    : stream_base(*owner.reactor_, {detail::opcode::recv_multishot, socket}, count, drop),
      memory_(count, checked(size)), ring_memory_(1, count * sizeof(io_uring_buf)) {
    io_uring_buf_reg registration{};
    registration.ring_addr = reinterpret_cast<std::uintptr_t>(ring_in(ring_memory_));
    registration.ring_entries = static_cast<std::uint32_t>(count);
    int error = EEXIST;
    // Numbers of groups have 16 bits and are reused; a long-lived stream may still use this one.
    for (unsigned left = 1u << 16; error == EEXIST && left != 0; --left) {
        registration.bgid = owner.reactor_->new_buffer_group();
        error = -io_uring_register_buf_ring(owner.reactor_->ring_handle(), &registration, 0);
    }
    set_group(registration.bgid);
    if (error != 0) {
        throw detail::uring_failure(error, "register_buf_ring");
    }
    io_uring_buf_ring_init(ring_in(ring_memory_));
    for (std::size_t i = 0; i != count; ++i) {
        give_back(memory_.memory().data() + i * memory_.buffer_size());
    }
}

recv_stream::~recv_stream() {
    end();
    // After this call the kernel no longer refers to the ring of buffers. On a thread other than
    // the context's the call fails. But then no operation is in flight that could take a buffer.
    if (!owner().is_in_child()) {
        io_uring_unregister_buf_ring(owner().ring_handle(), group());
    }
}

result<received> recv_stream::next_operation::await_resume() noexcept {
    if (outcome() < 0) {
        return {"recv", error()};
    }
    return {"recv", take()};
}

recv_stream::next_operation::~next_operation() {
    abandon();
    const received unclaimed = take();
}

received recv_stream::next_operation::take() noexcept {
    const int size = take_outcome();
    return size < 0 ? received(nullptr, {})
                    : static_cast<recv_stream&>(stream()).piece({size, completion_flags()});
}

void recv_stream::drop(stream_base& self, completion lost) noexcept {
    if (lost.result >= 0) {
        const received unclaimed = static_cast<recv_stream&>(self).piece(lost);
    }
}

received recv_stream::piece(completion got) noexcept {
    if ((got.flags & IORING_CQE_F_BUFFER) == 0) {
        return {nullptr, {}};
    }
    const std::size_t index = got.flags >> IORING_CQE_BUFFER_SHIFT;
    std::byte* const first = memory_.memory().data() + index * memory_.buffer_size();
    return {this, {first, static_cast<std::size_t>(got.result)}};
}

void recv_stream::give_back(std::byte* first) noexcept {
    const auto offset = static_cast<std::size_t>(first - memory_.memory().data());
    io_uring_buf_ring* const ring = ring_in(ring_memory_);
    io_uring_buf_ring_add(
        ring, first, static_cast<unsigned>(std::min(memory_.buffer_size(), most)),
        static_cast<unsigned short>(offset / memory_.buffer_size()),
        io_uring_buf_ring_mask(static_cast<std::uint32_t>(memory_.buffer_count())), 0);
    io_uring_buf_ring_advance(ring, 1);
}

} // namespace tryst::uring
