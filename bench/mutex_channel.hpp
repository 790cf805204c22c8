// SPDX-License-Identifier: MIT
/// @file
/// Rivals of the synchronous channel: a mutex and lists of those who wait, for coroutines and for threads.
#pragma once

#include <tryst/executor.hpp>

#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <mutex>
#include <optional>
#include <utility>

namespace tryst::bench {

/// Coroutines wait in a list of senders or of receivers, nodes in their frames, and are posted to their
/// executors when the mutex is released: what one writes who does not want to think about atomics.
template <class T>
class mutex_channel {
    struct waiter : executor_node {
        std::optional<T> item;
        bool done = false;
        executor_ref home;
        std::coroutine_handle<> coroutine;
        waiter* after = nullptr;
    };
    struct list {
        waiter* first = nullptr;
        waiter** last = &first;

        void push(waiter* w) {
            w->after = nullptr;
            *last = w;
            last = &w->after;
        }
        waiter* pop() {
            waiter* const w = first;
            if (w != nullptr) {
                first = w->after;
                last = first == nullptr ? &first : last;
            }
            return w;
        }
    };

    template <bool Sends>
    struct operation : waiter {
        explicit operation(mutex_channel& in, std::optional<T> given) : channel(in) {
            this->item = std::move(given);
        }

        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<> waiting) {
            waiter* partner = nullptr;
            {
                const std::scoped_lock lock(channel.mutex_);
                if (channel.closed_) {
                    return false;
                }
                partner = (Sends ? channel.receivers_ : channel.senders_).pop();
                if (partner == nullptr) {
                    this->coroutine = waiting;
                    this->home = current_executor();
                    this->run = [](executor_node* node) noexcept {
                        static_cast<operation*>(node)->coroutine.resume();
                    };
                    (Sends ? channel.senders_ : channel.receivers_).push(this);
                    return true;
                }
                std::swap(this->item, partner->item);
                partner->done = this->done = true;
            }
            partner->home.post(partner);
            return false;
        }
        /// The item received; or, of a send, whether it was.
        std::optional<T> await_resume() {
            return this->done ? (Sends ? std::optional<T>(T()) : std::move(this->item))
                              : std::nullopt;
        }
        mutex_channel& channel;
    };

public:
    auto send(T item) { return operation<true>(*this, std::move(item)); }
    auto receive() { return operation<false>(*this, std::nullopt); }

    void close() {
        list waiting;
        {
            const std::scoped_lock lock(mutex_);
            closed_ = true;
            for (list* each : {&senders_, &receivers_}) {
                while (waiter* const w = each->pop()) {
                    waiting.push(w);
                }
            }
        }
        while (waiter* const w = waiting.pop()) {
            w->home.post(w);
        }
    }

private:
    std::mutex mutex_;
    list senders_;
    list receivers_;
    bool closed_ = false;
};

/// Threads: one mutex, and two condition variables. One item at most is on its way.
template <class T>
class condition_channel {
public:
    /// @returns false after `close`.
    bool send(T item) {
        std::unique_lock lock(mutex_);
        free_.wait(lock, [&] { return !full_ || closed_; });
        if (closed_) {
            return false;
        }
        full_ = true;
        item_ = std::move(item);
        const std::uint64_t mine = ++sent_;
        arrived_.notify_one();
        taken_.wait(lock, [&] { return received_ >= mine || closed_; });
        return received_ >= mine;
    }

    std::optional<T> receive() {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [&] { return full_ || closed_; });
        if (closed_) {
            return std::nullopt;
        }
        full_ = false;
        std::optional<T> item(std::move(item_));
        ++received_;
        taken_.notify_all();
        free_.notify_one();
        return item;
    }

    void close() {
        const std::scoped_lock lock(mutex_);
        closed_ = true;
        for (auto* each : {&free_, &arrived_, &taken_}) {
            each->notify_all();
        }
    }

private:
    std::mutex mutex_;
    std::condition_variable free_;
    std::condition_variable arrived_;
    std::condition_variable taken_;
    T item_{};
    bool full_ = false;
    bool closed_ = false;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
};

} // namespace tryst::bench
