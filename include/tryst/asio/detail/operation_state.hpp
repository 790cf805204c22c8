// SPDX-License-Identifier: MIT
/// @file
/// One of tryst's exchanges as an operation of Asio.
/// Asio.
#pragma once

#include <tryst/asio/detail/handler_traits.hpp>
#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/serial_executor.hpp>
#include <tryst/asio/detail/slot_stop.hpp>
#include <tryst/exchange_operation.hpp>
#include <tryst/executor.hpp>

#include <memory>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/* The operation state
 * A client of the core operation (tryst/detail/meet/operation.hpp). One allocation holds the
 * handler, the exchange and the serial executor on which the exchange completes. The offer is made
 * in the initiating function, so that offers keep the order of initiation. The rest happens in
 * turns of the handler's executor. The handler is called at the end of the last turn, after the
 * state has been destroyed. So it may throw, and may reuse the memory. The steps at the end:
 *
 *   completed  called by the core operation, in a turn: calls `end`
 *   end        detaches the exchange, and tells the serial executor to finish
 *   complete   called by the serial executor, after that turn: destroys the state
 *   tell       calls the handler
 *
 * @tparam Exchange  has
 *   - a constructor from `Make&` and a stop token;
 *   - `core()`, the core operation;
 *   - `bool try_match()`, whether the exchange is complete before an offer;
 *   - `take()`, the outcome of the completed exchange, after which the state may be destroyed;
 *   - `static tell(handler, outcome)`, which calls the handler;
 *   - `stoppable`, whether the handler's cancellation slot ends the wait. */
template <class Handler, class IoExecutor, class Exchange>
class operation_state final
    : public serial_executor<work_queue<completion_executor<Handler, IoExecutor>, true>, true> {
    using queue = work_queue<completion_executor<Handler, IoExecutor>, true>;
    using base = serial_executor<queue, true>;
    using allocator = typename std::allocator_traits<decltype(allocator_for(
        std::declval<const Handler&>()))>::template rebind_alloc<operation_state>;

public:
    /// Makes the exchange and offers it. The result goes to `handler`.
    /// @throws whatever the allocator, the handler's move and the executor throw. Then nothing was
    ///   offered.
    template <class Make>
    static void initiate(Handler& handler, const IoExecutor& io, Make& make) {
        allocator memory(allocator_for(handler));
        operation_state* const at = memory.allocate(1);
        try {
            ::new (static_cast<void*>(at)) operation_state(handler, io, make);
        } catch (...) {
            memory.deallocate(at, 1);
            throw;
        }
        at->start();
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

    template <class Make>
    operation_state(Handler& handler, const IoExecutor& io, Make& make)
        : base(queue(executor_for(handler, io))), io_work_(io), handler_(std::move(handler)),
          stop_(Exchange::stoppable ? net::get_associated_cancellation_slot(handler_)
                                    : net::cancellation_slot()),
          exchange_(make, stop_.get_token()) {
        stop_.listen();
    }
    friend deleter;

    ~operation_state() = default;

    owner owned() noexcept { return owner(this, deleter{allocator(allocator_for(handler_))}); }

    void start() {
        try {
            const executor_scope here(base::ref());
            if (exchange_.try_match()) {
                end();
            } else {
                base::sleep_in_context();
                if (!exchange_.core().start(base::ref(), completed, this)) {
                    end();
                }
            }
        } catch (...) {
            stop_.clear();
            owned().reset();
            throw;
        }
        base::begin();
    }

    /// Call when the exchange is complete. Marks it as finished at once, because its state may be
    /// destroyed before its result is taken: with the context, or because a handler's move throws.
    void end() noexcept {
        exchange_.core().finish();
        base::finish();
    }

    static void completed(executor_node* node) noexcept {
        using core = std::remove_reference_t<decltype(std::declval<Exchange&>().core())>;
        static_cast<operation_state*>(core::client_of(node))->end();
    }

    void complete() final {
        stop_.clear();
        owner self = owned(); // a handler's move may throw, as its call may
        [[maybe_unused]] const auto work = std::move(base::turns_);
        Handler handler = std::move(handler_);
        auto outcome = exchange_.take();
        self.reset();
        Exchange::tell(std::move(handler), std::move(outcome));
    }

    void on_shutdown() noexcept final {
        base::dispose([this] { owned().reset(); });
    }

    [[no_unique_address]] io_work<IoExecutor> io_work_;
    Handler handler_;
    slot_stop stop_;
    Exchange exchange_; // last: its destructor needs the executor
};

} // namespace detail
TRYST_ASIO_END
