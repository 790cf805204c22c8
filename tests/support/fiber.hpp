// SPDX-License-Identifier: MIT
/// @file
/// A stack that is entered and left explicitly. Simulated threads run on it.
/// Boost.Context's bare jumps rather than its `fiber`, because a fiber that is forgotten halfway
/// must not be unwound: a search abandons millions.
#pragma once

#include <boost/context/detail/fcontext.hpp>

#include <array>
#include <cstddef>
#include <cstring>
#include <cxxabi.h>
#include <memory>
#include <span>

#if defined(__SANITIZE_ADDRESS__)
#define TRYST_TEST_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TRYST_TEST_ASAN 1
#endif
#endif
#ifdef TRYST_TEST_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace tryst::test {

/// Not thread-safe: a fiber is entered by one thread only.
class fiber {
public:
    explicit fiber(std::size_t stack_size = std::size_t{256} << 10U)
        : owned_(new std::byte[stack_size]), stack_(owned_.get()), size_(stack_size) {}
    /// On a stack of the caller's.
    explicit fiber(std::span<std::byte> stack) noexcept
        : stack_(stack.data()), size_(stack.size()) {}
    fiber(const fiber&) = delete;
    fiber& operator=(const fiber&) = delete;
    ~fiber() { unpoison(); }

    /// The next `enter` calls `entry(argument)` on an empty stack. Whatever the fiber was doing is
    /// forgotten without unwinding.
    void prepare(void (*entry)(void*), void* argument) noexcept {
        unpoison();
        entry_ = entry;
        argument_ = argument;
        finished_ = false;
        exceptions_ = {};
        inside_ = boost::context::detail::make_fcontext(stack_ + size_, size_, &start);
    }

    /// Runs the fiber until it leaves, or ends.
    void enter() noexcept {
        swap_exceptions();
        void* fake = nullptr;
        before_switch(&fake, stack_, size_);
        inside_ = boost::context::detail::jump_fcontext(inside_, this).fctx;
        after_switch(fake, nullptr, nullptr);
        swap_exceptions();
    }

    /// Returns from `enter`. Call it on the fiber only.
    void leave() noexcept {
        void* fake = nullptr;
        before_switch(&fake, outer_stack_, outer_size_);
        outside_ = boost::context::detail::jump_fcontext(outside_, nullptr).fctx;
        after_switch(fake, &outer_stack_, &outer_size_);
    }

    /// Whether `entry` has returned.
    bool finished() const noexcept { return finished_; }

private:
    static void start(boost::context::detail::transfer_t from) noexcept {
        auto& self = *static_cast<fiber*>(from.data);
        self.outside_ = from.fctx;
        after_switch(nullptr, &self.outer_stack_, &self.outer_size_);
        self.entry_(self.argument_);
        self.finished_ = true;
        before_switch(nullptr, self.outer_stack_, self.outer_size_);
        boost::context::detail::jump_fcontext(self.outside_, nullptr);
    }

    // The exceptions being handled belong to a stack, but the ABI keeps them per thread (Itanium
    // C++ ABI: Exception Handling, 2.2.2): a pointer and a counter.
    static constexpr std::size_t exceptions_size = 2 * sizeof(void*);
    void swap_exceptions() noexcept {
        void* const of_thread = abi::__cxa_get_globals();
        std::array<std::byte, exceptions_size> current;
        std::memcpy(current.data(), of_thread, exceptions_size);
        std::memcpy(of_thread, exceptions_.data(), exceptions_size);
        exceptions_ = current;
    }

#ifdef TRYST_TEST_ASAN
    static void before_switch(void** fake, const void* bottom, std::size_t size) noexcept {
        __sanitizer_start_switch_fiber(fake, bottom, size);
    }
    static void after_switch(void* fake, const void** bottom, std::size_t* size) noexcept {
        __sanitizer_finish_switch_fiber(fake, bottom, size);
    }
    void unpoison() const noexcept { ASAN_UNPOISON_MEMORY_REGION(stack_, size_); }
#else
    static void before_switch(void** /*fake*/, const void* /*bottom*/, std::size_t /*size*/) {}
    static void after_switch(void* /*fake*/, const void** /*bottom*/, std::size_t* /*size*/) {}
    void unpoison() const noexcept {}
#endif

    std::unique_ptr<std::byte[]> owned_;
    std::byte* stack_;
    std::size_t size_;
    boost::context::detail::fcontext_t inside_ = nullptr;
    boost::context::detail::fcontext_t outside_ = nullptr;
    const void* outer_stack_ = nullptr;
    std::size_t outer_size_ = 0;
    void (*entry_)(void*) = nullptr;
    void* argument_ = nullptr;
    bool finished_ = true;
    std::array<std::byte, exceptions_size> exceptions_{};
};

} // namespace tryst::test
