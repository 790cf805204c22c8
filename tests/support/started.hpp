// SPDX-License-Identifier: MIT
/// @file
/// Parties of every kind on one loop, whose results a test looks at while they wait and afterwards.
#pragma once

#include "support/manual_clock.hpp"

#include <tryst/task.hpp>

#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace tryst::test {

/// A party that has started: waits, or has a result.
template <class Result>
class started {
public:
    bool waits() const { return !*got_; }
    /// Precondition: it does not wait.
    Result& operator*() const { return got_->value(); }
    Result* operator->() const { return &got_->value(); }
    /// The default while it waits.
    std::error_code error() const { return waits() ? std::error_code() : (*got_)->error(); }
    bool ok() const { return !waits() && static_cast<bool>(**got_); }

private:
    friend class parties;
    std::shared_ptr<std::optional<Result>> got_ = std::make_shared<std::optional<Result>>();
};

/// Starts parties on a loop whose clock stands still.
class parties {
public:
    /// A party that awaits what `make` returns.
    template <class Make>
    auto operator()(Make make) {
        started<decltype(make().await_resume())> party;
        loop->spawn(await(party.got_, std::move(make)));
        loop->run_until_idle();
        return party;
    }
    void run() { loop->run_until_idle(); }

    timed_loop loop;

private:
    template <class Got, class Make>
    static task<> await(Got got, Make make) {
        got->emplace(co_await make());
    }
};

} // namespace tryst::test
