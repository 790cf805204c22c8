// SPDX-License-Identifier: MIT
/// @file
/// One of tryst's exchanges as an operation of Asio.
/// Asio.
#pragma once

#include <tryst/asio/detail/exchange_executor.hpp>
#include <tryst/asio/detail/handler_traits.hpp>
#include <tryst/asio/detail/item_in_the_end.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/work_queue.hpp>
#include <tryst/exchange_operation.hpp>

#include <memory>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/* The operation state
 * A client of the core operation (tryst/detail/meet/operation.hpp). One allocation holds the
 * handler, the exchange and its executor. The offer is made in the initiating function, so that
 * offers keep the order of initiation. The handler is called after the state has been destroyed, so
 * it may throw, and may reuse the memory. It is called from its executor's queue, or, if a partner
 * is waiting, by its immediate executor. */
template <class Handler, class IoExecutor, class Operation>
class operation_state final : exchange_executor<operation_state<Handler, IoExecutor, Operation>> {
    using base = exchange_executor<operation_state>;
    using work_queue = detail::work_queue<completion_executor<Handler, IoExecutor>, true>;
    friend base;
    using allocator = typename std::allocator_traits<decltype(detail::allocator_for(
        std::declval<const Handler&>()))>::template rebind_alloc<operation_state>;

public:
    /// Makes the exchange and offers it. The result goes to `handler`.
    /// @throws whatever the allocator, the handler's move and the executor throw. Then nothing was
    ///   offered.
    template <class Make>
    static void initiate(Handler& handler, const IoExecutor& io, Make& make) {
        allocator memory(detail::allocator_for(handler));
        operation_state* const block = memory.allocate(1);
        try {
            ::new (static_cast<void*>(block)) operation_state(handler, io, make);
        } catch (...) {
            memory.deallocate(block, 1);
            throw;
        }
        block->begin();
    }

private:
    static constexpr bool continues = false; // the handler may block

    /// Destroys a state whose handler may have been moved away.
    struct deleter {
        void operator()(operation_state* ended) noexcept {
            ended->~operation_state();
            memory.deallocate(ended, 1);
        }
        allocator memory;
    };
    using owner = std::unique_ptr<operation_state, deleter>;

    template <class Make>
    operation_state(Handler& handler, const IoExecutor& io, Make& make)
        : queue_(detail::executor_for(handler, io)), io_work_(io), handler_(std::move(handler)),
          operation_(make()) {}
    friend deleter;

    ~operation_state() = default;

    owner owned() noexcept {
        return owner(this, deleter{allocator(detail::allocator_for(handler_))});
    }

    work_queue& queue() noexcept { return queue_; }

    auto& core() noexcept { return tryst::detail::operation_access::of(operation_); }

    auto slot() const noexcept { return net::get_associated_cancellation_slot(handler_); }

    void begin() {
        if (core().try_match()) {
            complete_at_once();
            return;
        }
        try {
            base::start(slot());
        } catch (...) {
            slot().clear();
            owned().reset();
            throw;
        }
    }

    /// A partner was waiting.
    void complete_at_once() {
#if TRYST_ASIO_HAS_IMMEDIATE_EXECUTORS
        using executor = completion_executor<Handler, IoExecutor>;
        if constexpr (has_immediate_executor<Handler, executor>) {
            const auto immediate = net::get_associated_immediate_executor(
                handler_, executor_for(handler_, io_work_.executor()));
            end([&](Handler&& handler, auto&& result) {
                net::dispatch(immediate,
                              [handler = std::move(handler),
                               result = std::forward<decltype(result)>(result)]() mutable {
                                  detail::tell(std::move(handler), std::move(result));
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
            detail::tell(std::move(handler), std::forward<decltype(result)>(result));
        });
    }

    /// Ends the state's lifetime, and then calls `call` with the handler and the result.
    template <class Call>
    void end(Call call) {
        owner self = owned(); // frees the state even if the handler's move throws
        [[maybe_unused]] const auto work = std::move(queue_);
        Handler handler = std::move(handler_);
        auto result = core().take_result();
        self.reset();
        call(std::move(handler), std::move(result));
    }

    void dispose() noexcept { owned().reset(); }

    work_queue queue_;
    [[no_unique_address]] io_work<IoExecutor> io_work_;
    Handler handler_;
    Operation operation_; // last, so that it is destroyed first: its destructor uses the executor
};

} // namespace detail
TRYST_ASIO_END
