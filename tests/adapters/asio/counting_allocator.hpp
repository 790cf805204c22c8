// SPDX-License-Identifier: MIT
/// @file
/// Handlers whose allocator counts, or fails.
#pragma once

#include "adapters/asio/net.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <new>
#include <utility>

namespace tryst::test {

/// The numbers of allocations and deallocations.
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

/// Calls `function` on `io`. The operation's memory is counted in `account`.
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

/// An allocator without memory.
template <class T>
struct failing_allocator {
    using value_type = T;
    failing_allocator() = default;
    template <class U>
    failing_allocator(const failing_allocator<U>& /*other*/) noexcept {}
    T* allocate(std::size_t /*count*/) { throw std::bad_alloc(); }
    void deallocate(T* /*memory*/, std::size_t /*count*/) noexcept {}
    bool operator==(const failing_allocator&) const noexcept = default;
};

/// A handler whose operation cannot be allocated.
struct unlucky {
    using allocator_type = failing_allocator<void>;
    allocator_type get_allocator() const noexcept { return {}; }
    template <class... Results>
    void operator()(Results&&... /*results*/) const {
        ADD_FAILURE() << "the handler of an operation without memory was called";
    }
    std::shared_ptr<int> held;
};

} // namespace tryst::test
