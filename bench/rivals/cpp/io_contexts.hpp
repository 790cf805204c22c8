// SPDX-License-Identifier: MIT
/// @file
/// The families of coroutines on Asio: awaitables, and tasks of tryst. One thread runs each
/// context, and the context is told so.
#pragma once

#include "bodies.hpp"

#include <tryst/asio.hpp>

#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/io_context.hpp>

#include <cstddef>
#include <exception>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace tryst::bench {

namespace net = ::asio;

/// The common part of Asio's families. A context ends by itself when it has no more work.
class contexts {
public:
    static constexpr bool of_threads = false;
    /// `any_io_executor`, the default, is slower.
    using executor = net::io_context::executor_type;

    explicit contexts(unsigned count, int concurrency_hint = 1) {
        for (unsigned i = 0; i != count; ++i) {
            all_.push_back(std::make_unique<net::io_context>(concurrency_hint));
        }
    }

    std::size_t size() const noexcept { return all_.size(); }
    net::io_context& operator[](unsigned i) { return *all_[i]; }
    static bool pinned() noexcept { return true; }
    void run(unsigned loop) { all_[loop]->run(); }
    void stop() {}
    void settle() {
        for (auto& each : all_) {
            each->restart();
            each->poll();
        }
    }

private:
    std::vector<std::unique_ptr<net::io_context>> all_;
};

class io_contexts : public contexts {
public:
    using bodies = coroutine_bodies<io_contexts>;
    using task = net::awaitable<void, executor>;

    explicit io_contexts(unsigned count, bool /*pinned*/ = true) : contexts(count) {}
    io_contexts(unsigned count, int concurrency_hint) : contexts(count, concurrency_hint) {}

    /// Returns an awaitable for an operation of tryst; other operations are awaitables.
    template <class Operation>
    static auto wait(Operation&& operation) {
        if constexpr (asio::detail::awaitable_operation<std::remove_cvref_t<Operation>>) {
            return asio::wait<executor>(std::forward<Operation>(operation));
        } else {
            return std::forward<Operation>(operation);
        }
    }

    template <class Start>
    void spawn(unsigned loop, Start start) {
        net::co_spawn((*this)[loop], start(), [](const std::exception_ptr& error) {
            if (error) {
                std::rethrow_exception(error);
            }
        });
    }
};

/// One context that no other thread uses, and which therefore needs no locks.
class lonely_io_context : public io_contexts {
public:
    explicit lonely_io_context(unsigned count) : io_contexts(count, ASIO_CONCURRENCY_HINT_UNSAFE) {}
};

} // namespace tryst::bench
