// SPDX-License-Identifier: MIT
/// @file
/// A rival of the exchanger for coroutines: a mutex, and the one who waits.
#pragma once

#include <tryst/executor.hpp>

#include <coroutine>
#include <mutex>
#include <optional>
#include <utility>

namespace tryst::bench {

/// The first to come waits, its node in its frame; the next swaps with it, and posts it to its executor when the
/// mutex is released.
template <class T>
class mutex_meeting {
    struct party : executor_node {
        std::optional<T> item;
        bool done = false;
        executor_ref home;
        std::coroutine_handle<> coroutine;
    };

    struct operation : party {
        operation(mutex_meeting& in, T given) : meeting(in) { this->item = std::move(given); }

        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<> waiting) {
            party* partner = nullptr;
            {
                const std::scoped_lock lock(meeting.mutex_);
                if (meeting.closed_) {
                    return false;
                }
                partner = std::exchange(meeting.waiting_, nullptr);
                if (partner == nullptr) {
                    this->coroutine = waiting;
                    this->home = current_executor();
                    this->run = [](executor_node* node) noexcept {
                        static_cast<operation*>(node)->coroutine.resume();
                    };
                    meeting.waiting_ = this;
                    return true;
                }
                std::swap(this->item, partner->item);
                partner->done = this->done = true;
            }
            partner->home.post(partner);
            return false;
        }
        std::optional<T> await_resume() {
            return this->done ? std::move(this->item) : std::nullopt;
        }
        mutex_meeting& meeting;
    };

public:
    /// @returns an awaitable of the partner's item; of nothing after `close`.
    auto exchange(T item) { return operation(*this, std::move(item)); }

    void close() {
        party* alone = nullptr;
        {
            const std::scoped_lock lock(mutex_);
            closed_ = true;
            alone = std::exchange(waiting_, nullptr);
        }
        if (alone != nullptr) {
            alone->home.post(alone);
        }
    }

private:
    std::mutex mutex_;
    party* waiting_ = nullptr;
    bool closed_ = false;
};

} // namespace tryst::bench
