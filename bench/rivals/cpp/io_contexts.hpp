// SPDX-License-Identifier: MIT
/// @file
/// The families of coroutines on Asio. A place has the executors and threads: here, contexts with
/// one thread each. A family adds the kind of coroutine: here, awaitables.
#pragma once

#include "bodies.hpp"

#include <tryst/asio.hpp>

#include <asio/any_io_executor.hpp>
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

/// One thread runs each context, and the context is told so. A context ends by itself when it has
/// no more work.
/// @tparam Hint  the concurrency hint: 1, or `ASIO_CONCURRENCY_HINT_UNSAFE` for one context that
///   no other thread uses, and which therefore needs no locks.
/// @tparam Executor  the default is faster than `any_io_executor`.
template <int Hint, class Executor = net::io_context::executor_type>
class contexts {
public:
    static constexpr bool of_threads = false;
    static constexpr bool alone = Hint == ASIO_CONCURRENCY_HINT_UNSAFE;
    using executor = Executor;

    explicit contexts(unsigned count, bool /*pinned*/ = true) {
        for (unsigned i = 0; i != count; ++i) {
            all_.push_back(std::make_unique<net::io_context>(Hint));
        }
    }

    std::size_t size() const noexcept { return all_.size(); }
    executor get_executor(unsigned loop = 0) const { return all_[loop]->get_executor(); }
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

template <class Place>
class awaitables : public Place {
public:
    using executor = typename Place::executor;
    using bodies = coroutine_bodies<awaitables>;
    using task = net::awaitable<void, executor>;
    using Place::Place;

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
        net::co_spawn(this->get_executor(loop), start(), [](const std::exception_ptr& error) {
            if (error) {
                std::rethrow_exception(error);
            }
        });
    }
};

using locking_contexts = contexts<1>;
using lonely_context = contexts<ASIO_CONCURRENCY_HINT_UNSAFE>;

using io_contexts = awaitables<locking_contexts>;
using lonely_io_context = awaitables<lonely_context>;
/// With the executor type that Asio's classes have by default.
using any_io_context = awaitables<contexts<ASIO_CONCURRENCY_HINT_UNSAFE, net::any_io_executor>>;

/// Chooses the fastest contexts for a workload: one loop needs no locks, but two do.
template <auto OnOne, auto OnTwo>
measurement on_either(const parameters& p) {
    return p.loops == 1 ? OnOne(p) : OnTwo(p);
}

} // namespace tryst::bench
