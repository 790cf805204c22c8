// SPDX-License-Identifier: MIT
/// @file
/// Awaits an operation of tryst as an Asio operation, then calls a completion handler.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/registry.hpp>
#include <tryst/asio/detail/serial_executor.hpp>
#include <tryst/asio/detail/slot_stop.hpp>
#include <tryst/executor.hpp>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

template <class Operation>
using result_of = decltype(std::declval<Operation&>().await_resume());

/// The operation that `Start` makes, given a stop token.
template <class Start>
using started_by = std::invoke_result_t<Start&, slot_stop::token>;

/// Stands for the I/O executor if there is none: everything happens on the handler's executor.
struct no_io_executor {};

template <class Handler, class IoExecutor>
using completion_executor =
    net::associated_executor_t<Handler,
                               std::conditional_t<std::is_same_v<IoExecutor, no_io_executor>,
                                                  net::system_executor, IoExecutor>>;

/// The arguments of a driver. Lives in the initiating function; the driver moves from it.
template <class Handler, class IoExecutor>
struct initiation {
    Handler& handler;
    const IoExecutor& io;

    completion_executor<Handler, IoExecutor> executor() const noexcept {
        if constexpr (std::is_same_v<IoExecutor, no_io_executor>) {
            return net::get_associated_executor(handler);
        } else {
            return net::get_associated_executor(handler, io);
        }
    }
};

/// Keeps the I/O executor's context from running out of work.
template <class IoExecutor>
struct io_work {
    explicit io_work(const IoExecutor& io) : guard(io) {}
    net::executor_work_guard<IoExecutor> guard;
};
template <>
struct io_work<no_io_executor> {
    explicit io_work(const no_io_executor& /*io*/) noexcept {}
};

/// Allocates frames with the handler's associated allocator, or from Asio's recycled memory.
template <class Handler>
class frame_memory {
    struct alignas(std::max_align_t) unit {
        std::byte bytes[alignof(std::max_align_t)];
    };
    using allocator = typename std::allocator_traits<net::associated_allocator_t<
        Handler, net::recycling_allocator<void>>>::template rebind_alloc<unit>;

    static constexpr std::size_t units(std::size_t size) noexcept {
        return (size + sizeof(unit) - 1) / sizeof(unit);
    }

public:
    static void* allocate(std::size_t size, const Handler& handler) {
        allocator memory(net::get_associated_allocator(handler, net::recycling_allocator<void>()));
        const std::size_t frame = units(size);
        unit* const at = memory.allocate(frame + units(sizeof(allocator)));
        ::new (static_cast<void*>(at + frame)) allocator(memory);
        return at;
    }

    static void deallocate(void* frame_memory, std::size_t size) noexcept {
        auto* const at = static_cast<unit*>(frame_memory);
        const std::size_t frame = units(size);
        auto* const kept = std::launder(reinterpret_cast<allocator*>(at + frame));
        allocator memory(std::move(*kept));
        std::destroy_at(kept);
        memory.deallocate(at, frame + units(sizeof(allocator)));
    }
};

struct own_stop_token {};

/// A parameter of a coroutine that its promise ignores.
struct anything {
    template <class T>
    anything(T& /*of*/) noexcept {}
};

/* The driver
 * A driver is the promise of a coroutine that awaits one operation and returns its outcome. It is
 * also the executor on which the coroutine awaits.
 *
 * I1. The coroutine starts in the initiating function, so offers are made in the order of
 *     initiation. (A task starts in a turn.)
 * I2. The coroutine is resumed in turns of the handler's executor only.
 * I3. The handler is called at the end of the last turn, after the frame has been destroyed. So the
 *     handler may throw, and may reuse the memory.
 *
 * @tparam Outcome  stores the coroutine's result and tells it to the handler. `stoppable` says
 *   whether the handler's cancellation slot is used, `runs_tasks` whether it is a task. */
template <class Handler, class IoExecutor, class Outcome>
class driver final
    : public serial_executor<work_queue<completion_executor<Handler, IoExecutor>, true>, true>,
      public Outcome {
    using queue = work_queue<completion_executor<Handler, IoExecutor>, true>;
    using base = serial_executor<queue, true>;
    using memory = frame_memory<Handler>;

public:
    struct coroutine {
        using promise_type = driver;
        driver& promise;
    };

    template <class... Rest>
    explicit driver(initiation<Handler, IoExecutor>& from, Rest&... /*rest*/)
        : base(queue(from.executor())), io_work_(from.io), handler_(std::move(from.handler)),
          stop_(Outcome::stoppable ? net::get_associated_cancellation_slot(handler_)
                                   : net::cancellation_slot()) {
        stop_.listen();
    }

    // Not a template: where g++ 12 does not inline one, it warns of mismatched new and delete.
    static void* operator new(std::size_t size, initiation<Handler, IoExecutor>& from,
                              anything /*work*/) {
        return memory::allocate(size, from.handler);
    }
    static void operator delete(void* frame, std::size_t size) noexcept {
        memory::deallocate(frame, size);
    }

    coroutine get_return_object() noexcept { return {*this}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    auto final_suspend() noexcept {
        struct last : std::suspend_always {
            void await_suspend(std::coroutine_handle<driver> self) const noexcept {
                self.promise().finish();
            }
        };
        return last{};
    }

    /// The driver as an executor, for `executor_of`.
    executor_ref executor() const noexcept { return base::ref(); }

    /// Finds the registry of the context before the operation suspends. For tasks, `start_later`
    /// has done so.
    template <class Operation>
    auto await_transform(Operation&& operation) noexcept {
        return first_await<std::remove_reference_t<Operation>>{operation, *this};
    }

    /// `co_await own_stop_token()` returns a token that follows the handler's cancellation slot.
    auto await_transform(own_stop_token /*which*/) noexcept {
        struct ready : std::suspend_never {
            slot_stop::token token;
            slot_stop::token await_resume() const noexcept { return token; }
        };
        return ready{{}, stop_.get_token()};
    }

    /// Runs the coroutine until it suspends.
    void start() {
        try {
            const executor_scope here(base::ref());
            handle().resume();
        } catch (...) {
            stop_.clear();
            handle().destroy();
            throw;
        }
        base::begin();
    }

    /// Starts the coroutine in a turn of its own.
    void start_later() {
        try {
            base::sleep_in_context();
        } catch (...) {
            stop_.clear();
            handle().destroy();
            throw;
        }
        first_.driver = this;
        first_.run = [](executor_node* node) noexcept {
            static_cast<first_step*>(node)->driver->handle().resume();
        };
        base::queue_.push(&first_);
        base::begin();
    }

private:
    struct first_step : executor_node {
        class driver* driver = nullptr;
    };

    template <class Operation>
    struct first_await {
        Operation& operation;
        driver& self;

        bool await_ready() {
            const bool ready = operation.await_ready();
            if constexpr (!Outcome::runs_tasks) {
                if (!ready) {
                    self.sleep_in_context();
                }
            }
            return ready;
        }
        auto await_suspend(std::coroutine_handle<driver> handle) noexcept {
            return operation.await_suspend(handle);
        }
        decltype(auto) await_resume() { return operation.await_resume(); }
    };

    struct frame_end {
        void operator()(driver* ended) const noexcept { ended->handle().destroy(); }
    };

    std::coroutine_handle<driver> handle() noexcept {
        return std::coroutine_handle<driver>::from_promise(*this);
    }

    void complete() final {
        stop_.clear();
        // Owned, because moving the handler may throw.
        std::unique_ptr<driver, frame_end> frame(this);
        [[maybe_unused]] const auto work = std::move(base::turns_);
        Handler handler = std::move(handler_);
        Outcome outcome = std::move(static_cast<Outcome&>(*this));
        frame.reset();
        std::move(outcome).tell(std::move(handler));
    }

    void on_shutdown() noexcept final {
        base::dispose([this] { handle().destroy(); });
    }

    [[no_unique_address]] io_work<IoExecutor> io_work_;
    Handler handler_;
    slot_stop stop_;
    first_step first_;
};

} // namespace detail
TRYST_ASIO_END
