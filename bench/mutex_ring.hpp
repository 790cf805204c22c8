// SPDX-License-Identifier: MIT
/// @file
/// A rival for coroutines: a mutex, a ring of items, and lists of waiting parties.
#pragma once

#include <tryst/executor.hpp>

#include <array>
#include <coroutine>
#include <cstddef>
#include <mutex>
#include <utility>

namespace tryst::bench {

/// The simple design. A party that completes another posts it after it has released the mutex.
template <class T, std::size_t Limit>
class mutex_ring {
    struct party : executor_node {
        explicit party(T mine) : item(std::move(mine)) {}
        T item;
        executor_ref executor;
        std::coroutine_handle<> coroutine;
        party* after = nullptr;
    };

    class list {
    public:
        void push(party* p) {
            p->after = nullptr;
            *last_ = p;
            last_ = &p->after;
        }
        party* pop() {
            party* const p = first_;
            if (p != nullptr) {
                first_ = p->after;
                last_ = first_ == nullptr ? &first_ : last_;
            }
            return p;
        }

    private:
        party* first_ = nullptr;
        party** last_ = &first_;
    };

    template <bool Sends>
    struct operation : party {
        operation(mutex_ring& in, T given) : party(std::move(given)), ring(in) {}

        bool await_ready() const noexcept { return false; }
        bool await_suspend(std::coroutine_handle<> waiting) {
            party* partner = nullptr;
            {
                const std::scoped_lock lock(ring.mutex_);
                if (!(Sends ? ring.put(*this, partner) : ring.take(*this, partner))) {
                    this->coroutine = waiting;
                    this->executor = current_executor();
                    this->run = [](executor_node* node) noexcept {
                        static_cast<operation*>(node)->coroutine.resume();
                    };
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
    list senders_;
    list receivers_;
};

} // namespace tryst::bench
