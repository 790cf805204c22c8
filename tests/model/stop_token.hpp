// SPDX-License-Identifier: MIT
/// @file
/// std::stop_source and its relatives for model threads. They order what the standard says
/// ([thread.stoptoken]) and nothing else: a request before the calls it makes and before whoever
/// sees it; a call before the end of its callback's life; a callback's registration before its
/// call.
#pragma once

#include "model/checker.hpp"
#include "model/shared_object.hpp"

#include <array>
#include <cstddef>
#include <utility>

namespace tryst::model {

class stop_callback_base {
public:
    explicit stop_callback_base(void (*call)(stop_callback_base*)) noexcept : call_(call) {}

private:
    friend class stop_source;
    void (*call_)(stop_callback_base*);
};

/// Must outlive its tokens.
class stop_source {
public:
    stop_source() noexcept = default;
    stop_source(const stop_source&) = delete;
    stop_source& operator=(const stop_source&) = delete;

    /// @returns whether this was the first request.
    bool request_stop(site where = site::current());
    bool stop_requested(site where = site::current());
    /// As above, for the scene's own checks: no step.
    bool requested() const noexcept { return requested_; }

    /// @returns whether it was registered; else a stop was requested before.
    bool add(stop_callback_base* callback, site where);
    void remove(stop_callback_base* callback, site where);

private:
    struct registration {
        stop_callback_base* callback;
        view known; // by the thread that registered
    };

    shared_object object_;
    bool requested_ = false;
    view request_;
    std::size_t requester_ = max_threads;
    stop_callback_base* running_ = nullptr;
    std::size_t count_ = 0;
    std::array<registration, 4> callbacks_{};
};

class stop_token {
public:
    stop_token() noexcept = default;
    explicit stop_token(stop_source& source) noexcept : source_(&source) {}
    stop_token(const stop_token&) noexcept = default;
    stop_token(stop_token&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
    stop_token& operator=(const stop_token&) noexcept = default;

    bool stop_possible() const noexcept { return source_ != nullptr; }
    bool stop_requested(site where = site::current()) const noexcept {
        return source_ != nullptr && source_->stop_requested(where);
    }

private:
    template <class Callback>
    friend class stop_callback;
    stop_source* source_ = nullptr;
};

template <class Callback>
class stop_callback : stop_callback_base {
public:
    stop_callback(stop_token token, Callback callback, site where = site::current())
        : stop_callback_base(
              [](stop_callback_base* self) { static_cast<stop_callback*>(self)->callback_(); }),
          callback_(std::move(callback)), source_(token.source_) {
        if (source_ != nullptr && !source_->add(this, where)) {
            source_ = nullptr;
            callback_();
        }
    }
    stop_callback(const stop_callback&) = delete;
    stop_callback& operator=(const stop_callback&) = delete;
    ~stop_callback() {
        if (source_ != nullptr) {
            source_->remove(this, site::current());
        }
    }

private:
    Callback callback_;
    stop_source* source_;
};

} // namespace tryst::model
