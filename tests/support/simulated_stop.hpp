// SPDX-License-Identifier: MIT
/// @file
/// std::stop_source, stop_token and stop_callback for simulated threads ([thread.stoptoken]): the
/// real ones block the thread where these let another one run. To be included by a header that
/// defines `stop_machine`, the threads.
#pragma once

#include <cstddef>
#include <source_location>
#include <utility>

namespace tryst::test {

/// A callback that may be registered.
class stop_callback_base {
public:
    explicit stop_callback_base(void (*call)(stop_callback_base*)) noexcept : call_(call) {}

private:
    friend class stop_source;
    void (*call_)(stop_callback_base*);
    bool registered_ = false;
    stop_callback_base* previous_ = nullptr;
    stop_callback_base* next_ = nullptr;
    stop_machine::knowledge known_; ///< By the thread that registered it.
};

/// Must outlive its tokens. Between two uses of the machine no other thread runs, so plain fields
/// do.
class stop_source {
    using site = std::source_location;

public:
    stop_source() = default;
    stop_source(const stop_source&) = delete;
    stop_source& operator=(const stop_source&) = delete;

    /// @returns whether this was the first request.
    bool request_stop(site where = site::current());
    bool stop_requested(site where = site::current());
    /// As above, for the test's own checks: no step.
    bool requested() const noexcept { return requested_; }

    /// @returns whether it was registered; else a stop was requested before.
    bool add(stop_callback_base& callback, site where);
    /// Waits for the callback to return, if it is running on another thread.
    void remove(stop_callback_base& callback, site where);

private:
    void unlink(stop_callback_base& callback) noexcept;

    stop_machine machine_;
    bool requested_ = false;
    std::size_t requester_ = static_cast<std::size_t>(-1); ///< The thread.
    stop_callback_base* first_ = nullptr; ///< The callback that was registered last.
    stop_callback_base* running_ = nullptr;
    stop_machine::knowledge request_; ///< What was known when the stop was requested,
    stop_machine::knowledge returned_; ///< and when the latest callback had returned.
};

class stop_token {
public:
    stop_token() noexcept = default;
    explicit stop_token(stop_source& source) noexcept : source_(&source) {}
    stop_token(const stop_token&) noexcept = default;
    stop_token(stop_token&& other) noexcept : source_(std::exchange(other.source_, nullptr)) {}
    stop_token& operator=(const stop_token&) noexcept = default;

    bool stop_possible() const noexcept { return source_ != nullptr; }
    bool
    stop_requested(std::source_location where = std::source_location::current()) const noexcept {
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
    stop_callback(stop_token token, Callback callback,
                  std::source_location where = std::source_location::current())
        : stop_callback_base(
              [](stop_callback_base* self) { static_cast<stop_callback*>(self)->callback_(); }),
          callback_(std::move(callback)), source_(token.source_) {
        if (source_ != nullptr && !source_->add(*this, where)) {
            source_ = nullptr;
            callback_();
        }
    }
    stop_callback(const stop_callback&) = delete;
    stop_callback& operator=(const stop_callback&) = delete;
    ~stop_callback() {
        if (source_ != nullptr) {
            source_->remove(*this, std::source_location::current());
        }
    }

private:
    Callback callback_;
    stop_source* source_;
};

} // namespace tryst::test
