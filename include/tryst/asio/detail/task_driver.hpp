// SPDX-License-Identifier: MIT
/// @file
/// A task as an operation of Asio: runs it, then calls a completion handler.
/// Asio.
#pragma once

#include <tryst/asio/detail/net.hpp>
#include <tryst/asio/detail/serial_executor.hpp>
#include <tryst/asio/detail/work_queue.hpp>
#include <tryst/executor.hpp>

#include <coroutine>
#include <cstddef>
#include <memory>
#include <new>
#include <stop_token>
#include <type_traits>
#include <utility>

TRYST_ASIO_BEGIN
namespace detail {

/// An argument of the driver's constructor, in the initiating function. The driver moves the
/// handler out of it.
template <class Handler>
struct task_initiation {
    Handler& handler;
    std::stop_source stop{std::nostopstate}; ///< If it has a state, the slot is to request a stop.
};

/// Allocates frames with the handler's associated allocator, or from Asio's recycled memory.
template <class Handler>
class frame_memory {
    struct alignas(std::max_align_t) unit {
        std::byte bytes[alignof(std::max_align_t)];
    };
    using allocator = typename std::allocator_traits<decltype(detail::allocator_for(
        std::declval<const Handler&>()))>::template rebind_alloc<unit>;

    static constexpr std::size_t units(std::size_t size) noexcept {
        return (size + sizeof(unit) - 1) / sizeof(unit);
    }

public:
    static void* allocate(std::size_t size, const Handler& handler) {
        allocator memory(detail::allocator_for(handler));
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

/// A coroutine parameter that the promise ignores.
struct anything {
    template <class T>
    anything(T& /*of*/) noexcept {}
};

/* The task driver
 * A coroutine that awaits one task and returns its outcome. This class is its promise, and also the
 * executor on which the task runs, in turns of the handler's executor. The handler is called at the
 * end of the last turn, after the frame has been destroyed. So it may throw, and may reuse the
 * memory.
 *
 * @tparam Outcome  stores what the coroutine returns, and passes it to a handler. */
template <class Handler, class Outcome>
class task_driver final
    : public serial_executor<work_queue<completion_executor<Handler>, true>, true>,
      public Outcome {
    using queue = work_queue<completion_executor<Handler>, true>;
    using base = serial_executor<queue, true>;
    using memory = frame_memory<Handler>;

public:
    struct coroutine {
        using promise_type = task_driver;
        task_driver& promise;
    };

    template <class... Rest>
    explicit task_driver(task_initiation<Handler>& from, Rest&... /*rest*/)
        : base(queue(detail::executor_for(from.handler))), handler_(std::move(from.handler)) {
        registry& found = base::find_registry();
        if (from.stop.stop_possible()) {
            slot().assign([stop = from.stop](net::cancellation_type_t type) mutable {
                if (type != net::cancellation_type_t::none) {
                    stop.request_stop();
                }
            });
        }
        base::enter(found);
    }

    // Not a template: if g++ 12 does not inline a template here, it warns of mismatched new and
    // delete.
    static void* operator new(std::size_t size, task_initiation<Handler>& from, anything /*work*/,
                              anything /*stop*/, anything /*where*/) {
        return memory::allocate(size, from.handler);
    }
    static void operator delete(void* frame, std::size_t size) noexcept {
        memory::deallocate(frame, size);
    }

    coroutine get_return_object() noexcept { return {*this}; }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    auto final_suspend() noexcept {
        struct last : std::suspend_always {
            void await_suspend(std::coroutine_handle<task_driver> self) const noexcept {
                self.promise().finish();
            }
        };
        return last{};
    }

    /// Starts the task, in a turn of its own.
    void start_later() noexcept {
        first_.driver = this;
        first_.run = [](executor_node* node) noexcept {
            static_cast<first_step*>(node)->driver->handle().resume();
        };
        base::queue().push(&first_);
        base::queue_turn();
    }

private:
    struct first_step : executor_node {
        class task_driver* driver = nullptr;
    };

    struct frame_end {
        void operator()(task_driver* ended) const noexcept { ended->handle().destroy(); }
    };

    std::coroutine_handle<task_driver> handle() noexcept {
        return std::coroutine_handle<task_driver>::from_promise(*this);
    }

    auto slot() const noexcept { return net::get_associated_cancellation_slot(handler_); }

    void complete() final {
        slot().clear();
        std::unique_ptr<task_driver, frame_end> frame(
            this); // a handler's move may throw, as its call may
        [[maybe_unused]] const auto work = std::move(base::turns_);
        Handler handler = std::move(handler_);
        Outcome outcome = std::move(static_cast<Outcome&>(*this));
        frame.reset();
        std::move(outcome).tell(std::move(handler));
    }

    void on_shutdown() noexcept final {
        base::dispose([this] { handle().destroy(); });
    }

    Handler handler_;
    first_step first_;
};

} // namespace detail
TRYST_ASIO_END
