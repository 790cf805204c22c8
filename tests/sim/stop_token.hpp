// SPDX-License-Identifier: MIT
/// @file
/// std::stop_source, stop_token and stop_callback for simulated threads: the real ones block the
/// thread where these let another one run ([thread.stoptoken]).
#pragma once

#include "sim/scheduler.hpp"

#include <cstddef>
#include <memory>
#include <source_location>
#include <utility>

namespace tryst::sim {

/// What a source, its tokens and its callbacks share. Between two accesses no other thread runs, so
/// plain fields do.
class stop_state {
public:
    /// A registered callback.
    struct entry {
        void (*call)(entry*) noexcept = nullptr;
        entry* previous = nullptr;
        entry* next = nullptr;
        bool registered = false;
    };

    bool stop_requested() const noexcept {
        point("stop_requested");
        return requested_;
    }

    /// @returns whether this was the first request.
    bool request_stop() noexcept;

    /// @returns false if the stop was requested before.
    bool add(entry& callback) noexcept;

    /// Waits for the callback to return, if it is running on another thread.
    void remove(entry& callback) noexcept;

private:
    static void point(const char* what,
                      std::source_location at = std::source_location::current()) noexcept {
        access(what, at);
    }

    bool requested_ = false;
    entry* first_ = nullptr;
    entry* running_ = nullptr;
    thread_id runner_ = 0;
};

class stop_token {
public:
    stop_token() noexcept = default;

    bool stop_requested() const noexcept { return state_ && state_->stop_requested(); }
    bool stop_possible() const noexcept { return state_ != nullptr; }

private:
    friend class stop_source;
    template <class Callback>
    friend class stop_callback;
    explicit stop_token(std::shared_ptr<stop_state> state) noexcept : state_(std::move(state)) {}

    std::shared_ptr<stop_state> state_;
};

class stop_source {
public:
    stop_source() : state_(std::make_shared<stop_state>()) {}

    stop_token get_token() const noexcept { return stop_token(state_); }
    bool stop_requested() const noexcept { return state_->stop_requested(); }
    bool request_stop() const noexcept {
        const std::shared_ptr<stop_state> kept = state_; // callbacks may destroy the source
        return kept->request_stop();
    }

private:
    std::shared_ptr<stop_state> state_;
};

template <class Callback>
class stop_callback : private stop_state::entry {
public:
    template <class Function>
    stop_callback(stop_token token, Function&& function) noexcept
        : state_(std::move(token.state_)), callback_(std::forward<Function>(function)) {
        call = [](stop_state::entry* self) noexcept {
            static_cast<stop_callback*>(self)->callback_();
        };
        if (state_ != nullptr && !state_->add(*this)) {
            state_ = nullptr;
            callback_();
        }
    }
    stop_callback(const stop_callback&) = delete;
    stop_callback& operator=(const stop_callback&) = delete;
    ~stop_callback() {
        if (state_ != nullptr) {
            state_->remove(*this);
        }
    }

private:
    std::shared_ptr<stop_state> state_;
    Callback callback_;
};

} // namespace tryst::sim
