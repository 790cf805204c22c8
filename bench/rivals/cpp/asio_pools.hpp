// SPDX-License-Identifier: MIT
/// @file
/// Places of Asio's families that two threads serve, and families that wait there for a timer. The
/// threads are not pinned, as is usual for a pool.
#pragma once

#include "task_executors.hpp"

#include <tryst/executor.hpp>

#include <asio/basic_waitable_timer.hpp>
#include <asio/io_context.hpp>
#include <asio/strand.hpp>
#include <asio/thread_pool.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/wait_traits.hpp>

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <system_error>
#include <vector>

namespace tryst::bench {

/// All coroutines run on the pool itself. The threads of a pool run from its construction until
/// `stop`, which waits for all work.
class thread_pool {
public:
    static constexpr bool of_threads = false;
    using executor = net::thread_pool::executor_type;

    explicit thread_pool(unsigned /*count*/, bool /*pinned*/ = false) {}

    executor get_executor(unsigned /*party*/ = 0) const { return pool_.get_executor(); }
    static std::size_t size() noexcept { return 0; }
    static bool pinned() noexcept { return false; }
    static void run(unsigned /*thread*/) {}
    void stop() { pool_.join(); }
    static void settle() {}

private:
    mutable net::thread_pool pool_{2};
};

/// Each party has a strand of the pool.
class strands : public thread_pool {
public:
    using executor = net::strand<thread_pool::executor>;

    explicit strands(unsigned count, bool pinned = false) : thread_pool(count, pinned) {
        for (unsigned i = 0; i != count; ++i) {
            all_.push_back(net::make_strand(thread_pool::get_executor()));
        }
    }

    executor get_executor(unsigned party = 0) const { return all_[party]; }

private:
    std::vector<executor> all_;
};

/// A context that two threads run.
class shared_context {
public:
    static constexpr bool of_threads = false;
    using executor = net::io_context::executor_type;

    explicit shared_context(unsigned /*count*/, bool /*pinned*/ = false) {}

    executor get_executor(unsigned /*party*/ = 0) const { return context_.get_executor(); }
    static std::size_t size() noexcept { return 2; }
    static bool pinned() noexcept { return false; }
    void run(unsigned /*thread*/) { context_.run(); }
    static void stop() {}
    static void settle() {}

private:
    mutable net::io_context context_{2};
};

template <class Executor>
using timer = net::basic_waitable_timer<steady, net::wait_traits<steady>, Executor>;

/// Awaitables. Party 1 pauses until a timer expires.
template <class Place>
class timed_awaitables : public awaitables<Place> {
public:
    using typename awaitables<Place>::executor;
    using awaitables<Place>::awaitables;

    auto pause(std::chrono::microseconds time) const {
        return [alarm = timer<executor>(this->get_executor(1)), time]() mutable {
            alarm.expires_after(time);
            return alarm.async_wait(net::use_awaitable_t<executor>());
        };
    }
};

/// Tasks of tryst. Party 1 pauses until a timer of Asio expires.
template <class Place>
class timed_tasks : public task_executors<Place> {
public:
    using task_executors<Place>::task_executors;

    /// Awaits the timer.
    class expiry : executor_node {
    public:
        expiry(timer<typename Place::executor>& alarm, std::chrono::microseconds time)
            : alarm_(alarm) {
            alarm.expires_after(time);
            this->run = [](executor_node* node) noexcept {
                static_cast<expiry*>(node)->waiting_.resume();
            };
        }

        static bool await_ready() noexcept { return false; }
        void await_suspend(std::coroutine_handle<> waiting) {
            waiting_ = waiting;
            alarm_.async_wait(
                [this, here = current_executor()](std::error_code /*error*/) { here.post(this); });
        }
        static void await_resume() noexcept {}

    private:
        timer<typename Place::executor>& alarm_;
        std::coroutine_handle<> waiting_;
    };

    auto pause(std::chrono::microseconds time) const {
        return [alarm = timer<typename Place::executor>(this->get_executor(1)), time]() mutable {
            return expiry(alarm, time);
        };
    }
};

} // namespace tryst::bench
