// SPDX-License-Identifier: MIT
/// @file
/// An exchange or a selection as an operation of Asio.
/// Asio.
#pragma once

#include <tryst/asio/detail/exchange_executor.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/work_queue.hpp>
#include <tryst/detail/meet/taken_operation.hpp>

#include <memory>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/* The operation state
 * A client of the core operation (tryst/detail/meet/operation.hpp). One allocation holds the
 * handler, the operation and its executor. The offer is made in the initiating function, so that
 * offers keep the order of initiation. The handler is called after the state has been destroyed, so
 * it may throw, and may reuse the memory. It is called from its executor's queue, or, if a partner
 * is waiting, by its immediate executor. */
template <class Handler, class Core>
class operation_state final : exchange_executor<operation_state<Handler, Core>, false> {
    using base = exchange_executor<operation_state, false>;
    using work_queue = detail::work_queue<completion_executor<Handler>, true>;
    friend base;
    using allocator = typename std::allocator_traits<decltype(detail::allocator_for(
        std::declval<const Handler&>()))>::template rebind_alloc<operation_state>;

public:
    /// Makes the operation and begins it. The result goes to `handler`.
    /// @throws whatever the allocator, the handler's move and the executor throw. Then nothing was
    ///   offered.
    static void initiate(Handler& handler, tryst::detail::taken_operation<Core>& operation) {
        allocator memory(detail::allocator_for(handler));
        operation_state* const block = memory.allocate(1);
        try {
            ::new (static_cast<void*>(block)) operation_state(handler, operation);
        } catch (...) {
            memory.deallocate(block, 1);
            throw;
        }
        block->begin();
    }

private:
    /// Destroys a state whose handler may have been moved away.
    struct deleter {
        void operator()(operation_state* ended) noexcept {
            ended->~operation_state();
            memory.deallocate(ended, 1);
        }
        allocator memory;
    };
    using owner = std::unique_ptr<operation_state, deleter>;

    operation_state(Handler& handler, tryst::detail::taken_operation<Core>& operation)
        : queue_(detail::executor_for(handler)), handler_(std::move(handler)),
          core_(operation.make()) {
        core_.set_location(operation.taken_at);
    }
    friend deleter;

    ~operation_state() = default;

    owner owned() noexcept {
        return owner(this, deleter{allocator(detail::allocator_for(handler_))});
    }

    work_queue& queue() noexcept { return queue_; }

    Core& core() noexcept { return core_; }

    auto slot() const noexcept { return net::get_associated_cancellation_slot(handler_); }

    void begin() {
        if (core_.try_match()) {
            complete_at_once();
            return;
        }
        owner self = owned(); // frees the state if the start throws
        base::start(slot());
        self.release();
    }

    /// A partner was waiting.
    void complete_at_once() {
#if TRYST_ASIO_HAS_IMMEDIATE_EXECUTORS
        if constexpr (has_immediate_executor<Handler, completion_executor<Handler>>) {
            const auto immediate =
                net::get_associated_immediate_executor(handler_, detail::executor_for(handler_));
            end([&](Handler&& handler, auto&& result) {
                net::dispatch(immediate,
                              [handler = std::move(handler),
                               result = std::forward<decltype(result)>(result)]() mutable {
                                  std::move(handler)(std::move(result));
                              });
            });
            return;
        }
#endif
        base::queue_completion();
    }

    void complete() {
        slot().clear();
        end([](Handler&& handler, auto&& result) {
            std::move(handler)(std::forward<decltype(result)>(result));
        });
    }

    /// Ends the state's lifetime, and then calls `call` with the handler and the result.
    template <class Call>
    void end(Call call) {
        owner self = owned(); // frees the state even if the handler's move throws
        [[maybe_unused]] const auto work = std::move(queue_);
        Handler handler = std::move(handler_);
        auto result = core_.take_result();
        self.reset();
        call(std::move(handler), std::move(result));
    }

    void on_shutdown() noexcept final { owned().reset(); }

    work_queue queue_;
    Handler handler_;
    Core core_; // last, so that it is destroyed first: its destructor uses the executor
};

struct initiate_operation {
    template <class Handler, class Core>
    void operator()(Handler&& handler, tryst::detail::taken_operation<Core> operation) const {
        std::decay_t<Handler> own(std::forward<Handler>(handler));
        operation_state<std::decay_t<Handler>, Core>::initiate(own, operation);
    }
};

} // namespace detail
TRYST_ASIO_END
