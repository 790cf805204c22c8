// SPDX-License-Identifier: MIT
#include <tryst/uring/context.hpp>

#include "reactor.hpp"

#include <sys/socket.h>

namespace tryst::uring {

namespace {

/// Marks the calling thread, until the end of the scope, as the one that runs this context.
class running_scope {
public:
    explicit running_scope(detail::reactor& reactor)
        : outer_(std::exchange(detail::running_reactor, &reactor)) {}
    running_scope(const running_scope&) = delete;
    running_scope& operator=(const running_scope&) = delete;
    ~running_scope() { detail::running_reactor = outer_; }

private:
    detail::reactor* outer_;
};

} // namespace

context::context(context_options options)
    : base(options.max_spins),
      reactor_(std::make_unique<detail::reactor>(*this, queue(), timers(), options)) {}

context::~context() {
    dispose();
}

std::size_t context::run() {
    claim();
    const running_scope here(*reactor_);
    const std::size_t count = run_until_stopped();
    reactor_->quiesce();
    return count;
}

void context::claim() {
    reactor_->claim_thread();
}

void context::run_to(const bool& ended) noexcept {
    const running_scope here(*reactor_);
    run_until(ended);
    reactor_->quiesce();
}

std::size_t context::run_until_idle() {
    reactor_->claim_thread();
    const running_scope here(*reactor_);
    return run_ready();
}

result<void> context::register_buffers(const buffer_pool& pool) noexcept {
    return reactor_->register_buffers(pool);
}

result<void> context::unregister_buffers(const buffer_pool& pool) noexcept {
    return reactor_->unregister_buffers(pool);
}

unsigned context::setup_flags() const noexcept {
    return reactor_->setup_flags();
}

int context::registration_of(const buffer_pool* pool) const noexcept {
    return reactor_->registration_of(pool);
}

operation<void> context::fsync(int file, bool data_only, limits until) noexcept {
    return make<void>({.code = opcode::fsync,
                       .descriptor = file,
                       .flags = data_only ? IORING_FSYNC_DATASYNC : 0u},
                      until);
}

operation<descriptor> context::openat(int directory, const char* path, int flags, mode_t mode,
                                      limits until) noexcept {
    return make<descriptor>({.code = opcode::openat,
                             .descriptor = directory,
                             .length = mode,
                             .flags = static_cast<std::uint32_t>(flags | O_CLOEXEC),
                             .address = bits(path)},
                            until);
}

operation<descriptor> context::accept(int listener, limits until) noexcept {
    return make<descriptor>({.code = opcode::accept, .descriptor = listener, .flags = SOCK_CLOEXEC},
                            until);
}

operation<void> context::connect(int socket, const sockaddr* address, socklen_t length,
                                 limits until) noexcept {
    return make<void>(
        {.code = opcode::connect, .descriptor = socket, .address = bits(address), .offset = length},
        until);
}

operation<std::size_t> context::send(int socket, std::span<const std::byte> from, int flags,
                                     limits until) noexcept {
    return make<std::size_t>({.code = opcode::send,
                              .descriptor = socket,
                              .length = length_of(from.size()),
                              .flags = static_cast<std::uint32_t>(flags | MSG_NOSIGNAL),
                              .address = bits(from.data())},
                             until);
}

operation<std::size_t> context::recv(int socket, std::span<std::byte> into, int flags,
                                     limits until) noexcept {
    return make<std::size_t>({.code = opcode::recv,
                              .descriptor = socket,
                              .length = length_of(into.size()),
                              .flags = static_cast<std::uint32_t>(flags),
                              .address = bits(into.data())},
                             until);
}

operation<unsigned> context::poll(int file, short events, limits until) noexcept {
    return make<unsigned>(
        {.code = opcode::poll, .descriptor = file, .flags = static_cast<std::uint16_t>(events)},
        until);
}

void context::deliver(executor_node* node) noexcept {
    reactor_->deliver(node);
}
executor_node* context::take_mail() noexcept {
    return reactor_->take_mail();
}
bool context::has_events() const noexcept {
    return reactor_->has_events();
}
void context::fetch_events() noexcept {
    reactor_->fetch_events();
}
void context::sleep() noexcept {
    reactor_->sleep(nullptr);
}
void context::sleep_until(time_point deadline) noexcept {
    reactor_->sleep(&deadline);
}

} // namespace tryst::uring
