// SPDX-License-Identifier: MIT
/// @file
/// A handler whose allocator counts.
#pragma once

#include "adapters/asio/net.hpp"

#include <cstddef>
#include <memory>
#include <utility>

namespace tryst::test {

/// What allocators have given out and taken back.
struct memory_account {
    int allocated = 0;
    int freed = 0;
    int live() const noexcept { return allocated - freed; }
};

template <class T>
class counting_allocator {
public:
    using value_type = T;

    explicit counting_allocator(memory_account& account) noexcept : account_(&account) {}
    template <class U>
    counting_allocator(const counting_allocator<U>& other) noexcept : account_(other.account_) {}

    T* allocate(std::size_t count) {
        T* const memory = std::allocator<T>().allocate(count);
        ++account_->allocated;
        return memory;
    }
    void deallocate(T* memory, std::size_t count) noexcept {
        ++account_->freed;
        std::allocator<T>().deallocate(memory, count);
    }

    template <class U>
    bool operator==(const counting_allocator<U>& other) const noexcept {
        return account_ == other.account_;
    }

private:
    template <class U>
    friend class counting_allocator;
    memory_account* account_;
};

/// Calls `function` on `io`; what it needs of memory meanwhile is on the account.
template <class Function>
class accounted {
public:
    using executor_type = net::io_context::executor_type;
    using allocator_type = counting_allocator<void>;

    accounted(net::io_context& io, memory_account& account, Function function)
        : io_(&io), account_(&account), function_(std::move(function)) {}

    executor_type get_executor() const noexcept { return io_->get_executor(); }
    allocator_type get_allocator() const noexcept { return allocator_type(*account_); }

    template <class... Results>
    void operator()(Results&&... results) {
        function_(std::forward<Results>(results)...);
    }

private:
    net::io_context* io_;
    memory_account* account_;
    Function function_;
};

} // namespace tryst::test
