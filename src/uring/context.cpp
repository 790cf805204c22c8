// SPDX-License-Identifier: MIT
#include <tryst/uring/context.hpp>

#include "reactor.hpp"

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
