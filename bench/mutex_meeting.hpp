// SPDX-License-Identifier: MIT
/// @file
/// A rival for coroutines: a mutex and lists of waiting parties.
#pragma once

#include <tryst/executor.hpp>

#include <coroutine>
#include <mutex>
#include <optional>
#include <utility>

namespace tryst::bench {

/// The simple design. A party that finds a partner in a list swaps with it, and posts it to its
/// executor after it has released the mutex. Otherwise it waits in a list; its node is in the
/// coroutine frame. Use either `exchange`, or `send` and `receive`.
template <class T>
class mutex_meeting {
    struct party : executor_node {
        explicit party(T mine) : item(std::move(mine)) {}
        T item;
        bool done = false;
        executor_ref executor;
        std::coroutine_handle<> coroutine;
        party* after = nullptr;
    };

    struct list {
        party* first = nullptr;
        party** last = &first;

        void push(party* p) {
            p->after = nullptr;
            *last = p;
            last = &p->after;
        }
        party* pop() {
            party* const p = first;
            if (p != nullptr) {
                first = p->after;
                last = first == nullptr ? &first : last;
            }
            return p;
        }
    };

    struct operation : party {
        operation(mutex_meeting& in, list& partners, list& own, T given)
            : party(std::move(given)), meeting(in), theirs(partners), ours(own) {}

        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<> waiting) {
            party* partner = nullptr;
            {
                const std::scoped_lock lock(meeting.mutex_);
                if (meeting.closed_) {
                    return false;
                }
                partner = theirs.pop();
                if (partner == nullptr) {
                    this->coroutine = waiting;
                    this->executor = current_executor();
                    this->run = [](executor_node* node) noexcept {
                        static_cast<operation*>(node)->coroutine.resume();
                    };
                    ours.push(this);
                    return true;
                }
                std::swap(this->item, partner->item);
                partner->done = this->done = true;
            }
            partner->executor.post(partner);
            return false;
        }
        std::optional<T> await_resume() {
            return this->done ? std::optional<T>(std::move(this->item)) : std::nullopt;
        }

        mutex_meeting& meeting;
        list& theirs;
        list& ours;
    };

public:
    /// @returns an awaitable of the partner's item; of nothing after `close`.
    auto exchange(T mine) { return operation(*this, first_, first_, std::move(mine)); }

    /// @returns an awaitable of some item, of no meaning; of nothing after `close`.
    auto send(T mine) { return operation(*this, second_, first_, std::move(mine)); }

    /// @returns an awaitable of the sender's item; of nothing after `close`.
    auto receive() { return operation(*this, first_, second_, T()); }

    void close() {
        list waiting;
        {
            const std::scoped_lock lock(mutex_);
            closed_ = true;
            for (list* each : {&first_, &second_}) {
                while (party* const p = each->pop()) {
                    waiting.push(p);
                }
            }
        }
        while (party* const p = waiting.pop()) {
            p->executor.post(p);
        }
    }

private:
    std::mutex mutex_;
    list first_; // senders, or all parties of `exchange`
    list second_; // receivers
    bool closed_ = false;
};

} // namespace tryst::bench
