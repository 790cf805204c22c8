// SPDX-License-Identifier: MIT
/// @file
/// A receiver that records how it was called, for operation states that a test makes by hand.
#pragma once

#include <tryst/execution/scheduler.hpp>
#include <tryst/executor.hpp>

#include <stdexec/execution.hpp>

#include <optional>
#include <thread>
#include <tuple>
#include <utility>

namespace tryst::test {

template <class Value>
struct record {
    std::optional<Value> value;
    int calls = 0;
    bool stopped = false;
    std::thread::id thread;
    executor_ref executor;

    void called() {
        ++calls;
        thread = std::this_thread::get_id();
        executor = current_executor();
    }
};

/// @tparam Env  its environment.
template <class Value, class Env = stdexec::env<>>
struct recorder {
    using receiver_concept = stdexec::receiver_t;

    void set_value(Value&& value) && noexcept {
        to->value.emplace(std::move(value));
        to->called();
    }
    void set_stopped() && noexcept {
        to->stopped = true;
        to->called();
    }
    template <class Error>
    void set_error(Error&& /*error*/) && noexcept {
        to->called();
    }
    const Env& get_env() const noexcept { return env; }

    record<Value>* to;
    Env env{};
};

// ---- Environments

template <class Token>
struct with_token {
    Token query(stdexec::get_stop_token_t) const noexcept { return token; }
    Token token;
};
template <class Scheduler>
struct with_scheduler {
    Scheduler query(stdexec::get_start_scheduler_t) const noexcept { return scheduler; }
    Scheduler scheduler;
};
template <class... Env>
struct with : Env... {
    using Env::query...;
};
template <class... Env>
with(Env...) -> with<Env...>;

/// Runs a sender of one value on this thread.
template <class Sender>
auto run(Sender&& sender) {
    return std::get<0>(stdexec::sync_wait(std::forward<Sender>(sender)).value());
}

} // namespace tryst::test
