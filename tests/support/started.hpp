// SPDX-License-Identifier: MIT
/// @file
/// Parties of every kind on one loop, whose results a test looks at while they wait and afterwards.
#pragma once

#include "support/bare_coroutine.hpp"
#include "support/manual_clock.hpp"

#include <tryst/detail/run/awaitable.hpp>
#include <tryst/task.hpp>

#include <memory>
#include <optional>
#include <system_error>
#include <type_traits>
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

protected:
    friend class parties;
    std::shared_ptr<std::optional<Result>> got_ = std::make_shared<std::optional<Result>>();
};

/// Awaits what `make` makes.
template <class Coroutine, class Got, class Make>
Coroutine await_into(Got got, Make make) {
    got->emplace(co_await make());
}

/// Starts parties on a loop whose clock stands still.
class parties {
public:
    /// A party that awaits what `make` returns.
    template <class Make>
    auto operator()(Make make) {
        started<detail::awaited<decltype(make())>> party;
        loop->spawn(await_into<task<>>(party.got_, std::move(make)));
        loop->run_until_idle();
        return party;
    }
    void run() { loop->run_until_idle(); }

    timed_loop loop;
};

/// A party without an executor, which goes on in the call that completes it. Its frame ends with
/// this.
template <class Make>
class bare_party_of : public started<detail::awaited<std::invoke_result_t<Make&>>> {
public:
    explicit bare_party_of(Make make)
        : frame_(await_into<bare_coroutine>(this->got_, std::move(make))) {}

private:
    bare_coroutine frame_;
};

template <class Make>
bare_party_of<Make> start_bare(Make make) {
    return bare_party_of<Make>(std::move(make));
}

} // namespace tryst::test
