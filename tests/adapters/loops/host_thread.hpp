// SPDX-License-Identifier: MIT
/// @file
/// A thread that does nothing but run one of the loops under test.
#pragma once

#include <tryst/executor.hpp>
#include <tryst/task.hpp>

#include <future>
#include <memory>
#include <thread>
#include <utility>

namespace tryst::test {

/// Runs on a loop: makes `host.run()` return.
template <class Host>
task<> stopping(Host& host) {
    host.stop();
    co_return;
}

/// Makes, runs and destroys the loop and its executor on the thread.
template <class Host>
class host_thread {
public:
    host_thread() {
        std::promise<void> started;
        auto later = started.get_future();
        thread_ = std::thread([this, started = std::move(started)]() mutable {
            Host host;
            const auto made = host.template make<typename Host::executor>();
            host_ = &host;
            executor_ = made.get();
            started.set_value();
            host.run();
        });
        later.get();
    }
    host_thread(const host_thread&) = delete;
    host_thread& operator=(const host_thread&) = delete;
    ~host_thread() { join(); }

    typename Host::executor& operator*() noexcept { return *executor_; }
    typename Host::executor* operator->() noexcept { return executor_; }
    std::thread::id id() const noexcept { return thread_.get_id(); }

    /// The loop first runs what was queued before.
    void join() {
        if (thread_.joinable()) {
            executor_->spawn(stopping(*host_));
            thread_.join();
        }
    }

private:
    Host* host_ = nullptr;
    typename Host::executor* executor_ = nullptr;
    std::thread thread_;
};

} // namespace tryst::test
