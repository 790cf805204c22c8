// SPDX-License-Identifier: MIT
/// @file
/// Rivals for coroutines, in the simple design: a mutex, and lists of waiting parties. A party that
/// completes another posts it to its executor after it has released the mutex.
#pragma once

#include <tryst/executor.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <mutex>
#include <optional>
#include <utility>

namespace tryst::bench {

/// Waits in a list; it is in the coroutine frame.
template <class T>
struct mutex_party : executor_node {
    explicit mutex_party(T mine) : item(std::move(mine)) {}

    void suspend(std::coroutine_handle<> waiting) {
        coroutine = waiting;
        executor = current_executor();
        run = [](executor_node* node) noexcept {
            static_cast<mutex_party*>(node)->coroutine.resume();
        };
    }

    T item;
    bool done = false;
    executor_ref executor;
    std::coroutine_handle<> coroutine;
    mutex_party* after = nullptr;
};

template <class T>
class mutex_parties {
public:
    void push(mutex_party<T>* party) {
        party->after = nullptr;
        *last_ = party;
        last_ = &party->after;
    }
    mutex_party<T>* pop() {
        mutex_party<T>* const party = first_;
        if (party != nullptr) {
            first_ = party->after;
            last_ = first_ == nullptr ? &first_ : last_;
        }
        return party;
    }

private:
    mutex_party<T>* first_ = nullptr;
    mutex_party<T>** last_ = &first_;
};

/// A party that finds a partner in a list swaps with it; otherwise it waits in a list. Use either
/// `exchange`, or `send` and `receive`.
template <class T>
class mutex_meeting {
    using list = mutex_parties<T>;

    struct operation : mutex_party<T> {
        operation(mutex_meeting& in, list& partners, list& own, T given)
            : mutex_party<T>(std::move(given)), meeting(in), theirs(partners), ours(own) {}

        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<> waiting) {
            mutex_party<T>* partner = nullptr;
            {
                const std::scoped_lock lock(meeting.mutex_);
                if (meeting.closed_) {
                    return false;
                }
                partner = theirs.pop();
                if (partner == nullptr) {
                    this->suspend(waiting);
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
                while (auto* const party = each->pop()) {
                    waiting.push(party);
                }
            }
        }
        while (auto* const party = waiting.pop()) {
            party->executor.post(party);
        }
    }

private:
    std::mutex mutex_;
    list first_; // senders, or all parties of `exchange`
    list second_; // receivers
    bool closed_ = false;
};

/// With a ring of items. Senders wait while it is full.
template <class T, std::size_t Limit>
class mutex_ring {
    using party = mutex_party<T>;

    template <bool Sends>
    struct operation : party {
        operation(mutex_ring& in, T given) : party(std::move(given)), ring(in) {}

        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<> waiting) {
            party* partner = nullptr;
            {
                const std::scoped_lock lock(ring.mutex_);
                if (!(Sends ? ring.put(*this, partner) : ring.take(*this, partner))) {
                    this->suspend(waiting);
                    (Sends ? ring.senders_ : ring.receivers_).push(this);
                    return true;
                }
            }
            if (partner != nullptr) {
                partner->executor.post(partner);
            }
            return false;
        }
        T await_resume() { return std::move(this->item); }

        mutex_ring& ring;
    };

public:
    /// @returns an awaitable of some item, of no meaning.
    auto send(T mine) { return operation<true>(*this, std::move(mine)); }

    /// @returns an awaitable of the oldest item.
    auto receive() { return operation<false>(*this, T()); }

private:
    bool put(party& from, party*& partner) {
        partner = receivers_.pop();
        if (partner != nullptr) {
            partner->item = std::move(from.item);
            return true;
        }
        if (size_ == Limit) {
            return false;
        }
        items_[(begin_ + size_++) % Limit] = std::move(from.item);
        return true;
    }
    bool take(party& to, party*& partner) {
        if (size_ == 0) {
            return false;
        }
        to.item = std::move(items_[begin_]);
        begin_ = (begin_ + 1) % Limit;
        --size_;
        partner = senders_.pop();
        if (partner != nullptr) {
            items_[(begin_ + size_++) % Limit] = std::move(partner->item);
        }
        return true;
    }

    std::mutex mutex_;
    std::array<T, Limit> items_{};
    std::size_t begin_ = 0;
    std::size_t size_ = 0;
    mutex_parties<T> senders_;
    mutex_parties<T> receivers_;
};

} // namespace tryst::bench
